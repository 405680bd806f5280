"""JSON with comments and trailing commas: one member is edited, and every other byte stays.

The text is read into values that know where they stand. A new member goes behind the last one, in the style of its
neighbours. Taking it out again undoes exactly that: what is deleted are the member, the blanks before it and one
comma, never a comment outside of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from winnow.server.commands.setup.editing.edits import (
    Edit,
    apply_edits,
    indent_of,
    newline_of,
    syntax_error,
    unsupported,
)

_TOKEN = re.compile(
    r"(?P<blank>[ \t\r\n]+)"
    r"|(?P<comment>//[^\r\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)"
    r"|(?P<mark>[{}\[\],:])"
    r'|(?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")'
    r"|(?P<number>-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])"
    r"|(?P<word>true|false|null)\b"
)
_DEEPEST = 200
_WORDS = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class Trivia:
    """The blanks and comments before a token. ``end``: of the last comment, or else of the token before.

    ``ends_line``: that comment goes to the end of its line.
    """

    end: int
    ends_line: bool


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A value and its place. Of objects alone: ``members``, and ``tail``, the gap before the closing brace."""

    start: int
    end: int
    value: Any
    members: tuple[JsonMember, ...] | None = None
    tail: Trivia = Trivia(0, False)


@dataclass(frozen=True, slots=True)
class JsonMember:
    """A member of an object; ``comma`` is the position behind its comma, None where there is none."""

    key: str
    start: int
    gap: Trivia
    node: JsonNode
    comma: int | None


class _Reader:
    """Reads a text from its beginning to its end."""

    def __init__(self, text: str, *, comments: bool) -> None:
        self._text = text
        self._comments = comments
        self._next = 0
        self.kind = self.token = ""
        self.start = self.end = 0
        self.gap = Trivia(0, False)
        self.advance()

    def advance(self) -> None:
        """Go to the next token; its kind is "" at the end of the text."""
        gap = Trivia(self._next, False)
        while self._next < len(self._text):
            found = _TOKEN.match(self._text, self._next)
            if found is None or (found.lastgroup == "comment" and not self._comments):
                raise self.error("a comment, which this client does not read" if found else "no JSON", self._next)
            self._next = found.end()
            if found.lastgroup == "comment":
                gap = Trivia(found.end(), found[0].startswith("//"))
            elif found.lastgroup != "blank":
                self.kind, self.token = str(found.lastgroup), found[0]
                self.start, self.end, self.gap = found.start(), found.end(), gap
                return
        self.kind = self.token = ""
        self.start = self.end = len(self._text)
        self.gap = gap

    def error(self, why: str, position: int | None = None) -> Exception:
        """The error for this place."""
        return syntax_error(self._text, self.start if position is None else position, why)

    def take(self, mark: str) -> None:
        """Go past this mark."""
        if self.token != mark or self.kind != "mark":
            raise self.error(f"{self.name_token()} where {mark!r} is wanted")
        self.advance()

    def read_value(self, depth: int = 0) -> JsonNode:
        """The value that begins here."""
        if depth > _DEEPEST:
            raise self.error("nested too deeply")
        start, end, kind, token = self.start, self.end, self.kind, self.token
        if kind == "mark" and token == "{":
            return self._read_object(depth)
        if kind == "mark" and token == "[":
            return self._read_array(depth)
        if kind not in ("string", "number", "word"):
            raise self.error(f"{self.name_token()} where a value is wanted")
        value = _WORDS[token] if kind == "word" else self._decode(token)
        self.advance()
        return JsonNode(start, end, value)

    def _decode(self, token: str) -> Any:
        try:
            return json.loads(token)
        except ValueError:
            why = "an escape that JSON does not have" if self.kind == "string" else "a number of too many digits"
            raise self.error(why) from None

    def name_token(self) -> str:
        """The next token in a message. A string may be a secret, so its text is left out."""
        return "a string" if self.kind == "string" else repr(self.token[:40] or "the end")

    def _read_array(self, depth: int) -> JsonNode:
        start, values = self.start, []
        self.take("[")
        while self.token != "]":
            values.append(self.read_value(depth + 1).value)
            if not self._take_comma("]"):
                break
        end = self.end
        self.take("]")
        return JsonNode(start, end, values)

    def _read_object(self, depth: int) -> JsonNode:
        start, members = self.start, []
        self.take("{")
        while self.token != "}" or self.kind != "mark":
            key_start, gap = self.start, self.gap
            if self.kind != "string":
                raise self.error(f"{self.name_token()} where a name in double quotes is wanted")
            key = self._decode(self.token)
            self.advance()
            self.take(":")
            node = self.read_value(depth + 1)
            comma = self._take_comma("}")
            members.append(JsonMember(key, key_start, gap, node, comma))
            if comma is None:
                break
        end, tail = self.end, self.gap
        self.take("}")
        return JsonNode(start, end, {each.key: each.node.value for each in members}, tuple(members), tail)

    def _take_comma(self, closing: str) -> int | None:
        """Go past a comma; the position behind it, None where there is none."""
        if self.kind != "mark" or self.token != ",":
            return None
        end = self.end
        self.advance()
        if self.kind == "mark" and self.token == closing and not self._comments:
            raise self.error(f"a comma before {closing!r}, which this client does not read")
        return end


