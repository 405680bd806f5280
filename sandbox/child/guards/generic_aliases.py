"""Generic aliases, such as ``list[int]``: two methods of theirs that trust what an alias was made of.

Code in C asks the arguments of an alias for attributes, without a guard, and believes the answers. An argument
that is an object of a script makes it take memory for an object, at any address that the script chooses (CPython
issues 138479, 155752). A list among the arguments that changes while it is shown makes it use freed memory
(CPython issue 143635).
"""

from __future__ import annotations

import types
import typing
from typing import Any

from winnow.sandbox.child.language.refusals import kind_of

from .freezing import replace_method
from .trust import ALIASES, TRUSTED

# The classes of arguments that hold no answers of a script: types, parameters, and what stands for a type. A class
# that a script bases on one of them (as it may on NewType and str) is not among them.
_TYPES: tuple[type, ...] = (
    type, *ALIASES, types.UnionType, type(None), type(...), str, bytes, int, bool,
    typing.TypeVar, typing.TypeVarTuple, typing.ParamSpec, typing.ParamSpecArgs, typing.ParamSpecKwargs,
    typing.NewType, typing.ForwardRef, vars(typing)["_SpecialForm"],
    *filter(None, [vars(typing).get("TypeAliasType")]),
)  # fmt: skip

_substitute: Any = vars(types.GenericAlias)["__getitem__"]
_show: Any = vars(types.GenericAlias)["__repr__"]


def _copy_types(argument: Any) -> Any:
    """An argument that holds types only; a list is copied, because a script may change it while it is read."""
    kind = type(argument)
    if kind is list or kind is tuple:
        return kind(map(_copy_types, argument))
    if kind not in TRUSTED or not issubclass(kind, _TYPES):
        raise TypeError(f"{kind_of(argument)} are no types")
    return argument


def _substitute_types(alias: Any, item: Any) -> Any:
    """``alias[item]``: its parameters replaced."""
    return _substitute(_with_arguments(alias, _copy_types(alias.__args__)), item)


def _show_copy(alias: Any) -> str:
    """``repr(alias)``, of an alias with lists of its own."""
    arguments = alias.__args__
    if not any(issubclass(type(each), list) for each in arguments):
        return str(_show(alias))
    own = tuple(list.copy(each) if issubclass(type(each), list) else each for each in arguments)
    return str(_show(_with_arguments(alias, own)))


def _with_arguments(alias: Any, own: tuple[Any, ...]) -> Any:
    """An alias of the same origin with other arguments."""
    made = types.GenericAlias(alias.__origin__, own)
    return next(iter(made)) if alias.__unpacked__ else made


def guard_aliases() -> None:
    """Replace both methods. Raises RuntimeError where that is impossible: no script runs there."""
    replace_method(types.GenericAlias, "__getitem__", _substitute_types)
    replace_method(types.GenericAlias, "__repr__", _show_copy)
    probe: Any = list[object()]  # type: ignore[misc]
    try:
        probe[int]
    except TypeError as error:
        if "'object' objects are no types" in str(error):
            return
    raise RuntimeError("the methods of generic aliases cannot be replaced here")
