"""A text in which quotes are looked for: the parts that may have a quote, folded as written and as displayed.

A quote is compared with the characters of a text, and with the text as a reader of its Markdown sees it
(``markdown_view``). The second comparison is needed because readers of PDF and other files write Markdown, so that
a sentence of a page may contain a fence, bars or signs of emphasis.

Three rules limit the folding:

* A text is folded only if it has each long word of the quote, whole or divided by a mark (``dividing``).
* Of a long text, only the parts that have all these words are folded. If the text or the quote does not allow
  that, the whole text is folded.
* Once the parts folded so far are together as long as the text, the whole text is folded, and further parts are
  taken from the result. Many quotes of a text therefore take little more time than folding the text once.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import filterfalse

from winnow.server.text.forms.markdown_view import STRUCK_OUT, fences_of, marks_of
from winnow.server.text.forms.normal_forms import normalize
from winnow.server.text.forms.splicing import SplicedText, splice
from winnow.server.text.quotes.dividing import PLAIN_LETTERS, has_all, places_of
from winnow.server.text.quotes.folding import SHAPED, fold

# A text of at most this many characters is folded as a whole.
_SHORT_CHARS = 8_000
# Characters on each side of a word of a quote, in addition to twice the length of the quote.
_MARGIN_CHARS = 1_500
# A part begins and ends at the border of a line, if there is a border within this many characters.
_LINE_CHARS = 4_000
# If the words of a quote stand in more places, or its parts are a larger share of the text, the whole text is
# folded.
_MOST_PLACES, _MOST_SHARE = 3_000, 0.5
_MOST_WORDS = 12
# Signs of a quote that may stand for other characters, or for a text that a reader does not see.
_REWRITTEN = re.compile(r"&#?\w{1,30};|~~|\[\^|```|<")
_ELLIPSIS = re.compile(r"\u2026|\.{3}|\. \. \.")
# Words of plain letters. A hyphen or a mark divides such a word at most once, so one half of the word stays whole.
_LONG_WORD = re.compile(rf"(?<![^\W_])[{PLAIN_LETTERS}]{{4,15}}(?![^\W_]|[\u0300-\u036f])")
# Letters that a single character (a ligature) may stand for, and characters that may stand for any ASCII letter.
_LIGATED, _WIDE = re.compile("f[fil]|st|ij|dz|[ln]j", re.IGNORECASE), re.compile(r"[\uff21-\uff5a]")
_WORD = re.compile(r"\w+")
# A comment within a line is short, or in one paragraph: what begins in the code of one page and ends in that of
# another is none.
_COMMENT_BEGINS = re.compile(r"(?P<line>^[ \t]{0,3})?<!--", re.MULTILINE)
_PARAGRAPH_ENDS = re.compile(r"\n[ \t]*+\n")
_LONGEST_COMMENT = 2_000
# Scripts without spaces between words: a part of a run of their characters can be a word.
UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]")


@dataclass(frozen=True, slots=True)
class Word:
    """A word: characters ``start`` to ``end`` of a text."""

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
    # The offset of the view in the text, and the offset of this part in the folded view.
    start: int
    first: int = 0
    last: int | None = None

    @cached_property
    def text(self) -> str:
        return self.folded.text[self.first : self.last]

    def cut(self, start: int, end: int) -> FoldedPart:
        """A part of this part: the one with these characters of the whole text."""
        first, last = self.folded.covering(*self.view.covering(start - self.start, end - self.start))
        return replace(self, first=first, last=last)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The characters of the whole text for which these characters of the folded part stand."""
        first, last = self.view.span(*self.folded.span(self.first + start, self.first + end))
        return self.start + first, self.start + last

    def before(self, at: int, chars: int) -> str:
        """The ``chars`` characters before place ``at`` of the folded part, as they were before folding."""
        end = self.folded.span(self.first + at, self.first + at + 1)[0]
        return self.view.text[max(end - chars, 0) : end]

    def after(self, at: int, chars: int) -> str:
        """The ``chars`` characters from place ``at`` of the folded part on, as they were before folding."""
        start = self.folded.span(self.first + at - 1, self.first + at)[1]
        return self.view.text[start : start + chars]

    def seen_at(self, at: int) -> int | None:
        """The place of a character of the whole text in the unfolded view; None for a character within a mark."""
        return self.view.place(at - self.start)

    @cached_property
    def words(self) -> Sequence[Word]:
        """The words of the folded part."""
        return split_words(self.text)


