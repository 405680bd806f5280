"""Immutable classes: makes classes written in Python as immutable as the interpreter's own.

Any code that can name a class written in Python can set attributes on it, and much of the standard library sets
attributes on objects passed to it. The interpreter has a flag for immutable classes but no function that sets it.
The flag is therefore set in memory, in the class object itself, after a check that the class has its flags there.
"""

from __future__ import annotations

import ctypes

_IMMUTABLE = 1 << 8
_FLAGS_OFFSET = 21 * ctypes.sizeof(ctypes.c_void_p)


def freeze(cls: type) -> bool:
    """Make the attributes of this class immutable; return False if that is impossible."""
    flags = ctypes.c_ulong.from_address(id(cls) + _FLAGS_OFFSET)
    if flags.value == type.__dict__["__flags__"].__get__(cls):
        flags.value |= _IMMUTABLE
    return is_frozen(cls)


def is_frozen(cls: type) -> bool:
    """Whether the attributes of this class are immutable."""
    return bool(type.__dict__["__flags__"].__get__(cls) & _IMMUTABLE)
