"""The modules a script imports: frozen façades with the names of menu.py, never the modules themselves.

A module object is a way out: ``json.decoder``, ``enum.sys``, ``statistics.random`` lead to ``sys`` and from there
to everything. A façade holds the names on the menu and nothing else. Where a function of the standard library
takes attribute names or source text from its caller, or compiles code made of names, a version of our own stands
in its place.
"""

from __future__ import annotations

import abc
import enum
import importlib
import itertools
import random
import re
import struct
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import client_sdk
from sandbox.diagnosis import import_errors
from sandbox.language import classes, script_builtins, stand_ins, trust
from sandbox.language.allow_list import ALLOWED
from sandbox.language.freezing import freeze
from sandbox.language.refusals import Refused

from . import asyncio_loop, asyncio_module, copy_module, generated_classes, logging_module, output, time_zones
from .output import OutputStreams
from .single_dispatch import SingleDispatch

_HERE = f"{__package__}."


class Facade:
    """Stands for a module. Its members belong to its class, which takes no new ones, and it has no dict: there is
    nothing to write into, for any code. No ``__name__``: ``from x import y`` would look ``x.y`` up in sys.modules.
    """

    __slots__ = ()
    _title = ""
    _offered: Mapping[str, Any] = types.MappingProxyType({})

    def __getattr__(self, name: str) -> Any:
        raise import_errors.unknown_member(self._title, name, self._offered)

    def __setattr__(self, name: str, value: Any) -> None:
        raise Refused(f"the module {self._title!r} may not be changed")

    __delattr__ = __setattr__  # type: ignore[assignment]

    def __dir__(self) -> list[str]:
        return sorted(self._offered)

    def __repr__(self) -> str:
        return f"<module {self._title!r}>"


def make_facade(title: str, members: Mapping[str, Any]) -> Facade:
    """The façade of one module."""
    for name, member in members.items():
        if type(member) is types.FunctionType and member.__module__.startswith(_HERE):
            member.__name__ = member.__qualname__ = name  # what CPython's messages call it
    own = {"__slots__": (), "__module__": "builtins", "_title": title, "_offered": dict(members)}
    cls: type[Facade] = type("module", (Facade,), {**{name: _as_it_is(members[name]) for name in members}, **own})
    trust.TRUSTED.add(cls)
    freeze(cls)
    return cls()


def offered_by(module: Facade) -> Mapping[str, Any]:
    """What a façade holds."""
    return module._offered


def _as_it_is(member: Any) -> Any:
    """Not as a method of the façade."""
    return staticmethod(member) if hasattr(type(member), "__get__") else member


# --- versions of our own ---------------------------------------------------------------------------------------


def _wraps(wrapped: Any, assigned: Any = None, updated: Any = None) -> Callable[[Any], Any]:
    """functools.wraps, without attribute names to choose from."""

    def decorate(wrapper: Any) -> Any:
        if not trust.is_script_function(wrapper):
            return wrapper
        for name in ("__name__", "__qualname__", "__doc__"):
            value = getattr(wrapped, name, None)
            if type(value) is str:
                setattr(wrapper, name, value)
        if trust.is_script_function(wrapped):
            wrapper.__dict__.update(wrapped.__dict__)
        wrapper.__wrapped__ = wrapped
        return wrapper

    return decorate


def _origin(alias: Any) -> Any:
    """typing.get_origin: what an alias stands for may be a class that scripts have no name for, as ``type``."""
    found = typing.get_origin(alias)
    return stand_ins.public_class(found) if isinstance(found, type) else found


