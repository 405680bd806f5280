"""The characters of a page from the codes that PDFium gives: ends of lines, hyphens, letters of TeX's fonts."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

from winnow.server.readers.pdf_characters.torn_words import HYPHEN, HYPHENS

_HIGH, _LOW = range(0xD800, 0xDC00), range(0xDC00, 0xE000)
_HYPHEN_CODES = frozenset(map(ord, HYPHENS))
# Bitmap fonts of TeX (Type 3) do not name their letters: PDFium gives the codes of the encoding T1 (Cork), and
# liteparse letters of another encoding ("eftect" for "effect"). Fonts of formulas have brackets for some codes.
# Fonts that have a name, as no bitmap font has, have codes of their own (27 is "fi" in Linux Libertine): liteparse
# finds their letters by names that PDFium does not know ("f_i").
TEX_LETTERS: Mapping[int, str] = MappingProxyType(
    dict(enumerate("\u2039\u203a\u201c\u201d\u201e\xab\xbb\u2013\u2014", 0x0E))
    | dict(enumerate(("\u0131", "\u0237", "ff", "fi", "fl", "ffi", "ffl"), 0x19))
    | dict(enumerate("ĂĄĆČĎĚĘĞĹĽŁŃŇŊŐŔŘŚŠŞŤŢŰŮŸŹŽŻĲİđ§ăąćčďěęğĺľłńňŋőŕřśšşťţűůÿźžżĳ¡¿£", 0x80))
    | {0xD7: "Œ", 0xDF: "SS", 0xF7: "œ", 0xFF: "ß"}  # the others from 0xC0 are those of Latin-1
)
# A font of text that has no ligature of its own may state its letters, but a control character is none.
_TEX_SIGNS: Mapping[int, str] = MappingProxyType(
    {code: letter for code, letter in TEX_LETTERS.items() if code < 0x20}
)
_UNKNOWN = "\ufffd"
# ASCII -> the signs that are printed for it, and each of them in ASCII. A hyphen is the same sign in both.
PRINTED: Mapping[str, str] = MappingProxyType(
    {"-": "\u2012\u2013\u2014\u2015\u2212", "'": "\u2018\u2019\u201a\u201b", '"': "\u201c\u201d\u201e\u201f"}
)
AS_ASCII: Mapping[str, str] = MappingProxyType(
    {sign: ascii for ascii, signs in PRINTED.items() for sign in (*signs, ascii)}
    | dict.fromkeys("\u2010\u2011", "-")
)
_IN_PROGRAMS = str.maketrans(dict(AS_ASCII))
_WORD = re.compile("[A-Za-z]{3}")
_UNNAMED_LIGATURE = re.compile(r"(?<=[A-Za-z])[\x1b-\x1f]|[\x1b-\x1f](?=[a-z])")


# Fonts of TeX that hold parts of lines and circles in the place of letters: the corners of a box, for example.
_SHAPES = re.compile(r"(?:[A-Z]{6}\+)?L(?:INE|CIRCLE)W?10", re.IGNORECASE)


def has_shapes(font: str) -> bool:
    """Whether the letters of a font of this name are parts of drawings, and no text."""
    return bool(_SHAPES.fullmatch(font))


def as_in_programs(text: str) -> str:
    """The text with the signs of a program, which has those of ASCII however they are printed."""
    return text.translate(_IN_PROGRAMS)


def read_codes(textpage: Any, most: int) -> list[int]:
    """The codes of the first characters of a page, at most so many.

    PDFium has two codes for a character beyond the first plane: here the first is that of the character.
    """
    count = min(textpage.count_chars(), most)
    codes = [pdfium.FPDFText_GetUnicode(textpage, place) for place in range(count)]
    for place, (high, low) in enumerate(pairwise(codes)):
        if high in _HIGH and low in _LOW:
            codes[place] = 0x10000 + ((high - _HIGH.start) << 10) + (low - _LOW.start)
    return codes


def has_unnamed_letters(textpage: Any, most: int) -> bool:
    """Whether a page has ligatures by their codes in TeX's bitmap fonts: see ``TEX_LETTERS``."""
    if not _UNNAMED_LIGATURE.search(textpage.get_text_range()):
        return False
    return any(not _has_name(textpage, place) for place in _ligatures(read_codes(textpage, most)))


def read_letters(textpage: Any, codes: Sequence[int]) -> Iterator[str]:
    """The characters of a page, "" for the second of two codes that are one.

    Codes of TeX's bitmap fonts are letters on a page that has ligatures by such codes.

    A ligature by a code of a font with a name is an unknown letter: which one it is, only the font says.
    """
    ligatures = {place: _has_name(textpage, place) for place in _ligatures(codes)}
    if all(ligatures.values()):
        yield from (_UNKNOWN if place in ligatures else _letter(code) for place, code in enumerate(codes))
    else:
        yield from _read_tex(textpage, codes, ligatures)


def _read_tex(textpage: Any, codes: Sequence[int], ligatures: Mapping[int, bool]) -> Iterator[str]:
    fonts = [_font_at(textpage, place) for place in range(len(codes))]
    of_tex = {fonts[place] for place, has_name in ligatures.items() if not has_name}
    letters = {font: TEX_LETTERS if font in of_tex else _TEX_SIGNS for font in _fonts_of_text(codes, fonts)}
    for place, (code, font) in enumerate(zip(codes, fonts, strict=True)):
        if ligatures.get(place):
            yield _UNKNOWN
        elif (letter := letters.get(font, {}).get(code)) and not _has_name(textpage, place):
            yield letter
        else:
            yield _letter(code)


def _font_at(textpage: Any, place: int) -> int:
    """The address of a character's font; 0 for a space or an end of line that PDFium has added."""
    written = pdfium.FPDFText_GetTextObject(textpage, place)
    font = pdfium.FPDFTextObj_GetFont(written) if written else None
    return ctypes.addressof(font.contents) if font else 0


def _fonts_of_text(codes: Sequence[int], fonts: Sequence[int]) -> frozenset[int]:
    """The fonts in which a word is written: those of formulas have single letters, and parts of signs for them."""
    text = "".join(chr(code) if code < 0x80 else " " for code in codes)
    words = (fonts[found.start() : found.end()] for found in _WORD.finditer(text))
    return frozenset(word[0] for word in words if word[0] and len(set(word)) == 1)


def _ligatures(codes: Sequence[int]) -> list[int]:
    """The places of ligatures that are codes, in a text of PDFium's codes."""
    text = "".join(chr(code) if code < 0xD800 else " " for code in codes)
    return [found.start() for found in _UNNAMED_LIGATURE.finditer(text)]


def _has_name(textpage: Any, place: int) -> bool:
    """Whether the font of a character has a name: a byte and the end of the name are two."""
    return bool(pdfium.FPDFText_GetFontInfo(textpage, place, None, 0, None) > 1)


def _letter(code: int) -> str:
    """The character; ends of lines are one, and PDFium has a sign of its own for a hyphen that divides a word."""
    if code in (10, 13):
        return "\n"
    if code in _HYPHEN_CODES:
        return HYPHEN
    if code in _LOW:
        return ""
    return chr(code) if 0x20 <= code <= 0x10FFFF and code not in _HIGH else " "
