"""Finds the words of a quote on a page: their boxes in the pixels of its picture, one for each part of a line."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any

import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

from winnow.server.models import WantedText
from winnow.server.readers.pdf.page_boxes import has_upright_text
from winnow.server.readers.pdf.visibility import look_at_page
from winnow.server.readers.pdf_characters.letters import read_codes, read_letters
from winnow.server.readers.pdf_characters.torn_words import HYPHEN
from winnow.server.text.forms.normal_forms import normalize
from winnow.server.text.quotes.finding import closest, find_quote
from winnow.server.text.quotes.sources import SourceText, fold_marked

# A page with more characters is a file of data; its rest is not looked at.
_MOST_CHARS = 100_000
# Fonts of formulas state boxes as high as two lines. In heights of the usual box of a quote.
_HIGHEST_BOX = 1.7
# Parts of a line that are farther from each other than this, in heights, have a box each.
_WIDEST_GAP = 4.0
# Of the height of the lower one: boxes that share as much are of one line.
_SAME_LINE = 0.5

_SIGNS_BEFORE, _SIGNS_AFTER = re.compile(r"\A[\W_]+"), re.compile(r"(?<![\W_])[\W_]+\Z")
# Also the hyphen of a word that a line divides.
_BLANKS = re.compile(r"-\n|\s+")
# Fewer letters may be a part of a word.
_FEWEST_LETTERS = 12

Edges = tuple[float, float, float, float]  # left, top, right, bottom, in pixels


@dataclass(frozen=True, slots=True)
class Mark:
    """The boxes of a quote; ``is_exact``: word for word, otherwise the closest text."""

    boxes: tuple[Edges, ...]
    is_exact: bool


def find_marks(page: Any, wanted: Sequence[WantedText], size: tuple[int, int]) -> list[Mark | None]:
    """The marks of texts on a page (a ``PdfPage``) whose picture has this size; None for an absent text."""
    if not wanted:
        return []
    textpage = _open_text(page)
    try:
        visible = _VisibleText(page, textpage, size)
        return [visible.find(each.text, each.repeats_before) for each in wanted]
    finally:
        textpage.close()


def _open_text(page: Any) -> Any:
    """The text of a page; PDFium reads the lines of one that lies on its side from the last to the first."""
    turn = page.get_rotation()
    if not turn or not has_upright_text(page):
        return page.get_textpage()
    page.set_rotation(0)
    try:
        return page.get_textpage()
    finally:
        page.set_rotation(turn)


class _VisibleText:
    """The characters of a page that a person sees, as a text, and where each of them is."""

    def __init__(self, page: Any, textpage: Any, size: tuple[int, int]) -> None:
        self._page, self._textpage, self._size = page, textpage, size
        hidden = {ctypes.addressof(run.handle.contents) for run in look_at_page(page).hidden}
        signs: list[str] = []
        self._places: list[int] = []
        for place, letter in enumerate(read_letters(textpage, read_codes(textpage, _MOST_CHARS))):
            if hidden and self._handle_at(place) in hidden:
                continue
            sign = "-\n" if letter == HYPHEN else letter
            signs.append(sign)
            self._places += [place] * len(sign)
        self._source = SourceText("".join(signs))

    def _handle_at(self, place: int) -> int:
        handle = pdfium.FPDFText_GetTextObject(self._textpage, place)
        return ctypes.addressof(handle.contents) if handle else 0

    def find(self, quote: str, repeats_before: int) -> Mark | None:
        """The mark of a quote, or of an altered form of it; of a repeated quote the one after so many others."""
        if found := find_quote(quote, self._source, repeats_before + 1):
            last = found[-1]  # of those that are seen, which may be fewer
            return Mark(self._boxes(*self._with_signs(quote, last.start, last.end)), is_exact=True)
        if letters := self._find_letters(quote):
            is_exact = _signs(quote) == _signs(self._source.text[slice(*letters)])
            return Mark(self._boxes(*self._with_signs(quote, *letters)), is_exact)
        near = closest(quote, self._source)
        if near is None or not near.is_altered_quote:
            return None
        return Mark(self._boxes(near.start, near.end), is_exact=False)

    def _with_signs(self, quote: str, start: int, end: int) -> tuple[int, int]:
        """The characters, and the signs around them that the quote has, too: its brackets, its stop."""
        before, after = _SIGNS_BEFORE.search(quote), _SIGNS_AFTER.search(quote)
        text = self._source.text
        while before and start > 0 and text[start - 1] in before[0] and not text[start - 1].isspace():
            start -= 1
        while after and end < len(text) and text[end] in after[0] and not text[end].isspace():
            end += 1
        return start, end

    def _find_letters(self, quote: str) -> tuple[int, int] | None:
        """The characters whose letters and digits are those of a quote; blanks and punctuation are ignored.

        PDFium sees no blank at the end of a line of a turned page, and many within words whose letters are spaced.
        """
        asked = "".join(letter for _, letter in _letters(fold_marked(quote)))
        if len(asked) < _FEWEST_LETTERS:
            return None
        ats, letters = self._letters
        start = letters.find(asked)
        return None if start < 0 else (ats[start], ats[start + len(asked) - 1] + 1)

    @cached_property
    def _letters(self) -> tuple[Sequence[int], str]:
        found = [*_letters(self._source.text)]
        return [at for at, _ in found], "".join(letter for _, letter in found)

    def _boxes(self, start: int, end: int) -> tuple[Edges, ...]:
        text = self._source.text
        places = dict.fromkeys(self._places[at] for at in range(start, end) if not text[at].isspace())
        boxes = [(self._box(place, is_loose=True), self._box(place, is_loose=False)) for place in places]
        return tuple(_join_lines([*_level(boxes)]))

    def _box(self, place: int, *, is_loose: bool) -> Edges:
        """The box of a character in pixels: that of its font's lines, or that of its ink."""
        area = pdfium.FS_RECTF()
        if is_loose:
            pdfium.FPDFText_GetLooseCharBox(self._textpage, place, area)
            ends = ((area.left, area.top), (area.right, area.bottom))
        else:
            left, right, bottom, top = (ctypes.c_double() for _ in range(4))
            pdfium.FPDFText_GetCharBox(self._textpage, place, left, right, bottom, top)
            ends = ((left.value, top.value), (right.value, bottom.value))
        (x, y), (other_x, other_y) = (self._pixel(*end) for end in ends)
        return min(x, other_x), min(y, other_y), max(x, other_x), max(y, other_y)

    def _pixel(self, x: float, y: float) -> tuple[int, int]:
        """The pixel of a point of the page, which a viewer may turn or cut."""
        across, down = ctypes.c_int(), ctypes.c_int()
        pdfium.FPDF_PageToDevice(self._page, 0, 0, *self._size, 0, x, y, across, down)
        return across.value, down.value