def _forget_types() -> None:
    """Aliases are cached by what they were made of: looked up there, an object of a script's is asked whether it
    equals what the library put in before.
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

# What is not the module's own object of that name.
_OWN: Mapping[str, Mapping[str, Any]] = {
    "winnow": _SDK,
    "client_sdk": _SDK,
    "abc": {"ABCMeta": classes.make_metaclass_name(abc.ABCMeta)},
    "asyncio": asyncio_module.OWN,
    "collections": generated_classes.OWN["collections"],
    "copy": {"copy": copy_module.copy, "deepcopy": copy_module.deepcopy},
    "dataclasses": generated_classes.OWN["dataclasses"],
    "enum": _ENUMS,
    "functools": {"wraps": _wraps, "singledispatch": SingleDispatch},
    "typing": {"Match": re.Match, "Pattern": re.Pattern, "get_origin": _origin, **generated_classes.OWN["typing"]},
    "zoneinfo": time_zones.OWN,
}
# What is made anew for each script, because it knows where the script's words go.
_SPEAKING: Mapping[str, Callable[[OutputStreams], Mapping[str, Any]]] = {
    "contextlib": output.contextlib_module,
    "logging": logging_module.logging_module,
    "pprint": output.pprint_module,
    "sys": output.sys_module,
    "traceback": output.traceback_module,
    "warnings": output.warnings_module,
}

_FACADES: dict[str, Facade] = {}


def build() -> None:
    """In the fork server: import everything on the menu and make the façades."""
    time_zones.load()
    classes.refuse_bases(asyncio_loop.Future, asyncio_loop.EventLoop, output.Stream, SingleDispatch, struct.Struct)
    _forget_types()
    silence = OutputStreams(None)
    for module in sorted(ALLOWED, key=lambda name: -name.count(".")):
        spoken = _SPEAKING[module](silence) if module in _SPEAKING else {}
        _FACADES[module] = make_facade(module, _members(module, {**_OWN.get(module, {}), **spoken}))
    stand_ins.offer_classes(_classes_by_name())
    random.seed()


def _members(module: str, own: Mapping[str, Any]) -> dict[str, Any]:
    inner = {name.rpartition(".")[2]: _FACADES[name] for name in ALLOWED if name.rpartition(".")[0] == module}
    members = {**own, **inner}
    if len(members) < len(ALLOWED[module] | inner.keys()):
        real = importlib.import_module(module)
        for name in ALLOWED[module] - members.keys():
            if hasattr(real, name):  # some are of later Pythons
                members[name] = getattr(real, name)
    return members


def _classes_by_name() -> Iterable[type]:
    """The classes that a script can name anyway."""
    offered = itertools.chain(*(offered_by(module).values() for module in _FACADES.values()))
    for value in (*offered, *script_builtins.get_builtins().values()):
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

    def __init__(self, stage: OutputStreams, skills: SkillProvider | None = None) -> None:
        self._stage = stage
        self._skills = skills
        self._speaking: dict[str, Facade] = {}

    def _facade(self, name: str) -> Facade | None:
        if name not in _SPEAKING:
            return _FACADES.get(name)
        if name not in self._speaking:
            silent = offered_by(_FACADES[name])
            self._speaking[name] = make_facade(name, {**silent, **_SPEAKING[name](self._stage)})
        return self._speaking[name]

    def __call__(
        self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Facade:
        """What ``import name`` binds, or ``from name import ...`` reads from."""
        skills = self._skills if name == "skills" else None
        facade = self._facade(name) if skills is None else make_facade(name, skills.functions(fromlist or ()))
        if type(fromlist) is list and name in sys.modules:
            # The interpreter's own C code, which takes the module from sys.modules whatever it gets here. An
            # import statement passes a tuple or None, and nothing else can call this.
            return _NOTHING
        if facade is None or level:
            raise import_errors.unknown_module(name)
        offered = offered_by(facade)
        for member in fromlist or ():
            if member not in offered:
                raise import_errors.unknown_import(name, member, offered)
        return facade if fromlist else self._facade(name.partition(".")[0]) or facade


class SkillProvider(Protocol):
    """Where functions of skills come from."""

    def functions(self, wanted: tuple[str, ...]) -> Mapping[str, Any]:
        """These, or all."""


def globals_of_scripts() -> dict[str, Any]:
    """What is there without an import: the SDK."""
    return dict(_SDK)
