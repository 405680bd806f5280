"""``vector.query.search``: the ranking of ``kb.search`` in rows that hold outside a session."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from winnow.server.bibliographies.locators import cited_fields
from winnow.server.contracts.core.searching import VectorQuery
from winnow.server.contracts.kb import KbSearch, KbSearchOptions
from winnow.server.operations.answers import text_charges
from winnow.server.operations.base import SEARCH_SECONDS, Answer, Operation, RequestContext
from winnow.server.operations.kb import search_page, source_of, title_of
from winnow.server.operations.ranking.candidates import Candidate, CandidateList
from winnow.server.text import stated_facts
from winnow.server.text.printable import one_line, printable
from winnow.server.text.words.spans import preview, terms

_SCORE_DIGITS = 3


def search_vectors(context: RequestContext, request: VectorQuery) -> Answer:
    """A page of results, at most ``per_document`` of each document."""
    search = KbSearch(
        query=request.query,
        top_k=request.top_k,
        page_size=request.top_k,
        cursor=request.cursor,
        filters=request.filters,
        scope=request.scope,
        options=KbSearchOptions(
            max_per_doc=request.per_document, max_snippet_chars=request.snippet_chars, mode=request.mode
        ),
    )
    answer = search_page(context, search, _build_row)
    rows = answer.payload["results"]
    # Identical calls get identical data, whichever session they are from.
    payload = {name: value for name, value in answer.payload.items() if name != "session_id"}
    charged_text = text_charges.of_rows(rows, "id", "snippet")
    return replace(answer, payload={**payload, "count": len(rows)}, charged_text=charged_text)


def _build_row(
    context: RequestContext, request: KbSearch, ranking: CandidateList, rank: int, candidate: Candidate
) -> dict[str, Any]:
    passage = candidate.passage
    text = printable(passage.chunk.text).strip()
    return {
        "rank": rank,
        "id": passage.chunk.id,
        "document_id": passage.document.id,
        "title": title_of(passage),
        "uri": one_line(passage.document.uri, 1_000),
        "snippet": preview(text, terms(request.query), request.options.max_snippet_chars),
        "score": round(candidate.score or 0.0, _SCORE_DIGITS),
        "source": source_of(ranking, candidate),
        "published": stated_facts.moment(passage.document.created),
        **cited_fields(passage),
    }


VECTOR_QUERY_SEARCH = Operation(
    "vector.query.search", VectorQuery, search_vectors, in_scripts=False, seconds=SEARCH_SECONDS
)
