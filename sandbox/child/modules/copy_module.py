"""``copy.copy`` and ``copy.deepcopy`` while scripts run, for scripts and for the standard library.

The standard library's versions ask the object how to rebuild it and follow the answer: which function to call with
which arguments, and which attributes to set on which object. Here only the class decides, and only our own code:

* The contents of trusted classes are known from a table; those of a script's class are its dict and its slots.
* Attributes are set only on a new object of exactly the same class.
* The memo is private. A ``__deepcopy__`` of a script gets a dict that is used for the script's own objects only.
* A bound method stays bound to its object, or to a copy of exactly the same class.
* An attribute that belongs to a trusted class keeps the class of its value.
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
from collections.abc import Callable, Mapping
from typing import Any

from winnow.sandbox.child.guards.script_builtins import identity
from winnow.sandbox.child.guards.stand_ins import is_offered
from winnow.sandbox.child.guards.trust import TRUSTED, WRITABLE_TYPES
from winnow.sandbox.child.language import names
from winnow.sandbox.child.language.refusals import Refused

from .functools_module import SingleDispatch, TypedCache
from .ordered_dict import OrderedDict
from .time_zones import ZoneInfo

_HERE = f"{__package__}."

_ATOMIC = frozenset(
    {
        type(None), bool, int, float, complex, str, bytes, range, slice, type(...), type(NotImplemented), property,
        types.BuiltinFunctionType, types.FunctionType, types.CodeType, types.MethodWrapperType,
        types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType,
        types.MemberDescriptorType, types.GenericAlias, types.UnionType, weakref.ref,
        decimal.Decimal, fractions.Fraction, uuid.UUID, datetime.date, datetime.datetime, datetime.time,
        datetime.timedelta, datetime.timezone, ZoneInfo, re.Pattern, re.Match,
        operator.itemgetter, type(functools.cache(len)), TypedCache, SingleDispatch,
    }
)  # fmt: skip
# Immutable, by their class or by their metaclass.
_ATOMIC_BASES: tuple[type, ...] = (
    type, vars(typing)["_BaseGenericAlias"], typing.TypeVar, typing.TypeVarTuple, typing.ParamSpec,
    typing.ParamSpecArgs, typing.ParamSpecKwargs, typing.NewType,
)  # fmt: skip

_STATELESS = frozenset({dict, list, set, frozenset, bytearray, OrderedDict, collections.deque})
# Dunders that the library itself puts into an instance's dict.
_COPIED_DUNDERS = frozenset({"__orig_class__", "__notes__"})
_NOTHING = object()

CopyPart = Callable[[Any], Any]  # returns a part itself, or its deep copy
OnCreated = Callable[[Any], Any]  # called with the new object before it is filled: it may contain itself


class _DeepCopy:
    """One deep copy, and the copies made so far."""

    __slots__ = ("_copies", "_originals", "memo")

    def __init__(self, memo: dict[Any, Any]) -> None:
        self.memo = memo  # the memo that a script's methods get
        self._copies: dict[int, Any] = {}
        self._originals: list[Any] = []  # kept alive: another object could get the same id

    def copy(self, x: Any) -> Any:
        """The deep copy of one object."""
        cls = type(x)
        if cls in _ATOMIC:
            return x
        known = self._copies.get(id(x), _NOTHING)
        if known is not _NOTHING:
            return known
        if cls is list:
            made: list[Any] = self._remember(x, [])
            made += map(self.copy, x)
            return made
        if cls is dict:
            pairs: dict[Any, Any] = self._remember(x, {})
            for key, value in list(x.items()):
                pairs[self.copy(key)] = self.copy(value)
            return pairs
        if cls not in TRUSTED:
            known = self.memo.get(identity(x), _NOTHING)
            if known is not _NOTHING:
                return known
            if _is_script_method(cls, "__deepcopy__"):
                return self._remember(x, cls.__deepcopy__(x, self.memo))
        return self._remember(x, _rebuild(x, cls, self.copy, lambda y: self._remember(x, y)))

    def _remember(self, x: Any, y: Any) -> Any:
        """Record ``y`` as the copy of ``x``, and return it; an earlier copy stays."""
        if id(x) in self._copies:
            return self._copies[id(x)]
        self._originals.append(x)
        self._copies[id(x)] = y
        return y


_active: list[_DeepCopy] = []


def copy(x: Any) -> Any:
    """A shallow copy."""
    cls = type(x)
    if cls in _ATOMIC or cls in (tuple, frozenset):
        return x
    if cls not in TRUSTED and _is_script_method(cls, "__copy__"):
        return cls.__copy__(x)
    return _rebuild(x, cls, _unchanged, _unchanged)


def deepcopy(x: Any, memo: Any = None) -> Any:
    """A deep copy. ``memo``: the dict that a ``__deepcopy__`` got, or one of the script's own."""
    if memo is not None and type(memo) is not dict:
        raise TypeError(f"the memo of deepcopy() is a dict, not {type(memo).__name__!r}")
    for run in _active:
        if run.memo is memo:
            return run.copy(x)
    run = _DeepCopy({} if memo is None else memo)
    _active.append(run)
    try:
        return run.copy(x)
    finally:
        _active.remove(run)


