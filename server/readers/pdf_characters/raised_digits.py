"""Numbers that stand above the digit before them, in raised digits: 10 with 9 above is not 109."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

from winnow.server.readers.pdf.document import OpenPdf
from winnow.server.readers.pdf.layout import Box
from winnow.server.text.markup.shaped_text import raise_number

# A word that may have a raised number.
MAY_BE_RAISED = re.compile(r"\d[-+\u2212\u2013]?\d")
# What is raised is smaller than this, and higher by more than this, in sizes of what it belongs to.
_SMALLER, _HIGHER = 0.87, 0.15
_LONGEST_WORD = 100
# In points: how far from its place a character is looked for.
_ROOM = 2.0
# The readers of PDF have different signs for a minus.
_SIGNS: Mapping[int, int] = MappingProxyType(str.maketrans("\u2212\u2013\u2010", "---"))


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


def drawn_size(opened: OpenPdf, number: int, box: Box) -> float:
    """The size in which the first letter in a box of a page is drawn; 0 where PDFium has none."""
    textpage, height = opened.texts.of(number)
    room = (box.bottom - box.top) / 4
    place = pdfium.FPDFText_GetCharIndexAtPos(textpage, box.left + room, height - box.middle, room, room)
    return read_sign(textpage, place, "").size if place >= 0 else 0.0


def find_raised(opened: OpenPdf, number: int, words: Iterable[tuple[str, Box]]) -> list[str]:
    """These words of a page with raised digits; a word that PDFium does not have there stays as it is."""
    textpage, height = opened.texts.of(number)
    return [_raised(textpage, height, text, box) for text, box in words]


def find_place(textpage: Any, height: float, text: str, box: Box) -> int:
    """The index of the first character of a word in a box of a page of PDFium; less than 0 without one."""
    if len(text) > _LONGEST_WORD:
        return -1
    step = (box.right - box.left) / max(len(text), 1)
    bottom = height - box.bottom
    place: int = pdfium.FPDFText_GetCharIndexAtPos(textpage, box.left + step / 2, bottom + step / 2, _ROOM, _ROOM)
    return place


def _raised(textpage: Any, height: float, text: str, box: Box) -> str:
    first = find_place(textpage, height, text, box)
    if first < 0:
        return text
    last = min(first + len(text), textpage.count_chars())
    codes = [pdfium.FPDFText_GetUnicode(textpage, place) for place in range(first, last)]
    there = "".join(chr(code) if code < 0xD800 else " " for code in codes)
    if there.translate(_SIGNS) != text.translate(_SIGNS):
        return text
    return raise_digits([read_sign(textpage, first + place, sign) for place, sign in enumerate(text)])
