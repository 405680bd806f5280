"""The line between trusted code and the script: which classes, functions and attributes the script made.

One rule decides about writing and about private names: what existed before the script is trusted, what came later
is the script's. ``TRUSTED`` holds every class that existed when the fork server was ready. Every other class, and
every instance of one, was made by the script.
"""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Mapping
from typing import Any

from winnow.client_sdk.rows import Part, Row
from winnow.sandbox.child.language import names

from .freezing import freeze

TRUSTED: set[type] = set()

# Trusted classes whose instances a script may write to: only the script reads what it puts there.
WRITABLE_TYPES: set[type] = {types.SimpleNamespace, Row, Part}


def trust_existing_classes() -> None:
    """Trust every class that exists now. Call it once, when everything is imported."""
    pending: list[type] = [object]
    while pending:
        cls = pending.pop()
        if cls not in TRUSTED:
            TRUSTED.add(cls)
            pending.extend(type.__subclasses__(cls))


def freeze_trusted_classes() -> None:
    """Make the trusted classes immutable, so that no library function can be used to change them.

    Raises RuntimeError on an interpreter whose classes cannot be made immutable: no script runs there.
    """
    movable = sorted(cls.__qualname__ for cls in TRUSTED if not freeze(cls))
    if movable:
        raise RuntimeError(f"{len(movable)} classes cannot be made immutable here, {movable[0]} first")


script_globals: dict[str, Any] = {}  # the script's global names; never replaced by another dict


def is_script_function(obj: object) -> bool:
    """Whether this is a function that the script defined."""
    return type(obj) is types.FunctionType and obj.__globals__ is script_globals


def is_made_by_script(obj: Any, name: str) -> bool:
    """Whether the script set this attribute of the object."""
    cls = type(obj)
    if cls is super:
        return _is_made_in(_super_classes(obj), name)
    if isinstance(obj, type):
        if obj in TRUSTED or is_set_by_library(obj, name):
            return False
        return _is_made_in(obj.__mro__, name) or _is_made_in(cls.__mro__, name)
    if cls is types.FunctionType:
        return is_script_function(obj)
    if cls in WRITABLE_TYPES:
        return True
    if cls in TRUSTED:
        return False
    return not is_set_by_library(cls, name) and (name in instance_dict(obj) or _is_made_in(cls.__mro__, name))


def _is_made_in(classes: tuple[type, ...], name: str) -> bool:
    """Whether the script made the first class that has the name."""
    for cls in classes:
        if name in type.__getattribute__(cls, "__dict__"):
            return cls not in TRUSTED
    return False


def is_enumeration(obj: Any) -> bool:
    """Whether this is an enumeration or a member of one."""
    return issubclass(type(obj), enum.EnumType) or issubclass(type(type(obj)), enum.EnumType)


def is_set_by_library(cls: type, name: str) -> bool:
    """Whether a metaclass of the library keeps its state under this private name of a script's class.

    Such names are ``_member_type_`` of an enumeration, ``_abc_impl`` of an abstract class, and ``_is_protocol``.
    """
    if type(cls) is type or name in names.DOCUMENTED_PRIVATE:
        return False
    if issubclass(type(cls), enum.EnumType):
        return names.is_sunder(name) or name in _STATE_OF_ENUMERATIONS
    return name in _STATE_OF_CLASSES


_STATE_OF_CLASSES = frozenset({"_abc_impl", "_is_protocol", "_is_runtime_protocol"})
_STATE_OF_ENUMERATIONS = frozenset(name for cls in (enum.Enum, enum.Flag, enum.EnumType) for name in vars(cls))


def inherits_from(owner: type, cls: type) -> bool:
    """Whether ``cls`` is a real base class; issubclass() also accepts classes registered with an abstract one."""
    return any(cls is base for base in owner.__mro__)


def instance_dict(obj: Any) -> Mapping[str, Any]:
    """The instance's ``__dict__``, read without calling code of its class; empty where it has none."""
    try:
        namespace = object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return {}
    return namespace if type(namespace) is dict else {}


_super_object = super.__dict__["__self_class__"].__get__
_super_start = super.__dict__["__thisclass__"].__get__
super_self = super.__dict__["__self__"].__get__


def _super_classes(obj: Any) -> tuple[type, ...]:
    """The classes that a ``super()`` object looks attributes up in."""
    order = _super_object(obj).__mro__
    return tuple(order[order.index(_super_start(obj)) + 1 :])


ALIASES: tuple[type, ...] = (types.GenericAlias, vars(typing)["_BaseGenericAlias"])
