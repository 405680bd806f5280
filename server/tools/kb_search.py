"""``kb.search``: candidate passages, each with its best sentences."""

from __future__ import annotations

from typing import Any

from winnow.server.bibliographies.locators import cite_place
from winnow.server.contracts import KbSearchAnswer
from winnow.server.operations.answers.tiers import ANSWER_BYTES, ANSWER_TOKENS, Size
from winnow.server.operations.kb import KB_SEARCH
from winnow.server.text.framing import frame_text
from winnow.server.tools.base import Tool, omit_without_scripts
from winnow.server.tools.citing_claims import render_citing
from winnow.server.tools.kb import is_offered, partial_note

DESCRIPTION = """\
Find passages: titles, scores, the best sentence of each.
Use when: you choose yourself what to read.
Do not use when: you want an answer (kb_retrieve_evidence), or need many searches (execute_code).
Returns at most: page_size results of about 130 tokens.
If you need more, call: kb_read_excerpt, or this with a larger top_k.
Defaults: top_k 5. Max: 100."""


def render_results(payload: dict[str, Any]) -> list[str]:
    """Results with their best sentences."""
    headline = f"{len(payload['results'])} results{partial_note(payload)}; session {payload['session_id']}"
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


TOOL = Tool(
    operation=KB_SEARCH,
    title="Find passages",
    description=DESCRIPTION,
    answer=KbSearchAnswer,
    lines=render_results,
    max_size=Size(ANSWER_TOKENS["preview"], ANSWER_BYTES),
    is_offered=is_offered,
    fit_description=omit_without_scripts(", or need many searches (execute_code)"),
)
