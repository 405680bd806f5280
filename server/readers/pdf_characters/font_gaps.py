"""Blanks between two fonts: before a name in a font of its own, too narrow for the parser of PDF."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from winnow.server.readers.pdf.document import OpenPdf
from winnow.server.readers.pdf.layout import Box
from winnow.server.readers.pdf.lines import font_of_letter
from winnow.server.readers.pdf_characters.ink_sizes import find_runs
from winnow.server.readers.pdf_characters.raised_digits import Sign, find_place, read_sign
from winnow.server.readers.pdf_characters.thin_gaps import edges_of, places_of
from winnow.server.text.forms.ideographs import IDEOGRAPHIC

# In sizes of the text: a blank in a tight line is 0.16 wide; letters of two fonts are no farther apart than 0.1,
# and the other letters of their word no farther than this share of the blank.
_NARROWEST, _OTHER_SHARE = 0.15, 0.5
# In sizes of the text: what is lower or higher is an index or an exponent.
_LEVEL = 0.1
# Between ideographs and other letters lines have gaps that are no blanks.
_LETTERS = re.compile(rf"(?:(?![{IDEOGRAPHIC}])[^\W\d_]){{2}}")
# In heights of the ink of two runs: how far apart runs may be that the parser takes for one word. A slanted letter
# reaches over its end.
_NEAREST, _FARTHEST = 0.05, 0.8
# In points: a place that is as near to the end of a word is not within it.
_WITHIN = 1.0

# Row of a page, in points -> the places across it between two runs of text.
Changes = Mapping[int, Sequence[float]]


def find_changes(opened: OpenPdf, number: int) -> Changes:
    """The places of a page between two runs of text, which may have two fonts, with a gap as narrow as a blank."""
    found: dict[int, list[float]] = defaultdict(list)
    for first, then in pairwise(find_runs(*opened.texts.of(number))):
        height = max(first.height, then.height)
        if _NEAREST * height < then.left - first.right < _FARTHEST * height:
            place = (first.right + then.left) / 2
            for row in range(int(max(first.top, then.top)), int(min(first.bottom, then.bottom)) + 1):
                found[row].append(place)
    return found


def words_over(item: Any, changes: Changes) -> Iterator[Any]:
    """The words of an item that reach over such a place."""
    places = changes.get(int(item.y + item.height / 2))
    if places and any(item.x < place < item.x + item.width for place in places):
        for word in item.words:
            left, right = word.x + _WITHIN, word.x + word.width - _WITHIN
            if any(left < place < right for place in places):
                yield word


def part_fonts(opened: OpenPdf, number: int, words: Iterable[tuple[str, Box]]) -> list[str]:
    """These words of a page with the blanks between letters of two fonts.

    A word that PDFium does not have there stays as it is.
    """
    textpage, height = opened.texts.of(number)
    return [_parted(textpage, height, text, box) for text, box in words]


def _parted(textpage: Any, height: float, text: str, box: Box) -> str:
    first = find_place(textpage, height, text, box)
    if first < 0:
        return text
    places = [*places_of(textpage, first, text)]
    if len(places) != len(text):
        return text
    edges = [edges_of(textpage, place) for place in places]
    fonts = [font_of_letter(textpage, place) for place in places]
    gaps = [then[0] - before[1] for before, then in pairwise(edges)]
    signs = [read_sign(textpage, place, sign) for place, sign in zip(places, text, strict=True)]
    within = max(
        (gap for gap, (font, then) in zip(gaps, pairwise(fonts), strict=True) if font == then), default=0.0
    )
    blanks = [
        font != then and gap > within / _OTHER_SHARE and _is_blank(gap, *pair)
        for gap, (font, then), pair in zip(gaps, pairwise(fonts), pairwise(signs), strict=True)
    ]
    return "".join(f"{sign} " if blank else sign for sign, blank in zip(text, [*blanks, False], strict=True))


def _is_blank(gap: float, before: Sign, then: Sign) -> bool:
    """Whether a gap between two signs is a blank between letters on one line."""
    is_level = abs(then.height - before.height) < _LEVEL * before.size
    return is_level and gap > _NARROWEST * before.size and bool(_LETTERS.fullmatch(before.text + then.text))
