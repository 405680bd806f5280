"""Plain values that can be awaited, so that every SDK call works with and without await."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any


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
    """A list of rows."""

    def __await__(self) -> Generator[None, None, Rows]:
        yield from ()
        return self


class Groups(dict[str, list[Any]]):
    """A dict of rows by group."""

    def __await__(self) -> Generator[None, None, Groups]:
        yield from ()
        return self


class Sizes(dict[str, int]):
    """Sizes by name."""

    def __await__(self) -> Generator[None, None, Sizes]:
        yield from ()
        return self


class Nothing:
    """The return value of a call without a result; as a script's last expression it is not the result."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        yield from ()

    def __repr__(self) -> str:
        return "None"
