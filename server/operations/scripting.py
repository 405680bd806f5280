"""What only scripts ask: other weights, another order, counts of tokens."""

from __future__ import annotations

from server.contracts.scripting import CountTokens, HybridSearch, Rerank
from server.contracts.search import SemanticSearch
from server.operations.base import Answer, RequestContext
from server.operations.paging import resume
from server.operations.ranking.candidates import fetch_by_id, rank_chunks
from server.operations.ranking.reranking import rerank_passages
from server.operations.ranking.scope import filters_of
from server.operations.search import build_answer, drop_low_scores
from server.text.tokens import count_tokens

_SCORE_DIGITS = 4


def hybrid_search(context: RequestContext, request: HybridSearch) -> Answer:
    """Ranked chunks with the script's own weights for words and for meaning."""
    at = resume(request.cursor, request)
    filters = filters_of(context, request.scope, request.filters)
    found = rank_chunks(
        context, request.query, filters, request.top_k, at.legs, request.sparse_weight, request.syntax
    )
    asked = SemanticSearch(query=request.query, response_mode=request.response_mode)
    return build_answer(context, asked, drop_low_scores(found, request.min_score), at, request)


def rerank(context: RequestContext, request: Rerank) -> Answer:
    """Known chunks in the order in which they answer a question; scores relative to the best of them."""
    filters = filters_of(context, request.scope)
    known = fetch_by_id(context, request.ids, filters, None, 0.0)
    missing = set(known.missing or ())
    ids = [one for one in request.ids if one not in missing]
    passage_of = {one: found.passage for one, found in zip(ids, known.found, strict=True)}
    again = rerank_passages(context, request.query, filters, list(passage_of.values()))
    rated = [(one, round(again.scores[passage.chunk.id], _SCORE_DIGITS)) for one, passage in passage_of.items()]
    rated.sort(key=lambda pair: -pair[1])  # of equals, the first that was given
    kept = [{"id": one, "rerank_score": score} for one, score in rated if score >= request.threshold]
    payload = {
        "count": len(kept[: request.top_k]),
        "results": kept[: request.top_k],
        "missing_ids": sorted(missing),
        "search_mode": again.legs,
        "reranked_by": again.by,
    }
    return Answer(payload, "ids_only", len(rated), 0, (*known.warnings, *again.warnings))


def count_texts(context: RequestContext, request: CountTokens) -> Answer:
    """Tokens of each text, as results are counted."""
    return Answer({"counts": [count_tokens(text) for text in request.texts]}, "ids_only", 0, 0)
