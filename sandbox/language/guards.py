"""What stands between a script and the objects it touches, while it runs.

The rule for writing and for private names is one: what existed before the script is ours, what came later is the
script's. ``TRUSTED`` holds every class there was when the fork server was ready; an instance of any other class,
and any other class itself, the script made.
"""

from __future__ import annotations

import builtins
import collections
import enum
import functools
import importlib
import os
import string
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from client_sdk import Row

from . import names
from .freezing import freeze
from .policy import ATTRIBUTE, END, LAST, SLOTS, TARGET

TRUSTED: set[type] = set()

# Ours, and yet made to be written to: they hold what a script puts there, and nothing reads it but the script.
OPEN_TYPES: set[type] = {types.SimpleNamespace, Row}


def know_classes() -> None:
    """Every class there is now is ours. Call it when everything is imported, and never again."""
    pending: list[type] = [object]
    while pending:
        cls = pending.pop()
        if cls not in TRUSTED:
            TRUSTED.add(cls)
            pending.extend(type.__subclasses__(cls))


def freeze_classes() -> None:
    """Ours do not change while a script runs, whichever code of the library is talked into setting attributes.

    RuntimeError on an interpreter whose classes cannot be made immutable: no script runs there.
    """
    movable = sorted(cls.__qualname__ for cls in TRUSTED if not freeze(cls))
    if movable:
        raise RuntimeError(f"{len(movable)} classes cannot be made immutable here, {movable[0]} first")


class Refused(AttributeError):
    """The policy refuses an access while the script runs. Scripts may catch it like any AttributeError."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def _refuse(obj: object, name: str) -> Any:
    raise Refused(f"the attribute {name!r} of {_kind(obj)} is not available", names.instead(name))


def _kind(obj: object) -> str:
    return f"{type(obj).__name__!r} objects"


# --- reading ---------------------------------------------------------------------------------------------------


def attribute(obj: Any, name: str) -> Any:
    """Read an attribute that is not plain. ``name`` is the policy's own constant, or was checked by `by_name`."""
    if name in names.WATCHED:
        return _WATCHED[name](obj, name)
    if names.is_dunder(name):
        return _dunder(obj, name)
    return _private(obj, name)


def by_name(obj: Any, name: Any) -> Any:
    """Read an attribute whose name the script computed."""
    _check_name(obj, name)
    return getattr(obj, name) if names.is_plain(name) else attribute(obj, name)


def _check_name(obj: object, name: Any) -> None:
    # A subclass of str could answer differently each time it is asked.
    if type(name) is not str:
        raise TypeError("attribute name must be a plain string")
    if names.is_forbidden(name):
        _refuse(obj, name)


def _private(obj: Any, name: str) -> Any:
    """``_name``: only where the script itself put it."""
    if name in names.DOCUMENTED_PRIVATE:
        return getattr(obj, name)
    if _made_by_script(obj, name):
        return getattr(obj, name)
    # The script's own __getattr__ may still know it.
    if type(obj) not in TRUSTED and not _exists(obj, name):
        return getattr(obj, name)
    raise Refused(f"{name!r} is private to {_kind(obj)}", "use the public attributes; dir(x) lists them")


def _made_by_script(obj: Any, name: str) -> bool:
    cls = type(obj)
    if cls is super:
        return _made_in(_super_classes(obj), name)
    if isinstance(obj, type):
        return obj not in TRUSTED and (_made_in(obj.__mro__, name) or _made_in(cls.__mro__, name))
    if cls is types.FunctionType:
        return is_scripts_function(obj)
    if cls in OPEN_TYPES:
        return True
    if cls in TRUSTED:
        return False
    return name in _instance_dict(obj) or _made_in(cls.__mro__, name)


def _made_in(classes: tuple[type, ...], name: str) -> bool:
    """Whether the first class that has the name is the script's."""
    for cls in classes:
        if name in type.__getattribute__(cls, "__dict__"):
            return cls not in TRUSTED
    return False


def _exists(obj: Any, name: str) -> bool:
    return name in _instance_dict(obj) or any(name in cls.__dict__ for cls in type(obj).__mro__)


def _instance_dict(obj: Any) -> Mapping[str, Any]:
    try:
        found = object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}


