"""Tables: columns that were left beside them, and Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from server.ingest.formats.pdf.layout import Box


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of text and its place: a cell of a table, or words of a line. A cell without ink has no box."""

    text: str
    box: Box | None


Rows = Sequence[Sequence[Piece]]


def fill_last_column(rows: Rows, pieces: Sequence[Piece], area: Box) -> Rows:
    """The rows with the pieces of the page that lie within ``area`` in their last column, if that is empty.

    A reader that sees a column beside a table as text of its own leaves the column empty in the table.
    """
    if any(row[-1].text.strip() for row in rows):
        return rows
    return [[*row[:-1], _beside(row, pieces, area)] for row in rows]


def _beside(row: Sequence[Piece], pieces: Sequence[Piece], area: Box) -> Piece:
    """The pieces on the line of the other cells, as one cell."""
    boxes = [cell.box for cell in row if cell.box is not None]
    found = [
        piece
        for piece in pieces
        if piece.box is not None
        and any(box.top <= piece.box.middle <= box.bottom for box in boxes)
        and area.left - 1 <= piece.box.left <= piece.box.right <= area.right + 1
    ]
    found.sort(key=lambda piece: piece.box.left if piece.box else 0)
    return Piece(" ".join(piece.text.strip() for piece in found), None)


def table_markdown(rows: Sequence[Sequence[str]]) -> str:
    """The rows as a Markdown table, the first as its header; "" without a cell that has text."""
    if not any(cell.strip() for row in rows for cell in row):
        return ""
    width = max(len(row) for row in rows)
    lines = [_line([*row, *[""] * (width - len(row))]) for row in rows]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
