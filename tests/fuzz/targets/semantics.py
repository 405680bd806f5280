"""A generated benign program: its output behind the fence equals its output on CPython."""

from __future__ import annotations

from collections.abc import Iterator

from tests.fuzz import benign
from tests.fuzz.choices import Choices

from . import programs


def check(data: bytes) -> None:
    """Run both in one process and compare their output and ending."""
    source = benign.benign(Choices(data))
    assert programs.harness().differs(source) is None, source


def seeds() -> Iterator[bytes]:
    """Tapes of several lengths."""
    return programs.seeds()
