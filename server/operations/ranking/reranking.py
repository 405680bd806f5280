"""Reranks known passages for a question, by a method that the search did not use.

That is the cross-encoder if one is configured. Otherwise the embedding model compares the question with single
sentences, each with the headings above it, where a search compares it with whole passages. Without a model the
scores are those of the words alone, as in a search. In a project with hybrid search off words count only then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from winnow.server.errors import WinnowError
from winnow.server.models import Filters, Legs, Passage
from winnow.server.operations.base import RequestContext
from winnow.server.operations.ranking.candidates import leg_mode
from winnow.server.operations.ranking.reordering import text_with_headings
from winnow.server.retrieval.fusion import divide_by_maximum
from winnow.server.runtime.deadlines import check_deadline
from winnow.server.storage.base import above_background
from winnow.server.text.words.spans import scored_spans, terms

RerankMethod = Literal["cross-encoder", "sentences", "words"]

# For each passage, how many of the sentences with most of the question's words are used, and characters of each.
_SENTENCES = 3
_SENTENCE_CHARS = 2_000
# The weight of the best sentence in a score; the rest is the score of the passage in the legs.
_SENTENCE_SHARE = 0.25
_DOWN = "the cross-encoder is down, so sentences are compared instead: {why}"


@dataclass(frozen=True, slots=True)
class RerankScores:
    """Scores of chunks, 0 to 1 relative to the best of them, and the method that gave them."""

    scores: Mapping[str, float]
    by: RerankMethod
    legs: Legs
    warnings: tuple[str, ...] = ()


def rerank_passages(
    context: RequestContext, query: str, filters: Filters, passages: Sequence[Passage]
) -> RerankScores:
    """Score these passages for a query, relative to each other."""
    chunks = {passage.chunk.id: passage for passage in passages}
    mode = leg_mode(context, filters.project)
    ranking = context.index.retriever.score(query, filters.project, list(chunks), mode=mode)
    usual = dict.fromkeys(chunks, 0.0) | {hit.chunk_id: hit.score for hit in ranking.hits}
    warnings = list(ranking.warnings)
    cross_encoder_scores = _score_by_cross_encoder(context, query, chunks, warnings)
    if cross_encoder_scores:
        return RerankScores(
            divide_by_maximum(cross_encoder_scores), "cross-encoder", ranking.legs, tuple(warnings)
        )
    sentence_scores = _score_by_sentences(context, query, chunks) if ranking.legs != "lexical-only" else {}
    if not sentence_scores:
        return RerankScores(usual, "words", ranking.legs, tuple(warnings))
    relative = divide_by_maximum(sentence_scores)
    joined = {
        chunk: (1 - _SENTENCE_SHARE) * score + _SENTENCE_SHARE * relative[chunk] for chunk, score in usual.items()
    }
    return RerankScores(divide_by_maximum(joined), "sentences", ranking.legs, tuple(warnings))


def _score_by_cross_encoder(
    context: RequestContext, query: str, chunks: Mapping[str, Passage], warnings: list[str]
) -> Mapping[str, float]:
    """The cross-encoder's score of each passage; empty if there is none or it fails."""
    try:
        reranker = context.index.reranker()
        scores = (
            reranker.scores(query, [text_with_headings(passage) for passage in chunks.values()])
            if reranker
            else []
        )
    except Exception as error:  # on any error, the passages are ranked in another way
        why = error.message if isinstance(error, WinnowError) else type(error).__name__
        warnings.append(_DOWN.format(why=why))
        return {}
    return dict(zip(chunks, scores, strict=True)) if scores else {}


def _score_by_sentences(context: RequestContext, query: str, chunks: Mapping[str, Passage]) -> Mapping[str, float]:
    """The similarity of each passage's best sentence, 0 to 1; empty without the model."""
    embedder = context.index.embedder.ready()
    if embedder is None:
        return {}
    asked = terms(query)
    (question,) = embedder.embed_queries([query])
    scores = {}
    for chunk, passage in chunks.items():
        check_deadline()
        texts = _select_sentences(passage, asked)
        similarities = above_background(embedder.embed(texts) @ question, embedder.background)
        scores[chunk] = max([0.0, *similarities.tolist()])
    return scores


def _select_sentences(passage: Passage, asked: frozenset[str]) -> list[str]:
    text = passage.chunk.text
    spans = sorted(scored_spans(text, asked), key=lambda span: (-span.score, span.start))[:_SENTENCES]
    above = " > ".join((passage.document.title, *passage.chunk.heading_path))
    return [f"{above}\n{text[span.start : span.end][:_SENTENCE_CHARS]}" for span in spans]
