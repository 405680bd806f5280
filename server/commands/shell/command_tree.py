"""The tree of commands as records: their words, help, options and arguments.

Completion scripts and the manual page are written from it. It is read from the command lines themselves, so every
module of a command is imported.
"""

from __future__ import annotations

import importlib
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer
from typer.main import get_command

from winnow.server.commands.entry.cli import COMMANDS

PROGRAM = "winnow"
# Placeholders whose values are files or folders.
_PATHS = frozenset({"DIR", "FILE", "FILES", "FOLDER", "PATH", "PATHS", "DIRECTORY", "FILENAME"})
_WORDS = re.compile(r"[a-z0-9_-]+(\|[a-z0-9_-]+)+")
_MARKS = "<>[]{}."  # around a placeholder, by what it is and whether it is needed
_OPTIONS = "[OPTIONS]"  # among the pieces of a usage
_MARKS_OF_CLICK = re.compile(r"^\x08\n", re.MULTILINE)  # before paragraphs that keep their lines


@dataclass(frozen=True, slots=True)
class CommandOption:
    """An option: its spellings, the placeholder of its value ("" for a switch), and the words it may have."""

    spellings: tuple[str, ...]
    placeholder: str
    choices: tuple[str, ...]
    help_line: str

    @property
    def is_path(self) -> bool:
        """Whether the value is a file or a folder."""
        return self.placeholder in _PATHS


@dataclass(frozen=True, slots=True)
class CommandNode:
    """A command or a group of commands; ``words`` begin with the program's name."""

    words: tuple[str, ...]
    help_text: str
    examples: tuple[str, ...]
    arguments: tuple[str, ...]
    options: tuple[CommandOption, ...]
    below: tuple[tuple[str, str], ...]  # the commands of a group, each with one line of help

    @property
    def path(self) -> str:
        """The words as they are typed."""
        return " ".join(self.words)


def read_tree() -> tuple[CommandNode, ...]:
    """All commands, each group before its own, in the order of ``winnow --help``."""
    return (_root(), *(node for name in COMMANDS for node in _read(_line_of(name), (PROGRAM, name))))


def _root() -> CommandNode:
    options = (CommandOption(("--help",), "", (), "show the commands"),)
    version = CommandOption(("--version",), "", (), "show the version")
    below = tuple((name, help_line) for name, (_, help_line) in COMMANDS.items())
    return CommandNode((PROGRAM,), "", (), ("COMMAND",), (*options, version), below)


def _line_of(name: str) -> Any:
    return get_command(importlib.import_module(f"winnow.server.commands.{COMMANDS[name][0]}").app)


def _read(line: Any, words: tuple[str, ...]) -> Iterator[CommandNode]:
    commands = getattr(line, "commands", {})
    context = typer.Context(line, info_name=words[-1])
    records = ((each, each.get_help_record(context)) for each in line.get_params(context))
    yield CommandNode(
        words,
        _MARKS_OF_CLICK.sub("", line.help or "").strip(),
        tuple(_examples(line.epilog or "")),
        tuple(piece for piece in line.collect_usage_pieces(context) if piece != _OPTIONS),
        tuple(_option(each, *record) for each, record in records if record and each.param_type_name == "option"),
        tuple((name, _first_paragraph(below.help)) for name, below in commands.items()),
    )
    for name, below in commands.items():
        yield from _read(below, (*words, name))


def _option(parameter: Any, shown: str, help_text: str) -> CommandOption:
    spelled = itertools.dropwhile(lambda word: word.startswith(("-", "/")), shown.split())
    placeholder = "" if parameter.is_flag else " ".join(spelled)
    words = placeholder.strip(_MARKS)
    return CommandOption(
        (*parameter.opts, *parameter.secondary_opts),
        placeholder,
        tuple(words.split("|")) if _WORDS.fullmatch(words) else (),
        " ".join(help_text.split()),
    )


def _examples(epilog: str) -> Iterator[str]:
    for line in _MARKS_OF_CLICK.sub("", epilog).splitlines():
        if line.startswith("  "):
            yield line[2:]


def _first_paragraph(text: str | None) -> str:
    return " ".join((text or "").partition("\n\n")[0].split())
