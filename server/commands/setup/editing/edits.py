"""Replacements in a text, the style of its lines, and errors that name a line and a column."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from winnow.server.errors import WinnowError

_INDENTED = re.compile(r"^([ \t]+)\S", re.MULTILINE)
_DEFAULT_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Edit:
    """The text between two positions, and what stands there afterwards."""

    start: int
    end: int
    text: str = ""


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text after edits that do not overlap.

    >>> apply_edits("abc", [Edit(2, 3), Edit(0, 0, "x")])
    'xab'
    """
    parts, done = [], 0
    for edit in sorted(edits, key=lambda each: each.start):
        parts += [text[done : edit.start], edit.text]
        done = edit.end
    return "".join((*parts, text[done:]))


def newline_of(text: str) -> str:
    """The end of a line as this text writes it."""
    return "\r\n" if "\r\n" in text else "\n"


def indent_of(text: str) -> str:
    """The indentation of one level: that of the first indented line."""
    found = _INDENTED.search(text)
    return found[1] if found else _DEFAULT_INDENT


def syntax_error(text: str, position: int, why: str) -> WinnowError:
    """The error for a text that does not parse, with the line and the column."""
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return WinnowError(
        "INVALID_REQUEST",
        f"line {line}, column {column}: {why}; mend it there, then run the same command again",
        details={"line": line, "column": column},
    )


def unsupported(why: str) -> WinnowError:
    """The error for a form that is not edited, because another part of the file could change with it."""
    return WinnowError("UNSUPPORTED", f"{why}; winnow setup --print shows the entry to put in by hand")
