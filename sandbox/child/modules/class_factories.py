"""Guarded versions of what the standard library generates from names: dataclasses, named tuples, typed dicts.

The library writes these names into source text, or sets attributes of these names, without a check. Each name is
therefore checked here, in `check_generated`, and again whenever the fields are used. The fields are read from the
class, never from an object, which may claim to have others.
"""

from __future__ import annotations

import collections
import dataclasses
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from winnow.sandbox.child.guards import attributes, classes, trust
from winnow.sandbox.child.language import names
from winnow.sandbox.child.language.refusals import Refused

from .copy_module import deepcopy
from .ordered_dict import OrderedDict

_module: Any = dataclasses
_OWN_FIELD, _CLASS_VARIABLE, _INIT_VARIABLE = _module._FIELD, _module._FIELD_CLASSVAR, _module._FIELD_INITVAR
_FIELDS = "__dataclass_fields__"


def check_generated(name: Any) -> str:
    """The name, if it may appear in generated code; raises Refused if not."""
    if type(name) is not str or not names.is_safe_to_generate(name):
        raise Refused(f"{name!r} is no name for a field", "use a plain name without double underscores")
    return name


# --- dataclasses -----------------------------------------------------------------------------------------------


def dataclass(cls: Any = None, /, **options: Any) -> Any:
    """dataclasses.dataclass, for the script's own classes: it compiles source text made of the field names."""
    if cls is None:
        return lambda decorated: dataclass(decorated, **options)
    if not isinstance(cls, type) or cls in trust.TRUSTED:
        raise Refused("@dataclass works on classes of your own")
    own = [name for base in cls.__mro__ if base not in trust.TRUSTED for name in _annotated(base)]
    inherited = [name for base in cls.__mro__ for name in _checked(vars(base).get(_FIELDS, {}))]
    fields = [_check_field(cls, check_generated(name)) for name in own + inherited]
    if not all(names.is_plain(name) for name in fields):
        options["match_args"] = False  # patterns read attributes without a guard
    _describe(cls)
    return dataclasses.dataclass(cls, **options)


def _check_field(cls: type, name: str) -> str:
    """Refuse a field whose name a class of ours uses, because the library reads it there without a guard."""
    if not names.is_plain(name):
        if trust.is_set_by_library(cls, name):
            raise Refused(f"{name!r} is no name for a field of {cls.__name__!r}", "choose another name")
        metaclass: type = type(cls)
        for owner in (*cls.__mro__, *metaclass.__mro__):
            if owner in trust.TRUSTED and name in type.__getattribute__(owner, "__dict__"):
                raise Refused(f"{name!r} is no name for a field of {cls.__name__!r}", "choose another name")
    return name


def _describe(cls: type) -> None:
    """Set a docstring: dataclass would generate one from the signature, which may evaluate text."""
    written = vars(cls).get("__doc__")
    if type(written) is not str or not written:
        cls.__doc__ = f"{cls.__name__}({', '.join(map(str, _annotated(cls)))})"


def _annotated(cls: type) -> Iterable[Any]:
    if sys.version_info >= (3, 14):
        import annotationlib

        return annotationlib.get_annotations(cls, format=annotationlib.Format.FORWARDREF)
    return vars(cls).get("__annotations__", ())  # type: ignore[no-any-return]


