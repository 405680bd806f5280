"""The size and the base line of text whose font states neither, such as the bitmap fonts of TeX: from its ink.

The box of such text is that of its ink, which depends on its letters. How far the letters of usual fonts reach is
known: those of Computer Modern above and below the base line, in sizes of the font.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

from winnow.server.readers.pdf.layout import Box

_LOW, _HIGH, _DIGIT, _BRACKET = 0.43, 0.69, 0.65, 0.75
_BELOW, _BELOW_BRACKET = 0.2, 0.25
_HIGH_LETTERS, _DESCENDING, _BRACKETS = (
    frozenset("bdfhiklt!?'\"&@#%"),
    frozenset("gjpqyQ,;"),
    frozenset("()[]{}|/\\$"),
)
# Sizes that differ by less than this factor are one.
_ONE_SIZE = 1.12
# In points: a run of text reaches beyond the sides of its box. The most runs of a page that are looked at.
_ROOM, _MOST_RUNS = 1.0, 2_000
# A line of text reaches so far above and below its base, in sizes.
_LINE_ABOVE, _LINE_BELOW = 0.75, 0.25


def ink_size(text: str, height: float) -> float:
    """The size of a font in which the ink of this text is as high."""
    return height / (_above(text) + _below(text))


def box_of_line(text: str, ink: Box, size: float) -> Box:
    """The box of a line of this text, whatever letters it has."""
    base = ink.bottom - _below(text) * size
    return Box(ink.left, base - _LINE_ABOVE * size, ink.right, base + _LINE_BELOW * size)


def find_runs(textpage: Any, height: float) -> Iterator[Box]:
    """The boxes of the first runs of text that PDFium has on a page."""
    left, top, right, bottom = (ctypes.c_double() for _ in range(4))
    for place in range(min(textpage.count_rects(), _MOST_RUNS)):
        pdfium.FPDFText_GetRect(textpage, place, left, top, right, bottom)
        yield Box(left.value, height - top.value, right.value, height - bottom.value)


def box_of_runs(box: Box, runs: Sequence[Box]) -> Box:
    """The height of the runs between the sides of a box that it overlaps; the box itself without any.

    liteparse states the box of a root too low, by the height of its sign.
    """
    within = [
        run
        for run in runs
        if run.top < box.bottom
        and box.top < run.bottom
        and box.left - _ROOM < run.left
        and run.right < box.right + _ROOM
    ]
    top, bottom = min((run.top for run in within), default=box.top), max((run.bottom for run in within), default=0)
    return Box(box.left, top, box.right, bottom or box.bottom)


def join_sizes(sizes: Sequence[tuple[float, int]]) -> list[float]:
    """The sizes, given with the number of letters: those near the usual one are it, others are rounded."""
    usual = round(median(size for size, count in sizes for _ in range(count)), 1)
    return [usual if usual / _ONE_SIZE < size < usual * _ONE_SIZE else float(round(size)) for size, _ in sizes]


def _above(text: str) -> float:
    if not _BRACKETS.isdisjoint(text):
        return _BRACKET
    if any(letter.isupper() or letter in _HIGH_LETTERS for letter in text):
        return _HIGH
    return _DIGIT if any(map(str.isdigit, text)) else _LOW


def _below(text: str) -> float:
    if not _BRACKETS.isdisjoint(text):
        return _BELOW_BRACKET
    return 0.0 if _DESCENDING.isdisjoint(text) else _BELOW
