"""``functools.singledispatch`` that does not evaluate annotations as source text."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

from sandbox.language.guards import script_builtins, trust


class SingleDispatch:
    """A function with one implementation for each class of its first argument."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__name__ = getattr(function, "__name__", "function")
        self.__doc__ = getattr(function, "__doc__", None)
        self.__wrapped__ = function
        self._implementations: dict[type, Callable[..., Any]] = {object: function}

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if not arguments:
            raise TypeError(f"{self.__name__} requires at least 1 positional argument")
        return self.dispatch(type(arguments[0]))(*arguments, **keywords)

    @property
    def registry(self) -> Mapping[type, Callable[..., Any]]:
        """A view of a copy of every implementation by its class."""
        return types.MappingProxyType(dict(self._implementations))

    def dispatch(self, cls: type) -> Callable[..., Any]:
        """The implementation for a class: its own, that of a matching abstract class, or that of a base."""
        order = cls.__mro__
        for index, base in enumerate(order):
            if base in self._implementations:
                return self._implementations[base]
            for other, implementation in self._implementations.items():
                new = other not in order and issubclass(base, other)
                if new and not any(issubclass(later, other) for later in order[index + 1 :]):
                    return implementation
        return self._implementations[object]

    def register(self, cls: Any, function: Callable[..., Any] | None = None) -> Any:
        """``@f.register``, ``@f.register(cls)`` or ``f.register(cls, function)``."""
        classes = _classes(cls)
        if classes and function is None:
            return lambda decorated: self.register(cls, decorated)
        if function is None:
            cls, function = _annotation(cls), cls
            classes = _classes(cls)
        if not classes:
            raise TypeError(f"Invalid first argument to `register()`. {cls!r} is not a class or union type.")
        for each in classes:
            self._implementations[each] = function
        return function


def _classes(cls: Any) -> tuple[type, ...]:
    if isinstance(cls, type):
        return (cls,)
    if isinstance(cls, types.UnionType) and all(isinstance(each, type) for each in cls.__args__):
        return cls.__args__
    return ()


def _annotation(function: Any) -> Any:
    """The annotation of the first parameter; the policy keeps it for decorators called ``register``."""
    value = next(iter(function.__annotations__.values()), None) if trust.is_script_function(function) else None
    # A string under `from __future__ import annotations`: a plain name is looked up, and nothing is evaluated.
    if type(value) is str and value.isidentifier():
        value = trust.script_globals.get(value) or script_builtins.get_builtins().get(value)
    if not _classes(value):
        raise TypeError(
            f"Invalid first argument to `register()`: {function!r}. Use either `@register(some_class)` or plain "
            "`@register` on an annotated function."
        )
    return value
