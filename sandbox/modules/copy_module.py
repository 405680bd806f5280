"""``copy.copy`` and ``copy.deepcopy`` while scripts run, for scripts and for the standard library alike.

The standard library's own ask an object how it is to be rebuilt, and do what it answers: which function is called,
with what, on which object which attributes are set. Here the answer comes from the class alone, and from ours:

* What a class of ours holds is known from a table; what a script's holds is its instance's dict and its slots.
* Attributes are set on a new object of exactly the same class, and only there.
* The memo is private. A script's ``__deepcopy__`` gets a dict that is asked about the script's own objects only.
* A bound method stays bound to what it is bound to, or to a copy of exactly the same class.
* An attribute that belongs to a class of ours keeps the class of its value.
"""

from __future__ import annotations

import collections
import copy as _copy_module
import datetime
import decimal
import enum
import fractions
import functools
import io
import operator
import random
import re
import types
import typing
import uuid
import weakref
import zoneinfo
from collections.abc import Callable, Mapping
from typing import Any

from sandbox.language import names
from sandbox.language.refusals import Refused
from sandbox.language.script_builtins import identity
from sandbox.language.stand_ins import is_offered
from sandbox.language.trust import OPEN_TYPES, TRUSTED, is_script_function

_HERE = f"{__package__}."

_ATOMIC = frozenset(
    {
        type(None), bool, int, float, complex, str, bytes, range, slice, type(...), type(NotImplemented), property,
        types.BuiltinFunctionType, types.FunctionType, types.CodeType, types.MethodWrapperType,
        types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType,
        types.MemberDescriptorType, types.GenericAlias, types.UnionType, weakref.ref,
        decimal.Decimal, fractions.Fraction, uuid.UUID, datetime.date, datetime.datetime, datetime.time,
        datetime.timedelta, datetime.timezone, zoneinfo.ZoneInfo, re.Pattern, re.Match,
        operator.itemgetter, type(functools.cache(len)),
    }
)  # fmt: skip
# Immutable, by their class or by their metaclass.
_ATOMIC_BASES: tuple[type, ...] = (
    type, vars(typing)["_BaseGenericAlias"], typing.TypeVar, typing.TypeVarTuple, typing.ParamSpec,
    typing.ParamSpecArgs, typing.ParamSpecKwargs, typing.NewType,
)  # fmt: skip

_STATELESS = frozenset({dict, list, set, frozenset, bytearray, collections.OrderedDict, collections.deque})
# Put into an instance's dict by the library itself.
_COPIED_DUNDERS = frozenset({"__orig_class__", "__notes__"})
_NOTHING = object()

Copied = Callable[[Any], Any]  # of a part: the part itself, or its deep copy
Begun = Callable[[Any], Any]  # told of the new object before it is filled: it may contain itself


class _Run:
    """One deep copy, with everything that it has met."""

    __slots__ = ("_done", "_kept", "shown")

    def __init__(self, shown: dict[Any, Any]) -> None:
        self.shown = shown  # the memo that a script's methods see
        self._done: dict[int, Any] = {}
        self._kept: list[Any] = []  # or the number of an object might become another one's

    def copied(self, x: Any) -> Any:
        """The deep copy of one object."""
        cls = type(x)
        if cls in _ATOMIC:
            return x
        known = self._done.get(id(x), _NOTHING)
        if known is not _NOTHING:
            return known
        if cls is list:
            made: list[Any] = self._remembered(x, [])
            made += map(self.copied, x)
            return made
        if cls is dict:
            pairs: dict[Any, Any] = self._remembered(x, {})
            for key, value in list(x.items()):
                pairs[self.copied(key)] = self.copied(value)
            return pairs
        if cls not in TRUSTED:
            shown = self.shown.get(identity(x), _NOTHING)
            if shown is not _NOTHING:
                return shown
            if _is_scripts(cls, "__deepcopy__"):
                return self._remembered(x, cls.__deepcopy__(x, self.shown))
        return self._remembered(x, _rebuilt(x, cls, self.copied, lambda y: self._remembered(x, y)))

    def _remembered(self, x: Any, y: Any) -> Any:
        """The copy of ``x`` from now on; another one, if that was there first."""
        if id(x) in self._done:
            return self._done[id(x)]
        self._kept.append(x)
        self._done[id(x)] = y
        return y


