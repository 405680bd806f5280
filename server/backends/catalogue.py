"""The document store in one SQLite file: documents, their text, their chunks and the projects.

It is the truth about what is indexed. The vector store holds only what ranking and filters need; all text that is
shown comes from here. ``server.storage.sqlite`` describes how several processes share it, and its errors.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from winnow.server.backends import trigrams
from winnow.server.backends.document_places import PLACES_SCHEMA, DocumentPlaces, insert_places
from winnow.server.backends.document_queries import DOCUMENT, batches_of, document_of, placeholders_of, texts_of
from winnow.server.backends.project_rows import (
    CHANGED_COLUMN,
    NOW,
    PROJECT_SETTINGS_SCHEMA,
    STATE_COLUMNS,
    ProjectRows,
)
from winnow.server.models import Chunk, Document, Passage
from winnow.server.storage.base import CatalogueChanges, CatalogueEntry, IndexedDocument
from winnow.server.storage.files import seal
from winnow.server.storage.files.lock import WRITER, StoreLock
from winnow.server.storage.files.store_folder import CATALOGUE, FILES
from winnow.server.storage.sqlite import Database, Layout, seal_databases

SCHEMA_VERSION = 8

_SCHEMA = f"""
CREATE TABLE catalogue (
    identity TEXT NOT NULL, vectors TEXT NOT NULL DEFAULT 'vectors', dimension INTEGER NOT NULL DEFAULT 384
);
CREATE TABLE projects (
    name TEXT PRIMARY KEY,
    generation INTEGER NOT NULL DEFAULT 0,
    writing INTEGER NOT NULL DEFAULT 0,
    {", ".join((CHANGED_COLUMN, *STATE_COLUMNS))}
);
{PROJECT_SETTINGS_SCHEMA}
CREATE TABLE documents (
    id TEXT PRIMARY KEY, project TEXT NOT NULL, uri TEXT NOT NULL, source TEXT NOT NULL, title TEXT NOT NULL,
    type TEXT NOT NULL, content_hash TEXT NOT NULL, vendor TEXT NOT NULL, doc_tag TEXT NOT NULL,
    tags TEXT NOT NULL, created TEXT NOT NULL, metadata TEXT NOT NULL,
    origin TEXT NOT NULL, embedding TEXT NOT NULL, context_hash TEXT NOT NULL,
    environment TEXT NOT NULL DEFAULT '', repository TEXT NOT NULL DEFAULT '',
    language TEXT NOT NULL DEFAULT '', body_start INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX documents_by_uri ON documents (project, uri);
CREATE INDEX documents_by_embedding ON documents (project, embedding);
CREATE INDEX documents_by_language ON documents (project, language);
CREATE TABLE texts (document_id TEXT PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE chunks (
    id TEXT PRIMARY KEY, document_id TEXT NOT NULL, ordinal INTEGER NOT NULL, heading_path TEXT NOT NULL,
    text TEXT NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL, tokens INTEGER NOT NULL,
    project TEXT NOT NULL
);
CREATE INDEX chunks_by_document ON chunks (document_id, ordinal, tokens);
CREATE INDEX chunks_by_project ON chunks (project, id);
CREATE TABLE files (
    project TEXT NOT NULL, source TEXT NOT NULL, origin TEXT NOT NULL, stamp TEXT NOT NULL,
    PRIMARY KEY (project, source, origin)
) WITHOUT ROWID;
{PLACES_SCHEMA}
INSERT INTO catalogue (identity) VALUES (lower(hex(randomblob(4))))
"""
# From each layout to the next.
_MIGRATIONS: Mapping[int, str] = MappingProxyType(
    {
        1: """
        ALTER TABLE documents ADD COLUMN environment TEXT NOT NULL DEFAULT '';
        ALTER TABLE documents ADD COLUMN repository TEXT NOT NULL DEFAULT '';
        """,
        2: """
        ALTER TABLE documents ADD COLUMN language TEXT NOT NULL DEFAULT '';
        CREATE INDEX documents_by_language ON documents (project, language);
        ALTER TABLE catalogue ADD COLUMN vectors TEXT NOT NULL DEFAULT 'vectors';
        ALTER TABLE catalogue ADD COLUMN dimension INTEGER NOT NULL DEFAULT 384;
        """,
        3: "ALTER TABLE documents ADD COLUMN body_start INTEGER NOT NULL DEFAULT 0;",
        4: """
        DROP INDEX chunks_by_document;
        CREATE INDEX chunks_by_document ON chunks (document_id, ordinal, tokens);
        """,
        5: PLACES_SCHEMA,
        6: f"{PROJECT_SETTINGS_SCHEMA} ALTER TABLE projects ADD COLUMN {CHANGED_COLUMN};",
        7: "".join(f"ALTER TABLE projects ADD COLUMN {column};" for column in STATE_COLUMNS),
    }
)
_LAYOUT = Layout(SCHEMA_VERSION, _SCHEMA, _MIGRATIONS)
_TABLES_BY_DOCUMENT = ("chunks", "texts", "places", "readings", "documents")
_CHUNK = 'id, document_id, ordinal, heading_path, text, start, "end", tokens'


@dataclass(frozen=True, slots=True)
class Binding:
    """The place of the vectors: a folder's name (or the end of a collection's), and their dimension."""

    vectors: str
    dimension: int


class Catalogue(DocumentPlaces, ProjectRows):
    """The ``DocumentStore`` in one SQLite file, created where there is none.

    A file of an earlier layout is migrated in one transaction. Raises ``WinnowError("INDEX_UNAVAILABLE")`` where
    the file is no catalogue or of a later layout.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_trusted = True
        self._database = Database(path, _LAYOUT.prepare)

    def languages(self, project: str) -> dict[str, int]:
        """The number of documents of a project in each language; "" stands for unknown."""
        query = "SELECT language, count(*) FROM documents WHERE project = ? GROUP BY language ORDER BY language"
        return dict(self._database.rows(query, project))

    def passages(self, chunk_ids: Sequence[str], project: str) -> dict[str, Passage]:
        """The chunks that exist in this project, by id, each with its document and its places."""
        chunks: dict[str, Chunk] = {}
        for batch in batches_of(chunk_ids):
            query = f"SELECT {_CHUNK} FROM chunks WHERE project = ? AND id IN ({placeholders_of(batch)})"
            chunks |= {chunk.id: chunk for chunk in self._chunks(query, project, *batch)}
        places = self._places_of(list(chunks))
        documents: dict[str, Document] = {}
        for batch in batches_of(sorted({chunk.document_id for chunk in chunks.values()})):
            query = f"SELECT {DOCUMENT} FROM documents WHERE id IN ({placeholders_of(batch)})"
            documents |= {document.id: document for document in self._documents(query, *batch)}
        return {
            chunk.id: Passage(chunk, documents[chunk.document_id], places.get(chunk.id, ()))
            for chunk in chunks.values()
            if chunk.document_id in documents  # it may be deleted between the two reads
        }

    def documents(self, project: str) -> list[Document]:
        """All documents of a project, by uri."""
        query = f"SELECT {DOCUMENT} FROM documents WHERE project = ? ORDER BY uri"
        return self._documents(query, project)

    def text(self, document_id: str, project: str) -> str | None:
        """The whole text of a document, or None where there is none."""
        rows = self._database.rows(
            "SELECT text FROM texts JOIN documents ON id = document_id WHERE document_id = ? AND project = ?",
            document_id,
            project,
        )
        return str(rows[0][0]) if rows else None

    def chunks(self, document_id: str, project: str) -> list[Chunk]:
        """The chunks of a document in reading order."""
        query = f"SELECT {_CHUNK} FROM chunks WHERE document_id = ? AND project = ? ORDER BY ordinal"
        return self._chunks(query, document_id, project)

    def indexed_documents(self, project: str) -> list[IndexedDocument]:
        """The state of every document of a project, without its text."""
        query = (
            "SELECT id, uri, source, origin, content_hash, context_hash, embedding"
            " FROM documents WHERE project = ?"
        )
        return [IndexedDocument(*row) for row in self._database.rows(query, project)]

    def sources(self, project: str) -> list[str]:
        """The folders and files that were ingested into the project, by absolute path."""
        query = "SELECT DISTINCT source FROM documents WHERE project = ? ORDER BY source"
        return [source for (source,) in self._database.rows(query, project) if Path(source).is_absolute()]

    def stamps(self, project: str, source: str) -> dict[str, str]:
        """The stamp of each file of a source from when it was read."""
        query = "SELECT origin, stamp FROM files WHERE project = ? AND source = ?"
        return dict(self._database.rows(query, project, source))

    def stamp(self, project: str, source: str, origin: str) -> str | None:
        """The stamp of a file of a source from when it was read; None for a file that was not read."""
        query = "SELECT stamp FROM files WHERE project = ? AND source = ? AND origin = ?"
        rows = self._database.rows(query, project, source, origin)
        return str(rows[0][0]) if rows else None

    def chunk_ids(self, project: str) -> list[str]:
        """Every chunk of a project, by id."""
        return [
            row[0] for row in self._database.rows("SELECT id FROM chunks WHERE project = ? ORDER BY id", project)
        ]

    def chunk_count(self) -> int:
        """Chunks in all projects."""
        return int(self._database.rows("SELECT count(*) FROM chunks")[0][0])

    def apply(self, changes: CatalogueChanges) -> None:
        """Make one atomic change; the generation grows if documents changed."""
        with self._database.transaction() as connection:
            replaced = [entry.document.id for entry in changes.entries]
            for table in _TABLES_BY_DOCUMENT:
                key = "id" if table == "documents" else "document_id"
                connection.executemany(
                    f"DELETE FROM {table} WHERE {key} = ?", [(id,) for id in [*changes.deleted, *replaced]]
                )
            for entry in changes.entries:
                _insert(connection, entry)
            for origin, stamp in changes.stamps.items():
                _stamp(connection, changes, origin, stamp)
            if replaced or changes.deleted:
                connection.execute(
                    f"UPDATE projects SET generation = generation + 1, changed = {NOW} WHERE name = ?",
                    (changes.project,),
                )

    def renew_generations(self) -> tuple[str, ...]:
        """Let the generation of every project with documents grow, so that nothing kept of it is used any more.

        Returns their names.
        """
        with self._database.sealed_transaction() as connection:
            rows = connection.execute("SELECT name FROM projects WHERE generation > 0 ORDER BY name").fetchall()
            connection.execute("UPDATE projects SET generation = generation + 1 WHERE generation > 0")
        return tuple(str(row[0]) for row in rows)

    def mark_dirty(self, document_ids: Sequence[str]) -> None:
        """Empty the context hash of these documents, because their points are about to change."""
        with self._database.transaction() as connection:
            connection.executemany(
                "UPDATE documents SET context_hash = '' WHERE id = ?", [(id,) for id in document_ids]
            )

    @property
    def identity(self) -> str:
        """Eight characters that identify this catalogue."""
        return str(self._database.rows("SELECT identity FROM catalogue")[0][0])

    @property
    def binding(self) -> Binding:
        """The place of the vectors."""
        return Binding(*self._database.rows("SELECT vectors, dimension FROM catalogue")[0])

    def bind(self, binding: Binding) -> None:
        """Set where the vectors are, for a catalogue without chunks or for the same vectors elsewhere.

        The change is durable when this returns, so the former vectors may be removed.
        """
        with self._database.sealed_transaction() as connection:
            connection.execute("UPDATE catalogue SET vectors = ?, dimension = ?", astuple(binding))

    def rebind(self, binding: Binding, embedding: str) -> None:
        """Set where the vectors are and that all have this fingerprint, in one atomic change.

        Durable as ``bind``.
        """
        with self._database.sealed_transaction() as connection:
            connection.execute("UPDATE catalogue SET vectors = ?, dimension = ?", astuple(binding))
            connection.execute("UPDATE documents SET embedding = ?", (embedding,))
            connection.execute("UPDATE projects SET generation = generation + 1")

    @contextmanager
    def only_writer(self) -> Iterator[None]:
        """Keep other writers out, those of other processes too, and seal the databases at the end.

        Databases that had no seal are sealed only if ``trust`` was called. Raises ``WinnowError("INDEX_HELD")``.
        """
        folder = self._path.parent
        lock = StoreLock(folder, WRITER)
        try:
            # The catalogue itself is compared before its first change.
            before = seal.read_state(folder, [name for name in FILES if name != CATALOGUE])
            self._is_trusted = seal.is_sealed(folder) or not self.chunk_count()
            try:
                yield
            finally:
                if self._is_trusted:
                    seal_databases(folder, before)
        finally:
            lock.release()

    @property
    def is_trusted(self) -> bool:
        """Whether this writer found the databases sealed or empty, or has compared the documents since."""
        return self._is_trusted

    def trust(self) -> None:
        """Seal the databases at the end of this writer: every document was compared with its digest."""
        self._is_trusted = True

    def mark_altered(self, document_ids: Sequence[str]) -> None:
        """Empty the digests of these documents, because they are not as they were ingested."""
        with self._database.transaction() as connection:
            connection.executemany(
                "UPDATE documents SET context_hash = '', content_hash = '' WHERE id = ?",
                [(id,) for id in document_ids],
            )

    def has_unfinished_write(self, project: str) -> bool:
        """Whether a writer began and did not reach ``finish_write``."""
        return self._database.rows("SELECT writing FROM projects WHERE name = ?", project) == [(1,)]

    def begin_write(self, project: str) -> None:
        """Mark the project as being written, and create it if it is new."""
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO projects (name, writing) VALUES (?, 1) ON CONFLICT DO UPDATE SET writing = 1",
                (project,),
            )

    def finish_write(self, project: str) -> None:
        """Remove the mark."""
        with self._database.transaction() as connection:
            connection.execute("UPDATE projects SET writing = 0 WHERE name = ?", (project,))

    def index_texts(self, least: int = trigrams.LEAST_PASSAGES) -> None:
        """Index the trigrams of texts that are not indexed yet, from ``least`` passages on."""
        trigrams.index_trigrams(self._database, least)

    def compact(self) -> None:
        """Give the space of removed rows back to the disk; needs as much space as the file has, for a while."""
        self._database.compact()

    def close(self) -> None:
        """Close the connections of all threads."""
        self._database.close()

    def _documents(self, query: str, *values: str) -> list[Document]:
        with self._database.decoding():
            return [document_of(row) for row in self._database.rows(query, *values)]

    def _chunks(self, query: str, *values: str) -> list[Chunk]:
        with self._database.decoding():
            return [_chunk(row) for row in self._database.rows(query, *values)]