def _unchanged(x: Any) -> Any:
    return x


def _is_script_method(cls: type, name: str) -> bool:
    """Whether the script made the first class that has this name."""
    owner = next((each for each in cls.__mro__ if name in type.__getattribute__(each, "__dict__")), None)
    return owner is not None and owner not in TRUSTED


def _rebuild(x: Any, cls: type, copy_part: CopyPart, on_created: OnCreated) -> Any:
    """A new object of the same class, with the same parts or copies of them."""
    if isinstance(cls, enum.EnumMeta) or issubclass(cls, _ATOMIC_BASES):
        return x
    for base in cls.__mro__:
        rebuild = _COPIERS.get(base)
        if rebuild is not None:
            return rebuild(x, cls, copy_part, on_created)
    raise _copy_error(cls)


def _copy_error(cls: type) -> TypeError:
    return TypeError(f"cannot copy {cls.__name__!r} object")


# --- copiers, chosen by the first base of the object's class that has one --------------------------------------


def _copy_plain(x: Any, cls: type, copy_part: CopyPart, on_created: OnCreated) -> Any:
    """Copy an object that consists of its dict and its slots."""
    if _is_script_method(cls, "__new__"):  # for example, a class with a single instance
        new: Any = cls.__new__
        return _copy_state(x, on_created(_require_class(new(cls), cls)), copy_part)
    try:
        made: Any = object.__new__(cls)
    except TypeError:
        raise _copy_error(cls) from None  # a base is written in C, and its contents are not known
    if cls in TRUSTED and not (is_offered(cls) and not cls.__module__.startswith(_HERE)):
        if _has_state(x):
            raise _copy_error(cls)
        return x
    return _copy_state(x, on_created(made), copy_part)


def _require_class(made: Any, cls: type) -> Any:
    if type(made) is not cls:
        raise Refused(f"the copy of {cls.__name__!r} would be of another class", "return an object of this class")
    return made


def _copier_by_arguments(base: Any, arguments: Callable[[Any], tuple[Any, ...]]) -> Callable[..., Any]:
    """A copier for immutable objects: create one from the same arguments, which are immutable as well."""

    def rebuild(x: Any, cls: type, copy_part: CopyPart, on_created: OnCreated) -> Any:
        return _copy_state(x, on_created(base.__new__(cls, *arguments(x))), copy_part)

    return rebuild


def _copy_tuple(x: Any, cls: type, copy_part: CopyPart, on_created: OnCreated) -> Any:
    parts = [copy_part(each) for each in tuple.__iter__(x)]
    if cls is tuple:
        return on_created(x if all(map(operator.is_, parts, x)) else tuple(parts))
    return _copy_state(x, on_created(tuple.__new__(cls, parts)), copy_part)