_active: list[_Run] = []


def copy(x: Any) -> Any:
    """A shallow copy."""
    cls = type(x)
    if cls in _ATOMIC or cls in (tuple, frozenset):
        return x
    if cls not in TRUSTED and _is_scripts(cls, "__copy__"):
        return cls.__copy__(x)
    return _rebuilt(x, cls, _itself, _itself)


def deepcopy(x: Any, memo: Any = None) -> Any:
    """A deep copy. ``memo``: the dict that a ``__deepcopy__`` was given, or one of the script's own."""
    if memo is not None and type(memo) is not dict:
        raise TypeError(f"the memo of deepcopy() is a dict, not {type(memo).__name__!r}")
    for run in _active:
        if run.shown is memo:
            return run.copied(x)
    run = _Run({} if memo is None else memo)
    _active.append(run)
    try:
        return run.copied(x)
    finally:
        _active.remove(run)


def _itself(x: Any) -> Any:
    return x


def _is_scripts(cls: type, name: str) -> bool:
    """Whether the first class that has this name is the script's."""
    owner = next((each for each in cls.__mro__ if name in type.__getattribute__(each, "__dict__")), None)
    return owner is not None and owner not in TRUSTED


def _rebuilt(x: Any, cls: type, copied: Copied, begun: Begun) -> Any:
    """A new object of the same class, with the same parts or their copies."""
    if isinstance(cls, enum.EnumMeta) or issubclass(cls, _ATOMIC_BASES):
        return x
    for base in cls.__mro__:
        rebuild = _LAYOUTS.get(base)
        if rebuild is not None:
            return rebuild(x, cls, copied, begun)
    raise _no_copy(cls)


def _no_copy(cls: type) -> TypeError:
    return TypeError(f"cannot copy {cls.__name__!r} object")


# --- layouts: how an object is made anew, by the first base of its class that has one -------------------------


def _plain(x: Any, cls: type, copied: Copied, begun: Begun) -> Any:
    """All that it is, is its dict and its slots."""
    new: Any = cls.__new__
    if is_script_function(new):  # a class may have one object only, and says so there
        return _with_state(x, begun(_same_class(new(cls), cls)), copied)
    try:
        made: Any = object.__new__(cls)
    except TypeError:
        raise _no_copy(cls) from None  # a base of it is written in C, and what that holds is not known
    if cls in TRUSTED and not (is_offered(cls) and not cls.__module__.startswith(_HERE)):
        if _has_state(x):
            raise _no_copy(cls)
        return x
    return _with_state(x, begun(made), copied)


def _same_class(made: Any, cls: type) -> Any:
    if type(made) is not cls:
        raise Refused(f"the copy of {cls.__name__!r} would be of another class", "return an object of this class")
    return made


def _of_arguments(base: Any, arguments: Callable[[Any], tuple[Any, ...]]) -> Callable[..., Any]:
    """Immutable: made of its arguments, which are immutable as well."""

    def rebuild(x: Any, cls: type, copied: Copied, begun: Begun) -> Any:
        return _with_state(x, begun(base.__new__(cls, *arguments(x))), copied)

    return rebuild


def _of_tuple(x: Any, cls: type, copied: Copied, begun: Begun) -> Any:
    parts = [copied(each) for each in tuple.__iter__(x)]
    if cls is tuple:
        return begun(x if all(map(operator.is_, parts, x)) else tuple(parts))
    return _with_state(x, begun(tuple.__new__(cls, parts)), copied)


def _of_bytearray(x: Any, cls: type, copied: Copied, begun: Begun) -> Any:
    made = begun(bytearray.__new__(cls))
    bytearray.extend(made, bytearray.copy(x))
    return _with_state(x, made, copied)


