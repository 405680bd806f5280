"""Byte arrays: methods that read an argument only after they have looked at the bytes.

Code in C takes the address or the length of the bytes, and then asks an argument for its number, its items or its
length. An argument of a script may empty the array meanwhile: the code reads and writes freed memory (CPython
issues 91153, 142557 to 142560, 143003). The methods here ask their arguments first.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from .freezing import replace_method
from .trust import TRUSTED

_BUFFERS = (bytes, bytearray, memoryview)

_methods: Any = dict(vars(bytearray))
_set_original: Any = _methods["__setitem__"]


def _plain(argument: Any) -> Any:
    """An argument that calls no code of a script: the text, the bytes or the number of an object of a script."""
    kind = type(argument)
    if kind in TRUSTED:
        return argument
    if issubclass(kind, str):
        return str.__str__(argument)
    if issubclass(kind, bytes):
        return memoryview(argument).tobytes()
    return operator.index(argument) if hasattr(kind, "__index__") else argument


def _plain_key(key: Any) -> Any:
    if type(key) is slice:
        return slice(_plain(key.start), _plain(key.stop), _plain(key.step))
    return _plain(key)


def _plain_items(items: Any) -> Any:
    """Bytes in place of an iterable of numbers; anything else is as it is."""
    return bytearray(iter(items)) if _is_iterable(items) and not isinstance(items, (*_BUFFERS, str)) else items


def _is_iterable(items: Any) -> bool:
    return any(hasattr(type(items), name) for name in ("__iter__", "__getitem__"))


def _set_item(array: bytearray, key: Any, value: Any) -> Any:
    if type(key) is int and type(value) is int:  # in a loop over bytes
        return _set_original(array, key, value)
    key = _plain_key(key)
    if type(key) is not slice:
        value = _plain(value)
    elif not hasattr(type(value), "__index__"):
        value = _plain_items(value)
    return _set_original(array, key, value)


def _delete_item(array: bytearray, key: Any) -> None:
    _methods["__delitem__"](array, _plain_key(key))


def _extend(array: bytearray, items: Any, /) -> None:
    _methods["extend"](array, _plain_items(items))


def _join(array: bytearray, parts: Iterable[Any], /) -> bytearray:
    joined: bytearray = _methods["join"](array, list(parts) if _is_iterable(parts) else parts)
    return joined


def _format(array: bytearray, values: Any) -> Any:
    if not isinstance(array, bytearray):
        return NotImplemented
    return bytearray(memoryview(array).tobytes() % values)


def _asking_first(name: str) -> Callable[..., Any]:
    original = _methods[name]

    def method(array: bytearray, /, *arguments: Any, **named: Any) -> Any:
        return original(array, *map(_plain, arguments), **{key: _plain(value) for key, value in named.items()})

    return method


_REPLACED: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        **{
            name: _asking_first(name)
            for name in (
                "find",
                "rfind",
                "index",
                "rindex",
                "count",
                "startswith",
                "endswith",
                "hex",
                "__contains__",
            )
        },
        "__setitem__": _set_item,
        "__delitem__": _delete_item,
        "__mod__": _format,
        "extend": _extend,
        "join": _join,
    }
)


def guard_byte_arrays() -> None:
    """Replace the methods. Raises RuntimeError where that is impossible: no script runs there."""
    for name, method in _REPLACED.items():
        original = _methods[name]
        method.__name__, method.__qualname__, method.__doc__ = name, f"bytearray.{name}", original.__doc__
        replace_method(bytearray, name, method)
    probe = bytearray(b"ab")
    if probe.find.__func__ is not _REPLACED["find"]:  # type: ignore[attr-defined]
        raise RuntimeError("the methods of byte arrays cannot be replaced here")
