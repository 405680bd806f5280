"""Tiers of detail of a result row: ids < metadata < preview < full.

Every row is rendered from the same passage at every tier and contains the id that the next tier takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from winnow.server.bibliographies.locators import cited_fields
from winnow.server.contracts.base import PREVIEW_CHARS, Mode
from winnow.server.models import Passage
from winnow.server.operations.answers.budget import Row
from winnow.server.text import stated_facts
from winnow.server.text.printable import one_line, printable
from winnow.server.text.words.spans import preview
from winnow.server.text.words.tokens import count_tokens

_TAG_CHARS, _TAGS = 80, 20


def render_row(passage: Passage, tier: Mode, score: float | None, question: frozenset[str]) -> Row:
    """Render one result at one tier. ``score`` is None if nothing was ranked (a fetch by id)."""
    return _RENDERERS[tier](passage, score, question)


def build_metadata(passage: Passage, score: float | None) -> dict[str, Any]:
    """The metadata of a passage as the nested object of its row, whose id and score it repeats."""
    return {
        "id": passage.chunk.id,
        **_score_field(score),
        **_facts(passage),
        "document_id": passage.document.id,
        "tags": _tags(passage),
    }


def _tags(passage: Passage) -> list[str]:
    return [one_line(tag, _TAG_CHARS) for tag in stated_facts.tags(passage.document.tags)[:_TAGS]]


def _facts(passage: Passage) -> dict[str, Any]:
    document, chunk = passage.document, passage.chunk
    return {
        "title": one_line(document.title or document.uri),
        "section": one_line(" > ".join(chunk.heading_path)),
        "type": document.type,
        "vendor": one_line(document.vendor, 200),
        "file": one_line(document.uri),
        "created": stated_facts.moment(document.created),
    }


def _score_field(score: float | None) -> dict[str, Any]:
    return {} if score is None else {"score": round(score, 3)}


def _ids_only(passage: Passage, score: float | None, question: frozenset[str]) -> str:
    return passage.chunk.id


def _metadata(passage: Passage, score: float | None, question: frozenset[str]) -> dict[str, Any]:
    facts = _facts(passage)
    title = facts.pop("title")
    return {"id": passage.chunk.id, "title": title, **_score_field(score), **facts, **cited_fields(passage)}


def _preview(passage: Passage, score: float | None, question: frozenset[str]) -> dict[str, Any]:
    text = preview(printable(passage.chunk.text), question, PREVIEW_CHARS)
    nested = build_metadata(passage, score)
    return {
        "id": passage.chunk.id,
        "title": nested["title"],
        **_score_field(score),
        "metadata": nested,
        **cited_fields(passage),
        "preview": text,
        "preview_tokens": count_tokens(text),
        "has_more": len(text) < len(passage.chunk.text.strip()),
    }


def _full(passage: Passage, score: float | None, question: frozenset[str]) -> dict[str, Any]:
    nested = build_metadata(passage, score)
    return {
        "id": passage.chunk.id,
        "title": nested["title"],
        **_score_field(score),
        "metadata": nested,
        **cited_fields(passage),
        "content": printable(passage.chunk.text),
        "tokens": passage.chunk.tokens,
    }


_RENDERERS: Mapping[Mode, Callable[[Passage, float | None, frozenset[str]], Row]] = MappingProxyType(
    {"ids_only": _ids_only, "metadata": _metadata, "preview": _preview, "full": _full}
)
