"""Markdown that is written block by block, with the places that its parts come from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from winnow.server.models import Place, PlaceKind
from winnow.server.readers.documents import UnreadableFile

# The largest text of a document, in bytes of UTF-8.
LARGEST_TEXT_BYTES = 16 * 1024 * 1024

_LABEL_CHARS = 300
_SPACE = re.compile(r"\s+")
_HEADING = re.compile(r"^( {0,3})(?=#{1,6}(?:[ \t]|$))", re.M)
_RULE = re.compile(r"(?<=[^\n]\n)(?= {0,3}(?:-+|=+)[ \t]*$)", re.M)


class MarkdownDraft:
    """A text of blocks with an empty line between them, and its places."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._bytes = 0
        self._places: list[Place] = []

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._parts).rstrip("\n")

    @property
    def places(self) -> tuple[Place, ...]:
        """The places so far, in the order of the text."""
        return tuple(self._places)

    def has_room(self, block: str) -> bool:
        """Whether the block fits into the largest text."""
        return self._bytes + len(block.encode("utf-8", "replace")) + 2 <= LARGEST_TEXT_BYTES

    def add(self, block: str) -> None:
        """Append a block. Raises ``UnreadableFile`` when the text becomes too long."""
        block = block.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
        if not block.strip():
            return
        if not self.has_room(block):
            raise UnreadableFile(f"has more than {LARGEST_TEXT_BYTES >> 20} MiB of text; split it")
        self._parts.append(f"{block}\n\n")
        self._length += len(block) + 2
        self._bytes += len(block.encode("utf-8", "replace")) + 2

    def begin(self, kind: PlaceKind, number: int, label: str = "", rows: tuple[int, int] | None = None) -> None:
        """Begin a place: the blocks that follow are part of it. A long label is cut."""
        self._places.append(Place(self._length, kind, number, one_line(label)[:_LABEL_CHARS], rows))


def one_line(text: str) -> str:
    """Text on one line, with single spaces."""
    return _SPACE.sub(" ", text).strip()


def plain_text(text: str) -> str:
    """Text without marks. A row of dashes in it does not make a heading of the line above."""
    return _RULE.sub("\n", _HEADING.sub(r"\1\\", text))


def table_row(cells: Iterable[str]) -> str:
    """A row of a table; bars within cells are escaped and line ends become spaces."""
    return "| " + " | ".join(one_line(cell).replace("|", r"\|") for cell in cells) + " |"


def rule_row(columns: int) -> str:
    """The row between the header of a table and its other rows."""
    return "| " + " | ".join(["---"] * columns) + " |"


def table(rows: Sequence[Sequence[str]]) -> str:
    """A table whose first row is its header; short rows are filled up. "" for a table without words."""
    if not any(cell.strip() for row in rows for cell in row):
        return ""
    width = max(map(len, rows))
    header, *others = (table_row([*row, *[""] * (width - len(row))]) for row in rows)
    return "\n".join((header, rule_row(width), *others))
