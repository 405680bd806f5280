"""The manual page ``winnow(1)`` in the macros of ``man``, written from the help of the commands."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from winnow.server.commands.shell.command_tree import PROGRAM, CommandNode, CommandOption

_COLUMNS = 72
_DESCRIPTION = (
    "winnow indexes a user's own documents and serves them to agents over the Model Context Protocol. Agents "
    "search, or send a short Python script that searches, reads and filters in a sandbox; only what the script "
    "returns reaches the model's context."
)
_ENVIRONMENT = (
    "Every setting of winnow serve is also read from a variable: WINNOW_STORE for --store, WINNOW_PROJECT for "
    "--project, and so on. winnow config shows the settings in force and their sources."
)
_FILES = (
    ("~/.config/winnow/winnow.toml", "the user's settings"),
    ("winnow.toml", "settings of the working folder, which may set only what can do no harm"),
    ("~/.local/share/winnow", "the default store"),
)
_EXIT = (
    ("0", "success"),
    ("1", "failure"),
    ("2", "a wrong option or argument"),
    ("4", "a server that the command needs does not answer"),
)


def man_page(tree: Sequence[CommandNode], version: str) -> str:
    """The page as text for ``man``."""
    root, *commands = tree
    lines = [
        f'.TH WINNOW 1 "" "{PROGRAM} {_escaped(version)}" "User Commands"',
        ".SH NAME",
        _line(f"{PROGRAM} - MCP server over your own knowledge base"),
        ".SH SYNOPSIS",
        f".B {PROGRAM}",
        _line("COMMAND [OPTIONS]"),
        ".SH DESCRIPTION",
        _text(_DESCRIPTION),
        ".SH OPTIONS",
        *(line for option in root.options for line in _option(option)),
        ".SH COMMANDS",
        *(line for name, help_line in root.below for line in _item(f"{PROGRAM} {name}", help_line)),
        *(line for node in commands for line in _command(node)),
        ".SH ENVIRONMENT",
        _text(_ENVIRONMENT),
        ".SH FILES",
        *(line for row in _FILES for line in _item(*row)),
        ".SH EXIT STATUS",
        *(line for row in _EXIT for line in _item(*row)),
    ]
    return "\n".join(lines) + "\n"


def _command(node: CommandNode) -> Iterator[str]:
    yield f".SH {_escaped(node.path.upper())}"
    yield f".B {_escaped(node.path)}"
    yield _line(" ".join(("[OPTIONS]", *node.arguments)))
    for paragraph in node.help_text.split("\n\n"):
        yield ".PP"
        yield _text(" ".join(paragraph.split()))
    for name, help_line in node.below:
        yield from _item(f"{node.path} {name}", help_line)
    for option in node.options:
        yield from _option(option)
    if node.examples:
        yield from (".PP", "Examples:", ".PP", ".nf", ".RS", *map(_line, node.examples), ".RE", ".fi")


def _option(option: CommandOption) -> Iterator[str]:
    value = f" {option.placeholder}" if option.placeholder else ""
    yield from _item(", ".join(option.spellings) + value, option.help_line)


def _item(term: str, text: str) -> Iterator[str]:
    yield ".TP"
    yield f".B {_escaped(term)}"
    yield _text(text)


def _text(text: str) -> str:
    """The text as lines of input, which man fills."""
    return "\n".join(map(_line, textwrap.wrap(text, _COLUMNS, break_long_words=False, break_on_hyphens=False)))


def _line(text: str) -> str:
    """The text as one line of input that is no request."""
    shown = _escaped(text)
    return f"\\&{shown}" if shown.startswith((".", "'")) else shown or "\\&"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
