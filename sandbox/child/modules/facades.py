"""The modules that a script imports: frozen façades with the names of allow_list.py, never the real modules.

A module object is an escape: ``json.decoder``, ``enum.sys`` and ``statistics.random`` lead to ``sys``, and from
there to everything. A façade holds only the names on the allow-list. A function of the standard library that takes
attribute names or source text from its caller, or that compiles code made of names, is replaced by a version of
our own.
"""

from __future__ import annotations

import abc
import enum
import importlib
import random
import re
import struct
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from winnow import client_sdk
from winnow.sandbox.child.diagnosis import failed_imports
from winnow.sandbox.child.guards import classes, script_builtins, stand_ins, trust
from winnow.sandbox.child.guards.freezing import freeze
from winnow.sandbox.child.language.allow_list import ALLOWED
from winnow.sandbox.child.language.refusals import Refused

from . import (
    asyncio_loop,
    asyncio_module,
    class_factories,
    copy_module,
    functools_module,
    library_changes,
    logging_module,
    printing_modules,
    time_zones,
)
from .ordered_dict import OrderedDict
from .printing_modules import OutputStreams

_HERE = f"{__package__}."


class Facade:
    """A stand-in for a module. Its members belong to its class, which is immutable, and it has no dict, so that no
    code can write to it. It has no ``__name__``, or ``from x import y`` would look ``x.y`` up in sys.modules.
    """

    __slots__ = ()
    _title = ""
    _offered: Mapping[str, Any] = types.MappingProxyType({})

    def __getattr__(self, name: str) -> Any:
        raise failed_imports.unknown_member(self._title, name, self._offered)

    def __setattr__(self, name: str, value: Any) -> None:
        raise Refused(f"the module {self._title!r} may not be changed")

    __delattr__ = __setattr__  # type: ignore[assignment]

    def __dir__(self) -> list[str]:
        return sorted(self._offered)

    def __repr__(self) -> str:
        return f"<module {self._title!r}>"


def make_facade(title: str, members: Mapping[str, Any]) -> Facade:
    """Make the façade of one module."""
    for name, member in members.items():
        if type(member) is types.FunctionType and member.__module__.startswith(_HERE):
            member.__name__ = member.__qualname__ = name  # the name in CPython's messages
    own = {"__slots__": (), "__module__": "builtins", "_title": title, "_offered": dict(members)}
    cls: type[Facade] = type(
        "module", (Facade,), {**{name: _prevent_binding(members[name]) for name in members}, **own}
    )
    trust.TRUSTED.add(cls)
    freeze(cls)
    return cls()


def members_of(module: Facade) -> Mapping[str, Any]:
    """The members of a façade."""
    return module._offered


def _prevent_binding(member: Any) -> Any:
    """Wrap a member so that it does not become a method of the façade."""
    return staticmethod(member) if hasattr(type(member), "__get__") else member


# --- versions of our own ---------------------------------------------------------------------------------------


def _origin(alias: Any) -> Any:
    """typing.get_origin: the class may be one that scripts cannot name, such as ``type``."""
    found = typing.get_origin(alias)
    return stand_ins.public_class(found) if isinstance(found, type) else found


def _ordered_alias() -> Any:
    """typing.OrderedDict, of our own class."""
    return vars(typing)["_alias"](OrderedDict, 2)


def _clear_typing_caches() -> None:
    """Empty typing's caches of aliases.

    A lookup in them would pass arguments of the library to an ``__eq__`` of the script.
    """
    for clear in vars(typing)["_cleanups"]:
        clear()


def _enum(real: type, **more: Any) -> Any:
    """An enumeration base under our metaclass."""
    namespace = classes.EnumType.__prepare__(real.__name__, (real,))
    made = classes.EnumType(real.__name__, (real,), namespace)
    made.__module__, made.__doc__ = "enum", real.__doc__
    return made


# --- the table -------------------------------------------------------------------------------------------------