def _copy_bytearray(x: Any, cls: type, copy_part: CopyPart, on_created: OnCreated) -> Any:
    made = on_created(bytearray.__new__(cls))
    bytearray.extend(made, bytearray.copy(x))
    return _copy_state(x, made, copy_part)


def _copy_frozenset(x: Any, cls: type, copy_part: CopyPart, on_created: OnCreated) -> Any:
    return _copy_state(
        x, on_created(frozenset.__new__(cls, [copy_part(each) for each in frozenset.__iter__(x)])), copy_part
    )


def _copier_of_container(
    base: Any, parts: Callable[[Any], list[Any]], put: Callable[[Any, Any], Any], prepare: Any = None
) -> Callable[..., Any]:
    """A copier that fills an empty object with the base's own method, because a script may override it."""

    def rebuild(x: Any, cls: type, copy_part: CopyPart, on_created: OnCreated) -> Any:
        made = on_created(base.__new__(cls))
        if prepare is not None:
            prepare(x, made)
        _copy_state(x, made, copy_part)
        for part in parts(x):
            put(made, copy_part(part))
        return made

    return rebuild


def _copier_of_mapping(base: Any, prepare: Any = None) -> Callable[..., Any]:
    def rebuild(x: Any, cls: type, copy_part: CopyPart, on_created: OnCreated) -> Any:
        made = on_created(base.__new__(cls))
        if prepare is not None:
            prepare(x, made)
        _copy_state(x, made, copy_part)
        for key, value in list(base.items(x)):
            base.__setitem__(made, copy_part(key), copy_part(value))
        return made

    return rebuild


def _copy_method(x: Any, cls: type, copy_part: CopyPart, on_created: OnCreated) -> Any:
    owner = x.__self__
    if type(owner) in TRUSTED:
        return x
    other = copy_part(owner)
    return types.MethodType(x.__func__, other) if type(other) is type(owner) else x


def _copy_partial(x: Any, cls: type, copy_part: CopyPart, on_created: OnCreated) -> Any:
    function, given, keywords = (_partial_parts[name].__get__(x) for name in ("func", "args", "keywords"))
    keywords = {name: copy_part(value) for name, value in keywords.items()}
    callee = _check_same_class(functools.partial, function, copy_part(function))
    made: Any = functools.partial.__new__(cls, callee, *map(copy_part, given), **keywords)
    return _copy_state(x, on_created(made), copy_part)


_partial_parts: Mapping[str, Any] = vars(functools.partial)


def _copy_exception(x: Any, cls: type, copy_part: CopyPart, on_created: OnCreated) -> Any:
    """Create the exception again from its arguments."""
    ours = [vars(each) for each in cls.__mro__ if each in TRUSTED]
    reduce = next(space["__reduce__"] for space in ours if "__reduce__" in space)
    _, arguments, *rest = reduce(x)
    made: Any = on_created(_require_class(cls(*map(copy_part, arguments)), cls))
    state = rest[0] if rest and type(rest[0]) is dict else {}
    _check_names(x, state)
    BaseException.__setstate__(made, {name: copy_part(value) for name, value in list(state.items())})
    return made


def _copy_random(x: Any, cls: type, copy_part: CopyPart, on_created: OnCreated) -> Any:
    made = on_created(random.Random.__new__(cls))
    random.Random.setstate(made, random.Random.getstate(x))
    return _copy_state(x, made, copy_part)


def _copier_of_stream(base: Any) -> Callable[..., Any]:
    def rebuild(x: Any, cls: type, copy_part: CopyPart, on_created: OnCreated) -> Any:
        made = on_created(base.__new__(cls))
        base.__init__(made, base.getvalue(x))
        base.seek(made, base.tell(x))
        return _copy_state(x, made, copy_part)

    return rebuild


def _set_same_factory(x: Any, made: Any) -> None:
    _default_factory.__set__(made, _default_factory.__get__(x))


def _set_same_length(x: Any, made: Any) -> None:
    collections.deque.__init__(made, (), _maxlen.__get__(x))


