"""The verdict on an answer: the probability that the documents in scope answer a question, by logistic regression.

The signals are the share of the question's words that the best passage has, weighted by how rare they are, and the
cosine of the best passage; without the embedding model, the lexical score and the share of words that no document
has. The coefficients are fitted by ``tests/bench/verdict.py``;
docs/decisions/0006-evidence.md has what they were fitted to, and the errors on other collections.

A question for a value (a number, a date, a name, ...) is answered in part at most where no passage was seen to
state one near its subject (``server.retrieval.nearness``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from math import exp, log1p
from types import MappingProxyType
from typing import Literal

from winnow.server.text.asked_values import ValueKind
from winnow.server.text.words.tokens import FALLBACK, count_tokens, encoding_name

Verdict = Literal["answered", "partly", "not_found"]
Method = Literal["words", "words and meaning"]

# Fitted coefficients by method and signal. Without the model, words that are missing say more than words that are
# there; with it they add nothing to the others.
COEFFICIENTS: Mapping[Method, Mapping[str, float]] = MappingProxyType(
    {
        "words": MappingProxyType({"offset": -4.221, "covered": 3.652, "missing": -3.065, "strength": 0.885}),
        "words and meaning": MappingProxyType({"offset": -5.99, "covered": 2.141, "cosine": 9.156}),
    }
)
# The confidence from which a question counts as answered, and below which as not found.
ANSWERED_FROM, NOT_FOUND_BELOW = 0.5, 0.2
# The confidence at most where the value that is asked for was not seen: in the middle of what counts as partly.
_UNSTATED_MOST = 0.35
# A word that is no plain one: with a digit, an underscore, or a capital after its first letter.
_IDENTIFIER = re.compile(r"[\d_]|(?<=\w)[A-Z]")
_SENTENCE_ENDS = ".!?:"


@dataclass(frozen=True, slots=True)
class CosineScale:
    """The cosines of a model: ``slope`` and ``offset`` bring them to the scale of the coefficients.

    ``background`` and ``related``: its usual cosines of unrelated texts, and of a question and its answer.
    """

    background: float
    related: float
    slope: float
    offset: float


# Cosines of different models lie on different scales. Slope and offset give the best cosines of the questions that
# the coefficients are fitted to the mean and the spread that they have with the first model.
COSINE_SCALES = (
    CosineScale(0.0, 0.71, 1.0, 0.0),  # all-MiniLM-L6-v2, which the coefficients are fitted with
    CosineScale(0.39, 0.76, 1.926, -0.886),  # bge-small-en-v1.5
    CosineScale(0.73, 0.86, 5.764, -4.466),  # multilingual-e5-small
)
# Two exports of a model, or two processors, differ by less; the scales above by far more.
_TOLERANCE = 0.02


@dataclass(frozen=True, slots=True)
class WordScores:
    """The lexical scores of one word of a question.

    ``passages``: in each of the best passages, 0 where it is not. ``best``: the greatest of them or, if they are
    all 0, of any document in scope. A rare word has higher scores than a common one.
    """

    passages: tuple[float, ...]
    best: float

    @property
    def is_missing(self) -> bool:
        """Whether no document in scope has the word."""
        return self.best == 0


@dataclass(frozen=True, slots=True)
class Signals:
    """The signals of a search about its answer.

    ``covered``: the share of the question's content words that the best passage has, 0 to 1. ``missing``: the
    share that no document in scope has. In both a word counts by its score, which is higher for rare words.
    ``strength``: the lexical score of the best passage, unbounded. ``cosine``: of the best passage and the
    question; None where the embedding model does not tell. ``unstated``: the kind of value that the question asks
    for where no passage was seen to state one.
    """

    covered: float
    missing: float
    strength: float
    cosine: float | None = None
    unstated: ValueKind | None = None

    @property
    def method(self) -> Method:
        """The coefficients that apply."""
        return "words" if self.cosine is None else "words and meaning"

    def features(self) -> Mapping[str, float]:
        """The values that the coefficients multiply, by name."""
        values = {"offset": 1.0, "covered": self.covered, "missing": self.missing}
        values |= {"strength": log1p(self.strength), "cosine": self.cosine or 0.0}
        return {name: values[name] for name in COEFFICIENTS[self.method]}


def weigh_words(words: Sequence[WordScores]) -> list[float]:
    """The weights of a question's words; a missing word counts as much as the rarest word that there is."""
    greatest = max((word.best for word in words), default=0.0) or 1.0
    return [word.best or greatest for word in words]


def measure_signals(words: Sequence[WordScores], cosine: float | None) -> Signals:
    """The signals of an answer, from the scores of the question's words and the cosine of the best passage."""
    weights = weigh_words(words)
    total = sum(weights) or 1.0
    by_passage = list(zip(*(word.passages for word in words), strict=True))
    covered = max((sum(compress(weights, scores)) for scores in by_passage), default=0.0)
    missing = sum(weight for word, weight in zip(words, weights, strict=True) if word.is_missing)
    strength = max(map(sum, by_passage), default=0.0)
    return Signals(covered / total, missing / total, strength, cosine)


def rescale_cosine(cosine: float, background: float, related: float) -> float | None:
    """A cosine on the scale that the coefficients are fitted to; None for a model of no known scale.

    ``background`` and ``related`` are the model's usual cosines of unrelated texts, and of a question and its
    answer: a model is known by them, whatever its name is.

    >>> rescale_cosine(0.5, 0.0, 0.71), rescale_cosine(0.5, 0.2, 0.71)
    (0.5, None)
    """
    for scale in COSINE_SCALES:
        if max(abs(scale.background - background), abs(scale.related - related)) <= _TOLERANCE:
            return scale.slope * cosine + scale.offset
    return None


def estimate_confidence(signals: Signals) -> float:
    """The probability that the documents in scope answer the question, 0 to 1."""
    coefficients = COEFFICIENTS[signals.method]
    confidence = 1 / (1 + exp(-sum(coefficients[name] * value for name, value in signals.features().items())))
    return confidence if signals.unstated is None else min(confidence, _UNSTATED_MOST)


def decide(confidence: float, question: str, missing: Sequence[str], *, is_english: bool = False) -> Verdict:
    """The verdict for a confidence; no question is answered in full where no document has a name of it.

    ``is_english``: the question is, so that a word of it which is no everyday English counts as a name.
    """
    if confidence < NOT_FOUND_BELOW:
        return "not_found"
    names = (word for word in missing if is_name(word, question) or (is_english and is_rare(word)))
    return "answered" if confidence >= ANSWERED_FROM and not any(names) else "partly"


def is_name(word: str, question: str) -> bool:
    """Whether a word of a question looks like a name or an identifier.

    >>> [is_name(word, "Does Kafka use getUserName?") for word in ("Does", "Kafka", "use", "getUserName")]
    [False, True, False, True]
    """
    if _IDENTIFIER.search(word):
        return True
    before = question.partition(word)[0].rstrip()
    return word[:1].isupper() and before != "" and before[-1] not in _SENTENCE_ENDS


def is_rare(word: str) -> bool:
    """Whether a word is no everyday English: the tokenizer's vocabulary has no token for it alone.

    Names of products are, in lower case too, and so are rare terms and misspellings. False where the vocabulary
    cannot be read.

    >>> [is_rare(word) for word in ("deploy", "backups", "pulumi", "argocd")]
    [False, False, True, True]
    """
    is_plain = word.isascii() and word.isalpha()
    return is_plain and encoding_name() != FALLBACK and count_tokens(f" {word.lower()}") > 1
