"""Text of a page that liteparse does not give."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pypdfium2  # type: ignore[import-untyped]

from winnow.server.readers.pdf.document import OpenPdf, PageTexts, printed_line
from winnow.server.readers.pdf.layout import Box
from winnow.server.readers.pdf.lines import (
    BULLETS,
    MOST_CHARS,
    NAMES_OF_SHAPES,
    Cell,
    Line,
    font_at,
    read_lines,
)
from winnow.server.readers.pdf.visibility import look_at_page
from winnow.server.readers.pdf_characters.letters import has_shapes, has_unnamed_letters

# In points: a room between lines of liteparse that is narrower has no text, a line reaches beyond its box, and the
# boxes of letters beside each other overlap.
_NARROWEST, _BESIDE, _OVERLAP = 2.0, 1.5, 0.5
# In sizes of a line: what is nearer to its end is a part of it; a blank is at least as wide.
_GOES_ON, _BLANK = 0.5, 0.1
# Letters that Unicode has for mathematics, and others beyond its first plane.
_OF_FORMULAS = re.compile("[\U00010000-\U0010ffff]")
_WORD = re.compile(r"[^\W\d_]{2}")
_MOST_CELLS = 2_000


class LostText:
    """Text of a page that liteparse does not give: PDFium has it, and no line of liteparse is there.

    liteparse leaves out some pieces of lines that have formulas; and a file that is written again without its
    hidden text may lose the bullets of its lists, so PDFium reads the file as it was.
    """

    def __init__(self, opened: OpenPdf, cleaned: bytes) -> None:
        self._is_changed = cleaned is not opened.data
        self._document = pypdfium2.PdfDocument(opened.data) if self._is_changed else opened.document
        self._texts = PageTexts(self._document) if self._is_changed else opened.texts

    def close(self) -> None:
        """Release the file, unless it is that of the caller."""
        if self._is_changed:
            self._texts.close()
            self._document.close()

    def is_misread(self, number: int) -> bool:
        """Whether the letters that liteparse has for a page are others than those that are printed."""
        return has_unnamed_letters(self._texts.of(number)[0], MOST_CHARS)

    def whole_page(self, number: int) -> list[Line]:
        """All lines of a page, without each character that is hidden."""
        page = self._document[number - 1]
        try:
            return read_lines(page, look_at_page(page))
        finally:
            page.close()

    def complete(self, number: int, lines: Sequence[Line]) -> list[Line]:
        """The lines of a page with the letters of formulas that are lost within them."""
        text, height = self._texts.of(number)
        shown = text.get_text_range(0, min(text.count_chars(), MOST_CHARS))
        if not _OF_FORMULAS.search(shown) or sum(len(line.cells) for line in lines) > _MOST_CELLS:
            return [*lines]
        return [_with_lost_letters(text, height, line) for line in lines]

    def find(self, number: int, lines: Sequence[Line], *, has_hidden: bool) -> list[Line]:
        """The lost lines of a page; of one that has hidden text, too (``has_hidden``), only bullets."""
        text, height = self._texts.of(number)
        found = _uncovered(text, height, self._texts.runs(number), lines)
        return [line for line in found if line.text in BULLETS or not has_hidden]


def _with_lost_letters(text: Any, height: float, line: Line) -> Line:
    """The line as it is printed where letters of formulas alone are lost, within its cells or between them."""
    cells: list[Cell] = []
    for cell in line.cells:
        printed = printed_line(_between(text, height, replace(line.box, left=cell.left, right=cell.right)))
        lacks = len(_OF_FORMULAS.findall(printed)) > len(_OF_FORMULAS.findall(cell.text))
        if lacks and _plain_letters(printed) == _plain_letters(cell.text):
            cell = Cell(printed, cell.left, cell.right)
        gap = replace(line.box, left=cells[-1].right if cells else cell.left, right=cell.left)
        lost = printed_line(_between(text, height, gap)) if cells else ""
        if _OF_FORMULAS.search(lost) and not _plain_letters(lost):
            cell = replace(cells.pop().join(cell, f" {lost} "), words=())
        cells.append(cell)
    return replace(line, cells=tuple(cells))


def _between(text: Any, height: float, box: Box) -> str:
    """The text in the box of a part of a line, without the letters beside it, whose boxes may overlap it."""
    left = box.left + _OVERLAP
    right = max(left, box.right - _OVERLAP)
    return str(text.get_text_bounded(left, height - box.bottom, right, height - box.top))


def _plain_letters(text: str) -> str:
    return "".join(sign for sign in text if sign.isalnum() and not _OF_FORMULAS.match(sign))


def _uncovered(text: Any, height: float, runs: Iterable[Box], lines: Sequence[Line]) -> list[Line]:
    """The parts of PDFium's runs of text beside all lines: bullets, words, and what is level with them."""
    rows: dict[int, list[Line]] = defaultdict(list)
    for line in lines:
        for row in range(int(line.box.top) - 2, int(line.box.bottom) + 3):
            rows[row].append(line)
    found = [part for part in _parts(text, height, runs, rows) if not _is_shape(text, height, part)]
    heights = [part.box.middle for part in found if _has_word(part)]
    return [
        part
        for part in found
        if part.text in BULLETS
        or any(abs(part.box.middle - middle) < part.size / 2 for middle in heights)
        or (_OF_FORMULAS.search(part.text) and _is_within(part.box, rows.get(int(part.box.middle), [])))
    ]


