"""Reads of the catalogue by filters: the documents that they admit, their paths, labels and fields.

SQL narrows by what it can compare exactly; ``admits`` decides the rest, so that every read has the same rules.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from server.backends.base import FACTS, AnyOf, admits, conditions, seconds_of
from server.backends.sqlite import Database
from server.models import Document, Filters, Labels
from server.runtime.deadlines import check_deadline
from server.text.matching import field_texts, literal_head

DOCUMENT = (
    "id, project, uri, source, title, type, content_hash, vendor, doc_tag, tags, created, metadata,"
    " environment, repository, language"
)
_LABELS = ("vendor", "doc_tag", "type", "environment", "repository")
# A document's own date, as ``payload_of`` reads it.
_STATED = (
    "CASE WHEN json_valid(metadata) THEN coalesce(nullif(json_extract(metadata, '$.updated'), ''),"
    " nullif(json_extract(metadata, '$.lastmod'), ''), created) ELSE created END"
)
_METADATA = "CASE WHEN json_valid(metadata) THEN metadata ELSE '{}' END"
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
        where, values = _where_clause(filters)
        return bool(self._database.rows(f"SELECT 1 FROM documents{where} LIMIT 1", *values))

    def paths(self, filters: Filters) -> list[str]:
        """The uris of the documents that these filters admit, in order; filters on dates are ignored."""
        where, values = _where_clause(self._resolve(filters))
        return [row[0] for row in self._database.rows(f"SELECT uri FROM documents{where} ORDER BY uri", *values)]

    def labels(self, filters: Filters) -> Labels:
        """The labels of the documents that these filters admit; filters on dates are ignored."""
        where, values = _where_clause(self._resolve(filters))
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
        """The names of the metadata of the documents that these filters admit; filters on dates are ignored."""
        where, values = _where_clause(self._resolve(filters))
        query = f"SELECT DISTINCT field.key FROM documents, json_each({_METADATA}) AS field{where}"
        return frozenset(str(row[0]) for row in self._database.rows(query, *values))

    def field_values(self, filters: Filters, name: str, most: int) -> list[str]:
        """The most frequent values of a field of these documents, as text; filters on dates are ignored."""
        counts: dict[str, int] = {}
        for value in self._values_of(self._resolve(filters), name):
            for text in field_texts(value):
                counts[text] = counts.get(text, 0) + 1
        return sorted(counts, key=lambda text: (-counts[text], text))[:most]

    def _values_of(self, filters: Filters, name: str) -> Iterator[Any]:
        where, values = _where_clause(filters)
        query = f"SELECT field.value FROM documents, json_each({_METADATA}) AS field{where} AND field.key = ?"
        rows = self._database.rows(query, *values, name)
        if not rows and name in FACTS:
            rows = self._database.rows(f"SELECT {name} FROM documents{where}", *values)
        for (value,) in rows:
            yield json.loads(value) if isinstance(value, str) and value.startswith("[") else value

    def _resolve(self, filters: Filters) -> Filters:
        """The filters with ``path`` and ``where`` replaced by the uris that they match."""
        if not (filters.path or filters.where):
            return filters
        dateless = replace(filters, updated_after="", updated_before="")
        uris = tuple(document.uri for document in self._iterate_within(dateless))
        return replace(filters, path="", where=(), within=uris)

    def _iterate_within(self, filters: Filters) -> Iterator[Document]:
        where, values = _where_clause(filters)
        rows = self._database.rows(f"SELECT {DOCUMENT} FROM documents{where} ORDER BY uri", *values)
        with self._database.decoding():
            for number, row in enumerate(rows):
                if number % _CHECK_EVERY == 0:
                    check_deadline()
                document = document_of(row)
                if admits(filters, document):
                    yield document


def document_of(row: tuple[Any, ...]) -> Document:
    """The document of a row of the columns ``DOCUMENT``."""
    id, project, uri, source, title, type, content_hash, vendor, doc_tag, tags, created, metadata, *labels = row
    environment, repository, language = labels
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
    )


# A ranking reads the same headings repeatedly, and parsing their JSON takes longer than reading their rows.
@lru_cache(maxsize=8_192)
def texts_of(text: str) -> tuple[str, ...]:
    """The texts of a JSON list."""
    return tuple(json.loads(text))


def _where_clause(filters: Filters) -> tuple[str, list[str]]:
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