def _of_frozenset(x: Any, cls: type, copied: Copied, begun: Begun) -> Any:
    return _with_state(x, begun(frozenset.__new__(cls, [copied(each) for each in frozenset.__iter__(x)])), copied)


def _of_container(
    base: Any, parts: Callable[[Any], list[Any]], put: Callable[[Any, Any], Any], prepare: Any = None
) -> Callable[..., Any]:
    """Made empty, then filled by the base's own method: a script's may do anything."""

    def rebuild(x: Any, cls: type, copied: Copied, begun: Begun) -> Any:
        made = begun(base.__new__(cls))
        if prepare is not None:
            prepare(x, made)
        _with_state(x, made, copied)
        for part in parts(x):
            put(made, copied(part))
        return made

    return rebuild


def _of_mapping(base: Any, prepare: Any = None) -> Callable[..., Any]:
    def rebuild(x: Any, cls: type, copied: Copied, begun: Begun) -> Any:
        made = begun(base.__new__(cls))
        if prepare is not None:
            prepare(x, made)
        _with_state(x, made, copied)
        for key, value in list(base.items(x)):
            base.__setitem__(made, copied(key), copied(value))
        return made

    return rebuild


def _of_method(x: Any, cls: type, copied: Copied, begun: Begun) -> Any:
    owner = x.__self__
    if type(owner) in TRUSTED:
        return x
    other = copied(owner)
    return types.MethodType(x.__func__, other) if type(other) is type(owner) else x


def _of_partial(x: Any, cls: type, copied: Copied, begun: Begun) -> Any:
    function, given, keywords = (_partial_parts[name].__get__(x) for name in ("func", "args", "keywords"))
    keywords = {name: copied(value) for name, value in keywords.items()}
    callee = _kept(functools.partial, function, copied(function))
    made: Any = functools.partial.__new__(cls, callee, *map(copied, given), **keywords)
    return _with_state(x, begun(made), copied)


_partial_parts: Mapping[str, Any] = vars(functools.partial)


def _of_exception(x: Any, cls: type, copied: Copied, begun: Begun) -> Any:
    """Made of its arguments once more, as `raise` made it."""
    ours = [vars(each) for each in cls.__mro__ if each in TRUSTED]
    reduce = next(space["__reduce__"] for space in ours if "__reduce__" in space)
    _, arguments, *rest = reduce(x)
    made: Any = begun(_same_class(cls(*map(copied, arguments)), cls))
    state = rest[0] if rest and type(rest[0]) is dict else {}
    _check_names(x, state)
    BaseException.__setstate__(made, {name: copied(value) for name, value in list(state.items())})
    return made


def _of_random(x: Any, cls: type, copied: Copied, begun: Begun) -> Any:
    made = begun(random.Random.__new__(cls))
    random.Random.setstate(made, random.Random.getstate(x))
    return _with_state(x, made, copied)


def _of_stream(base: Any) -> Callable[..., Any]:
    def rebuild(x: Any, cls: type, copied: Copied, begun: Begun) -> Any:
        made = begun(base.__new__(cls))
        base.__init__(made, base.getvalue(x))
        base.seek(made, base.tell(x))
        return _with_state(x, made, copied)

    return rebuild


def _same_factory(x: Any, made: Any) -> None:
    _default_factory.__set__(made, _default_factory.__get__(x))


def _same_length(x: Any, made: Any) -> None:
    collections.deque.__init__(made, (), _maxlen.__get__(x))


_default_factory: Any = vars(collections.defaultdict)["default_factory"]
_maxlen: Any = vars(collections.deque)["maxlen"]


def _reduced(base: Any) -> Callable[[Any], tuple[Any, ...]]:
    """The arguments that a class written in C makes its objects of. The class is asked, not the object."""
    if "__reduce_ex__" in vars(base):
        return lambda x: tuple(base.__reduce_ex__(x, 4)[1])
    return lambda x: tuple(base.__reduce__(x)[1])