_super_object = super.__dict__["__self_class__"].__get__
_super_start = super.__dict__["__thisclass__"].__get__
_super_self = super.__dict__["__self__"].__get__


def _super_classes(obj: Any) -> tuple[type, ...]:
    order = _super_object(obj).__mro__
    return tuple(order[order.index(_super_start(obj)) + 1 :])


# --- names watched on some objects -----------------------------------------------------------------------------


_ALIASES: tuple[type, ...] = (types.GenericAlias, vars(typing)["_BaseGenericAlias"])


def _behind(obj: Any) -> Any:
    """Generic aliases answer for what they alias: ``Annotated[str, 1].format`` is ``str.format``."""
    while issubclass(type(obj), _ALIASES):
        obj = object.__getattribute__(obj, "__origin__")
    return obj


_USER_FORMATS = (collections.UserString.format, collections.UserString.format_map)


def _format_of(obj: Any, name: str) -> Any:
    """What counts is what was found, not where: wrappers, aliases and proxies hand out the real thing, too."""
    found = getattr(obj, name)
    kind = type(found)
    if kind is types.BuiltinMethodType and isinstance(found.__self__, str):
        return functools.partial(_FORMATS[name], found.__self__)
    if kind is types.MethodDescriptorType and found.__objclass__ is str:
        return _FORMATS[name]
    if kind is types.MethodType and _is_users(found.__func__):
        return functools.partial(_FORMATS[name], _text_within(found.__self__))
    return _refuse(obj, name) if _is_users(found) else found


def _is_users(found: Any) -> bool:
    """By identity: asked whether it equals something of ours, an object of the script's would be handed it."""
    return any(found is function for function in _USER_FORMATS)


def _text_within(text: Any) -> Any:
    """A UserString formats with the string inside, past the guard."""
    while isinstance(text, collections.UserString):
        text = text.data
    return text


def _object_behind(obj: Any, name: str) -> Any:
    real = _behind(obj)
    owner = real if isinstance(real, type) else type(real)
    if issubclass(owner, (AttributeError, memoryview)):
        _refuse(obj, name)
    return _found_in_python(obj, name)


def _class_order(obj: Any, name: str) -> Any:
    if isinstance(_behind(obj), type) or type(obj) is super:
        _refuse(obj, name)
    return _found_in_python(obj, name)


_RAW = (types.MethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType)


def _found_in_python(obj: Any, name: str) -> Any:
    """Never the interpreter's own descriptor, which a wrapper may have copied."""
    found = getattr(obj, name)
    return _refuse(obj, name) if type(found) in _RAW else found


def _evaluation(obj: Any, name: str) -> Any:
    if type(obj) in TRUSTED:
        _refuse(obj, name)
    return getattr(obj, name)


def _members(obj: Any, name: str) -> Any:
    """A view of a copy: comparing a view hands the dict behind it to the other side's ``__eq__``."""
    found = getattr(obj, name)
    return types.MappingProxyType(dict(found)) if type(found) is types.MappingProxyType else found


_WATCHED: Mapping[str, Callable[[Any, str], Any]] = {
    "format": _format_of,
    "format_map": _format_of,
    "obj": _object_behind,
    "mro": _class_order,
    "evaluate": _evaluation,
    "groupindex": _members,
}


# The parts of str.format that string.Formatter is made of; they have no stub and no public name.
_string: Any = importlib.import_module("_string")
_split_field, _parse_template = _string.formatter_field_name_split, _string.formatter_parser


