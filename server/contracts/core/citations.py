"""``citations.audit.check``: whether each quote stands where it is said to stand."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from winnow.server.contracts.base import (
    DESCRIBED,
    Arguments,
    ChunkId,
    Cited,
    CursorText,
    Limit,
    Meta,
    Payload,
    Scope,
)
from winnow.server.contracts.kb import Title

MAX_AUDITED_CHARS = 60_000
MAX_GIVEN_QUOTES, MAX_CHECKS = 50, 200
MAX_QUOTED_CHARS, MAX_SHOWN_CHARS = 2_000, 1_000
MAX_DIFFERENCES = 5
MAX_REFERENCES = MAX_MALFORMED = 100

QuoteStatus = Literal["verified", "elided", "elsewhere", "altered", "missing", "unknown_source"]
_Shown = Annotated[str, StringConstraints(max_length=MAX_SHOWN_CHARS)]
_Reason = Annotated[str, StringConstraints(max_length=500)]
_Named = Annotated[str, StringConstraints(max_length=300)]
_Line = Annotated[int, Field(ge=0, le=MAX_AUDITED_CHARS)]
_Count = Annotated[int, Field(ge=0, le=MAX_AUDITED_CHARS)]


def _as_text(value: Any) -> Any:
    """A number or a ``page_span`` as the text of a page or a range."""
    match value:
        case bool():
            return value
        case int(number):
            return str(number)
        case [int(first), int(last)]:
            return f"{first}-{last}"
    return value


_Page = Annotated[str, BeforeValidator(_as_text), StringConstraints(max_length=40)]


class GivenQuote(Arguments):
    """A quote, the source that it is said to be from, and the page if one is named."""

    quote: Annotated[str, StringConstraints(max_length=MAX_QUOTED_CHARS)]
    source: Annotated[str, StringConstraints(max_length=1_000)] = Field(
        default="", description="id of a passage, section or document, path, title or citekey"
    )
    page: _Page = Field(default="", description="physical or printed page, or a range: 12-14")


class AuditCitations(Arguments):
    """Arguments of ``citations.audit.check``."""

    text: Annotated[str, StringConstraints(max_length=MAX_AUDITED_CHARS)] = Field(
        default="",
        description="Markdown with quotes and citations such as [@citekey, p. 3]",
        json_schema_extra=DESCRIBED,
    )
    quotes: list[GivenQuote] = Field(
        default_factory=list,
        max_length=MAX_GIVEN_QUOTES,
        description="quotes to check: quote, source and page of each",
        json_schema_extra=DESCRIBED,
    )
    scope: Scope | None = Field(default=None, description="narrow the server's scope")
    cursor: CursorText | None = Field(
        default=None, description="next_cursor of the last answer, with the same other arguments"
    )


class WordDifference(Payload):
    """Words of a quote and those of the source in their place."""

    quoted: _Named
    source: _Named


class QuoteCheck(Cited):
    """What became of a quote; ``line`` is that of the text, 0 for a quote of ``quotes``.

    ``text`` is what the source says: the text that an altered quote is closest to, or the whole text of a quote
    that leaves out a part of it. ``omitted`` counts the characters that "…" stands for. ``section_id`` and the
    place are where the quote stands.
    """

    number: int = Field(ge=1, le=MAX_CHECKS)
    line: _Line
    status: QuoteStatus
    reason: _Reason
    quote: _Shown
    named: _Named
    text: _Shown | None = None
    likeness: float | None = Field(default=None, ge=0, le=1)
    differences: list[WordDifference] | None = Field(default=None, max_length=MAX_DIFFERENCES)
    omitted: _Count | None = None
    section_id: ChunkId | None = None
    document_id: ChunkId | None = None
    file: Annotated[str, StringConstraints(max_length=1000)] | None = None
    title: Title | None = None


class CitedKey(Payload):
    """A citekey of the text, how often it is cited, and whether a document in scope has it."""

    key: _Named
    citations: _Count
    known: bool


class Malformed(Payload):
    """A text that was meant as a citation, and why it is none."""

    line: _Line
    text: _Named
    problem: _Reason


class StatusCounts(Payload):
    """How many quotes have each status, over all pages."""

    verified: _Count
    elided: _Count
    elsewhere: _Count
    altered: _Count
    missing: _Count
    unknown_source: _Count


class AuditAnswer(Payload):
    """Answer of ``citations.audit.check``."""

    results: list[QuoteCheck] = Field(max_length=MAX_CHECKS)
    counts: StatusCounts
    references: list[CitedKey] = Field(max_length=MAX_REFERENCES)
    malformed: list[Malformed] = Field(max_length=MAX_MALFORMED)
    next_cursor: CursorText | None
    partial: bool
    limit_reason: Limit
    meta: Meta
