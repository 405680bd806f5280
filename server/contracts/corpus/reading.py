"""``kb.read``: a document whole, or some of its pages."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema

from winnow.server.contracts.base import (
    DESCRIBED,
    UNLISTED,
    Arguments,
    Cited,
    Meta,
    Scope,
)
from winnow.server.text.markup.possessive import compile_possessive

_MOST_PAGE = 10**9
_LOCATOR_CHARS = 300
# "12", "12-14", and as locators have them: "slides 2-3", "p. 3 (file page 6)".
_RANGE = compile_possessive(
    r"\s*+(?:(?:pp?\.[^()]{1,200}\()?file pages?\s|(?:slides?|sheets?|chapters?|cells?|messages?|captions?)\s)?+"
    r"\s*+([0-9]{1,10})\s*+(?:[-\u2013]\s*+([0-9]{1,10})\s*+)?\)?"
)
# "p. 3", "pp. iv-vi", "page A-1": the numbers that are printed on pages.
_PRINTED = re.compile(r"\s*+(?:pp?\.|pages?\s)\s*+([^\s()](?:[^\n()]{0,198}[^\s()])?)\s*+")
MAX_READ_TOKENS = 20_000  # of one piece of a document, for scripts
MAX_READ_BYTES = 128 * 1024

_Name = Annotated[str, StringConstraints(max_length=1000)]
_Title = Annotated[str, StringConstraints(max_length=500)]
_Id = Annotated[str, StringConstraints(max_length=64)]
_Count = Annotated[int, Field(ge=0, le=10**12)]
_Date = Annotated[str, StringConstraints(max_length=40)]


def read_pages(value: Any) -> tuple[int, int] | str:
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
    BeforeValidator(read_pages),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": _LOCATOR_CHARS}),
]


class ReadDocument(Arguments):
    """Arguments of ``kb.read``."""

    document: Annotated[str, StringConstraints(min_length=1, max_length=1000)] = Field(
        description="document_id, path (file) or title", json_schema_extra=DESCRIBED
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
