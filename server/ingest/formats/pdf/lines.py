"""The lines of a page as PDFium finds them, with their cells, without hidden text; and what liteparse lost.

A number that stands above the digit before it is written in raised digits: 10 with 9 above is not 109.
"""

from __future__ import annotations

import ctypes
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType
from typing import Any

import pypdfium2  # type: ignore[import-untyped]
import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

from winnow.server.ingest.formats.parsed_file import NotForThisReader
from winnow.server.ingest.formats.pdf.document import OpenPdf
from winnow.server.ingest.formats.pdf.layout import Box
from winnow.server.ingest.formats.pdf.torn_words import HYPHEN, HYPHENS
from winnow.server.ingest.formats.pdf.visibility import PageObjects
from winnow.server.text.markup.shaped_text import raise_number

# A gap between two words that is wider than this, in sizes of the font, parts two cells.
CELL_GAP = 0.9
# What stands before the items of a list and is seldom anything else.
BULLETS = frozenset("•◦▪‣●■□➢✓▶►▸\uf0b7\uf0a7\uf06e\uf0d8")
_BOLD = 600
_HYPHEN_CODES = frozenset(map(ord, HYPHENS))
# In sizes of the font.
_HIGHEST_BOX = 1.7
_MOST_CHARS = 500_000
# Bitmap fonts of TeX (Type 3) do not name their letters: PDFium gives the codes of the encoding T1 (Cork), and
# liteparse letters of another encoding ("eftect" for "effect"). Brackets of formulas have some of these codes.
_TEX_LETTERS: Mapping[int, str] = MappingProxyType(
    {
        0x10: "\u201c",
        0x11: "\u201d",
        0x15: "\u2013",
        0x16: "\u2014",
        0x1B: "ff",
        0x1C: "fi",
        0x1D: "fl",
        0x1E: "ffi",
        0x1F: "ffl",
    }
)
_UNNAMED_LIGATURE = re.compile(r"[A-Za-z][\x1b-\x1f]|[\x1b-\x1f][a-z]")
# Divides a word at the end of a line; within a line it is printed as a hyphen.
_SOFT_HYPHEN = 0xAD
# How wide the letters of the usual fonts of one width are, in sizes; how exactly, and from how many letters on.
_ADVANCES, _ADVANCE_ROOM, _FEWEST_LETTERS = (0.525, 0.6), 0.012, 8
# A word that may have a raised number.
MAY_BE_RAISED = re.compile(r"\d[-+\u2212\u2013]?\d")
# What is raised is smaller than this, and higher by more than this, in sizes of what it belongs to.
_SMALLER, _HIGHER = 0.87, 0.15
_LONGEST_WORD = 100
# In points: how far from its place a character is looked for.
_ROOM = 2.0
# The readers of PDF have different signs for a minus.
_SIGNS: Mapping[int, int] = MappingProxyType(str.maketrans("\u2212\u2013\u2010", "---"))

# In points: a room between lines of liteparse that is narrower has no text, and a line reaches beyond its box.
_NARROWEST, _BESIDE = 2.0, 1.5
_WORD = re.compile(r"[^\W\d_]{2}")
_MOST_RUNS = 2_000


@dataclass(frozen=True, slots=True)
class Cell:
    """Words of a line without a wide gap, and where they begin and end."""

    text: str
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class Line:
    """A line: its box, the size of its font in points, and its cells; ``is_mono``: all letters have one width."""

    box: Box
    size: float
    is_bold: bool
    cells: tuple[Cell, ...]
    is_mono: bool = False

    @property
    def text(self) -> str:
        """The text of the line; ``HYPHEN`` is a hyphen at its end that divides a word."""
        return " ".join(cell.text for cell in self.cells)


def split_cells(words: Iterable[tuple[str, float, float]], size: float) -> Iterator[Cell]:
    """The words as cells, parted at the wide gaps. A word is its text, and where it begins and ends."""
    cell: list[str] = []
    left = right = 0.0
    for text, start, end in words:
        if cell and start - right > CELL_GAP * size:
            yield Cell(" ".join(cell), left, right)
            cell = []
        left = left if cell else start
        cell.append(text)
        right = end
    if cell:
        yield Cell(" ".join(cell), left, right)


def has_one_width(
    words: Sequence[tuple[str, float, float]],
    size: float,
    room: float = _ADVANCE_ROOM,
    fewest: int = _FEWEST_LETTERS,
) -> bool:
    """Whether the letters of all words are as wide as those of usual fonts of one width.

    A word is its text, and where it begins and ends. Fewer than ``fewest`` letters tell nothing.
    """
    if sum(len(text) for text, _, _ in words) < fewest:
        return False
    widths = [(right - left) / max(len(text), 1) / max(size, 1) for text, left, right in words]
    return any(all(abs(width - usual) < room for width in widths) for usual in _ADVANCES)


