"""Pages whose text is upright, and whose lower left corner is at the origin.

The text that PDFium finds has the coordinates of the file. There a page may lie on its side until a viewer turns
it (``/Rotate``), and its visible part may begin anywhere (``/CropBox``, ``/MediaBox``). PDFium moves a page by a
matrix before its contents. Contents that restore more states than they save undo it, and other pages that share
the contents are moved, too; so all letters are looked at afterwards.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import pi
from typing import Any

import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

from winnow.server.readers.pdf.letters import Letter, letters_of

# So many characters show how the text of a page is turned; in radians, it may be askew.
_SHOWN, _ASKEW = 400, 0.1
# In points: how far from its place a letter may be after the move, across and up.
_AROUND = tuple(product((-1, 0, 1), repeat=2))

_Matrix = tuple[float, float, float, float, float, float]
_UNMOVED: _Matrix = (1, 0, 0, 1, 0, 0)


@dataclass(frozen=True, slots=True)
class Move:
    """The matrix that makes a page upright and moves its corner to the origin, and the size of the page then."""

    matrix: _Matrix
    size: tuple[float, float]


def find_moves(document: Any) -> dict[int, Move]:
    """The pages of a PDFium document that are to be moved, by their places from 0."""
    moves = ((place, _find_move(document, place)) for place in range(len(document)))
    return {place: move for place, move in moves if move is not None}


def move_pages(document: Any, original: Any, moves: Mapping[int, Move]) -> bool:
    """Move pages of a document; whether all letters of all pages are where they should be then.

    ``original``: the same document, opened a second time.
    """
    for place, move in moves.items():
        _apply(document, place, move)
        if not _is_in_place(document, original, place, move.matrix):
            return False
    unmoved = (place for place in range(len(document)) if place not in moves)
    return all(_is_in_place(document, original, place, _UNMOVED) for place in unmoved)


def _find_move(document: Any, place: int) -> Move | None:
    page = document[place]
    try:
        (left, bottom, right, top), turn = page.get_bbox(), page.get_rotation()
        if turn == 0 and (left, bottom) == (0.0, 0.0):
            return None
        turn = 0 if turn and has_upright_text(page) else turn
    finally:
        page.close()
    size = (top - bottom, right - left) if turn in (90, 270) else (right - left, top - bottom)
    return Move(_matrix(turn, left, bottom, right, top), size)


def has_upright_text(page: Any) -> bool:
    """Whether most of the text of a page is upright in the file, so that a viewer lays it on its side."""
    text = page.get_textpage()
    try:
        count = min(text.count_chars(), _SHOWN)
        printed = [place for place in range(count) if pdfium.FPDFText_IsGenerated(text, place) == 0]
        angles = [pdfium.FPDFText_GetCharAngle(text, place) for place in printed]
    finally:
        text.close()
    upright = [angle for angle in angles if abs((angle + pi) % (2 * pi) - pi) < _ASKEW]
    return len(upright) * 2 > len(angles)


def _apply(document: Any, place: int, move: Move) -> None:
    page = document[place]
    try:
        pdfium.FPDFPage_TransFormWithClip(page, ctypes.byref(pdfium.FS_MATRIX(*move.matrix)), None)
        pdfium.FPDFPage_TransformAnnots(page, *move.matrix)
        page.set_rotation(0)
        page.set_mediabox(0, 0, *move.size)
        page.set_cropbox(0, 0, *move.size)
    finally:
        page.close()


def _is_in_place(document: Any, original: Any, place: int, matrix: _Matrix) -> bool:
    """Whether a page has the letters of the original page, and no others, where the matrix takes them."""
    a, b, c, d, e, f = matrix
    before = [(code, a * x + c * y + e, b * x + d * y + f) for code, x, y in _letters_at(original, place)]
    after = _letters_at(document, place)
    return _are_near(after, before) and _are_near(before, after)


def _letters_at(document: Any, place: int) -> list[Letter]:
    page = document[place]
    try:
        return letters_of(page)
    finally:
        page.close()


def _are_near(letters: Sequence[Letter], others: Iterable[Letter]) -> bool:
    """Whether each letter stands at one of the others, to a point or two."""
    places = {(code, round(x), round(y)) for code, x, y in others}
    away = {(code, round(x), round(y)) for code, x, y in letters} - places
    return all(any((code, x + right, y + up) in places for right, up in _AROUND) for code, x, y in away)


def _matrix(turn: int, left: float, bottom: float, right: float, top: float) -> _Matrix:
    """The matrix of PDF that turns a box clockwise by so many degrees and moves its corner to the origin."""
    return {
        0: (1, 0, 0, 1, -left, -bottom),
        90: (0, -1, 1, 0, -bottom, right),
        180: (-1, 0, 0, -1, right, top),
        270: (0, 1, -1, 0, top, -left),
    }[turn]
