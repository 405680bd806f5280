"""``search_sections`` and ``get_section_text``: the contracts of two earlier tools.

Names, defaults and fields are those of the tools that ``kb.*`` replaces. Numbers beyond our caps are accepted, as
they were there, and lowered to the cap.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints

from winnow.server.contracts.base import (
    MAX_TOP_K,
    Arguments,
    ChunkId,
    Cited,
    CursorText,
    Label,
    Limit,
    Meta,
    Payload,
    SearchFilters,
)
from winnow.server.contracts.excerpts import MAX_EXCERPT_BYTES
from winnow.server.contracts.kb import (
    MAX_PAGE_SIZE,
    MAX_ROWS,
    MAX_SNIPPET_CHARS,
    PassageId,
    Question,
    Source,
    Title,
    Uri,
)

MAX_SECTION_BYTES = MAX_EXCERPT_BYTES
_NO_CAP = 1_000_000_000


def _wrap_in_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


LabelList = Annotated[list[Label], BeforeValidator(_wrap_in_list)]
SessionId = Annotated[str, StringConstraints(max_length=200)]
# For fields that may be null, and may be absent from a row: only a default that the schema does not show allows
# both.
_ABSENT: Any = Field(default_factory=lambda: None)
_Score = Annotated[float, Field(ge=-1_000_000, le=1_000_000)]
_Count = Annotated[int, Field(ge=0, le=1_000_000)]


class LegacyFilters(SearchFilters):
    """A free object: some keys are filters, others are ignored. A single label is accepted for a list."""

    model_config = ConfigDict(extra="allow", hide_input_in_errors=True)

    doc_tag: LabelList = Field(default_factory=list, max_length=50, description="any of these doc tags")
    tags: LabelList = Field(default_factory=list, max_length=50, description="all of these tags")


class SearchSections(Arguments):
    """Arguments of ``search_sections``."""

    query: Question = Field(description="what to look for, in plain words; 2 to 1000 characters")
    top_k: int = Field(
        default=20,
        ge=1,
        le=_NO_CAP,
        description=f"how many results, over all pages; at most {MAX_TOP_K}",
    )
    filters: LegacyFilters | None = Field(default=None, description="narrow the search; other keys are ignored")
    cursor: CursorText | None = Field(
        default=None, description="next_cursor of the last answer, with the same other arguments"
    )
    page_size: int = Field(
        default=25, ge=1, le=_NO_CAP, description=f"results in one answer; at most {MAX_PAGE_SIZE}"
    )
    session_id: SessionId | None = Field(default=None, description="ignored; a session is a connection's")
    include_debug: bool = Field(default=True, description="false: shorter results, with previews")


class GetSectionText(Arguments):
    """Arguments of ``get_section_text``."""

    section_ids: list[ChunkId] = Field(max_length=MAX_TOP_K, description="section_id of search results")
    max_bytes_per: int = Field(
        default=8192,
        ge=1,
        le=_NO_CAP,
        description=f"bytes of UTF-8 of one section; at most {MAX_SECTION_BYTES:,}",
    )
    session_id: SessionId | None = Field(default=None, description="ignored; a session is a connection's")


class SectionRow(Cited):
    """One result: the fields of the earlier tool, or with ``include_debug`` false those of ``kb.search``.

    A field without a counterpart in this server is null, 0 or false, as it was where a leg had not answered. Files
    with pages or the like, which the earlier tool did not read, have their place as well.
    """

    section_id: ChunkId
    title: Title
    doc_tag: Annotated[str, StringConstraints(max_length=200)]
    score: float = Field(ge=0, le=1)
    rank: int = Field(ge=1, le=MAX_ROWS)
    source: Source

    tokens: _Count | None = None
    fusion_method: Annotated[str, StringConstraints(max_length=40)] | None = _ABSENT
    fused_score: _Score | None = _ABSENT
    title_vec_score: _Score | None = _ABSENT
    entity_vec_score: _Score | None = _ABSENT
    doc_title_sparse_score: _Score | None = _ABSENT
    lexical_vec_score: _Score | None = _ABSENT
    rerank_score: _Score | None = _ABSENT
    graph_score: _Score | None = None
    graph_distance: _Count | None = None
    connection_count: _Count | None = None
    mention_count: _Count | None = None
    entity_boost_applied: bool | None = None
    entity_metadata: dict[str, Any] | None = _ABSENT
    rrf_field_contributions: dict[str, _Score] | None = _ABSENT

    passage_id: PassageId | None = None
    preview: Annotated[str, StringConstraints(max_length=MAX_SNIPPET_CHARS)] | None = None
    scratch_uri: Uri | None = None
    size_bytes: int | None = Field(default=None, ge=0, le=100_000_000)
    anchor: Annotated[str, StringConstraints(max_length=200)] | None = _ABSENT


class SectionsAnswer(Payload):
    """Answer of ``search_sections``. ``cursor`` is that of the request."""

    results: list[SectionRow] = Field(max_length=MAX_PAGE_SIZE)
    cursor: CursorText | None
    next_cursor: CursorText | None
    session_id: Annotated[str, StringConstraints(max_length=64)]
    partial: bool
    limit_reason: Limit
    meta: Meta


class SectionText(Cited):
    """The text of one section, or its beginning. ``bytes`` is the size of ``text_truncated``."""

    section_id: ChunkId
    title: Title
    doc_tag: Annotated[str, StringConstraints(max_length=200)]
    text_truncated: Annotated[str, StringConstraints(max_length=MAX_SECTION_BYTES)]
    bytes: int = Field(ge=0, le=MAX_SECTION_BYTES)
    truncated: bool
    source_blob_id: Annotated[str, StringConstraints(max_length=64)] | None


class Hints(Payload):
    """What to do next: tools, and ids that did not fit this answer."""

    next_tools: list[Annotated[str, StringConstraints(max_length=40)]] = Field(max_length=10)
    next_section_ids: list[ChunkId] | None = Field(default=None, max_length=MAX_TOP_K)


class SectionTextsAnswer(Payload):
    """Answer of ``get_section_text``."""

    results: list[SectionText] = Field(max_length=MAX_TOP_K)
    hints: Hints
    missing_ids: list[ChunkId] | None = Field(default=None, max_length=MAX_TOP_K)
    session_id: Annotated[str, StringConstraints(max_length=64)]
    partial: bool
    limit_reason: Limit
    meta: Meta
