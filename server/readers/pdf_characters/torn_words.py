"""Mends words that were torn by a gap at a ligature ("Ef ficient") or divided at the end of a line.

The document's own words decide. Torn pieces are joined if the whole word stands elsewhere in the document, at
least as often, and the second piece is no word of it, or if the gap is between two "f" and neither piece stands
alone anywhere. A word within a line keeps its letters: "proofgeneral" in an address stays one word in a document
about "Proof-General".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from winnow.server.text.forms.normal_forms import normalize

# Stands for a hyphen at the end of a line, which divides a word or belongs to a compound.
HYPHEN = "\x02"
# The signs that PDFium has for it.
HYPHENS = ("\x02", "\ufffe", "\xad")
_DIVIDED = re.compile(rf"([^\W_]*){HYPHEN}([^\W_]*)")
# A word in capitals that was divided at the end of a line.
_CAPITALS = re.compile(r"\b([A-Z]{3,})-([A-Z]{3,})\b")
_WORD = re.compile(r"[^\W\d_]+")
_COMPOUND = re.compile(r"[^\W_]+-[^\W_]+")
_SHORTEST_PART = 3
# Of a piece that is a word of the document: so many letters, and so often. Shorter ones are syllables, too.
_SHORTEST_WORD, _FEWEST = 4, 3
# English words that make compounds with a hyphen, in front of a word and after one.
_BEFORE = frozenset({"non", "self", "well", "quasi", "pseudo", "cross"})
_AFTER = frozenset(
    {
        "aware",
        "based",
        "dependent",
        "independent",
        "defined",
        "known",
        "level",
        "like",
        "oriented",
        "readable",
        "related",
        "safe",
        "sensitive",
        "specific",
        "style",
        "wide",
    }
)
# The first piece ends within a ligature, or the second begins with one.
_TORN = re.compile(r"(?<![^\W\d_])([^\W\d_]*f(?= [fijlt])|[^\W\d_]+(?= f[fijl])) ([fijlt][^\W\d_]*)")
_EXPANDED = str.maketrans(
    {
        "\ufb00": "ff",
        "\ufb01": "fi",
        "\ufb02": "fl",
        "\ufb03": "ffi",
        "\ufb04": "ffl",
        "\ufb05": "st",
        "\ufb06": "st",
    }
)
# Fonts without letters with accents print the accent first. Within a word it belongs to the next letter.
_ACCENTS = {
    "\u00b4": "\u0301",
    "\u00a8": "\u0308",
    "\u02c6": "\u0302",
    "\u02dc": "\u0303",
    "\u02c7": "\u030c",
    "\u02d8": "\u0306",
    "\u02da": "\u030a",
    "\u00b8": "\u0327",
    "\u02dd": "\u030b",
    "\u02db": "\u0328",
}
_COMBINING = {**_ACCENTS, "`": "\u0300"}
_ACCENTED = re.compile(
    rf"(?:(?<=[^\W\d_])|(?<![^\s(])(?=[\u00a8\u02c7]))(?P<accent>[{''.join(_ACCENTS)}])"
    r"(?P<letter>[A-Za-z\u0131])"
)
# These are accents among others that stand before their letters; elsewhere they are quotation marks.
_LIKELY_ACCENTED = re.compile(
    r"(?:(?<=[^\W\d_])(?=`)|(?<![^\s(\u2019']))(?P<accent>[`\u00b4\u02c6])(?P<letter>[aeiouAEIOU\u0131])"
)


def expand_ligatures(text: str) -> str:
    """The letters of ligatures that a font has as one character, and those whose accent stands before them."""
    text = text.translate(_EXPANDED)
    if text.isascii():
        return text
    text, count = _ACCENTED.subn(_compose, text)
    return _LIKELY_ACCENTED.sub(_compose, text) if count else text


def _compose(found: re.Match[str]) -> str:
    """One letter for an accent and the letter after it, if there is one."""
    letter = "i" if found["letter"] == "ı" else found["letter"]
    composed = normalize("NFC", letter + _COMBINING[found["accent"]])
    return composed if len(composed) == 1 else found[0]


class Mender:
    """Mends torn words by the words of one document."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._whole: Counter[str] = Counter()
        self._torn: Counter[str] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._compounds: Counter[str] = Counter()
        for text in texts:
            # The pieces of a divided word are no words.
            small = _DIVIDED.sub(" ", text.casefold()) if HYPHEN in text else text.casefold()
            self._whole.update(_WORD.findall(small))
            if "-" in small:
                self._compounds.update(_COMPOUND.findall(small))
            self._pairs.update((first.casefold(), second.casefold()) for first, second in _TORN.findall(text))
        for pair, count in self._pairs.items():
            self._torn.update(dict.fromkeys(pair, count))
        self._words_after = self._find_words_after()
        self._firsts = Counter(word.split("-")[0] for word in self._compounds)

    def mend(self, text: str) -> str:
        """The text with its torn words joined."""
        text = _DIVIDED.sub(self._join_divided, text)
        return _CAPITALS.sub(self._join_capitals, _TORN.sub(self._join, text))

    def has_compound(self, first: str, second: str) -> bool:
        """Whether two pieces of a word have a hyphen between them wherever they stand.

        So they have if the document has them with one, and never as one word. If it has neither, they have it
        where both are words that it uses alone, or the first begins other compounds and the second is a word, or
        one of them is usual in compounds.
        """
        first, second = first.casefold(), second.casefold()
        if first + second in self._whole:
            return False
        if f"{first}-{second}" in self._compounds or f"{first}-{second.removesuffix('s')}" in self._compounds:
            return True
        if (first in _BEFORE and len(second) >= _SHORTEST_WORD) or (second in _AFTER and self._is_word(first)):
            return True
        if min(len(first), len(second)) < _SHORTEST_WORD or self._whole[second] < _FEWEST:
            return len(first) >= _SHORTEST_PART and self._firsts[first] >= _FEWEST and self._is_word(second)
        return self._whole[first] >= _FEWEST

    def _is_word(self, piece: str) -> bool:
        return len(piece) >= _SHORTEST_WORD and self._whole[piece] > 1

    def _find_words_after(self) -> frozenset[str]:
        """The second pieces that are words: half of the words before them join to none, as in "the file"."""
        others: Counter[str] = Counter()
        for first, second in self._pairs:
            others[second] += -1 if first + second in self._whole else 1
        return frozenset(second for second, count in others.items() if count >= 0)

    def _join(self, match: re.Match[str]) -> str:
        return match[1] + match[2] if self._is_torn(match[1], match[2]) else match[0]

    def _join_divided(self, match: re.Match[str]) -> str:
        return f"{match[1]}-{match[2]}" if self.has_compound(match[1], match[2]) else match[1] + match[2]

    def _join_capitals(self, match: re.Match[str]) -> str:
        whole = match[1] + match[2]
        return whole if whole.casefold() in self._whole else match[0]

    def _is_torn(self, written: str, second: str) -> bool:
        first, second = written.casefold(), second.casefold()
        words = self._stands_alone(first) + self._stands_alone(second)
        if whole := self._whole[first + second]:
            return words < 2 and second not in self._words_after and whole >= self._pairs[first, second]
        return words == 0 and first[-1] == second[0] == "f" and not (written.isupper() and len(written) > 1)

    def _stands_alone(self, piece: str) -> bool:
        return self._whole[piece] > self._torn[piece]
