"""Reads whole texts out of the catalogue, one document after the other in the order of their paths.

Texts come as UTF-8 bytes, as SQLite holds them: a scan of all of them decodes only what matches.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

from server.backends.document_queries import FilteredDocuments, texts_of, where_clause
from server.models import ChunkSpan, DocumentText, Filters

_TEXT = "(SELECT CAST(text AS BLOB) FROM texts WHERE document_id = documents.id)"
_CHUNKS = "(SELECT count(*) FROM chunks WHERE document_id = documents.id)"
_TOKENS = "(SELECT coalesce(sum(tokens), 0) FROM chunks WHERE document_id = documents.id)"


class DocumentTexts(FilteredDocuments):
    """The reads of a catalogue that go through all documents."""

    def texts_within(self, filters: Filters, first: int = 0) -> Generator[DocumentText]:
        """The texts of the documents that these filters admit, by uri, from number ``first`` (from 0) on.

        They are read one by one, from one state of the catalogue; the caller closes the iterator.
        """
        rows = self._rows_within(filters, f"id, uri, title, {_TEXT}, {_CHUNKS}", first)
        for number, (id, uri, title, text, chunks) in enumerate(rows, first):
            yield DocumentText(number, id, uri, title, text or b"", chunks)

    def sizes_within(self, filters: Filters) -> Iterator[tuple[int, int]]:
        """The number of chunks and of their tokens of each document that these filters admit."""
        yield from self._rows_within(filters, f"{_CHUNKS}, {_TOKENS}", 0)

    def spans(self, document_id: str) -> list[ChunkSpan]:
        """The places of a document's chunks, in reading order."""
        query = 'SELECT id, start, "end", heading_path FROM chunks WHERE document_id = ? ORDER BY ordinal'
        with self._database.decoding():
            rows = self._database.rows(query, document_id)
            return [ChunkSpan(id, start, end, texts_of(headings)) for id, start, end, headings in rows]

    def _rows_within(self, filters: Filters, columns: str, first: int) -> Iterator[Any]:
        where, values = where_clause(self._resolve(filters, dates=True))
        # Without the index SQLite might sort by uri, and hold all texts for that.
        tables = "documents INDEXED BY documents_by_uri"
        query = f"SELECT {columns} FROM {tables}{where} ORDER BY uri LIMIT -1 OFFSET ?"
        return self._database.iterate_rows(query, *values, first)
