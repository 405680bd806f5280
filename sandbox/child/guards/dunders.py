"""Guards for reading double-underscore attributes."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

from winnow.sandbox.child.language import names
from winnow.sandbox.child.language.refusals import refuse_attribute

from .methods import constructor_of, read_from_class
from .stand_ins import is_stand_in, public_class, type_of
from .trust import TRUSTED, is_made_by_script, is_script_function, super_self
from .writes import check_write, refuse_write


def read_dunder(obj: Any, name: str) -> Any:
    """Read ``__name__``: each such name has a reader of its own, or is refused."""
    if name in names.OPERATORS:
        return read_from_class(obj, name) if isinstance(obj, type) else getattr(obj, name)
    read: Callable[[Any, str], Any] = _DUNDER_READERS.get(name, refuse_attribute)
    return read(obj, name)


def _read_plain(obj: Any, name: str) -> Any:
    return getattr(obj, name)


def _read_class(obj: Any, name: str) -> Any:
    return type_of(obj)


def _read_from_script_class(obj: Any, name: str) -> Any:
    """Read the attribute if the object is a class that the script made."""
    if isinstance(obj, type) and obj not in TRUSTED:
        return getattr(obj, name)
    return refuse_attribute(obj, name)


def _read_base_classes(obj: Any, name: str) -> tuple[Any, ...]:
    """The base classes as scripts see them. The original behind a class of ours with the same name is left out."""
    above = [public_class(cls) for cls in _read_from_script_class(obj, name)]
    return tuple(
        cls
        for below, cls in zip([None, *above], above, strict=False)
        if not is_stand_in(cls) or not _has_same_name(cls, below)
    )


def _has_same_name(cls: type, other: Any) -> bool:
    return (cls.__module__, cls.__name__) == (other.__module__, other.__name__)


def _read_copy(obj: Any, name: str) -> Any:
    """Read a copy, so that @dataclass and NamedTuple read exactly what the class statement wrote."""
    if type(obj) in TRUSTED and not (isinstance(obj, type) and obj not in TRUSTED):
        return refuse_attribute(obj, name) if type(obj) is not types.FunctionType else {}
    return dict(getattr(obj, name))


def read_members(obj: Any, name: str) -> Any:
    """Read a view of a copy, because comparing a view passes its dict to the ``__eq__`` of the other operand."""
    value = getattr(obj, name)
    return types.MappingProxyType(dict(value)) if type(value) is types.MappingProxyType else value


def read_namespace(obj: Any, name: str) -> Any:
    """Read ``__dict__`` of the script's own objects and functions, or a view of the one of its classes."""
    if isinstance(obj, type) and obj in TRUSTED:
        return refuse_attribute(obj, name)
    if isinstance(obj, type):
        return types.MappingProxyType(_without_dunders(vars(obj)))
    if type(obj) not in TRUSTED or type(obj) is types.SimpleNamespace:
        return getattr(obj, name)
    if is_script_function(obj):
        return obj.__dict__
    return refuse_attribute(obj, name)


def _without_dunders(namespace: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in namespace.items() if not names.is_dunder(name)}


def _read_constructor(obj: Any, name: str) -> Any:
    """Read ``__init__`` and the like: from classes, through super(), and from the script's own instances."""
    if isinstance(obj, type):
        return read_from_class(obj, name)
    if type(obj) is super or type(obj) not in TRUSTED:
        found = getattr(obj, name)
        is_in_c = name == names.CONSTRUCTOR and type(found) is types.BuiltinFunctionType
        return constructor_of(found) if is_in_c else found
    return refuse_attribute(obj, name)


def _read_setter(obj: Any, name: str) -> Any:
    """Read ``super().__setattr__`` or ``object.__setattr__``: the attribute name is checked at the call."""
    real = _read_constructor(obj, name)
    if isinstance(obj, type):

        def set_on(owner: Any, key: str, *value: Any) -> None:
            check_write(owner, key)
            real(owner, key, *value)

        return set_on

    owner = super_self(obj) if type(obj) is super else obj

    def set_here(key: str, *value: Any) -> None:
        check_write(owner, key)
        real(key, *value)

    return set_here


def _read_copier(obj: Any, name: str) -> Any:
    """Read ``__copy__`` or ``__deepcopy__`` if the script wrote it. Those of the library set attributes."""
    return getattr(obj, name) if is_made_by_script(obj, name) else refuse_attribute(obj, name)


def _read_replace(obj: Any, name: str) -> Any:
    """Read ``__replace__`` unless it is generated: such a method reads attributes that an object's fields name."""
    found = getattr(obj, name)
    function = found.__func__ if type(found) is types.MethodType else found
    if is_script_function(function) or (type(obj) in TRUSTED and not isinstance(obj, (type, super))):
        return found
    return refuse_attribute(obj, name)


def _read_wrapped(obj: Any, name: str) -> Any:
    found = getattr(obj, name)
    return found if is_script_function(found) else refuse_attribute(obj, name)


def _read_descriptor_method(obj: Any, name: str) -> Any:
    """Read ``__get__`` and the like, but keep descriptors of the library from writing into trusted instances."""
    if is_script_function(obj):
        return getattr(obj, name)
    if type(obj) in TRUSTED and type(obj) is not super:
        return refuse_attribute(obj, name)
    found = getattr(obj, name)
    if is_script_function(getattr(found, "__func__", None)):
        return found

    def on_instance(instance: Any, /, *arguments: Any) -> Any:
        if instance is not None and type(instance) in TRUSTED:
            refuse_write(instance, name)
        return found(instance, *arguments)

    return on_instance


_DUNDER_READERS: Mapping[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(
        ("__name__", "__qualname__", "__doc__", "__module__", "__cause__", "__context__", "__suppress_context__",
         "__notes__", "__total__", "__required_keys__", "__optional_keys__", "__dir__",
         "__class_getitem__", "__value__", "__type_params__", "__fspath__"), _read_plain),
    **dict.fromkeys(("__subclasses__", "__slots__", "__match_args__"), _read_from_script_class),
    **dict.fromkeys(("__mro__", "__bases__"), _read_base_classes),
    **dict.fromkeys(("__annotations__", "__dataclass_fields__"), _read_copy),
    **dict.fromkeys(("__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__", "__getattr__",
                     "__del__"), _read_constructor),
    **dict.fromkeys(("__setattr__", "__delattr__"), _read_setter),
    **dict.fromkeys(("__get__", "__set__", "__delete__"), _read_descriptor_method),
    **dict.fromkeys(("__copy__", "__deepcopy__"), _read_copier),
    "__replace__": _read_replace,
    "__class__": _read_class,
    "__members__": read_members,
    "__dict__": read_namespace,
    "__wrapped__": _read_wrapped,
}  # fmt: skip
