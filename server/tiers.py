"""How much of each result an answer shows: ids < metadata < preview < full. Pure functions.

Every row is rendered from the same passage at every tier and carries the id that the next tier takes. An
answer is made to fit its budget before it is sent: whole rows are left out from the end, never cut, and the
caller is told where to continue.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from server.contracts.base import PREVIEW_CHARS, Mode, Tier
from server.models import Passage
from server.text import stated_facts
from server.text.framing import notice
from server.text.printable import one_line, printable, shorten
from server.text.spans import preview
from server.text.tokens import count_tokens

# Tokens and bytes of the payload of one direct answer: of the structure, which is the larger of the two channels.
# Both together are held to twice as much. Hosts warn at 10,000 tokens and cut at 25,000; the byte
# cap is that of the smallest host's message. Quotes: what 20 of the longest take; six of the usual length stay
# below 1,000.
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
# Of the graph, whose answers are names; the ceiling is for whoever asks for larger pages.
GRAPH_TOKENS = 2_000
MOST_GRAPH_TOKENS = 8_000
SCRIPT_ANSWER_BYTES = 900 * 1024
_TAG_CHARS, _TAGS = 80, 20
# A row that is too large alone is clipped to these lengths in turn. Ids are never clipped: they would lead
# nowhere.
_CLIPS = (1_000, 400, 200, 100, 40, 16)
_WHOLE = frozenset({"id", "document_id", "passage_id", "section_id", "scratch_uri", "uri"})


# An object, or at ids_only the bare id.
Row = dict[str, Any] | str


@dataclass(frozen=True, slots=True)
class Size:
    """What a value takes as it is sent."""

    tokens: int
    bytes: int

    def __add__(self, other: Size) -> Size:
        return Size(self.tokens + other.tokens, self.bytes + other.bytes)


@dataclass(frozen=True, slots=True)
class TierPage:
    """The rows that fit, what they cost, and why the rest is missing ("none" if nothing is)."""

    rows: tuple[Row, ...]
    tokens: int
    limit_reason: str


def row(passage: Passage, tier: Mode, score: float | None, question: frozenset[str]) -> Row:
    """One result at one tier. ``score`` is None where nothing was ranked (a fetch by id)."""
    return _RENDERERS[tier](passage, score, question)


def fit(rows: Sequence[Row], max_tokens: int, max_bytes: int) -> TierPage:
    """As many whole rows, from the first on, as the budget holds.

    A first row that does not fit alone is there all the same, its texts clipped, so that a page is never empty
    without reason and never too large.
    """
    whole = measure(list(rows))
    if whole.tokens <= max_tokens and whole.bytes <= max_bytes:
        return TierPage(tuple(rows), whole.tokens, "none")
    kept, reason = _cut(rows, max_tokens, max_bytes)
    shown = list(rows[:kept]) or [_shrunk(rows[0], max_tokens, max_bytes)]
    return TierPage(tuple(shown), measure(shown).tokens, reason)


def measure(value: Any) -> Size:
    """Tokens and bytes of a value as it is sent."""
    text = dumps(value)
    return Size(count_tokens(text), len(text.encode("utf-8", "replace")))


def estimated_tokens(payload: Mapping[str, Any]) -> int:
    """Tokens of an answer as it is sent: its structure with ``meta``, and the text that says its values."""
    said = " | ".join((notice(payload), *_values(payload)))
    return count_tokens(dumps(payload)) + count_tokens(said) + _AROUND_TOKENS


def _values(value: Any) -> Iterator[str]:
    """What of a payload its text says."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            if name not in _UNSAID:
                yield from _values(part)
    elif isinstance(value, list):
        for part in value:
            yield from _values(part)
    elif value not in ("", None):
        yield str(value)


# Values that no text repeats: what a row's title and text say already.
_UNSAID = frozenset({"document_id", "tags", "preview_tokens", "has_more", "tokens"})
# ``meta``, and the names around both channels.
_AROUND_TOKENS = 105


def _cut(rows: Sequence[Row], max_tokens: int, max_bytes: int) -> tuple[int, str]:
    """How many rows fit, and which budget ends them. Rows counted one by one come to no less than together."""
    size = Size(0, 0)
    for kept, item in enumerate(rows):
        size += measure([item])
        if size.tokens > max_tokens or size.bytes > max_bytes:
            return kept, "token_cap" if size.tokens > max_tokens else "byte_cap"
    return len(rows), "none"


def _shrunk(item: Row, max_tokens: int, max_bytes: int) -> Row:
    for limit in _CLIPS:
        clipped = _clipped(item, limit) if isinstance(item, dict) else item
        size = measure([clipped])
        if size.tokens <= max_tokens and size.bytes <= max_bytes:
            break
    return clipped


def _clipped(value: Any, limit: int) -> Any:
    if isinstance(value, dict):
        return {name: part if name in _WHOLE else _clipped(part, limit) for name, part in value.items()}
    if isinstance(value, list):
        return [_clipped(part, limit) for part in value[: max(limit // 20, 1)]]
    return shorten(printable(value), limit) if isinstance(value, str) else value


def dumps(value: Any) -> str:
    """Minified JSON: what is counted, and what goes over the wire."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def first_bytes(text: str, most: int) -> str:
    """The beginning of ``text``, in whole characters, that takes at most so many bytes of UTF-8."""
    return text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")


def facts(passage: Passage) -> dict[str, Any]:
    """What is known of a passage beside its text, on one level."""
    return {**_facts(passage), "document_id": passage.document.id, "tags": _tags(passage)}


def _tags(passage: Passage) -> list[str]:
    return [one_line(tag, _TAG_CHARS) for tag in stated_facts.tags(passage.document.tags)[:_TAGS]]


def _facts(passage: Passage) -> dict[str, Any]:
    document, chunk = passage.document, passage.chunk
    return {
        "title": one_line(document.title or document.uri),
        "section": one_line(" > ".join(chunk.heading_path)),
        "type": document.type,
        "vendor": one_line(document.vendor, 200),
        "file": one_line(document.uri),
        "created": stated_facts.moment(document.created),
    }


def _scored(score: float | None) -> dict[str, Any]:
    return {} if score is None else {"score": round(score, 3)}


def _ids_only(passage: Passage, score: float | None, question: frozenset[str]) -> str:
    return passage.chunk.id


def _metadata(passage: Passage, score: float | None, question: frozenset[str]) -> dict[str, Any]:
    facts = _facts(passage)
    title = facts.pop("title")
    return {"id": passage.chunk.id, "title": title, **_scored(score), **facts}


def _preview(passage: Passage, score: float | None, question: frozenset[str]) -> dict[str, Any]:
    text = preview(printable(passage.chunk.text), question, PREVIEW_CHARS)
    nested = facts(passage)
    return {
        "id": passage.chunk.id,
        "title": nested["title"],
        **_scored(score),
        "metadata": nested,
        "preview": text,
        "preview_tokens": count_tokens(text),
        "has_more": len(text) < len(passage.chunk.text.strip()),
    }


def _full(passage: Passage, score: float | None, question: frozenset[str]) -> dict[str, Any]:
    nested = facts(passage)
    return {
        "id": passage.chunk.id,
        "title": nested["title"],
        **_scored(score),
        "metadata": nested,
        "content": printable(passage.chunk.text),
        "tokens": passage.chunk.tokens,
    }


_RENDERERS: Mapping[Mode, Callable[[Passage, float | None, frozenset[str]], Row]] = MappingProxyType(
    {"ids_only": _ids_only, "metadata": _metadata, "preview": _preview, "full": _full}
)
