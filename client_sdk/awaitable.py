"""Plain values that may be awaited, so that every call of the SDK works with and without await."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from .rows import Row


class Number(int):
    """A count."""

    def __await__(self) -> Generator[None, None, Number]:
        yield from ()
        return self


class Text(str):
    """A text."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, Text]:
        yield from ()
        return self


class Rows(list[Any]):
    """Rows that were chosen from others: a list."""

    def __await__(self) -> Generator[None, None, Rows]:
        yield from ()
        return self


class Groups(dict[str, list[Row]]):
    """Rows by what they have in common: a dict."""

    def __await__(self) -> Generator[None, None, Groups]:
        yield from ()
        return self


class Nothing:
    """What a call returns that only tells something; as a script's last expression it is no result."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        yield from ()

    def __repr__(self) -> str:
        return "None"
