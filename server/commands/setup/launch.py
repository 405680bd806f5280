"""The command that clients start, and the entry that says so in each client's words."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from winnow.server.commands.setup.clients import Client, Shape
from winnow.server.commands.terminal.console_script import find_console_script
from winnow.server.errors import WinnowError
from winnow.server.settings.addresses import HIDDEN, Address
from winnow.server.settings.permissions import SETTERS, Setter
from winnow.server.settings.settings import Settings
from winnow.server.text.printable import one_line

NAME, _SERVE = "winnow", "serve"
ALLOW_WEAKER = "--allow-weaker-sandbox"
# Variables that say where winnow's own files are. A client does not pass on those of a shell.
_PLACES = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "WINNOW_CONFIG", "WINNOW_MODELS")
# Further settings of the environment are not written: some are secrets, and a settings file reaches every client.
_OURS = "WINNOW_"
_GIVEN_AS_OPTIONS = ("WINNOW_STORE", "WINNOW_PROJECT")
# Variables of an entry that a trial start passes on. Others could make an interpreter load foreign code.
_TRIED = (_OURS, "XDG_")
_SWITCH = TypeAdapter(bool)  # as settings read the text of a variable
_ADDRESSES = ("url", "serverUrl", "httpUrl", "uri")
# A word of a command that starts winnow: the script, the package with a version, or an image.
_OWN_WORD = re.compile(r"(?:.*[/\\])?winnow(?:-mcp)?(?:\.exe|[\[=<>~!@:].*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Launch:
    """A command with its arguments, and the variables that it needs beyond those of a client."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def serves(self) -> bool:
        """Whether the command is ``winnow serve``, and no other one."""
        return self.args[:1] == (_SERVE,)

    @property
    def tried_env(self) -> dict[str, str]:
        """The variables with which a trial starts it."""
        return {name: value for name, value in self.env.items() if name.startswith(_TRIED)}

    @property
    def untried(self) -> list[str]:
        """The variables that a trial leaves out, because they are none of winnow's."""
        return sorted(self.env.keys() - self.tried_env.keys())

    def to_json(self) -> dict[str, Any]:
        """The launch as JSON data."""
        return {"command": self.command, "args": list(self.args), "env": dict(self.env)}


def launch_of(settings: Settings, accepted: str | None = None) -> Launch:
    """The launch of this installation for a store and a project; all paths are absolute.

    ``accepted``: the tier or the walls that the user names for the server's ``--allow-weaker-sandbox``.
    """
    options = ["--store", str(settings.store.absolute()), "--project", settings.project]
    if accepted is not None:
        options += [ALLOW_WEAKER, accepted]
    env = {name: str(Path(os.environ[name]).expanduser().absolute()) for name in _PLACES if os.environ.get(name)}
    return Launch(str(find_console_script()), (_SERVE, *options), env)


def unseen_variables() -> list[str]:
    """The variables of this shell with settings that no client will pass on, and that are not written either."""
    written = (*_PLACES, *_GIVEN_AS_OPTIONS)
    given = (name for name, value in os.environ.items() if value)  # an empty one sets nothing
    return sorted(name for name in given if name.startswith(_OURS) and name not in written)


def option_for(variable: str) -> str:
    """The option of ``serve`` for a variable whose setting no file may have; "" where the user's file may."""
    name = variable.removeprefix(_OURS).lower()
    if SETTERS.get(name) is not Setter.OPERATOR:
        return ""
    flag, value = name.replace("_", "-"), os.environ[variable]
    if Settings.model_fields[name].annotation is bool:
        return f"--{flag}" if _SWITCH.validate_python(value) else f"--no-{flag}"
    return f"--{flag} {shlex.quote(one_line(value))}"


def is_passing(launch: Launch) -> bool:
    """Whether the command lies in a cache that is emptied from time to time, as that of ``uvx`` does."""
    parts = Path(launch.command).parts
    return any(part.startswith("archive-v") for part in parts) or (".cache" in parts and "pipx" in parts)


def entry_of(client: Client, launch: Launch, before: Any) -> dict[str, Any]:
    """The entry of a client; what the user added to an earlier one is kept.

    Raises ``WinnowError("UNSUPPORTED")`` where the name stands for a server at an address, or another program.
    """
    shape = client.shape
    if before is not None:
        _require_own(client, before)
    kept = dict(before or {})
    first = {} if before else shape.at_first
    env = {**(kept.get(shape.env) or {}), **launch.env}
    args = [*launch.args, *_options_besides(launch.args, kept.get(shape.args) or [])]
    return {
        **first,
        **kept,
        **shape.fixed,
        shape.command: launch.command,
        shape.args: args,
        **({shape.env: env} if env or shape.env in kept else {}),
    }


def shown_entry(client: Client, launch: Launch, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of an entry that setup writes, for display: values of further variables are hidden."""
    shape = client.shape
    written = {*shape.at_first, *shape.fixed, shape.command, shape.args}
    env = {
        name: value if launch.env.get(name) == value else HIDDEN
        for name, value in entry.get(shape.env, {}).items()
    }
    return {
        **{key: value for key, value in entry.items() if key in written},
        **({shape.env: env} if env else {}),
    }


def _options_besides(own: Sequence[str], before: Sequence[Any]) -> list[str]:
    """The options of ``serve`` in an earlier entry that the new one does not set itself."""
    words = [str(word) for word in before]
    rest = words[words.index(_SERVE) + 1 :] if _SERVE in words else []
    kept, skips = [], False
    for word in rest:
        name, _, value = word.partition("=")
        if skips:
            skips = False
        elif name.startswith("--") and name in own:
            skips = not value
        else:
            kept.append(word)
    return kept


def _require_own(client: Client, entry: Any) -> None:
    if not isinstance(entry, dict):
        raise WinnowError("UNSUPPORTED", f"the entry {NAME} there is no object; {_take_it_out(client)}")
    if address := next((entry[key] for key in _ADDRESSES if entry.get(key)), None):
        raise WinnowError(
            "UNSUPPORTED",
            f"the entry {NAME} there is a server at {Address(str(address)).server}; {_take_it_out(client)}",
        )
    words = [str(entry.get(client.shape.command, "")), *map(str, entry.get(client.shape.args) or [])]
    if not any(map(_OWN_WORD.fullmatch, words)):
        raise WinnowError("UNSUPPORTED", f"the entry {NAME} there starts {words[0]!r}; {_take_it_out(client)}")


def _take_it_out(client: Client) -> str:
    return f"take it out first: winnow setup {client.name} --remove"


def launch_in(entry: Any, shape: Shape) -> Launch | None:
    """The launch that an entry says; None where it says none."""
    if not isinstance(entry, dict) or not isinstance(entry.get(shape.command), str):
        return None
    args, env = entry.get(shape.args) or [], entry.get(shape.env) or {}
    if not isinstance(args, list) or not isinstance(env, dict):
        return None
    return Launch(entry[shape.command], tuple(map(str, args)), {str(key): str(each) for key, each in env.items()})


def argument_of(args: Sequence[str], option: str) -> str:
    """The value of an option among arguments; "" where it is not given."""
    return next((value for name, value in pairwise(args) if name == option), "")
