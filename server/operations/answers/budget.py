"""The budget of an answer: the size of what is sent, and rows that are fitted into tokens and bytes before that.

Whole rows are dropped from the end, never cut, and the caller gets a cursor to the rest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from winnow.server.contracts.base import Tier
from winnow.server.text.printable import one_line, printable, shorten
from winnow.server.text.words.tokens import count_tokens

# Limits of the structured content of one direct answer, which is the larger of its two forms; both together may
# take twice as much. Hosts warn at 10,000 tokens and cut at 25,000; the byte limit is the smallest message size of
# a host. Quotes: 20 of the longest; six of the usual length stay below 1,000 tokens.
ANSWER_TOKENS: Mapping[Tier, int] = MappingProxyType(
    {
        "ids_only": 2_000,
        "metadata": 8_000,
        "preview": 10_000,
        "quotes": 6_000,
        "excerpt": 1_200,
        "full": 20_000,
    }
)
ANSWER_BYTES = 128 * 1024
# For answers of the graph, which consist of names; the maximum applies to larger pages on request.
GRAPH_TOKENS = 2_000
MOST_GRAPH_TOKENS = 8_000
SCRIPT_ANSWER_BYTES = 900 * 1024
# Tokens of ``meta`` and of the names around both forms of an answer.
AROUND_TOKENS = 105
# Warnings stand beside the payload and are in no budget.
_WARNINGS, _WARNING_CHARS = 8, 300
# A single row that is too large is clipped to these text lengths in turn. Ids are never clipped.
_CLIPS = (1_000, 400, 200, 100, 40, 16)
_WHOLE = frozenset({"id", "document_id", "passage_id", "section_id", "scratch_uri", "uri"})


# An object; at the tier ids_only, the id alone.
Row = dict[str, Any] | str


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a value as it is sent."""

    tokens: int
    bytes: int

    def __add__(self, other: Size) -> Size:
        return Size(self.tokens + other.tokens, self.bytes + other.bytes)

    def is_above(self, most: Size) -> bool:
        """Whether it has more tokens or bytes than that."""
        return self.tokens > most.tokens or self.bytes > most.bytes

    def details(self, most: Size) -> dict[str, int]:
        """The details of an error about a value of this size, where at most that may be sent.

        ``size`` and ``max`` are in bytes, as in every such error.
        """
        return {"size": self.bytes, "max": most.bytes, "tokens": self.tokens, "max_tokens": most.tokens}


@dataclass(frozen=True, slots=True)
class TierPage:
    """The rows that fit, their tokens, and why the rest is missing ("none" if nothing is)."""

    rows: tuple[Row, ...]
    tokens: int
    limit_reason: str


def fit_rows(rows: Sequence[Row], max_tokens: int, max_bytes: int) -> TierPage:
    """The first rows that fit into the budget, whole.

    If not even the first row fits, its texts are clipped, so that a page is neither empty nor too large.
    """
    if max_tokens >= max_bytes:  # a token has a byte at least: counting tokens takes longest
        count, reason = _count_fitting_bytes(rows, max_bytes)
    else:
        whole = measure(list(rows))
        if whole.tokens <= max_tokens and whole.bytes <= max_bytes:
            return TierPage(tuple(rows), whole.tokens, "none")
        count, reason = _count_fitting(rows, max_tokens, max_bytes)
    if not rows:
        return TierPage((), measure([]).tokens, "none")
    fitting = list(rows[:count]) or [_shrink(rows[0], max_tokens, max_bytes)]
    return TierPage(tuple(fitting), measure(fitting).tokens, reason)


def measure(value: Any) -> Size:
    """Count the tokens and bytes of a value as it is sent."""
    text = dumps(value)
    return Size(count_tokens(text), len(text.encode("utf-8", "replace")))


def bound_warnings(warnings: Sequence[str]) -> tuple[str, ...]:
    """The warnings as an answer has them: the first few, each one short line."""
    return tuple(one_line(warning, _WARNING_CHARS) for warning in warnings[:_WARNINGS])


def estimate_warning_tokens(warnings: Sequence[str]) -> int:
    """Estimate the tokens that warnings add to an answer, once in its ``meta`` and once in its text."""
    sent = bound_warnings(warnings)
    return count_tokens(dumps(sent) + "".join(f"\nwarning: {warning}" for warning in sent)) if sent else 0


def _count_fitting(rows: Sequence[Row], max_tokens: int, max_bytes: int) -> tuple[int, str]:
    """The number of rows that fit, and the limit reached. A count row by row never underestimates their sum."""
    size = Size(0, 0)
    for count, item in enumerate(rows):
        size += measure([item])
        if size.tokens > max_tokens or size.bytes > max_bytes:
            return count, "token_cap" if size.tokens > max_tokens else "byte_cap"
    return len(rows), "none"


def _count_fitting_bytes(rows: Sequence[Row], max_bytes: int) -> tuple[int, str]:
    size = len("[]")
    for count, item in enumerate(rows):
        size += len(dumps(item).encode("utf-8", "replace")) + 1
        if size > max_bytes:
            return count, "byte_cap"
    return len(rows), "none"


def _shrink(item: Row, max_tokens: int, max_bytes: int) -> Row:
    for limit in _CLIPS:
        clipped = _clip(item, limit) if isinstance(item, dict) else item
        size = measure([clipped])
        if size.tokens <= max_tokens and size.bytes <= max_bytes:
            break
    return clipped


def _clip(value: Any, limit: int) -> Any:
    if isinstance(value, dict):
        return {name: part if name in _WHOLE else _clip(part, limit) for name, part in value.items()}
    if isinstance(value, list):
        return [_clip(part, limit) for part in value[: max(limit // 20, 1)]]
    return shorten(printable(value), limit) if isinstance(value, str) else value


def dumps(value: Any) -> str:
    """Minified JSON, as it is counted and sent."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def cut_to_bytes(text: str, most: int) -> str:
    """The longest prefix of ``text`` with at most ``most`` bytes of UTF-8."""
    return text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")
