"""``kb.documents``: all documents, or how many there are of each kind."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from winnow.server.contracts.base import (
    DESCRIBED,
    UNLISTED,
    Arguments,
    CitedWork,
    CursorText,
    JsonValue,
    Label,
    Limit,
    Meta,
    PathPattern,
    Payload,
    Scope,
    SearchFilters,
    Where,
)

MAX_DOCUMENT_ROWS = 1_000

Sort = Annotated[str, StringConstraints(pattern=r"^-?(path|title|created|updated|tokens)$", max_length=8)]
_Name = Annotated[str, StringConstraints(max_length=1000)]
_Title = Annotated[str, StringConstraints(max_length=500)]
_Id = Annotated[str, StringConstraints(max_length=64)]
_Count = Annotated[int, Field(ge=0, le=10**12)]
_Date = Annotated[str, StringConstraints(max_length=40)]


class Narrowed(Arguments):
    """Which documents."""

    path: PathPattern | None = Field(
        default=None, description='glob or prefix: "tasks_*"', json_schema_extra=DESCRIBED
    )
    where: Where = Field(default_factory=dict, description='front-matter fields: {"stage": "beta"}')
    filters: SearchFilters | None = Field(
        default=None, description="narrow the documents", json_schema_extra=UNLISTED
    )
    scope: Scope | None = Field(default=None, description="narrow the server's scope")


class ListDocuments(Narrowed):
    """Arguments of ``kb.documents``."""

    sort: Sort = Field(
        default="path", description="path, title, created, updated or tokens; - before it: descending"
    )
    group_by: Label | None = Field(
        default=None,
        description="count by type, folder, language, a label or a front-matter field",
        json_schema_extra=DESCRIBED,
    )
    limit: int = Field(default=100, ge=1, le=MAX_DOCUMENT_ROWS, description="rows of a page")
    cursor: CursorText | None = Field(
        default=None, description="next_cursor of the last answer, with the same other arguments"
    )


class DocumentLabels(Payload):
    """The labels of a document, those that it has."""

    vendor: Label | None = None
    doc_tag: Label | None = None
    tags: list[Label] | None = Field(default=None, max_length=100)
    environment: Label | None = None
    repository: Label | None = None


class DocumentRow(CitedWork):
    """A document, or with ``group_by`` the counts of a key.

    ``fields`` is its front matter, without what other fields of the row state; long values are cut. Of a work with
    more authors than ``authors`` names, it has all.
    """

    document_id: _Id | None = None
    file: _Name | None = None
    title: _Title | None = None
    type: _Date | None = None
    language: Annotated[str, StringConstraints(max_length=20)] | None = None
    tokens: _Count | None = None
    passages: _Count | None = None
    created: _Date | None = None
    updated: _Date | None = None
    labels: DocumentLabels | None = None
    fields: JsonValue = None
    key: _Name | None = None
    documents: _Count | None = None


class DocumentTotal(Payload):
    """How many documents match, and how many passages they have."""

    documents: _Count
    passages: _Count


class DocumentsAnswer(Payload):
    """Answer of ``kb.documents``."""

    results: list[DocumentRow] = Field(max_length=MAX_DOCUMENT_ROWS)
    total: DocumentTotal
    complete: bool
    count: int = Field(ge=0, le=MAX_DOCUMENT_ROWS)
    partial: bool
    limit_reason: Limit
    next_cursor: CursorText | None
    meta: Meta