_default_factory: Any = vars(collections.defaultdict)["default_factory"]
_maxlen: Any = vars(collections.deque)["maxlen"]


def _reduce_arguments(base: Any) -> Callable[[Any], tuple[Any, ...]]:
    """The constructor arguments of a class written in C, as the class gives them, not the object."""
    if "__reduce_ex__" in vars(base):
        return lambda x: tuple(base.__reduce_ex__(x, 4)[1])
    return lambda x: tuple(base.__reduce__(x)[1])


def _new_arguments(base: Any) -> Callable[[Any], tuple[Any, ...]]:
    return lambda x: tuple(base.__getnewargs__(x))


_COPIERS: Mapping[type, Callable[[Any, type, CopyPart, OnCreated], Any]] = {
    dict: _copier_of_mapping(dict),
    collections.defaultdict: _copier_of_mapping(collections.defaultdict, _set_same_factory),
    list: _copier_of_container(list, lambda x: list(list.__iter__(x)), list.append),
    set: _copier_of_container(set, lambda x: list(set.__iter__(x)), set.add),
    collections.deque: _copier_of_container(
        collections.deque,
        lambda x: list(collections.deque.__iter__(x)),
        collections.deque.append,
        _set_same_length,
    ),
    bytearray: _copy_bytearray,
    tuple: _copy_tuple,
    frozenset: _copy_frozenset,
    **{base: _copier_by_arguments(base, _new_arguments(base)) for base in (str, bytes, int, float, complex)},
    **{
        base: _copier_by_arguments(base, _reduce_arguments(base))
        for base in (datetime.date, datetime.datetime, datetime.time, datetime.timedelta, decimal.Decimal)
    },
    datetime.tzinfo: _copier_by_arguments(datetime.tzinfo, lambda x: ()),
    types.SimpleNamespace: _copier_by_arguments(types.SimpleNamespace, lambda x: ()),
    types.MethodType: _copy_method,
    functools.partial: _copy_partial,
    BaseException: _copy_exception,
    random.Random: _copy_random,
    io.StringIO: _copier_of_stream(io.StringIO),
    io.BytesIO: _copier_of_stream(io.BytesIO),
    object: _copy_plain,
}


# --- state -----------------------------------------------------------------------------------------------------


def _copy_state(x: Any, made: Any, copy_part: CopyPart) -> Any:
    """Copy the attributes of ``x`` to a new object of the same class."""
    if type(x) in _STATELESS:
        return made
    own = _own_dict(x)
    if own:
        _check_names(x, own)
        state = {name: _check_same_class(type(x), value, copy_part(value)) for name, value in list(own.items())}
        _own_dict(made).update(state)
    for owner, slot in _slots(type(x)):
        value = _slot_value(slot, x)
        if value is not _NOTHING:
            slot.__set__(made, _check_same_class(owner, value, copy_part(value)))
    return made


def _check_same_class(owner: type, value: Any, other: Any) -> Any:
    """Check that a part which trusted code reads keeps its class."""
    if owner in TRUSTED and owner not in WRITABLE_TYPES and type(other) is not type(value):
        raise Refused(f"the copy of a part of {owner.__name__!r} would be of another class")
    return other


def _check_names(x: Any, state: Mapping[Any, Any]) -> None:
    for name in state:
        if type(name) is not str or (names.is_dunder(name) and name not in _COPIED_DUNDERS):
            what = f"the attribute {str.__str__(name)!r}" if isinstance(name, str) else "an attribute"
            raise Refused(f"{what} of {type(x).__name__!r} objects may not be copied", "leave it out of __dict__")


def _own_dict(x: Any) -> dict[Any, Any]:
    try:
        namespace = object.__getattribute__(x, "__dict__")
    except AttributeError:
        return {}
    return namespace if type(namespace) is dict else {}


def _slots(cls: type) -> list[tuple[type, Any]]:
    """The slots of an object of this class, each with the class that defines it."""
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
    """Replace the standard library's functions, which much of the library calls."""
    module: Any = _copy_module
    module.copy, module.deepcopy = copy, deepcopy
