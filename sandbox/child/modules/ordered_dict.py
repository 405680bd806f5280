"""``collections.OrderedDict`` without the interpreter's linked list.

The class of CPython keeps its order in a linked list in C. Comparing, deleting, moving and copying walk this list
while they call ``__eq__`` of the keys. A key that changes the dict meanwhile makes them read and write freed
memory (CPython issues 119004, 142637, 148660, 154817; some are open). This class is based on a plain dict, which
keeps its order, too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any


class OrderedDict(dict[Any, Any]):
    """Dictionary that remembers insertion order."""

    __slots__ = ()

    def move_to_end(self, key: Any, last: bool = True) -> None:
        """Move an existing element to the end, or to the beginning if last is false."""
        value = dict.pop(self, key)
        others = [] if last else list(dict.items(self))
        if others:
            dict.clear(self)
        dict.__setitem__(self, key, value)
        for other, its_value in others:
            dict.__setitem__(self, other, its_value)

    def popitem(self, last: bool = True) -> tuple[Any, Any]:
        """Remove and return a (key, value) pair: the last one, or the first if last is false."""
        if not dict.__len__(self):
            raise KeyError("dictionary is empty")
        if last:
            return dict.popitem(self)
        key = next(dict.__iter__(self))
        return key, dict.pop(self, key)

    def copy(self) -> OrderedDict:
        """A shallow copy."""
        return self.__class__(self)

    @classmethod
    def fromkeys(cls, iterable: Iterable[Any], value: Any = None) -> Any:
        """Create a new ordered dictionary with keys from iterable and values set to value."""
        made = cls()
        for key in iterable:
            made[key] = value
        return made

    def __eq__(self, other: object) -> bool:
        equal = dict.__eq__(self, other)
        if equal is not True or not isinstance(other, OrderedDict):
            return equal
        return list(dict.__iter__(self)) == list(dict.__iter__(other))

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    __hash__ = None

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, dict):
            return NotImplemented
        made = self.__class__(self)
        made.update(other)
        return made

    def __ror__(self, other: Any) -> Any:
        if not isinstance(other, dict):
            return NotImplemented
        made = self.__class__(other)
        made.update(self)
        return made

    def __ior__(self, other: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> Any:  # type: ignore[misc, override]
        self.update(other)
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_content(self)})"


def _content(mapping: OrderedDict) -> str:
    """The content as this version of Python writes it."""
    if not dict.__len__(mapping):
        return ""
    pairs = list(mapping.items())
    return repr(dict(pairs)) if sys.version_info >= (3, 12) else repr(pairs)


OrderedDict.__module__ = "collections"
