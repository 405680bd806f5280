"""``kb.documents``, ``kb.repeats`` and ``kb.read``: all documents, text that is repeated, a document whole."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema

from winnow.server.contracts.base import (
    LISTED,
    UNLISTED,
    Arguments,
    Cited,
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
from winnow.server.text.markup.possessive import compile_possessive

MAX_DOCUMENT_ROWS = 1_000
MAX_REPEAT_ROWS = 1_000
MAX_PLACES = 50  # of one repeated text
_MOST_PAGE = 10**9
_LOCATOR_CHARS = 300
# "12", "12-14", and as locators have them: "slides 2-3", "p. 3 (file page 6)".
_RANGE = compile_possessive(
    r"\s*+(?:(?:pp?\.[^()]{1,200}\()?file pages?\s|(?:slides?|sheets?|chapters?|cells?|messages?|captions?)\s)?+"
    r"\s*+([0-9]{1,10})\s*+(?:[-\u2013]\s*+([0-9]{1,10})\s*+)?\)?"
)
# "p. 3", "pp. iv-vi", "page A-1": the numbers that are printed on pages.
_PRINTED = re.compile(r"\s*+(?:pp?\.|pages?\s)\s*+([^\s()](?:[^\n()]{0,198}[^\s()])?)\s*+")
MAX_REPEAT_CHARS = 2_000  # of a repeated text, as it is shown
MAX_READ_TOKENS = 20_000  # of one piece of a document, for scripts
MAX_READ_BYTES = 128 * 1024

Sort = Annotated[str, StringConstraints(pattern=r"^-?(path|title|created|updated|tokens)$", max_length=8)]
_Name = Annotated[str, StringConstraints(max_length=1000)]
_Title = Annotated[str, StringConstraints(max_length=500)]
_Id = Annotated[str, StringConstraints(max_length=64)]
_Count = Annotated[int, Field(ge=0, le=10**12)]
_Date = Annotated[str, StringConstraints(max_length=40)]


class _Narrowed(Arguments):
    path: PathPattern | None = Field(
        default=None, description='glob or prefix: "tasks_*"', json_schema_extra=LISTED
    )
    where: Where = Field(default_factory=dict, description='front-matter fields: {"stage": "beta"}')
    filters: SearchFilters | None = Field(
        default=None, description="narrow the documents", json_schema_extra=UNLISTED
    )
    scope: Scope | None = Field(default=None, description="narrow the server's scope")


class ListDocuments(_Narrowed):
    """Arguments of ``kb.documents``."""

    sort: Sort = Field(
        default="path", description="path, title, created, updated or tokens; - before it: descending"
    )
    group_by: Label | None = Field(
        default=None,
        description="count by type, folder, language, a label or a front-matter field",
        json_schema_extra=LISTED,
    )
    limit: int = Field(default=100, ge=1, le=MAX_DOCUMENT_ROWS, description="rows of a page")
    cursor: CursorText | None = Field(
        default=None, description="next_cursor of the last answer, with the same other arguments"
    )


class FindRepeats(_Narrowed):
    """Arguments of ``kb.repeats``."""

    min_chars: int = Field(default=200, ge=20, le=100_000, description="the least length of a repeated text")
    limit: int = Field(default=100, ge=1, le=MAX_REPEAT_ROWS, description="rows of a page")
    cursor: CursorText | None = Field(
        default=None, description="next_cursor of the last answer, with the same other arguments"
    )


def _asked_pages(value: Any) -> tuple[int, int] | str:
    """The first and the last page of a number, of "12-14", or of a ``page_span``; of "p. iv" what is printed.

    Raises:
        ValueError: It is none of them.
    """
    if isinstance(value, str) and (printed := _PRINTED.fullmatch(value)):
        return printed[1]
    stated = _RANGE.fullmatch(value) if isinstance(value, str) else None
    first, last = (int(stated[1]), int(stated[2] or stated[1])) if stated else _ends_of(value)
    if 1 <= first <= last <= _MOST_PAGE:
        return first, last
    raise ValueError('give a number from 1 on, a range such as "12-14", or a printed page such as "p. iv"')


def _ends_of(value: Any) -> tuple[int, int]:
    """The ends of a number or a pair of numbers; (0, 0) for anything else."""
    match value:
        case bool() | [bool(), _] | [_, bool()]:
            return 0, 0
        case int(number):
            return number, number
        case [int(first), int(last)]:
            return first, last
    return 0, 0


# The first and the last page by their numbers in the file, or what is printed on pages: "iv", "iv-vi".
AskedPages = Annotated[
    tuple[int, int] | str,
    BeforeValidator(_asked_pages),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": _LOCATOR_CHARS}),
]


class ReadDocument(Arguments):
    """Arguments of ``kb.read``."""

    document: Annotated[str, StringConstraints(min_length=1, max_length=1000)] = Field(
        description="document_id, path (file) or title", json_schema_extra=LISTED
    )
    start: int = Field(default=0, ge=0, le=10**9, description="next of the last answer")
    page: AskedPages | None = Field(
        default=None,
        description="only this page, slide, sheet, chapter, ...: its number in page_span; 12-14 for several; "
        '"p. iv": as printed on the page',
        json_schema_extra=UNLISTED,
    )
    max_tokens: int = Field(default=800, ge=8, le=MAX_READ_TOKENS, description="length of the piece")
    scope: Scope | None = Field(default=None, description="narrow the server's scope")


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


class ReadAnswer(Cited):
    """Answer of ``kb.read``. ``start``, ``end`` and ``next`` are characters of the document's text."""

    document_id: _Id
    file: _Name
    title: _Title
    type: _Date
    text: Annotated[str, StringConstraints(max_length=MAX_READ_BYTES)]
    start: int = Field(ge=0, le=10**9)
    end: int = Field(ge=0, le=10**9)
    next: Annotated[int, Field(ge=0, le=10**9)] | None
    tokens: int = Field(ge=0, le=10**9)
    total_chars: int = Field(ge=0, le=10**9)
    total_tokens: int = Field(ge=0, le=10**9)
    meta: Meta
