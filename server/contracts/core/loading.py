"""``docs.load.fetch``: a document of the index as chunks of text."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from winnow.server.contracts.base import (
    DESCRIBED,
    Arguments,
    ChunkId,
    CitedWork,
    CursorText,
    Limit,
    Located,
    Meta,
    Scope,
)
from winnow.server.contracts.excerpts import MAX_EXCERPT_BYTES, MAX_EXCERPT_TOKENS
from winnow.server.contracts.kb import Title

MAX_CHUNKS = 20
_Characters = Annotated[int, Field(ge=0, le=10**9)]


class LoadDocument(Arguments):
    """Arguments of ``docs.load.fetch``."""

    uri: Annotated[str, StringConstraints(min_length=1, max_length=1000)] = Field(
        description="uri (path), document_id or title of an indexed document; no web address",
        json_schema_extra=DESCRIBED,
    )
    max_chunks: int = Field(default=4, ge=1, le=MAX_CHUNKS, description="chunks in one answer")
    chunk_tokens: int = Field(default=400, ge=8, le=MAX_EXCERPT_TOKENS, description="length of a chunk")
    scope: Scope | None = Field(default=None, description="narrow the server's scope")
    cursor: CursorText | None = Field(
        default=None, description="next_cursor of the last answer, with the same other arguments"
    )


class LoadedChunk(Located):
    """Characters ``start`` to ``end`` of a document, and the pages that they are on."""

    text: Annotated[str, StringConstraints(max_length=MAX_EXCERPT_BYTES)]
    start: _Characters
    end: _Characters
    tokens: int = Field(ge=0, le=100_000)


class LoadAnswer(CitedWork):
    """Answer of ``docs.load.fetch``: chunks in reading order, without gaps."""

    document_id: ChunkId
    uri: Annotated[str, StringConstraints(max_length=1000)]
    title: Title
    type: Annotated[str, StringConstraints(max_length=40)]
    results: list[LoadedChunk] = Field(max_length=MAX_CHUNKS)
    total_chars: _Characters
    total_tokens: _Characters
    next_cursor: CursorText | None
    partial: bool
    limit_reason: Limit
    meta: Meta
