"""``kb.search``, and the explanation of a ranking."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from winnow.server.contracts.base import (
    DESCRIBED,
    MAX_TOP_K,
    PREVIEW_CHARS,
    UNLISTED,
    WHOLE,
    Arguments,
    ChunkId,
    Cited,
    CursorText,
    Label,
    Limit,
    Meta,
    Payload,
    Query,
    Scope,
    SearchFilters,
    Syntax,
)
from winnow.server.contracts.claims.citing import Claimed

MAX_SNIPPET_CHARS = 500
MAX_PAGE_SIZE = 100
# A cursor continues through a ranking only this far: nobody was seen to read further.
MAX_ROWS = 100

SearchMode = Literal["auto", "vector_only", "hybrid_local", "multi_hop"]
Source = Literal["reranked", "rrf_fusion", "graph_expanded", "vector", "bm25", "hybrid"]


def _check_not_blank(text: str) -> str:
    if len(text.strip()) < 2:
        raise ValueError("blank; say in plain words what to look for")
    return text


Question = Annotated[Query, AfterValidator(_check_not_blank)]
PassageId = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Title = Annotated[str, StringConstraints(max_length=500)]
Milliseconds = Annotated[float | None, Field(ge=0, le=86_400_000)]
Uri = Annotated[str, StringConstraints(max_length=200)]


class KbSearchOptions(Arguments):
    """How ``kb.search`` searches and shows its results."""

    max_snippet_chars: int = Field(
        default=PREVIEW_CHARS, ge=20, le=MAX_SNIPPET_CHARS, description="length of a preview in characters"
    )
    max_per_doc: int = Field(default=1, ge=1, le=MAX_TOP_K, description="results of one document at most")
    include_scores: bool = Field(default=False, description="add the score of each leg to every result")
    include_debug: bool = Field(
        default=False, description="add where each result comes from, and how it was found"
    )
    mode: SearchMode = Field(
        default="auto",
        description="vector_only: vectors and words; hybrid_local: the graph as well; multi_hop: the graph first, "
        "for questions that lead from one page to another; auto: what the server has",
    )


ExplainedTool = Literal["semantic_search", "kb_search", "kb_retrieve_evidence"]
# Tool -> the arguments that it takes and another one does not.
_TAKEN_BY: Mapping[ExplainedTool, frozenset[str]] = MappingProxyType(
    {
        "semantic_search": frozenset({"vendor_filter", "min_score"}),
        "kb_search": frozenset({"max_per_doc", "mode"}),
        "kb_retrieve_evidence": frozenset({"mode"}),
    }
)


class KbSearch(Arguments):
    """Arguments of ``kb.search``."""

    query: Question = Field(
        description="what to look for, in plain words; 2 to 1000 characters; fields: as in semantic_search"
    )
    top_k: int = Field(default=5, ge=1, le=MAX_TOP_K, description="over all pages", json_schema_extra=DESCRIBED)
    cursor: CursorText | None = Field(
        default=None, description="next_cursor of the last answer, with the same other arguments"
    )
    page_size: int = Field(default=5, ge=1, le=MAX_PAGE_SIZE, description="results in one answer")
    scope: Scope | None = Field(default=None, description="narrow the server's scope")
    filters: SearchFilters | None = Field(default=None, description="narrow the search", json_schema_extra=WHOLE)
    syntax: Syntax = Field(
        default="fields", description="plain: vendor:x and the like are words", json_schema_extra=UNLISTED
    )
    options: KbSearchOptions = Field(default_factory=KbSearchOptions, description="how results are shown")


class ExplainRanking(Arguments):
    """Arguments of ``kb.explain_ranking``: those of the call whose ranking is explained, and a document."""

    query: Question
    tool: ExplainedTool = "semantic_search"
    document: Annotated[str, StringConstraints(min_length=1, max_length=1000)] | None = None
    top_k: int | None = Field(default=None, ge=1, le=MAX_TOP_K)
    vendor_filter: Label | None = None
    min_score: float = Field(default=0.0, ge=0.0, le=1.0)
    max_per_doc: int | None = Field(default=None, ge=1, le=MAX_TOP_K)
    mode: SearchMode | None = None
    scope: Scope | None = None
    filters: SearchFilters | None = None
    syntax: Syntax = "fields"

    @model_validator(mode="after")
    def _suits_the_tool(self) -> ExplainRanking:
        taken = _TAKEN_BY[self.tool]
        given = {"vendor_filter": self.vendor_filter, "min_score": self.min_score}
        given |= {"max_per_doc": self.max_per_doc, "mode": self.mode}
        refused = [name for name, value in given.items() if value and name not in taken]
        if refused:
            raise ValueError(f"{self.tool} takes no {' and no '.join(refused)}")
        return self


class LegScores(Payload):
    """Scores of a result: cosine, BM25, nearness in the graph, then reranking, boost and the fused score."""

    dense: float | None = Field(default=None, ge=-1, le=1)
    lexical: float | None = Field(default=None, ge=0, le=1_000_000)
    graph: float | None = Field(default=None, ge=0, le=1)
    reranked: float | None = Field(default=None, ge=0, le=1)
    boost: float | None = Field(default=None, ge=0, le=100_000)
    fused: float = Field(ge=0, le=1)


class RowDebug(Payload):
    """The document and the position that a result comes from."""

    document_id: ChunkId
    file: Annotated[str, StringConstraints(max_length=1000)]
    type: Annotated[str, StringConstraints(max_length=40)]
    ordinal: int = Field(ge=0, le=10_000_000)
    tokens: int = Field(ge=0, le=1_000_000)


class KbRow(Cited, Claimed):
    """One candidate: its best sentences, and the ids with which to read more."""

    passage_id: PassageId
    section_id: ChunkId
    doc_tag: Annotated[str, StringConstraints(max_length=200)]
    title: Title
    rank: int = Field(ge=1, le=MAX_ROWS)
    score: float = Field(ge=0, le=1)
    source: Source
    preview: Annotated[str, StringConstraints(max_length=MAX_SNIPPET_CHARS)]
    scratch_uri: Uri
    size_bytes: int = Field(ge=0, le=100_000_000)
    anchor: Annotated[str, StringConstraints(max_length=200)] | None
    scores: LegScores | None = None
    debug: RowDebug | None = None


class Stages(Payload):
    """Milliseconds of each stage of a search; absent for a cached ranking."""

    analyse: Milliseconds = None
    embed: Milliseconds = None
    dense: Milliseconds = None
    sparse: Milliseconds = None
    fill: Milliseconds = None
    fuse: Milliseconds = None
    walk: Milliseconds = None
    boost: Milliseconds = None
    rerank: Milliseconds = None
    read: Milliseconds = None


class SearchDebug(Payload):
    """How a search was done."""

    search_mode: Literal["hybrid", "lexical-only", "semantic-only"]
    fusion: Literal["convex", "rrf", "none"]
    walked: bool
    generation: int = Field(ge=0, le=1 << 53)
    duplicates_suppressed: int = Field(ge=0, le=1_000_000)
    relevance: float | None = Field(ge=0, le=1)
    stages_ms: Stages


class KbSearchAnswer(Payload):
    """Answer of ``kb.search``."""

    results: list[KbRow] = Field(max_length=MAX_PAGE_SIZE)
    next_cursor: CursorText | None
    partial: bool
    limit_reason: Limit
    session_id: Annotated[str, StringConstraints(max_length=64)]
    debug: SearchDebug | None = None
    meta: Meta
