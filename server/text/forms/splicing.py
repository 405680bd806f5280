"""Texts with other characters in place of some, and the way back to the characters of the original."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from winnow.server.text.forms.normal_forms import normalize

MARKS = r"\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
# Letters with combining marks, syllables of several parts, Latin ligatures, and soft hyphens.
_COMPOSED = re.compile(rf"(?P<letter>[^\W_][{MARKS}]++|[\u1100-\u11ff]++)|[\ufb00-\ufb06]|\u00ad")
# The bytes in UTF-8 of what ``_COMPOSED`` changes. The class of first bytes comes first, as it is looked for fast.
_MAY_COMPOSE = re.compile(
    rb"[\xc2\xcc\xcd\xe1\xe2\xef](?:(?<=\xc2)\xad|(?<=\xcc)|(?<=\xcd)[\x80-\xaf]|(?<=\xe2)\x83[\x90-\xbf]"
    rb"|(?<=\xe1)(?:[\x84-\x87]|\xaa[\xb0-\xbf]|\xab|\xb7)|(?<=\xef)(?:\xac[\x80-\x86]|\xb8[\xa0-\xaf]))"
)


@dataclass(frozen=True, slots=True)
class SplicedText:
    """A text made from pieces of another one, and those pieces.

    Piece number n begins at ``starts[n]`` of this text and at ``origins[n]`` of the original. ``replaced[n]`` is
    the end of the characters that the piece replaces in the original, 0 for a copy.
    """

    text: str
    starts: Sequence[int]
    origins: Sequence[int]
    replaced: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The characters of the original that those from ``start`` to ``end`` (exclusive) stand for."""
        first, last = bisect_right(self.starts, start) - 1, bisect_right(self.starts, end - 1) - 1
        begin = self.origins[first] + (0 if self.replaced[first] else start - self.starts[first])
        stop = self.replaced[last] or self.origins[last] + end - self.starts[last]
        return begin, stop

    def place(self, at: int) -> int | None:
        """The place of this character of the original in the text; None within characters that are replaced."""
        piece = bisect_right(self.origins, at) - 1
        within = at - self.origins[piece]
        return None if self.replaced[piece] and within else self.starts[piece] + within

    def covering(self, start: int, end: int) -> tuple[int, int]:
        """The characters of this text that stand for those of the original from ``start`` to ``end`` (exclusive).

        A piece that replaces any of these characters is included as a whole.
        """
        first = bisect_right(self.origins, start) - 1
        last = max(bisect_right(self.origins, end - 1) - 1, first)
        begin = self.starts[first] + (0 if self.replaced[first] else start - self.origins[first])
        stop = self.starts[last + 1] if self.replaced[last] else self.starts[last] + end - self.origins[last]
        return begin, stop


def splice(text: str, replaced: Iterable[tuple[int, int, str]]) -> SplicedText:
    """A text with other characters in place of some: start, end and the new text of each, in order."""
    pieces: list[str] = []
    starts, origins, ends = [0], [0], [0]
    length = copied = 0
    for start, end, new in replaced:
        pieces += (text[copied:start], new)
        length += start - copied
        starts += (length, length + len(new))
        origins += (start, end)
        ends += (end, 0)
        length, copied = length + len(new), end
    pieces.append(text[copied:])
    # A long text has a piece for every few characters. An array takes four bytes for each number, a list forty.
    return SplicedText("".join(pieces), array("I", starts), array("I", origins), array("I", ends))


def may_compose(data: bytes) -> bool:
    """Whether ``compose`` may change this text in UTF-8: a cheap test."""
    return not data.isascii() and _MAY_COMPOSE.search(data) is not None


def compose(text: str) -> SplicedText:
    r"""The text in one form of Unicode: letters with their marks (NFC), ligatures as letters, no soft hyphens.

    >>> compose("Cafe\u0301 o\ufb03ce").text
    'Café office'
    """
    return splice(text, ((*found.span(), _composed(found)) for found in _COMPOSED.finditer(text)))


def _composed(found: re.Match[str]) -> str:
    if found["letter"]:
        return normalize("NFC", found[0])
    return "" if found[0] == "\u00ad" else normalize("NFKC", found[0])
