"""Reads of the catalogue by filters: the documents that they admit, their paths, labels and fields.

SQL narrows by what it can compare exactly; ``admits`` decides the rest, so that every read has the same rules.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from winnow.server.models import Document, DocumentRecord, Filters, Labels
from winnow.server.runtime.deadlines import check_deadline
from winnow.server.storage.base import FACTS, FOLDER, AnyOf, admits, conditions, seconds_of
from winnow.server.storage.sqlite import Database
from winnow.server.text.matching import field_texts, literal_head

DOCUMENT = (
    "id, project, uri, source, title, type, content_hash, vendor, doc_tag, tags, created, metadata,"
    " environment, repository, language, body_start"
)
_LABELS = ("vendor", "doc_tag", "type", "environment", "repository")
# A document's own date, as ``payload_of`` reads it.
_STATED = (
    "CASE WHEN json_valid(metadata) THEN coalesce(nullif(json_extract(metadata, '$.updated'), ''),"
    " nullif(json_extract(metadata, '$.lastmod'), ''), created) ELSE created END"
)
_UPDATED = (
    "CASE WHEN json_valid(metadata) THEN coalesce(json_extract(metadata, '$.updated'),"
    " json_extract(metadata, '$.lastmod'), '') ELSE '' END"
)
_CHUNKS = "(SELECT count(*) FROM chunks WHERE document_id = documents.id)"
_TOKENS = "(SELECT coalesce(sum(tokens), 0) FROM chunks WHERE document_id = documents.id)"
_SORTS: Mapping[str, str] = MappingProxyType(
    {"path": "uri", "title": "lower(title)", "created": "created", "updated": _UPDATED, "tokens": _TOKENS}
)
_METADATA = "CASE WHEN json_valid(metadata) THEN metadata ELSE '{}' END"
# SQLite admits 32,766 parameters in a statement; a few hundred at a time are as fast.
_BATCH_IDS = 500
_MOST_NAMES = 20_000  # of fields
_CHECK_EVERY = 1_000  # documents between two looks at the deadline


class FilteredDocuments:
    """The reads of a catalogue that take filters."""

    _database: Database

    def documents_within(self, filters: Filters) -> list[Document]:
        """The documents that these filters admit, by uri."""
        return list(self._iterate_within(filters))

    def has_documents(self, filters: Filters) -> bool:
        """Whether these filters admit any document."""
        if filters.path or filters.where or filters.updated_after or filters.updated_before:
            return any(True for _ in self._iterate_within(filters))
        where, values = where_clause(filters)
        return bool(self._database.rows(f"SELECT 1 FROM documents{where} LIMIT 1", *values))

    def paths(self, filters: Filters) -> list[str]:
        """The uris of the documents that these filters admit, in order; filters on dates are ignored."""
        where, values = where_clause(self._resolve(filters))
        return [row[0] for row in self._database.rows(f"SELECT uri FROM documents{where} ORDER BY uri", *values)]

    def labels(self, filters: Filters) -> Labels:
        """The labels of the documents that these filters admit; filters on dates are ignored."""
        where, values = where_clause(self._resolve(filters))
        labels = {
            key: frozenset(
                row[0] for row in self._database.rows(f"SELECT DISTINCT {key} FROM documents{where}", *values)
            )
            for key in _LABELS
        }
        tags = self._database.rows(f"SELECT DISTINCT value FROM documents, json_each(tags){where}", *values)
        stated = self._database.rows(f"SELECT {_STATED}, count(*) FROM documents{where} GROUP BY 1", *values)
        dated = [(seconds_of(str(date)), count) for date, count in stated]
        return Labels(
            {key: names - {""} for key, names in labels.items()} | {"tags": frozenset(row[0] for row in tags)},
            tuple(sorted(date for date, _ in dated if date is not None)),
            sum(count for date, count in dated if date is None),
        )

    def fields(self, filters: Filters) -> frozenset[str]:
        """The names of the metadata of the documents that these filters admit; filters on dates are ignored.

        Of more than 20,000 names some are left out: hostile documents may all have different ones.
        """
        where, values = where_clause(self._resolve(filters))
        query = (
            f"SELECT DISTINCT field.key FROM documents, json_each({_METADATA}) AS field{where} LIMIT {_MOST_NAMES}"
        )
        return frozenset(str(row[0]) for row in self._database.rows(query, *values))

    def field_values(self, filters: Filters, name: str, most: int) -> list[str]:
        """The most frequent values of a field of these documents, as text; filters on dates are ignored."""
        counts: dict[str, int] = {}
        for value in self._values_of(self._resolve(filters), name):
            for text in field_texts(value):
                counts[text] = counts.get(text, 0) + 1
        return sorted(counts, key=lambda text: (-counts[text], text))[:most]

    def titles(self, filters: Filters) -> list[str]:
        """Their titles, each once; filters on dates are ignored."""
        where, values = where_clause(self._resolve(filters))
        rows = self._database.rows(f"SELECT DISTINCT title FROM documents{where} ORDER BY title", *values)
        return [row[0] for row in rows if row[0]]

    def section_chunks(self, filters: Filters, is_within: Callable[[Sequence[str]], bool], most: int) -> list[str]:
        """The chunks of these documents whose headings satisfy ``is_within``, by id; at most ``most``."""
        where, values = where_clause(self._resolve(filters, dates=True))
        joined = f"chunks JOIN documents ON documents.id = chunks.document_id{where}"
        known = self._database.rows(f"SELECT DISTINCT heading_path FROM {joined}", *values)
        chosen = json.dumps([path for (path,) in known if is_within(texts_of(path))])
        query = f"SELECT chunks.id FROM {joined} AND heading_path IN (SELECT value FROM json_each(?))"
        return [id for (id,) in self._database.rows(f"{query} ORDER BY chunks.id LIMIT ?", *values, chosen, most)]

    def find_documents(self, filters: Filters, name: str) -> list[Document]:
        """The document with this id or uri, else those with this title, in any case."""
        for condition in ("id = ? OR uri = ?", "title = ?", "lower(title) = lower(?)"):
            where, values = where_clause(filters)
            names = [name] * condition.count("?")
            query = f"SELECT {DOCUMENT} FROM documents{where} AND ({condition}) ORDER BY uri"
            with self._database.decoding():
                found = [document_of(row) for row in self._database.rows(query, *values, *names)]
            admitted = [document for document in found if admits(filters, document)]
            if admitted:
                return admitted
        return []

    def count_documents(self, filters: Filters) -> tuple[int, int]:
        """The number of documents that these filters admit, and of their chunks."""
        where, values = where_clause(self._resolve(filters, dates=True))
        query = f"SELECT count(*), coalesce(sum({_CHUNKS}), 0) FROM documents{where}"
        ((documents, chunks),) = self._database.rows(query, *values)
        return documents, chunks

    def list_documents(self, filters: Filters, sort: str, offset: int, limit: int) -> list[DocumentRecord]:
        """A part of the documents that these filters admit, in this order; those without a date come last."""
        where, values = where_clause(self._resolve(filters, dates=True))
        column, order = _SORTS[sort.removeprefix("-")], "DESC" if sort.startswith("-") else "ASC"
        order_by = f"{column} = '', {column} {order}, uri {order}"
        chosen = f"SELECT id FROM documents{where} ORDER BY {order_by} LIMIT ? OFFSET ?"
        query = (
            f"SELECT {DOCUMENT}, {_CHUNKS}, {_TOKENS} FROM documents WHERE id IN ({chosen}) ORDER BY {order_by}"
        )
        with self._database.decoding():
            rows = self._database.rows(query, *values, limit, offset)
            return [DocumentRecord(document_of(row[:-2]), *row[-2:]) for row in rows]

    def iterate_values(self, filters: Filters, name: str) -> Iterator[tuple[Any, int]]:
        """The value of a fact, a field or ``FOLDER`` of each of these documents, and how many chunks it has."""
        where, values = where_clause(self._resolve(filters, dates=True))
        column = name if name in FACTS else "uri" if name == FOLDER else "metadata"
        query = f"SELECT {column}, metadata, {_CHUNKS} FROM documents{where} ORDER BY uri"
        with self._database.decoding():
            for fact, metadata, chunks in self._database.iterate_rows(query, *values):
                yield _value_of(name, fact, metadata), chunks

    def _values_of(self, filters: Filters, name: str) -> Iterator[Any]:
        where, values = where_clause(filters)
        query = f"SELECT field.value FROM documents, json_each({_METADATA}) AS field{where} AND field.key = ?"
        rows = self._database.rows(query, *values, name)
        if not rows and name in FACTS:
            rows = self._database.rows(f"SELECT {name} FROM documents{where}", *values)
        for (value,) in rows:
            yield json.loads(value) if isinstance(value, str) and value.startswith("[") else value

    def _resolve(self, filters: Filters, *, dates: bool = False) -> Filters:
        """Filters that SQL alone can apply: ``path``, ``where`` and dates are replaced by the uris they match.

        Without ``dates`` those are ignored.
        """
        if not dates:
            filters = replace(filters, updated_after="", updated_before="")
        if not (filters.path or filters.where or filters.updated_after or filters.updated_before):
            return filters
        uris = tuple(document.uri for document in self._iterate_within(filters))
        return Filters(filters.project, within=uris)

    def _iterate_within(self, filters: Filters) -> Iterator[Document]:
        where, values = where_clause(filters)
        rows = self._database.rows(f"SELECT {DOCUMENT} FROM documents{where} ORDER BY uri", *values)
        with self._database.decoding():
            for number, row in enumerate(rows):
                if number % _CHECK_EVERY == 0:
                    check_deadline()
                document = document_of(row)
                if admits(filters, document):
                    yield document


def _value_of(name: str, fact: str, metadata: str) -> Any:
    if name == FOLDER:
        return fact.rpartition("/")[0]
    if name in FACTS and fact:
        return json.loads(fact) if name == "tags" else fact
    return json.loads(metadata).get(name)


def document_of(row: tuple[Any, ...]) -> Document:
    """The document of a row of the columns ``DOCUMENT``."""
    id, project, uri, source, title, type, content_hash, vendor, doc_tag, tags, created, metadata, *labels = row
    environment, repository, language, body_start = labels
    return Document(
        id=id,
        project=project,
        uri=uri,
        source=source,
        title=title,
        type=type,
        content_hash=content_hash,
        vendor=vendor,
        doc_tag=doc_tag,
        tags=texts_of(tags),
        created=created,
        metadata=json.loads(metadata),
        environment=environment,
        repository=repository,
        language=language,
        body_start=body_start,
    )


# A ranking reads the same headings repeatedly, and parsing their JSON takes longer than reading their rows.
@lru_cache(maxsize=8_192)
def texts_of(text: str) -> tuple[str, ...]:
    """The texts of a JSON list."""
    return tuple(json.loads(text))


def where_clause(filters: Filters) -> tuple[str, list[str]]:
    """A WHERE clause for the documents that the filters may admit, and the values of its parameters.

    Dates and ``where`` are left out; of ``path`` it compares the beginning.
    """
    clauses: list[str] = []
    values: list[str] = []
    for condition in conditions(replace(filters, updated_after="", updated_before="", within=None)):
        if not isinstance(condition, AnyOf):  # dates
            continue
        match condition.key:
            case "tags":
                placeholders = placeholders_of(condition.values)
                clause = f"EXISTS (SELECT 1 FROM json_each(documents.tags) WHERE value IN ({placeholders}))"
                values += condition.values
            case "paths":
                clause = "(uri = ? OR substr(uri, 1, length(?) + 1) = ? || '/')"
                values += 3 * list(condition.values)
            case key:
                clause = f"documents.{key} IN ({placeholders_of(condition.values)})"
                values += condition.values
        clauses.append(clause)
    if head := literal_head(filters.path):
        clauses.append("substr(uri, 1, length(?)) = ?")
        values += [head, head]
    if filters.within is not None:
        clauses.append("uri IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(filters.within))
    return f" WHERE {' AND '.join(clauses)}", values


def placeholders_of(values: Sequence[Any]) -> str:
    """As many question marks as there are values."""
    return ", ".join("?" * len(values))


def batches_of(values: Sequence[str]) -> Iterator[Sequence[str]]:
    """The values in batches that one statement takes."""
    for start in range(0, len(values), _BATCH_IDS):
        yield values[start : start + _BATCH_IDS]
