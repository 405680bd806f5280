"""A ranking put in order once more, by what its documents say and are: the legs saw only terms and vectors.

In this order: a second stage reads the best passages, boosts weigh the documents, what holds the query's quoted
phrases comes first, and passages that say the same are kept apart. Without any of these a ranking stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from server.models import Hit, Passage, Ranking
from server.operations.base import Asking
from server.retrieval.boosts import Boosts, boost, diverse, today
from server.retrieval.fusion import ranked
from server.retrieval.lexical import terms
from server.retrieval.queries import Understood, holds
from server.retrieval.stages import Notes
from server.settings import Settings

Passages = Mapping[str, Passage]

# Passages that are kept apart from each other: more is not read.
_DIVERSE = 50


def arranged(asking: Asking, asked: Understood, ranking: Ranking) -> Ranking:
    """The same hits in the order that the settings and the query's phrases ask for."""
    settings = asking.settings
    boosts = boosts_of(settings)
    if boosts.is_neutral and not asked.phrases and settings.mmr == 1:
        return ranking
    notes = Notes(list(ranking.warnings), dict(ranking.stages))
    with notes.stage("boost"):
        ids = [hit.chunk_id for hit in ranking.hits]
        passages = asking.index.catalogue.passages(ids, asked.filters.project)
        hits = _boosted(ranking.hits, boosts, asked.text, passages)
        hits = _phrases_first(hits, asked.phrases, passages)
        hits = _apart(hits, settings.mmr, passages)
    return replace(ranking, hits=tuple(hits), warnings=tuple(notes.warnings), stages=notes.stages)


def boosts_of(settings: Settings) -> Boosts:
    """The factors that the settings name."""
    return Boosts(
        settings.boost_vendor,
        dict(settings.boost_types),
        settings.boost_recency,
        settings.boost_recency_days,
        settings.boost_entity,
        settings.boost_topic,
    )


def _boosted(hits: Sequence[Hit], boosts: Boosts, query: str, passages: Passages) -> Sequence[Hit]:
    if boosts.is_neutral:
        return hits
    now = today()
    factors = {id: boost(boosts, query, passage, now) for id, passage in passages.items()}
    scores = {hit.chunk_id: hit.score * factors.get(hit.chunk_id, 1.0) for hit in hits}
    most = max([1.0, *scores.values()])
    return [
        replace(hit, boost=factors.get(hit.chunk_id))
        for hit in _in_order(hits, {id: score / most for id, score in scores.items()})
    ]


def _phrases_first(hits: Sequence[Hit], phrases: tuple[str, ...], passages: Passages) -> Sequence[Hit]:
    """The upper half of the scale for what holds the phrases, the lower for the rest."""
    if not phrases:
        return hits
    held = {id for id, passage in passages.items() if holds(phrases, _whole(passage))}
    return _in_order(hits, {hit.chunk_id: (hit.score + (hit.chunk_id in held)) / 2 for hit in hits})


def _apart(hits: Sequence[Hit], keep: float, passages: Passages) -> Sequence[Hit]:
    if keep == 1:
        return hits
    by_id = {hit.chunk_id: hit for hit in hits[:_DIVERSE]}
    said = {id: frozenset(terms(passages[id].chunk.text)) if id in passages else frozenset() for id in by_id}
    order = diverse([*by_id], {id: hit.score for id, hit in by_id.items()}, said, keep)
    return [*(by_id[id] for id in order), *hits[_DIVERSE:]]


def _in_order(hits: Sequence[Hit], scores: Mapping[str, float]) -> list[Hit]:
    by_id = {hit.chunk_id: hit for hit in hits}
    return [replace(by_id[id], score=score) for id, score in ranked(scores.items())]


def _whole(passage: Passage) -> str:
    return "\n".join((passage.document.title, *passage.chunk.heading_path, passage.chunk.text))
