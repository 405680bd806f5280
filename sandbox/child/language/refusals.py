"""Refusals: of a script when it is compiled, of an access while it runs; and the check of attribute names."""

from __future__ import annotations

from typing import Any

from . import names


class Rejected(Exception):
    """The policy refused a script when it was compiled. ``line`` and ``column`` count from 1."""

    def __init__(
        self, type: str, message: str, line: int | None = None, column: int | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.type = type
        self.message = message
        self.line = line
        self.column = column
        self.hint = hint


class Refused(AttributeError):
    """A guard refused an access while the script ran. Scripts may catch it like any AttributeError."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def refuse_attribute(obj: object, name: str) -> Any:
    """Raise Refused for reading this attribute."""
    raise Refused(f"the attribute {name!r} of {kind_of(obj)} is not available", names.instead(name))


def kind_of(obj: object) -> str:
    """The object's class, for a message: ``'int' objects``."""
    return f"{type(obj).__name__!r} objects"


def check_attribute_name(obj: object, name: Any) -> None:
    """Refuse an attribute name that is forbidden on every object."""
    # A subclass of str could answer differently each time it is asked.
    if type(name) is not str:
        raise TypeError("attribute name must be a plain string")
    if names.is_forbidden(name):
        refuse_attribute(obj, name)