class _Formatter(string.Formatter):
    """str.format whose fields read attributes through the guard."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        first, rest = _split_field(field_name)
        obj = self.get_value(first, args, kwargs)
        for is_attribute, key in rest:
            obj = by_name(obj, key) if is_attribute else obj[key]
        return obj, first


_formatter = _Formatter()


def _walks(template: str) -> bool:
    """Whether a field of the template reads attributes or items."""
    return any(
        field is not None and ("." in field or "[" in field or _walks(spec or ""))
        for _, field, spec, _ in _parse_template(template)
    )


def _format(template: str, /, *args: Any, **kwargs: Any) -> str:
    text = str.__str__(template)
    return _formatter.vformat(text, args, kwargs) if _walks(text) else str.format(text, *args, **kwargs)


def _format_map(template: str, mapping: Any, /) -> str:
    text = str.__str__(template)
    return _formatter.vformat(text, (), mapping) if _walks(text) else str.format_map(text, mapping)


_FORMATS = {"format": _format, "format_map": _format_map}


# --- dunders ---------------------------------------------------------------------------------------------------


def _dunder(obj: Any, name: str) -> Any:
    if name in names.OPERATORS:
        return _of_class(obj, name) if isinstance(obj, type) else getattr(obj, name)
    read: Callable[[Any, str], Any] = _DUNDERS.get(name, _refuse)
    return read(obj, name)


def _of_class(cls: Any, name: str) -> Any:
    """A method of a class, read from the class. What the script did not write takes instances of the class only.

    Python's own functions take anything as ``self``: the ``__init__`` that @dataclass makes would set attributes
    of its own choosing on whatever object it is given, and its ``__repr__`` would read them. And nothing of ours
    is made a second time: a property would have another getter then, a struct other sizes than its readers know.
    """
    found = getattr(cls, name)
    kind = type(found)
    if kind is not types.FunctionType and (kind is not types.WrapperDescriptorType or name in names.OPERATORS):
        return found
    if is_scripts_function(found):
        return found

    def of_instance(instance: Any, /, *arguments: Any, **keywords: Any) -> Any:
        owner = instance if name == "__new__" else type(instance)
        if not (isinstance(owner, type) and _inherits(owner, cls)):
            raise TypeError(f"{cls.__name__}.{name}() needs an object of {cls.__name__!r}, not {_kind(instance)}")
        if owner in TRUSTED and name not in names.OPERATORS and name != "__new__":
            _refuse(instance, name)
        return found(instance, *arguments, **keywords)

    return of_instance


def _inherits(owner: type, cls: type) -> bool:
    """Whether it really does: an abstract class says so of every class that was registered with it."""
    return any(cls is base for base in owner.__mro__)


def bind_methods() -> None:
    """Give every method and property of ours that is written in Python a check of its class, as those written in C
    have one. Read from the class, it would take any object: ``Counter.copy(int)`` calls ``int.__class__``.

    Names that are not plain meet `_of_class` and its kin. Call it when all classes are known and not yet frozen.
    """
    offered = [cls for cls in _OFFERED if cls in TRUSTED and not isinstance(cls, enum.EnumMeta)]
    for owner in {base for cls in offered for base in cls.__mro__ if base in TRUSTED}:
        for name, found in list(vars(owner).items()):
            if names.is_plain(name) and type(found) in (types.FunctionType, property):
                setattr(owner, name, _bound(owner, name, found))


def _bound(cls: type, name: str, found: Any) -> Any:
    if type(found) is property:
        get, put, delete = (part and _bound(cls, name, part) for part in (found.fget, found.fset, found.fdel))
        return property(get, put, delete, found.__doc__)
    if type(found) is not types.FunctionType:
        return found

    def method(self: Any, /, *arguments: Any, **keywords: Any) -> Any:
        if not _inherits(type(self), cls):
            raise TypeError(f"{cls.__name__}.{name}() needs an object of {cls.__name__!r}, not {_kind(self)}")
        return found(self, *arguments, **keywords)

    for each in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(method, each, getattr(found, each))
    method.__dict__.update(found.__dict__)
    return method


def _plainly(obj: Any, name: str) -> Any:
    return getattr(obj, name)


def _class_of(obj: Any, name: str) -> Any:
    return type_of(obj)


def _of_scripts_class(obj: Any, name: str) -> Any:
    """On classes of the script's."""
    if isinstance(obj, type) and obj not in TRUSTED:
        return getattr(obj, name)
    return _refuse(obj, name)


def _relatives(obj: Any, name: str) -> tuple[Any, ...]:
    """Above a class of the script's stand classes that it may not have by name; a façade hides its original."""
    above = [public(cls) for cls in _of_scripts_class(obj, name)]
    return tuple(
        cls
        for below, cls in zip([None, *above], above, strict=False)
        if type(cls) is not _StandIn or not _same_name(cls, below)
    )


