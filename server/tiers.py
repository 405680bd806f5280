"""How much of each result an answer shows: ids < metadata < preview < full. Pure functions.

Every row is rendered from the same passage at every tier and carries the id that the next tier takes. An
answer is made to fit its budget before it is sent: whole rows are left out from the end, never cut, and the
caller is told where to continue.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from server.contracts import PREVIEW_CHARS, Mode
from server.models import Passage
from server.printable import printable
from server.spans import preview
from server.tokens import count_tokens

# Tokens and bytes of one direct answer. Hosts warn at 10,000 tokens and cut at 25,000; the byte cap is that
# of the smallest host's message.
ANSWER_TOKENS: Mapping[Mode, int] = MappingProxyType(
    {"ids_only": 2_000, "metadata": 8_000, "preview": 10_000, "full": 20_000}
)
ANSWER_BYTES = 256 * 1024
_ROW_TEXT_CHARS = 500  # titles, sections and file names longer than this are noise


# An object, or at ids_only the bare id.
Row = dict[str, Any] | str


@dataclass(frozen=True, slots=True)
class Page:
    """The rows that fit, what they cost, and why the rest is missing ("none" if nothing is)."""

    rows: tuple[Row, ...]
    tokens: int
    limit_reason: str


def row(passage: Passage, tier: Mode, score: float | None, question: frozenset[str]) -> Row:
    """One result at one tier. ``score`` is None where nothing was ranked (a fetch by id)."""
    return _RENDERERS[tier](passage, score, question)


def fit(rows: Sequence[Row], max_tokens: int, max_bytes: int) -> Page:
    """As many whole rows, from the first on, as the budget holds; at least the first one.

    One row may exceed the budget alone only by the size of one chunk, which ingestion bounds.
    """
    whole = _measure(rows)
    if whole[0] <= max_tokens and whole[1] <= max_bytes:
        return Page(tuple(rows), whole[0], "none")
    kept, reason = _cut(rows, max_tokens, max_bytes)
    return Page(tuple(rows[:kept]), _measure(rows[:kept])[0], reason)


def _measure(rows: Sequence[Row]) -> tuple[int, int]:
    """Tokens and bytes of rows as they are sent."""
    text = dumps(list(rows))
    return count_tokens(text), len(text.encode("utf-8", "replace"))


def _cut(rows: Sequence[Row], max_tokens: int, max_bytes: int) -> tuple[int, str]:
    """How many rows fit, and which budget ends them. Rows counted one by one come to no less than together."""
    tokens = size = 0
    for kept, item in enumerate(rows):
        row_tokens, row_bytes = _measure([item])
        tokens, size = tokens + row_tokens, size + row_bytes
        if kept and (tokens > max_tokens or size > max_bytes):
            return kept, "token_cap" if tokens > max_tokens else "byte_cap"
    return len(rows), "none"


def dumps(value: Any) -> str:
    """Minified JSON: what is counted, and what goes over the wire."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _clip(text: str) -> str:
    text = printable(text)
    return text if len(text) <= _ROW_TEXT_CHARS else f"{text[: _ROW_TEXT_CHARS - 1]}…"


def _facts(passage: Passage) -> dict[str, Any]:
    document, chunk = passage.document, passage.chunk
    return {
        "title": _clip(document.title or document.uri),
        "section": _clip(" > ".join(chunk.heading_path)),
        "type": document.type,
        "vendor": _clip(document.vendor)[:200],
        "file": _clip(document.uri),
        "created": document.created,
    }


def _scored(score: float | None) -> dict[str, Any]:
    return {} if score is None else {"score": round(score, 3)}


def _ids_only(passage: Passage, score: float | None, question: frozenset[str]) -> str:
    return passage.chunk.id


def _metadata(passage: Passage, score: float | None, question: frozenset[str]) -> dict[str, Any]:
    facts = _facts(passage)
    title = facts.pop("title")
    return {"id": passage.chunk.id, "title": title, **_scored(score), **facts}


def _nested(passage: Passage) -> dict[str, Any]:
    return {
        **_facts(passage),
        "document_id": passage.document.id,
        "tags": [_clip(tag)[:200] for tag in passage.document.tags[:100] if tag],
    }


def _preview(passage: Passage, score: float | None, question: frozenset[str]) -> dict[str, Any]:
    text = preview(printable(passage.chunk.text), question, PREVIEW_CHARS)
    nested = _nested(passage)
    return {
        "id": passage.chunk.id,
        "title": nested["title"],
        **_scored(score),
        "metadata": nested,
        "preview": text,
        "preview_tokens": count_tokens(text),
        "has_more": len(text) < len(passage.chunk.text.strip()),
    }


def _full(passage: Passage, score: float | None, question: frozenset[str]) -> dict[str, Any]:
    nested = _nested(passage)
    return {
        "id": passage.chunk.id,
        "title": nested["title"],
        **_scored(score),
        "metadata": nested,
        "content": printable(passage.chunk.text),
        "tokens": passage.chunk.tokens,
    }


_RENDERERS: Mapping[Mode, Callable[[Passage, float | None, frozenset[str]], Row]] = MappingProxyType(
    {"ids_only": _ids_only, "metadata": _metadata, "preview": _preview, "full": _full}
)
