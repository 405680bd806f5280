"""``semantic_search``: ranked chunks, or chunks by id, at the requested tier."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from winnow.server.bibliographies.locators import cite_work
from winnow.server.contracts import SearchAnswer
from winnow.server.contracts.base import Mode
from winnow.server.contracts.search import SemanticSearch
from winnow.server.ids import is_chunk_id
from winnow.server.models import Filters
from winnow.server.operations.answers import budget, text_charges, tiers
from winnow.server.operations.answers.citing_claims import render_citing
from winnow.server.operations.answers.paging import Cursor, build_page, fingerprint, resume
from winnow.server.operations.base import DIRECT, SEARCH_SECONDS, Answer, RequestContext
from winnow.server.operations.claims.projection import add_claims, claims_view
from winnow.server.operations.declaration import Operation, Script, ToolSpec, omit_without_scripts, render_answer
from winnow.server.operations.graph.relationships import add_relationships
from winnow.server.operations.ranking.candidates import (
    Candidate,
    CandidateList,
    drop_low_scores,
    fetch_by_id,
    generation_of,
    rank_chunks,
)
from winnow.server.operations.ranking.scope import filters_of
from winnow.server.text.framing import frame_text
from winnow.server.text.sizes import count_of
from winnow.server.text.words.spans import terms

_WITH_CLAIMS = frozenset({"metadata", "preview"})


def semantic_search(context: RequestContext, request: SemanticSearch) -> Answer:
    """Answer with ranked chunks, or chunks by id, at the requested tier."""
    filters = filters_of(context, request.scope, request.filters, vendor=request.vendor_filter)
    mode = _mode_of(context, request)
    views = context.rankings.views[mode]
    allowed = context.caller.budget.of(mode)
    own = context.index.catalogue.project_settings(filters.project)
    ways = (own.fusion or context.settings.fusion, own.hybrid)
    key = (request.model_dump_json(), filters, generation_of(context, filters), ways, allowed)
    # An answer with claims changes with the notebook: of the session, and without a new generation of the index.
    has_claims = mode in _WITH_CLAIMS and claims_view(context, filters.project) is not None
    if not has_claims and (known := views.get(key)) is not None:
        return replace(known, cache_hit=True)
    answer = render_answer(context, _search(context, request, filters), SEMANTIC_SEARCH.tool)
    if not has_claims and _is_cacheable(request, answer):
        views.put(key, answer)
    return answer


def _is_cacheable(request: SemanticSearch, answer: Answer) -> bool:
    """Whether the same call gives the same answer until the index changes.

    It may not if a leg or the graph was unavailable, or if the request has passage ids, which belong to a session.
    """
    if answer.warnings:
        return False
    if request.filter_ids:
        return not request.query and all(map(is_chunk_id, request.filter_ids))
    return bool(answer.payload["search_mode"] == "hybrid")


def _search(context: RequestContext, request: SemanticSearch, filters: Filters) -> Answer:
    cursor = resume(request.cursor, request)
    if request.filter_ids:
        ranking = fetch_by_id(
            context, request.filter_ids, filters, request.query, request.min_score, request.syntax
        )
    else:
        unfiltered = rank_chunks(
            context, request.query or "", filters, request.top_k, cursor.legs, syntax=request.syntax
        )
        ranking = drop_low_scores(unfiltered, request.min_score)
    return build_answer(context, request, ranking, cursor, request)


def _mode_of(context: RequestContext, request: SemanticSearch) -> Mode:
    asked = request.response_mode or context.settings.default_response_mode
    return "ids_only" if asked == "ids" else asked


def build_answer(
    context: RequestContext, request: SemanticSearch, ranking: CandidateList, cursor: Cursor, asked: BaseModel
) -> Answer:
    """Render a ranking at the tier of ``request``. ``asked``: the request that the cursor is bound to."""
    mode, budget, question = _mode_of(context, request), context.caller.budget, terms(request.query or "")
    candidates = ranking.candidates[cursor.offset :]
    rows = [tiers.render_row(candidate.passage, mode, candidate.score, question) for candidate in candidates]
    if not budget.is_direct:
        rows = [_add_document(row, candidate) for row, candidate in zip(rows, candidates, strict=True)]
    passages = [candidate.passage for candidate in candidates]
    if passages and mode in _WITH_CLAIMS:
        rows = add_claims(context, claims_view(context, passages[0].document.project), rows, passages)
    graph_warnings: tuple[str, ...] = ()
    if request.include_relationships:
        rows, graph_warnings = add_relationships(context, request.scope, mode, passages, rows)
    envelope = _build_envelope(ranking, mode)
    here = Cursor(cursor.offset, fingerprint(asked), ranking.generation, ranking.legs)
    page = build_page(rows, envelope, budget.of(mode), here, more=False)
    payload: dict[str, Any] = {"mode": mode, "count": len(page.rows)}
    row_field = "ids" if mode == "ids_only" else "results"
    payload[row_field] = list(page.rows)
    payload |= {"estimated_tokens": page.tokens, **envelope, **page.ending}
    if page.next_cursor:
        payload["next_cursor"] = page.next_cursor
    return Answer(
        payload,
        mode,
        len(page.rows),
        page.tokens,
        (*cursor.moved(ranking.generation, ranking.legs), *ranking.warnings, *graph_warnings),
        cache_hit=ranking.cache_hit,
        row_field=row_field,
        noted={"cursors": int(bool(cursor.asked))},
        charged_text={
            **text_charges.of_rows(page.rows, "id", "preview"),
            **text_charges.of_rows(page.rows, "id", "content", text_charges.whole),
        },
    )


def _add_document(row: budget.Row, candidate: Candidate) -> budget.Row:
    """The row with the id of its document, which direct callers get in the metadata of previews and full texts."""
    if isinstance(row, str) or "metadata" in row:
        return row
    return {**row, "document_id": candidate.passage.document.id}


def _build_envelope(ranking: CandidateList, mode: Mode) -> dict[str, Any]:
    missing = {} if ranking.missing is None else {"missing_ids": list(ranking.missing)}
    return {"search_mode": ranking.legs, "fusion": ranking.fusion, **missing}


def render_results(payload: dict[str, Any]) -> list[str]:
    """The payload as compact text: one line for each result, then its preview or content."""
    lines = [_headline(payload)]
    if "ids" in payload:
        lines.append(" ".join(payload["ids"]))
    for number, row in enumerate(payload.get("results", ()), start=1):
        lines.extend(_render_row(number, row))
    if payload.get("missing_ids"):
        lines.append(f"missing_ids: {' '.join(payload['missing_ids'])}")
    if "next_cursor" in payload:
        lines.append(f"next_cursor: {payload['next_cursor']}")
    return lines


def _headline(payload: dict[str, Any]) -> str:
    more = f", stopped by {payload['limit_reason']}" if payload["partial"] else ""
    how = (
        payload["search_mode"] if payload["fusion"] == "none" else f"{payload['search_mode']}/{payload['fusion']}"
    )
    return (
        f"{count_of(payload['count'], 'result')} ({payload['mode']}, "
        f"{how}{more}), about {payload['estimated_tokens']} tokens"
    )


def _render_row(number: int, row: dict[str, Any]) -> list[str]:
    facts = row.get("metadata", row)
    score = f" {row['score']:.3f}" if "score" in row else ""
    place = " | ".join(
        filter(
            None,
            (
                facts["section"],
                facts["type"],
                facts["vendor"],
                facts["file"],
                cite_work(row),
                row.get("locator"),
                facts["created"],
            ),
        )
    )
    lines = [f"{number}. [{row['id']}]{score} {row['title']} | {place}"]
    if "preview" in row:
        lines[0] += " [more]" if row["has_more"] else ""
        lines += frame_text(row["preview"])
    if "content" in row:
        lines += frame_text(row["content"])
    lines += render_citing(row)
    if row.get("relationships"):
        lines.append(f"   speaks of: {'; '.join(map(_render_relationship, row['relationships']))}")
    return lines


def _render_relationship(relationship: dict[str, Any]) -> str:
    entity = f"{relationship['entity_name']} [{relationship['entity_id']}]"
    return f"{entity} {relationship['relationship_type']} {relationship['confidence']:.3f}"


_SEMANTIC_SEARCH_DESCRIPTION = """\
Search by meaning and words: ids, metadata, preview or full text of each result.
Use when: you want many results; then filter_ids for the few that matter.
Do not use when: you need more than three calls (execute_code).
Returns at most: 2,000 tokens of ids, 8,000 of metadata, 10,000 of previews, 20,000 of full texts.
If you need more, call: this with cursor, or a higher response_mode.
Defaults: top_k 10, response_mode metadata. Max: 100."""
_SEMANTIC_SEARCH_DOC = """\
Search by meaning and words; the best rows first.

    rows = semantic_search("how are retries configured", top_k=20, min_score=0.3)
    for row in rows:
        print(row.id, row.title, row.score)