def _same_name(cls: type, other: Any) -> bool:
    return (cls.__module__, cls.__name__) == (other.__module__, other.__name__)


def _copied(obj: Any, name: str) -> Any:
    """A copy: what @dataclass and NamedTuple read must be what the class statement wrote."""
    if type(obj) in TRUSTED and not (isinstance(obj, type) and obj not in TRUSTED):
        return _refuse(obj, name) if type(obj) is not types.FunctionType else {}
    return dict(getattr(obj, name))


def _namespace(obj: Any, name: str) -> Any:
    if isinstance(obj, type):
        return _refuse(obj, name) if obj in TRUSTED else types.MappingProxyType(_public(vars(obj)))
    if type(obj) not in TRUSTED or type(obj) is types.SimpleNamespace:
        return getattr(obj, name)
    if is_scripts_function(obj):
        return obj.__dict__
    return _refuse(obj, name)


def _public(namespace: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in namespace.items() if not names.is_dunder(name)}


def _construct(obj: Any, name: str) -> Any:
    """``__init__`` and its kin: of classes, through super, and of the script's own instances."""
    if isinstance(obj, type):
        return _of_class(obj, name)
    if type(obj) is super or type(obj) not in TRUSTED:
        return getattr(obj, name)
    return _refuse(obj, name)


def _setter(obj: Any, name: str) -> Any:
    """``super().__setattr__`` and ``object.__setattr__``: the name comes at the call."""
    real = _construct(obj, name)
    if isinstance(obj, type):

        def set_on(owner: Any, key: str, *value: Any) -> None:
            _check_write(owner, key)
            real(owner, key, *value)

        return set_on

    owner = _super_self(obj) if type(obj) is super else obj

    def set_here(key: str, *value: Any) -> None:
        _check_write(owner, key)
        real(key, *value)

    return set_here


def _copier(obj: Any, name: str) -> Any:
    """``__copy__`` and its kin, where the script wrote them: the library's own write into what they make."""
    return getattr(obj, name) if _made_by_script(obj, name) else _refuse(obj, name)


def _replacer(obj: Any, name: str) -> Any:
    """``__replace__``: generated ones read from any object what its fields say."""
    found = getattr(obj, name)
    function = found.__func__ if type(found) is types.MethodType else found
    if is_scripts_function(function) or (type(obj) in TRUSTED and not isinstance(obj, type)):
        return found
    return _refuse(obj, name)


def _wrapped(obj: Any, name: str) -> Any:
    found = getattr(obj, name)
    return found if is_scripts_function(found) else _refuse(obj, name)


def _descriptor(obj: Any, name: str) -> Any:
    """``__get__`` and its kin. Descriptors of the library write into the instance: never one of ours."""
    if is_scripts_function(obj):
        return getattr(obj, name)
    if type(obj) in TRUSTED and type(obj) is not super:
        return _refuse(obj, name)
    found = getattr(obj, name)
    if is_scripts_function(getattr(found, "__func__", None)):
        return found

    def on_instance(instance: Any, /, *arguments: Any) -> Any:
        if instance is not None and type(instance) in TRUSTED:
            _refuse_write(instance, name)
        return found(instance, *arguments)

    return on_instance


_DUNDERS: Mapping[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(
        ("__name__", "__qualname__", "__doc__", "__module__", "__cause__", "__context__", "__suppress_context__",
         "__notes__", "__total__", "__required_keys__", "__optional_keys__", "__dir__",
         "__class_getitem__", "__value__", "__type_params__", "__fspath__"), _plainly),
    **dict.fromkeys(("__subclasses__", "__slots__", "__match_args__"), _of_scripts_class),
    **dict.fromkeys(("__mro__", "__bases__"), _relatives),
    **dict.fromkeys(("__annotations__", "__dataclass_fields__"), _copied),
    **dict.fromkeys(("__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__", "__getattr__",
                     "__del__"), _construct),
    **dict.fromkeys(("__setattr__", "__delattr__"), _setter),
    **dict.fromkeys(("__get__", "__set__", "__delete__"), _descriptor),
    **dict.fromkeys(("__copy__", "__deepcopy__"), _copier),
    "__replace__": _replacer,
    "__class__": _class_of,
    "__members__": _members,
    "__dict__": _namespace,
    "__wrapped__": _wrapped,
}  # fmt: skip


