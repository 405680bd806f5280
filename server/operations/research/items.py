"""Passages with their citation facts, as the research tools show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from winnow.server.bibliographies.locators import cited_fields
from winnow.server.contracts.research import FACT_CHARS, MAX_FULL_CHARS, MAX_SECTIONS, SECTION_CHARS
from winnow.server.models import Passage
from winnow.server.text.printable import one_line, printable, shorten

_SCORE_DIGITS = 6


def build_item(passage: Passage, score: float, max_chars: int) -> dict[str, Any]:
    """A row of ``query_hybrid``: text of at most ``max_chars`` characters, and what a citation needs."""
    document, headings = passage.document, section_names(passage)
    cited = cited_fields(passage)
    return {
        "render_text": shorten(printable(passage.chunk.text).strip(), max_chars),
        "score": round(min(max(score, 0.0), 1.0), _SCORE_DIGITS),
        "citekey": cited.pop("citekey", None),
        "section": headings[-1] if headings else None,
        "page_span": cited.pop("page_span", None),
        "section_path": headings[:-1],
        "doi": cited.pop("doi", None) or text_fact(document.metadata, "doi"),
        "id": passage.chunk.id,
        "title": one_line(document.title or document.uri, SECTION_CHARS),
        **cited,
    }


def full_text(passage: Passage) -> str:
    """The whole text of a passage."""
    return shorten(printable(passage.chunk.text), MAX_FULL_CHARS)


def section_names(passage: Passage) -> list[str]:
    """The headings above a passage's text, the outermost first."""
    names = (one_line(heading, SECTION_CHARS) for heading in passage.chunk.heading_path[:MAX_SECTIONS])
    return [name for name in names if name]


def text_fact(metadata: Mapping[str, Any], name: str) -> str | None:
    """A fact of a document as one line; None where it states none, or something else than a text or number."""
    value = metadata.get(name)
    is_text = isinstance(value, str | int | float) and not isinstance(value, bool)
    return (one_line(str(value), FACT_CHARS) or None) if is_text else None
