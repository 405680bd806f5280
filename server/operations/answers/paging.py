"""Cursors, and pages of rows that fit into an answer's budget."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, get_args

from pydantic import BaseModel

from winnow.server.errors import WinnowError
from winnow.server.models import Legs
from winnow.server.operations.answers import budget
from winnow.server.operations.ranking.candidates import BY_ID, WALKED

# The beginning of the warning of a walk that stopped before its end.
TIME_ENDED = "the time of this call ended before all text was looked through"
_MOVED = "the index changed since the last page; rows may repeat or be missing"
_MAX_OFFSET = 10_000  # the greatest offset in a cursor of a ranking
_LEGS = "|".join((*get_args(Legs), BY_ID))
_ENCODED = re.compile(
    r"(?P<offset>[0-9]{1,9})\.(?P<asked>[0-9]{1,15})\.(?P<generation>[0-9]{1,18})\."
    rf"(?P<legs>(?:(?:{_LEGS})(?:{re.escape(WALKED)})?)?)"
)

# An offset has as many digits as the matches of a corpus may need.
_ENCODED_SCAN = re.compile(
    r"(?P<offset>[0-9]{1,12})\.(?P<first>[0-9]{1,9})\.(?P<last>[0-9]{1,9})\.(?P<asked>[0-9]{1,15})\."
    r"(?P<generation>[0-9]{1,18})"
)


@dataclass(frozen=True, slots=True)
class Cursor:
    """The position after a page: next row, fingerprint of the request, index generation, and legs that ranked."""

    offset: int
    asked: str
    generation: int
    legs: str

    def encode(self) -> str:
        """The cursor as text. Digits and a word, because models have to copy it."""
        return f"{self.offset}.{self.asked}.{self.generation}.{self.legs}"

    def moved(self, generation: int, legs: str) -> tuple[str, ...]:
        """A warning if this page's index or ranking differs from the previous page's."""
        return (_MOVED,) if self.asked and (generation, legs) != (self.generation, self.legs) else ()


@dataclass(frozen=True, slots=True)
class ScanCursor:
    """The position after a page of a walk through all documents.

    ``offset``: rows that were sent of the documents from number ``first`` up to number ``last`` (0: as many as
    there is time for). ``asked`` and ``generation`` as in ``Cursor``.
    """

    offset: int
    first: int
    last: int
    asked: str
    generation: int

    def encode(self) -> str:
        """The cursor as text: numbers and dots."""
        return f"{self.offset}.{self.first}.{self.last}.{self.asked}.{self.generation}"

    @classmethod
    def decode(cls, text: str) -> ScanCursor:
        """The cursor of a text. Raises ``WinnowError("INVALID_CURSOR")``."""
        parts = _ENCODED_SCAN.fullmatch(text)
        if parts is None:
            raise _invalid_cursor()
        offset, first, last = (int(parts[name]) for name in ("offset", "first", "last"))
        return cls(offset, first, last, parts["asked"], int(parts["generation"]))

    def moved(self, generation: int) -> tuple[str, ...]:
        """A warning if the index changed since the previous page."""
        return (_MOVED,) if self.asked and generation != self.generation else ()


# The fields that every paged payload has, with their longest values; used to measure.
_LONGEST_ENDING = {
    "results": [],
    "partial": False,
    "limit_reason": "token_cap",
    "estimated_tokens": 100_000,
    "count": 100,
}

START = Cursor(0, "", 0, "")
_SCAN_START = ScanCursor(0, 0, 0, "", 0)


def resume(cursor: str | None, request: BaseModel, *, unlimited: bool = False) -> Cursor:
    """The position to continue from: ``START``, or the caller's cursor. ``unlimited``: of a list, not a ranking.

    Raises:
        WinnowError: INVALID_CURSOR if the cursor is malformed or belongs to other arguments.
    """
    if cursor is None:
        return START
    decoded = _decode(cursor)
    if decoded.offset > _MAX_OFFSET and not unlimited:
        raise _invalid_cursor()
    if decoded.asked != fingerprint(request):
        raise _invalid_cursor()
    return decoded


def resume_scan(cursor: str | None, request: BaseModel) -> ScanCursor:
    """As ``resume``, for a walk through all documents."""
    if cursor is None:
        return _SCAN_START
    decoded = ScanCursor.decode(cursor)
    if decoded.asked != fingerprint(request):
        raise _invalid_cursor()
    return decoded


def fingerprint(request: BaseModel) -> str:
    """A hash of the request without its cursor: a number of 48 bits."""
    asked = request.model_dump_json(exclude={"cursor"})
    return str(int.from_bytes(blake2b(asked.encode("utf-8", "surrogatepass"), digest_size=6).digest(), "big"))


@dataclass(frozen=True, slots=True)
class AnswerPage:
    """The rows that fit into an answer. ``next_cursor`` is None on the last page."""

    rows: tuple[budget.Row, ...]
    tokens: int
    limit_reason: str
    next_cursor: str | None

    @property
    def ending(self) -> dict[str, Any]:
        """The fields that report whether the page is cut, and why."""
        return {"partial": self.limit_reason != "none", "limit_reason": self.limit_reason}


def build_page(
    rows: Sequence[budget.Row],
    envelope: dict[str, Any],
    allowed: budget.Size,
    here: Cursor | ScanCursor,
    *,
    more: bool,
) -> AnswerPage:
    """As many of the first rows as fit into ``allowed`` together with the rest of the payload.

    ``here``: the cursor of the first row. ``more``: whether there are rows after the given ones.
    """
    overhead = budget.measure({**envelope, **_LONGEST_ENDING, "next_cursor": here.encode()})
    fitted = budget.fit_rows(rows, allowed.tokens - overhead.tokens, allowed.bytes - overhead.bytes)
    reason, has_more = fitted.limit_reason, more or len(fitted.rows) < len(rows)
    if reason == "none" and more:
        reason = "page_size"
    after = replace(here, offset=here.offset + len(fitted.rows))
    return AnswerPage(fitted.rows, fitted.tokens, reason, after.encode() if has_more else None)


def _decode(text: str) -> Cursor:
    parts = _ENCODED.fullmatch(text)
    if parts is None:
        raise _invalid_cursor()
    return Cursor(int(parts["offset"]), parts["asked"], int(parts["generation"]), parts["legs"])


def _invalid_cursor() -> WinnowError:
    return WinnowError(
        "INVALID_CURSOR", "cursor: not one of ours for these arguments; repeat the call that gave it, or drop it"
    )
