"""Pages whose text is upright, and whose lower left corner is at the origin.

The text that PDFium finds has the coordinates of the file. There a page may lie on its side until a viewer turns
it (``/Rotate``), and its visible part may begin anywhere (``/CropBox``, ``/MediaBox``).
"""

from __future__ import annotations

import ctypes
from math import pi
from typing import Any

import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

# So many characters show how the text of a page is turned; in radians, it may be askew.
_SHOWN, _ASKEW = 400, 0.1


def set_upright(document: Any) -> bool:
    """Turn and move the pages of a PDFium document that need it; whether there were any."""
    return sum(_set_upright(document[place]) for place in range(len(document))) > 0


def _set_upright(page: Any) -> bool:
    try:
        box, turn = page.get_bbox(), page.get_rotation()
        if turn == 0 and box[:2] == (0.0, 0.0):
            return False
        if turn and _has_upright_text(page):
            turn = 0
        matrix = _matrix(turn, *box)
        pdfium.FPDFPage_TransFormWithClip(page, ctypes.byref(pdfium.FS_MATRIX(*matrix)), None)
        pdfium.FPDFPage_TransformAnnots(page, *matrix)
        width, height = box[2] - box[0], box[3] - box[1]
        size = (0, 0, height, width) if turn in (90, 270) else (0, 0, width, height)
        page.set_rotation(0)
        page.set_mediabox(*size)
        page.set_cropbox(*size)
        return True
    finally:
        page.close()


def _has_upright_text(page: Any) -> bool:
    """Whether most of the text of a page is upright in the file, so that a viewer lays it on its side."""
    text = page.get_textpage()
    try:
        count = min(text.count_chars(), _SHOWN)
        angles = [pdfium.FPDFText_GetCharAngle(text, place) for place in range(count)]
    finally:
        text.close()
    upright = [angle for angle in angles if 0 <= angle % (2 * pi) < _ASKEW]
    return len(upright) * 2 > len(angles)


def _matrix(turn: int, left: float, bottom: float, right: float, top: float) -> tuple[float, ...]:
    """The matrix of PDF that turns a box clockwise by so many degrees and moves its corner to the origin."""
    return {
        0: (1, 0, 0, 1, -left, -bottom),
        90: (0, -1, 1, 0, -bottom, right),
        180: (-1, 0, 0, -1, right, top),
        270: (0, 1, -1, 0, top, -left),
    }[turn]
