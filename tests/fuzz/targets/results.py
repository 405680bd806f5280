"""Results of a script: plain data that round-trips, or an error with the reason."""

from __future__ import annotations

from collections.abc import Iterator

from tests.fuzz import agreement, values
from tests.fuzz.choices import Choices

from . import programs


def check(data: bytes) -> None:
    """Check a hostile value, then an ordinary one."""
    choices = Choices(data)
    _, refusal = agreement.encode_checked(values.hostile(choices))
    agreement.is_readable(refusal)
    value, plain = values.ordinary(choices)
    assert agreement.encode_checked(value) == (plain, None)


def seeds() -> Iterator[bytes]:
    """Tapes of several lengths."""
    return programs.seeds()
