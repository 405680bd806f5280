"""What a document is, as a factor on its passages' scores, and how alike passages are kept apart. Pure.

Each factor is a setting, and all of them are 1 unless somebody who knows the documents says otherwise: which kind
of document is worth more is a fact about a collection, not about search.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import prod

from server.backends.base import seconds_of
from server.models import Document, Passage

_DAY_SECONDS = 86_400.0
_WORDS = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Boosts:
    """Factors; 1 changes nothing.

    ``vendor``, ``topic``, ``entity``: of documents whose vendor, whose tags, whose title or heading the query
    names. ``types``: by document type. ``recency``: of a document of today; what it is more or less than 1 halves
    every ``half_life_days``. Documents without a date count as old.
    """

    vendor: float = 1.0
    types: Mapping[str, float] = field(default_factory=dict)
    recency: float = 1.0
    half_life_days: float = 365.0
    entity: float = 1.0
    topic: float = 1.0

    @property
    def is_neutral(self) -> bool:
        """Whether nothing would change."""
        return {self.vendor, self.recency, self.entity, self.topic, *self.types.values()} == {1.0}


def boost(boosts: Boosts, query: str, passage: Passage, now: datetime) -> float:
    """The factor of a passage: the product of all that apply to it."""
    document, said = passage.document, _words(query)
    return prod(
        (
            boosts.vendor if _names(said, (document.vendor,)) else 1.0,
            boosts.types.get(document.type, 1.0),
            1 + (boosts.recency - 1) * 0.5 ** (_age_days(document, now) / boosts.half_life_days),
            boosts.entity if _names(said, (document.title, *passage.chunk.heading_path)) else 1.0,
            boosts.topic if _names(said, (document.doc_tag, *document.tags)) else 1.0,
        )
    )


def diverse(
    order: Sequence[str], scores: Mapping[str, float], terms: Mapping[str, frozenset[str]], keep: float
) -> list[str]:
    """``order`` by maximal marginal relevance: each next one is good, and unlike those before it.

    ``keep`` weighs the score (1: as it was), the rest what it shares with the most similar one before it.
    Carbonell & Goldstein 1998, with the share of common terms as the similarity.
    """
    left, chosen, likest = list(order), list[str](), dict.fromkeys(order, 0.0)
    while left:
        best = max(left, key=lambda one: keep * scores[one] - (1 - keep) * likest[one])  # the first of equals
        left.remove(best)
        chosen.append(best)
        for one in left:
            likest[one] = max(likest[one], _alike(terms[best], terms[one]))
    return chosen


def _alike(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(len(one | other), 1)


def _age_days(document: Document, now: datetime) -> float:
    stated = document.metadata.get("updated") or document.metadata.get("lastmod") or document.created
    seconds = seconds_of(str(stated))
    return max((now.timestamp() - seconds) / _DAY_SECONDS, 0.0) if seconds is not None else float("inf")


def _names(said: str, labels: Iterable[str]) -> bool:
    """Whether the query has one of these labels in it, as whole words."""
    return any(words.strip() and words in said for words in map(_words, labels))


def _words(text: str) -> str:
    return f" {' '.join(_WORDS.findall(text.casefold()))} "


def today() -> datetime:
    """Now."""
    return datetime.now(UTC)