def read_lines(page: Any, objects: PageObjects) -> list[Line]:
    """The lines of a page (a ``PdfPage``), in the order of the file."""
    textpage = page.get_textpage()
    try:
        return list(_Characters(textpage, page.get_height(), objects).lines())
    finally:
        textpage.close()


class _Characters:
    """The characters of a page by index; PDFium adds spaces and ends of lines where it sees them."""

    def __init__(self, textpage: Any, height: float, objects: PageObjects) -> None:
        self.textpage = textpage
        self.height = height
        self.hidden = {ctypes.addressof(run.handle.contents) for run in objects.hidden}

    def lines(self) -> Iterator[Line]:
        count = min(self.textpage.count_chars(), _MOST_CHARS)
        codes = [pdfium.FPDFText_GetUnicode(self.textpage, place) for place in range(count)]
        line: list[tuple[int, str]] = []
        for place, letter in enumerate(_letters(codes)):
            if codes[place] == _SOFT_HYPHEN and not self._ends_line(place, codes):
                letter = "-"
            if letter != "\n" and not self._is_hidden(place):
                line.append((place, letter))
            if letter in ("\n", HYPHEN):
                yield from self._line(line)
                line = []
        yield from self._line(line)

    def _ends_line(self, place: int, codes: Sequence[int]) -> bool:
        """Whether the character after this one is an end of line, or stands farther left."""
        if place + 1 >= len(codes) or codes[place + 1] in (10, 13):
            return True
        return self._box(place + 1).left < self._box(place).left

    def _is_hidden(self, place: int) -> bool:
        if not self.hidden:
            return False
        handle = pdfium.FPDFText_GetTextObject(self.textpage, place)
        return bool(handle) and ctypes.addressof(handle.contents) in self.hidden

    def _line(self, signs: list[tuple[int, str]]) -> Iterator[Line]:
        """The line of these characters, unless there is nothing to see in it."""
        seen = [place for place, letter in signs if not letter.isspace() and letter != HYPHEN]
        if not seen:
            return
        first, last, middle = seen[0], seen[-1], seen[len(seen) // 2]
        size = max(self._size(place) for place in (first, middle, last))
        boxes = [self._box(place) for place in (first, middle, last)]
        box = _box_of_line(boxes, size)
        bold = pdfium.FPDFText_GetFontWeight(self.textpage, middle) >= _BOLD
        words = list(self._words(signs))
        yield Line(box, size, bold, tuple(split_cells(words, size)), has_one_width(words, size))

    def _words(self, signs: list[tuple[int, str]]) -> Iterator[tuple[str, float, float]]:
        """Each run of letters between spaces, and where it begins and ends."""
        for is_space, group in groupby(signs, lambda sign: sign[1].isspace()):
            if not is_space:
                word = list(group)
                text = "".join(letter for _, letter in word)
                if MAY_BE_RAISED.search(text):
                    text = raise_digits([read_sign(self.textpage, place, letter) for place, letter in word])
                yield text, self._box(word[0][0]).left, self._box(word[-1][0]).right

    def _box(self, place: int) -> Box:
        rectangle = pdfium.FS_RECTF()
        pdfium.FPDFText_GetLooseCharBox(self.textpage, place, rectangle)
        return Box(rectangle.left, self.height - rectangle.top, rectangle.right, self.height - rectangle.bottom)

    def _size(self, place: int) -> float:
        """The size as it is drawn: that of the font is 1 where the matrix enlarges it."""
        matrix = pdfium.FS_MATRIX()
        pdfium.FPDFText_GetMatrix(self.textpage, place, matrix)
        scale = (matrix.c**2 + matrix.d**2) ** 0.5
        size: float = pdfium.FPDFText_GetFontSize(self.textpage, place)
        return round(size * (scale or 1.0), 1)


def _box_of_line(boxes: Sequence[Box], size: float) -> Box:
    """The box around some characters of a line; the box of a symbol may be as high as several lines."""
    usual = [box for box in boxes if box.height <= _HIGHEST_BOX * size] or boxes
    top, bottom = min(box.top for box in usual), max(box.bottom for box in usual)
    return Box(min(box.left for box in boxes), top, max(box.right for box in boxes), bottom)


def has_unnamed_letters(text: str) -> bool:
    """Whether the text of a page has ligatures by their codes in TeX's fonts: see ``_TEX_LETTERS``."""
    return _UNNAMED_LIGATURE.search(text) is not None


def _letters(codes: Sequence[int]) -> Iterator[str]:
    """The characters of a page; codes of TeX's fonts are letters where the page has ligatures by such codes."""
    if not has_unnamed_letters("".join(chr(code) if code < 0xD800 else " " for code in codes)):
        yield from map(_letter, codes)
        return
    for place, code in enumerate(codes):
        beside = codes[max(place - 1, 0) : place + 2]
        is_text = any(chr(other).isalnum() for other in beside if 0x20 < other < 0xD800)
        yield _TEX_LETTERS.get(code) or _letter(code) if is_text else _letter(code)


def _letter(code: int) -> str:
    """The character; ends of lines are one, and PDFium has a sign of its own for a hyphen that divides a word."""
    if code in (10, 13):
        return "\n"
    if code in _HYPHEN_CODES:
        return HYPHEN
    return chr(code) if 0x20 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else " "


# --- raised digits


@dataclass(frozen=True, slots=True)
class Sign:
    """A character: its size, and how high its base line is on the page."""

    text: str
    size: float
    height: float

    def is_above(self, other: Sign) -> bool:
        """Whether it is raised, where the other one is not."""
        return self.size < _SMALLER * other.size and self.height - other.height > _HIGHER * other.size


def raise_digits(signs: Sequence[Sign]) -> str:
    """The text of the characters of a word, with numbers in raised digits where they stand above a digit."""
    written, place = "", 0
    while place < len(signs):
        base, end = signs[place - 1], place
        if place and base.text.isdecimal():
            while end < len(signs) and signs[end].is_above(base):
                end += 1
        end = max(end, place + 1)
        run = "".join(sign.text for sign in signs[place:end])
        is_raised = place > 0 and base.text.isdecimal() and signs[place].is_above(base)
        written += raise_number(run.translate(_SIGNS)) if is_raised else run
        place = end
    return written


def read_sign(textpage: Any, place: int, text: str) -> Sign:
    """The character at a place of a page of PDFium. The size is that of its font as it is drawn."""
    matrix, x, y = pdfium.FS_MATRIX(), ctypes.c_double(), ctypes.c_double()
    pdfium.FPDFText_GetMatrix(textpage, place, matrix)
    pdfium.FPDFText_GetCharOrigin(textpage, place, x, y)
    scale = (matrix.c**2 + matrix.d**2) ** 0.5
    return Sign(text, pdfium.FPDFText_GetFontSize(textpage, place) * (scale or 1.0), y.value)


def find_raised(opened: OpenPdf, number: int, words: Iterable[tuple[str, Box]]) -> list[str]:
    """These words of a page with raised digits; a word that PDFium does not have there stays as it is."""
    page = opened.document[number - 1]
    try:
        height, textpage = page.get_height(), page.get_textpage()
        try:
            return [_raised(textpage, height, text, box) for text, box in words]
        finally:
            textpage.close()
    finally:
        page.close()


def _raised(textpage: Any, height: float, text: str, box: Box) -> str:
    step = (box.right - box.left) / max(len(text), 1)
    bottom = height - box.bottom
    first = pdfium.FPDFText_GetCharIndexAtPos(textpage, box.left + step / 2, bottom + step / 2, _ROOM, _ROOM)
    if first < 0 or len(text) > _LONGEST_WORD:
        return text
    last = min(first + len(text), textpage.count_chars())
    codes = [pdfium.FPDFText_GetUnicode(textpage, place) for place in range(first, last)]
    there = "".join(chr(code) if code < 0xD800 else " " for code in codes)
    if there.translate(_SIGNS) != text.translate(_SIGNS):
        return text
    return raise_digits([read_sign(textpage, first + place, sign) for place, sign in enumerate(text)])


# --- text that liteparse lost


class LostText:
    """Text of a page that liteparse does not give: PDFium has it, and no line of liteparse is there.

    liteparse leaves out some pieces of lines that have formulas; and a file that is written again without its
    hidden text may lose the bullets of its lists, so PDFium reads the file as it was.
    """

    def __init__(self, opened: OpenPdf, cleaned: bytes) -> None:
        self._is_changed = cleaned is not opened.data
        self._document = pypdfium2.PdfDocument(opened.data) if self._is_changed else opened.document

    def close(self) -> None:
        """Release the file, unless it is that of the caller."""
        if self._is_changed:
            self._document.close()

    def find(self, number: int, lines: Sequence[Line], *, has_hidden: bool) -> list[Line]:
        """The lost lines of a page; of one that has hidden text, too (``has_hidden``), only bullets.

        Raises ``NotForThisReader`` where the letters of liteparse are others than those that are printed.
        """
        page = self._document[number - 1]
        try:
            text = page.get_textpage()
            try:
                if has_unnamed_letters(text.get_text_range()):
                    raise NotForThisReader(f"page {number} has ligatures that their font does not name")
                found = list(_uncovered(text, page.get_height(), lines))
            finally:
                text.close()
        finally:
            page.close()
        return [line for line in found if line.text in BULLETS or not has_hidden]


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
