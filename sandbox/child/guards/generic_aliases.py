"""Generic aliases, such as ``list[int]``: two methods of theirs that trust what an alias was made of.

Code in C asks the arguments of an alias for attributes, without a guard, and believes the answers. An argument
that is an object of a script makes it take memory for an object, at any address that the script chooses (CPython
issues 138479, 155752). A list among the arguments that changes while it is shown makes it use freed memory
(CPython issue 143635).
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable
from typing import Any

from winnow.sandbox.child.language.refusals import kind_of

from .freezing import replace_method
from .trust import ALIASES

# The classes of arguments that hold no answers of a script: types, parameters, and what stands for a type.
_TYPES: tuple[type, ...] = (
    type, *ALIASES, types.UnionType, type(None), type(...), str, bytes, int, bool,
    typing.TypeVar, typing.TypeVarTuple, typing.ParamSpec, typing.ParamSpecArgs, typing.ParamSpecKwargs,
    typing.NewType, typing.ForwardRef, vars(typing)["_SpecialForm"],
    *filter(None, [vars(typing).get("TypeAliasType")]),
)  # fmt: skip
_EXACT = frozenset({str, bytes, int, bool})  # of the others, no script has a class below

_substitute: Any = vars(types.GenericAlias)["__getitem__"]
_show: Any = vars(types.GenericAlias)["__repr__"]


def _check_arguments(arguments: Iterable[Any]) -> None:
    for each in arguments:
        kind = type(each)
        if kind is list or kind is tuple:
            _check_arguments(each)
        elif not issubclass(kind, _TYPES) or (kind not in _EXACT and not _EXACT.isdisjoint(kind.__mro__)):
            raise TypeError(f"{kind_of(each)} are no types")


def _substitute_types(alias: Any, item: Any) -> Any:
    """``alias[item]``: its parameters replaced."""
    _check_arguments(alias.__args__)
    return _substitute(alias, item)


def _show_copy(alias: Any) -> str:
    """``repr(alias)``, of an alias with lists of its own."""
    arguments = alias.__args__
    if not any(issubclass(type(each), list) for each in arguments):
        return str(_show(alias))
    own = tuple(list.copy(each) if issubclass(type(each), list) else each for each in arguments)
    shown = _show(types.GenericAlias(alias.__origin__, own))
    return f"*{shown}" if alias.__unpacked__ else shown


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
