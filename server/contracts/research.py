"""The research tools: projects, their passages and what the index holds of them.

Names and shapes of fields are those of an earlier system for people who write with sources, so that its clients
work with this server (docs/decisions/0017-projects-libraries-jobs.md).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from winnow.server.contracts.base import (
    DESCRIBED,
    MAX_TOP_K,
    WHOLE,
    Arguments,
    ChunkId,
    Cited,
    JsonValue,
    Meta,
    Payload,
    Query,
    SearchFilters,
)

MAX_PROJECTS = 100
MAX_SAMPLE = 5
MAX_SECTIONS = 20  # headings of a passage
SECTION_CHARS, FACT_CHARS = 500, 200
MAX_FULL_CHARS = 200_000

ProjectId = Annotated[str, StringConstraints(min_length=1, max_length=64)]
_Collection = Annotated[str, StringConstraints(max_length=100)]
_Model = Annotated[str, StringConstraints(max_length=300)]
_Name = Annotated[str, StringConstraints(max_length=200)]
_Section = Annotated[str, StringConstraints(max_length=SECTION_CHARS)]
_Fact = Annotated[str, StringConstraints(max_length=FACT_CHARS)]
_PageNumber = Annotated[int, Field(ge=0, le=10**9)]


class ListProjects(Arguments):
    """Arguments of ``list_projects``."""

    prefix: Annotated[str, StringConstraints(max_length=64)] | None = Field(
        default=None, description="only projects whose id begins with this", json_schema_extra=DESCRIBED
    )


class ProjectRow(Payload):
    """A project and what it can be searched by. ``dense_model`` is null where no model made its vectors."""

    id: ProjectId
    collection: _Collection
    dense_model: _Model | None
    sparse_model: _Model | None
    hybrid_enabled: bool


class ProjectsAnswer(Payload):
    """Answer of ``list_projects``."""

    projects: list[ProjectRow] = Field(max_length=MAX_PROJECTS)
    count: int = Field(ge=0, le=MAX_PROJECTS)
    meta: Meta


class PassageFilters(SearchFilters):
    """Filters of the queries: those of every search, and the section."""

    section_prefix: Annotated[str, StringConstraints(max_length=500)] | None = Field(
        default=None,
        description='the beginning of a passage\'s headings, joined by " > ": "Part I > Chapter 3"',
        json_schema_extra=DESCRIBED,
    )


class _ProjectQuery(Arguments):
    project: ProjectId = Field(description="id of list_projects")
    text: Query = Field(description="what to look for, in plain words; 2 to 1000 characters")
    top_k: int | None = Field(
        default=None,
        ge=1,
        le=MAX_TOP_K,
        description="how many passages; default and most: the project's top_k, 6 unless it is set",
        json_schema_extra=DESCRIBED,
    )
    filters: PassageFilters | None = Field(
        default=None, description="narrow the search; tags must all match", json_schema_extra=WHOLE
    )


class QueryProject(_ProjectQuery):
    """Arguments of ``query``."""

    full_text: bool = Field(default=False, description="add the whole text of each passage")


class QueryProjectHybrid(_ProjectQuery):
    """Arguments of ``query_hybrid``."""


class PassageItem(Cited):
    """A passage with what a citation needs. ``id`` is the section_id that kb_read_excerpt takes.

    ``section`` is the heading of the passage, ``section_path`` those above it.
    """

    render_text: Annotated[str, StringConstraints(max_length=MAX_FULL_CHARS)]
    score: float = Field(ge=0, le=1)
    citekey: _Fact | None
    section: _Section | None
    page_span: list[_PageNumber] | None = Field(min_length=2, max_length=2)
    section_path: list[_Section] = Field(max_length=MAX_SECTIONS)
    doi: _Fact | None
    id: ChunkId
    title: _Section


class FullPassageItem(PassageItem):
    """A passage of ``query``; ``full_text`` is null unless it was asked for."""

    full_text: Annotated[str, StringConstraints(max_length=MAX_FULL_CHARS)] | None


class QueryAnswer(Payload):
    """Answer of ``query``. ``model`` made the vectors; null for a project without documents."""

    items: list[FullPassageItem] = Field(max_length=MAX_TOP_K)
    count: int = Field(ge=0, le=MAX_TOP_K)
    model: _Model | None
    meta: Meta


class HybridQueryAnswer(Payload):
    """Answer of ``query_hybrid``. ``fusion`` is "none" beside an error only."""

    items: list[PassageItem] = Field(max_length=MAX_TOP_K)
    count: int = Field(ge=0, le=MAX_TOP_K)
    hybrid_enabled: bool
    dense_model: _Model | None
    sparse_model: _Model | None
    fusion: Literal["RRF", "none"]
    meta: Meta


class InspectCollection(Arguments):
    """Arguments of ``inspect_collection``."""

    project: ProjectId = Field(description="id of list_projects")
    sample: int = Field(default=0, ge=0, le=MAX_SAMPLE, description="how many payloads to show")


class CollectionIndexes(Payload):
    """The fields that the engine has an index of, by its kind."""

    keyword: list[_Name] = Field(max_length=100)
    fulltext: list[_Name] = Field(max_length=100)
    numeric: list[_Name] = Field(max_length=100)


class CollectionStorage(Payload):
    """Whether vectors and the search graph are read from disk when they are needed."""

    on_disk_vectors: bool
    on_disk_hnsw: bool


class CollectionAnswer(Payload):
    """Answer of ``inspect_collection``: figures of the vector engine and of the catalogue."""

    project: _Name
    collection: _Collection
    size: int = Field(ge=0, le=10**12)
    dense_model: _Model | None
    sparse_model: _Model | None
    named_vectors: list[_Name] = Field(max_length=10)
    payload_keys: list[_Name] = Field(max_length=100)
    indexes: CollectionIndexes
    storage: CollectionStorage
    sample_payloads: list[JsonValue] = Field(max_length=MAX_SAMPLE)
    meta: Meta
