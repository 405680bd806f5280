"""A script's value as plain data: exact JSON types, copied; or a clear word on why it cannot be."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
import uuid
from collections import ChainMap, deque
from collections.abc import Callable, Mapping
from typing import Any

from .frames import INT_BITS

_MOST_NODES = 200_000


class NotData(Exception):
    """The value has no JSON. ``where`` is the path to it, ``hint`` what to return instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class _Copier:
    """Copies one value, counting."""

    def __init__(self, nesting: int) -> None:
        self._nesting = nesting
        self._nodes = 0

    def copy(self, value: Any, path: str, depth: int) -> Any:
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            raise NotData(f"the result holds more than {_MOST_NODES:,} values", "return fewer rows or fields")
        if depth > self._nesting:
            raise NotData(
                f"{path[:80]} is nested deeper than {self._nesting} levels, or contains itself",
                "return a flat list",
            )
        copier = _copier_of(value)
        if copier is None:
            kind = type(value).__name__
            raise NotData(f"{path} is of type {kind!r}, which is not data", _HINTS.get(kind, _ANY_HINT))
        return copier(self, value, path, depth)

    def integer(self, value: int, path: str, depth: int) -> int:
        if value.bit_length() > INT_BITS:
            raise NotData(f"{path} is an integer of {value.bit_length():,} bits", "return str(...) of it")
        return int(value)

    def number(self, value: float, path: str, depth: int) -> float:
        number = float(value)
        if number - number != 0:
            raise NotData(f"{path} is {number}, which JSON does not have", "return None or a string instead")
        return number

    def mapping(self, value: Mapping[Any, Any], path: str, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, item in list(value.items()):
            found[_key(key, path)] = self.copy(item, f"{path}[{key!r}]", depth + 1)
        return found

    def sequence(self, value: Any, path: str, depth: int) -> list[Any]:
        return [self.copy(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(list(value))]

    def unordered(self, value: Any, path: str, depth: int) -> list[Any]:
        items = list(value)
        try:
            items.sort()
        except TypeError:
            items.sort(key=repr)
        return self.sequence(items, path, depth)

    def record(self, value: Any, path: str, depth: int) -> dict[str, Any]:
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return self.mapping(fields, path, depth)

    def member(self, value: enum.Enum, path: str, depth: int) -> Any:
        return self.copy(value.value, path, depth)


def plain(value: Any, nesting: int) -> Any:
    """The value as JSON has it: exact dicts, lists, strings, numbers, booleans and None. Raises NotData.

    Tuples, sets (sorted) and deques become lists, dataclasses objects, dates ISO text, decimals text, members of
    an enumeration their values.
    """
    return _Copier(nesting).copy(value, "result", 0)


def _text(copier: _Copier, value: Any, path: str, depth: int) -> str:
    return str.__str__(value)


def _as_is(copier: _Copier, value: Any, path: str, depth: int) -> Any:
    return value


def _printed(copier: _Copier, value: Any, path: str, depth: int) -> str:
    return str(value)


def _iso(copier: _Copier, value: Any, path: str, depth: int) -> str:
    return str(value.isoformat())


# In the order in which they are tried; an exact type is found at once.
_KINDS: tuple[tuple[type, Callable[[_Copier, Any, str, int], Any]], ...] = (
    (type(None), _as_is),
    (bool, _as_is),
    (enum.Enum, _Copier.member),
    (str, _text),
    (int, _Copier.integer),
    (float, _Copier.number),
    (dict, _Copier.mapping),
    (list, _Copier.sequence),
    (tuple, _Copier.sequence),
    (set, _Copier.unordered),
    (frozenset, _Copier.unordered),
    (deque, _Copier.sequence),
    (range, _Copier.sequence),
    (type({}.keys()), _Copier.sequence),
    (type({}.values()), _Copier.sequence),
    (type({}.items()), _Copier.sequence),
    (ChainMap, _Copier.mapping),
    (datetime.datetime, _iso),
    (datetime.date, _iso),
    (datetime.time, _iso),
    (datetime.timedelta, _printed),
    (decimal.Decimal, _printed),
    (fractions.Fraction, _printed),
    (uuid.UUID, _printed),
)
_EXACT = dict(_KINDS)

_ANY_HINT = "return dicts, lists, strings, numbers, booleans or None"
_HINTS = {
    "generator": "return list(...) of it",
    "map": "return list(...) of it",
    "filter": "return list(...) of it",
    "zip": "return list(...) of it",
    "function": "call it, and return what it returns",
    "method": "call it, and return what it returns",
    "builtin_function_or_method": "call it, and return what it returns",
    **dict.fromkeys(("coroutine", "Task", "Future", "_GatheringFuture"), "await it"),
    "async_generator": "return [item async for item in it]",
    "bytes": "return value.decode(), or base64.b64encode(value).decode()",
    "complex": "return [value.real, value.imag]",
}


def _copier_of(value: Any) -> Callable[[_Copier, Any, str, int], Any] | None:
    exact = _EXACT.get(type(value))
    if exact is not None:
        return exact
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _Copier.record
    return next((copier for kind, copier in _KINDS if isinstance(value, kind)), None)


def _key(key: Any, path: str) -> str:
    if isinstance(key, enum.Enum):
        key = key.value
    if isinstance(key, str):
        return str.__str__(key)
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    if isinstance(key, (int, float, datetime.date, uuid.UUID)):
        return str(key)
    raise NotData(
        f"{path} has a key of type {type(key).__name__!r}; keys are strings", "use str(key), or a list of pairs"
    )
