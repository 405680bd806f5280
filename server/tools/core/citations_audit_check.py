"""``citations.audit.check``: whether quotes stand where they are said to stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from winnow.server.bibliographies.locators import cite_place
from winnow.server.contracts.core.citations import AuditAnswer
from winnow.server.operations.answers.tiers import ANSWER_BYTES, ANSWER_TOKENS, Size
from winnow.server.operations.core.auditing import CITATIONS_AUDIT_CHECK
from winnow.server.text.framing import frame_text
from winnow.server.tools.base import Tool
from winnow.server.tools.kb import partial_note

DESCRIPTION = """\
Check quotes against the documents: verified, elided, elsewhere, altered, missing or unknown_source; and citekeys.
Use when: a text with quotes and citations such as [@citekey, p. 3] is done.
Do not use when: you look for quotes (kb_retrieve_evidence).
Returns at most: 200 quotes, 20,000 tokens.
If you need more, call: this with cursor, or with the rest of the text.
Defaults: text or quotes. Max: 60,000 characters, 50 quotes.
Word for word, whatever white space, hyphens, quotation marks and ligatures; case counts.
elided: it stands there and leaves text out."""


def _render(payload: dict[str, Any]) -> list[str]:
    counts = ", ".join(f"{number} {status}" for status, number in payload["counts"].items() if number)
    lines = [f"{counts or 'no quotes'}{partial_note(payload)}"]
    for row in payload["results"]:
        lines += _render_row(row)
    unknown = [reference["key"] for reference in payload["references"] if not reference["known"]]
    lines.append(f"{len(payload['references'])} citekeys; of no document in scope: {', '.join(unknown) or 'none'}")
    lines += [f"line {each['line']}: {each['problem']}: {each['text']}" for each in payload["malformed"]]
    if payload["next_cursor"]:
        lines.append(f"next_cursor: {payload['next_cursor']}")
    return lines


def _render_row(row: dict[str, Any]) -> Iterator[str]:
    section = f"section {row['section_id']}" if "section_id" in row else ""
    document = f"document {row['document_id']}" if "document_id" in row else ""
    facts = (row["reason"], row["named"], row.get("file"), row.get("title"), cite_place(row), section, document)
    likeness = f" likeness {row['likeness']:.3f}" if "likeness" in row else ""
    yield f"{row['number']}. line {row['line']} {row['status']}{likeness}: {' | '.join(filter(None, facts))}"
    yield from frame_text(row["quote"])
    if "text" in row:
        yield "the source has:"
        yield from frame_text(row["text"])


TOOL = Tool(
    operation=CITATIONS_AUDIT_CHECK,
    title="Check quotes",
    description=DESCRIPTION,
    answer=AuditAnswer,
    lines=_render,
    max_size=Size(ANSWER_TOKENS["full"], ANSWER_BYTES),
    pack="core",
)
