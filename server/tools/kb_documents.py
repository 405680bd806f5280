"""``kb.documents``: every document, or how many there are of each kind."""

from __future__ import annotations

from typing import Any

from winnow.server.contracts.base import CitedWork
from winnow.server.contracts.documents import DocumentsAnswer
from winnow.server.operations.answers.tiers import ANSWER_BYTES, ANSWER_TOKENS, Size
from winnow.server.operations.corpus.documents import KB_DOCUMENTS
from winnow.server.text.framing import frame_text
from winnow.server.text.printable import one_line
from winnow.server.tools.base import Tool
from winnow.server.tools.kb import is_offered, partial_note

DESCRIPTION = """\
List all documents, or count them by a field: nothing is ranked or left out.
Use when: you want every file, what there is, or how many.
Do not use when: you look for content (kb_search, kb_scan).
Returns at most: limit rows, 2,000 tokens; 8,000 with limit.
If you need more, call: this with cursor; kb_read for one.
Defaults: sort path. Max: limit 1,000."""

_KEY_CHARS, _FIELDS_CHARS = 200, 300


def render_documents(payload: dict[str, Any]) -> list[str]:
    """The totals, then the documents or the counts by key."""
    total = payload["total"]
    lines = [
        f"{total['documents']} documents with {total['passages']} passages; {payload['count']} rows"
        f"{partial_note(payload, 'limit')}"
    ]
    for row in payload["results"]:
        lines += _render_count(row) if "key" in row else _render_document(row)
    if payload["next_cursor"]:
        lines.append(f"next_cursor: {payload['next_cursor']}")
    return lines


def _render_count(row: dict[str, Any]) -> list[str]:
    key = one_line(row["key"], _KEY_CHARS) or "(none)"
    return [f"{row['documents']} documents, {row['passages']} passages:", *frame_text(key)]


def _render_document(row: dict[str, Any]) -> list[str]:
    dates = [f"{name} {row[name]}" for name in ("created", "updated") if name in row]
    labels = [f"{name} {_join(value)}" for name, value in row.get("labels", {}).items()]
    facts = [row["type"], row.get("language", ""), f"{row['tokens']} tokens", f"{row['passages']} passages"]
    place = " | ".join(filter(None, (row["title"], ", ".join(filter(None, facts)), *dates, *labels)))
    lines = [f"[{row['document_id']}] {row['file']} | {place}"]
    stated = {name: row[name] for name in CitedWork.model_fields if name in row} | row.get("fields", {})
    fields = "; ".join(f"{name}: {_join(value)}" for name, value in stated.items())
    return [*lines, *frame_text(one_line(fields, _FIELDS_CHARS))] if fields else lines


def _join(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


TOOL = Tool(
    operation=KB_DOCUMENTS,
    title="List documents",
    description=DESCRIPTION,
    answer=DocumentsAnswer,
    lines=render_documents,
    max_size=Size(ANSWER_TOKENS["metadata"], ANSWER_BYTES),
    is_offered=is_offered,
)
