"""Reads and writes the places of documents (pages, slides, sheets, ...) and how their files were read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from winnow.server.backends.document_queries import batches_of, placeholders_of, where_clause
from winnow.server.backends.document_texts import CHUNKS, DocumentTexts
from winnow.server.models import DocumentReading, Filters, Place, Reading

PLACES_SCHEMA = """
CREATE TABLE places (
    document_id TEXT NOT NULL, start INTEGER NOT NULL, number INTEGER NOT NULL, kind TEXT NOT NULL,
    label TEXT NOT NULL, first_row INTEGER, last_row INTEGER,
    PRIMARY KEY (document_id, start, number)
) WITHOUT ROWID;
CREATE TABLE readings (document_id TEXT PRIMARY KEY, reading TEXT NOT NULL) WITHOUT ROWID;
"""
_PLACE = "places.start, kind, number, label, first_row, last_row"
# The places of the span [start, end): from the last one that begins at or before its start, to the last one that
# begins before its end. Of several that begin at one character, all but the last are empty.
_WITHIN = """
    places.document_id = {document} AND places.start < max({end}, {start} + 1) AND places.start >= coalesce(
        (SELECT max(start) FROM places WHERE document_id = {document} AND start <= {start}), 0)
"""
_OF_SPAN = _WITHIN.format(document="?1", start="?2", end="?3")
_OF_CHUNK = _WITHIN.format(document="chunks.document_id", start="chunks.start", end='chunks."end"')
# As JSON is written; a nested field of that name counts as well, which costs a read.
_HAS_CITEKEY = "instr(metadata, '\"citekey\"') > 0"
_CHARACTERS = "(SELECT length(text) FROM texts WHERE document_id = documents.id)"
_READING = "(SELECT reading FROM readings WHERE document_id = documents.id)"


class DocumentPlaces(DocumentTexts):
    """The reads of a catalogue that concern places."""

    def places(self, document_id: str) -> tuple[Place, ...]:
        """The places of a document in the order of its text; () for a document without them."""
        query = f"SELECT {_PLACE} FROM places WHERE document_id = ? ORDER BY start, number"
        return self._places(query, document_id)

    def places_within(self, document_id: str, start: int, end: int) -> tuple[Place, ...]:
        """The places that the characters from ``start`` to ``end`` of a document are in."""
        query = f"SELECT {_PLACE} FROM places WHERE {_OF_SPAN} ORDER BY start, number"
        return self._places(query, document_id, start, end)

    def cited_chunks(self, chunk_ids: Sequence[str]) -> frozenset[str]:
        """Those of these chunks whose documents have places or, in their metadata, a citekey."""
        found: set[str] = set()
        for batch in batches_of(chunk_ids):
            query = (
                f"SELECT id FROM chunks WHERE id IN ({placeholders_of(batch)})"
                " AND (EXISTS (SELECT 1 FROM places WHERE places.document_id = chunks.document_id)"
                f" OR EXISTS (SELECT 1 FROM documents WHERE documents.id = chunks.document_id AND {_HAS_CITEKEY}))"
            )
            found.update(id for (id,) in self._database.rows(query, *batch))
        return frozenset(found)

    def has_pages(self, filters: Filters) -> bool:
        """Whether any of the documents that these filters admit has pages, slides or sheets."""
        where, values = where_clause(filters)
        kinds = "kind IN ('page', 'slide', 'sheet')"
        query = f"SELECT 1 FROM documents JOIN places ON document_id = documents.id{where} AND {kinds} LIMIT 1"
        return bool(self._database.rows(query, *values))

    def readings_within(self, filters: Filters) -> Iterator[DocumentReading]:
        """The reading of each document that these filters admit, by uri."""
        with self._database.decoding():
            columns = f"uri, source, type, coalesce({_CHARACTERS}, 0), {CHUNKS}, {_READING}"
            for uri, source, type, characters, chunks, reading in self._rows_within(filters, columns, 0):
                read = None if reading is None else _reading(json.loads(reading))
                yield DocumentReading(uri, source, type, characters, chunks, read)

    def _places_of(self, chunk_ids: Sequence[str]) -> dict[str, tuple[Place, ...]]:
        """The places that chunks are in, by the chunk's id, for those that are in any."""
        found: dict[str, tuple[Place, ...]] = {}
        for batch in batches_of(chunk_ids):
            query = (
                f"SELECT chunks.id, {_PLACE} FROM chunks JOIN places ON {_OF_CHUNK}"
                f" WHERE chunks.id IN ({placeholders_of(batch)}) ORDER BY chunks.id, places.start, number"
            )
            rows = self._database.rows(query, *batch)
            found |= {id: tuple(_place(row[1:]) for row in of) for id, of in groupby(rows, lambda row: row[0])}
        return found

    def _places(self, query: str, *values: Any) -> tuple[Place, ...]:
        return tuple(map(_place, self._database.rows(query, *values)))


def insert_places(
    connection: sqlite3.Connection, document_id: str, places: Sequence[Place], reading: Reading | None
) -> None:
    """Write the places of a document and how it was read."""
    connection.executemany(
        "INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (document_id, place.start, place.number, place.kind, place.label, *(place.rows or (None, None)))
            for place in places
        ],
    )
    if reading is not None:
        values = (document_id, json.dumps(asdict(reading), ensure_ascii=False))
        connection.execute("INSERT INTO readings VALUES (?, ?)", values)


def _place(row: tuple[Any, ...]) -> Place:
    start, kind, number, label, first, last = row
    return Place(start, kind, number, label, None if first is None else (first, last))


def _reading(fields: dict[str, Any]) -> Reading:
    lists: dict[str, Any] = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
    return Reading(**{**fields, **lists})
