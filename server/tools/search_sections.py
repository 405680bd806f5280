"""``search_sections``: an earlier search tool, for clients that still call it."""

from __future__ import annotations

from typing import Any

from winnow.server.bibliographies.locators import cite_place
from winnow.server.contracts import SectionsAnswer
from winnow.server.operations.answers.tiers import ANSWER_BYTES, ANSWER_TOKENS, Size
from winnow.server.operations.legacy import SEARCH_SECTIONS
from winnow.server.settings.settings import Settings
from winnow.server.tools import kb_search
from winnow.server.tools.base import Context, Tool
from winnow.server.tools.kb import partial_note

DESCRIPTION = """\
Find sections: ids, titles, scores. An earlier tool.
Use when: your instructions or scripts name search_sections.
Do not use when: kb_retrieve_evidence or kb_search is listed.
Returns at most: page_size results of about 140 tokens.
If you need more, call: get_section_text with section_ids, or this with next_cursor as cursor.
Defaults: top_k 20, page_size 25. Max: 100."""

# Phrases about the kb tools, and their replacements where those are switched off.
_WITHOUT_KB = {
    "kb_retrieve_evidence or kb_search is listed.": "you want to see what the results say; semantic_search shows "
    "previews.",
}


def is_offered(context: Context) -> bool:
    """Whether this server lists the earlier tools: on request, or where the ``kb_*`` tools are switched off."""
    return context.settings.legacy_tools or not context.settings.kb_v2_enabled


def _fit_description(description: str, settings: Settings) -> str:
    if not settings.kb_v2_enabled:
        for phrase, replacement in _WITHOUT_KB.items():
            description = description.replace(phrase, replacement)
    return description


def _render_sections(payload: dict[str, Any]) -> list[str]:
    rows = payload["results"]
    if rows and "preview" in rows[0]:
        return kb_search.render_results(payload)
    lines = [
        f"{len(rows)} sections{partial_note(payload)}; session {payload['session_id']}",
        *map(_render_row, rows),
    ]
    return [*lines, f"next_cursor: {payload['next_cursor']}"] if payload["next_cursor"] else lines


def _render_row(row: dict[str, Any]) -> str:
    legs = [f"{name} {row[name]}" for name in ("fused_score", "lexical_vec_score") if row[name] is not None]
    how = " ".join(filter(None, (row["source"], row["fusion_method"], *legs)))
    facts = (row["title"], cite_place(row), row["doc_tag"], f"{row['tokens']} tokens", how)
    place = " | ".join(filter(None, facts))
    return f"{row['rank']}. [{row['section_id']}] {row['score']:.3f} {place}"


TOOL = Tool(
    operation=SEARCH_SECTIONS,
    title="Find sections (earlier tool)",
    description=DESCRIPTION,
    answer=SectionsAnswer,
    lines=_render_sections,
    max_size=Size(ANSWER_TOKENS["preview"], ANSWER_BYTES),
    is_offered=is_offered,
    fit_description=_fit_description,
)
