"""``kb.search``: ranked candidates, each with a preview of its best spans but not its whole text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from winnow.server.bibliographies.locators import cite_place, cited_fields
from winnow.server.contracts import KbSearchAnswer
from winnow.server.contracts.kb import KbSearch, KbSearchOptions
from winnow.server.models import Hit, Passage
from winnow.server.operations.answers import budget, text_charges, tiers
from winnow.server.operations.answers.citing_claims import render_citing
from winnow.server.operations.answers.paging import Cursor, build_page, fingerprint, resume
from winnow.server.operations.answers.rendering import partial_note
from winnow.server.operations.base import DIRECT, SEARCH_SECONDS, Answer, RequestContext
from winnow.server.operations.claims.projection import add_claims, claims_view
from winnow.server.operations.declaration import Operation, Script, ToolSpec, has_kb_tools, omit_without_scripts
from winnow.server.operations.ranking.candidates import Candidate, CandidateList, rank_distinct
from winnow.server.operations.ranking.scope import filters_of
from winnow.server.text.framing import frame_text
from winnow.server.text.printable import one_line, printable
from winnow.server.text.sizes import count_of
from winnow.server.text.words.spans import preview, terms

_TITLE_CHARS = 200
_SCORE_DIGITS = 4
# Of one answer. A link takes about 110 tokens; rows beyond have the passage's URI alone.
_MOST_LINKS = 20
# A passage of up to 200 characters, about 50 tokens, costs less than the call that would read the rest of it.
_SHORT_CHARS = 200
_MAX_PREVIEW_SHARE = 0.6
_SOURCES = {"lexical-only": "bm25", "semantic-only": "vector", "convex": "hybrid", "rrf": "rrf_fusion"}
_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")

# Renders one row, from the request, the ranking, the rank and the candidate.
Render = Callable[[RequestContext, KbSearch, CandidateList, int, Candidate], dict[str, Any]]


def kb_search(context: RequestContext, request: KbSearch) -> Answer:
    """A page of previews, at most ``max_per_doc`` of each document."""
    answer = search_page(context, request, build_kb_row, shows_claims=True)
    if not context.caller.budget.is_direct:
        return answer
    rows = answer.payload["results"]
    stored = [(context.session.get(row["passage_id"]), row) for row in rows[:_MOST_LINKS]]
    links = (replace(passage.link, place=cite_place(row)) for passage, row in stored if passage is not None)
    return replace(answer, links=tuple(links))


def search_page(
    context: RequestContext,
    request: KbSearch,
    row: Render,
    further_fields: Mapping[str, Any] = MappingProxyType({}),
    *,
    shows_claims: bool = False,
) -> Answer:
    """A page of rows that ``row`` renders. ``further_fields``: further fields of the payload.

    ``shows_claims``: the contract of the rows has claims that cite them.
    """
    cursor, options = resume(request.cursor, request), request.options
    filters = filters_of(context, request.scope, request.filters)
    size = min(request.page_size, request.top_k)
    wanted = min(cursor.offset + size + 1, request.top_k)
    ranking = rank_distinct(
        context, request.query, filters, wanted, options.max_per_doc, cursor.legs, options.mode, request.syntax
    )
    candidates = ranking.candidates[cursor.offset : cursor.offset + size]
    rows: list[budget.Row] = [
        row(context, request, ranking, number, candidate)
        for number, candidate in enumerate(candidates, cursor.offset + 1)
    ]
    if shows_claims:
        view = claims_view(context, filters.project)
        rows = add_claims(context, view, rows, [candidate.passage for candidate in candidates])
    envelope: dict[str, Any] = {**further_fields, "session_id": context.session.id}
    if options.include_debug:
        envelope["debug"] = _debug_facts(ranking)
    page_cursor = Cursor(cursor.offset, fingerprint(request), ranking.generation, ranking.ranking_method)
    more = len(ranking.candidates) > cursor.offset + size
    page = build_page(rows, envelope, context.caller.budget.of("preview"), page_cursor, more=more)
    return Answer(
        {"results": list(page.rows), "next_cursor": page.next_cursor, **page.ending, **envelope},
        "preview",
        len(page.rows),
        page.tokens,
        _warnings(request, ranking, cursor),
        cache_hit=ranking.cache_hit,
        noted={"cursors": int(request.cursor is not None), "duplicates": ranking.duplicates},
        charged_text=text_charges.of_rows(page.rows, "section_id", "preview"),
    )


def title_of(passage: Passage) -> str:
    """The title of a passage: its document's title and the headings above it."""
    parts = [passage.document.title or passage.document.uri, *passage.chunk.heading_path]
    return one_line(" > ".join(parts), _TITLE_CHARS)


