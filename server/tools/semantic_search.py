"""``semantic_search``: search at the tiers ids < metadata < preview < full."""

from __future__ import annotations

from typing import Any

from winnow.server.bibliographies.locators import cite_work
from winnow.server.contracts import SearchAnswer
from winnow.server.operations.answers.tiers import ANSWER_BYTES, ANSWER_TOKENS, Size
from winnow.server.operations.search import SEMANTIC_SEARCH
from winnow.server.text.framing import frame_text
from winnow.server.tools.base import Tool, omit_without_scripts
from winnow.server.tools.citing_claims import render_citing

DESCRIPTION = """\
Search by meaning and words: ids, metadata, preview or full text of each result.
Use when: you want many results; then filter_ids for the few that matter.
Do not use when: you need more than three calls (execute_code).
Returns at most: 2,000 tokens of ids, 8,000 of metadata, 10,000 of previews, 20,000 of full texts.
If you need more, call: this with cursor, or a higher response_mode.
Defaults: top_k 10, response_mode metadata. Max: 100."""


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
        f"{payload['count']} results ({payload['mode']}, {how}{more}), about {payload['estimated_tokens']} tokens"
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


TOOL = Tool(
    operation=SEMANTIC_SEARCH,
    title="Search the knowledge base",
    description=DESCRIPTION,
    answer=SearchAnswer,
    lines=render_results,
    max_size=Size(ANSWER_TOKENS["full"], ANSWER_BYTES),
    fit_description=omit_without_scripts("Do not use when: you need more than three calls (execute_code).\n"),
)