# --- writing ---------------------------------------------------------------------------------------------------


def target(obj: Any, name: str) -> Any:
    """The object itself, if the script may set or delete this attribute of it."""
    if type(obj) not in TRUSTED:
        if name.startswith("_") and not names.is_dunder(name) and not _free(obj, name):
            _refuse_write(obj, name)
        return obj
    if isinstance(obj, type):
        return obj if obj not in TRUSTED else _refuse_write(obj, name)
    if type(obj) in OPEN_TYPES or is_scripts_function(obj):
        return obj
    if isinstance(obj, BaseException) and name not in names.WATCHED:
        return obj
    return _refuse_write(obj, name)


def _free(obj: Any, name: str) -> bool:
    """Whether no class of ours claims this private name of an instance of the script's."""
    return not any(cls in TRUSTED and name in cls.__dict__ for cls in type(obj).__mro__)


def _refuse_write(obj: Any, name: str) -> Any:
    what = f"class {obj.__name__!r}" if isinstance(obj, type) else _kind(obj)
    raise Refused(f"{name!r} of {what} may not be set", "set attributes on objects of your own classes")


def _check_write(obj: Any, name: Any) -> None:
    _check_dynamic_write(obj, name)
    target(obj, name)


def _check_dynamic_write(obj: Any, name: Any) -> None:
    _check_name(obj, name)
    if names.is_dunder(name) and name not in names.WRITABLE:
        _refuse_write(obj, name)


def is_scripts_function(obj: object) -> bool:
    """A function that the script defined."""
    return type(obj) is types.FunctionType and obj.__globals__ is script_names


script_names: dict[str, Any] = {}  # the script's global names; the one dictionary of them in this process


# --- classes ---------------------------------------------------------------------------------------------------


def type_of(obj: Any) -> Any:
    """``type(obj)``: the class, or a stand-in where a script has no name for the class."""
    return public(type(obj))


def public(cls: type) -> Any:
    """A class as scripts see it. One that no façade and no builtin offers is a key to what is behind them."""
    if cls not in TRUSTED or cls in _OFFERED:
        return cls
    return Type if issubclass(cls, type) else _STAND_INS.get(cls) or _stand_in(cls)


_OFFERED: set[type] = set()


def offer(classes: Iterable[type]) -> None:
    """Scripts have these by name."""
    _OFFERED.update(classes)


def is_offered(cls: type) -> bool:
    """Whether scripts have this class by name."""
    return cls in _OFFERED


class _TypeOfTypes(type):
    """Makes `Type` answer as `type` does: one argument, isinstance, issubclass."""

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
    """What scripts call ``type``."""

    __class_getitem__: Any = classmethod(types.GenericAlias)


Type.__name__ = Type.__qualname__ = "type"
Type.__module__ = "builtins"


_STAND_INS: dict[type, type] = {}
_REAL: dict[type, type] = {}  # a stand-in -> the class that it stands for


class _StandIn(type):
    """Makes classes that stand for others: they compare and test as these do, and make nothing."""

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        raise Refused(f"cannot create {cls.__name__!r} instances")

    def __instancecheck__(cls, instance: object) -> bool:
        return issubclass(type(instance), _REAL[cls])


def _stand_in(cls: type) -> type:
    namespace = {"__slots__": (), "__module__": cls.__module__, "__qualname__": cls.__qualname__}
    made = _StandIn(cls.__name__, (), namespace)
    _STAND_INS[cls], _REAL[made] = made, cls
    TRUSTED.add(made)
    return made


class EnumType(enum.EnumType):
    """The metaclass of the script's enumerations: members are looked up, classes are written as classes."""

    def __call__(cls, value: Any = None, *rest: Any, **keywords: Any) -> Any:
        if rest or keywords or not cls._member_map_:
            raise Refused("Enum(...) does not make a class here", "write class Color(Enum): RED = 1")
        return super().__call__(value)

    @classmethod
    def _find_new_(mcls, *arguments: Any) -> Any:
        inherited: Any = super()
        new, *rest = inherited._find_new_(*arguments)
        return (new if type(new) is types.BuiltinFunctionType else _made_for(new), *rest)


