"""Score factors by properties of documents, and diversification of a ranking. Pure.

Each factor is a setting with the default 1: which kind of document is worth more depends on the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from winnow.server.models import Document, Passage
from winnow.server.storage.base import seconds_of

_DAY_SECONDS = 86_400.0
_WORDS = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Boosts:
    """The factors; 1 changes nothing.

    ``vendor``, ``topic`` and ``entity`` apply if the query contains the document's vendor, one of its tags, or its
    title or heading. ``types``: by document type. ``recency``: for a document of today; its difference from 1
    halves every ``half_life_days``. Documents without a date count as old.
    """

    vendor: float = 1.0
    types: Mapping[str, float] = field(default_factory=dict)
    recency: float = 1.0
    half_life_days: float = 365.0
    entity: float = 1.0
    topic: float = 1.0

    @property
    def is_neutral(self) -> bool:
        """Whether all factors are 1."""
        return {self.vendor, self.recency, self.entity, self.topic, *self.types.values()} == {1.0}


def boost_factors(boosts: Boosts, query: str, passage: Passage, now: datetime) -> dict[str, float]:
    """The factors of a passage, by the name of their setting; 1 where one does not apply."""
    document, words = passage.document, _join_words(query)
    return {
        "vendor": boosts.vendor if _has_label(words, (document.vendor,)) else 1.0,
        "types": boosts.types.get(document.type, 1.0),
        "recency": 1 + (boosts.recency - 1) * 0.5 ** (_age_days(document, now) / boosts.half_life_days),
        "entity": boosts.entity if _has_label(words, (document.title, *passage.chunk.heading_path)) else 1.0,
        "topic": boosts.topic if _has_label(words, (document.doc_tag, *document.tags)) else 1.0,
    }


def diversify(
    order: Sequence[str], scores: Mapping[str, float], terms: Mapping[str, frozenset[str]], keep: float
) -> list[str]:
    """Reorder by maximal marginal relevance (Carbonell & Goldstein 1998), with Jaccard similarity of terms.

    ``keep`` is the weight of the score (1: unchanged order); 1 - ``keep`` is the weight of the similarity to the
    most similar item before.
    """
    left, chosen, similarity = list(order), list[str](), dict.fromkeys(order, 0.0)
    while left:
        best = max(left, key=lambda id: keep * scores[id] - (1 - keep) * similarity[id])  # the first of equals
        left.remove(best)
        chosen.append(best)
        for id in left:
            similarity[id] = max(similarity[id], _jaccard_similarity(terms[best], terms[id]))
    return chosen


def _jaccard_similarity(first: frozenset[str], second: frozenset[str]) -> float:
    return len(first & second) / max(len(first | second), 1)


def _age_days(document: Document, now: datetime) -> float:
    date = document.metadata.get("updated") or document.metadata.get("lastmod") or document.created
    seconds = seconds_of(str(date))
    return max((now.timestamp() - seconds) / _DAY_SECONDS, 0.0) if seconds is not None else float("inf")


def _has_label(query_words: str, labels: Iterable[str]) -> bool:
    """Whether the query contains one of these labels as whole words."""
    return any(words.strip() and words in query_words for words in map(_join_words, labels))


def _join_words(text: str) -> str:
    return f" {' '.join(_WORDS.findall(text.casefold()))} "


def utc_now() -> datetime:
    """The current time."""
    return datetime.now(UTC)
