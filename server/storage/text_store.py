"""Protocol of a store that all text is read from, one document after the other."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, Protocol

from winnow.server.models import (
    ChunkSpan,
    DocumentReading,
    DocumentText,
    ExcludedText,
    Filters,
    NeededTexts,
    Place,
)


class TextStore(Protocol):
    """The whole texts of documents; a part of ``DocumentStore``."""

    def texts_within(
        self, filters: Filters, first: int = 0, needed: NeededTexts = ()
    ) -> Generator[DocumentText | ExcludedText]:
        """The texts of the documents that these filters admit, by uri, from number ``first`` (from 0) on.

        Of documents that certainly lack what is needed the text may be left out.
        """

    def sizes_within(self, filters: Filters) -> Iterator[tuple[int, int]]:
        """The number of chunks and of their tokens of each document that these filters admit."""

    def token_count(self, document_id: str) -> int:
        """The number of tokens of a document's chunks together."""

    def metadata(self, document_id: str) -> Mapping[str, Any]:
        """The metadata of a document; {} for one that is gone."""

    def spans(self, document_id: str) -> list[ChunkSpan]:
        """The places of a document's chunks, in reading order."""

    def index_texts(self) -> None:
        """Bring the index up to date that rules documents out of scans; small stores have none."""

    def places(self, document_id: str) -> tuple[Place, ...]:
        """The places of a document in the order of its text; () for a document without them."""

    def places_within(self, document_id: str, start: int, end: int) -> tuple[Place, ...]:
        """The places that the characters from ``start`` to ``end`` of a document are in."""

    def cited_chunks(self, chunk_ids: Sequence[str]) -> frozenset[str]:
        """Those of these chunks whose documents have places or, in their metadata, a citekey."""

    def readings_within(self, filters: Filters) -> Iterator[DocumentReading]:
        """The reading of each document that these filters admit, by uri."""
