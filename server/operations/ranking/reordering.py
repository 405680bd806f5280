"""Reorders a ranking by the text and the metadata of its documents, which the legs do not use.

In this order: the reranker scores the best passages, boosts weigh the documents, passages that contain the query's
quoted phrases come first, and similar passages are moved apart. If none of these is configured or asked for, a
ranking stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from winnow.server.errors import WinnowError
from winnow.server.models import Hit, Passage, Ranking
from winnow.server.operations.base import RequestContext
from winnow.server.retrieval.boosts import Boosts, boost_factors, diversify, utc_now
from winnow.server.retrieval.fusion import sort_by_score
from winnow.server.retrieval.lexical import split_terms
from winnow.server.retrieval.queries import ParsedQuery, contains_phrases
from winnow.server.retrieval.search_notes import SearchNotes
from winnow.server.settings.settings import Settings

Passages = Mapping[str, Passage]

# How many of the best passages are diversified.
_DIVERSIFIED = 50


def reorder(context: RequestContext, asked: ParsedQuery, ranking: Ranking) -> Ranking:
    """Reorder the hits as the settings and the query's phrases require."""
    settings = context.settings
    boosts = boosts_of(settings)
    if boosts.is_neutral and not asked.phrases and settings.mmr == 1 and settings.reranker is None:
        return ranking
    steps = list(ranking.steps) if ranking.steps else None
    notes = SearchNotes(list(ranking.warnings), dict(ranking.stages), steps)
    with notes.stage("boost"):
        ids = [hit.chunk_id for hit in ranking.hits]
        passages = context.index.catalogue.passages(ids, asked.filters.project)
        with notes.stage("rerank"):
            hits = _rerank_best(context, asked.text, ranking.hits, passages, notes)
        hits = _apply_boosts(hits, boosts, asked.text, passages, notes)
        hits = _phrases_first(hits, asked.phrases, passages, notes)
        hits = _diversify_best(hits, settings.mmr, passages, notes)
    return replace(
        ranking,
        hits=tuple(hits),
        warnings=tuple(notes.warnings),
        stages=notes.stages,
        steps=tuple(notes.steps or ()),
    )


def boosts_of(settings: Settings) -> Boosts:
    """The boost factors in the settings."""
    return Boosts(
        settings.boost_vendor,
        dict(settings.boost_types),
        settings.boost_recency,
        settings.boost_recency_days,
        settings.boost_entity,
        settings.boost_topic,
    )


def _rerank_best(
    context: RequestContext, query: str, hits: Sequence[Hit], passages: Passages, notes: SearchNotes
) -> Sequence[Hit]:
    """The best hits in the reranker's order, in the upper half of the scale; unchanged if the reranker fails."""
    best = [hit.chunk_id for hit in hits[: context.settings.rerank_top] if hit.chunk_id in passages]
    try:
        reranker = context.index.reranker()
        scores = reranker.scores(query, [text_with_headings(passages[id]) for id in best]) if reranker else []
    except Exception as error:  # on any error, the ranking of the first stage is still returned
        message = error.message if isinstance(error, WinnowError) else type(error).__name__
        notes.warnings.append(f"the second stage is down, so this is ranked without it: {message}")
        return hits
    reranked = dict(zip(best, scores, strict=True)) if scores else {}
    if not reranked:
        return hits
    upper = {chunk: (1 + score) / 2 for chunk, score in reranked.items()}
    lower = {hit.chunk_id: hit.score / 2 for hit in hits if hit.chunk_id not in reranked}
    ordered = [replace(hit, reranked=reranked.get(hit.chunk_id)) for hit in _sort_hits(hits, {**upper, **lower})]
    notes.record("reranker", ordered, {"reranker": upper, "before": lower}, {"read": len(best)})
    return ordered


def _apply_boosts(
    hits: Sequence[Hit], boosts: Boosts, query: str, passages: Passages, notes: SearchNotes
) -> Sequence[Hit]:
    if boosts.is_neutral:
        return hits
    now = utc_now()
    by_setting = {id: boost_factors(boosts, query, passage, now) for id, passage in passages.items()}
    factors = {id: prod(each.values()) for id, each in by_setting.items()}
    scores = {hit.chunk_id: hit.score * factors.get(hit.chunk_id, 1.0) for hit in hits}
    most = max([1.0, *scores.values()])
    ordered = [
        replace(hit, boost=factors.get(hit.chunk_id))
        for hit in _sort_hits(hits, {id: score / most for id, score in scores.items()})
    ]
    names = next(iter(by_setting.values()), {})
    parts = {name: {id: each[name] for id, each in by_setting.items()} for name in names}
    notes.record("boosts", ordered, parts, {"divided_by": most})
    return ordered


def _phrases_first(
    hits: Sequence[Hit], phrases: tuple[str, ...], passages: Passages, notes: SearchNotes
) -> Sequence[Hit]:
    """Passages that contain the phrases in the upper half of the scale, the others in the lower."""
    if not phrases:
        return hits
    held = {id for id, passage in passages.items() if contains_phrases(phrases, text_with_headings(passage))}
    before = {hit.chunk_id: hit.score / 2 for hit in hits}
    ordered = _sort_hits(hits, {id: score + 0.5 * (id in held) for id, score in before.items()})
    notes.record("phrases", ordered, {"before": before, "phrase": dict.fromkeys(held, 0.5)})
    return ordered


def _diversify_best(hits: Sequence[Hit], keep: float, passages: Passages, notes: SearchNotes) -> Sequence[Hit]:
    if keep == 1:
        return hits
    by_id = {hit.chunk_id: hit for hit in hits[:_DIVERSIFIED]}
    terms = {
        id: frozenset(split_terms(passages[id].chunk.text)) if id in passages else frozenset() for id in by_id
    }
    order = diversify([*by_id], {id: hit.score for id, hit in by_id.items()}, terms, keep)
    ordered = [*(by_id[id] for id in order), *hits[_DIVERSIFIED:]]
    notes.record("diversity", ordered, facts={"mmr": keep})
    return ordered


def _sort_hits(hits: Sequence[Hit], scores: Mapping[str, float]) -> list[Hit]:
    by_id = {hit.chunk_id: hit for hit in hits}
    return [by_id[id].at(score) for id, score in sort_by_score(scores.items())]


def text_with_headings(passage: Passage) -> str:
    """The text that a reranker gets: the title, the headings above the passage, and the passage."""
    return "\n".join((passage.document.title, *passage.chunk.heading_path, passage.chunk.text))