_SDK = {name: getattr(client_sdk, name) for name in ALLOWED["winnow"]}
_ENUMS = {name: _enum(getattr(enum, name)) for name in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag")}


def _offered_here(module: str, own: Mapping[str, Any]) -> Mapping[str, Any]:
    """The members that the module has in this version of Python."""
    return {name: member for name, member in own.items() if name in ALLOWED[module]}


# Members that differ from the real module's.
_OWN: Mapping[str, Mapping[str, Any]] = {
    "winnow": _SDK,
    "client_sdk": _SDK,
    "abc": {"ABCMeta": classes.make_metaclass_name(abc.ABCMeta)},
    "asyncio": asyncio_module.OWN,
    "collections": class_factories.OWN["collections"],
    "csv": {"reader": library_changes.read_rows},
    "copy": {"copy": copy_module.copy, "deepcopy": copy_module.deepcopy},
    "dataclasses": class_factories.OWN["dataclasses"],
    "enum": _ENUMS,
    "functools": functools_module.OWN,
    "itertools": _offered_here("itertools", functools_module.ITERATORS),
    "typing": {
        "Match": re.Match,
        "Pattern": re.Pattern,
        "get_origin": _origin,
        "OrderedDict": _ordered_alias(),
        **class_factories.OWN["typing"],
    },
    "zoneinfo": time_zones.OWN,
}
# Modules that are built for each script, because they write to its output.
_PER_SCRIPT: Mapping[str, Callable[[OutputStreams], Mapping[str, Any]]] = {
    "contextlib": printing_modules.contextlib_module,
    "logging": logging_module.logging_module,
    "pprint": printing_modules.pprint_module,
    "sys": printing_modules.sys_module,
    "traceback": printing_modules.traceback_module,
    "warnings": printing_modules.warnings_module,
}

_FACADES: dict[str, Facade] = {}


def build() -> None:
    """Import every allowed module and make the façades. Runs in the fork server."""
    time_zones.load()
    classes.refuse_bases(
        asyncio_loop.Future,
        asyncio_loop.EventLoop,
        printing_modules.Stream,
        functools_module.SingleDispatch,
        functools_module.TypedCache,
        struct.Struct,
        time_zones.ZoneInfo,
    )
    classes.accept_functions(functools_module.SingleDispatch, functools_module.TypedCache)
    _clear_typing_caches()
    silent = OutputStreams(None)
    for module in sorted(ALLOWED, key=lambda name: -name.count(".")):
        printing = _PER_SCRIPT[module](silent) if module in _PER_SCRIPT else {}
        _FACADES[module] = make_facade(module, _members(module, {**_OWN.get(module, {}), **printing}))
    stand_ins.offer_classes(_offered_classes())
    random.seed()


def _members(module: str, own: Mapping[str, Any]) -> dict[str, Any]:
    inner = {name.rpartition(".")[2]: _FACADES[name] for name in ALLOWED if name.rpartition(".")[0] == module}
    members = {**own, **inner}
    if len(members) < len(ALLOWED[module] | inner.keys()):
        real = importlib.import_module(module)
        for name in ALLOWED[module] - members.keys():
            if hasattr(real, name):  # some exist in later Pythons only
                members[name] = _copy_of_data(getattr(real, name))
    return members


def _copy_of_data(member: Any) -> Any:
    """A copy of a list, because scripts can write to it; any other member as it is."""
    return member.copy() if type(member) in (list, dict, set) else member


def _named() -> Iterable[Any]:
    """The objects that scripts have by name. Builtins that no source can name, the guards, are left out."""
    for module in _FACADES.values():
        yield from members_of(module).values()
    for name, value in script_builtins.get_builtins().items():
        if not name.startswith("@"):
            yield value


def _offered_classes() -> Iterable[type]:
    """The classes that a script can name."""
    for value in _named():
        if isinstance(value, type) and value is not types.ModuleType:
            yield value
    yield from (type(None), type(...), type(NotImplemented))
    yield from _with_subclasses(BaseException)


def _with_subclasses(cls: type) -> Iterable[type]:
    yield cls
    below: list[type] = type.__subclasses__(cls)
    for inner in below:
        yield from _with_subclasses(inner)


_NOTHING = make_facade("nothing", {})


class Importer:
    """The import statement of one script."""

    def __init__(self, streams: OutputStreams, skills: SkillProvider | None = None) -> None:
        self._streams = streams
        self._skills = skills
        self._per_script: dict[str, Facade] = {}

    def _facade(self, name: str) -> Facade | None:
        if name not in _PER_SCRIPT:
            return _FACADES.get(name)
        if name not in self._per_script:
            real = members_of(_FACADES[name])
            self._per_script[name] = make_facade(name, {**real, **_PER_SCRIPT[name](self._streams)})
        return self._per_script[name]

    def __call__(
        self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Facade:
        """The façade that ``import name`` binds, or that ``from name import ...`` reads from."""
        skills = self._skills if name == "skills" else None
        facade = self._facade(name) if skills is None else make_facade(name, skills.functions(fromlist or ()))
        if type(fromlist) is list and name in sys.modules:
            # This is the interpreter's own C code, which takes the module from sys.modules and ignores the result.
            # An import statement passes a tuple or None, and nothing else can call this.
            return _NOTHING
        if facade is None or level:
            raise failed_imports.unknown_module(name)
        offered = members_of(facade)
        for member in fromlist or ():
            if member not in offered:
                raise failed_imports.unknown_import(name, member, offered)
        return facade if fromlist else self._facade(name.partition(".")[0]) or facade


class SkillProvider(Protocol):
    """The source of skill functions."""

    def functions(self, wanted: tuple[str, ...]) -> Mapping[str, Any]:
        """The functions of these names; all of them if none is named."""


def offered_functions() -> Iterable[Any]:
    """The objects other than classes that scripts have by name."""
    return (value for value in _named() if not isinstance(value, type))


def script_sdk() -> dict[str, Any]:
    """The global names that scripts have without an import: the SDK."""
    return dict(_SDK)
