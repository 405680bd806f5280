"""Operations for scripts only: hybrid search with weights, reranking, token counts."""

from __future__ import annotations

from winnow.server.contracts.scripting import CountTokens, HybridSearch, Rerank
from winnow.server.contracts.search import SemanticSearch
from winnow.server.operations.answers.paging import resume
from winnow.server.operations.base import SEARCH_SECONDS, Answer, RequestContext
from winnow.server.operations.declaration import Operation, Script
from winnow.server.operations.ranking.candidates import drop_low_scores, fetch_by_id, leg_mode, rank_chunks
from winnow.server.operations.ranking.reranking import rerank_passages
from winnow.server.operations.ranking.scope import filters_of
from winnow.server.operations.search import build_answer
from winnow.server.text.words.tokens import count_tokens

_SCORE_DIGITS = 4
_BY_MEANING = "hybrid search is off for project {project!r}: ranked by meaning alone, weights do not count"


def hybrid_search(context: RequestContext, request: HybridSearch) -> Answer:
    """Ranked chunks with the script's own weights of the two legs."""
    cursor = resume(request.cursor, request)
    filters = filters_of(context, request.scope, request.filters)
    if leg_mode(context, filters.project) == "dense":
        context.warnings.append(_BY_MEANING.format(project=filters.project))
    ranking = rank_chunks(
        context, request.query, filters, request.top_k, cursor.legs, request.sparse_weight, request.syntax
    )
    asked = SemanticSearch(query=request.query, response_mode=request.response_mode)
    return build_answer(context, asked, drop_low_scores(ranking, request.min_score), cursor, request)


def rerank(context: RequestContext, request: Rerank) -> Answer:
    """Given chunks, reranked for a question; scores are relative to the best of them."""
    filters = filters_of(context, request.scope)
    fetched = fetch_by_id(context, request.ids, filters, None, 0.0)
    missing = set(fetched.missing or ())
    ids = [id for id in request.ids if id not in missing]
    passage_of = {id: candidate.passage for id, candidate in zip(ids, fetched.candidates, strict=True)}
    reranked = rerank_passages(context, request.query, filters, list(passage_of.values()))
    scored = [(id, round(reranked.scores[passage.chunk.id], _SCORE_DIGITS)) for id, passage in passage_of.items()]
    scored.sort(key=lambda pair: -pair[1])  # ties stay in the given order
    kept = [{"id": id, "rerank_score": score} for id, score in scored if score >= request.threshold]
    payload = {
        "count": len(kept[: request.top_k]),
        "results": kept[: request.top_k],
        "missing_ids": sorted(missing),
        "search_mode": reranked.legs,
        "reranked_by": reranked.by,
    }
    return Answer(payload, "ids_only", len(scored), 0, (*fetched.warnings, *reranked.warnings))


def count_texts(context: RequestContext, request: CountTokens) -> Answer:
    """The number of tokens of each text, counted like those of results."""
    return Answer({"counts": [count_tokens(text) for text in request.texts]}, "ids_only", 0, 0)


_HYBRID_SEARCH_DOC = """\
Search with your own weights for words and for meaning; the best rows first.

    rows = hybrid_search("error E1042", bm25_weight=0.8, vector_weight=0.2)
    print([(row.title, row.score) for row in rows])

bm25_weight, vector_weight: 0 to 1 each, not both 0; only their proportion matters. More words for names, codes
and numbers; more meaning for questions in other words than the documents'. The rest as in semantic_search,
whose weights are the best on average. syntax, here and there: "plain" reads tag:x in a query as words.
"""
HYBRID_SEARCH = Operation(
    "hybrid_search",
    HybridSearch,
    hybrid_search,
    seconds=SEARCH_SECONDS,
    script=Script(
        "query bm25_weight vector_weight top_k filters * response_mode min_score scope syntax cursor",
        _HYBRID_SEARCH_DOC,
    ),
)
RERANK = Operation("rerank", Rerank, rerank)
TOKENS = Operation("tokens", CountTokens, count_texts)
