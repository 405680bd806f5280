"""Thin spaces of formulas after a comma: a list "3, 5, 7" whose gaps are too narrow for the parser of PDF."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from statistics import median
from typing import Any

import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

from winnow.server.readers.pdf.document import OpenPdf
from winnow.server.readers.pdf.layout import Box
from winnow.server.readers.pdf_characters.raised_digits import find_place, read_sign

# A word that may have such a gap.
MAY_HAVE_GAP = re.compile(r"[,;]\w")
# In sizes of the text: TeX sets 0.17 after a comma of a formula, and less in a tight line. A comma of a number or
# an identifier has no gap at all.
_THINNEST = 0.1


def find_gaps(opened: OpenPdf, number: int, words: Iterable[tuple[str, Box]]) -> list[str]:
    """These words of a page with the spaces that are printed after commas.

    A word that PDFium does not have there stays as it is.
    """
    textpage, height = opened.texts.of(number)
    return [_spaced(textpage, height, text, box) for text, box in words]


def _spaced(textpage: Any, height: float, text: str, box: Box) -> str:
    first = find_place(textpage, height, text, box)
    if first < 0:
        return text
    places = [*places_of(textpage, first, text)]
    if len(places) != len(text):
        return text
    size = read_sign(textpage, first, "").size
    edges = [edges_of(textpage, place) for place in places]
    gaps = [then[0] - before[1] for before, then in pairwise(edges)]
    is_after = [sign in ",;" for sign in text[:-1]]
    usual = median([gap for gap, after in zip(gaps, is_after, strict=True) if not after] or [0.0])
    spaces = [
        after and gap - max(usual, 0.0) > _THINNEST * size for gap, after in zip(gaps, is_after, strict=True)
    ]
    return "".join(f"{sign} " if space else sign for sign, space in zip(text, [*spaces, False], strict=True))


def places_of(textpage: Any, first: int, text: str) -> Iterable[int]:
    """The characters of a word by index; PDFium adds spaces where it sees a gap."""
    place = first
    for sign in text:
        while place < textpage.count_chars() and pdfium.FPDFText_IsGenerated(textpage, place) == 1:
            place += 1
        if chr(max(pdfium.FPDFText_GetUnicode(textpage, place), 0) & 0xFFFF) != sign:
            return
        yield place
        place += 1


def edges_of(textpage: Any, place: int) -> tuple[float, float]:
    """The left and right edge of a character, with the room that its font gives it."""
    area = pdfium.FS_RECTF()
    pdfium.FPDFText_GetLooseCharBox(textpage, place, area)
    return area.left, area.right