def _made_for(new: Any) -> Any:
    """A ``__new__`` whose result is of its class: an enumeration sets attributes on it, and initialises it."""

    def checked(cls: type, *arguments: Any, **keywords: Any) -> Any:
        made = new(cls, *arguments, **keywords)
        if not _inherits(type(made), cls):
            raise TypeError(f"__new__ of {cls.__name__!r} returned {_kind(made)}")
        return made

    return checked


_METACLASSES: dict[type, type] = {}  # what a class statement may name -> the metaclass that it means


class _MetaclassName(type):
    """Makes a class that stands for a metaclass: it can be named and tested for, not called.

    A call of the real one makes a class past every check here, with whatever ``__match_args__`` it is given.
    """

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        name = cls.__name__
        raise Refused(f"{name}(...) does not make a class here", f"write class Shape(metaclass={name}): ...")

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _METACLASSES[cls])


def metaclass_name(real: type) -> type:
    """What a script calls this metaclass."""
    named = _MetaclassName(real.__name__, (), {"__module__": real.__module__, "__slots__": ()})
    _METACLASSES[named] = real
    return named


_REFUSED_BASES: set[type] = {super, staticmethod, classmethod}


def refuse_bases(*refused: type) -> None:
    """Classes whose instances other code of ours relies on; no script subclasses them."""
    _REFUSED_BASES.update(refused)


_BASE_FUNCTIONS: dict[Any, Any] = {}  # functions that may stand for a base class, and what they say it is


def stand_for_base(function: Any, entries: Callable[[Any], tuple[type, ...]]) -> None:
    """A class statement may name this function of ours as a base."""
    function.__mro_entries__ = entries
    _BASE_FUNCTIONS[function] = entries


def _resolved(bases: tuple[Any, ...]) -> Iterable[type]:
    """The bases, each that is no class as the class it says it stands for.

    The interpreter asks again when it makes the class. An answer that a script gives could be another one then,
    so only the library's own aliases are asked.
    """
    for base in bases:
        if isinstance(base, type):
            yield base
        elif type(base) is types.FunctionType and base in _BASE_FUNCTIONS:
            if vars(base)["__mro_entries__"] is not _BASE_FUNCTIONS[base]:
                _refuse(base, "__mro_entries__")
        elif issubclass(type(base), _ALIASES) and "__mro_entries__" not in _instance_dict(base):
            yield from types.resolve_bases((base,))
        else:
            raise Refused(f"{_kind(base)} are no base classes", "name classes as bases")


def _check_base(base: type) -> None:
    if issubclass(base, type) or base is Type or base in _METACLASSES:
        raise Refused("metaclasses may not be defined", "use __init_subclass__ or a class decorator")
    if issubclass(base, BaseExceptionGroup):
        raise Refused("exception groups may not be subclassed", "raise ExceptionGroup itself")
    if any(issubclass(base, refused) for refused in _REFUSED_BASES) or (base in TRUSTED and base not in _OFFERED):
        raise TypeError(f"type {base.__name__!r} is not an acceptable base type")


def _check_module_name() -> None:
    """A class belongs to the module named ``__name__``, and the library looks that up among all there are."""
    name = script_names.get("__name__")
    if type(name) is not str or (name != "__main__" and name in sys.modules):
        raise Refused("__name__ is not the script's own", "leave __name__ as it is")


def _meant(metaclass: Any) -> type:
    real = _METACLASSES.get(metaclass) if isinstance(metaclass, type) else None
    if real is None:
        raise Refused("only ABCMeta may be named as a metaclass", "use __init_subclass__ or a class decorator")
    return real


def build_class(body: Any, name: str, *bases: Any, **keywords: Any) -> Any:
    """The class statement. A base that is no class says which it stands for, and is asked first."""
    _check_module_name()
    for base in _resolved(bases):
        _check_base(base)
        # A hook of the script's sees the new class before we do: nothing may be inherited by then.
        for above in base.__mro__:
            close_match_args(above)
    if keywords.get("metaclass") is not None:
        keywords["metaclass"] = _meant(keywords["metaclass"])
    made = builtins.__build_class__(body, name, *bases, **keywords)
    close_match_args(made)
    return made


