"""Titles in the case of BibTeX, and the same titles in sentence case.

BibTeX files have English titles in title case ("Deep Learning for {NASA}"). Most BibTeX styles write them in lower
case, except the first word and the parts that braces protect. CSL has titles in sentence case, and its styles add
capitals where they need them. A title is therefore stored as its file has it, with the places that braces protect,
and is converted to sentence case for CSL styles and CSL-JSON. The rules are those of pandoc, except where these
would change the meaning of a title:

- A single letter keeps its case ("Vitamin C", "Part I"), except the article "A" before a word.
- A word with a capital inside keeps all its capitals, also after an apostrophe ("McDonald", "O'Reilly").
- After a full stop a word stays as it is: the full stop may be that of an abbreviation ("A vs. b").
- A word after a colon begins with a capital, even if it is the last word of the title.
- A title without a small letter stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

# Places of a text that keep their case: the first character of each place, and the character after its last.
Kept = tuple[tuple[int, int], ...]

_OPEN_SPAN, _CLOSE_SPAN = '<span class="nocase">', "</span>"
_SPAN = re.compile(f"{_OPEN_SPAN}|{_CLOSE_SPAN}")
_FORMULA = re.compile(r"(?<!\\)\$[^$]+\$")
_WORD_OR_SIGN = re.compile(r"\w+(?:['’]\w+)*|\W")
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_INSIDE_WORD = re.compile(r"[\w'’]")
_ENDS, _RAISING = ".?!:", "?!:"
# What may stand between the end of a sentence and the next word.
_OPENING, _CLOSING = "([{\"'“‘„‚«‹¿¡", "\"'”’»›"
_PLACE = re.compile(r"(\d{1,4})-(\d{1,4})")


def to_sentence_case(text: str, kept: Kept = ()) -> str:
    """The title in sentence case, with the markup of CSL around what keeps its case.

    >>> to_sentence_case("Deep Learning: A Survey for NASA and Bayes", ((37, 38),))
    'Deep learning: A survey for NASA and <span class="nocase">Bayes</span>'
    """
    case = _Case(has_case=any(map(str.islower, text)))
    return "".join(
        case.write(part, is_kept=is_kept) for part, is_kept in split_kept(text, _whole_words(text, kept))
    )


def split_kept(text: str, kept: Kept) -> Iterator[tuple[str, bool]]:
    """The parts of a text in order, each with whether it keeps its case."""
    at = 0
    for start, end in _joined(kept):
        yield text[at:start], False
        yield text[start:end], True
        at = end
    yield text[at:], False


def places_of_capitals(text: str) -> Kept:
    """The words of a title in sentence case that need braces in BibTeX, which would write them in lower case.

    A title of which most words need them, or that is in title case, needs them as a whole.
    """
    formulas = [found.span() for found in _FORMULA.finditer(text)]
    words = [found for found in _WORD.finditer(text) if not any(at <= found.start() < end for at, end in formulas)]
    cased = _SPAN.sub("", to_sentence_case(text))
    kept = [
        found.span()
        for found in words
        if cased[found.start() : found.end()] != found[0] or (found.start() and found[0] != found[0].lower())
    ]
    return ((0, len(text)),) if 2 * len(kept) > len(words) else tuple(kept)


def read_places(stated: str) -> Kept:
    """The places in a text like "28-32 37-38"; anything else in it is left out."""
    pairs = ((int(found[1]), int(found[2])) for found in _PLACE.finditer(stated))
    return tuple((start, end) for start, end in pairs if start < end)


def write_places(kept: Kept) -> str:
    """The places as ``read_places`` reads them."""
    return " ".join(f"{start}-{end}" for start, end in kept)


def _joined(kept: Iterable[tuple[int, int]]) -> Kept:
    """The places in order; places that overlap or touch are joined."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(kept):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(joined)


def _whole_words(text: str, kept: Kept) -> Kept:
    """The places with letters, each extended to whole words: "{B}ayes" is "Bayes".

    Small letters within a word are ignored, because they are in braces for their accents.
    """
    places = []
    for start, end in kept:
        is_within = bool(_INSIDE_WORD.match(text, end) or (start and _INSIDE_WORD.match(text, start - 1)))
        if not any(map(str.isalpha, text[start:end])) or (is_within and text[start:end].islower()):
            continue
        while start and _INSIDE_WORD.match(text, start) and _INSIDE_WORD.match(text, start - 1):
            start -= 1
        while _INSIDE_WORD.match(text, end - 1) and _INSIDE_WORD.match(text, end):
            end += 1
        places.append((start, min(end, len(text))))
    return _joined(places)


class _Case:
    """Writes the parts of one title in order, and keeps whether the next word begins a sentence."""

    def __init__(self, *, has_case: bool) -> None:
        self._has_case = has_case
        self._begins, self._raises = True, True
        self._ended = ""  # the sign directly before that ended a sentence

    def write(self, part: str, *, is_kept: bool) -> str:
        """The part in its final case."""
        if not part:
            return ""
        if is_kept:
            self._begins, self._ended = False, part[-1] if part[-1] in _ENDS else ""
            return f"{_OPEN_SPAN}{part}{_CLOSE_SPAN}"
        written, at = list[str](), 0
        for formula in _FORMULA.finditer(part):
            written += self._write_words(part[at : formula.start()])
            written.append(formula[0])
            self._ended, at = "", formula.end()
        return "".join((*written, *self._write_words(part[at:])))

    def _write_words(self, text: str) -> Iterator[str]:
        for found in _WORD_OR_SIGN.finditer(text):
            sign = found[0]
            if sign[0].isalnum() or len(sign) > 1:
                yield self._write_word(sign, text[found.end() : found.end() + 1])
                self._begins, self._ended = False, ""
                continue
            self._pass(sign)
            yield sign

    def _pass(self, sign: str) -> None:
        if sign.isspace() and self._ended:
            self._begins, self._raises = True, self._ended in _RAISING
            self._ended = ""
        elif sign in _ENDS:
            self._ended = sign
        elif not sign.isspace() and sign not in _CLOSING:
            self._begins, self._ended = self._begins and sign in _OPENING, ""

    def _write_word(self, word: str, following: str) -> str:
        if self._begins:
            is_raised = self._raises and word.islower() and _letters(word).isalpha()
            return word[0].upper() + word[1:] if is_raised else word
        is_symbol = len(word) == 1 and not (word == "A" and following.isspace())
        return word.lower() if self._has_case and _is_capitalized(word) and not is_symbol else word


def _is_capitalized(word: str) -> bool:
    """Whether the only capital of a word is its first letter, and the word has no digits."""
    rest = _letters(word[1:])
    return word[0].isupper() and (not rest or (rest.isalpha() and rest.islower()))


def _letters(word: str) -> str:
    """The word without its apostrophes."""
    return word.replace("'", "").replace("’", "")
