"""``kb.read``: a document from its beginning to its end, piece by piece."""

from __future__ import annotations

from typing import Any

from winnow.server.bibliographies.locators import cite_work
from winnow.server.contracts.documents import ReadAnswer
from winnow.server.operations.answers.tiers import ANSWER_BYTES, ANSWER_TOKENS, Size
from winnow.server.operations.corpus.reading import KB_READ
from winnow.server.text.framing import frame_text
from winnow.server.tools.base import Tool
from winnow.server.tools.kb import is_offered

DESCRIPTION = """\
Read a document in pieces, by id, path or title.
Use when: you want a document whole.
Do not use when: you want what answers a question (kb_retrieve_evidence).
Returns at most: max_tokens tokens.
If you need more, call: this with next as start.
Defaults: max_tokens 800. Max: 800."""


def render_piece(payload: dict[str, Any]) -> list[str]:
    """The piece with its source and where to continue."""
    more = f"; goes on at start {payload['next']}" if payload["next"] is not None else "; the end"
    place = "".join(f" | {part}" for part in (cite_work(payload), payload.get("locator")) if part)
    return [
        f"characters {payload['start']}-{payload['end']} of {payload['total_chars']}{more}",
        f"[{payload['document_id']}] {payload['file']} | {payload['title']} | {payload['type']}, "
        f"{payload['total_tokens']} tokens{place}",
        *frame_text(payload["text"]),
    ]


TOOL = Tool(
    operation=KB_READ,
    title="Read a document",
    description=DESCRIPTION,
    answer=ReadAnswer,
    lines=render_piece,
    # Its text, and a title and a path of any characters.
    max_size=Size(2 * ANSWER_TOKENS["excerpt"], ANSWER_BYTES),
    is_offered=is_offered,
)