def _signs(quote: str) -> str:
    """The characters of a quote besides blanks, without the signs before and after it that count for nothing."""
    return fold_marked(_BLANKS.sub("", _SIGNS_AFTER.sub("", _SIGNS_BEFORE.sub("", quote))))


def _letters(text: str) -> Iterator[tuple[int, str]]:
    """The letters and digits of a text in their usual shapes, each with the place of its character."""
    for at, sign in enumerate(text):
        shaped = sign if sign.isascii() else normalize("NFKC", sign)
        yield from ((at, letter) for letter in shaped if letter.isalnum())


def _level(boxes: Sequence[tuple[Edges, Edges]]) -> Iterator[Edges]:
    """One box for each character: that of its line and its ink together, or of its ink where the first is high."""
    heights = [line[3] - line[1] for line, _ in boxes if line[3] > line[1]]
    highest = _HIGHEST_BOX * median(heights) if heights else 0.0
    for line, ink in boxes:
        both = [box for box in (line, ink) if box[2] > box[0] or box[3] > box[1]]
        chosen = [ink] if line[3] - line[1] > highest and ink[3] > ink[1] else both
        if chosen:
            yield _around(chosen)


def _join_lines(boxes: Sequence[Edges]) -> Iterator[Edges]:
    """The boxes of parts of lines, of the boxes of their characters in order."""
    line: list[Edges] = []
    for box in boxes:
        if line and not _continues(_around(line), box):
            yield _around(line)
            line = []
        line.append(box)
    if line:
        yield _around(line)


def _continues(line: Edges, box: Edges) -> bool:
    height = min(line[3] - line[1], box[3] - box[1])
    shared = min(line[3], box[3]) - max(line[1], box[1])
    gap = max(box[0] - line[2], line[0] - box[2])
    return shared >= _SAME_LINE * height and gap <= _WIDEST_GAP * (line[3] - line[1])


def _around(boxes: Sequence[Edges]) -> Edges:
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)
