"""A text in which quotes are looked for: parts of it that may have a quote, folded as it is and as it is seen.

A quote is compared with the characters of a text, and with the text as a reader of its Markdown sees it
(``markdown_view``): readers of PDF and other files write Markdown, so what stands on a page may have a fence, bars
or signs of emphasis within a sentence. Of a long text only the parts are folded that have half of each long word
of the quote; where a text or a quote does not allow that, all of it is folded.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from winnow.server.quotes.folding import SHAPED, fold
from winnow.server.text.forms.markdown_view import fences_of, marks_of
from winnow.server.text.forms.splicing import SplicedText, splice

# A text of so many characters is folded whole.
_SHORT_CHARS = 8_000
# Around a word of a quote, beside twice the length of the quote.
_MARGIN_CHARS = 1_500
# A part begins and ends at the border of a line, if there is one within so many characters.
_LINE_CHARS = 4_000
# If the words of a quote stand in more places, or its parts take more of the text, all of it is folded.
_MOST_PLACES, _MOST_SHARE = 3_000, 0.5
_MOST_WORDS = 12
_ELLIPSIS = re.compile(r"\u2026|\.{3}|\. \. \.")
# Words of ASCII letters: a hyphen or a mark divides one in two at most, one half of which is whole.
_LONG_WORD = re.compile(r"(?<![^\W_])[A-Za-z]{4,15}(?![^\W_]|[\u0300-\u036f])")
_WORD = re.compile(r"\w+")
_COMMENT = re.compile(r"<!--(?:(?!<!--).){0,2000}?-->", re.DOTALL)
# Scripts without spaces between words: a part of a run of their characters can be a word.
UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]")


@dataclass(frozen=True, slots=True)
class Word:
    """Characters ``start`` to ``end`` of a text are a word."""

    start: int
    end: int
    text: str

    @property
    def folded(self) -> str:
        return self.text.casefold()


@dataclass(frozen=True)
class FoldedPart:
    """A part of a text in a form in which quotes are compared, and the way back to the characters of the text."""

    folded: SplicedText
    view: SplicedText
    start: int

    @property
    def text(self) -> str:
        return self.folded.text

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The characters of the whole text that these of the folded part stand for."""
        first, last = self.view.span(*self.folded.span(start, end))
        return self.start + first, self.start + last

    def before(self, at: int, chars: int) -> str:
        """So many characters before this one of the folded part, as they were before folding."""
        end = self.folded.span(at, at + 1)[0]
        return self.view.text[max(end - chars, 0) : end]

    def after(self, at: int, chars: int) -> str:
        """So many characters from this one of the folded part on, as they were before folding."""
        start = self.folded.span(at - 1, at)[1]
        return self.view.text[start : start + chars]

    def seen_at(self, at: int) -> int | None:
        """Where this character of the whole text is in the view, unfolded; None for one within a mark."""
        return self.view.place(at - self.start)

    @cached_property
    def words(self) -> Sequence[Word]:
        """The words of the folded part."""
        return split_words(self.text)


@dataclass(frozen=True)
class SourceText:
    """A text in which quotes are looked for. What is computed of it is kept, and only if it is used."""

    text: str

    def parts(self, quote: str, omitted: int = 0, *, case: bool = True) -> Sequence[tuple[int, int]]:
        """The parts of the text that may have a quote: all of it, or some of its lines.

        ``omitted`` characters may be left out at each ellipsis of the quote; ``case``: whether case matters.
        """
        whole = [(0, len(self.text))]
        words = _long_words(quote if case else quote.lower())
        if len(self.text) <= _SHORT_CHARS or not self._is_plain or not words:
            return whole
        text = self.text if case else self._lower
        places = _rarest_places(words, text)
        if places is None:
            return whole
        around = 2 * len(quote) + _MARGIN_CHARS + omitted * len(_ELLIPSIS.findall(quote))
        parts = list(self._join(places, around, words, text))
        return whole if sum(end - start for start, end in parts) > _MOST_SHARE * len(self.text) else parts

    def closest_part(self, wanted: Sequence[str], margin: int) -> FoldedPart | None:
        """The part around the words that are most of those wanted, and so many more; None if none is there."""
        if len(self.text) <= _SHORT_CHARS:
            return self.as_seen(0, len(self.text))
        first = _densest_window(wanted, self._numbers_of_words)
        if first is None:
            return None
        start = self._starts_of_words[max(first - margin, 0)]
        last = min(first + len(wanted) + margin, len(self._starts_of_words) - 1)
        return self.as_seen(self._line_before(start), self._line_after(self._starts_of_words[last]))

    def as_is(self, start: int, end: int) -> FoldedPart:
        """The part with the characters of the text, folded."""
        if (start, end) == (0, len(self.text)):
            return self._whole
        return _part(self.text[start:end], start)

    def as_seen(self, start: int, end: int) -> FoldedPart:
        """The part as a reader of its Markdown sees it, folded."""
        return self._whole_seen if (start, end) == (0, len(self.text)) else self._seen(start, end)

    @cached_property
    def _lower(self) -> str:
        return lower(self.text)

    @cached_property
    def _starts_of_words(self) -> Sequence[int]:
        return array("L", (word.start for word in split_words(self.text)))

    @cached_property
    def _numbers_of_words(self) -> Mapping[str, Sequence[int]]:
        """The numbers of the words of the text, by word in lower case."""
        found: dict[str, array[int]] = {}
        for number, word in enumerate(split_words(self.text)):
            found.setdefault(word.folded, array("L")).append(number)
        return found

    @cached_property
    def _whole(self) -> FoldedPart:
        return _part(self.text, 0)

    @cached_property
    def _whole_seen(self) -> FoldedPart:
        return self._seen(0, len(self.text))

    @cached_property
    def _fences(self) -> Sequence[tuple[int, int, int, int]]:
        return fences_of(self.text)

    @cached_property
    def comments(self) -> Sequence[tuple[int, int]]:
        """Where the comments of the text are, as in HTML."""
        return [found.span() for found in _COMMENT.finditer(self.text)] if "<!--" in self.text else ()

    @cached_property
    def _is_plain(self) -> bool:
        """Whether words of ASCII letters are written in these: without ligatures and invisible hyphens."""
        return self.text.isascii() or not SHAPED.search(self.text)

    def _seen(self, start: int, end: int) -> FoldedPart:
        found = marks_of(self.text, start, end, self._fences)
        marks = ((first - start, last - start, new) for first, last, new in found)
        view = splice(self.text[start:end], marks)
        return FoldedPart(fold(view.text), view, start)

    def _join(
        self, places: Sequence[int], around: int, words: Sequence[str], text: str
    ) -> Iterator[tuple[int, int]]:
        """The parts around these places that have all the words."""
        last_end = -1
        start = end = 0
        for place in places:
            if not _has_all(words, text[max(place - around, 0) : place + around]):
                continue
            first, last = self._line_before(max(place - around, 0)), self._line_after(place + around)
            if first > last_end:
                if last_end >= 0:
                    yield start, end
                start = first
            end = last_end = max(last, last_end)
        if last_end >= 0:
            yield start, end

    def _line_before(self, at: int) -> int:
        return self.text.rfind("\n", max(at - _LINE_CHARS, 0), at) + 1 or at

    def _line_after(self, at: int) -> int:
        found = self.text.find("\n", at, at + _LINE_CHARS)
        return found if found >= 0 else min(at, len(self.text))


