"""Command-line flags made from the settings: one for each setting, with its name, under its topic.

``@with_settings`` gives a command every setting as a flag, and ``GroupedCommand`` prints the help by topic. The
table of topics is in ``server.settings.permissions``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from pydantic_core import PydanticUndefined

from winnow.server.commands.terminal.output import CheckedCommand
from winnow.server.settings.addresses import Address
from winnow.server.settings.permissions import TOPICS
from winnow.server.settings.settings import Settings

# Settings with the values "on" and "off" that are switches on the command line.
SWITCHES = frozenset({"execute_code", "daemon", "watch"})
_METAVARS_BY_NAME: Mapping[str, str] = MappingProxyType({"embedder": "MODEL", "allow_weaker_sandbox": "WALL"})
# The placeholder for the value in help; by default the last word of the setting's name.
_METAVARS_BY_TYPE: Mapping[type, str] = MappingProxyType(
    {Path: "PATH", int: "N", float: "X", tuple: "A,B", Address: "URL"}
)
# Settings with a shorter flag beside the usual one.
SHORTER: Mapping[str, str] = MappingProxyType({"legacy_tools": "--legacy"})
_SECRET = "; others on this machine can read flags: the variable {} is safer"


def with_settings(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command one flag for each setting; it receives those that were given as the mapping ``flags``."""
    own = inspect.signature(function, eval_str=True).parameters
    settings = [_parameter(name) for names in TOPICS.values() for name in names]

    @wraps(function)
    def command(**arguments: Any) -> None:
        flags = {name: _setting_value(name, arguments.pop(name)) for names in TOPICS.values() for name in names}
        function(**arguments, flags=flags)

    parameters = [parameter for parameter in own.values() if parameter.name != "flags"]
    command.__signature__ = inspect.Signature([*parameters, *settings])  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in (*parameters, *settings)}
    return command


class GroupedCommand(CheckedCommand):
    """A command whose help lists its options by topic."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each topic, the command's own options first."""
        topics: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                topics.setdefault(getattr(parameter, "rich_help_panel", None) or "Options", []).append(record)
        for topic, records in topics.items():
            with formatter.section(topic):
                formatter.write_dl(records)


def _parameter(name: str) -> inspect.Parameter:
    kind = list[str] if _is_list(name) else bool if _is_switch(name) else str
    option = typer.Option(
        *_spellings(name),
        metavar=None if _is_switch(name) else values_of(name),
        help=_help_text(name),
        show_default=False,
        rich_help_panel=next(topic for topic, names in TOPICS.items() if name in names),
    )
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )


def _spellings(name: str) -> Iterator[str]:
    flag = name.replace("_", "-")
    yield f"--{flag}/--no-{flag}" if _is_switch(name) else f"--{flag}"
    if name in SHORTER:
        yield SHORTER[name]


def _setting_value(name: str, given: Any) -> Any:
    """The flag's value in the form of the setting; None if the flag was not given.

    A list may be given in several flags, which add up.
    """
    if given is None or given == []:
        return None
    if name in SWITCHES:
        return "on" if given else "off"
    return ",".join(given) if _is_list(name) else given


def _is_list(name: str) -> bool:
    return get_origin(_without_none(Settings.model_fields[name].annotation)) is tuple


def _is_switch(name: str) -> bool:
    return name in SWITCHES or Settings.model_fields[name].annotation is bool


def _help_text(name: str) -> str:
    field = Settings.model_fields[name]
    beside = [bounds_of(name), f"default: {default}" if (default := default_of(name)) else ""]
    words = " ".join([str(field.description), *(f"({each})" for each in beside if each)])
    return words + (_SECRET.format(f"WINNOW_{name.upper()}") if "SecretStr" in str(field.annotation) else "")


def bounds_of(name: str) -> str:
    """The least and the greatest value of a number, such as "1 to 60"; "" for anything else."""
    bounds = {
        bound: getattr(constraint, bound)
        for constraint in Settings.model_fields[name].metadata
        for bound in ("ge", "le")
        if hasattr(constraint, bound)
    }
    return f"{bounds['ge']:,} to {bounds['le']:,}" if len(bounds) == len(("ge", "le")) else ""


def default_of(name: str) -> str:
    """The default in the form of the command line; "" if there is none or it depends on the machine."""
    default = Settings.model_fields[name].get_default(call_default_factory=False)
    if isinstance(default, bool):
        return "on" if default else "off"
    if isinstance(default, tuple):
        return ",".join(map(str, default))
    return "" if default in (None, (), "", PydanticUndefined) or name == "workers" else str(default)


def values_of(name: str) -> str:
    """The placeholder for a setting's value: its choices, or a word for its type."""
    if name in _METAVARS_BY_NAME:
        return _METAVARS_BY_NAME[name]
    kind = _without_none(Settings.model_fields[name].annotation)
    if get_origin(kind) is tuple and get_origin(get_args(kind)[0]) is Literal:
        kind = get_args(kind)[0]
    if get_origin(kind) is Literal:
        return "|".join(str(word) for word in get_args(kind) if word)
    return _METAVARS_BY_TYPE.get(get_origin(kind) or kind, name.rpartition("_")[2].upper())


def _without_none(kind: Any) -> Any:
    """The type without None; several literals become one."""
    if get_origin(kind) is Annotated:
        return _without_none(get_args(kind)[0])
    if get_origin(kind) not in (Union, UnionType):
        return kind
    options = [_without_none(option) for option in get_args(kind) if option is not type(None)]
    words = [word for option in options if get_origin(option) is Literal for word in get_args(option)]
    return Literal[tuple(words)] if words else options[0]
