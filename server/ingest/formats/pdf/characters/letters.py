"""The characters of a page from the codes that PDFium gives: ends of lines, hyphens, letters of TeX's fonts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from winnow.server.ingest.formats.pdf.torn_words import HYPHEN, HYPHENS

_HYPHEN_CODES = frozenset(map(ord, HYPHENS))
# Bitmap fonts of TeX (Type 3) do not name their letters: PDFium gives the codes of the encoding T1 (Cork), and
# liteparse letters of another encoding ("eftect" for "effect"). Brackets of formulas have some of these codes.
_TEX_LETTERS: Mapping[int, str] = MappingProxyType(
    {
        0x10: "\u201c",
        0x11: "\u201d",
        0x15: "\u2013",
        0x16: "\u2014",
        0x1B: "ff",
        0x1C: "fi",
        0x1D: "fl",
        0x1E: "ffi",
        0x1F: "ffl",
    }
)
_UNNAMED_LIGATURE = re.compile(r"[A-Za-z][\x1b-\x1f]|[\x1b-\x1f][a-z]")


def has_unnamed_letters(text: str) -> bool:
    """Whether the text of a page has ligatures by their codes in TeX's fonts: see ``_TEX_LETTERS``."""
    return _UNNAMED_LIGATURE.search(text) is not None


def read_letters(codes: Sequence[int]) -> Iterator[str]:
    """The characters of a page; codes of TeX's fonts are letters where the page has ligatures by such codes."""
    if not has_unnamed_letters("".join(chr(code) if code < 0xD800 else " " for code in codes)):
        yield from map(_letter, codes)
        return
    for place, code in enumerate(codes):
        beside = codes[max(place - 1, 0) : place + 2]
        is_text = any(chr(other).isalnum() for other in beside if 0x20 < other < 0xD800)
        yield _TEX_LETTERS.get(code) or _letter(code) if is_text else _letter(code)


def _letter(code: int) -> str:
    """The character; ends of lines are one, and PDFium has a sign of its own for a hyphen that divides a word."""
    if code in (10, 13):
        return "\n"
    if code in _HYPHEN_CODES:
        return HYPHEN
    return chr(code) if 0x20 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else " "
