"""The probability that the index holds anything relevant to a query, by logistic regression on the best cosine.

A ranking always has a first hit, and its score is relative to the others; the cosine of the best chunk is
absolute. The regression is fitted to SciFact's training claims, half of them searched in their own collection and
half in another one (docs/decisions/0003-retrieval.md has its quality on other collections).
"""

from __future__ import annotations

import re
from math import exp

_SLOPE, _OFFSET = 36.09, -14.15
# A cosine of 0.245: none of 583 questions with an answer in the index had less, about half of 1,248 questions
# about something else had.
IRRELEVANT_BELOW = 0.005
# Embedding models know nothing of numbers and of names in code.
_IDENTIFIER = re.compile(r"[\d_]|[^\W\d_]\.[^\W\d_]|[a-z][A-Z]")
_WORDS = re.compile(r"\w+")
_MIN_WORDS = 3

IRRELEVANT_WARNING = "nothing here seems to be about this question; the best of what there is follows"


def relevance_probability(best_cosine: float) -> float:
    """The probability, 0 to 1, that the index holds something relevant."""
    return 1 / (1 + exp(-_OFFSET - _SLOPE * best_cosine))


def is_irrelevant(query: str, best_cosine: float) -> bool:
    """Whether nothing is relevant; never for queries of a few words, or with an identifier."""
    is_decidable = len(_WORDS.findall(query)) >= _MIN_WORDS and not _IDENTIFIER.search(query)
    return is_decidable and relevance_probability(best_cosine) < IRRELEVANT_BELOW
