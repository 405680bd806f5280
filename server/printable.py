"""Text as it may leave: no terminal escapes, no control characters, nothing that UTF-8 cannot hold. Pure.

What a document or a script says ends up in terminals, logs and models. Escape sequences go whole, so that no
``[31m`` stays behind; line ends and tabs stay; nothing is escaped for HTML, which would change what was said.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]{0,500}(?:\x07|\x1b\\|\x9c)"  # strings: titles, links
    r"|\x1b[ -/]*[0-~]?"  # the rest
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_SUSPECT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def printable(text: str) -> str:
    r"""``text`` without escape sequences and control characters; lone surrogates become U+FFFD.

    >>> printable("\x1b[31mred\x1b[0m\x07 and\ttab")
    'red and\ttab'
    """
    if not _SUSPECT.search(text):
        return text
    text = _ESCAPES.sub("", text.replace("\r\n", "\n"))
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", text))


def caret(line: str, column: int) -> str | None:
    """A line that points at a column (from 1) of the line above it; None where that is beyond its end.

    Tabs stay tabs, characters that terminals draw two cells wide count twice, accents that combine not at all.

    >>> caret("日本 = nope", 6)
    '       ^'
    """
    if not 0 < column <= len(line) + 1:
        return None
    return "".join("\t" if char == "\t" else " " * _cells(char) for char in line[: column - 1]) + "^"


def _cells(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def printable_data(value: Any) -> Any:
    """JSON data with every string in it, keys included, made printable."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(key): printable_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [printable_data(item) for item in value]
    return value
