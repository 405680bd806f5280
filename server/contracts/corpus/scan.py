"""``kb.scan``: all matches of a pattern in all text."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from winnow.server.contracts.base import (
    DESCRIBED,
    UNLISTED,
    Arguments,
    Cited,
    CursorText,
    Meta,
    PathPattern,
    Payload,
    Scope,
    SearchFilters,
    Where,
)

MAX_PATTERN_CHARS = 20_000
MAX_SCAN_ROWS = 10_000
MAX_CONTEXT_CHARS = 500
# A direct answer has so many characters of a match and of each of its groups.
MAX_MATCH_CHARS = 500
# A script has a match with its groups, or a key, whole up to so many characters, of four bytes at most: an answer
# to it has 900 KiB.
MAX_WHOLE_CHARS = 200_000

ScanLimit = Literal["page_size", "token_cap", "byte_cap", "time", "none"]
Amount = Annotated[int, Field(ge=0, le=10**15)]
_Line = Annotated[str, StringConstraints(max_length=2 * MAX_CONTEXT_CHARS + MAX_MATCH_CHARS)]
_Name = Annotated[str, StringConstraints(max_length=1000)]
_Whole = Annotated[str, StringConstraints(max_length=MAX_WHOLE_CHARS)]


def _to_text(value: Any) -> Any:
    return str(value) if type(value) is int else value


GroupBy = Annotated[str, BeforeValidator(_to_text), StringConstraints(min_length=1, max_length=100)]
PatternText = Annotated[str, StringConstraints(min_length=1, max_length=MAX_PATTERN_CHARS)]


class Patterned(Arguments):
    """What a pattern means, and where it is looked for."""

    literal: bool = Field(default=False, description="pattern is plain text")
    word: bool = Field(default=False, description="whole words only")
    case: bool = Field(default=True, description="case matters")
    path: PathPattern | None = Field(
        default=None, description='glob or prefix: "tasks_*"', json_schema_extra=DESCRIBED
    )
    where: Where = Field(default_factory=dict, description='front-matter fields: {"stage": "beta"}')
    filters: SearchFilters | None = Field(
        default=None, description="narrow what is looked through", json_schema_extra=UNLISTED
    )
    scope: Scope | None = Field(default=None, description="narrow the server's scope")


class Scan(Patterned):
    """Arguments of ``kb.scan``."""

    pattern: PatternText = Field(
        description="RE2: no look-around; (?m): ^ and $ at lines",
        json_schema_extra=DESCRIBED,
    )
    group_by: GroupBy | None = Field(
        default=None,
        description="count by document, folder, section, match or a capture group",
        json_schema_extra=DESCRIBED,
    )
    context: int = Field(default=80, ge=0, le=MAX_CONTEXT_CHARS, description="characters on each side of a match")
    max_match: int | None = Field(
        default=None,
        ge=1,
        le=MAX_WHOLE_CHARS,
        description="characters of a match and of each group, 500 at most but for scripts, which have all",
        json_schema_extra=UNLISTED,
    )
    limit: int = Field(default=1_000, ge=1, le=MAX_SCAN_ROWS, description="rows of a page")
    cursor: CursorText | None = Field(
        default=None, description="next_cursor of the last answer, with the same other arguments"
    )


class ScanRow(Cited):
    """A match, or with ``group_by`` the counts of a key.

    ``start`` and ``end`` are character offsets in the document's text, ``groups`` are the capture groups in the
    order of the pattern, null for one without part in the match. ``truncated``: the match, a group or the key has
    more characters than are shown. ``page`` is the first of ``page_span``.
    """

    match: _Whole | None = None
    groups: list[_Whole | None] | None = Field(default=None, max_length=20)
    truncated: bool | None = None
    passage_id: Annotated[str, StringConstraints(max_length=64)] | None = None
    document_id: Annotated[str, StringConstraints(max_length=64)] | None = None
    file: _Name | None = None
    title: Annotated[str, StringConstraints(max_length=500)] | None = None
    section: Annotated[str, StringConstraints(max_length=500)] | None = None
    start: Amount | None = None
    end: Amount | None = None
    context: _Line | None = None
    page: Amount | None = None
    key: _Whole | None = None
    matches: Amount | None = None
    passages: Amount | None = None
    documents: Amount | None = None


class Matches(Payload):
    """How many matches there are, in how many passages and documents."""

    matches: Amount
    passages: Amount
    documents: Amount


class Scanned(Payload):
    """How much was looked through, with the documents that an index of the text ruled out."""

    documents: Amount
    passages: Amount
    characters: Amount


class ScanAnswer(Payload):
    """Answer of ``kb.scan``. ``complete``: all text in scope was looked through, so ``total`` is final."""

    results: list[ScanRow] = Field(max_length=MAX_SCAN_ROWS)
    total: Matches
    scanned: Scanned
    complete: bool
    count: int = Field(ge=0, le=MAX_SCAN_ROWS)
    partial: bool
    limit_reason: ScanLimit
    next_cursor: CursorText | None
    meta: Meta
