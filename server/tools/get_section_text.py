"""``get_section_text``: an earlier tool that reads sections, for clients that still call it."""

from __future__ import annotations

from typing import Any

from winnow.server.bibliographies.locators import cite_place
from winnow.server.contracts import SectionTextsAnswer
from winnow.server.operations.answers.tiers import ANSWER_BYTES, ANSWER_TOKENS, Size
from winnow.server.operations.legacy import GET_SECTION_TEXT
from winnow.server.settings.settings import Settings
from winnow.server.text.framing import frame_text
from winnow.server.tools.base import Tool
from winnow.server.tools.kb import partial_note
from winnow.server.tools.search_sections import is_offered

DESCRIPTION = """\
Read the text of known sections. An earlier tool.
Use when: search_sections found them.
Do not use when: kb_read_excerpt or kb_extract_evidence is listed.
Returns at most: max_bytes_per bytes a section, 20,000 tokens in all.
If you need more, call: this with hints.next_section_ids as section_ids.
Defaults: max_bytes_per 8192. Max: 32768."""

_WITH_KB = "kb_read_excerpt or kb_extract_evidence is listed."
_WITHOUT_KB = "a preview is enough (semantic_search)."


def _fit_description(description: str, settings: Settings) -> str:
    return description if settings.kb_v2_enabled else description.replace(_WITH_KB, _WITHOUT_KB)


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


TOOL = Tool(
    operation=GET_SECTION_TEXT,
    title="Read sections (earlier tool)",
    description=DESCRIPTION,
    answer=SectionTextsAnswer,
    lines=_render_texts,
    max_size=Size(ANSWER_TOKENS["full"], ANSWER_BYTES),
    is_offered=is_offered,
    fit_description=_fit_description,
)
