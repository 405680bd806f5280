"""Words of plain letters in a text that may divide them: by a hyphen at the end of a line, or by marks.

A word that the text does not have whole is there if one half of it is, and stands beside a sign that folding or
the view of a reader may drop: "infor-" and a new line, "un**", "</b>able". A text without a word of a quote, whole
or so, has no place of the quote and need not be folded, which takes fifty times as long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

# Letters with one form in Unicode: no accent is a part of them, and ASCII ones alone are parts of ligatures.
PLAIN_LETTERS = r"A-Za-z\u0410-\u0418\u041a-\u0438\u043a-\u044f"
# What a mark or a hyphen within a word begins with: no white space, and no punctuation that stays.
_DIVIDER = rf"[^{PLAIN_LETTERS}0-9\s.,;:?'\"()/]"
_NO_LETTER = f"[^{PLAIN_LETTERS}0-9]"


def has_all(words: Sequence[str], text: str) -> bool:
    r"""Whether a text has all of these words, whole or divided; they have four letters or more.

    >>> has_all(["information"], "the infor-\nmation"), has_all(["information"], "to inform a nation")
    (True, False)
    """
    return all(word in text or any(part.search(text) for part in _divided(word)) for word in words)


def places_of(word: str, text: str) -> Sequence[int]:
    """Places of a word in a text, in order: the beginning of each whole one, and of a half of each divided one."""
    divided = (found.start() for part in _divided(word) for found in part.finditer(text))
    return sorted({*find_all(word, text), *divided})


def find_all(text: str, within: str) -> Iterator[int]:
    """The places of a text in another one, also where it overlaps itself."""
    at = within.find(text)
    while at >= 0:
        yield at
        at = within.find(text, at + 1)


@lru_cache(maxsize=512)
def _divided(word: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The first half of a word, and what follows of it, before a mark; the last half after one.

    Both begin with letters, which are found fast.
    """
    half = len(word) // 2
    more = ""
    for letter in reversed(word[half : len(word) - 1]):
        more = f"(?:{letter}{more})?"
    rests = "|".join(f"(?<={_NO_LETTER}{word[first:]})" for first in range(1, len(word) - half + 1))
    return re.compile(f"{word[:half]}{more}{_DIVIDER}"), re.compile(f"{word[-half:]}(?:{rests})")
