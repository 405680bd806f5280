"""Draws a page of a PDF as a PNG file of bounded size, with the words of quotes marked in yellow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from winnow.server.models import WantedText
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.failures import NO_PAGE
from winnow.server.readers.page_pictures.marking import Edges, Mark, find_marks
from winnow.server.readers.page_pictures.png import COLOURS, MAX_PICTURE_BYTES, MAX_SIDE_PIXELS, write_png
from winnow.server.readers.pdf.document import check_magic, check_page_size, open_document

# Pixels for a point: A4 fills the longest side that there is, and a smaller page is not drawn larger than this.
_LARGEST_SCALE = 2.5
# A picture with too many bytes is drawn again, smaller by the square root of what is too much, and a bit more.
_MOST_TRIES, _MARGIN, _LEAST_STEP, _MOST_STEP = 6, 0.95, 0.5, 0.9
# What is marked is multiplied by this colour, so that black letters stay black.
_YELLOW = (255, 236, 92)
_AROUND_PIXELS = 1
# The palette keeps the upper 4 bits of red, green and blue.
_BITS, _SHADES = 4, 17
_ENCRYPTED = "encrypted: it opens only with a password, and none is kept after an ingest"


@dataclass(frozen=True, slots=True)
class MarkedPicture:
    """A page as a PNG file; for each text "exact", "closest" where its words differ, or "absent"."""

    data: bytes
    marks: tuple[str, ...]


def draw_page(file: BinaryIO, number: int, wanted: Sequence[WantedText]) -> MarkedPicture:
    """Draw a page, counted from 1. Raises ``UnreadableFile`` as ``open_pdf`` does, and for an absent page."""
    data = file.read()
    check_magic(data)
    document, _ = open_document(data, (), _ENCRYPTED)
    try:
        if not 1 <= number <= len(document):
            raise UnreadableFile(f"{NO_PAGE} {number}; it has {len(document)}")
        check_page_size(document, number - 1)
        page = document[number - 1]
        try:
            return _draw(page, wanted)
        finally:
            page.close()
    finally:
        document.close()


def _draw(page: Any, wanted: Sequence[WantedText]) -> MarkedPicture:
    scale = min(MAX_SIDE_PIXELS / max(page.get_size()), _LARGEST_SCALE)
    pixels = _render(page, scale)
    marks = find_marks(page, wanted, (pixels.shape[1], pixels.shape[0]))
    boxes = [box for mark in marks if mark for box in mark.boxes]
    share = 1.0
    for _ in range(_MOST_TRIES):
        _mark(pixels, boxes, share)
        data = _write(pixels)
        if len(data) <= MAX_PICTURE_BYTES:
            return MarkedPicture(data, tuple(map(_name, marks)))
        step = _MARGIN * math.sqrt(MAX_PICTURE_BYTES / len(data))
        share *= max(_LEAST_STEP, min(_MOST_STEP, step))
        pixels = _render(page, scale * share)
    raise UnreadableFile("page has too many colours for a small picture")


def _name(mark: Mark | None) -> str:
    if mark is None or not mark.boxes:
        return "absent"
    return "exact" if mark.is_exact else "closest"


def _render(page: Any, scale: float) -> NDArray[np.uint8]:
    """The page as rows of pixels, each red, green and blue."""
    bitmap = page.render(scale=scale, rev_byteorder=True, prefer_bgrx=True, maybe_alpha=False)
    try:
        pixels: NDArray[np.uint8] = bitmap.to_numpy()[:MAX_SIDE_PIXELS, :MAX_SIDE_PIXELS, :3].copy()
    finally:
        bitmap.close()
    return pixels


def _mark(pixels: NDArray[np.uint8], boxes: Sequence[Edges], share: float) -> None:
    """Multiply what is in the boxes, made smaller to this share, by yellow, once where boxes overlap."""
    is_marked = np.zeros(pixels.shape[:2], np.bool_)
    for box in boxes:
        left, top, right, bottom = (edge * share for edge in box)
        rows = slice(max(int(top) - _AROUND_PIXELS, 0), max(math.ceil(bottom) + _AROUND_PIXELS, 0))
        columns = slice(max(int(left) - _AROUND_PIXELS, 0), max(math.ceil(right) + _AROUND_PIXELS, 0))
        is_marked[rows, columns] = True
    pixels[is_marked] = (pixels[is_marked].astype(np.uint16) * np.array(_YELLOW, np.uint16) // 255).astype(
        np.uint8
    )


def _write(pixels: NDArray[np.uint8]) -> bytes:
    """The PNG file of the pixels, in the most frequent of their colours."""
    shades = (pixels.astype(np.uint16) + _SHADES // 2) // _SHADES
    keys = (shades[:, :, 0] << (2 * _BITS)) | (shades[:, :, 1] << _BITS) | shades[:, :, 2]
    counts = np.bincount(keys.ravel(), minlength=1 << (3 * _BITS))
    palette = _split(np.argsort(-counts, kind="stable")[:COLOURS])
    used = np.flatnonzero(counts)
    distances = ((_split(used)[:, None, :] - palette[None, :, :]) ** 2).sum(axis=2)
    numbers = np.zeros(len(counts), np.uint8)
    numbers[used] = distances.argmin(axis=1)
    height, width = keys.shape
    rows = np.zeros((height, width + 1), np.uint8)
    rows[:, 1:] = numbers[keys]
    return write_png(rows.tobytes(), width, height, (palette * _SHADES).astype(np.uint8).tobytes())


def _split(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """The red, green and blue of colours that are one number each."""
    return np.stack([keys >> (2 * _BITS), keys >> _BITS & (1 << _BITS) - 1, keys & (1 << _BITS) - 1], axis=1)
