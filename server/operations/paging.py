"""Where an answer stops, and how the next one goes on from there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, get_args

from pydantic import BaseModel

from server import tiers
from server.errors import WinnowError
from server.models import Legs
from server.operations.ranking.candidates import BY_ID, WALKED

_MOVED = "the index changed since the last page; rows may repeat or be missing"
_MAX_OFFSET = 10_000  # rows that any cursor of ours goes on from
_LEGS = "|".join((*get_args(Legs), BY_ID))
_ENCODED = re.compile(
    r"(?P<offset>[0-9]{1,5})\.(?P<asked>[0-9]{1,15})\.(?P<generation>[0-9]{1,18})\."
    rf"(?P<legs>(?:(?:{_LEGS})(?:{re.escape(WALKED)})?)?)"
)


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where an answer stopped: the row to go on from, what was asked, of which index, and which legs answered."""

    offset: int
    asked: str
    generation: int
    legs: str

    def encode(self) -> str:
        """The cursor as a caller carries it: digits and a word, for a model reads it and writes it again."""
        return f"{self.offset}.{self.asked}.{self.generation}.{self.legs}"

    def moved(self, generation: int, legs: str) -> tuple[str, ...]:
        """What to say where this page comes from another index than the last one, or was ranked in another way."""
        return (_MOVED,) if self.asked and (generation, legs) != (self.generation, self.legs) else ()


# What every paged payload has beside its rows and its own facts, at its longest, for the sake of measuring.
_LONGEST_ENDING = {
    "results": [],
    "partial": False,
    "limit_reason": "token_cap",
    "estimated_tokens": 100_000,
    "count": 100,
}

START = Cursor(0, "", 0, "")


def resume(cursor: str | None, request: BaseModel) -> Cursor:
    """Where to go on: ``START``, or the caller's cursor.

    Raises:
        WinnowError: INVALID_CURSOR for what is none of ours, or belongs to other arguments.
    """
    if cursor is None:
        return START
    at = _decode(cursor)
    if at.asked != fingerprint(request):
        raise _invalid_cursor()
    return at


def fingerprint(request: BaseModel) -> str:
    """What was asked, without where to go on from: a number of 48 bits."""
    asked = request.model_dump_json(exclude={"cursor"})
    return str(int.from_bytes(blake2b(asked.encode("utf-8", "surrogatepass"), digest_size=6).digest(), "big"))


@dataclass(frozen=True, slots=True)
class AnswerPage:
    """The rows that an answer has room for. ``next_cursor`` is None where nothing follows."""

    rows: tuple[tiers.Row, ...]
    tokens: int
    limit_reason: str
    next_cursor: str | None

    @property
    def ending(self) -> dict[str, Any]:
        """How the page ends, as every payload says it."""
        return {"partial": self.limit_reason != "none", "limit_reason": self.limit_reason}


def build_page(
    rows: Sequence[tiers.Row], envelope: dict[str, Any], allowed: tiers.Size, here: Cursor, *, more: bool
) -> AnswerPage:
    """As many of the rows, from the first on, as fit into what is allowed, beside the rest of the payload.

    ``here``: the cursor of the first row. ``more``: whether rows follow these that were not handed in.
    """
    around = tiers.measure({**envelope, **_LONGEST_ENDING, "next_cursor": here.encode()})
    fitted = tiers.fit(rows, allowed.tokens - around.tokens, allowed.bytes - around.bytes)
    reason, left = fitted.limit_reason, more or len(fitted.rows) < len(rows)
    if reason == "none" and more:
        reason = "page_size"
    after = Cursor(here.offset + len(fitted.rows), here.asked, here.generation, here.legs)
    return AnswerPage(fitted.rows, fitted.tokens, reason, after.encode() if left else None)


def _decode(text: str) -> Cursor:
    parts = _ENCODED.fullmatch(text)
    if parts is None or int(parts["offset"]) > _MAX_OFFSET:
        raise _invalid_cursor()
    return Cursor(int(parts["offset"]), parts["asked"], int(parts["generation"]), parts["legs"])


def _invalid_cursor() -> WinnowError:
    return WinnowError(
        "INVALID_CURSOR", "cursor: not one of ours for these arguments; repeat the call that gave it, or drop it"
    )
