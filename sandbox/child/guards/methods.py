"""Checks of ``self``: a method that is read from a class takes instances of that class only."""

from __future__ import annotations

import enum
import types
from typing import Any

from winnow.sandbox.child.language import names
from winnow.sandbox.child.language.refusals import kind_of, refuse_attribute

from .stand_ins import OFFERED
from .trust import TRUSTED, inherits_from, is_script_function


def read_from_class(cls: Any, name: str) -> Any:
    """Read a method from a class. A method that the script did not write takes instances of the class only.

    Functions written in Python take any object as ``self``: the ``__init__`` that @dataclass generates would set
    its fields on any object passed to it, and its ``__repr__`` would read them. In addition, no trusted object is
    initialised a second time, because a property would get another getter, a struct another size.
    """
    method = getattr(cls, name)
    kind = type(method)
    if name == names.CONSTRUCTOR and kind is types.BuiltinFunctionType:
        return constructor_of(method)
    if kind is not types.FunctionType and (kind is not types.WrapperDescriptorType or name in names.OPERATORS):
        return method
    if is_script_function(method):
        return method

    def of_instance(instance: Any, /, *arguments: Any, **keywords: Any) -> Any:
        owner = instance if name == "__new__" else type(instance)
        if not (isinstance(owner, type) and inherits_from(owner, cls)):
            raise TypeError(
                f"{cls.__name__}.{name}() needs an object of {cls.__name__!r}, not {kind_of(instance)}"
            )
        if owner in TRUSTED and name not in names.OPERATORS and name != "__new__":
            refuse_attribute(instance, name)
        return method(instance, *arguments, **keywords)

    return of_instance


def constructor_of(new: Any) -> Any:
    """``__new__`` of a class written in C. An object of a class of ours is initialised as well.

    Much code in C does not expect an object without its content: CPython 3.11 to 3.13 crash when they call
    ``staticmethod.__new__(staticmethod)``.
    """

    def construct(cls: Any, /, *arguments: Any, **keywords: Any) -> Any:
        is_whole = isinstance(cls, type) and cls in TRUSTED and cls.__new__ is new
        return cls(*arguments, **keywords) if is_whole else new(cls, *arguments, **keywords)

    return construct


def bind_methods() -> None:
    """Make every method and property of a trusted class check the class of ``self``, as methods written in C do.

    Without that, a method read from the class takes any object: ``Counter.copy(int)`` calls ``int.__class__``.
    Names that are not plain go through the guards for dunders. Call it after `trust_existing_classes` and before
    `freeze_trusted_classes`.
    """
    offered = [cls for cls in OFFERED if cls in TRUSTED and not isinstance(cls, enum.EnumMeta)]
    for owner in {base for cls in offered for base in cls.__mro__ if base in TRUSTED}:
        for name, value in list(vars(owner).items()):
            if names.is_plain(name) and type(value) in (types.FunctionType, property):
                setattr(owner, name, _bind_to_class(owner, name, value))


def _bind_to_class(cls: type, name: str, value: Any) -> Any:
    if type(value) is property:
        get, put, delete = (
            part and _bind_to_class(cls, name, part) for part in (value.fget, value.fset, value.fdel)
        )
        return property(get, put, delete, value.__doc__)
    if type(value) is not types.FunctionType:
        return value

    def method(self: Any, /, *arguments: Any, **keywords: Any) -> Any:
        if not inherits_from(type(self), cls):
            raise TypeError(f"{cls.__name__}.{name}() needs an object of {cls.__name__!r}, not {kind_of(self)}")
        return value(self, *arguments, **keywords)

    for each in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(method, each, getattr(value, each))
    method.__dict__.update(value.__dict__)
    return method