def source_of(ranking: CandidateList, candidate: Candidate) -> str:
    """The value of the field ``source``: how a row was found."""
    if candidate.hit and candidate.hit.reranked is not None:
        return "reranked"
    if candidate.hit and candidate.hit.is_expanded:
        return "graph_expanded"
    return _SOURCES.get(ranking.legs) or _SOURCES[ranking.fusion]


def _preview(context: RequestContext, text: str, request: KbSearch) -> str:
    """The preview of a text, which takes longest of all that a row needs: a caller's next search may repeat it."""
    most = _preview_chars(text, request.options.max_snippet_chars)
    key, previews = (text, request.query, most), context.rankings.previews
    known = previews.get(key)
    if known is None:
        known = preview(text, terms(request.query), most)
        previews.put(key, known)
    return known


def _preview_chars(text: str, most: int) -> int:
    """The maximum length of a preview of ``text``: not the whole passage, unless it is short."""
    return most if len(text) <= _SHORT_CHARS else min(most, int(len(text) * _MAX_PREVIEW_SHARE))


def _warnings(request: KbSearch, ranking: CandidateList, cursor: Cursor) -> tuple[str, ...]:
    return (*cursor.moved(ranking.generation, ranking.ranking_method), *ranking.warnings)


def build_kb_row(
    context: RequestContext, request: KbSearch, ranking: CandidateList, rank: int, candidate: Candidate
) -> dict[str, Any]:
    passage, options = candidate.passage, request.options
    text = printable(passage.chunk.text).strip()
    stored = context.session.keep(passage, passage.document.project)
    row = {
        "passage_id": stored.passage_id,
        "section_id": passage.chunk.id,
        "doc_tag": one_line(passage.document.doc_tag, 200),
        "title": title_of(passage),
        "rank": rank,
        "score": round(candidate.score or 0.0, 3),
        "source": source_of(ranking, candidate),
        "preview": _preview(context, text, request),
        "scratch_uri": stored.uri,
        "size_bytes": stored.size_bytes,
        "anchor": _anchor(passage),
        **cited_fields(passage),
    }
    return row | _build_extras(context, options, candidate)


def _build_extras(context: RequestContext, options: KbSearchOptions, candidate: Candidate) -> dict[str, Any]:
    """The optional fields; scripts, whose rows cost no tokens, also get those of ``semantic_search``."""
    passage = candidate.passage
    extras: dict[str, Any] = {}
    if options.include_scores and candidate.hit:
        extras["scores"] = _build_scores(candidate.hit)
    if options.include_debug:
        extras["debug"] = {
            "document_id": passage.document.id,
            "file": one_line(passage.document.uri),
            "type": passage.document.type,
            "ordinal": passage.chunk.ordinal,
            "tokens": passage.chunk.tokens,
        }
    if not context.caller.budget.is_direct:
        extras |= {
            "id": passage.chunk.id,
            "metadata": tiers.build_metadata(passage, round(candidate.score or 0.0, 3)),
            "tokens": passage.chunk.tokens,
        }
    return extras


def place_for_scripts(context: RequestContext, passage: Passage) -> dict[str, Any]:
    """The place of a passage, for quotes and excerpts of scripts; direct callers have its id and its title."""
    if context.caller.budget.is_direct:
        return {}
    known = tiers.build_metadata(passage, None)
    return {name: known[name] for name in ("document_id", "section", "file", "type")}


