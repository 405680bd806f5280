"""``search_sections`` and ``get_section_text`` for older clients, built on the operations that replace them.

Answers have the fields of the earlier tools. Scope, gapless pages, the budget and sessions, which those tools did
not have, are as in all other operations; a session cannot be chosen by an argument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from winnow.server.bibliographies.locators import cite_place, cited_fields
from winnow.server.contracts import SectionsAnswer, SectionTextsAnswer
from winnow.server.contracts.base import MAX_TOP_K, SearchFilters
from winnow.server.contracts.kb import MAX_PAGE_SIZE, KbSearch, KbSearchOptions
from winnow.server.contracts.legacy import MAX_SECTION_BYTES, GetSectionText, LegacyFilters, SearchSections
from winnow.server.models import Passage
from winnow.server.operations.answers import budget
from winnow.server.operations.answers.paging import START, build_page
from winnow.server.operations.answers.rendering import partial_note
from winnow.server.operations.base import DIRECT, SEARCH_SECONDS, Answer, RequestContext
from winnow.server.operations.declaration import Operation, ToolSpec
from winnow.server.operations.kb import build_kb_row, render_results, search_page, source_of, title_of
from winnow.server.operations.ranking.candidates import Candidate, CandidateList, fetch_by_id
from winnow.server.operations.ranking.scope import filters_of
from winnow.server.settings.settings import Settings
from winnow.server.text.framing import frame_text
from winnow.server.text.printable import one_line, printable, raw_offset

_SESSION_IGNORED = "session_id is ignored: a session is the connection's, and nobody joins another's by its name"
_SCORE_DIGITS = 4
# Fields of the earlier tool that nothing here corresponds to.
_NO_COUNTERPART = {
    "title_vec_score": None,
    "entity_vec_score": None,
    "doc_title_sparse_score": None,
    "rerank_score": None,
    "graph_score": 0.0,
    "graph_distance": 0,
    "connection_count": 0,
    "mention_count": 0,
    "entity_boost_applied": False,
    "entity_metadata": None,
    "rrf_field_contributions": None,
}


def search_sections(context: RequestContext, request: SearchSections) -> Answer:
    """A page of ``page_size`` rows; all pages together have ``top_k``, as in ``kb.search``."""
    size, page_warnings = _cap("page_size", request.page_size, MAX_PAGE_SIZE)
    most, top_warnings = _cap("top_k", request.top_k, MAX_TOP_K)
    filters, filter_warnings = _known_filters(request.filters)
    # session_id and ignored filters are not part of the fingerprint: a cursor stays valid if they change.
    search = KbSearch(
        query=request.query,
        top_k=most,
        cursor=request.cursor,
        page_size=size,
        filters=filters,
        options=KbSearchOptions(max_per_doc=MAX_TOP_K, include_scores=request.include_debug, mode="vector_only"),
    )
    further_fields = {"cursor": request.cursor}
    answer = search_page(
        context, search, _build_section_row if request.include_debug else build_kb_row, further_fields
    )
    warnings = (*_session_warnings(request.session_id), *page_warnings, *top_warnings, *filter_warnings)
    return replace(answer, warnings=(*warnings, *answer.warnings))


def get_section_text(context: RequestContext, request: GetSectionText) -> Answer:
    """The texts of these sections in the order given, each up to ``max_bytes_per``, as many as fit."""
    limit, warnings = _cap("max_bytes_per", request.max_bytes_per, MAX_SECTION_BYTES)
    passages = fetch_by_id(context, list(dict.fromkeys(request.section_ids)), filters_of(context, None), None, 0.0)
    rows = [_build_text_row(candidate.passage, limit) for candidate in passages.candidates]
    ids = [row["section_id"] for row in rows]
    envelope: dict[str, Any] = {"session_id": context.session.id}
    if passages.missing:
        envelope["missing_ids"] = list(passages.missing)
    # Reserve room for all ids: which are left for the next call is known only once the page is built.
    largest = {**envelope, "hints": _build_hints(context.settings, ids)}
    page = build_page(rows, largest, context.caller.budget.of("full"), START, more=False)
    count = len(page.rows)
    hints = _build_hints(context.settings, ids[count:])
    return Answer(
        {"results": list(page.rows), "hints": hints, **envelope, **page.ending},
        "full",
        count,
        page.tokens,
        (*_session_warnings(request.session_id), *warnings),
        noted={"excerpts": count, "excerpts_truncated": sum(row["truncated"] for row in rows[:count])},
    )


def _session_warnings(session_id: str | None) -> tuple[str, ...]:
    return () if session_id is None else (_SESSION_IGNORED,)


def _cap(name: str, asked: int, cap: int) -> tuple[int, tuple[str, ...]]:
    return (asked, ()) if asked <= cap else (cap, (f"{name}: {cap:,} is the most; {asked:,} counts as that",))


def _known_filters(filters: LegacyFilters | None) -> tuple[SearchFilters | None, tuple[str, ...]]:
    """The supported filters, and a warning for the others."""
    if filters is None:
        return None, ()
    names = list(SearchFilters.model_fields)
    known = SearchFilters.model_validate(filters.model_dump(include=set(names)))
    if not filters.model_extra:
        return known, ()
    ignored = ", ".join(sorted(filters.model_extra))[:100]
    return known, (f"filters: {ignored} ignored; filters here are {', '.join(names)}",)


def _build_section_row(
    context: RequestContext, request: KbSearch, ranking: CandidateList, rank: int, candidate: Candidate
) -> dict[str, Any]:
    passage, hit = candidate.passage, candidate.hit
    fused = ranking.fusion != "none"
    return {
        **_section_facts(passage),
        "tokens": passage.chunk.tokens,
        "score": round(candidate.score or 0.0, 3),
        "rank": rank,
        "source": source_of(ranking, candidate),
        "fusion_method": ranking.fusion if fused else None,
        "fused_score": _round_score(hit.score if hit and fused else None),
        "lexical_vec_score": _round_score(hit.lexical if hit else None),
        **_NO_COUNTERPART,
        **cited_fields(passage),
    }


def _section_facts(passage: Passage) -> dict[str, Any]:
    return {
        "section_id": passage.chunk.id,
        "title": title_of(passage),
        "doc_tag": one_line(passage.document.doc_tag, 200),
    }


def _round_score(score: float | None) -> float | None:
    return None if score is None else round(score, _SCORE_DIGITS)


def _build_text_row(passage: Passage, max_bytes: int) -> dict[str, Any]:
    whole = printable(passage.chunk.text)
    text = budget.cut_to_bytes(whole, max_bytes)
    return {
        **_section_facts(passage),
        "text_truncated": text,
        "bytes": len(text.encode("utf-8")),
        "truncated": text != whole,
        "source_blob_id": None,
        **cited_fields(passage, 0, raw_offset(passage.chunk.text, len(text))),
    }


def _build_hints(settings: Settings, left: Sequence[str]) -> dict[str, Any]:
    """The hints of an answer: the next tools, and the ids of the sections that did not fit."""
    following = "kb.expand_excerpt" if settings.kb_v2_enabled else "search_sections"
    listed = following if settings.tool_names == "dotted" else following.replace(".", "_")
    return {"next_tools": [listed], **({"next_section_ids": list(left)} if left else {})}


# Phrases about the kb tools, and their replacements where those are switched off.
_WITHOUT_KB: Mapping[str, str] = MappingProxyType(
    {
        "kb_retrieve_evidence or kb_search is listed.": "you want to see what the results say; semantic_search "
        "shows previews.",
        "kb_read_excerpt or kb_extract_evidence is listed.": "a preview is enough (semantic_search).",
    }
)


def _has_earlier_tools(settings: Settings) -> bool:
    """Whether this server lists the earlier tools: on request, or where the ``kb_*`` tools are switched off."""
    return settings.legacy_tools or not settings.kb_v2_enabled


def _fit_description(description: str, settings: Settings) -> str:
    for phrase, replacement in () if settings.kb_v2_enabled else _WITHOUT_KB.items():
        description = description.replace(phrase, replacement)
    return description


def _render_sections(payload: dict[str, Any]) -> list[str]:
    rows = payload["results"]
    if rows and "preview" in rows[0]:
        return render_results(payload)
    lines = [
        f"{len(rows)} sections{partial_note(payload)}; session {payload['session_id']}",
        *map(_render_section, rows),
    ]
    return [*lines, f"next_cursor: {payload['next_cursor']}"] if payload["next_cursor"] else lines


def _render_section(row: dict[str, Any]) -> str:
    legs = [f"{name} {row[name]}" for name in ("fused_score", "lexical_vec_score") if row[name] is not None]
    how = " ".join(filter(None, (row["source"], row["fusion_method"], *legs)))
    facts = (row["title"], cite_place(row), row["doc_tag"], f"{row['tokens']} tokens", how)
    place = " | ".join(filter(None, facts))
    return f"{row['rank']}. [{row['section_id']}] {row['score']:.3f} {place}"


_SEARCH_SECTIONS_DESCRIPTION = """\
Find sections: ids, titles, scores. An earlier tool.
Use when: your instructions or scripts name search_sections.
Do not use when: kb_retrieve_evidence or kb_search is listed.
Returns at most: page_size results of about 140 tokens.
If you need more, call: get_section_text with section_ids, or this with next_cursor as cursor.
Defaults: top_k 20, page_size 25. Max: 100."""
SEARCH_SECTIONS = Operation(
    "search_sections",
    SearchSections,
    search_sections,
    in_scripts=False,
    seconds=SEARCH_SECONDS,
    tool=ToolSpec(
        title="Find sections (earlier tool)",
        description=_SEARCH_SECTIONS_DESCRIPTION,
        answer=SectionsAnswer,
        render=_render_sections,
        max_size=DIRECT.of("preview"),
        is_repeatable=True,
        is_offered=_has_earlier_tools,
        fit_description=_fit_description,
    ),
)


def _render_texts(payload: dict[str, Any]) -> list[str]:
    lines = [f"text of {len(payload['results'])} sections{partial_note(payload)}; session {payload['session_id']}"]
    for row in payload["results"]:
        cut = ", truncated" if row["truncated"] else ""
        place = " | ".join(filter(None, (row["title"], cite_place(row), row["doc_tag"])))
        lines += [f"[{row['section_id']}] {place} | {row['bytes']} bytes{cut}", *frame_text(row["text_truncated"])]
    for name, ids in (
        ("missing_ids", payload.get("missing_ids")),
        ("next_section_ids", payload["hints"].get("next_section_ids")),
    ):
        if ids:
            lines.append(f"{name}: {' '.join(ids)}")
    return [*lines, f"next: {' '.join(payload['hints']['next_tools'])}"]


_GET_SECTION_TEXT_DESCRIPTION = """\
Read the text of known sections. An earlier tool.
Use when: search_sections found them.
Do not use when: kb_read_excerpt or kb_extract_evidence is listed.
Returns at most: max_bytes_per bytes a section, 20,000 tokens in all.
If you need more, call: this with hints.next_section_ids as section_ids.
Defaults: max_bytes_per 8192. Max: 32768."""
GET_SECTION_TEXT = Operation(
    "get_section_text",
    GetSectionText,
    get_section_text,
    in_scripts=False,
    tool=ToolSpec(
        title="Read sections (earlier tool)",
        description=_GET_SECTION_TEXT_DESCRIPTION,
        answer=SectionTextsAnswer,
        render=_render_texts,
        max_size=DIRECT.of("full"),
        is_repeatable=True,
        is_offered=_has_earlier_tools,
        fit_description=_fit_description,
    ),
)
