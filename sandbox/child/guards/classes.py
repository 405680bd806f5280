"""Guards for class statements: bases, metaclasses, ``__match_args__`` and ``__slots__``."""

from __future__ import annotations

import builtins
import enum
import functools
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from winnow.sandbox.child.language import names
from winnow.sandbox.child.language.refusals import Refused, kind_of, refuse_attribute

from .constructors import guard_constructor
from .stand_ins import OFFERED, Type, set_stand_in
from .trust import ALIASES, TRUSTED, instance_dict, script_globals


class EnumType(enum.EnumType):
    """The metaclass of a script's enumerations: calling one looks a member up and never creates a class."""

    def __call__(cls, value: Any = None, *rest: Any, **keywords: Any) -> Any:
        if rest or keywords or not cls._member_map_:
            raise Refused("Enum(...) does not make a class here", "write class Color(Enum): RED = 1")
        return super().__call__(value)

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: Any, **keywords: Any) -> Any:
        # The names in `_ignore_` are removed from the body. Without `__module__`, the class would belong to the
        # module of the code that creates it.
        for ignored in namespace.get("_ignore_", ()):
            if type(ignored) is not str or names.is_dunder(ignored):
                raise Refused(f"{ignored!r} may not be ignored", "leave it out of _ignore_")
        return super().__new__(mcls, name, bases, namespace, **keywords)

    @classmethod
    def _find_new_(mcls, *arguments: Any) -> Any:
        inherited: Any = super()
        new, *rest = inherited._find_new_(*arguments)
        return (new if type(new) is types.BuiltinFunctionType else guard_constructor(new), *rest)


_METACLASSES: dict[type, type] = {}  # the class that scripts name -> the real metaclass


class _MetaclassName(type):
    """The metaclass of placeholders such as ``ABCMeta``: scripts can name and test for them, but not call them.

    Calling the real metaclass would create a class without the checks made here, for example of
    ``__match_args__``.
    """

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        name = cls.__name__
        raise Refused(f"{name}(...) does not make a class here", f"write class Shape(metaclass={name}): ...")

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _METACLASSES[cls])


def make_metaclass_name(real: type) -> type:
    """Make the class by which scripts name this metaclass."""
    named = _MetaclassName(real.__name__, (), {"__module__": real.__module__, "__slots__": ()})
    _METACLASSES[named] = real
    return named


class _ClassMethodName(type):
    """The metaclass of `ClassMethod`: calling it makes a real class method, of a function or a class.

    Bound methods are compared by the functions that they call. If an object of the script were one of these, its
    ``__eq__`` would get the other function.
    """

    def __call__(cls, function: Any, /) -> Any:
        if not issubclass(type(function), type) and type(function) not in _FUNCTION_TYPES:
            raise Refused(f"classmethod() takes a function, not {kind_of(function)}", "write it above a def")
        return classmethod(function)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, classmethod)


_FUNCTION_TYPES: set[type] = {
    types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
    types.MethodType, property, staticmethod, classmethod, functools.partial, functools.cached_property,
    type(functools.cache(len)),
}  # fmt: skip


def accept_functions(*classes: type) -> None:
    """Let instances of these classes of ours be class methods, as functions are."""
    _FUNCTION_TYPES.update(classes)


class ClassMethod(metaclass=_ClassMethodName):
    """The ``classmethod`` of scripts."""


ClassMethod.__name__ = ClassMethod.__qualname__ = "classmethod"
ClassMethod.__module__ = "builtins"
set_stand_in(classmethod, ClassMethod)

_REFUSED_BASES: set[type] = {super, staticmethod, classmethod, ClassMethod}


def refuse_bases(*refused: type) -> None:
    """Forbid subclasses of these classes, because trusted code relies on the behaviour of their instances."""
    _REFUSED_BASES.update(refused)


_BASE_FUNCTIONS: dict[Any, Any] = {}  # function that may stand for a base class -> its __mro_entries__


def register_base_function(function: Any, entries: Callable[[Any], tuple[type, ...]]) -> None:
    """Let a class statement name this trusted function as a base."""
    function.__mro_entries__ = entries
    _BASE_FUNCTIONS[function] = entries