def _build_scores(hit: Hit) -> dict[str, float]:
    legs = {"dense": hit.dense, "lexical": hit.lexical, "graph": hit.graph, "reranked": hit.reranked}
    legs |= {"boost": hit.boost, "fused": hit.score}
    return {name: round(score, _SCORE_DIGITS) for name, score in legs.items() if score is not None}


def _debug_facts(ranking: CandidateList) -> dict[str, Any]:
    return {
        "search_mode": ranking.legs,
        "fusion": ranking.fusion,
        "walked": ranking.walked,
        "generation": ranking.generation,
        "duplicates_suppressed": ranking.duplicates,
        "relevance": None if ranking.relevance is None else round(ranking.relevance, _SCORE_DIGITS),
        "stages_ms": {name: round(milliseconds, 3) for name, milliseconds in ranking.stages.items()},
    }


def _anchor(passage: Passage) -> str | None:
    """The URL fragment of the passage's heading, as on web pages made from documents; None without a heading."""
    if not passage.chunk.heading_path:
        return None
    plain = _NOT_IN_ANCHORS.sub("", printable(passage.chunk.heading_path[-1]).lower())
    return plain.strip().replace(" ", "-")[:200] or None


def render_results(payload: dict[str, Any]) -> list[str]:
    """Results with their best sentences."""
    headline = (
        f"{count_of(len(payload['results']), 'result')}{partial_note(payload)}; session {payload['session_id']}"
    )
    lines = [headline]
    if "debug" in payload:
        lines.append(" ".join(f"{name}={value}" for name, value in payload["debug"].items()))
    for row in payload["results"]:
        lines.extend(_render_row(row))
    if payload["results"]:
        lines.append("each as a resource: winnow://scratch/SESSION/PASSAGE_ID")
    if payload["next_cursor"]:
        lines.append(f"next_cursor: {payload['next_cursor']}")
    return lines


def _render_row(row: dict[str, Any]) -> list[str]:
    anchor = f" #{row['anchor']}" if row["anchor"] else ""
    size = f"{row['size_bytes']} bytes"
    place = " | ".join(filter(None, (cite_place(row), row["doc_tag"], row["source"], size)))
    lines = [
        f"{row['rank']}. [{row['passage_id']}] {row['score']:.3f} {row['title']}{anchor} | {place} | section "
        f"{row['section_id']}",
        *frame_text(row["preview"]),
        *render_citing(row),
    ]
    for extra in ("scores", "debug"):
        if extra in row:
            lines.append("   " + " ".join(f"{name}={value}" for name, value in row[extra].items()))
    return lines


_KB_SEARCH_DESCRIPTION = """\
Find passages: titles, scores, the best sentence of each.
Use when: you choose yourself what to read.
Do not use when: you want an answer (kb_retrieve_evidence), or need many searches (execute_code).
Returns at most: page_size results of about 130 tokens.
If you need more, call: kb_read_excerpt, or this with a larger top_k.
Defaults: top_k 5. Max: 100."""
_KB_SEARCH_DOC = """\
Candidates for a question, each with a preview: its best sentence.

    for row in kb.search("how are retries configured"):
        print(row.title, row.preview, row.file)

top_k: how many rows, 1 to 100. max_per_doc: how many of one document. filters: as in semantic_search. cursor:
`page.next_cursor` of the previous page. To read a row: kb.read_excerpt(row), fetch(row.id).
"""
KB_SEARCH = Operation(
    "kb.search",
    KbSearch,
    kb_search,
    seconds=SEARCH_SECONDS,
    script=Script(
        "query * top_k max_per_doc filters scope cursor",
        _KB_SEARCH_DOC,
        types={"max_per_doc": "int"},
        defaults={"max_per_doc": 1},
    ),
    tool=ToolSpec(
        title="Find passages",
        description=_KB_SEARCH_DESCRIPTION,
        answer=KbSearchAnswer,
        render=render_results,
        max_size=DIRECT.of("preview"),
        is_repeatable=True,
        is_offered=has_kb_tools,
        fit_description=omit_without_scripts(", or need many searches (execute_code)"),
    ),
)
