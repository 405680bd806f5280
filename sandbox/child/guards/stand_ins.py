"""Stand-ins for the classes that a script cannot name, and for ``type``."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

from winnow.sandbox.child.language.refusals import Refused

from .trust import TRUSTED

OFFERED: set[type] = set()  # the classes that scripts have by name


def offer_classes(classes: Iterable[type]) -> None:
    """Record that scripts have these classes by name."""
    OFFERED.update(classes)


def is_offered(cls: type) -> bool:
    """Whether scripts have this class by name."""
    return cls in OFFERED


def type_of(obj: Any) -> Any:
    """``type(obj)`` as a script sees it: the class, or a stand-in for a class that the script cannot name."""
    return public_class(type(obj))


def public_class(cls: type) -> Any:
    """The class as scripts see it: a stand-in, if no façade and no builtin offers the class itself.

    Such a class would give access to names that the façades leave out.
    """
    if cls not in TRUSTED or cls in OFFERED:
        return cls
    return Type if issubclass(cls, type) else _STAND_INS.get(cls) or _make_stand_in(cls)


class _TypeOfTypes(type):
    """The metaclass of `Type`: one argument, isinstance and issubclass work as with `type`."""

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        if len(arguments) != 1 or keywords:
            raise Refused("type() takes one argument here", "write a class statement to make a class")
        return type_of(arguments[0])

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, type)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, type) or subclass is Type

    def __repr__(cls) -> str:
        return "<class 'type'>"


class Type(metaclass=_TypeOfTypes):
    """The ``type`` of scripts."""

    __class_getitem__: Any = classmethod(types.GenericAlias)


Type.__name__ = Type.__qualname__ = "type"
Type.__module__ = "builtins"

_STAND_INS: dict[type, type] = {}
_ORIGINALS: dict[type, type] = {}  # a stand-in -> the class that it stands for


class _StandIn(type):
    """The metaclass of stand-ins: they compare and test as the original does, and create no instances."""

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        raise Refused(f"cannot create {cls.__name__!r} instances")

    def __instancecheck__(cls, instance: object) -> bool:
        return issubclass(type(instance), _ORIGINALS[cls])


def is_stand_in(cls: type) -> bool:
    """Whether this class is a stand-in."""
    return type(cls) is _StandIn


def set_stand_in(cls: type, stand_in: type) -> None:
    """Let scripts see our class ``stand_in`` in place of ``cls``, a class of the interpreter."""
    _STAND_INS[cls] = stand_in


def _make_stand_in(cls: type) -> type:
    namespace = {"__slots__": (), "__module__": cls.__module__, "__qualname__": cls.__qualname__}
    stand_in = _StandIn(cls.__name__, (), namespace)
    _STAND_INS[cls], _ORIGINALS[stand_in] = stand_in, cls
    TRUSTED.add(stand_in)
    return stand_in