def _resolve_bases(bases: tuple[Any, ...]) -> Iterable[type]:
    """The bases, with each alias replaced by the classes that its ``__mro_entries__`` returns.

    The interpreter calls ``__mro_entries__`` again when it creates the class. One written by a script could return
    something else then, so only those of the library's aliases are called.
    """
    for base in bases:
        if isinstance(base, type):
            yield base
        elif type(base) is types.FunctionType and base in _BASE_FUNCTIONS:
            if vars(base)["__mro_entries__"] is not _BASE_FUNCTIONS[base]:
                refuse_attribute(base, "__mro_entries__")
        elif issubclass(type(base), ALIASES) and "__mro_entries__" not in instance_dict(base):
            yield from types.resolve_bases((base,))
        else:
            raise Refused(f"{kind_of(base)} are no base classes", "name classes as bases")


def _check_base(base: type) -> None:
    if issubclass(base, type) or base is Type or base in _METACLASSES:
        raise Refused("metaclasses may not be defined", "use __init_subclass__ or a class decorator")
    if issubclass(base, BaseExceptionGroup):
        raise Refused("exception groups may not be subclassed", "raise ExceptionGroup itself")
    if any(issubclass(base, refused) for refused in _REFUSED_BASES) or (base in TRUSTED and base not in OFFERED):
        raise TypeError(f"type {base.__name__!r} is not an acceptable base type")


def _check_module_name() -> None:
    """A class belongs to the module named ``__name__``, which library code looks up in sys.modules."""
    name = script_globals.get("__name__")
    if type(name) is not str or (name != "__main__" and name in sys.modules):
        raise Refused("__name__ is not the script's own", "leave __name__ as it is")


def _real_metaclass(metaclass: Any) -> type:
    real = _METACLASSES.get(metaclass) if isinstance(metaclass, type) else None
    if real is None:
        raise Refused("only ABCMeta may be named as a metaclass", "use __init_subclass__ or a class decorator")
    return real


def build_class(body: Any, name: str, *bases: Any, **keywords: Any) -> Any:
    """The class statement: check module name, bases and metaclass, then create the class."""
    _check_module_name()
    for base in _resolve_bases(bases):
        if not isinstance(base, type):  # before any look-up, which would pass our classes to its `__eq__`
            raise Refused(f"{kind_of(base)} are no base classes", "name classes as bases")
        _check_base(base)
        # A hook of the script sees the new class before we do: by then, nothing unsafe may be inherited.
        for above in base.__mro__:
            remove_unsafe_match_args(above)
    if keywords.get("metaclass") is not None:
        keywords["metaclass"] = _real_metaclass(keywords["metaclass"])
    cls = builtins.__build_class__(body, name, *bases, **keywords)
    remove_unsafe_match_args(cls)
    return cls


def remove_unsafe_match_args(cls: Any) -> None:
    """Remove positional patterns from a class whose ``__match_args__`` names guarded attributes."""
    if not isinstance(cls, type) or cls in TRUSTED:
        return
    fields = vars(cls).get("__match_args__", ())
    if not all(type(field) is str and names.is_plain(field) for field in fields):
        type.__setattr__(cls, "__match_args__", ())


def check_slots(value: Any) -> Any:
    """A checked copy of the value that a class body binds to `__slots__`.

    It is a copy, so that the value cannot change before the class is created. A slot is a descriptor of its name:
    an empty slot named ``__class__`` would let ``__getattr__`` give a false class.
    """
    if isinstance(value, str):
        return _check_slot(value)
    if type(value) is dict:
        return {_check_slot(name): text for name, text in value.items()}
    copied = [_check_slot(name) for name in value]
    return copied if type(value) is list else tuple(copied)


def _check_slot(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"__slots__ items must be strings, not {type(name).__name__!r}")
    exact = str.__str__(name)
    if (names.is_dunder(exact) or names.is_forbidden(exact)) and exact not in ("__dict__", "__weakref__"):
        raise Refused(f"{exact!r} is no slot", "use a plain name without double underscores")
    return exact
