"""A generated benign program: it prints behind the fence what it prints on CPython."""

from __future__ import annotations

from collections.abc import Iterator

from tests.fuzz import benign
from tests.fuzz.choices import Choices

from . import programs


def check(data: bytes) -> None:
    """Both, in one process, and how both end."""
    source = benign.benign(Choices(data))
    assert programs.harness().differs(source) is None, source


def seeds() -> Iterator[bytes]:
    """Tapes of several lengths."""
    return programs.seeds()
