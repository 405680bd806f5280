r"""Escape sequences of roff that print something, or nothing: fonts, sizes, special characters, movements.

Strings, registers and arguments (``\*``, ``\n``, ``\$``) are put in before, by the interpreter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from winnow.server.readers.manuals.characters import character

_PRINTED: Mapping[str, str] = MappingProxyType(
    {"e": "\\", "\\": "\\", "E": "\\", "-": "-", "~": " ", "0": " ", " ": " ", "t": "\t", "'": "'", "`": "`",
     "_": "_", ".": "."} | dict.fromkeys("&%|^/,):{}!?apduc\n", "")
)  # fmt: skip
_NAMED = "fFmMkgVYOn*$"  # a name follows
_DELIMITED = "hvxwlLDboRSHXZABC N".replace(" ", "")
_SIZE = re.compile(r"[-+]?(?:\[[^\]]*\]|\([-+]?\d\d|'[^']*'|[-+]?[1-3]\d(?!\d)|[-+]?\d)?")
_FORWARD = re.compile(r"\+?(?!0(?:\.0*)?[a-z]?\Z)[\d.|]")
_CONTINUES = re.compile(r"(?<!\\)(?:\\\\)*\\c")


def name_at(text: str, at: int) -> tuple[str, int]:
    """The name of an escape (``x``, ``(xx`` or ``[name]``) that begins at ``at``, and the offset of its end."""
    sign = text[at : at + 1]
    if sign == "(":
        return text[at + 1 : at + 3], at + 3
    if sign == "[":
        end = text.find("]", at)
        return (text[at + 1 : end], end + 1) if end > 0 else ("", len(text))
    return sign, at + 1


def delimited_at(text: str, at: int) -> tuple[str, int]:
    """The text between the delimiter at ``at`` and the next equal delimiter, and its end."""
    end = text.find(text[at : at + 1] or "'", at + 1)
    return (text[at + 1 : end], end + 1) if end > 0 else (text[at + 1 :], len(text))


def continues(text: str) -> bool:
    r"""Whether the text asks for no blank before the next line (``\c``)."""
    return "\\c" in text and _CONTINUES.search(text) is not None


def printed_text(text: str) -> str:
    r"""The printed text of a line.

    >>> printed_text(r"\\fB\-\-all\\fR \(em \s-1POSIX\s0".replace("\\\\", "\\"))
    '--all — POSIX'
    """
    if "\\" not in text:
        return text
    parts = []
    at = 0
    while (found := text.find("\\", at)) >= 0:
        parts.append(text[at:found])
        printed, at = _escape_at(text, found + 1)
        parts.append(printed)
    parts.append(text[at:])
    return "".join(parts)


def _escape_at(text: str, at: int) -> tuple[str, int]:
    """The printed text of the escape whose letter is at ``at``, and its end."""
    letter = text[at : at + 1]
    if (printed := _PRINTED.get(letter)) is not None:
        return printed, at + 1
    if letter in ("(", "["):
        name, end = name_at(text, at)
        return character(name), end
    if letter == "s":
        found = _SIZE.match(text, at + 1)
        return "", found.end() if found else at + 1
    if letter and letter in _NAMED:
        return "", name_at(text, at + 1)[1]
    if letter and letter in _DELIMITED:
        inside, end = delimited_at(text, at + 1)
        return _delimited_text(letter, inside), end
    return ("", at + 1) if letter == "z" else (letter, at + 1)


def _delimited_text(letter: str, inside: str) -> str:
    if letter == "h":
        return " " if _FORWARD.match(inside) else ""
    if letter == "C":
        return character(inside)
    if letter == "N":
        return character(f"char{inside}")
    if letter == "o":  # the last of several characters in one place is seen
        return printed_text(inside)[-1:]
    return printed_text(inside) if letter in "bZ" and "\\" not in inside else ""
