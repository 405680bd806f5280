"""Reads whole texts out of the catalogue, one document after the other in the order of their paths.

Texts come as UTF-8 bytes, as SQLite holds them: a scan of all of them decodes only what matches.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from typing import Any

from winnow.server.backends import trigrams
from winnow.server.backends.document_queries import FilteredDocuments, texts_of, where_clause
from winnow.server.models import ChunkSpan, DocumentText, ExcludedText, Filters, NeededTexts

_TEXT = "(SELECT CAST(text AS BLOB) FROM texts WHERE document_id = documents.id)"
CHUNKS = "(SELECT count(*) FROM chunks WHERE document_id = documents.id)"
_TOKENS = "(SELECT coalesce(sum(tokens), 0) FROM chunks WHERE document_id = documents.id)"
# Without the index SQLite might sort by uri, and hold all texts for that.
_TABLES = "documents INDEXED BY documents_by_uri"
# The text is NULL where the trigrams rule it out; a document that they do not know may hold anything.
_WITH_TRIGRAMS = f"{_TABLES} LEFT JOIN trigram_documents AS known ON known.document_id = documents.id"
_MATCHING = (
    "id, uri, source, title, CASE WHEN known.number IS NULL"
    " OR known.number IN (SELECT rowid FROM trigrams WHERE trigrams MATCH ?)"
    f" THEN {_TEXT} END, coalesce(known.passages, {CHUNKS}), known.characters"
)


class DocumentTexts(FilteredDocuments):
    """The reads of a catalogue that go through all documents."""

    def texts_within(
        self, filters: Filters, first: int = 0, needed: NeededTexts = ()
    ) -> Generator[DocumentText | ExcludedText]:
        """The texts of the documents that these filters admit, by uri, from number ``first`` (from 0) on.

        They are read one by one, from one state of the catalogue; the caller closes the iterator. Of documents
        that lack what is needed the text is left out, where the catalogue has an index that tells.
        """
        query = trigrams.query_of(needed)
        if query and trigrams.has_trigrams(self._database):
            yield from self._matching_texts(filters, first, query)
            return
        rows = self._rows_within(filters, f"id, uri, source, title, {_TEXT}, {CHUNKS}", first)
        for number, (id, uri, source, title, text, chunks) in enumerate(rows, first):
            yield DocumentText(number, id, uri, source, title, text or b"", chunks)

    def _matching_texts(self, filters: Filters, first: int, query: str) -> Generator[DocumentText | ExcludedText]:
        rows = self._rows_within(filters, _MATCHING, first, query, tables=_WITH_TRIGRAMS)
        for number, (id, uri, source, title, text, chunks, characters) in enumerate(rows, first):
            if text is None and characters is not None:
                yield ExcludedText(number, chunks, characters)
            else:
                yield DocumentText(number, id, uri, source, title, text or b"", chunks)

    def sizes_within(self, filters: Filters) -> Iterator[tuple[int, int]]:
        """The number of chunks and of their tokens of each document that these filters admit."""
        yield from self._rows_within(filters, f"{CHUNKS}, {_TOKENS}", 0)

    def token_count(self, document_id: str) -> int:
        """The number of tokens of a document's chunks together."""
        query = "SELECT coalesce(sum(tokens), 0) FROM chunks WHERE document_id = ?"
        return int(self._database.rows(query, document_id)[0][0])

    def metadata(self, document_id: str) -> Mapping[str, Any]:
        """The metadata of a document; {} for one that is gone."""
        with self._database.decoding():
            for (written,) in self._database.rows("SELECT metadata FROM documents WHERE id = ?", document_id):
                return dict(json.loads(written))
        return {}

    def spans(self, document_id: str) -> list[ChunkSpan]:
        """The places of a document's chunks, in reading order."""
        query = 'SELECT id, start, "end", heading_path FROM chunks WHERE document_id = ? ORDER BY ordinal'
        with self._database.decoding():
            rows = self._database.rows(query, document_id)
            return [ChunkSpan(id, start, end, texts_of(headings)) for id, start, end, headings in rows]

    def _rows_within(
        self, filters: Filters, columns: str, first: int, *asked: str, tables: str = _TABLES
    ) -> Iterator[Any]:
        """The columns of the documents; ``asked`` are the values of their parameters."""
        where, values = where_clause(self._resolve(filters, dates=True))
        query = f"SELECT {columns} FROM {tables}{where} ORDER BY uri LIMIT -1 OFFSET ?"
        return self._database.iterate_rows(query, *asked, *values, first)
