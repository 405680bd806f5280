"""Conversion of a script's value to plain data: exact JSON types, copied; or an error that says why it cannot be.

The value may be of the script's own classes. Numbers and strings are therefore read with the methods of the
builtin types, which the script cannot override. Items and fields, which only the object itself can give, are
counted while they are read, and bounded.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
import itertools
import uuid
from collections import ChainMap, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from winnow.sandbox.protocol.frames import INT_BITS, RESULT_NODES

# The characters of all strings together. The limit of a result is far smaller; this one keeps a string that is
# shared a thousand times from being written a thousand times before that limit is checked.
RESULT_CHARS = 4 * 1024 * 1024


class NotData(Exception):
    """The value is not plain data. ``message`` says where and why, ``hint`` what to return instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class _Copier:
    """A copier of one value, which counts values and characters."""

    def __init__(self, nesting: int, what: str) -> None:
        self._nesting = nesting
        self._what = what
        self._nodes = 0
        self._chars = 0
        self._path: list[str | int] = []  # keys and indexes from the result to the current value

    def copy(self, value: Any) -> Any:
        self._count()
        if len(self._path) > self._nesting:
            raise NotData(
                f"{self.where()} is nested deeper than {self._nesting} levels, or contains itself",
                "return a flat list",
            )
        copier = _copier_of(value)
        if copier is None:
            kind = type.__getattribute__(type(value), "__name__")
            raise NotData(f"{self.where()} is of type {kind!r}, which is not data", _HINTS.get(kind, _ANY_HINT))
        return copier(self, value)

    def where(self) -> str:
        """The path to the current value, as a script would write it."""
        text = self._what + "".join(f"[{step!r}]" for step in self._path[:8])
        return text[:80]

    def _count(self) -> None:
        self._nodes += 1
        if self._nodes > RESULT_NODES:
            raise NotData(
                f"the {self._what} holds more than {RESULT_NODES:,} values", "return fewer rows or fields"
            )

    def text(self, value: str) -> str:
        text = str.__str__(value)
        if not text.isascii():
            text = text.encode("utf-8", "replace").decode()  # a lone surrogate becomes a question mark
        self._chars += len(text)
        if self._chars > RESULT_CHARS:
            raise NotData(
                f"the {self._what} holds more than {RESULT_CHARS:,} characters", "return fewer or shorter texts"
            )
        return text

    def integer(self, value: int) -> int:
        bits = int.bit_length(value)
        if bits > INT_BITS:
            raise NotData(f"{self.where()} is an integer of {bits:,} bits", "return str(...) of it")
        return int.__int__(value)

    def number(self, value: float) -> float:
        number = float.__float__(value)
        if number - number != 0:
            raise NotData(
                f"{self.where()} is {number}, which JSON does not have", "return None or a string instead"
            )
        return number

    def printed(self, value: object) -> str:
        return self.text(str(value))

    def fraction(self, value: fractions.Fraction) -> str:
        self.integer(value.numerator)
        self.integer(value.denominator)
        return self.printed(value)

    def mapping(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        return self._pairs(value.items())

    def record(self, value: Any) -> dict[str, Any]:
        return self._pairs((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))

    def _pairs(self, pairs: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
        copies: dict[str, Any] = {}
        for key, item in pairs:
            name = self._key(key)
            if name in copies:
                raise NotData(
                    f"{self.where()} has two keys that are {name[:40]!r} as text", "use keys of one type"
                )
            self._path.append(name)
            copies[name] = self.copy(item)
            self._path.pop()
        return copies

    def _key(self, key: Any) -> str:
        self._count()
        if isinstance(key, enum.Enum):
            key = key.value
        if isinstance(key, str):
            return self.text(key)
        if key is None or key is True or key is False:
            return {None: "null", True: "true", False: "false"}[key]
        if isinstance(key, int):
            return int.__repr__(self.integer(key))
        if isinstance(key, (float, datetime.date, uuid.UUID)):
            return self.printed(key)
        kind = type.__getattribute__(type(key), "__name__")
        raise NotData(
            f"{self.where()} has a key of type {kind!r}; keys are strings", "use str(key), or a list of pairs"
        )

    def sequence(self, value: Iterable[Any]) -> list[Any]:
        copies = []
        for index, item in enumerate(value):
            self._path.append(index)
            copies.append(self.copy(item))
            self._path.pop()
        return copies

    def unordered(self, value: Iterable[Any]) -> list[Any]:
        items = list(itertools.islice(value, RESULT_NODES))
        try:
            items.sort()
        except TypeError:
            items.sort(key=repr)
        return self.sequence(items)

    def member(self, value: enum.Enum) -> Any:
        self._path.append("value")  # a member may have a member as its value, and so on
        copy = self.copy(value.value)
        self._path.pop()
        return copy

    def as_is(self, value: Any) -> Any:
        return value

    def iso(self, value: datetime.date | datetime.time) -> str:
        return self.text(str(value.isoformat()))


def copy_as_data(value: Any, nesting: int, what: str = "result") -> Any:
    """The value as plain data: exact dicts, lists, strings, numbers, booleans and None. Raises NotData.

    Tuples, sets (sorted) and deques become lists, dataclasses become dicts, dates ISO text, decimals text, and
    members of an enumeration their values. Exceptions of the value's own methods pass through. ``what`` names the
    value in messages.
    """
    return _Copier(nesting, what).copy(value)


# By type; a subclass is copied like the first of its bases in this table.
_EXACT: dict[type, Callable[[_Copier, Any], Any]] = {
    type(None): _Copier.as_is,
    bool: _Copier.as_is,
    str: _Copier.text,
    int: _Copier.integer,
    float: _Copier.number,
    dict: _Copier.mapping,
    list: _Copier.sequence,
    tuple: _Copier.sequence,
    set: _Copier.unordered,
    frozenset: _Copier.unordered,
    deque: _Copier.sequence,
    range: _Copier.sequence,
    type({}.keys()): _Copier.sequence,
    type({}.values()): _Copier.sequence,
    type({}.items()): _Copier.sequence,
    ChainMap: _Copier.mapping,
    datetime.datetime: _Copier.iso,
    datetime.date: _Copier.iso,
    datetime.time: _Copier.iso,
    datetime.timedelta: _Copier.printed,
    decimal.Decimal: _Copier.printed,
    fractions.Fraction: _Copier.fraction,
    uuid.UUID: _Copier.printed,
}

_ANY_HINT = "return dicts, lists, strings, numbers, booleans or None"
_HINTS = {
    "generator": "return list(...) of it",
    "map": "return list(...) of it",
    "filter": "return list(...) of it",
    "zip": "return list(...) of it",
    "function": "call it, and return what it returns",
    "method": "call it, and return what it returns",
    "builtin_function_or_method": "call it, and return what it returns",
    "coroutine": "await it",
    "bytes": "return value.decode(), or base64.b64encode(value).decode()",
    "complex": "return [value.real, value.imag]",
}


def _copier_of(value: Any) -> Callable[[_Copier, Any], Any] | None:
    kind = type(value)
    exact = _EXACT.get(kind)
    if exact is not None:
        return exact
    if dataclasses.is_dataclass(kind):
        return _Copier.record
    if issubclass(kind, enum.Enum):
        return _Copier.member
    return next((_EXACT[base] for base in kind.__mro__ if base in _EXACT), None)
