"""Pages whose text is upright, and whose lower left corner is at the origin.

The text that PDFium finds has the coordinates of the file. There a page may lie on its side until a viewer turns
it (``/Rotate``), and its visible part may begin anywhere (``/CropBox``, ``/MediaBox``).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from math import dist, pi
from typing import Any

import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

# So many characters show how the text of a page is turned; in radians, it may be askew.
_SHOWN, _ASKEW = 400, 0.1
# In points: a letter that was moved is no farther from where it should be.
_NEAR = 1.0

_Place = tuple[float, float]
_Matrix = tuple[float, float, float, float, float, float]


class SharedContents(Exception):
    """Pages share their contents, so that what moves one of them moves the others, too."""


@dataclass(frozen=True, slots=True)
class _Move:
    """A page, the matrix that makes it upright, its size then, and the place of its first letter before."""

    place: int
    matrix: _Matrix
    size: tuple[float, float]
    letter: _Place | None


def set_upright(document: Any) -> bool:
    """Turn and move the pages of a PDFium document that need it; whether there were any.

    Raises ``SharedContents``, with some pages moved.
    """
    moves = [move for place in range(len(document)) if (move := _find_move(document, place)) is not None]
    for move in moves:
        _apply(document, move)
        if move.letter is not None and not _is_moved(document, move):
            raise SharedContents
    return bool(moves)


def _find_move(document: Any, place: int) -> _Move | None:
    page = document[place]
    try:
        (left, bottom, right, top), turn = page.get_bbox(), page.get_rotation()
        if turn == 0 and (left, bottom) == (0.0, 0.0):
            return None
        text = page.get_textpage()
        try:
            turn = 0 if turn and _is_upright(text) else turn
            letter = next(_letter_places(text), None)
        finally:
            text.close()
    finally:
        page.close()
    size = (top - bottom, right - left) if turn in (90, 270) else (right - left, top - bottom)
    return _Move(place, _matrix(turn, left, bottom, right, top), size, letter)


def _apply(document: Any, move: _Move) -> None:
    page = document[move.place]
    try:
        pdfium.FPDFPage_TransFormWithClip(page, ctypes.byref(pdfium.FS_MATRIX(*move.matrix)), None)
        pdfium.FPDFPage_TransformAnnots(page, *move.matrix)
        page.set_rotation(0)
        page.set_mediabox(0, 0, *move.size)
        page.set_cropbox(0, 0, *move.size)
    finally:
        page.close()


def _is_moved(document: Any, move: _Move) -> bool:
    """Whether a letter of the page now stands where the first one should be. A turn changes their order."""
    page = document[move.place]
    try:
        text = page.get_textpage()
        try:
            places = [*_letter_places(text)]
        finally:
            text.close()
    finally:
        page.close()
    (x, y), (a, b, c, d, e, f) = move.letter or (0.0, 0.0), move.matrix
    expected = (a * x + c * y + e, b * x + d * y + f)
    return any(dist(place, expected) < _NEAR for place in places)


def _letter_places(text: Any) -> Iterator[_Place]:
    """The places of characters, without blanks that PDFium adds."""
    x, y = ctypes.c_double(), ctypes.c_double()
    for place in range(text.count_chars()):
        if pdfium.FPDFText_IsGenerated(text, place) == 0 and pdfium.FPDFText_GetCharOrigin(text, place, x, y):
            yield x.value, y.value


def _is_upright(text: Any) -> bool:
    """Whether most of the text of a page is upright in the file, so that a viewer lays it on its side."""
    count = min(text.count_chars(), _SHOWN)
    angles = [pdfium.FPDFText_GetCharAngle(text, place) for place in range(count)]
    upright = [angle for angle in angles if 0 <= angle % (2 * pi) < _ASKEW]
    return len(upright) * 2 > len(angles)


def _matrix(turn: int, left: float, bottom: float, right: float, top: float) -> _Matrix:
    """The matrix of PDF that turns a box clockwise by so many degrees and moves its corner to the origin."""
    return {
        0: (1, 0, 0, 1, -left, -bottom),
        90: (0, -1, 1, 0, -bottom, right),
        180: (-1, 0, 0, -1, right, top),
        270: (0, 1, -1, 0, top, -left),
    }[turn]
