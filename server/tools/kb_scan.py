"""``kb.scan``: every match of a pattern in all text, or their counts."""

from __future__ import annotations

from typing import Any

from winnow.server.bibliographies.locators import cite_work
from winnow.server.contracts.corpus import ScanAnswer
from winnow.server.operations.answers.tiers import ANSWER_BYTES, ANSWER_TOKENS, Size
from winnow.server.operations.corpus.scan import KB_SCAN
from winnow.server.text.framing import frame_text
from winnow.server.text.printable import one_line
from winnow.server.tools.base import Tool, omit_without_scripts
from winnow.server.tools.kb import is_offered, partial_note

DESCRIPTION = """\
Every match of a regular expression in all text, or their counts: nothing is ranked or left out.
Use when: you list or count all places of a word or pattern.
Do not use when: you ask a question (kb_retrieve_evidence), or compute with matches (execute_code: scan).
Returns at most: 2,000 tokens; 8,000 with limit. total counts all.
If you need more, call: this with cursor, or group_by.
Defaults: context 80. Max: limit 10,000."""

_KEY_CHARS = 300


def render_scan(payload: dict[str, Any]) -> list[str]:
    """The totals, then the matches by document or the counts by key."""
    lines = [_headline(payload)]
    file = ""
    for row in payload["results"]:
        if "key" in row:
            lines.append(f"{row['matches']} in {row['passages']} passages, {row['documents']} documents:")
            lines += frame_text(one_line(row["key"], _KEY_CHARS))
            continue
        if row["file"] != file:
            file = row["file"]
            facts = (file, row["title"], cite_work(row), f"document {row['document_id']}")
            lines.append(" | ".join(filter(None, facts)))
        lines += _render_match(row)
    if payload.get("next_cursor"):
        lines.append(f"next_cursor: {payload['next_cursor']}")
    return lines


def _headline(payload: dict[str, Any]) -> str:
    total, scanned = payload["total"], payload["scanned"]
    more = partial_note(payload, "limit")
    extent = "complete" if payload["complete"] else "not complete"
    return (
        f"{total['matches']} matches in {total['passages']} passages of {total['documents']} documents; {extent}: "
        f"{scanned['documents']} documents looked through; {payload['count']} rows{more}"
    )


def _render_match(row: dict[str, Any]) -> list[str]:
    passage = f"[{row['passage_id']}] " if row.get("passage_id") else ""
    groups = [group for group in row["groups"] if group is not None]
    place = f" {row['locator']}" if "locator" in row else ""
    lines = [f"{passage}{row['start']}-{row['end']}{place}", *frame_text(row["context"])]
    if row["match"] not in row["context"]:
        lines += frame_text(one_line(row["match"]))
    return [*lines, *(line for group in groups for line in frame_text(f"group: {one_line(group)}"))]


TOOL = Tool(
    operation=KB_SCAN,
    title="List every match",
    description=DESCRIPTION,
    answer=ScanAnswer,
    lines=render_scan,
    max_size=Size(ANSWER_TOKENS["metadata"], ANSWER_BYTES),
    is_offered=is_offered,
    fit_description=omit_without_scripts(", or compute with matches (execute_code: scan)"),
)
