"""A script's own run: counting tokens, the remaining budget, progress messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .awaitable import Nothing, Number, Rows
from .rows import Row, to_row
from .transport import call

_TEXTS_AT_ONCE = 200
# A call holds 64 KiB; the escapes of JSON and multi-byte characters still fit.
_CHARS_AT_ONCE = 8_000


def tokens(text: Any) -> Number:
    """The number of tokens in a text, as the limit of results counts them.

        report = " ".join(row.title for row in semantic_search("retry policy"))
        print(tokens(report))

    text: a text, or any value, counted as printed. One SDK call for each 8,000 characters.
    """
    return Number(sum(count_tokens(_split(text if isinstance(text, str) else str(text)))))


def count_tokens(texts: Iterable[str]) -> Rows:
    """The number of tokens in each text; no text may be longer than one call holds."""
    numbers: list[int] = []
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (size + len(text) > _CHARS_AT_ONCE or len(batch) == _TEXTS_AT_ONCE):
            numbers += call("tokens", {"texts": batch})["counts"]
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        numbers += call("tokens", {"texts": batch})["counts"]
    return Rows(numbers)


def _split(text: str) -> Iterator[str]:
    """Split before a space if possible, where a token begins anyway."""
    while len(text) > _CHARS_AT_ONCE:
        cut = text.rfind(" ", 1, _CHARS_AT_ONCE)
        cut = cut if cut > 0 else _CHARS_AT_ONCE
        yield text[:cut]
        text = text[cut:]
    yield text


def budget() -> Row:
    """What this run may still use.

        left = budget()
        if left.calls > 10 and left.seconds > 5 and left.text_bytes.left > 1_000_000:
            rows = semantic_search("retry policy", top_k=100, response_mode="full")
        print(left.to_dict())

    calls: SDK calls. seconds: of the wall clock. tokens: of the result. text_bytes: passage text that the run may
    take in, `left` of `of`; text that it has read costs nothing more. rows: by kind (names, previews, documents),
    only where the server limits rows. This costs no call.
    """
    return to_row(call("budget", {}))


def progress(message: Any) -> Nothing:
    """Show a message in the host while the script runs; it is not part of the result.

        for topic in ["retry policy", "backups"]:
            progress(f"reading about {topic}")
            kb.retrieve_evidence(topic)

    message: one line of at most 200 characters. About once per second, the latest is shown. It costs no call.
    """
    call("progress", {"message": str(message)[:_MESSAGE_CHARS]})
    return Nothing()


_MESSAGE_CHARS = 200
