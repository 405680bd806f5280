"""The table of builtins that scripts have, and the guarded ones among them."""

from __future__ import annotations

import builtins
import os
from typing import Any

from winnow.sandbox.child.language import names
from winnow.sandbox.child.language.policy import (
    ATTRIBUTE,
    CHANGED,
    CLOSED,
    CONSTRUCTOR,
    END,
    LAST,
    OPERAND,
    OPERATOR,
    SLOTS,
    TARGET,
    TYPE,
)
from winnow.sandbox.child.language.refusals import Refused

from .attributes import changed_target, read_attribute, read_by_name
from .classes import ClassMethod, build_class, check_slots
from .constructors import guard_constructor
from .dunders import read_namespace
from .operands import LOOKED_AT, check_operand, guard_operator
from .stand_ins import Type
from .trust import script_globals
from .writes import check_write, writable_target

_MISSING = object()


def guarded_getattr(obj: Any, name: str, default: Any = _MISSING, /) -> Any:
    """getattr(object, name[, default])."""
    try:
        return read_by_name(obj, name)
    except Refused:
        raise
    except AttributeError:
        if default is _MISSING:
            raise
        return default


def guarded_hasattr(obj: Any, name: str, /) -> bool:
    """Whether the object has an attribute that the script may read."""
    try:
        read_by_name(obj, name)
    except AttributeError:
        return False
    return True


def guarded_setattr(obj: Any, name: str, value: Any, /) -> None:
    """setattr(object, name, value), on the script's own objects."""
    check_write(obj, name)
    setattr(obj, name, value)


def guarded_delattr(obj: Any, name: str, /) -> None:
    """delattr(object, name), on the script's own objects."""
    check_write(obj, name)
    delattr(obj, name)


def guarded_vars(obj: Any = _MISSING, /) -> Any:
    """The attributes of one of the script's own objects, as a dict."""
    if obj is _MISSING:
        raise Refused("vars() needs an object here", "use a dict of your own")
    return read_namespace(obj, "__dict__")


def guarded_dir(obj: Any = _MISSING, /) -> list[str]:
    """The names an object answers to, or the script's own names."""
    all_names = script_globals if obj is _MISSING else builtins.dir(obj)
    return sorted(name for name in all_names if names.is_plain(name))


_SALT = os.urandom(16)


def identity(obj: object, /) -> int:
    """A number that is unique among live objects, and does not reveal the object's address."""
    return hash((_SALT, builtins.id(obj))) & 0x7FFFFFFFFFFF


def reseed_identities() -> None:
    """Let this process compute other identities than the fork server."""
    global _SALT
    _SALT = os.urandom(16)


def exit_script(code: Any = None, /) -> None:
    """Exit the script: ``exit`` and ``quit``."""
    raise SystemExit(code)


_UNGUARDED = names.words(
    "abs aiter all anext any ascii bin bool bytearray bytes callable chr complex dict divmod "
    "enumerate filter float format frozenset hash hex int isinstance issubclass iter len list map max min "
    "next object oct ord pow property range repr reversed round set slice sorted staticmethod str sum "
    "super tuple zip Ellipsis NotImplemented True False None __debug__"
)

_EXCEPTIONS = {
    name: value
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}


class Last:
    """The value of a script's last expression, as opposed to a value that it returned."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


ENDED = object()  # returned by a script that ran to its end without a value

_BUILTINS: dict[str, Any] = {
    **{name: getattr(builtins, name) for name in _UNGUARDED},
    **_EXCEPTIONS,
    "type": Type,
    "classmethod": ClassMethod,
    "getattr": guarded_getattr,
    "hasattr": guarded_hasattr,
    "setattr": guarded_setattr,
    "delattr": guarded_delattr,
    "vars": guarded_vars,
    "dir": guarded_dir,
    "id": identity,
    "exit": exit_script,
    "quit": exit_script,
    "__build_class__": build_class,
    ATTRIBUTE: read_attribute,
    TARGET: writable_target,
    CHANGED: changed_target,
    OPERATOR: guard_operator,
    CONSTRUCTOR: guard_constructor,
    OPERAND: check_operand,
    TYPE: type,
    CLOSED: LOOKED_AT,
    SLOTS: check_slots,
    LAST: Last,
    END: ENDED,
}


def get_builtins(**more: Any) -> dict[str, Any]:
    """The builtins of a script, guards included; ``more`` is added to them.

    It is one dict and never a copy, because a process runs one script: a copy would touch every builtin, and with
    it memory pages that a child still shares with the fork server.
    """
    _BUILTINS.update(more)
    return _BUILTINS
