"""Dashes, minus signs and quotation marks as they are printed: liteparse writes them in ASCII, PDFium does not."""

from __future__ import annotations

import ctypes
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

from winnow.server.readers.pdf.document import OpenPdf
from winnow.server.readers.pdf.layout import Box
from winnow.server.readers.pdf_characters.letters import AS_ASCII, PRINTED, read_codes

_CODES = frozenset(map(ord, AS_ASCII))
# The codes of hyphens, which are the same sign in ASCII.
_HYPHENS = {0x2010: "-", 0x2011: "-"}


@dataclass(frozen=True, slots=True)
class _Sign:
    """A sign, and the middle of its place on the page."""

    x: float
    y: float
    text: str


def has_signs(text: str) -> bool:
    """Whether a text of liteparse may be printed with other signs."""
    return not PRINTED.keys().isdisjoint(text)


def find_printed(opened: OpenPdf, number: int, words: Sequence[tuple[str, Box]]) -> list[str]:
    """These words of a page as they are printed; one whose signs PDFium does not have there stays as it is."""
    if not words:  # to load a page costs most
        return []
    textpage, height = opened.texts.of(number)
    if not _has_printed(textpage):
        return [text for text, _ in words]
    signs = sorted(_find_signs(textpage, height), key=lambda sign: sign.y)
    heights = [sign.y for sign in signs]
    return [_print(text, _within(box, signs, heights)) for text, box in words]


def _has_printed(textpage: Any) -> bool:
    text = textpage.get_text_range()
    return any(sign in text for signs in PRINTED.values() for sign in signs)


def _find_signs(textpage: Any, height: float) -> Iterator[_Sign]:
    area = pdfium.FS_RECTF()
    for place, code in enumerate(read_codes(textpage, textpage.count_chars())):
        if code in _CODES and pdfium.FPDFText_GetLooseCharBox(textpage, place, ctypes.byref(area)):
            sign = _HYPHENS.get(code, chr(code))
            yield _Sign((area.left + area.right) / 2, height - (area.top + area.bottom) / 2, sign)


def _within(box: Box, signs: Sequence[_Sign], heights: Sequence[float]) -> Sequence[_Sign]:
    """The signs in a box, from left to right."""
    level = signs[bisect_left(heights, box.top) : bisect_left(heights, box.bottom)]
    return sorted((sign for sign in level if box.left <= sign.x <= box.right), key=lambda sign: sign.x)


def _print(text: str, signs: Iterable[_Sign]) -> str:
    """The word with these signs, if they are its own from left to right."""
    printed = [sign.text for sign in signs]
    if [AS_ASCII[sign] for sign in printed] != [letter for letter in text if letter in PRINTED]:
        return text
    following = iter(printed)
    return "".join(next(following) if letter in PRINTED else letter for letter in text)
