"""``semantic_search`` and ``fetch``: results at the tiers ids < metadata < preview < full."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from winnow.server.contracts.base import (
    DESCRIBED,
    MAX_TOP_K,
    PREVIEW_CHARS,
    UNLISTED,
    Arguments,
    ChunkId,
    Cited,
    CursorText,
    Label,
    Limit,
    Meta,
    Mode,
    Payload,
    Query,
    Scope,
    SearchFilters,
    Syntax,
)
from winnow.server.contracts.claims.citing import Claimed


class IndexState(Arguments):
    """Arguments of ``index_state``: none."""


class SemanticSearch(Arguments):
    """Arguments of ``semantic_search``."""

    query: Query | None = Field(
        default=None,
        description='what to look for, in plain words; 2 to 1000 characters. "Quoted phrases" come first; '
        "vendor:x, tag:x, doc_tag:x, type:x, path:x, after:2025-01 and before:2026 narrow the search",
    )
    top_k: int = Field(default=10, ge=1, le=MAX_TOP_K, description="how many results")
    response_mode: Literal["ids_only", "ids", "metadata", "preview", "full"] | None = Field(
        default=None,
        description="how much of each result: ids_only (ids is the same) < metadata < preview < full",
    )
    vendor_filter: Label | None = Field(default=None, description="only documents of this vendor")
    min_score: float = Field(default=0.0, ge=0.0, le=1.0, description="drop results that score below this")
    include_relationships: bool = Field(
        default=False, description="add what each result mentions, from the graph, to preview and full results"
    )
    filter_ids: list[ChunkId] = Field(
        default_factory=list,
        max_length=MAX_TOP_K,
        description="fetch these ids, in this order; query is then optional",
        json_schema_extra=DESCRIBED,
    )
    filters: SearchFilters | None = Field(default=None, description="narrow the search")
    scope: Scope | None = Field(default=None, description="narrow the server's scope")
    syntax: Syntax = Field(
        default="fields", description="plain: vendor:x and the like are words", json_schema_extra=UNLISTED
    )
    cursor: CursorText | None = Field(
        default=None,
        description="next_cursor of the last answer, with the same other arguments",
    )

    @model_validator(mode="after")
    def _asks_for_something(self) -> SemanticSearch:
        if self.query is None and not self.filter_ids:
            raise ValueError("give a query, or filter_ids to fetch known ids")
        if self.query is not None and len(self.query.strip()) < 2:
            raise ValueError("the query is blank; say in plain words what to look for")
        return self


class Fetch(Arguments):
    """Arguments of the SDK's ``fetch``."""

    ids: list[ChunkId] = Field(min_length=1, max_length=MAX_TOP_K)
    level: Literal["auto", "ids", "metadata", "preview", "full"] = "full"
    max_tokens: int | None = Field(default=None, ge=1, le=1_000_000)
    missing: Literal["raise", "skip"] = "raise"
    cursor: CursorText | None = None
    scope: Scope | None = None


class Relationship(Payload):
    """One edge from a result into the graph."""

    entity_id: Label
    entity_name: Label
    relationship_type: Label
    confidence: float = Field(ge=0, le=1)


class RowMetadata(Payload):
    """The facts of a result beside its text, with the id and the score of its row."""

    id: ChunkId
    score: float | None = Field(default=None, ge=0, le=1)
    title: Annotated[str, StringConstraints(max_length=500)]
    section: Annotated[str, StringConstraints(max_length=500)]
    type: Annotated[str, StringConstraints(max_length=40)]
    vendor: Annotated[str, StringConstraints(max_length=200)]
    file: Annotated[str, StringConstraints(max_length=1000)]
    created: Annotated[str, StringConstraints(max_length=40)]
    document_id: Annotated[str, StringConstraints(max_length=64)]
    tags: list[Label] = Field(default_factory=list, max_length=100)


class SearchRow(Cited, Claimed):
    """One result. Its ``id`` is the same at every tier."""

    id: ChunkId
    title: Annotated[str, StringConstraints(max_length=500)] | None = None
    score: float | None = Field(default=None, ge=0, le=1)
    section: Annotated[str, StringConstraints(max_length=500)] | None = None
    type: Annotated[str, StringConstraints(max_length=40)] | None = None
    vendor: Annotated[str, StringConstraints(max_length=200)] | None = None
    file: Annotated[str, StringConstraints(max_length=1000)] | None = None
    created: Annotated[str, StringConstraints(max_length=40)] | None = None
    metadata: RowMetadata | None = None
    preview: Annotated[str, StringConstraints(max_length=PREVIEW_CHARS)] | None = None
    preview_tokens: int | None = Field(default=None, ge=0, le=100_000)
    has_more: bool | None = None
    content: Annotated[str, StringConstraints(max_length=200_000)] | None = None
    tokens: int | None = Field(default=None, ge=0, le=1_000_000)
    relationships: list[Relationship] | None = Field(default=None, max_length=10)


class SearchAnswer(Payload):
    """Answer of ``semantic_search``."""

    mode: Mode
    count: int = Field(ge=0, le=MAX_TOP_K)
    ids: list[ChunkId] | None = Field(default=None, max_length=MAX_TOP_K)
    results: list[SearchRow] | None = Field(default=None, max_length=MAX_TOP_K)
    estimated_tokens: int = Field(ge=0, le=10_000_000)
    search_mode: Literal["hybrid", "lexical-only", "semantic-only", "by-id"]
    fusion: Literal["convex", "rrf", "none"]
    partial: bool
    limit_reason: Limit
    next_cursor: CursorText | None = None
    missing_ids: list[ChunkId] | None = Field(default=None, max_length=MAX_TOP_K)
    meta: Meta