def _checked(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a class, each checked to be unchanged."""
    for name, field in fields.items():
        if type(field) is not dataclasses.Field or check_generated(field.name) != name:
            raise Refused(f"the field {name!r} has been changed")
    return fields


def _fields_of(cls: type) -> Mapping[str, Any] | None:
    """The fields of a class. An object is not asked, because its dict may have other fields."""
    spaces = (type.__getattribute__(base, "__dict__") for base in cls.__mro__)
    found = next((space[_FIELDS] for space in spaces if _FIELDS in space), None)
    return None if found is None else _checked(found)


def _instance_fields(obj: Any, function: str) -> Mapping[str, Any]:
    found = None if isinstance(obj, type) else _fields_of(type(obj))
    if found is None:
        raise TypeError(f"{function}() should be called on dataclass instances")
    return found


def fields(class_or_instance: Any) -> tuple[Any, ...]:
    """dataclasses.fields."""
    found = _fields_of(class_or_instance if isinstance(class_or_instance, type) else type(class_or_instance))
    if found is None:
        raise TypeError("must be called with a dataclass type or instance")
    return tuple(field for field in found.values() if field._field_type is _OWN_FIELD)


def is_dataclass(obj: Any) -> bool:
    """dataclasses.is_dataclass."""
    return _fields_of(obj if isinstance(obj, type) else type(obj)) is not None


def replace(obj: Any, /, **changes: Any) -> Any:
    """dataclasses.replace."""
    for name, field in _instance_fields(obj, "replace").items():
        if field._field_type is _CLASS_VARIABLE:
            continue
        if not field.init:
            if name in changes:
                raise ValueError(
                    f"field {name} is declared with init=False, it cannot be specified with replace()"
                )
        elif name not in changes:
            if field._field_type is _INIT_VARIABLE and field.default is dataclasses.MISSING:
                raise ValueError(f"InitVar {name!r} must be specified with replace()")
            changes[name] = attributes.read_by_name(obj, name)
    return type(obj)(**changes)


def asdict(obj: Any, *, dict_factory: Callable[[Any], Any] = dict) -> Any:
    """dataclasses.asdict."""
    _instance_fields(obj, "asdict")
    return _take_apart(obj, dict_factory)


def astuple(obj: Any, *, tuple_factory: Callable[[Any], Any] = tuple) -> Any:
    """dataclasses.astuple."""
    _instance_fields(obj, "astuple")
    return _take_apart(obj, lambda pairs: tuple_factory([value for _, value in pairs]))


def _take_apart(value: Any, combine: Callable[[Any], Any]) -> Any:
    """The value with dataclass instances in it replaced by their fields, and copies of the rest."""
    cls = type(value)
    if _fields_of(cls) is not None:
        pairs = [(field.name, attributes.read_by_name(value, field.name)) for field in fields(cls)]
        return combine([(name, _take_apart(part, combine)) for name, part in pairs])
    if cls in (list, tuple) or (cls not in trust.TRUSTED and issubclass(cls, (list, tuple))):
        parts = [_take_apart(part, combine) for part in value]
        return cls(*parts) if hasattr(cls, "_fields") else cls(parts)
    if cls is collections.defaultdict:
        made: Any = collections.defaultdict(value.default_factory)
        made.update((_take_apart(key, combine), _take_apart(part, combine)) for key, part in value.items())
        return made
    if cls in (dict, OrderedDict) or (cls not in trust.TRUSTED and issubclass(cls, dict)):
        return cls([(_take_apart(key, combine), _take_apart(part, combine)) for key, part in value.items()])
    return deepcopy(value)


# --- named tuples and typed dicts ------------------------------------------------------------------------------

_make_namedtuple: Callable[..., Any] = collections.namedtuple
_make_typed_tuple: Any = typing.NamedTuple
_make_typed_dict: Any = typing.TypedDict


def namedtuple(typename: Any, field_names: Any, **options: Any) -> Any:
    """collections.namedtuple: it evaluates source made of the names, so they become exact strings first."""
    if isinstance(field_names, str):
        field_names = _exact_string(field_names).replace(",", " ").split()
    options["module"] = "__main__"
    cls = _make_namedtuple(_exact_string(typename), [_exact_string(name) for name in field_names], **options)
    classes.remove_unsafe_match_args(cls)
    return cls


def typed_tuple(typename: Any, fields: Any = None, /, **more: Any) -> Any:
    """typing.NamedTuple, called as a function."""
    given = more.items() if fields is None else fields
    cls = _make_typed_tuple(
        _exact_string(typename), [(check_generated(_exact_string(name)), kind) for name, kind in given]
    )
    classes.remove_unsafe_match_args(cls)
    return _set_module(cls)


def typed_dict(typename: Any, fields: Any = None, /, *, total: Any = True, **more: Any) -> Any:
    """typing.TypedDict, called as a function. Its keys are checked, as a dataclass can be made of the class."""
    given = more if fields is None else dict(fields)
    keys = {_exact_string(name): kind for name, kind in given.items()}
    return _set_module(_make_typed_dict(_exact_string(typename), keys, total=total))


def _set_module(cls: type) -> type:
    """Set the script's module; the library would set the module of its caller, which is this one."""
    cls.__module__ = "__main__"
    return cls


def _exact_string(text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError("Type names and field names must be strings")
    exact = str.__str__(text)
    if not names.is_stable(exact):
        raise Refused(f"{exact!r} is no name", "write it as Python reads it")
    return exact


def _stand_for(function: Any, real: Any) -> None:
    entries = vars(real)["__mro_entries__"]
    classes.register_base_function(function, lambda bases: entries((real,)))


_stand_for(typed_tuple, _make_typed_tuple)
_stand_for(typed_dict, _make_typed_dict)

OWN: Mapping[str, Mapping[str, Any]] = types.MappingProxyType(
    {
        "collections": {"namedtuple": namedtuple, "OrderedDict": OrderedDict},
        "dataclasses": {
            "dataclass": dataclass,
            "fields": fields,
            "is_dataclass": is_dataclass,
            "replace": replace,
            "asdict": asdict,
            "astuple": astuple,
        },
        "typing": {"NamedTuple": typed_tuple, "TypedDict": typed_dict},
    }
)