top_k: how many rows, 1 to 100. response_mode: "ids_only" < "metadata" (title, score, source) < "preview"
(plus the best sentence) < "full" (plus the whole text); use the smallest that suffices. min_score: 0 to 1.
filters: {"path": "guides/*", "where": {"stage": "beta"}, "doc_tag": ..., "tags": ...}. filter_ids: only these,
query optional; unknown ones raise, unless missing="skip". include_relationships: with "preview" or "full",
row.relationships has what it mentions, where there is a graph. cursor: `page.next_cursor` of the page before.
"""
SEMANTIC_SEARCH = Operation(
    "semantic_search",
    SemanticSearch,
    semantic_search,
    seconds=SEARCH_SECONDS,
    script=Script(
        "query * top_k response_mode vendor_filter min_score include_relationships "
        "filter_ids filters scope syntax missing cursor",
        _SEMANTIC_SEARCH_DOC,
        types={"response_mode": "str"},
        defaults={"response_mode": "metadata"},
    ),
    tool=ToolSpec(
        title="Search the knowledge base",
        description=_SEMANTIC_SEARCH_DESCRIPTION,
        answer=SearchAnswer,
        render=render_results,
        max_size=DIRECT.of("full"),
        is_repeatable=True,
        fit_description=omit_without_scripts("Do not use when: you need more than three calls (execute_code).\n"),
    ),
)
