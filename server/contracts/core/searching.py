"""``vector.query.search``: results of a search in the form that all search tools of the pack share."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from winnow.server.contracts.base import (
    MAX_TOP_K,
    PREVIEW_CHARS,
    Arguments,
    ChunkId,
    Cited,
    CursorText,
    Limit,
    Meta,
    Payload,
    Scope,
    SearchFilters,
)
from winnow.server.contracts.kb import MAX_ROWS, MAX_SNIPPET_CHARS, Question, SearchMode, Source, Title

_File = Annotated[str, StringConstraints(max_length=1000)]


class VectorQuery(Arguments):
    """Arguments of ``vector.query.search``."""

    query: Question = Field(description="what to look for, in plain words; 2 to 1000 characters")
    top_k: int = Field(default=10, ge=1, le=MAX_TOP_K, description="how many results")
    per_document: int = Field(default=2, ge=1, le=MAX_TOP_K, description="results of one document at most")
    snippet_chars: int = Field(
        default=PREVIEW_CHARS,
        ge=20,
        le=MAX_SNIPPET_CHARS,
        description="length of a snippet in characters",
    )
    mode: SearchMode = Field(default="auto", description="as in kb_search options")
    filters: SearchFilters | None = Field(default=None, description="narrow the search")
    scope: Scope | None = Field(default=None, description="narrow the server's scope")
    cursor: CursorText | None = Field(
        default=None, description="next_cursor of the last answer, with the same other arguments"
    )


class SearchResult(Cited):
    """A result: ``id`` is the section_id that kb_read_excerpt takes, ``published`` a date or ""."""

    rank: int = Field(ge=1, le=MAX_ROWS)
    id: ChunkId
    document_id: ChunkId
    title: Title
    uri: _File
    snippet: Annotated[str, StringConstraints(max_length=MAX_SNIPPET_CHARS)]
    score: float = Field(ge=0, le=1)
    source: Source
    published: Annotated[str, StringConstraints(max_length=40)]


class VectorAnswer(Payload):
    """Answer of ``vector.query.search``."""

    results: list[SearchResult] = Field(max_length=MAX_TOP_K)
    count: int = Field(ge=0, le=MAX_TOP_K)
    next_cursor: CursorText | None
    partial: bool
    limit_reason: Limit
    meta: Meta