def fold_marked(text: str) -> str:
    """A quote as its reader sees it, folded: without marks, with what addresses and tags it has."""
    return fold(splice(text, marks_of(text, 0, len(text), fences_of(text), links=False)).text).text


def best_window(asked: Sequence[str], there: Sequence[Word]) -> int | None:
    """The first word of the window, as long as the quote, with the most words of it; None if none has any."""
    numbers: dict[str, list[int]] = {}
    for number, word in enumerate(there):
        numbers.setdefault(word.folded, []).append(number)
    return _densest_window(asked, numbers)


def _densest_window(asked: Sequence[str], numbers: Mapping[str, Sequence[int]]) -> int | None:
    """The first word of the window, as long as what is asked for, with the most of its words, by their numbers."""
    wanted, size = Counter(asked), len(asked)
    there = sorted((number, word) for word in wanted for number in numbers.get(word, ()))
    held: Counter[str] = Counter()
    score = best = gone = 0
    first = None
    for last, word in there:
        held[word] += 1
        score += held[word] <= wanted[word]
        while there[gone][0] <= last - size:
            left = there[gone][1]
            score -= held[left] <= wanted[left]
            held[left] -= 1
            gone += 1
        if score > best:
            best, first = score, max(last - size + 1, 0)
    return first


def lower(text: str) -> str:
    """The text in lower case, as long as it is: a letter whose lower case is longer stays."""
    changed = text.lower()
    if len(changed) == len(text):
        return changed
    return "".join(each if len(each.lower()) > 1 else each.lower() for each in text)


def split_words(text: str) -> list[Word]:
    """The words of a text; of scripts without spaces, each character."""
    words: list[Word] = []
    for found in _WORD.finditer(text):
        if not found[0].isascii() and UNSPACED.search(found[0]):
            words += (Word(at, at + 1, text[at]) for at in range(found.start(), found.end()))
        else:
            words.append(Word(found.start(), found.end(), found[0]))
    return words


def _rarest_places(words: Sequence[str], text: str) -> Sequence[int] | None:
    """Where the halves of the word stand that is rarest in the text; None if they are too many to tell."""
    count, word = min((sum(map(text.count, set(_halves(word)))), word) for word in words)
    if count > _MOST_PLACES:
        return None
    return sorted(at for half in set(_halves(word)) for at in _find_all(half, text))


def _has_all(words: Sequence[str], near: str) -> bool:
    return all(any(half in near for half in _halves(word)) for word in words)


def _part(text: str, start: int) -> FoldedPart:
    return FoldedPart(fold(text), splice(text, ()), start)


def _long_words(quote: str) -> Sequence[str]:
    words = dict.fromkeys(_LONG_WORD.findall(quote))
    return sorted(words, key=len, reverse=True)[:_MOST_WORDS]


def _halves(word: str) -> tuple[str, str]:
    half = len(word) // 2
    return word[:half], word[-half:]


def _find_all(text: str, within: str) -> Iterator[int]:
    at = within.find(text)
    while at >= 0:
        yield at
        at = within.find(text, at + 1)
