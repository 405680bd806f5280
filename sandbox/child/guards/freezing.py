"""Classes of the interpreter and of the library: made immutable, and single methods of theirs replaced.

Any code that can name a class written in Python can set attributes on it, and much of the standard library sets
attributes on objects passed to it. The interpreter has a flag for immutable classes but no function that sets it.
The flag is therefore set in memory, in the class object itself, after a check that the class has its flags there.

A class written in C has no method that Python code could replace: it keeps pointers to functions. Such a pointer
is replaced by the one that classes written in Python have, which calls the method that the class's dict holds.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from typing import Any

_WORD = ctypes.sizeof(ctypes.c_void_p)
_IMMUTABLE = 1 << 8
_FLAGS_OFFSET = 21 * _WORD


def freeze(cls: type) -> bool:
    """Make the attributes of this class immutable; return False if that is impossible."""
    flags = ctypes.c_ulong.from_address(id(cls) + _FLAGS_OFFSET)
    if flags.value == type.__dict__["__flags__"].__get__(cls):
        flags.value |= _IMMUTABLE
    return is_frozen(cls)


def is_frozen(cls: type) -> bool:
    """Whether the attributes of this class are immutable."""
    return bool(type.__dict__["__flags__"].__get__(cls) & _IMMUTABLE)


# The places of pointers to methods: words from the beginning of a class, each but the last to another table.
# Methods without one are found in the dict of the class.
_POINTERS = {
    "__repr__": (11,),
    "__mod__": (12, 3),
    "__contains__": (13, 7),
    "__getitem__": (14, 1),
    "__setitem__": (14, 2),
    "__delitem__": (14, 2),
    "__str__": (17,),
}


def replace_method(cls: Any, name: str, method: Callable[..., Any]) -> None:
    """Replace a method of a class written in C.

    Raises RuntimeError on an interpreter that keeps its pointers elsewhere.
    """
    (namespace,) = gc.get_referents(cls.__dict__)
    if name in _POINTERS:
        written: Any = type("written", (), {name: method})
        other: Any = type("other", (), {name: lambda self: None})
        pointer = _pointer(cls, name)
        if not pointer.value or _pointer(written, name).value != _pointer(other, name).value:
            raise RuntimeError(f"{cls.__name__}.{name} cannot be replaced here")
        pointer.value = _pointer(written, name).value
    namespace[name] = method
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))


def _pointer(cls: type, name: str) -> ctypes.c_void_p:
    address = id(cls)
    *tables, last = _POINTERS[name]
    for table in tables:
        address = ctypes.c_void_p.from_address(address + table * _WORD).value or 0
    return ctypes.c_void_p.from_address(address + last * _WORD)
