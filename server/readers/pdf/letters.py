"""The letters of a page as PDFium finds them, to see whether a page that was written again still has them."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Iterable, Iterator
from math import isfinite
from typing import Any

import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

# The codes of white space, and of what PDFium has no code for.
BLANKS = frozenset({0, *map(ord, " \t\r\n\v\f\xa0")})

Letter = tuple[int, float, float]


def letters_of(page: Any) -> list[Letter]:
    """The code and the place, in points, of each letter of a PDFium page, without blanks."""
    text = page.get_textpage()
    try:
        return [*_letters(text)]
    finally:
        text.close()


def count_places(letters: Iterable[Letter]) -> Counter[tuple[int, int, int]]:
    """The number of times that each letter stands at each place, which is rounded to points."""
    return Counter((code, round(x), round(y)) for code, x, y in letters)


def _letters(text: Any) -> Iterator[Letter]:
    x, y = ctypes.c_double(), ctypes.c_double()
    for place in range(text.count_chars()):
        code = pdfium.FPDFText_GetUnicode(text, place)
        if code not in BLANKS and pdfium.FPDFText_GetCharOrigin(text, place, x, y):
            is_placed = isfinite(x.value) and isfinite(y.value)
            yield (code, x.value, y.value) if is_placed else (code, 0.0, 0.0)
