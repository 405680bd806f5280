"""``kb.search``: candidates, each with the sentences that answer best."""

from __future__ import annotations

from typing import Any

from server.contracts import KbSearch, KbSearchAnswer
from server.text.framing import framed
from server.tiers import ANSWER_BYTES, ANSWER_TOKENS, Size
from server.tools.base import Tool, without_scripts
from server.tools.kb import offered, paged

DESCRIPTION = """\
Find passages: titles, scores, the best sentence of each.
Use when: you choose yourself what to read.
Do not use when: you want an answer (kb_retrieve_evidence), or need many searches (execute_code).
Returns at most: page_size results of about 130 tokens.
If you need more, call: kb_read_excerpt, or this with a larger top_k.
Defaults: top_k 5. Max: 100."""


def lines_of(payload: dict[str, Any]) -> list[str]:
    """Results with what they say that answers best, two lines each."""
    headline = f"{len(payload['results'])} results{paged(payload)}; session {payload['session_id']}"
    lines = [headline]
    if "debug" in payload:
        lines.append(" ".join(f"{name}={value}" for name, value in payload["debug"].items()))
    for row in payload["results"]:
        lines.extend(_row_lines(row))
    if payload["results"]:
        lines.append("each as a resource: winnow://scratch/SESSION/PASSAGE_ID")
    if payload["next_cursor"]:
        lines.append(f"next_cursor: {payload['next_cursor']}")
    return lines


def _row_lines(row: dict[str, Any]) -> list[str]:
    anchor = f" #{row['anchor']}" if row["anchor"] else ""
    place = " | ".join(filter(None, (row["doc_tag"], row["source"], f"{row['size_bytes']} bytes")))
    lines = [
        f"{row['rank']}. [{row['passage_id']}] {row['score']:.3f} {row['title']}{anchor} | {place} | section "
        f"{row['section_id']}",
        *framed(row["preview"]),
    ]
    for extra in ("scores", "debug"):
        if extra in row:
            lines.append("   " + " ".join(f"{name}={value}" for name, value in row[extra].items()))
    return lines


TOOL = Tool(
    name="kb.search",
    title="Find passages",
    description=DESCRIPTION,
    arguments=KbSearch,
    answer=KbSearchAnswer,
    operation="kb.search",
    lines=lines_of,
    most=Size(ANSWER_TOKENS["preview"], ANSWER_BYTES),
    offered=offered,
    worded=without_scripts(", or need many searches (execute_code)"),
)
