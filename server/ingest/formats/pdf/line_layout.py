"""Puts lines together to headings, paragraphs and tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from server.ingest.formats.pdf.layout import Block, BlockKind
from server.ingest.formats.pdf.lines import Line
from server.ingest.formats.pdf.tables import table_markdown
from server.ingest.formats.pdf.torn_words import HYPHEN

_LONGEST_HEADING, _MOST_LEVELS = 200, 4
# Larger than the text of the document by this factor.
_HEADING_SIZE = 1.12
# In heights of a line.
_LINE_GAP, _INDENT = 0.7, 1.0
_FEWEST_ROWS, _LONGEST_CELL = 3, 60
_ITEM = re.compile(r"(?:([•◦▪‣–·∙*-])|(\d{1,3}[.)]))\s+(?=\S)")
_SOFT_END = re.compile(r"[^\W\d_]-\Z")


class TextSizes:
    """The size of a document's text, and the level of each larger size."""

    def __init__(self, pages: Iterable[Sequence[Line]]) -> None:
        lines = [line for page in pages for line in page]
        letters: Counter[float] = Counter()
        bold: Counter[float] = Counter()
        for line in lines:
            letters[line.size] += len(line.text)
            bold[line.size] += len(line.text) * line.is_bold
        self.body = letters.most_common(1)[0][0] if letters else 0.0
        self.is_bold = bold[self.body] * 2 > letters[self.body]
        larger = sorted((size for size in letters if size > self.body * _HEADING_SIZE), reverse=True)
        self._levels = {size: min(level, _MOST_LEVELS) for level, size in enumerate(larger, 1)}
        self._lowest = min(len(larger), _MOST_LEVELS) + 1

    def level(self, line: Line) -> int:
        """The level of a line as a heading; 0 for text."""
        text = line.text
        if len(text) > _LONGEST_HEADING or not any(map(str.isalpha, text)):
            return 0
        if line.size in self._levels:
            return self._levels[line.size]
        is_marked = line.is_bold and not self.is_bold and line.size >= self.body and len(line.cells) == 1
        return self._lowest if is_marked and not text.endswith((".", ":", ";", ",")) else 0


def lay_out(lines: Sequence[Line], sizes: TextSizes) -> list[Block]:
    """The lines of a page as blocks."""
    blocks: list[Block] = []
    place = 0
    while place < len(lines):
        rows = _table_rows(lines[place:])
        if rows >= _FEWEST_ROWS:
            blocks.append(_table(lines[place : place + rows]))
            place += rows
            continue
        _add(blocks, lines[place], lines[place - 1] if place else None, sizes)
        place += 1
    return blocks


def _add(blocks: list[Block], line: Line, before: Line | None, sizes: TextSizes) -> None:
    """Add a line to the last block, or as a new one."""
    level = sizes.level(line)
    kind = BlockKind.HEADING if level else BlockKind.PARAGRAPH
    item = None if level else _ITEM.match(line.text)
    if item is not None:
        marker = item[2].replace(")", ".") if item[2] else "-"
        blocks.append(Block(BlockKind.ITEM, line.text[item.end() :], line.box, 1, marker))
    elif before is not None and blocks and _belongs(blocks[-1], before, line, kind, level):
        last = blocks[-1]
        blocks[-1] = Block(
            last.kind, _join(last.text, line.text), last.box.join(line.box), last.level, last.marker
        )
    else:
        blocks.append(Block(kind, line.text, line.box, level))


def _belongs(last: Block, before: Line, line: Line, kind: BlockKind, level: int) -> bool:
    """Whether a line goes on where the line before it ended: close below it, of the same size."""
    if last.kind is BlockKind.TABLE or (last.kind is BlockKind.HEADING) != (kind is BlockKind.HEADING):
        return False
    if (kind is BlockKind.HEADING and last.level != level) or abs(before.size - line.size) > 0.6:
        return False
    if last.text.endswith(HYPHEN):
        return True
    gap = line.box.top - before.box.bottom
    height = max(line.box.height, 1)
    is_indented = line.box.left - last.box.left > _INDENT * height and before.text.endswith((".", "!", "?"))
    return -height < gap < _LINE_GAP * height and not is_indented


def _join(first: str, then: str) -> str:
    if first.endswith(HYPHEN):
        return first + then
    if _SOFT_END.search(first) and then[:1].islower():
        return f"{first[:-1]}{HYPHEN}{then}"
    return first + then if first.endswith("-") else f"{first} {then}"


def _table_rows(lines: Sequence[Line]) -> int:
    """How many of the first lines are rows of one table: two cells or more, each below one of the row before."""
    count = 0
    for place, line in enumerate(lines):
        if len(line.cells) < 2 or any(len(cell.text) > _LONGEST_CELL for cell in line.cells):
            break
        if place and not _is_below(lines[place - 1], line):
            break
        count += 1
    return count


def _is_below(above: Line, line: Line) -> bool:
    if len(above.cells) != len(line.cells) or not 0 < line.box.top - above.box.top < 4 * line.box.height:
        return False
    pairs = zip(above.cells, line.cells, strict=True)
    return all(min(one.right, other.right) > max(one.left, other.left) for one, other in pairs)


def _table(rows: Sequence[Line]) -> Block:
    box = rows[0].box
    for row in rows[1:]:
        box = box.join(row.box)
    return Block(BlockKind.TABLE, table_markdown([[cell.text for cell in row.cells] for row in rows]), box)
