"""What a script may ask about its own run, and what it may say while it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .awaitable import Nothing, Number, Rows
from .rows import Row, to_row
from .transport import call

_TEXTS_AT_ONCE = 200
# Of the 64 KiB of one call; what quoting and other alphabets add still fits.
_CHARS_AT_ONCE = 8_000


def tokens(text: Any) -> Number:
    """How many tokens a text has, as the result's bound counts them.

        report = " ".join(row.title for row in semantic_search("retry policy"))
        print(tokens(report))

    text: a text, or anything that is text when printed. One SDK call for each 8,000 characters.
    """
    return Number(sum(counts(_pieces(text if isinstance(text, str) else str(text)))))


def counts(texts: Iterable[str]) -> Rows:
    """Tokens of each of several texts, none longer than a call holds."""
    found: list[int] = []
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (size + len(text) > _CHARS_AT_ONCE or len(batch) == _TEXTS_AT_ONCE):
            found += call("tokens", {"texts": batch})["counts"]
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        found += call("tokens", {"texts": batch})["counts"]
    return Rows(found)


def _pieces(text: str) -> Iterator[str]:
    """Cut before a space where there is one: a token begins there anyway."""
    while len(text) > _CHARS_AT_ONCE:
        cut = text.rfind(" ", 1, _CHARS_AT_ONCE)
        cut = cut if cut > 0 else _CHARS_AT_ONCE
        yield text[:cut]
        text = text[cut:]
    yield text


def budget() -> Row:
    """What this run may still use.

        left = budget()
        if left.calls > 10 and left.seconds > 5:
            rows = kb.search("retry policy", top_k=left.rows.previews and 20)
        print(left.to_dict())

    calls: SDK calls. seconds: of the wall clock. tokens: what the result may have. rows: by what they are of
    (names, previews, documents). Asking costs no call.
    """
    return to_row(call("budget", {}))


def progress(message: Any) -> Nothing:
    """Tell whoever waits how far the script is; shown by the host while it runs, never part of the result.

        for topic in ["retry policy", "backups"]:
            progress(f"reading about {topic}")
            kb.retrieve_evidence(topic)

    message: one line of at most 200 characters. About one a second is shown, the latest. It costs no call.
    """
    call("progress", {"message": str(message)[:_MESSAGE_CHARS]})
    return Nothing()


_MESSAGE_CHARS = 200
