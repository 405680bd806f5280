"""TOML: the table of one server is put in at the end, changed or taken out, and every other byte stays.

``tomllib`` says whether a text is valid and what it means. Here a valid text is only cut into its statements: the
heads of tables, and pairs of a key and a value.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from winnow.server.commands.setup.editing.edits import Edit, apply_edits, newline_of, syntax_error, unsupported

_KEY = r"(?:[A-Za-z0-9_-]+|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*')"
_DOTTED = rf"{_KEY}(?:[ \t]*\.[ \t]*{_KEY})*"
_BETWEEN = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)+")
_HEAD = re.compile(rf"(?P<open>\[\[?)[ \t]*(?P<path>{_DOTTED})[ \t]*\]\]?")
_PAIR = re.compile(rf"(?P<path>{_DOTTED})[ \t]*=[ \t]*")
_PIECE = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}'
    r"|'''(?:[^']|'(?!''))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
    r"|[\[{]|[\]}]|\n"
    r"|[^\"'#\[\]{}\n]+",
    re.DOTALL,
)
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PLACE = re.compile(r"(?P<why>.*) \(at line (?P<line>\d+), column (?P<column>\d+)\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TomlStatement:
    """The head of a table, or a pair of a key and a value.

    ``path``: all names from the root on. ``start`` is the beginning of its first line, ``end`` that of the line
    behind it. ``value``: where the value of a pair stands; None for a head.
    """

    path: tuple[str, ...]
    start: int
    end: int
    value: tuple[int, int] | None


def parse_toml(text: str) -> dict[str, Any]:
    """The value of the text. Raises ``WinnowError("INVALID_REQUEST")`` with line and column."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise unsupported("it is nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        found = _PLACE.fullmatch(str(error))
        lines = text.split("\n")
        if found is None:
            raise syntax_error(text, len(text), str(error).removesuffix(" (at end of document)").lower()) from None
        position = sum(len(line) + 1 for line in lines[: int(found["line"]) - 1]) + int(found["column"]) - 1
        raise syntax_error(text, position, found["why"].lower()) from None


def put_toml(text: str, path: Sequence[str], entry: Mapping[str, Any]) -> str:
    """The text with the table of this path: changed where it is, or else new, at the end.

    ``text`` is valid; whether the result means what it should is for the caller to check.
    """
    own = [each for each in _statements(text) if each.path[: len(path)] == tuple(path)]
    if not own:
        return _append(text, path, entry)
    edits = list(_changes(text, own, path, entry))
    if None not in edits:
        return apply_edits(text, [edit for edit in edits if edit])
    return _append(take_out_toml(text, path), path, entry)


def _changes(
    text: str, own: Sequence[TomlStatement], path: Sequence[str], entry: Mapping[str, Any]
) -> Iterator[Edit | None]:
    """The edit of each value that changes; None for one that stands in no pair of its own."""
    before: Any = tomllib.loads(text)
    for name in path:
        before = before[name]
    if not isinstance(before, dict):
        yield None
        return
    for key, value in entry.items():
        if before.get(key) == value:
            continue
        pair = [each for each in own if each.path == (*path, key) and each.value]
        yield Edit(*pair[0].value, _format(value)) if len(pair) == 1 and pair[0].value else None


def take_out_toml(text: str, path: Sequence[str]) -> str:
    """The text without the table of this path, and without the empty line before it."""
    edits = []
    for start, end in _blocks(text, path):
        blank = next((each for each in ("\r\n", "\n") if text.endswith(each, 0, start)), "")
        above = start - len(blank)
        is_empty_line = bool(blank) and text[:above].endswith("\n")
        edits.append(Edit(above if is_empty_line else start, end))
    return apply_edits(text, edits)


def _blocks(text: str, path: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The runs of statements of this path, with the comments between them."""
    start = end = -1
    for each in _statements(text):
        if each.path[: len(path)] == tuple(path):
            start, end = (each.start if start < 0 else start), each.end
        elif start >= 0:
            yield start, end
            start = -1
    if start >= 0:
        yield start, end


def _append(text: str, path: Sequence[str], entry: Mapping[str, Any]) -> str:
    newline = newline_of(text)
    pairs = [f"{_name(key)} = {_format(value)}" for key, value in entry.items()]
    block = newline.join([f"[{'.'.join(map(_name, path))}]", *pairs, ""])
    return f"{text}{newline}{block}" if text else block


def _statements(text: str) -> Iterator[TomlStatement]:
    """The statements of a valid text, in order."""
    table: tuple[str, ...] = ()
    position = 0
    while True:
        if between := _BETWEEN.match(text, position):
            position = between.end()
        if position == len(text):
            return
        begin = text.rfind("\n", 0, position) + 1
        if head := _HEAD.match(text, position):
            table = _split(head["path"])
            position = _line_end(text, head.end())
            yield TomlStatement(table, begin, position, None)
            continue
        pair = _PAIR.match(text, position)
        if pair is None:
            raise unsupported(f"line {text.count(chr(10), 0, position) + 1} is in a form that setup does not know")
        value = (pair.end(), _value_end(text, pair.end()))
        position = _line_end(text, value[1])
        yield TomlStatement((*table, *_split(pair["path"])), begin, position, value)


def _value_end(text: str, position: int) -> int:
    """The end of the value that begins here: a line's end outside of brackets, or a comment."""
    depth, last = 0, position
    while (piece := _PIECE.match(text, last)) and (depth or piece[0][0] not in "#\n"):
        depth += (piece[0] in "[{") - (piece[0] in "]}")
        last = piece.end()
    return position + len(text[position:last].rstrip(" \t\r"))


def _line_end(text: str, position: int) -> int:
    """The beginning of the next line."""
    end = text.find("\n", position)
    return len(text) if end < 0 else end + 1


def _split(dotted: str) -> tuple[str, ...]:
    """The names of a dotted key."""
    names = []
    value: Any = tomllib.loads(f"{dotted} = 0")
    while isinstance(value, dict):
        ((name, value),) = value.items()
        names.append(name)
    return tuple(names)


def _name(key: str) -> str:
    return key if _BARE.fullmatch(key) else _format(key)


def _format(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        return (
            f"{{ {', '.join(f'{_name(key)} = {_format(each)}' for key, each in value.items())} }}"
            if value
            else "{}"
        )
    if isinstance(value, list):
        return f"[{', '.join(map(_format, value))}]"
    if isinstance(value, str | bool | int | float):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    raise unsupported(f"{value!r} is no value that setup writes")
