"""A ranking put in order once more, by what its documents say and are: the legs saw only terms and vectors.

In this order: a second stage reads the best passages, boosts weigh the documents, what holds the query's quoted
phrases comes first, and passages that say the same are kept apart. Without any of these a ranking stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from server.errors import WinnowError
from server.models import Hit, Passage, Ranking
from server.operations.base import RequestContext
from server.retrieval.boosts import Boosts, boost_factor, diversify, utc_now
from server.retrieval.fusion import sort_by_score
from server.retrieval.lexical import split_terms
from server.retrieval.queries import ParsedQuery, contains_phrases
from server.retrieval.search_notes import SearchNotes
from server.settings import Settings

Passages = Mapping[str, Passage]

# Passages that are kept apart from each other: more is not read.
_DIVERSIFIED = 50


def reorder(context: RequestContext, asked: ParsedQuery, ranking: Ranking) -> Ranking:
    """The same hits in the order that the settings and the query's phrases ask for."""
    settings = context.settings
    boosts = boosts_of(settings)
    if boosts.is_neutral and not asked.phrases and settings.mmr == 1 and settings.reranker is None:
        return ranking
    notes = SearchNotes(list(ranking.warnings), dict(ranking.stages))
    with notes.stage("boost"):
        ids = [hit.chunk_id for hit in ranking.hits]
        passages = context.index.catalogue.passages(ids, asked.filters.project)
        with notes.stage("rerank"):
            hits = _rerank_best(context, asked.text, ranking.hits, passages, notes.warnings)
        hits = _apply_boosts(hits, boosts, asked.text, passages)
        hits = _phrases_first(hits, asked.phrases, passages)
        hits = _diversify_best(hits, settings.mmr, passages)
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


def _rerank_best(
    context: RequestContext, query: str, hits: Sequence[Hit], passages: Passages, warnings: list[str]
) -> Sequence[Hit]:
    """The best hits in the order of the second stage, in the upper half of the scale; as before where it fails."""
    best = [hit.chunk_id for hit in hits[: context.settings.rerank_top] if hit.chunk_id in passages]
    try:
        reranker = context.index.reranker()
        said = reranker.scores(query, [text_with_headings(passages[id]) for id in best]) if reranker else []
    except Exception as error:  # whatever it is, the first stage's ranking must still be shown
        message = error.message if isinstance(error, WinnowError) else type(error).__name__
        warnings.append(f"the second stage is down, so this is ranked without it: {message}")
        return hits
    again = dict(zip(best, said, strict=True)) if said else {}
    if not again:
        return hits
    scores = {hit.chunk_id: (1 + again.get(hit.chunk_id, hit.score - 1)) / 2 for hit in hits}
    return [replace(hit, reranked=again.get(hit.chunk_id)) for hit in _sort_hits(hits, scores)]


def _apply_boosts(hits: Sequence[Hit], boosts: Boosts, query: str, passages: Passages) -> Sequence[Hit]:
    if boosts.is_neutral:
        return hits
    now = utc_now()
    factors = {id: boost_factor(boosts, query, passage, now) for id, passage in passages.items()}
    scores = {hit.chunk_id: hit.score * factors.get(hit.chunk_id, 1.0) for hit in hits}
    most = max([1.0, *scores.values()])
    return [
        replace(hit, boost=factors.get(hit.chunk_id))
        for hit in _sort_hits(hits, {id: score / most for id, score in scores.items()})
    ]


def _phrases_first(hits: Sequence[Hit], phrases: tuple[str, ...], passages: Passages) -> Sequence[Hit]:
    """The upper half of the scale for what holds the phrases, the lower for the rest."""
    if not phrases:
        return hits
    held = {id for id, passage in passages.items() if contains_phrases(phrases, text_with_headings(passage))}
    return _sort_hits(hits, {hit.chunk_id: (hit.score + (hit.chunk_id in held)) / 2 for hit in hits})


def _diversify_best(hits: Sequence[Hit], keep: float, passages: Passages) -> Sequence[Hit]:
    if keep == 1:
        return hits
    by_id = {hit.chunk_id: hit for hit in hits[:_DIVERSIFIED]}
    said = {id: frozenset(split_terms(passages[id].chunk.text)) if id in passages else frozenset() for id in by_id}
    order = diversify([*by_id], {id: hit.score for id, hit in by_id.items()}, said, keep)
    return [*(by_id[id] for id in order), *hits[_DIVERSIFIED:]]


def _sort_hits(hits: Sequence[Hit], scores: Mapping[str, float]) -> list[Hit]:
    by_id = {hit.chunk_id: hit for hit in hits}
    return [by_id[id].at(score) for id, score in sort_by_score(scores.items())]


def text_with_headings(passage: Passage) -> str:
    """A passage as a second stage reads it: with its title and the headings above it."""
    return "\n".join((passage.document.title, *passage.chunk.heading_path, passage.chunk.text))
