"""Finds a quote in a text, word for word; where it is not there, the part of the text that is closest to it.

Word for word means: equal after folding (``folding``), and not a part of a word. A quote may leave out text and
mark that with "…" or "[...]"; then each of its parts must stand there in order, and the number of characters left
out is known. Marks of omission, quotation marks and a full stop or comma around a quote do not count.

A quote that leaves out nothing and is not there so is looked for once more: a dash between letters may be a hyphen
in the text or the other way round, and a slash between letters may end a line. Readers of PDF write a hyphen for a
dash, and a blank for the end of a line.

The closest part is found by words, in any case: the window of the text with the most words of the quote, then the
words in common within it. It is evidence for a person or a model, never a verdict that the quote is right.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import Match, SequenceMatcher
from functools import cached_property
from itertools import islice, pairwise

from server.quotes.folding import FoldedText, fold

# Two parts of a quote that leaves out text are at most this far from each other.
MOST_OMITTED_CHARS = 2_000
# A text that is closest to a quote is an altered form of it if so much of the words of both are the same.
LEAST_LIKENESS = 0.6
# Words of a quote that are compared with a text; a longer quote is compared by its beginning.
_MOST_WORDS = 300
_MOST_DIFFERENCES = 5
# A quote that leaves out text more often, or whose first part stands in more places, is not looked for further.
_MOST_PARTS, _MOST_STARTS = 20, 2_000
# The closest text is looked for in a window that is so much longer than the quote, on each side.
_MARGIN, _LEAST_MARGIN = 4, 2

_OMISSION = re.compile(r"\s*(?:\[\s*\.{3,}\s*\]|\(\s*\.{3,}\s*\)|\.{3,})\s*")
# Where a folded quote has a dash or a slash between letters; the slash belongs to what stands before it.
_JOINT = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])|(?<=[^\W_]/) ?(?=[^\W\d_])")
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010\u2011]\s*(?=[^\W\d_])")
_DASH = "\u2014"
_AROUND = " \"'.,;:"
_WORD = re.compile(r"\w+")
# Scripts without spaces between words: a part of a run of their characters can be a word.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]")


@dataclass(frozen=True, slots=True)
class QuoteMatch:
    """A quote stands at characters ``start`` to ``end`` of a text; ``omitted`` of them are between its parts."""

    start: int
    end: int
    omitted: int = 0


@dataclass(frozen=True, slots=True)
class Difference:
    """Words of a quote, and those of the text in their place; "" for none."""

    quoted: str
    source: str


@dataclass(frozen=True, slots=True)
class ClosestText:
    """Characters ``start`` to ``end`` of a text are closest to a quote.

    ``likeness`` (0 to 1) is the share of the words of both that are the same and in the same order;
    ``differences`` are the first of the others, or of words in another case.
    """

    start: int
    end: int
    likeness: float
    differences: tuple[Difference, ...]

    @property
    def is_altered_quote(self) -> bool:
        """Whether the quote is an altered form of this text, rather than a text that is not there."""
        return self.likeness >= LEAST_LIKENESS


@dataclass(frozen=True, slots=True)
class _Word:
    start: int
    end: int
    text: str

    @property
    def folded(self) -> str:
        return self.text.casefold()


@dataclass(frozen=True)
class SourceText:
    """A text in which quotes are looked for; it is folded once, and only if it is used."""

    text: str

    @cached_property
    def folded(self) -> FoldedText:
        return fold(self.text)

    @cached_property
    def words(self) -> Sequence[_Word]:
        """The words of the folded text."""
        return _words(self.folded.text)


def has_words(quote: str) -> bool:
    """Whether a quote has anything to look for."""
    return bool(_parts(quote))


def has_omissions(quote: str) -> bool:
    """Whether a quote marks that it leaves out text between two of its words.

    >>> has_omissions("kept … ninety days"), has_omissions("… kept for ninety days")
    (True, False)
    """
    return len(_parts(quote)) > 1


def find_quote(quote: str, source: SourceText, most: int = 20) -> list[QuoteMatch]:
    """The places where a quote stands in a text, in its order, at most ``most``.

    >>> find_quote("kept … ninety days", SourceText("Backups are kept for ninety days."))
    [QuoteMatch(start=12, end=32, omitted=5)]
    """
    whole = fold(quote).text.strip(_AROUND)
    # A text may have an ellipsis of its own.
    return (
        _find_parts([whole], source, most)
        or _find_parts(_parts(quote), source, most)
        or list(islice(_find_joined(quote, source), most))
    )


def closest(quote: str, source: SourceText) -> ClosestText | None:
    """The part of a text that is closest to a quote, None where they have no word in common.

    >>> closest("kept for sixty days", SourceText("Backups are kept for ninety days.")).differences
    (Difference(quoted='sixty', source='ninety'),)
    """
    asked = _words(" ".join(_parts(quote)))[:_MOST_WORDS]
    wanted = [word.folded for word in asked]
    first = _best_window(wanted, [word.folded for word in source.words])
    if first is None:
        return None
    margin = len(asked) // _MARGIN + _LEAST_MARGIN
    near = source.words[max(first - margin, 0) : first + len(asked) + margin]
    blocks = _common_blocks(wanted, [word.folded for word in near])
    # Words before the first and after the last one in common have counterparts in the text, too.
    begin = max(blocks[0].b - blocks[0].a, 0)
    end = min(blocks[-1].b + len(asked) - blocks[-1].a, len(near))
    same = sum(block.size for block in blocks)
    start, stop = source.folded.span(near[begin].start, near[end - 1].end)
    differences = tuple(_differences(asked, near[begin:end]))
    return ClosestText(start, stop, 2 * same / (len(asked) + end - begin), differences)


def _parts(quote: str) -> list[str]:
    """The parts of a quote between its marks of omission, folded; [] for a quote without words."""
    parts = (part.strip(_AROUND) for part in _OMISSION.split(fold(quote).text))
    return [part for part in parts if _WORD.search(part)]


def _find_parts(parts: Sequence[str], source: SourceText, most: int) -> list[QuoteMatch]:
    found: list[QuoteMatch] = []
    if not parts or len(parts) > _MOST_PARTS or not _WORD.search(parts[0]):
        return found
    for start in islice(_occurrences(parts[0], source.folded.text, 0), _MOST_STARTS):
        match = _follow(parts, source, start)
        if match is not None:
            found.append(match)
        if len(found) == most:
            break
    return found


def _follow(parts: Sequence[str], source: SourceText, start: int) -> QuoteMatch | None:
    """The match whose first part begins at ``start``, if the others follow."""
    end, omitted = start + len(parts[0]), 0
    for part in parts[1:]:
        following = next(_occurrences(part, source.folded.text, end, end + MOST_OMITTED_CHARS + len(part)), None)
        if following is None:
            return None
        omitted += following - end
        end = following + len(part)
    return QuoteMatch(*source.folded.span(start, end), omitted)


def _find_joined(quote: str, source: SourceText) -> Iterator[QuoteMatch]:
    """The places of a quote whose joints (``_JOINT``) are otherwise in the text."""
    # Folding removes hyphens between letters, and keeps dashes.
    first, *others = _JOINT.split(fold(_HYPHEN.sub(_DASH, quote)).text.strip(_AROUND))
    if not others or not _WORD.search(first):
        return
    text = source.folded.text
    for start in islice(_starts(first, text, 0), _MOST_STARTS):
        end = start + len(first)
        for before, part in pairwise((first, *others)):
            joint = " " if before.endswith("/") else "-"
            end += text.startswith(joint, end)
            if not text.startswith(part, end):
                break
            end += len(part)
        else:
            if not _is_within_word(text, end):
                yield QuoteMatch(*source.folded.span(start, end))


def _occurrences(part: str, text: str, start: int, end: int | None = None) -> Iterator[int]:
    """Where a part stands in a text, not within words."""
    return (at for at in _starts(part, text, start, end) if not _is_within_word(text, at + len(part)))


def _starts(part: str, text: str, start: int, end: int | None = None) -> Iterator[int]:
    """Where a part begins in a text, not within a word."""
    at = text.find(part, start, end)
    while at >= 0:
        if not _is_within_word(text, at):
            yield at
        at = text.find(part, at + 1, end)


def _is_within_word(text: str, at: int) -> bool:
    """Whether the characters before and at ``at`` belong to one word."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if unicodedata.category(after).startswith("M"):
        return True
    is_word = bool(_WORD.match(before) and _WORD.match(after))
    return is_word and not (_UNSPACED.match(before) or _UNSPACED.match(after))