@dataclass(slots=True)
class _Effort:
    """The number of characters of a text that were folded in parts."""

    chars: int = 0


@dataclass(frozen=True)
class _WordIndex:
    """The starts of a text's words, in order; and for each word, in lower case, its indexes in that list."""

    starts: Sequence[int]
    numbers: Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class SourceText:
    """A text in which quotes are looked for. Its folded forms and indexes are computed on first use, then kept."""

    text: str
    _effort: _Effort = field(default_factory=_Effort, compare=False, repr=False)
    # Counts of words in the text, and in its lower case.
    _counts: dict[str, int] = field(default_factory=dict, compare=False, repr=False)
    _counts_lower: dict[str, int] = field(default_factory=dict, compare=False, repr=False)

    def parts(self, quote: str, omitted: int = 0, *, case: bool = True) -> Sequence[tuple[int, int]]:
        """The parts of the text that may have a quote: the whole text, or some of its lines.

        ``omitted`` characters may be left out at each ellipsis of the quote; ``case``: whether case matters.
        """
        whole = [(0, len(self.text))]
        words = () if _REWRITTEN.search(quote) else _long_words(quote if case else quote.lower())
        text, counts = (self.text, self._counts) if case else (self._lower, self._counts_lower)
        words = _rarest_first(words, text, counts)
        if not has_all(words, self._as_letters(text)):
            return ()
        certain = words if self._is_plain else () if self._is_wide else [*filterfalse(_LIGATED.search, words)]
        if not certain or len(text) <= _SHORT_CHARS or counts[certain[0]] > _MOST_PLACES:
            return whole
        places = places_of(certain[0], text)
        around = 2 * len(quote) + _MARGIN_CHARS + omitted * len(_ELLIPSIS.findall(quote))
        parts = list(self._join(places, around, words, text))
        return whole if sum(end - start for start, end in parts) > _MOST_SHARE * len(self.text) else parts

    def closest_part(self, wanted: Sequence[str], margin: int) -> FoldedPart | None:
        """The part around the most wanted words, with ``margin`` more on each side; None if there is none."""
        if len(self.text) <= _SHORT_CHARS:
            return self.as_seen(0, len(self.text))
        words = self._words
        first = _densest_window(wanted, words.numbers)
        if first is None:
            return None
        start = words.starts[max(first - margin, 0)]
        last = min(first + len(wanted) + margin, len(words.starts) - 1)
        return self.as_seen(self._line_before(start), self._line_after(words.starts[last]))

    def as_is(self, start: int, end: int) -> FoldedPart:
        """The part with the characters of the text, folded."""
        if (start, end) == (0, len(self.text)):
            return self._whole
        return (
            self._whole.cut(start, end)
            if self._is_worth_folding(start, end)
            else _part(self.text[start:end], start)
        )

    def as_seen(self, start: int, end: int) -> FoldedPart:
        """The part as a reader of its Markdown sees it, folded."""
        if (start, end) == (0, len(self.text)):
            return self._whole_seen
        return self._whole_seen.cut(start, end) if self._is_worth_folding(start, end) else self._seen(start, end)

    def as_written(self, start: int, end: int) -> FoldedPart:
        """The part as displayed, folded, but with signs of emphasis and code, which a page may have itself."""
        return self._seen(start, end, pairs=False)

    def _is_worth_folding(self, start: int, end: int) -> bool:
        """Whether to fold the whole text: the parts folded so far, with this one, are longer than the text."""
        if start < end:
            self._effort.chars += end - start
        return start < end and self._effort.chars > len(self.text)

    @cached_property
    def _lower(self) -> str:
        return lower(self.text)

    @cached_property
    def _words(self) -> _WordIndex:
        starts = array("I")
        numbers: dict[str, array[int]] = {}
        for number, (start, word) in enumerate(_each_word(self.text)):
            starts.append(start)
            folded = word.casefold()
            if (known := numbers.get(folded)) is None:
                numbers[folded] = array("I", (number,))
            else:
                known.append(number)
        return _WordIndex(starts, numbers)

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
        """The places of the comments of the text, as in HTML."""
        return list(_comments_of(self.text)) if "<!--" in self.text else ()

    @cached_property
    def _is_plain(self) -> bool:
        """Whether words are written without ligatures, invisible hyphens and other special forms of letters."""
        return self.text.isascii() or not SHAPED.search(self.text)

    @cached_property
    def _is_wide(self) -> bool:
        """Whether the text has letters of full width, which may stand for ASCII letters."""
        return _WIDE.search(self.text) is not None

    def _as_letters(self, part: str) -> str:
        """A part of the text, or of its lower case, with letters in place of ligatures and other shapes."""
        return part if self._is_plain else normalize("NFKC", part)

    def _seen(self, start: int, end: int, *, pairs: bool = True) -> FoldedPart:
        found = marks_of(self.text, start, end, self._fences, pairs=pairs)
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
            if not has_all(words, self._as_letters(text[max(place - around, 0) : place + around])):
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


