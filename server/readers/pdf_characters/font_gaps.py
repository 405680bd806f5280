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
from winnow.server.readers.pdf_characters.raised_digits import find_place, read_sign
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
_NEAREST, _FARTHEST = 0.05, 0.5

# Row of a page, in points -> the places across it between two runs of text.
Changes = Mapping[int, Sequence[float]]


def find_changes(opened: OpenPdf, number: int) -> Changes:
    """The places of a page between two runs of text, which may have two fonts, with a gap as narrow as a blank."""
    found: dict[int, list[float]] = defaultdict(list)
    for first, then in pairwise(opened.texts.runs(number)):
        gap = then.left - first.right
        if gap > 0 and _NEAREST * (height := max(first.height, then.height)) < gap < _FARTHEST * height:
            middle = int((max(first.top, then.top) + min(first.bottom, then.bottom)) / 2)
            for row in (middle - 1, middle, middle + 1):
                found[row].append((first.right + then.left) / 2)
    return found


def words_over(item: Any, changes: Changes) -> Iterator[Any]:
    """The words of an item that have such a place between two letters."""
    places = changes.get(int(item.y + item.height / 2))
    if places and any(item.x < place < item.x + item.width for place in places):
        yield from (word for word in item.words if any(_is_between_letters(word, place) for place in places))


def _is_between_letters(word: Any, place: float) -> bool:
    """Whether a place is between two letters of a word, as far as the mean width of its signs tells."""
    if not word.x < place < word.x + word.width:
        return False
    text = word.text
    at = round((place - word.x) / word.width * len(text))
    return bool(_LETTERS.fullmatch(text, max(at - 1, 0), at + 1))


def part_fonts(opened: OpenPdf, number: int, words: Iterable[tuple[str, Box]]) -> list[str]:
    """These words of a page with the blanks between letters of two fonts.

    A word that PDFium does not have there stays as it is.
    """
    textpage, height = opened.texts.of(number)
    return [_parted(textpage, height, text, box) for text, box in words]


def _parted(textpage: Any, height: float, text: str, box: Box) -> str:
    first = find_place(textpage, height, text, box)
    places = [*places_of(textpage, first, text)] if first >= 0 else []
    if len(places) != len(text):
        return text
    edges = [edges_of(textpage, place) for place in places]
    gaps = [then[0] - before[1] for before, then in pairwise(edges)]
    least = _NARROWEST * read_sign(textpage, first, "").size
    if max(gaps, default=0.0) <= least:
        return text
    fonts = [font_of_letter(textpage, place) for place in places]
    is_change = [font != then for font, then in pairwise(fonts)]
    within = max((gap for gap, changes in zip(gaps, is_change, strict=True) if not changes), default=0.0)
    blanks = [
        changes and gap > max(least, within / _OTHER_SHARE) and _are_letters(textpage, places, text, at)
        for at, (gap, changes) in enumerate(zip(gaps, is_change, strict=True))
    ]
    return "".join(f"{sign} " if blank else sign for sign, blank in zip(text, [*blanks, False], strict=True))


def _are_letters(textpage: Any, places: Sequence[int], text: str, at: int) -> bool:
    """Whether a sign of a word and the next one are letters on one line."""
    before, then = (read_sign(textpage, place, "") for place in places[at : at + 2])
    is_level = abs(then.height - before.height) < _LEVEL * before.size
    return is_level and bool(_LETTERS.fullmatch(text, at, at + 2))