def _new_arguments(base: Any) -> Callable[[Any], tuple[Any, ...]]:
    return lambda x: tuple(base.__getnewargs__(x))


_LAYOUTS: Mapping[type, Callable[[Any, type, Copied, Begun], Any]] = {
    dict: _of_mapping(dict),
    collections.OrderedDict: _of_mapping(collections.OrderedDict),
    collections.defaultdict: _of_mapping(collections.defaultdict, _same_factory),
    list: _of_container(list, lambda x: list(list.__iter__(x)), list.append),
    set: _of_container(set, lambda x: list(set.__iter__(x)), set.add),
    collections.deque: _of_container(
        collections.deque, lambda x: list(collections.deque.__iter__(x)), collections.deque.append, _same_length
    ),
    bytearray: _of_bytearray,
    tuple: _of_tuple,
    frozenset: _of_frozenset,
    **{base: _of_arguments(base, _new_arguments(base)) for base in (str, bytes, int, float, complex)},
    **{
        base: _of_arguments(base, _reduced(base))
        for base in (datetime.date, datetime.datetime, datetime.time, datetime.timedelta, decimal.Decimal)
    },
    datetime.tzinfo: _of_arguments(datetime.tzinfo, lambda x: ()),
    types.SimpleNamespace: _of_arguments(types.SimpleNamespace, lambda x: ()),
    types.MethodType: _of_method,
    functools.partial: _of_partial,
    BaseException: _of_exception,
    random.Random: _of_random,
    io.StringIO: _of_stream(io.StringIO),
    io.BytesIO: _of_stream(io.BytesIO),
    object: _plain,
}


# --- state -----------------------------------------------------------------------------------------------------


def _with_state(x: Any, made: Any, copied: Copied) -> Any:
    """The attributes of ``x`` on an object of the same class that was just made."""
    if type(x) in _STATELESS:
        return made
    own = _own_dict(x)
    if own:
        _check_names(x, own)
        state = {name: _kept(type(x), value, copied(value)) for name, value in list(own.items())}
        _own_dict(made).update(state)
    for owner, slot in _slots(type(x)):
        value = _slot_value(slot, x)
        if value is not _NOTHING:
            slot.__set__(made, _kept(owner, value, copied(value)))
    return made


def _kept(owner: type, value: Any, other: Any) -> Any:
    """What our own code reads is of the class that it put there."""
    if owner in TRUSTED and owner not in OPEN_TYPES and type(other) is not type(value):
        raise Refused(f"the copy of a part of {owner.__name__!r} would be of another class")
    return other


def _check_names(x: Any, state: Mapping[Any, Any]) -> None:
    for name in state:
        if type(name) is not str or (names.is_dunder(name) and name not in _COPIED_DUNDERS):
            what = f"the attribute {str.__str__(name)!r}" if isinstance(name, str) else "an attribute"
            raise Refused(f"{what} of {type(x).__name__!r} objects may not be copied", "leave it out of __dict__")


def _own_dict(x: Any) -> dict[Any, Any]:
    try:
        found = object.__getattribute__(x, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}


def _slots(cls: type) -> list[tuple[type, Any]]:
    """The slots of the classes that were written in Python, each with the class that has it."""
    spaces = ((owner, type.__getattribute__(owner, "__dict__")) for owner in cls.__mro__)
    return [
        (owner, member)
        for owner, space in spaces
        if "__slots__" in space
        for member in space.values()
        if type(member) is types.MemberDescriptorType
    ]


def _slot_value(slot: Any, x: Any) -> Any:
    try:
        return slot.__get__(x)
    except AttributeError:
        return _NOTHING  # never set


def _has_state(x: Any) -> bool:
    return bool(_own_dict(x)) or any(_slot_value(slot, x) is not _NOTHING for _, slot in _slots(type(x)))


def install() -> None:
    """Put these in the place of the standard library's own, which much of it calls."""
    module: Any = _copy_module
    module.copy, module.deepcopy = copy, deepcopy
