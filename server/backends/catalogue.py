"""Documents, their text, their chunks and the projects, in one SQLite file: the truth about what is indexed.

The vector store holds only what ranking and filters need; every word that is ever shown comes from here.
Write-ahead logging lets several processes read while one writes; a writer waits its turn for ten seconds.
Each thread has a connection of its own.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from server.backends.base import Changes, Entry, Known
from server.backends.lock import WRITER, Lock
from server.backends.sqlite import connect
from server.errors import WinnowError
from server.models import Chunk, Document, Passage, ProjectInfo

SCHEMA_VERSION = 3
# SQLite's own ceiling for parameters is 32,766; a few hundred at a time is as fast.
_AT_ONCE = 500

_SCHEMA = """
CREATE TABLE catalogue (
    identity TEXT NOT NULL, vectors TEXT NOT NULL DEFAULT 'vectors', dimension INTEGER NOT NULL DEFAULT 384
);
CREATE TABLE projects (
    name TEXT PRIMARY KEY,
    generation INTEGER NOT NULL DEFAULT 0,
    writing INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE documents (
    id TEXT PRIMARY KEY, project TEXT NOT NULL, uri TEXT NOT NULL, source TEXT NOT NULL, title TEXT NOT NULL,
    type TEXT NOT NULL, content_hash TEXT NOT NULL, vendor TEXT NOT NULL, doc_tag TEXT NOT NULL,
    tags TEXT NOT NULL, created TEXT NOT NULL, metadata TEXT NOT NULL,
    origin TEXT NOT NULL, embedding TEXT NOT NULL, context_hash TEXT NOT NULL,
    environment TEXT NOT NULL DEFAULT '', repository TEXT NOT NULL DEFAULT '',
    language TEXT NOT NULL DEFAULT ''
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
CREATE INDEX chunks_by_document ON chunks (document_id, ordinal);
CREATE INDEX chunks_by_project ON chunks (project, id);
CREATE TABLE files (
    project TEXT NOT NULL, source TEXT NOT NULL, origin TEXT NOT NULL, stamp TEXT NOT NULL,
    PRIMARY KEY (project, source, origin)
) WITHOUT ROWID;
"""
# What makes a catalogue of one layout one of the next.
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
    }
)
_DOCUMENT = (
    "id, project, uri, source, title, type, content_hash, vendor, doc_tag, tags, created, metadata,"
    " environment, repository, language"
)
_CHUNK = 'id, document_id, ordinal, heading_path, text, start, "end", tokens'


@dataclass(frozen=True, slots=True)
class Binding:
    """Where the catalogue's vectors are: a folder's name (or the end of a collection's), and their dimension."""

    vectors: str
    dimension: int


class Catalogue:
    """The ``DocumentStore`` in one SQLite file, which is made where there is none.

    A file of an earlier layout is brought up to date, in one transaction. Raises
    ``WinnowError("INDEX_UNAVAILABLE")`` where the file is not ours or of a later layout.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._own = threading.local()
        self._all: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._guard = threading.Lock()
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self.close()
            raise _unusable(path, str(error)) from error
        except BaseException:
            self.close()
            raise

    def projects(self) -> list[ProjectInfo]:
        """All projects that hold documents, by name."""
        rows = self._rows(
            "SELECT name, generation,"
            " (SELECT count(*) FROM documents WHERE project = name),"
            " (SELECT count(*) FROM chunks WHERE project = name)"
            " FROM projects ORDER BY name"
        )
        return [
            ProjectInfo(name, documents, chunks, generation, self.embedding(name))
            for name, generation, documents, chunks in rows
            if documents
        ]

    def embedding(self, project: str) -> str:
        """The fingerprint that all documents of the project share; "" where they have none or several."""
        ((least, most),) = self._rows(
            "SELECT (SELECT min(embedding) FROM documents WHERE project = ?),"
            " (SELECT max(embedding) FROM documents WHERE project = ?)",
            project,
            project,
        )
        return least if least is not None and least == most else ""

    def languages(self, project: str) -> dict[str, int]:
        """How many documents of a project are in each language; "" are those of which nobody knows."""
        query = "SELECT language, count(*) FROM documents WHERE project = ? GROUP BY language ORDER BY language"
        return dict(self._rows(query, project))

    def generation(self, project: str) -> int:
        """Grows with every change of the project's index; 0 for a project that does not exist."""
        rows = self._rows("SELECT generation FROM projects WHERE name = ?", project)
        return int(rows[0][0]) if rows else 0

    def passages(self, chunk_ids: Sequence[str], project: str) -> dict[str, Passage]:
        """The chunks that exist in this project, by id, each with its document."""
        chunks: dict[str, Chunk] = {}
        for some in _portions(chunk_ids):
            query = f"SELECT {_CHUNK} FROM chunks WHERE project = ? AND id IN ({_marks(some)})"
            chunks |= {row[0]: _chunk(row) for row in self._rows(query, project, *some)}
        documents: dict[str, Document] = {}
        for some in _portions(sorted({chunk.document_id for chunk in chunks.values()})):
            query = f"SELECT {_DOCUMENT} FROM documents WHERE id IN ({_marks(some)})"
            documents |= {row[0]: _document(row) for row in self._rows(query, *some)}
        return {
            chunk.id: Passage(chunk, documents[chunk.document_id])
            for chunk in chunks.values()
            if chunk.document_id in documents  # gone between the two reads: as if it had been gone before
        }

    def documents(self, project: str) -> list[Document]:
        """All documents of a project, by uri."""
        query = f"SELECT {_DOCUMENT} FROM documents WHERE project = ? ORDER BY uri"
        return [_document(row) for row in self._rows(query, project)]

    def text(self, document_id: str, project: str) -> str | None:
        """The whole text of a document, or None where there is none."""
        rows = self._rows(
            "SELECT text FROM texts JOIN documents ON id = document_id WHERE document_id = ? AND project = ?",
            document_id,
            project,
        )
        return str(rows[0][0]) if rows else None

    def chunks(self, document_id: str, project: str) -> list[Chunk]:
        """The chunks of a document in reading order."""
        query = f"SELECT {_CHUNK} FROM chunks WHERE document_id = ? AND project = ? ORDER BY ordinal"
        return [_chunk(row) for row in self._rows(query, document_id, project)]

    def known(self, project: str) -> list[Known]:
        """What tells whether a document changed, for all documents of a project."""
        query = (
            "SELECT id, uri, source, origin, content_hash, context_hash, embedding"
            " FROM documents WHERE project = ?"
        )
        return [Known(*row) for row in self._rows(query, project)]

    def stamps(self, project: str, source: str) -> dict[str, str]:
        """What each file of a source looked like when it was read."""
        query = "SELECT origin, stamp FROM files WHERE project = ? AND source = ?"
        return dict(self._rows(query, project, source))

    def chunk_ids(self, project: str) -> list[str]:
        """Every chunk of a project, by id."""
        return [row[0] for row in self._rows("SELECT id FROM chunks WHERE project = ? ORDER BY id", project)]

    def chunk_count(self) -> int:
        """Chunks in all projects."""
        return int(self._rows("SELECT count(*) FROM chunks")[0][0])

    def apply(self, changes: Changes) -> None:
        """Make one change, all of it or nothing; the generation grows if documents changed."""
        with self._writing() as connection:
            replaced = [entry.document.id for entry in changes.entries]
            for table, key in (("chunks", "document_id"), ("texts", "document_id"), ("documents", "id")):
                connection.executemany(
                    f"DELETE FROM {table} WHERE {key} = ?", [(id,) for id in [*changes.deleted, *replaced]]
                )
            for entry in changes.entries:
                _insert(connection, entry)
            for origin, stamp in changes.stamps.items():
                _stamp(connection, changes, origin, stamp)
            if replaced or changes.deleted:
                connection.execute(
                    "UPDATE projects SET generation = generation + 1 WHERE name = ?", (changes.project,)
                )

    def doubt(self, document_ids: Sequence[str]) -> None:
        """Forget what the points of these documents hold, because it is about to change."""
        with self._writing() as connection:
            connection.executemany(
                "UPDATE documents SET context_hash = '' WHERE id = ?", [(id,) for id in document_ids]
            )

    @property
    def identity(self) -> str:
        """Eight characters that tell this catalogue from every other one."""
        return str(self._rows("SELECT identity FROM catalogue")[0][0])

    @property
    def binding(self) -> Binding:
        """Where the vectors are."""
        return Binding(*self._rows("SELECT vectors, dimension FROM catalogue")[0])

    def bind(self, binding: Binding) -> None:
        """Say where the vectors are: those of a catalogue without chunks, or the same ones elsewhere.

        Once this has returned it survives the machine, so that what counted before may be removed.
        """
        with self._writing_to_disk() as connection:
            connection.execute("UPDATE catalogue SET vectors = ?, dimension = ?", astuple(binding))

    def rebind(self, binding: Binding, embedding: str) -> None:
        """From now on the vectors are there, all of this fingerprint: one change, all of it or nothing.

        Survives the machine as ``bind`` does.
        """
        with self._writing_to_disk() as connection:
            connection.execute("UPDATE catalogue SET vectors = ?, dimension = ?", astuple(binding))
            connection.execute("UPDATE documents SET embedding = ?", (embedding,))
            connection.execute("UPDATE projects SET generation = generation + 1")

    @contextmanager
    def only_writer(self) -> Iterator[None]:
        """Keep other writers out, those of other processes too. Raises ``WinnowError("INDEX_HELD")``."""
        lock = Lock(self._path.parent, WRITER)
        try:
            yield
        finally:
            lock.release()

    def unfinished(self, project: str) -> bool:
        """Whether a writer began and never came to its ``finish``."""
        return self._rows("SELECT writing FROM projects WHERE name = ?", project) == [(1,)]

    def begin(self, project: str) -> None:
        """Mark the project as being written, and make it if it is new."""
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO projects (name, writing) VALUES (?, 1) ON CONFLICT DO UPDATE SET writing = 1",
                (project,),
            )

    def finish(self, project: str) -> None:
        """Take the mark away."""
        with self._writing() as connection:
            connection.execute("UPDATE projects SET writing = 0 WHERE name = ?", (project,))

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._guard:
            for _, connection in self._all:
                connection.close()
            self._all.clear()
            self._own = threading.local()

    def _prepare(self) -> None:
        if self._version() < SCHEMA_VERSION:
            with self._writing() as connection:
                # Another process may have been first while this one waited, so the version is read again.
                _bring_up_to_date(connection, self._version())
        if (version := self._version()) != SCHEMA_VERSION:
            raise _unusable(self._path, f"it has layout {version}, this winnow reads {SCHEMA_VERSION}")

    def _version(self) -> int:
        return int(self._rows("PRAGMA user_version")[0][0])

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = connect(self._path)
            with self._guard:
                for thread, left in self._all:
                    if not thread.is_alive():
                        left.close()
                self._all = [pair for pair in self._all if pair[0].is_alive()]
                self._all.append((threading.current_thread(), connection))
        return connection

    def _rows(self, query: str, *values: Any) -> list[Any]:
        return self._connection().execute(query, values).fetchall()

    @contextmanager
    def _writing_to_disk(self) -> Iterator[sqlite3.Connection]:
        """A change that the disk has once it is committed; a machine that fails may lose others."""
        self._connection().execute("PRAGMA synchronous = FULL")
        try:
            with self._writing() as connection:
                yield connection
        finally:
            self._connection().execute("PRAGMA synchronous = NORMAL")

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        connection = self._connection()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


def rename(path: Path) -> None:
    """Give a catalogue that was copied an identity of its own: two of one would share a collection on a server."""
    with closing(connect(path)) as connection:
        connection.execute("UPDATE catalogue SET identity = ?", (secrets.token_hex(4),))


def _bring_up_to_date(connection: sqlite3.Connection, version: int) -> None:
    if version == 0:
        _execute(connection, _SCHEMA)
        connection.execute("INSERT INTO catalogue (identity) VALUES (?)", (secrets.token_hex(4),))
    else:
        for each in range(version, SCHEMA_VERSION):
            _execute(connection, _MIGRATIONS[each])
    connection.execute(f"PRAGMA user_version = {max(version, SCHEMA_VERSION)}")


def _execute(connection: sqlite3.Connection, statements: str) -> None:
    # executescript would commit the transaction around it
    for statement in statements.split(";"):
        connection.execute(statement)


def _insert(connection: sqlite3.Connection, entry: Entry) -> None:
    document = entry.document
    connection.execute(
        f"INSERT INTO documents ({_DOCUMENT}, origin, embedding, context_hash) VALUES ({_marks(range(18))})",
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
            entry.origin,
            entry.embedding,
            entry.context_hash,
        ),
    )
    connection.execute("INSERT INTO texts VALUES (?, ?)", (document.id, entry.text))
    connection.executemany(
        f"INSERT INTO chunks ({_CHUNK}, project) VALUES ({_marks(range(9))})",
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


def _stamp(connection: sqlite3.Connection, changes: Changes, origin: str, stamp: str | None) -> None:
    key = (changes.project, changes.source, origin)
    if stamp is None:
        connection.execute("DELETE FROM files WHERE project = ? AND source = ? AND origin = ?", key)
    else:
        connection.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", (*key, stamp))


def _document(row: tuple[Any, ...]) -> Document:
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
        tags=_texts(tags),
        created=created,
        metadata=json.loads(metadata),
        environment=environment,
        repository=repository,
        language=language,
    )


def _chunk(row: tuple[Any, ...]) -> Chunk:
    id, document_id, ordinal, heading_path, text, start, end, tokens = row
    return Chunk(id, document_id, ordinal, _texts(heading_path), text, start, end, tokens)


# A ranking reads the same headings again and again, and their JSON takes longer to read than their rows.
@lru_cache(maxsize=8_192)
def _texts(written: str) -> tuple[str, ...]:
    return tuple(json.loads(written))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


def _portions(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]


def _unusable(path: Path, why: str) -> WinnowError:
    return WinnowError("INDEX_UNAVAILABLE", f"{path} cannot be used: {why}; ingest into another --store")
