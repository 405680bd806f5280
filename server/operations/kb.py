"""``kb.search``: candidates with the span of each that answers best, and never a whole text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from server import tiers
from server.contracts.kb import KbSearch, KbSearchOptions
from server.models import Hit, Passage
from server.operations.base import Answer, RequestContext
from server.operations.paging import Cursor, build_page, fingerprint, resume
from server.operations.ranking.candidates import Candidate, CandidateList, rank_distinct
from server.operations.ranking.scope import filters_of, missing_label_warnings
from server.text.printable import one_line, printable
from server.text.spans import preview, terms

_TITLE_CHARS = 200
_SCORE_DIGITS = 4
# A passage of up to 200 characters, about 50 tokens, costs less whole than the call that would read it.
_SHORT_CHARS = 200
_MAX_PREVIEW_SHARE = 0.6
_SOURCES = {"lexical-only": "bm25", "semantic-only": "vector", "convex": "hybrid", "rrf": "rrf_fusion"}
_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")

# One row: of which question, among what was found, at which rank.
Render = Callable[[RequestContext, KbSearch, CandidateList, int, Candidate], dict[str, Any]]


def kb_search(context: RequestContext, request: KbSearch) -> Answer:
    """A page of previews, at most ``max_per_doc`` of each document."""
    answer = search_page(context, request, build_kb_row)
    if not context.caller.budget.is_direct:
        return answer
    stored = (context.session.get(row["passage_id"]) for row in answer.payload["results"])
    return replace(answer, links=tuple(one.link for one in stored if one is not None))


def search_page(
    context: RequestContext, request: KbSearch, row: Render, beside: Mapping[str, Any] = MappingProxyType({})
) -> Answer:
    """The same with rows of another shape, and what else its payload is to hold ``beside`` them."""
    at, options = resume(request.cursor, request), request.options
    filters = filters_of(context, request.scope, request.filters)
    size = min(request.page_size, request.top_k)
    wanted = min(at.offset + size + 1, request.top_k)
    found = rank_distinct(
        context, request.query, filters, wanted, options.max_per_doc, at.legs, options.mode, request.syntax
    )
    here = found.found[at.offset : at.offset + size]
    rows = [row(context, request, found, number, one) for number, one in enumerate(here, at.offset + 1)]
    envelope: dict[str, Any] = {**beside, "session_id": context.session.id}
    if options.include_debug:
        envelope["debug"] = _debug_facts(found)
    cursor = Cursor(at.offset, fingerprint(request), found.generation, found.way)
    more = len(found.found) > at.offset + size
    shown = build_page(rows, envelope, context.caller.budget.of("preview"), cursor, more=more)
    return Answer(
        {"results": list(shown.rows), "next_cursor": shown.next_cursor, **shown.ending, **envelope},
        "preview",
        len(shown.rows),
        shown.tokens,
        _warnings(request, found, at) + (() if found.found else missing_label_warnings(filters)),
        cache_hit=found.cache_hit,
        noted={"cursors": int(request.cursor is not None), "duplicates": found.duplicates},
    )


def title_of(passage: Passage) -> str:
    """What a passage is headed with: its document's title and the headings above it."""
    parts = [passage.document.title or passage.document.uri, *passage.chunk.heading_path]
    return one_line(" > ".join(parts), _TITLE_CHARS)


def source_of(found: CandidateList, one: Candidate) -> str:
    """How a row came about, in the words of the contract."""
    if one.hit and one.hit.reranked is not None:
        return "reranked"
    if one.hit and one.hit.is_expanded:
        return "graph_expanded"
    return _SOURCES.get(found.legs) or _SOURCES[found.fusion]


def _preview_chars(text: str, most: int) -> int:
    """How long a preview of ``text`` may be: a candidate never shows all of a passage, unless that is short."""
    return most if len(text) <= _SHORT_CHARS else min(most, int(len(text) * _MAX_PREVIEW_SHARE))


def _warnings(request: KbSearch, found: CandidateList, at: Cursor) -> tuple[str, ...]:
    return (*at.moved(found.generation, found.way), *found.warnings)


def build_kb_row(
    context: RequestContext, request: KbSearch, found: CandidateList, rank: int, one: Candidate
) -> dict[str, Any]:
    passage, options = one.passage, request.options
    text = printable(passage.chunk.text).strip()
    stored = context.session.keep(passage, passage.document.project)
    row = {
        "passage_id": stored.passage_id,
        "section_id": passage.chunk.id,
        "doc_tag": one_line(passage.document.doc_tag, 200),
        "title": title_of(passage),
        "rank": rank,
        "score": round(one.score or 0.0, 3),
        "source": source_of(found, one),
        "preview": preview(text, terms(request.query), _preview_chars(text, options.max_snippet_chars)),
        "scratch_uri": stored.uri,
        "size_bytes": stored.size_bytes,
        "anchor": _anchor(passage),
    }
    return row | _build_extras(context, options, one)


def _build_extras(context: RequestContext, options: KbSearchOptions, one: Candidate) -> dict[str, Any]:
    """What is there on request; scripts, whose rows cost no tokens, also get what ``semantic_search`` shows."""
    passage = one.passage
    extras: dict[str, Any] = {}
    if options.include_scores and one.hit:
        extras["scores"] = _build_scores(one.hit)
    if options.include_debug:
        extras["debug"] = {
            "document_id": passage.document.id,
            "file": one_line(passage.document.uri),
            "type": passage.document.type,
            "ordinal": passage.chunk.ordinal,
            "tokens": passage.chunk.tokens,
        }
    if not context.caller.budget.is_direct:
        extras |= {"id": passage.chunk.id, "metadata": tiers.facts(passage), "tokens": passage.chunk.tokens}
    return extras


def _build_scores(hit: Hit) -> dict[str, float]:
    legs = {"dense": hit.dense, "lexical": hit.lexical, "graph": hit.graph, "reranked": hit.reranked}
    legs |= {"boost": hit.boost, "fused": hit.score}
    return {name: round(score, _SCORE_DIGITS) for name, score in legs.items() if score is not None}


def _debug_facts(found: CandidateList) -> dict[str, Any]:
    return {
        "search_mode": found.legs,
        "fusion": found.fusion,
        "walked": found.walked,
        "generation": found.generation,
        "duplicates_suppressed": found.duplicates,
        "relevance": None if found.relevance is None else round(found.relevance, _SCORE_DIGITS),
        "stages_ms": {name: round(taken, 3) for name, taken in found.stages.items()},
    }


def _anchor(passage: Passage) -> str | None:
    """The fragment under which web pages made from such a document show its heading; None above the first one."""
    if not passage.chunk.heading_path:
        return None
    plain = _NOT_IN_ANCHORS.sub("", printable(passage.chunk.heading_path[-1]).lower())
    return plain.strip().replace(" ", "-")[:200] or None
