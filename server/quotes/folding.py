"""Folds a text to the form in which quotes are compared, with a way back to its characters.

Equal after folding are texts that differ only in what copying, typesetting and page breaks change:

    of the text                                        folded
    white space of any kind and length                 one blank
    a hyphen within a word, also at the end of a line  nothing
    other hyphens, dashes and minus signs              "-", without white space around it; not before options
    quotation marks and apostrophes, single or double  "'", as a quote within a quote changes its marks
    ellipses                                           "..."
    ligatures, full widths, accents of several signs   the usual letters (NFC; NFKC where only shapes differ)

Case, digits, other punctuation and superscripts stay: they can change what a sentence says. Takes time in
proportion to the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

_MARKS = r"\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_DASHES = r"\-\u2010-\u2015\u2043\u2212\ufe58\ufe63\uff0d"
# Options of commands keep their hyphens: -f is not --f, nor part of the word before it.
_OPTION = r"(?<=\s)--?[^\W\d_]"
_HYPHENS = r"\-\u2010\u2011"
# Characters that differ from others in shape only: ligatures, Arabic letters by their position, full widths.
_SHAPES = (
    r"\u0132\u0133\u01c4-\u01cc\u01f1-\u01f3\ufb00-\ufb06\ufb13-\ufb17\ufb50-\ufdff\ufe70-\ufefc\uff01-\uff5e"
)
# One alternative for each row of the table. Most characters match none, and are copied.
_CHANGING = re.compile(
    rf"(?P<joint>(?:\u00ad|(?:(?<=[^\W\d_])|(?<=[{_MARKS}]))[{_HYPHENS}])(?:[^\S\n]*+\n\s*+)?+(?=[^\W\d_]))"
    rf"|(?P<dash>\s*+(?!{_OPTION})(?:[{_DASHES}]\s*+)++)"
    r"|(?P<space>[^\S ]\s*+| \s++)"
    r"|(?P<mark>``|''|[\"`\u00ab\u00b4\u00bb\u2018-\u201f\u2032\u2033\u2039\u203a\u301d-\u301f\uff02\uff07])"
    r"|(?P<dots>\u2026|\.(?:[^\S\n]\.){2})"
    rf"|(?P<shape>[{_SHAPES}])"
    rf"|(?P<accent>[^\W_][{_MARKS}]++|[\u1100-\u11ff]++)"
)


def _as(text: str) -> Callable[[str], str]:
    return lambda _: text


_FOLDED: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "joint": _as(""),
        "dash": _as("-"),
        "space": _as(" "),
        "mark": _as("'"),
        "dots": _as("..."),
        "shape": lambda text: unicodedata.normalize("NFKC", text),
        "accent": lambda text: unicodedata.normalize("NFC", text),
    }
)


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A folded text and the pieces that it was made from.

    Piece number n begins at ``starts[n]`` of the folded text and at ``origins[n]`` of the original.
    ``replaced[n]`` is the end of the characters that the piece replaces in the original, 0 for a copy.
    """

    text: str
    starts: tuple[int, ...]
    origins: tuple[int, ...]
    replaced: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The characters of the original that the folded ones from ``start`` to ``end`` (exclusive) stand for."""
        first, last = bisect_right(self.starts, start) - 1, bisect_right(self.starts, end - 1) - 1
        begin = self.origins[first] + (0 if self.replaced[first] else start - self.starts[first])
        stop = self.replaced[last] or self.origins[last] + end - self.starts[last]
        return begin, stop


def fold(text: str) -> FoldedText:
    r"""The folded form of a text.

    >>> fold("The “ﬁrst” infor-\nmation").text
    "The 'first' information"
    """
    pieces: list[str] = []
    starts, origins, replaced = [0], [0], [0]
    length = copied = 0
    for found in _CHANGING.finditer(text):
        kind = found.lastgroup or ""
        folded = _FOLDED[kind](found.group())
        pieces += (text[copied : found.start()], folded)
        length += found.start() - copied
        starts += (length, length + len(folded))
        origins += (found.start(), found.end())
        replaced += (found.end(), 0)
        length, copied = length + len(folded), found.end()
    pieces.append(text[copied:])
    return FoldedText("".join(pieces), tuple(starts), tuple(origins), tuple(replaced))
