"""What a script ends with: plain data that arrives as it left, or a word on why not."""

from __future__ import annotations

from collections.abc import Iterator

from tests.fuzz import agreement, values
from tests.fuzz.choices import Choices

from . import programs


def check(data: bytes) -> None:
    """A value that lies, then one that does not."""
    choices = Choices(data)
    _, refusal = agreement.encode_checked(values.hostile(choices))
    agreement.is_readable(refusal)
    value, plain = values.ordinary(choices)
    assert agreement.encode_checked(value) == (plain, None)


def seeds() -> Iterator[bytes]:
    """Tapes of several lengths."""
    return programs.seeds()
