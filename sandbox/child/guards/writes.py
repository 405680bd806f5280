"""Guards for setting and deleting attributes."""

from __future__ import annotations

from typing import Any

from winnow.sandbox.child.language import names
from winnow.sandbox.child.language.refusals import Refused, check_attribute_name, kind_of

from .trust import TRUSTED, WRITABLE_TYPES, is_script_function, is_set_by_library


def writable_target(obj: Any, name: str) -> Any:
    """The object itself, if the script may set or delete this attribute of it; raises Refused if not."""
    if type(obj) not in TRUSTED:
        if name.startswith("_") and not names.is_dunder(name) and not _is_unclaimed(obj, name):
            refuse_write(obj, name)
        return obj
    if isinstance(obj, type):
        private = name.startswith("_") and not names.is_dunder(name)
        return refuse_write(obj, name) if obj in TRUSTED or (private and is_set_by_library(obj, name)) else obj
    if type(obj) in WRITABLE_TYPES or is_script_function(obj):
        return obj
    if isinstance(obj, BaseException) and name not in names.WATCHED and not _is_method(type(obj), name):
        return obj
    return refuse_write(obj, name)


def _is_method(cls: type, name: str) -> bool:
    """Whether instances of the class have a method of this name.

    ``except*`` calls ``split`` of an exception group in C, and takes the answer for a tuple without a check.
    """
    found = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
    return hasattr(type(found), "__get__") and not hasattr(type(found), "__set__")


def _is_unclaimed(obj: Any, name: str) -> bool:
    """Whether no trusted base class of the script's instance uses this private name."""
    cls = type(obj)
    return not (
        is_set_by_library(cls, name) or any(base in TRUSTED and name in base.__dict__ for base in cls.__mro__)
    )


def refuse_write(obj: Any, name: str) -> Any:
    """Raise Refused for setting or deleting this attribute."""
    what = f"class {obj.__name__!r}" if isinstance(obj, type) else kind_of(obj)
    raise Refused(f"{name!r} of {what} may not be set", "set attributes on objects of your own classes")


def check_write(obj: Any, name: Any) -> None:
    """Refuse to set or delete an attribute whose name the script computed."""
    _check_written_name(obj, name)
    writable_target(obj, name)


def _check_written_name(obj: Any, name: Any) -> None:
    check_attribute_name(obj, name)
    if names.is_dunder(name) and name not in names.WRITABLE:
        refuse_write(obj, name)
