"""Decisions read from bytes: each grammar works with every engine that generates bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """A tape of bytes. Past its end every answer is 0, which each grammar keeps for its simplest leaf."""

    def __init__(self, tape: bytes) -> None:
        self._tape = tape
        self._at = 0

    @property
    def spent(self) -> bool:
        """Whether the tape is at its end."""
        return self._at >= len(self._tape)

    def below(self, bound: int) -> int:
        """A number from 0 up to, and without, ``bound``."""
        if bound <= 1 or self.spent:
            return 0
        width = 1 if bound <= 256 else 2
        number = int.from_bytes(self._tape[self._at : self._at + width], "big")
        self._at += width
        return number % bound

    def one(self, options: Sequence[T]) -> T:
        """Choose one of the options; the first is the simplest."""
        return options[self.below(len(options))]

    def chance(self, of: int) -> bool:
        """True once in so many times; never past the end."""
        return self.below(of) == of - 1

    def rest(self) -> bytes:
        """The unread bytes."""
        return self._tape[self._at :]
