"""Is anything here about the question at all? What the best cosine says of it, as a probability, and a verdict.

A ranking always has a first hit; its score is relative to the others. The cosine of the best chunk is absolute, so
it is what tells. The curve is a logistic one, fitted to SciFact's training claims, half of them asked of their own
collection and half of another one (docs/decisions/0003-retrieval.md has what it is worth elsewhere).
"""

from __future__ import annotations

import re
from math import exp

_SLOPE, _OFFSET = 36.09, -14.15
# A cosine of 0.245. None of 583 questions whose answer was in the index had less, about half of 1,248 questions
# about something else did.
NOTHING_BELOW = 0.005
# What a model of meaning knows nothing of: numbers, names of things in code.
_IDENTIFIER = re.compile(r"[\d_]|[^\W\d_]\.[^\W\d_]|[a-z][A-Z]")
_WORDS = re.compile(r"\w+")
_FEWEST_WORDS = 3

NOTHING = "nothing here seems to be about this question; the best of what there is follows"


def relevance(best_cosine: float) -> float:
    """How likely the index holds something relevant, 0 to 1."""
    return 1 / (1 + exp(-_OFFSET - _SLOPE * best_cosine))


def is_nothing(query: str, best_cosine: float) -> bool:
    """Whether nothing is relevant, as far as meaning tells: never of a few words, or of an identifier."""
    is_told = len(_WORDS.findall(query)) >= _FEWEST_WORDS and not _IDENTIFIER.search(query)
    return is_told and relevance(best_cosine) < NOTHING_BELOW