def _comments_of(text: str) -> Iterator[tuple[int, int]]:
    last = end = paragraph = 0
    for begin in _COMMENT_BEGINS.finditer(text):
        start = begin.end() - len("<!--")
        if start < last:
            continue
        if end < start + len("<!-->"):  # else the end that was found for an earlier beginning is the next one
            found = text.find("-->", start + len("<!"))
            if found < 0:
                return
            end = found + len("-->")
        if paragraph < start:
            blank = _PARAGRAPH_ENDS.search(text, start)
            paragraph = blank.start() if blank else len(text)
        if begin["line"] is not None or end - start <= _LONGEST_COMMENT or end <= paragraph:
            last = end
            yield start, end


def hidden_words(quote: str) -> list[str]:
    """The words that marks of a quote hide: struck-out text, and the text in the line of a fence."""
    marks = marks_of(quote, 0, len(quote), fences_of(quote), links=False)
    pieces = (quote[start:end].strip() for start, end, seen in marks if seen in ("", STRUCK_OUT))
    return [piece for piece in pieces if _WORD.search(piece) and not piece.startswith("[^")]


def fold_marked(text: str, *, pairs: bool = True) -> str:
    """A quote as its reader sees it, folded: without marks, but with its addresses and tags."""
    return fold(splice(text, marks_of(text, 0, len(text), fences_of(text), links=False, pairs=pairs)).text).text


def best_window(asked: Sequence[str], there: Sequence[Word]) -> int | None:
    """The index of the first word of the window with the most words of the quote; None if no word is there.

    The window is as long as the quote.
    """
    numbers: dict[str, list[int]] = {}
    for number, word in enumerate(there):
        numbers.setdefault(word.folded, []).append(number)
    return _densest_window(asked, numbers)


def _densest_window(asked: Sequence[str], numbers: Mapping[str, Sequence[int]]) -> int | None:
    """As ``best_window``, with the indexes of each word in the text as ``numbers``."""
    wanted, size = Counter(asked), len(asked)
    there = sorted((number, word) for word in wanted for number in numbers.get(word, ()))
    # How many of each word the window lacks; below 0 where it has more than are asked for.
    lacking = dict(wanted)
    score = best = gone = 0
    first = None
    for last, word in there:
        score += lacking[word] > 0
        lacking[word] -= 1
        while there[gone][0] <= last - size:
            left = there[gone][1]
            lacking[left] += 1
            score -= lacking[left] > 0
            gone += 1
        if score > best:
            best, first = score, max(last - size + 1, 0)
    return first


def lower(text: str) -> str:
    """The text in lower case, with the same length: a letter whose lower case is longer stays."""
    changed = text.lower()
    if len(changed) == len(text):
        return changed
    return "".join(each if len(each.lower()) > 1 else each.lower() for each in text)


def split_words(text: str) -> list[Word]:
    """The words of a text; in scripts without spaces, each character is a word."""
    return [Word(start, start + len(word), word) for start, word in _each_word(text)]


def _each_word(text: str) -> Iterator[tuple[int, str]]:
    """The start of each word of a text, and the word."""
    for found in _WORD.finditer(text):
        word = found[0]
        if not word.isascii() and UNSPACED.search(word):
            yield from enumerate(word, found.start())
        else:
            yield found.start(), word


def _rarest_first(words: Sequence[str], text: str, counts: dict[str, int]) -> Sequence[str]:
    """The words, the rarest in the text first; ``counts`` are the counts known so far, and are extended."""
    for word in words:
        if word not in counts:
            counts[word] = text.count(word)
    return sorted(words, key=lambda word: (counts[word], word))


def _part(text: str, start: int) -> FoldedPart:
    return FoldedPart(fold(text), splice(text, ()), start)


def _long_words(quote: str) -> Sequence[str]:
    words = dict.fromkeys(_LONG_WORD.findall(quote))
    return sorted(words, key=len, reverse=True)[:_MOST_WORDS]