def _read(text: str, *, comments: bool) -> JsonNode:
    reader = _Reader(text, comments=comments)
    root = reader.read_value()
    if reader.kind:
        raise reader.error(f"{reader.name_token()} behind the end of the value")
    return root


def parse_json(text: str, *, comments: bool) -> Any:
    """The value of the text. ``comments``: comments and trailing commas are read, too.

    Raises ``WinnowError("INVALID_REQUEST")`` with line and column.
    """
    try:  # ten times as fast; it reads most files, and ours reads the others or says what is wrong with them
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return _read(text, comments=comments).value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def put_json(text: str, path: Sequence[str], value: Any, *, comments: bool) -> str:
    """The text with this value at the path; objects on the way are made where they are missing.

    Raises ``WinnowError("UNSUPPORTED")`` where another value is on the way, or a name is there twice.
    """
    node = _read(text, comments=comments)
    for depth, key in enumerate(path):
        member = _find(node, key, path[:depth])
        if member is None:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            return _insert(text, node, key, value)
        node = member.node
    written = _format(text, value, _indent_at(text, node.start))
    return apply_edits(text, [Edit(node.start, node.end, written)])


def take_out_json(text: str, path: Sequence[str], *, comments: bool) -> str:
    """The text without the member at the path, which is there; an object that it leaves empty stays, as ``{}``."""
    node = _read(text, comments=comments)
    *way, last = path
    for depth, key in enumerate(way):
        found = _find(node, key, path[:depth])
        assert found is not None
        node = found.node
    member = _find(node, last, way)
    assert member is not None
    assert node.members is not None
    number = node.members.index(member)
    end = member.node.end if member.comma is None else member.comma
    if len(node.members) == 1 and (member.gap.end, node.tail.end) == (
        node.start + 1,
        end,
    ):  # nothing else is inside
        return apply_edits(text, [Edit(node.start + 1, node.end - 1)])
    edits = [Edit(member.gap.end, end, _line_end_after(text, member.gap, end))]
    if member.comma is None and number:
        comma = node.members[number - 1].comma
        assert comma is not None
        edits.append(Edit(comma - 1, comma))
    return apply_edits(text, edits)


def _line_end_after(text: str, gap: Trivia, end: int) -> str:
    """A line's end, where a comment would otherwise swallow what follows a member that is taken out."""
    rest = text[end : end + text[end:].find("\n") + 1]
    return newline_of(text) if gap.ends_line and (rest.strip() or not rest) else ""


def _find(node: JsonNode, key: str, way: Sequence[str]) -> JsonMember | None:
    if node.members is None:
        raise unsupported(f"{'.'.join(way) or 'the file'} holds no object")
    found = [member for member in node.members if member.key == key]
    if len(found) > 1:
        raise unsupported(f"{'.'.join((*way, key))} stands there {len(found)} times, of which one counts")
    return found[0] if found else None


def _insert(text: str, node: JsonNode, key: str, value: Any) -> str:
    """The text with one more member behind the others of an object."""
    newline, unit = newline_of(text), indent_of(text)
    assert node.members is not None
    outer = _indent_at(text, node.start)
    if not node.members:
        inner = outer + unit
        member = f"{newline}{inner}{json.dumps(key)}: {_format(text, value, inner)}"
        if "\n" not in text[node.tail.end : node.end]:
            has_comment = node.tail.end > node.start + 1
            member = f" {_one_line(key, value)}" if has_comment else f"{member}{newline}{outer}"
        return apply_edits(text, [Edit(node.tail.end, node.tail.end, member)])
    first, last = node.members[0], node.members[-1]
    if "\n" in text[node.start : first.start]:
        inner = _indent_at(text, first.start)
        member = f"{newline}{inner}{json.dumps(key)}: {_format(text, value, inner)}"
    else:
        blank = newline if node.tail.ends_line else " "
        member = f"{blank}{_one_line(key, value)}"
    if last.comma is not None:
        return apply_edits(text, [Edit(node.tail.end, node.tail.end, f"{member},")])
    if node.tail.end == last.node.end:
        return apply_edits(text, [Edit(last.node.end, last.node.end, f",{member}")])
    comma = Edit(last.node.end, last.node.end, ",")
    return apply_edits(text, [comma, Edit(node.tail.end, node.tail.end, member)])


def _one_line(key: str, value: Any) -> str:
    return f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"


def _indent_at(text: str, position: int) -> str:
    """The indentation of the line of this position."""
    begin = text.rfind("\n", 0, position) + 1
    line = text[begin:position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _format(text: str, value: Any, base: str) -> str:
    """A value over several lines, in the style of the text; ``base`` is the indentation of its first line."""
    lines = json.dumps(value, ensure_ascii=False, indent=indent_of(text)).split("\n")
    return f"{newline_of(text)}{base}".join(lines)
