"""The guard of ``__new__``: below a class of ours, the constructor of a script makes instances of its own class.

Methods of such a class call the class of an object, and go on with what they get as with an object of that class.
Those in C do not look: `datetime.astimezone` writes into it, and takes a part of it for an object.
"""

from __future__ import annotations

import abc
import functools
import types
import typing
from typing import Any

from winnow.sandbox.child.language.refusals import Refused, kind_of

from .trust import TRUSTED, inherits_from

# Classes of ours without methods that make anything.
_BARE: frozenset[Any] = frozenset({object, abc.ABC, typing.Generic, typing.Protocol})


def guard_constructor(value: Any) -> Any:
    """The value that a class body binds to ``__new__``, as a function that checks what it made."""
    function = value.__func__ if type(value) is staticmethod else value
    if not callable(function) or type(function) is classmethod:
        raise Refused(f"{kind_of(value)} are no constructors", "write def __new__(cls): ...")

    def checked(cls: Any, /, *arguments: Any, **keywords: Any) -> Any:
        made = function(cls, *arguments, **keywords)
        if isinstance(cls, type) and not inherits_from(type(made), cls) and _is_below_ours(cls):
            raise TypeError(f"__new__ of {cls.__name__!r} returned {kind_of(made)}")
        return made

    return functools.update_wrapper(checked, function) if type(function) is types.FunctionType else checked


def _is_below_ours(cls: type) -> bool:
    return any(base in TRUSTED and base not in _BARE for base in cls.__mro__)
