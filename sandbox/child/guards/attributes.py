"""Guards for reading attributes: private names, names watched on some objects, and format fields."""

from __future__ import annotations

import collections
import functools
import importlib
import string
import types
from collections.abc import Callable, Mapping
from typing import Any

from winnow.sandbox.child.language import names
from winnow.sandbox.child.language.refusals import Refused, check_attribute_name, kind_of, refuse_attribute

from .dunders import read_dunder, read_members
from .trust import ALIASES, TRUSTED, instance_dict, is_enumeration, is_made_by_script
from .writes import writable_target


def read_attribute(obj: Any, name: str) -> Any:
    """Read an attribute whose name is not plain.

    ``name`` is a constant that the policy compiled in, or was checked by `read_by_name`.
    """
    if name in names.WATCHED:
        return _WATCHED_READERS[name](obj, name)
    if names.is_dunder(name):
        return read_dunder(obj, name)
    return _read_private(obj, name)


def read_by_name(obj: Any, name: Any) -> Any:
    """Read an attribute whose name the script computed."""
    check_attribute_name(obj, name)
    return getattr(obj, name) if names.is_plain(name) else read_attribute(obj, name)


def _read_private(obj: Any, name: str) -> Any:
    """Read ``_name``, if the script itself set it."""
    _check_private(obj, name)
    return _copy_of_members(getattr(obj, name)) if name in names.ENUMERATION_TABLES else getattr(obj, name)


def _check_private(obj: Any, name: str) -> None:
    if name in names.DOCUMENTED_PRIVATE or is_made_by_script(obj, name):
        return
    # A __getattr__ of the script may still answer.
    if type(obj) not in TRUSTED and not _has_entry(obj, name):
        return
    if name in names.ENUMERATION_TABLES and is_enumeration(obj):
        return
    raise Refused(f"{name!r} is private to {kind_of(obj)}", "use the public attributes; dir(x) lists them")


def _copy_of_members(value: Any) -> Any:
    """A copy of a table of members, because an object that it is compared or united with gets the table itself."""
    return value.copy() if type(value) in (dict, list) else value


def changed_target(obj: Any, name: str) -> Any:
    """The object itself, if the script may read and set this attribute of it: ``x._name += 1`` does both."""
    if not names.is_dunder(name):
        _check_private(obj, name)
    return writable_target(obj, name)


def _has_entry(obj: Any, name: str) -> bool:
    """Whether the instance or a class of it holds this attribute."""
    return name in instance_dict(obj) or any(name in cls.__dict__ for cls in type(obj).__mro__)


def _unwrap_alias(obj: Any) -> Any:
    """The object that a generic alias stands for: ``Annotated[str, 1].format`` is ``str.format``."""
    while issubclass(type(obj), ALIASES):
        obj = object.__getattribute__(obj, "__origin__")
    return obj


_USER_FORMATS = (collections.UserString.format, collections.UserString.format_map)


def _read_format(obj: Any, name: str) -> Any:
    """Decide by the value read, not by the object it was read from: wrappers, aliases and proxies also give out
    the real ``str.format``.
    """
    value = getattr(obj, name)
    kind = type(value)
    if kind is types.BuiltinMethodType and isinstance(value.__self__, str):
        return functools.partial(_FORMATS[name], value.__self__)
    if kind is types.MethodDescriptorType and value.__objclass__ is str:
        return _FORMATS[name]
    if kind is types.MethodType and _is_user_string_format(value.__func__):
        return functools.partial(_FORMATS[name], _unwrap_user_string(value.__self__))
    return refuse_attribute(obj, name) if _is_user_string_format(value) else value


def _is_user_string_format(value: Any) -> bool:
    """Compared by identity: ``==`` would pass our function to an ``__eq__`` of the script."""
    return any(value is function for function in _USER_FORMATS)


def _unwrap_user_string(text: Any) -> Any:
    """The string inside a UserString, whose own ``format`` bypasses the guard."""
    while isinstance(text, collections.UserString):
        text = text.data
    return text


def _read_obj(obj: Any, name: str) -> Any:
    real = _unwrap_alias(obj)
    owner = real if isinstance(real, type) else type(real)
    if issubclass(owner, (AttributeError, memoryview, super)):
        refuse_attribute(obj, name)
    return _read_python_attribute(obj, name)


def _read_mro(obj: Any, name: str) -> Any:
    if isinstance(_unwrap_alias(obj), type) or type(obj) is super:
        refuse_attribute(obj, name)
    return _read_python_attribute(obj, name)


_RAW = (types.MethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType)


def _read_python_attribute(obj: Any, name: str) -> Any:
    """Read the attribute, but refuse a descriptor of the interpreter, which a wrapper may have copied."""
    value = getattr(obj, name)
    return refuse_attribute(obj, name) if type(value) in _RAW else value


def _read_evaluate(obj: Any, name: str) -> Any:
    if type(obj) in TRUSTED:
        refuse_attribute(obj, name)
    return getattr(obj, name)


_WATCHED_READERS: Mapping[str, Callable[[Any, str], Any]] = {
    "format": _read_format,
    "format_map": _read_format,
    "obj": _read_obj,
    "mro": _read_mro,
    "evaluate": _read_evaluate,
    "groupindex": read_members,
}

# The parts of str.format that string.Formatter uses; they have no type stub and no public name.
_string: Any = importlib.import_module("_string")
_split_field, _parse_template = _string.formatter_field_name_split, _string.formatter_parser


class _Formatter(string.Formatter):
    """A str.format whose fields read attributes through the guard."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        first, rest = _split_field(field_name)
        obj = self.get_value(first, args, kwargs)
        for is_attribute, key in rest:
            obj = read_by_name(obj, key) if is_attribute else obj[key]
        return obj, first


_formatter = _Formatter()


def _has_lookups(template: str) -> bool:
    """Whether a field of the template reads attributes or items."""
    return any(
        field is not None and ("." in field or "[" in field or _has_lookups(spec or ""))
        for _, field, spec, _ in _parse_template(template)
    )


def _format(template: str, /, *args: Any, **kwargs: Any) -> str:
    text = str.__str__(template)
    return _formatter.vformat(text, args, kwargs) if _has_lookups(text) else str.format(text, *args, **kwargs)


def _format_map(template: str, mapping: Any, /) -> str:
    text = str.__str__(template)
    return _formatter.vformat(text, (), mapping) if _has_lookups(text) else str.format_map(text, mapping)


_FORMATS = {"format": _format, "format_map": _format_map}
