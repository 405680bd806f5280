"""Finds words of plain letters in a text, also where a hyphen at the end of a line or a mark divides them.

A text has a divided word if it has one half of the word, next to a sign that folding or the reader's view may
drop: "infor-" and a new line, "un**", "</b>able". If a text has a word of a quote neither whole nor divided, it
does not have the quote and need not be folded. Folding takes fifty times as long as this check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

# Letters with a single form in Unicode: they have no accents, and only the ASCII letters occur in ligatures.
PLAIN_LETTERS = r"A-Za-z\u0410-\u0418\u041a-\u0438\u043a-\u044f"
# The first character of a mark or a hyphen within a word: neither white space nor punctuation that folding keeps.
_DIVIDER = rf"[^{PLAIN_LETTERS}0-9\s.,;:?'\"()/]"
_NO_LETTER = f"[^{PLAIN_LETTERS}0-9]"


def has_all(words: Sequence[str], text: str) -> bool:
    r"""Whether a text has all of these words, whole or divided. Each word must have at least four letters.

    >>> has_all(["information"], "the infor-\nmation"), has_all(["information"], "to inform a nation")
    (True, False)
    """
    return all(word in text or any(part.search(text) for part in _divided(word)) for word in words)


def places_of(word: str, text: str) -> Sequence[int]:
    """The places of a word in a text, in order: the start of the word, or of a half of it where it is divided."""
    divided = (found.start() for part in _divided(word) for found in part.finditer(text))
    return sorted({*find_all(word, text), *divided})


def find_all(text: str, within: str) -> Iterator[int]:
    """The places of ``text`` in ``within``, overlapping places included."""
    at = within.find(text)
    while at >= 0:
        yield at
        at = within.find(text, at + 1)


@lru_cache(maxsize=512)
def _divided(word: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns for a divided word: its first half or more before a mark, and its last half or more after a mark.

    Both patterns begin with letters, which are found fast.
    """
    half = len(word) // 2
    more = ""
    for letter in reversed(word[half : len(word) - 1]):
        more = f"(?:{letter}{more})?"
    rests = "|".join(f"(?<={_NO_LETTER}{word[first:]})" for first in range(1, len(word) - half + 1))
    return re.compile(f"{word[:half]}{more}{_DIVIDER}"), re.compile(f"{word[-half:]}(?:{rests})")
