"""Tables: their place in reading order, columns that were left beside them, and Markdown.

A reader that finds tables by their rules knows where they stand, and not after which text: where columns are
beside each other, the height alone does not tell. A table is put next to the nearest text of its own column,
together with its caption.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import inf

from server.ingest.formats.pdf.layout import Block, BlockKind, Box
from server.text.markup.captions import begins_caption, is_caption

# In points: a caption is this near its table, a line of a paragraph this near the line before it, and the first
# texts below a table over several columns begin within this height.
_CAPTION_GAP, _LINE_GAP, _ROW_HEIGHT = 30.0, 8.0, 30.0
# A page with more tables is no text that a person reads.
_MOST_TABLES = 30
ENDS_SENTENCE = re.compile(r"[.!?:;…。！？][\"'”’»)\]*_]*\Z")


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of text and its place: a cell of a table, or words of a line. A cell without ink has no box."""

    text: str
    box: Box | None


Rows = Sequence[Sequence[Piece]]


@dataclass(frozen=True, slots=True)
class _Float:
    """A table and its caption, in reading order, and the box of both."""

    blocks: tuple[Block, ...]
    box: Box


def place_tables(blocks: Sequence[Block], pieces: Sequence[Piece] = ()) -> tuple[Block, ...]:
    """The blocks of a page with each table where its column has it, next to its caption.

    ``pieces`` is the text of the page: its lines show where a caption ends that was joined with the text below.
    All other blocks keep their order. The paragraph that a table divided is one again. A table without any text
    above, below, around or beside it stays where it is, as do all on a page with more than thirty.
    """
    order = list(blocks)
    tables = [block for block in blocks if block.kind is BlockKind.TABLE]
    if len(tables) <= _MOST_TABLES:
        for table in sorted(tables, key=lambda table: table.box.top):
            _split_caption(order, table.box, pieces)
            _place(order, table)
    return tuple(order)


def _place(order: list[Block], table: Block) -> None:
    """Move a table, with its caption, within ``order``."""
    moved = _with_caption(table, order)
    at = _index(order, table)
    texts = [block for block in order if not any(block is other for other in moved.blocks)]
    place = _find_place(moved, texts)
    if place is None:
        return
    before = order[at - 1] if at else None
    after = order[at + 1] if at + 1 < len(order) else None
    texts[place:place] = moved.blocks
    order[:] = texts
    if before and after and _is_torn(before, after) and _index(order, after) == _index(order, before) + 1:
        order[_index(order, before)] = replace(
            before, text=f"{before.text} {after.text}", box=before.box.join(after.box)
        )
        del order[_index(order, after)]


def _index(order: Sequence[Block], block: Block) -> int:
    """The index of this very block: others may be equal."""
    return next(index for index, other in enumerate(order) if other is block)


def _is_torn(first: Block, then: Block) -> bool:
    """Whether a paragraph was divided between two lines. What ends with a hyphen is joined as a word later on."""
    if {first.kind, then.kind} != {BlockKind.PARAGRAPH} or is_caption(first.text) or is_caption(then.text):
        return False
    is_below = _overlap(first.box, then.box) and abs(then.box.top - first.box.bottom) < _LINE_GAP
    return is_below and not first.text.endswith("-") and not ENDS_SENTENCE.search(first.text)


def _split_caption(order: list[Block], table: Box, pieces: Sequence[Piece]) -> None:
    """Part a caption near a table from the text below it, if there is a gap of a line between them."""
    near = (
        (index, block)
        for index, block in enumerate(order)
        if block.kind is BlockKind.PARAGRAPH
        and begins_caption(block.text)
        and _overlap(block.box, table)
        and _gap(block.box, table) < _CAPTION_GAP
    )
    index, block = next(near, (0, None))
    if block is None:
        return
    first, rest = _part_at_gap(block.box, table, pieces)
    length = _length_of("".join(piece.text for piece in first), block.text)
    if rest and 0 < length < len(block.text):
        order[index : index + 1] = [
            replace(block, text=block.text[:length].strip(), box=_box_of(first)),
            replace(block, text=block.text[length:].strip(), box=_box_of(rest)),
        ]