def _is_shape(text: Any, height: float, part: Line) -> bool:
    """Whether a part is the corner of a box, whose letter has the name of a bullet."""
    return part.text in NAMES_OF_SHAPES and has_shapes(font_at(text, part.box, height))


def _parts(text: Any, height: float, runs: Iterable[Box], rows: Mapping[int, Sequence[Line]]) -> Iterator[Line]:
    for box in runs:
        beside = rows.get(int(box.middle), [])
        for start, end in _gaps(box, beside):
            between = _between(text, height, replace(box, left=start, right=end))
            shown = " ".join(between.split())
            if shown.strip(". "):
                size = _size_beside(box, beside) or round(max(box.height, 1.0), 1)
                left, right = _without_blanks(between, start, end, size)
                yield Line(Box(start, box.top, end, box.bottom), size, False, (Cell(shown, left, right),))


def _without_blanks(text: str, left: float, right: float, size: float) -> tuple[float, float]:
    """The ends of a run without a blank before or behind its letters.

    How far the ink beside it reaches tells no blank: PDFium draws a font that is not in the file with one of its
    own, whose shape depends on what was drawn before.
    """
    blank = min(_BLANK * size, (right - left) / 2)
    return left + blank * text[:1].isspace(), right - blank * text[-1:].isspace()


def _is_within(box: Box, beside: Sequence[Line]) -> bool:
    """Whether a line goes on before or after a part: a sign of a formula in a sentence."""
    return any(
        -_BESIDE < gap < _GOES_ON * line.size
        for line in beside
        for gap in (box.left - line.box.right, line.box.left - box.right)
    )


def _has_word(part: Line) -> bool:
    """Whether it is a word that is written across the page: a number alone may be that of the page."""
    return bool(_WORD.search(part.text)) and part.box.right - part.box.left > part.box.height


def _gaps(box: Box, lines: Sequence[Line]) -> Iterator[tuple[float, float]]:
    """The parts of a run of text, from left to right, where there is no line."""
    at = box.left
    for line in sorted(lines, key=lambda line: line.box.left):
        if line.box.left - _BESIDE - at > _NARROWEST:
            yield at, min(line.box.left - _BESIDE, box.right)
        at = max(at, line.box.right + _BESIDE)
        if at >= box.right:
            return
    if box.right - at > _NARROWEST:
        yield at, box.right


def _size_beside(box: Box, lines: Sequence[Line]) -> float:
    """The size of the nearest line at the same height; 0 without one."""
    near = min(lines, key=lambda line: abs(line.box.left - box.right), default=None)
    return near.size if near else 0.0
