"""The nearness of a question's subject to a value of the kind that it asks for, in passages. Pure.

The subject is the question's content words, each with its weight. A span (a sentence, a row of a table) has the
words that stand in it, and, at a share of their weight, those of the spans beside it and of the headings above.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from winnow.server.text.answers.kinds import AskedFor
from winnow.server.text.answers.values import StatedValue, find_values
from winnow.server.text.words.spans import split_spans

# What a word counts that stands not in the span, but in a heading above it or in the span before or after.
_ABOVE_SHARE, _BESIDE_SHARE = 0.5, 0.5
# Spans with less of the subject than this are not looked at for a value.
_LEAST_NEAR = 0.15
# A shorter stem is found at the beginning of a word alone: "us" is in too many.
_MIN_INNER_CHARS = 4
_STEMMED_Y = "i"


@dataclass(frozen=True, slots=True)
class _Turn:
    """A turn of questions, the pattern of its phrases, and what texts say for it."""

    name: str
    pattern: re.Pattern[str]
    stems: tuple[str, ...]


_TURNS = (
    _Turn(
        "at most",
        re.compile(
            r"\bat most\b|\bup to\b|\bmaxim|\blargest\b|\bhighest\b|\blongest\b|\bno more than\b|"
            r"\bcapped\b|\blimit|\bhöchst|\b(?:may|can) .{1,80} be\b|\bau plus\b|\bmáxim"
        ),
        (
            "at most",
            "up to",
            "max",
            "most",
            "limit",
            "exceed",
            "largest",
            "highest",
            "longest",
            "no more than",
            "cap",
            "upper",
            "höchst",
            "must be",
            "restricted",
        ),
    ),
    _Turn(
        "at least",
        re.compile(r"\bat least\b|\bminim|\bsmallest\b|\blowest\b|\bshortest\b|\bmindestens\b"),
        ("at least", "minim", "smallest", "lowest", "shortest", "lower bound", "less than", "mindest"),
    ),
    _Turn(
        "default",
        re.compile(r"\bdefault|\bif none\b|\bunless\b|\bif not\b|\bstandardmäßig|\bpar défaut|\bpor defecto"),
        ("default", "unless", "if not", "otherwise", "standardmäßig", "défaut", "defecto"),
    ),
)
# In a longer span (a code block, a row of a wide table) only the words this near to a value count.
_WINDOW_CHARS = 160
# So many values of one span are looked at.
_MOST_VALUES = 12


@dataclass(frozen=True, slots=True)
class ReadPassage:
    """A passage to look at: its headings and its text."""

    headings: str
    text: str


@dataclass(frozen=True, slots=True)
class _WeighedSpan:
    """A span of a passage, the places of the subject's words in it, and the words above and beside it."""

    text: str
    headings: str
    found: tuple[tuple[int, str], ...]
    above: frozenset[str]
    beside: frozenset[str]
    share: float


class SubjectWords:
    """The words of a question's subject, found in texts by their stems.

    A turn of the question, such as "at most", is one more word: a text says it in many ways, and it weighs as
    much as a word of the subject at the mean.
    """

    def __init__(
        self, weights: Mapping[str, float], forms: Mapping[str, Collection[str]], question: str = ""
    ) -> None:
        turns = [turn for turn in _TURNS if turn.pattern.search(question.lower())]
        mean = sum(weights.values()) / len(weights) if weights else 1.0
        weights = {**weights, **{turn.name: mean for turn in turns}}
        forms = {**forms, **{turn.name: turn.stems for turn in turns}}
        total = sum(weights.values()) or 1.0
        self._weights = {word: weight / total for word, weight in weights.items()}
        self._word_of = {stem: word for word in weights for stem in _stems(forms[word])}
        stems = sorted(self._word_of, key=len, reverse=True)
        alternatives = "|".join(
            ("" if len(stem) >= _MIN_INNER_CHARS or not stem.isascii() else r"(?<![^\W_])") + re.escape(stem)
            for stem in stems
        )
        self._pattern = re.compile(alternatives) if stems else None

    def find(self, text: str) -> Iterator[tuple[int, str]]:
        """The places of the words in a text, in order, each with its word."""
        if self._pattern is not None:
            for match in self._pattern.finditer(text.lower()):
                yield match.start(), self._word_of[match[0]]

    def weigh(self, here: Collection[str], above: Collection[str], beside: Collection[str]) -> float:
        """The share of the subject that a span has, 0 to 1."""
        shares = ((above, _ABOVE_SHARE), (beside, _BESIDE_SHARE), (here, 1.0))
        counted = {word: share for words, share in shares for word in words}
        return sum(self._weights[word] * share for word, share in counted.items())


def _stems(forms: Collection[str]) -> Iterator[str]:
    """The beginnings that all forms of a word share: a stemmed "policy" ends in "i", which the text has as "y"."""
    for form in forms:
        yield form[:-1] if len(form) > _MIN_INNER_CHARS and form.endswith(_STEMMED_Y) else form


def measure_nearness(
    passages: Sequence[ReadPassage], words: SubjectWords, asked: AskedFor, question: str
) -> float:
    """The greatest share of a question's subject, 0 to 1, that stands near a value of the kind asked for.

    0 if no span near the subject states one.
    """
    spans = sorted(
        (span for passage in passages for span in _weigh_spans(passage, words)), key=lambda span: -span.share
    )
    stated = 0.0
    for span in spans:
        if span.share <= max(stated, _LEAST_NEAR):
            break
        stated = max(stated, _weigh_values(span, words, asked, question))
    return stated


def _weigh_values(span: _WeighedSpan, words: SubjectWords, asked: AskedFor, question: str) -> float:
    """The greatest share of the subject that stands near one value of a span, less where its form is another."""
    values = islice(find_values(span.text, asked, question, span.headings), _MOST_VALUES)
    if len(span.text) <= 2 * _WINDOW_CHARS:
        return max((span.share * value.fit for value in values), default=0.0)
    return max((_weigh_window(span, value, words) * value.fit for value in values), default=0.0)


def _weigh_window(span: _WeighedSpan, value: StatedValue, words: SubjectWords) -> float:
    low, high = value.start - _WINDOW_CHARS, value.end + _WINDOW_CHARS
    near = {word for place, word in span.found if low <= place <= high}
    return words.weigh(near, span.above, {word for _, word in span.found})


def _weigh_spans(passage: ReadPassage, words: SubjectWords) -> Iterator[_WeighedSpan]:
    """The spans of a passage that have words of the subject, or stand beside such."""
    spans = split_spans(passage.text)
    found: list[list[tuple[int, str]]] = [[] for _ in spans]
    index = 0
    for start, word in words.find(passage.text):
        while index + 1 < len(spans) and start >= spans[index].end:
            index += 1
        found[index].append((start - spans[index].start, word))
    above = frozenset(word for _, word in words.find(passage.headings))
    sets = [frozenset(word for _, word in places) for places in found]
    for index, span in enumerate(spans):
        beside = frozenset().union(*sets[max(0, index - 1) : index], *sets[index + 1 : index + 2])
        if sets[index] or beside:
            text = passage.text[span.start : span.end]
            share = words.weigh(sets[index], above, beside)
            yield _WeighedSpan(text, passage.headings, tuple(found[index]), above, beside, share)