def assign_identity(path: Path) -> None:
    """Give a copied catalogue its own identity: two catalogues with one identity would share a collection."""
    with closing(Database(path, _LAYOUT.prepare)) as database, database.transaction() as connection:
        connection.execute("UPDATE catalogue SET identity = ?", (secrets.token_hex(4),))


def _insert(connection: sqlite3.Connection, entry: CatalogueEntry) -> None:
    document = entry.document
    connection.execute(
        f"INSERT INTO documents ({DOCUMENT}, origin, embedding, context_hash)"
        f" VALUES ({placeholders_of(range(19))})",
        (
            document.id,
            document.project,
            document.uri,
            document.source,
            document.title,
            document.type,
            document.content_hash,
            document.vendor,
            document.doc_tag,
            _json(document.tags),
            document.created,
            _json(dict(document.metadata)),
            document.environment,
            document.repository,
            document.language,
            document.body_start,
            entry.origin,
            entry.embedding,
            entry.context_hash,
        ),
    )
    connection.execute("INSERT INTO texts VALUES (?, ?)", (document.id, entry.text))
    insert_places(connection, document.id, entry.places, entry.reading)
    connection.executemany(
        f"INSERT INTO chunks ({_CHUNK}, project) VALUES ({placeholders_of(range(9))})",
        [
            (
                chunk.id,
                chunk.document_id,
                chunk.ordinal,
                _json(chunk.heading_path),
                chunk.text,
                chunk.start,
                chunk.end,
                chunk.tokens,
                document.project,
            )
            for chunk in entry.chunks
        ],
    )


def _stamp(connection: sqlite3.Connection, changes: CatalogueChanges, origin: str, stamp: str | None) -> None:
    key = (changes.project, changes.source, origin)
    if stamp is None:
        connection.execute("DELETE FROM files WHERE project = ? AND source = ? AND origin = ?", key)
    else:
        connection.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", (*key, stamp))


def _chunk(row: tuple[Any, ...]) -> Chunk:
    id, document_id, ordinal, heading_path, text, start, end, tokens = row
    return Chunk(id, document_id, ordinal, texts_of(heading_path), text, start, end, tokens)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
