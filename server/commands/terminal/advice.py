"""Commands in messages, made complete: with the store and the project of the command that prints them.

Messages are written in many places that know of no command line, so this looks for the commands in their text. A
command gets an option where its user gave it to this command, it takes it, and does not have it yet.
"""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Mapping
from functools import cache
from typing import Any

from typer.main import get_command

# What stands before a command that is meant to be run, and not before the name of one in a sentence.
_COMMAND = re.compile(r"(?:(?<=[:;→] )|(?<=[(`])|(?<=run )|(?<=see )|(?<=then )|(?<= or )|(?<=and run ))winnow ")
# Options that a command takes beside another one alone.
_WITH_ANOTHER: Mapping[tuple[str, ...], frozenset[str]] = {("doctor",): frozenset({"--project"})}
_WORD = re.compile(r"[a-z]+\b(?![=/.'])")
_END = re.compile(r"[;)`]|, (?:then|or|and)\b|$")


def complete_commands(text: str, given: Mapping[str, str]) -> str:
    """The text with these options, such as ``{"--store": "/srv/notes"}``, in each command that takes them.

    >>> complete_commands("there are none; add one: winnow key add NAME", {"--store": "/srv/my notes"})
    "there are none; add one: winnow key add --store '/srv/my notes' NAME"
    """
    parts, done = [], 0
    for found in _COMMAND.finditer(text):
        words, end = _read_command(text, found.end())
        rest = text[end : _END.search(text, end).start()]  # type: ignore[union-attr]
        taken = options_of(words)
        wanted = [name for name in given if name in taken and name not in rest]
        added = [f" {name} {shlex.quote(given[name])}" for name in wanted]
        parts += [text[done:end], *added]
        done = end
    return "".join((*parts, text[done:]))


def _read_command(text: str, start: int) -> tuple[tuple[str, ...], int]:
    """The words that name a command, such as "key add", and where they end."""
    words: tuple[str, ...] = ()
    end = start
    while (match := _WORD.match(text, start)) and is_command((*words, match[0])):
        words, end = (*words, match[0]), match.end()
        start = end + 1
    return words, end


def is_command(words: tuple[str, ...]) -> bool:
    """Whether there is such a command, or a group of commands."""
    return _find(words) is not None


def options_of(words: tuple[str, ...]) -> frozenset[str]:
    """The options of a command; none for other words, and for a group of commands."""
    line = _find(words)
    if line is None or getattr(line, "commands", None):
        return frozenset()
    return frozenset(name for option in line.params for name in option.opts) - _WITH_ANOTHER.get(
        words, frozenset()
    )


@cache
def _find(words: tuple[str, ...]) -> Any:
    """The command line of these words; None where there is none."""
    from winnow.server.commands.entry.cli import COMMANDS

    if not words or words[0] not in COMMANDS:
        return None
    line: Any = get_command(importlib.import_module(f"winnow.server.commands.{COMMANDS[words[0]][0]}").app)
    for word in words[1:]:
        line = getattr(line, "commands", {}).get(word)
        if line is None:
            return None
    return line
