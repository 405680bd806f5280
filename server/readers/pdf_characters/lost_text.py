"""Text of a page that liteparse does not give."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pypdfium2  # type: ignore[import-untyped]

from winnow.server.readers.pdf.document import OpenPdf, PageTexts
from winnow.server.readers.pdf.layout import Box
from winnow.server.readers.pdf.lines import BULLETS, MOST_CHARS, Cell, Line, read_lines
from winnow.server.readers.pdf.visibility import look_at_page
from winnow.server.readers.pdf_characters.letters import has_unnamed_letters

# In points: a room between lines of liteparse that is narrower has no text, and a line reaches beyond its box.
_NARROWEST, _BESIDE = 2.0, 1.5
_WORD = re.compile(r"[^\W\d_]{2}")
_MOST_RUNS = 2_000


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

    def find(self, number: int, lines: Sequence[Line], *, has_hidden: bool) -> list[Line]:
        """The lost lines of a page; of one that has hidden text, too (``has_hidden``), only bullets."""
        text, height = self._texts.of(number)
        return [line for line in _uncovered(text, height, lines) if line.text in BULLETS or not has_hidden]


def _uncovered(text: Any, height: float, lines: Sequence[Line]) -> list[Line]:
    """The parts of PDFium's runs of text beside all lines: bullets, words, and what is level with them."""
    rows: dict[int, list[Line]] = defaultdict(list)
    for line in lines:
        for row in range(int(line.box.top) - 2, int(line.box.bottom) + 3):
            rows[row].append(line)
    found = list(_parts(text, height, rows))
    heights = [part.box.middle for part in found if _has_word(part)]
    return [
        part
        for part in found
        if part.text in BULLETS or any(abs(part.box.middle - middle) < part.size / 2 for middle in heights)
    ]


def _parts(text: Any, height: float, rows: Mapping[int, Sequence[Line]]) -> Iterator[Line]:
    for place in range(min(text.count_rects(), _MOST_RUNS)):
        left, bottom, right, top = text.get_rect(place)
        box = Box(left, height - top, right, height - bottom)
        beside = rows.get(int(box.middle), [])
        for start, end in _gaps(box, beside):
            shown = " ".join(text.get_text_bounded(start, bottom, end, top).split())
            if shown.strip(". "):
                size = _size_beside(box, beside) or round(max(box.height, 1.0), 1)
                yield Line(Box(start, box.top, end, box.bottom), size, False, (Cell(shown, start, end),))


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
