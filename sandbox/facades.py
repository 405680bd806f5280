"""The modules a script imports: frozen façades with the names of menu.py, never the modules themselves.

A module object is a way out: ``json.decoder``, ``enum.sys``, ``statistics.random`` lead to ``sys`` and from there
to everything. A façade holds the names on the menu and nothing else. Where a function of the standard library
takes attribute names or source text from its caller, or compiles code made of names, a version of our own stands
in its place.
"""

from __future__ import annotations

import abc
import collections
import dataclasses
import enum
import functools
import importlib
import keyword
import pprint
import random
import re
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import client_sdk

from . import guards, names, tasks, troubles
from .console import Console
from .guards import Refused
from .menu import MENU


class Facade:
    """Stands for a module. Has no ``__name__``: ``from x import y`` would look ``x.y`` up in sys.modules."""

    __slots__ = ("__dict__", "_title")

    def __init__(self, title: str, members: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_title", title)
        self.__dict__.update(members)

    def __getattr__(self, name: str) -> Any:
        title = object.__getattribute__(self, "_title")
        raise troubles.unknown_member(title, name, object.__getattribute__(self, "__dict__"))

    def __setattr__(self, name: str, value: Any) -> None:
        raise Refused(f"the module {object.__getattribute__(self, '_title')!r} may not be changed")

    __delattr__ = __setattr__  # type: ignore[assignment]

    def __dir__(self) -> list[str]:
        return sorted(object.__getattribute__(self, "__dict__"))

    def __repr__(self) -> str:
        return f"<module {object.__getattribute__(self, '_title')!r}>"


# --- versions of our own ---------------------------------------------------------------------------------------


def _dataclass(cls: Any = None, /, **options: Any) -> Any:
    """dataclasses.dataclass, on classes of a class statement: it compiles source made of their fields' names."""
    if cls is None:
        return functools.partial(_dataclass, **options)
    if not isinstance(cls, type) or cls in guards.TRUSTED:
        raise Refused("@dataclass works on classes of your own")
    fields = [name for base in cls.__mro__ if base not in guards.TRUSTED for name in _annotated(base)]
    for name in fields:
        if type(name) is not str or not name.isidentifier() or keyword.iskeyword(name) or names.is_dunder(name):
            raise Refused(f"{name!r} is no name for a field")
    if not all(names.is_plain(name) for name in fields):
        options["match_args"] = False  # patterns read attributes past every guard
    return dataclasses.dataclass(cls, **options)


def _annotated(cls: type) -> Iterable[Any]:
    if sys.version_info >= (3, 14):
        import annotationlib

        return annotationlib.get_annotations(cls, format=annotationlib.Format.FORWARDREF)
    return vars(cls).get("__annotations__", ())  # type: ignore[no-any-return]


_make_namedtuple: Callable[..., Any] = collections.namedtuple


def _namedtuple(typename: Any, field_names: Any, **options: Any) -> Any:
    """collections.namedtuple: it evaluates source made of its names, so they are copied to exact strings first."""
    if isinstance(field_names, str):
        field_names = _exact(field_names).replace(",", " ").split()
    options["module"] = "__main__"
    made = _make_namedtuple(_exact(typename), [_exact(name) for name in field_names], **options)
    guards.close_match_args(made)
    return made


def _exact(text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError("Type names and field names must be strings")
    return str.__str__(text)


def _wraps(wrapped: Any, assigned: Any = None, updated: Any = None) -> Callable[[Any], Any]:
    """functools.wraps, without attribute names to choose from."""

    def decorate(wrapper: Any) -> Any:
        if not guards.is_scripts_function(wrapper):
            return wrapper
        for name in ("__name__", "__qualname__", "__doc__"):
            value = getattr(wrapped, name, None)
            if type(value) is str:
                setattr(wrapper, name, value)
        if guards.is_scripts_function(wrapped):
            wrapper.__dict__.update(wrapped.__dict__)
        wrapper.__wrapped__ = wrapped
        return wrapper

    return decorate


def _enum(real: type, **more: Any) -> Any:
    """An enumeration base under our metaclass."""
    namespace = guards.EnumType.__prepare__(real.__name__, (real,))
    made = guards.EnumType(real.__name__, (real,), namespace)
    made.__module__, made.__doc__ = "enum", real.__doc__
    return made


# --- modules that speak ----------------------------------------------------------------------------------------


class _Logger:
    """A logger that prints."""

    levels: Mapping[str, int] = types.MappingProxyType(
        {"DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40, "CRITICAL": 50}
    )

    def __init__(self, name: str, console: Console, parent: _Logger | None = None) -> None:
        self.name = name
        self.level = 30 if parent is None else 0
        self._console = console
        self._parent = parent

    def setLevel(self, level: Any) -> None:
        """Print nothing below this level."""
        self.level = self.levels.get(level, 30) if isinstance(level, str) else int(level)

    def isEnabledFor(self, level: int) -> bool:
        """Whether a message of this level is printed."""
        threshold = self.level or (self._parent.level if self._parent else 30)
        return level >= threshold

    def log(self, level: int, message: Any, *arguments: Any, **options: Any) -> None:
        """Print a message, with its %-arguments filled in."""
        if not self.isEnabledFor(level):
            return
        text = str(message) % arguments if arguments else str(message)
        label = next((name for name, number in self.levels.items() if number == level), f"Level {level}")
        self._console.write(f"{label}:{self.name}:{text}\n")

    def debug(self, message: Any, *arguments: Any, **options: Any) -> None:
        """At level DEBUG."""
        self.log(10, message, *arguments)

    def info(self, message: Any, *arguments: Any, **options: Any) -> None:
        """At level INFO."""
        self.log(20, message, *arguments)

    def warning(self, message: Any, *arguments: Any, **options: Any) -> None:
        """At level WARNING."""
        self.log(30, message, *arguments)

    def error(self, message: Any, *arguments: Any, **options: Any) -> None:
        """At level ERROR."""
        self.log(40, message, *arguments)

    def critical(self, message: Any, *arguments: Any, **options: Any) -> None:
        """At level CRITICAL."""
        self.log(50, message, *arguments)

    def exception(self, message: Any, *arguments: Any, **options: Any) -> None:
        """At level ERROR, with the traceback."""
        self.log(40, message, *arguments)
        self._console.write(troubles.traceback_text(sys.exception()))


def _logging(console: Console) -> dict[str, Any]:
    root = _Logger("root", console)
    loggers: dict[str, _Logger] = {"root": root}

    def get_logger(name: Any = None) -> _Logger:
        return loggers.setdefault(str(name), _Logger(str(name), console, root)) if name else root

    def basic_config(*, level: Any = None, **options: Any) -> None:
        if level is not None:
            root.setLevel(level)

    methods = ("debug", "info", "warning", "error", "critical", "exception", "log")
    return {
        **{name: getattr(root, name) for name in methods},
        **_Logger.levels,
        "NOTSET": 0,
        "getLogger": get_logger,
        "basicConfig": basic_config,
    }


class _NoFilters:
    """warnings.catch_warnings: there are no filters to bring back."""

    def __init__(self, **options: Any) -> None:
        self._record = bool(options.get("record"))

    def __enter__(self) -> list[Any] | None:
        return [] if self._record else None

    def __exit__(self, *error: object) -> None:
        return None


def _warnings(console: Console) -> dict[str, Any]:
    def warn(message: Any, category: Any = None, *rest: Any, **options: Any) -> None:
        kind = type(message) if isinstance(message, Warning) else category or UserWarning
        console.write(f"{kind.__name__}: {message}\n")

    def no_filter(*arguments: Any, **options: Any) -> None:
        """Every warning is printed."""

    return {"warn": warn, "simplefilter": no_filter, "filterwarnings": no_filter, "catch_warnings": _NoFilters}


def _traceback(console: Console) -> dict[str, Any]:
    def format_exc(limit: Any = None, chain: bool = True) -> str:
        return troubles.traceback_text(sys.exception())

    def print_exc(*arguments: Any, **options: Any) -> None:
        console.write(troubles.traceback_text(sys.exception()))

    def format_exception_only(error: Any, *rest: Any) -> list[str]:
        found = rest[0] if rest else error
        return [troubles.last_line(found)]

    def format_exception(error: Any, *rest: Any, **options: Any) -> list[str]:
        found = rest[0] if rest else error
        return troubles.traceback_text(found).splitlines(keepends=True)

    return {
        "format_exc": format_exc,
        "print_exc": print_exc,
        "format_exception_only": format_exception_only,
        "format_exception": format_exception,
    }


def _pprint(console: Console) -> dict[str, Any]:
    def show(value: Any, stream: Any = None, *arguments: Any, **options: Any) -> None:
        (stream or console).write(pprint.pformat(value, *arguments, **options) + "\n")

    return {"pprint": show, "pp": functools.partial(show, sort_dicts=False), "pformat": pprint.pformat}


# --- the table -------------------------------------------------------------------------------------------------

_SDK = {name: getattr(client_sdk, name) for name in MENU["winnow"]}
_ENUMS = {name: _enum(getattr(enum, name)) for name in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag")}

# What is not the module's own object of that name.
_OWN: Mapping[str, Mapping[str, Any]] = {
    "winnow": _SDK,
    "client_sdk": _SDK,
    "abc": {"ABCMeta": guards.metaclass_name(abc.ABCMeta)},
    "asyncio": {name: getattr(tasks, name, None) for name in MENU["asyncio"]} | {"TimeoutError": TimeoutError},
    "collections": {"namedtuple": _namedtuple},
    "dataclasses": {"dataclass": _dataclass},
    "enum": _ENUMS,
    "functools": {"wraps": _wraps},
    "typing": {"Match": re.Match, "Pattern": re.Pattern},
}
_SPEAKING: Mapping[str, Callable[[Console], Mapping[str, Any]]] = {
    "logging": _logging,
    "warnings": _warnings,
    "traceback": _traceback,
    "pprint": _pprint,
}

_FACADES: dict[str, Facade] = {}


def build() -> None:
    """In the fork server: import everything on the menu and make the façades."""
    guards.refuse_bases(dataclasses.Field, Facade, tasks.Future)
    for module in sorted(MENU, key=lambda name: -name.count(".")):
        if module not in _SPEAKING:
            _FACADES[module] = Facade(module, _members(module))
    random.seed()


def _members(module: str) -> dict[str, Any]:
    own = _OWN.get(module, {})
    inner = {name.rpartition(".")[2]: _FACADES[name] for name in MENU if name.rpartition(".")[0] == module}
    members = {**own, **inner}
    if len(members) < len(MENU[module] | inner.keys()):
        real = importlib.import_module(module)
        for name in MENU[module] - members.keys():
            if hasattr(real, name):  # some are of later Pythons
                members[name] = getattr(real, name)
    return members


_NOTHING = Facade("nothing", {})


class Importer:
    """The import statement of one script."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._speaking: dict[str, Facade] = {}

    def _facade(self, name: str) -> Facade | None:
        if name not in _SPEAKING:
            return _FACADES.get(name)
        if name not in self._speaking:
            self._speaking[name] = Facade(name, _SPEAKING[name](self._console))
        return self._speaking[name]

    def __call__(
        self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Facade:
        """What ``import name`` binds, or ``from name import ...`` reads from."""
        facade = self._facade(name)
        if type(fromlist) is list and name in sys.modules:
            # The interpreter's own C code, which takes the module from sys.modules whatever it gets here. An
            # import statement passes a tuple or None, and nothing else can call this.
            return _NOTHING
        if facade is None or level:
            raise troubles.unknown_module(name)
        offered = object.__getattribute__(facade, "__dict__")
        for member in fromlist or ():
            if member not in offered:
                raise troubles.unknown_import(name, member, offered)
        return facade if fromlist else self._facade(name.partition(".")[0]) or facade


def globals_of_scripts() -> dict[str, Any]:
    """What is there without an import: the SDK."""
    return dict(_SDK)