def close_match_args(cls: Any) -> None:
    """Take positional patterns away from a class whose fields are named like something the guards watch."""
    if cls in TRUSTED:
        return
    fields = vars(cls).get("__match_args__", ()) if isinstance(cls, type) else ()
    if not all(type(field) is str and names.is_plain(field) for field in fields):
        type.__setattr__(cls, "__match_args__", ())


def slots(value: Any) -> Any:
    """What a class body binds to `__slots__`, copied, so that it is still that when the class is made.

    A slot is a descriptor of that name: an empty one named ``__class__`` asks ``__getattr__``, and lies.
    """
    if isinstance(value, str):
        return _slot(value)
    if type(value) is dict:
        return {_slot(name): text for name, text in value.items()}
    copied = [_slot(name) for name in value]
    return copied if type(value) is list else tuple(copied)


def _slot(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"__slots__ items must be strings, not {type(name).__name__!r}")
    exact = str.__str__(name)
    if (names.is_dunder(exact) or names.is_forbidden(exact)) and exact not in ("__dict__", "__weakref__"):
        raise Refused(f"{exact!r} is no slot", "use a plain name without double underscores")
    return exact


# --- builtins --------------------------------------------------------------------------------------------------

_MISSING = object()


def guarded_getattr(obj: Any, name: str, default: Any = _MISSING, /) -> Any:
    """getattr(object, name[, default])."""
    try:
        return by_name(obj, name)
    except Refused:
        raise
    except AttributeError:
        if default is _MISSING:
            raise
        return default


def guarded_hasattr(obj: Any, name: str, /) -> bool:
    """Whether the object has an attribute that the script may read."""
    try:
        by_name(obj, name)
    except AttributeError:
        return False
    return True


def guarded_setattr(obj: Any, name: str, value: Any, /) -> None:
    """setattr(object, name, value), on the script's own objects."""
    _check_write(obj, name)
    setattr(obj, name, value)


def guarded_delattr(obj: Any, name: str, /) -> None:
    """delattr(object, name), on the script's own objects."""
    _check_write(obj, name)
    delattr(obj, name)


def guarded_vars(obj: Any = _MISSING, /) -> Any:
    """The attributes of one of the script's own objects, as a dict."""
    if obj is _MISSING:
        raise Refused("vars() needs an object here", "use a dict of your own")
    return _namespace(obj, "__dict__")


def guarded_dir(obj: Any = _MISSING, /) -> list[str]:
    """The names an object answers to, or the script's own names."""
    found = script_names if obj is _MISSING else builtins.dir(obj)
    return sorted(name for name in found if names.is_plain(name))


_SALT = os.urandom(16)


def identity(obj: object, /) -> int:
    """A number of this object's own while it lives; says nothing of where it lies."""
    return hash((_SALT, builtins.id(obj))) & 0x7FFFFFFFFFFF


def reseed() -> None:
    """A child's identities are its own."""
    global _SALT
    _SALT = os.urandom(16)


def leave(code: Any = None, /) -> None:
    """End the script here."""
    raise SystemExit(code)


_AS_THEY_ARE = names.words(
    "abs aiter all anext any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod "
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
    """The value of a script's last expression, apart from a value it returned."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


ENDED = object()  # what a script returns that ran to its end


_BUILTINS: dict[str, Any] = {
    **{name: getattr(builtins, name) for name in _AS_THEY_ARE},
    **_EXCEPTIONS,
    "type": Type,
    "getattr": guarded_getattr,
    "hasattr": guarded_hasattr,
    "setattr": guarded_setattr,
    "delattr": guarded_delattr,
    "vars": guarded_vars,
    "dir": guarded_dir,
    "id": identity,
    "exit": leave,
    "quit": leave,
    "__build_class__": build_class,
    ATTRIBUTE: attribute,
    TARGET: target,
    SLOTS: slots,
    LAST: Last,
    END: ENDED,
}


def script_builtins(**more: Any) -> dict[str, Any]:
    """The builtins of a script, guards included.

    One dict for all, because a process has one script: a copy would touch every builtin, and with it the page of
    memory it lies on, which a child so far shares with the fork server.
    """
    _BUILTINS.update(more)
    return _BUILTINS
