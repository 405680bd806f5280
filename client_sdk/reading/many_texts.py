"""``texts``: goes through the whole texts of many documents."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import Any

from winnow.client_sdk.corpus_calls import documents
from winnow.client_sdk.requests import Filters, Scope
from winnow.client_sdk.rows import Row
from winnow.client_sdk.transport import call

from .document_calls import first_ids, read_on


class Texts:
    """The documents of a listing, each with its text, which are read as they are reached."""

    def __init__(self, listing: Mapping[str, Any]) -> None:
        self._listing = listing

    def __iter__(self) -> Iterator[Row]:
        scope = self._listing["scope"]
        for listed in documents(**self._listing).pages():
            rows = list(listed)
            while rows:
                asked = {"documents": first_ids(rows), **({} if scope is None else {"scope": scope})}
                for piece in call("kb.text", asked)["results"]:
                    whole = read_on(asked, piece)
                    del whole["next"]
                    yield Row({**rows.pop(0), **whole})

    def __len__(self) -> int:
        """The number of documents; one SDK call."""
        return int(documents(**self._listing, limit=1)["total"]["documents"])

    def __await__(self) -> Generator[None, None, Texts]:
        yield from ()
        return self


def texts(
    path: str | None = None,
    *,
    where: Mapping[str, Any] | None = None,
    filters: Filters | None = None,
    scope: Scope | None = None,
) -> Texts:
    """Go through documents with their whole texts: rows of documents, each with row.text.

        longest = max(texts("guides/*"), key=lambda row: len(row.text))
        print(longest.file, len(longest.text))
        print([(row.file, len(code_blocks(row)), len(links(row))) for row in texts("guides/*")])

    Parameters as in documents. Texts are read as the loop reaches them, some 50 documents in a call, and count as
    passage text, once in a run: budget().text_bytes says what is left. Where a pattern is enough, scan reads
    nothing.
    """
    return Texts({"path": path, "where": where, "filters": filters, "scope": scope})
