"""Known passages read again for one question, by something that a search did not use.

A cross-encoder where one is configured. Else the model reads single sentences, each with the headings above it: a
search compares the question with whole passages only. Without a model the words alone are left, as in a search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from server.errors import WinnowError
from server.models import Filters, Legs, Passage
from server.operations.base import RequestContext
from server.operations.ranking.reordering import text_with_headings
from server.retrieval.fusion import divide_by_maximum
from server.runtime.deadlines import check_deadline
from server.text.spans import scored_spans, terms

RerankMethod = Literal["cross-encoder", "sentences", "words"]

# Of each passage, the sentences with most of the question's words; and characters of each that are read.
_SENTENCES = 3
_SENTENCE_CHARS = 2_000
# Of a score, the share of the best sentence; the rest is what both legs say of the passage.
_SENTENCE_SHARE = 0.25
_DOWN = "the cross-encoder is down, so sentences are compared instead: {why}"


@dataclass(frozen=True, slots=True)
class RerankScores:
    """Scores of chunks, 0 to 1 and relative to the best of them, and who gave them."""

    scores: Mapping[str, float]
    by: RerankMethod
    legs: Legs
    warnings: tuple[str, ...] = ()


def rerank_passages(
    context: RequestContext, query: str, filters: Filters, passages: Sequence[Passage]
) -> RerankScores:
    """These passages against each other."""
    chunks = {passage.chunk.id: passage for passage in passages}
    ranking = context.index.retriever.score(query, filters.project, list(chunks))
    usual = dict.fromkeys(chunks, 0.0) | {hit.chunk_id: hit.score for hit in ranking.hits}
    warnings = list(ranking.warnings)
    read = _score_by_cross_encoder(context, query, chunks, warnings)
    if read:
        return RerankScores(divide_by_maximum(read), "cross-encoder", ranking.legs, tuple(warnings))
    said = _score_by_sentences(context, query, chunks) if ranking.legs == "hybrid" else {}
    if not said:
        return RerankScores(usual, "words", ranking.legs, tuple(warnings))
    best = divide_by_maximum(said)
    joined = {
        chunk: (1 - _SENTENCE_SHARE) * score + _SENTENCE_SHARE * best[chunk] for chunk, score in usual.items()
    }
    return RerankScores(divide_by_maximum(joined), "sentences", ranking.legs, tuple(warnings))


def _score_by_cross_encoder(
    context: RequestContext, query: str, chunks: Mapping[str, Passage], warnings: list[str]
) -> Mapping[str, float]:
    """What the cross-encoder says of each passage; nothing where there is none, or it fails."""
    try:
        reranker = context.index.reranker()
        scores = (
            reranker.scores(query, [text_with_headings(passage) for passage in chunks.values()])
            if reranker
            else []
        )
    except Exception as error:  # whatever it is, the passages can still be put in order
        why = error.message if isinstance(error, WinnowError) else type(error).__name__
        warnings.append(_DOWN.format(why=why))
        return {}
    return dict(zip(chunks, scores, strict=True)) if scores else {}


def _score_by_sentences(context: RequestContext, query: str, chunks: Mapping[str, Passage]) -> Mapping[str, float]:
    """The cosine of each passage's best sentence, 0 to 1; nothing without the model."""
    embedder = context.index.embedder.ready()
    if embedder is None:
        return {}
    asked = terms(query)
    (question,) = embedder.embed([query])
    found = {}
    for chunk, passage in chunks.items():
        check_deadline()
        texts = _select_sentences(passage, asked)
        found[chunk] = max([0.0, *map(float, embedder.embed(texts) @ question)]) if texts else 0.0
    return found


def _select_sentences(passage: Passage, asked: frozenset[str]) -> list[str]:
    text = passage.chunk.text
    spans = sorted(scored_spans(text, asked), key=lambda span: (-span.score, span.start))[:_SENTENCES]
    above = " > ".join((passage.document.title, *passage.chunk.heading_path))
    return [f"{above}\n{text[span.start : span.end][:_SENTENCE_CHARS]}" for span in spans]