def _words(text: str) -> list[_Word]:
    """The words of a folded text; of scripts without spaces, each character."""
    words: list[_Word] = []
    for found in _WORD.finditer(text):
        if _UNSPACED.search(found.group()):
            words += (_Word(at, at + 1, text[at]) for at in range(found.start(), found.end()))
        else:
            words.append(_Word(found.start(), found.end(), found.group()))
    return words


def _best_window(asked: Sequence[str], there: Sequence[str]) -> int | None:
    """The first word of the window, as long as the quote, with the most words of it; None if none has any."""
    wanted, size = Counter(asked), len(asked)
    held: Counter[str] = Counter()
    score = best = 0
    first = None
    for last, word in enumerate(there):
        if word in wanted:
            held[word] += 1
            score += held[word] <= wanted[word]
        if last >= size and (left := there[last - size]) in wanted:
            score -= held[left] <= wanted[left]
            held[left] -= 1
        if score > best:
            best, first = score, max(last - size + 1, 0)
    return first


def _common_blocks(asked: Sequence[str], near: Sequence[str]) -> list[Match]:
    matcher = SequenceMatcher(None, asked, near, autojunk=False)
    return [block for block in matcher.get_matching_blocks() if block.size]


def _differences(asked: Sequence[_Word], there: Sequence[_Word]) -> Iterator[Difference]:
    matcher = SequenceMatcher(None, [word.text for word in asked], [word.text for word in there], autojunk=False)
    changed = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    for _, first, last, begin, end in changed[:_MOST_DIFFERENCES]:
        yield Difference(_join(asked[first:last]), _join(there[begin:end]))


def _join(words: Sequence[_Word]) -> str:
    return " ".join(word.text for word in words)