def _part_at_gap(area: Box, table: Box, pieces: Sequence[Piece]) -> tuple[list[Piece], list[Piece]]:
    """The pieces within ``area`` and not the table: those above the first gap of a line, and the others."""
    found = [(piece.box, piece) for piece in pieces if piece.box and area.holds(piece.box)]
    found = [(box, piece) for box, piece in found if not table.holds(box)]
    found.sort(key=lambda pair: (round(pair[0].middle), pair[0].left))
    bottom, ordered = -inf, [piece for _, piece in found]
    for place, (box, _) in enumerate(found):
        if place and box.top - bottom > box.height:
            return ordered[:place], ordered[place:]
        bottom = max(box.bottom, bottom)
    return ordered, []


def _box_of(pieces: Sequence[Piece]) -> Box:
    """The box of pieces of text, of which there is at least one."""
    first, *others = [piece.box for piece in pieces if piece.box]
    return reduce(Box.join, others, first)


def _length_of(begin: str, text: str) -> int:
    """The length of the start of ``text`` that has the letters and digits of ``begin``; 0 if it has others."""
    letters = [c for c in begin if c.isalnum()]
    places = [place for place, c in enumerate(text) if c.isalnum()]
    if not letters or [text[place] for place in places[: len(letters)]] != letters:
        return 0
    return places[len(letters)] if len(letters) < len(places) else len(text)


def _with_caption(table: Block, order: Sequence[Block]) -> _Float:
    captions = [
        block
        for block in order
        if block.kind in (BlockKind.PARAGRAPH, BlockKind.HEADING)
        and is_caption(block.text)
        and _overlap(block.box, table.box)
        and _gap(block.box, table.box) < _CAPTION_GAP
    ]
    if not captions:
        return _Float((table,), table.box)
    caption = min(captions, key=lambda block: _gap(block.box, table.box))
    pair = (caption, table) if caption.box.middle < table.box.middle else (table, caption)
    return _Float(pair, table.box.join(caption.box))


def _find_place(moved: _Float, texts: Sequence[Block]) -> int | None:
    """The index in ``texts`` at which the table belongs; None where nothing says so."""
    box = moved.box
    column = [(index, text.box) for index, text in _within_column(box, texts) if _overlap(text.box, box)]
    below = [(other.top - box.bottom, index) for index, other in column if _is_above(box, other)]
    above = [(box.top - other.bottom, index) for index, other in column if _is_above(other, box)]
    if below and (not above or min(below)[0] <= min(above)[0]):
        return min(index for gap, index in below if gap <= min(below)[0] + _ROW_HEIGHT)
    if above:
        return max(index for gap, index in above if gap <= min(above)[0] + _ROW_HEIGHT) + 1
    return _find_place_beside(box, texts)


def _within_column(box: Box, texts: Sequence[Block]) -> Iterator[tuple[int, Block]]:
    """The texts, with their index, that do not reach above or below what stands beside the table."""
    beside = [text.box for text in texts if _is_beside(text.box, box)]
    left = max((other.right for other in beside if other.left < box.left), default=-inf)
    right = min((other.left for other in beside if other.left >= box.left), default=inf)
    for index, text in enumerate(texts):
        if text.box.left > left - 1 and text.box.right < right + 1:
            yield index, text


def _find_place_beside(box: Box, texts: Sequence[Block]) -> int | None:
    """After the text around the table, else after the columns to its left, else before those to its right."""
    around = [index for index, text in enumerate(texts) if _overlap(text.box, box) and _is_level(text.box, box)]
    beside = [(index, text.box.left < box.left) for index, text in enumerate(texts) if _is_beside(text.box, box)]
    left = [index for index, is_left in beside if is_left]
    if around or left:
        return max(around or left) + 1
    return min((index for index, _ in beside), default=None)


def _overlap(one: Box, other: Box) -> bool:
    """Whether one stands above the other in part."""
    return min(one.right, other.right) - max(one.left, other.left) > 1


def _is_level(one: Box, other: Box) -> bool:
    """Whether one stands beside the other in part."""
    return min(one.bottom, other.bottom) - max(one.top, other.top) > 1


def _is_above(one: Box, other: Box) -> bool:
    return one.bottom <= other.top + 1


def _is_beside(one: Box, other: Box) -> bool:
    return _is_level(one, other) and not _overlap(one, other)


def _gap(one: Box, other: Box) -> float:
    """The height between two boxes; 0 where they overlap."""
    return max(one.top - other.bottom, other.top - one.bottom, 0)


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
