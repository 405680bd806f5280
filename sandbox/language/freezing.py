"""Makes classes immutable for good, as the interpreter's own are.

A class written in Python takes new attributes from whoever can name it, and much of the standard library sets
attributes on objects it is handed. The interpreter has a flag for classes that take none, and no function that
sets it; so it is set in the class object itself, after a look at whether what lies there is the class's flags.
"""

from __future__ import annotations

import ctypes

_IMMUTABLE = 1 << 8
_FLAGS_OFFSET = 21 * ctypes.sizeof(ctypes.c_void_p)


def freeze(cls: type) -> bool:
    """Let nothing set or delete an attribute of this class any more; False where it cannot be done."""
    flags = ctypes.c_ulong.from_address(id(cls) + _FLAGS_OFFSET)
    if flags.value == type.__dict__["__flags__"].__get__(cls):
        flags.value |= _IMMUTABLE
    return is_frozen(cls)


def is_frozen(cls: type) -> bool:
    """Whether its attributes can be set by nobody."""
    return bool(type.__dict__["__flags__"].__get__(cls) & _IMMUTABLE)
