"""Changes to functions and data of the standard library, made in the fork server before its classes are closed.

Each change prevents one way in which the library would pass its own objects to a script, or trust a script's
object:

* Numbers: `statistics` calls the class of its items. For an item that is a class, that would be the real ``type``,
  so only classes of numbers are accepted.
* Types in annotations: an alias compares the arguments that it was made of with its own parts. An instance of a
  script's class is therefore not accepted as a type.
* Members of enumerations: their descriptor reads its own name, without a guard, from a value that a script chose.
  Only plain names are therefore accepted.
* Rows of csv: a reader is advanced by its own input only where that input allows it. A generator does not.
* Data of classes: dicts, lists and sets in classes that scripts have are replaced by immutable copies.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import enum
import statistics
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from winnow.sandbox.child.guards.trust import TRUSTED, inherits_from
from winnow.sandbox.child.language import names
from winnow.sandbox.child.language.refusals import Refused, kind_of

_numbers: Any = vars(statistics)
_typing: Any = vars(typing)
_coerce, _type_convert = _numbers["_coerce"], _typing["_type_convert"]
_NUMBERS = (int, float, complex, statistics.Decimal, statistics.Fraction)  # type: ignore[attr-defined]


def _coerce_numbers(one: type, other: type) -> Any:
    """statistics._coerce, for classes of numbers alone, because its result is called with a number."""
    for cls in (one, other):
        if cls in TRUSTED and not any(inherits_from(cls, number) for number in _NUMBERS):
            raise TypeError(f"can't convert type {cls.__name__!r} to numerator/denominator")
    return _coerce(one, other)


def _convert_type(argument: Any, *given: Any, **more: Any) -> Any:
    """typing._type_convert, which would otherwise accept any object as a type."""
    if type(argument) not in TRUSTED and not isinstance(argument, type):
        raise TypeError(f"{kind_of(argument)} are no types")
    return _type_convert(argument, *given, **more)


_set_member_name = vars(enum.property)["__set_name__"]


def _name_member(self: Any, owner: Any, name: str) -> None:
    """The ``__set_name__`` of the descriptor of an enumeration's members."""
    if not names.is_plain(name):
        raise Refused(f"{name!r} is no name for a member", "use a name without an underscore in front")
    _set_member_name(self, owner, name)


_read_rows: Any = csv.reader


def read_rows(lines: Iterable[str], /, *dialect: Any, **options: Any) -> Any:
    """csv.reader. The reader in C uses freed memory if its input advances it: a generator is running meanwhile."""
    return _read_rows((line for line in lines), *dialect, **options)


class _Empty(Mapping[Any, Any]):
    """An empty immutable mapping, because an object that its view is compared or united with gets the mapping."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "{}"


def make() -> None:
    """Make the changes. Call it once, before `freeze_trusted_classes`."""
    _numbers["_coerce"] = _coerce_numbers
    _typing["_type_convert"] = _convert_type
    type.__setattr__(enum.property, "__set_name__", _name_member)
    vars(csv)["reader"] = read_rows
    vars(dataclasses)["_EMPTY_METADATA"] = types.MappingProxyType(_Empty())


def freeze_data(offered: Iterable[type]) -> None:
    """Replace the dicts, lists and sets in classes that scripts have, or can get, by immutable copies."""
    bases = {base for cls in offered for base in cls.__mro__ if base in TRUSTED}
    tuples = {cls for cls in TRUSTED if issubclass(cls, tuple) and "_fields" in vars(cls)}
    for cls in bases | tuples:
        for name, value in list(vars(cls).items()):
            frozen = _FROZEN.get(type(value))
            if frozen is not None and (names.is_plain(name) or name in names.DOCUMENTED_PRIVATE):
                with contextlib.suppress(TypeError):  # a class written in C, which has no such data
                    setattr(cls, name, frozen(value))


_FROZEN: Mapping[type, Any] = {
    dict: lambda value: types.MappingProxyType(dict(value)),
    list: tuple,
    set: frozenset,
}
