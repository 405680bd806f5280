"""The guard of operands: checks the objects that the operators of a script's classes get.

In many places the library compares its own objects with objects of a script, or unites them, and thereby passes
its objects to an operator of the script. ``Type[int] == spy`` passes the real ``type``, a mapping proxy passes its
dict, a bound method its function. There may be unknown places of this kind, so the operators themselves are
guarded: an operator that a script defines never gets an object that a script may not hold, whatever calls it.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Iterable
from typing import Any

from winnow.sandbox.child.language import names
from winnow.sandbox.child.language.policy import CLOSED
from winnow.sandbox.child.language.refusals import Refused, kind_of

from .stand_ins import is_stand_in, public_class
from .trust import TRUSTED, is_script_function

_DESCRIPTORS: tuple[type, ...] = (
    types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType,
    types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
)  # fmt: skip
_NEVER = (
    types.ModuleType, types.FrameType, types.CodeType, types.TracebackType, types.CellType,
)  # fmt: skip

# The types whose objects are checked. Compiled code tests for these types before it calls the guard.
LOOKED_AT: set[type] = {
    *_DESCRIPTORS, *_NEVER, types.FunctionType, types.MethodType, types.BuiltinFunctionType, dict, type,
}  # fmt: skip

_offered: dict[int, Any] = {}  # functions that scripts have by name, by address
_withheld: dict[int, Any] = {}  # dicts of ours, by address


def guard_operands(offered: Iterable[Any]) -> None:
    """Record the objects that scripts have by name, and our own. Call it once, after `trust_existing_classes`."""
    LOOKED_AT.update(cls for cls in TRUSTED if issubclass(cls, (type, *_NEVER)))
    _offered.update((id(value), value) for value in offered)
    _withheld.update((id(space), space) for space in (sys.modules, *map(vars, list(sys.modules.values()))))


def check_operand(value: Any) -> None:
    """Raise Refused for an operand that no script may hold."""
    if not _may_be_held(value, type(value)):
        raise Refused(f"{kind_of(value)} of the interpreter are no operands")


def _may_be_held(value: Any, kind: type) -> bool:
    if issubclass(kind, type):
        return public_class(value) is value or is_stand_in(value)
    if kind is types.FunctionType:
        return is_script_function(value) or id(value) in _offered
    if kind is types.MethodType:
        return names.is_plain(getattr(value, "__name__", "_")) or is_script_function(value.__func__)
    if kind is types.BuiltinFunctionType:
        if id(value) in _offered:
            return True
        return type(value.__self__) is not types.ModuleType and _is_open(value.__name__)
    if kind in _DESCRIPTORS:
        return _is_open(value.__name__)
    return id(value) not in _withheld if kind is dict else not issubclass(kind, _NEVER)


def _is_open(name: str) -> bool:
    return names.is_plain(name) or name in names.OPERATORS


def guard_operator(value: Any) -> Any:
    """The value that a class body binds to an operator, as a function that checks its operands first.

    A method that the class body defines with ``def`` checks its operands itself: the policy compiles that in.
    """
    if value is None or type(value) in _DESCRIPTORS:
        return value
    if type(value) is types.FunctionType and CLOSED in value.__code__.co_names and is_script_function(value):
        return value

    def checked(self: Any, /, *operands: Any) -> Any:
        for operand in operands:
            check_operand(operand)
        bound = value.__get__(self, type(self)) if hasattr(type(value), "__get__") else value
        return bound(*operands)

    return functools.update_wrapper(checked, value) if type(value) is types.FunctionType else checked
