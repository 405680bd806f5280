"""The lines of a page as PDFium finds them, with their cells, without hidden text."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

from winnow.server.readers.pdf.layout import Box
from winnow.server.readers.pdf.visibility import PageObjects
from winnow.server.readers.pdf_characters.letters import as_in_programs, has_shapes, read_codes, read_letters
from winnow.server.readers.pdf_characters.raised_digits import MAY_BE_RAISED, raise_digits, read_sign
from winnow.server.readers.pdf_characters.torn_words import HYPHEN

# A gap between two words that is wider than this, in sizes of the font, parts two cells.
CELL_GAP = 0.9
# In points: an edge of a letter that is as near to a place is at this place.
_AT_EDGE = 0.6
# In points: the word after a vertical line begins no farther from it.
BESIDE_BAR = 7.0
# What stands before the items of a list and is seldom anything else.
BULLETS = frozenset("•◦▪‣●■□➢✓▶►▸\uf0b7\uf0a7\uf06e\uf0d8")
_BOLD = 600
_BOLD_NAME = re.compile(r"bold|black|heavy|semibold|demi|CMBX|CMB\d|\bBX|SFBX|-Bd|-Medi(?:Ital)?\b", re.I)
# In sizes of the font.
_HIGHEST_BOX = 1.7
MOST_CHARS = 500_000
# In points: a smaller size is not the one in which a font is drawn. In sizes: how high its letters are, and how
# far lines reach above and below their base. In parts of a point: how exactly letters tell the size.
_SMALLEST, _LETTER, _ABOVE, _BELOW, _PARTS = 1.0, 0.69, 0.75, 0.25, 2
# Divides a word at the end of a line; within a line it is printed as a hyphen.
_SOFT_HYPHEN = 0xAD
# What the corners of a box are called in the encoding of their font: names of dingbats.
NAMES_OF_SHAPES = frozenset(map(chr, range(0x2701, 0x27C0))) | {"\u2605", "\u260e", "\u261b", "\u261e"}
# In bytes: the name of a font; PDF allows 127.
_LONGEST_FONT = 128
# How wide the letters of the usual fonts of one width are, in sizes; how exactly, and from how many letters on.
_ADVANCES, _ADVANCE_ROOM, _FEWEST_LETTERS = (0.525, 0.6), 0.012, 8
# Letters that are narrow, but in fonts of one width; how much widths differ there, and how many letters tell it.
_NARROW, _SPREAD, _TELLING = frozenset("iljtfr.,:;'!()|[]"), 1.03, 60


# A word, and where it begins and ends.
Word = tuple[str, float, float]


@dataclass(frozen=True, slots=True)
class Cell:
    """Words of a line without a wide gap, and where they begin and end; ``words`` are known of most cells."""

    text: str
    left: float
    right: float
    words: tuple[Word, ...] = ()

    def join(self, other: Cell, space: str = " ") -> Cell:
        """The cell of both, of which the other one is at the right."""
        words = (*self.words, *other.words) if self.words and other.words and space else ()
        return Cell(f"{self.text}{space}{other.text}", self.left, max(self.right, other.right), words)


@dataclass(frozen=True, slots=True)
class Line:
    """A line: its box, the size of its font in points, and its cells.

    ``is_mono``: all letters have one width; ``is_slanted``: all are in italics.
    """

    box: Box
    size: float
    is_bold: bool
    cells: tuple[Cell, ...]
    is_mono: bool = False
    is_slanted: bool = False

    @property
    def text(self) -> str:
        """The text of the line; ``HYPHEN`` is a hyphen at its end that divides a word."""
        return " ".join(cell.text for cell in self.cells)


def split_cells(words: Iterable[Word], size: float) -> Iterator[Cell]:
    """The words as cells, parted at the wide gaps."""
    cell: list[Word] = []
    for word in words:
        if cell and word[1] - cell[-1][2] > CELL_GAP * size:
            yield cell_of(cell)
            cell = []
        cell.append(word)
    if cell:
        yield cell_of(cell)


def cell_of(words: Sequence[Word]) -> Cell:
    """The cell of these words, of which there is one at least."""
    return Cell(" ".join(text for text, _, _ in words), words[0][1], words[-1][2], tuple(words))


def has_one_width(
    words: Sequence[Word],
    size: float,
    room: float = _ADVANCE_ROOM,
    fewest: int = _FEWEST_LETTERS,
) -> bool:
    """Whether the letters of all words are as wide as those of usual fonts of one width.

    Fewer than ``fewest`` letters tell nothing.
    """
    if sum(len(text) for text, _, _ in words) < fewest:
        return False
    widths = [(right - left) / max(len(text), 1) / max(size, 1) for text, left, right in words]
    return any(all(abs(width - usual) < room for width in widths) for usual in _ADVANCES)


def are_equally_wide(textpage: Any, places: Sequence[int]) -> bool:
    """Whether the first of these characters of a page of PDFium have one width, by the advances of their font."""
    rectangle, widths = pdfium.FS_RECTF(), []
    for place in places[:_TELLING]:
        pdfium.FPDFText_GetLooseCharBox(textpage, place, rectangle)
        widths.append(rectangle.right - rectangle.left)
    return not widths or max(widths) <= _SPREAD * min(widths)


def word_places(textpage: Any, box: Box, height: float) -> Iterator[int]:
    """The characters of the first word in a box of a page of PDFium, by index."""
    room = box.height / 4
    first = pdfium.FPDFText_GetCharIndexAtPos(textpage, box.left + room, height - box.middle, room, room)
    for place in range(first, textpage.count_chars()) if first >= 0 else ():
        if pdfium.FPDFText_GetUnicode(textpage, place) <= ord(" "):
            return
        yield place


def has_gap_at(textpage: Any, x: float, y: float, size: float) -> bool:
    """Whether no letter of a page of PDFium reaches over this place of a word."""
    return not any(
        left < x - _AT_EDGE and right > x + _AT_EDGE for left, right in _letters_at(textpage, x, y, size)
    )


def do_letters_touch_at(textpage: Any, x: float, y: float, size: float) -> bool:
    """Whether a letter of a page of PDFium ends at this place and another one begins there."""
    letters = [*_letters_at(textpage, x, y, size)]
    ends = any(abs(right - x) <= _AT_EDGE < right - left for left, right in letters)
    return ends and any(abs(left - x) <= _AT_EDGE < right - left for left, right in letters)


def _letters_at(textpage: Any, x: float, y: float, size: float) -> Iterator[tuple[float, float]]:
    """The left and right edges of the letter at a place, and of those beside it."""
    near = pdfium.FPDFText_GetCharIndexAtPos(textpage, x, y, size / 2, size / 2)
    area = pdfium.FS_RECTF()
    for place in range(max(near - 1, 0), min(near + 2, textpage.count_chars())) if near >= 0 else ():
        pdfium.FPDFText_GetLooseCharBox(textpage, place, area)
        yield area.left, area.right


def font_at(textpage: Any, box: Box, height: float) -> str:
    """The name of the font of the first character in a box of a page of PDFium; "" if there is none."""
    place = next(word_places(textpage, box, height), None)
    if place is None:
        return ""
    return font_of_letter(textpage, place)


def has_bold_name(font: str) -> bool:
    """Whether the name of a font says that it is bold."""
    return bool(_BOLD_NAME.search(font))


def font_of_letter(textpage: Any, place: int) -> str:
    """The name of the font of a character of a page of PDFium."""
    name, flags = ctypes.create_string_buffer(_LONGEST_FONT), ctypes.c_int()
    pdfium.FPDFText_GetFontInfo(textpage, place, name, _LONGEST_FONT, flags)
    return name.value.decode("utf-8", "replace")


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
        codes = read_codes(self.textpage, MOST_CHARS)
        line: list[tuple[int, str]] = []
        for place, letter in enumerate(read_letters(self.textpage, codes)):
            if codes[place] == _SOFT_HYPHEN and not self._ends_line(place, codes):
                letter = "-"
            if letter not in ("", "\n") and not self._is_hidden(place) and not self._is_shape(place, letter):
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

    def _is_shape(self, place: int, letter: str) -> bool:
        return letter in NAMES_OF_SHAPES and has_shapes(font_of_letter(self.textpage, place))

    def _line(self, signs: list[tuple[int, str]]) -> Iterator[Line]:
        """The line of these characters, unless there is nothing to see in it."""
        seen = [place for place, letter in signs if not letter.isspace() and letter != HYPHEN]
        if not seen:
            return
        first, last, middle = seen[0], seen[-1], seen[len(seen) // 2]
        size = max(self._size(place) for place in (first, middle, last))
        boxes = [self._box(place) for place in (first, middle, last)]
        if size <= _SMALLEST:
            size, box = self._drawn_size(seen, boxes)
        else:
            box = _box_of_line(boxes, size)
        bold = self._is_bold(middle)
        words = list(self._words(signs))
        if is_mono := self._is_mono(seen, words, size):
            words = [(as_in_programs(text), left, right) for text, left, right in words]
        yield Line(box, size, bold, tuple(split_cells(words, size)), is_mono)

    def _is_bold(self, place: int) -> bool:
        """Whether a letter is bold; a font that is not in the file has no weight but its name."""
        if pdfium.FPDFText_GetFontWeight(self.textpage, place) >= _BOLD:
            return True
        return has_bold_name(font_of_letter(self.textpage, place))

    def _is_mono(self, seen: Sequence[int], words: Sequence[Word], size: float) -> bool:
        """Whether all letters have one width: that of usual fonts, or one that narrow letters have, too."""
        text = "".join(word for word, _, _ in words)
        is_likely = len(text) >= _FEWEST_LETTERS and not _NARROW.isdisjoint(text) and any(map(str.isalpha, text))
        if not is_likely and not has_one_width(words, size):
            return False
        return are_equally_wide(self.textpage, seen)

    def _drawn_size(self, seen: Sequence[int], boxes: Sequence[Box]) -> tuple[float, Box]:
        """The size and box of a line by its highest letter: bitmap fonts of TeX state neither."""
        x, base, *edges = (ctypes.c_double() for _ in range(6))
        highest = 0.0
        for place in seen:
            pdfium.FPDFText_GetCharBox(self.textpage, place, *edges)
            pdfium.FPDFText_GetCharOrigin(self.textpage, place, x, base)
            if chr(pdfium.FPDFText_GetUnicode(self.textpage, place) & 0xFFFF).isalnum() or not highest:
                highest = max(highest, edges[3].value - base.value)
        size = max(round(highest / _LETTER * _PARTS) / _PARTS, _SMALLEST)
        pdfium.FPDFText_GetCharOrigin(self.textpage, seen[len(seen) // 2], x, base)
        middle = self.height - base.value
        left, right = min(box.left for box in boxes), max(box.right for box in boxes)
        return size, Box(left, middle - _ABOVE * size, right, middle + _BELOW * size)

    def _words(self, signs: list[tuple[int, str]]) -> Iterator[Word]:
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
