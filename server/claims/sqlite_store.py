"""The store of entries in an SQLite file of its own: primary data, which cannot be made again from documents.

Theory of operation. The file is in a folder of its own in the store, so that no seal, repair or rebuild of the
index touches it. A removal or replacement of the open file is detected (``open_file``). Each change is one
transaction, which is on the disk before the call returns. It writes a row of the history, which only grows, and
the entry as it is now, from which all reads are answered. Results that the server derives later (status of
evidence, friction, vectors) are stored with the entry but not in the history, because they can be derived again.
Several processes may write; SQLite admits one at a time, and sequences are assigned within a transaction.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winnow.server.claims.hash_chain import digest_of, first_flaw
from winnow.server.claims.indexes import citations, word_index, words
from winnow.server.claims.indexes.citations import PassageClaim
from winnow.server.claims.notebook_heads import Head, NotebookHeads
from winnow.server.claims.open_file import OpenFile
from winnow.server.claims.records import MODEL_PREFIX, ClaimVerdict, Comparison, Entry, entry_of
from winnow.server.claims.store import Change, ChangeKind, Notebook, NotebookCounts, TopicCount, View
from winnow.server.errors import WinnowError
from winnow.server.storage.files.store_folder import REPAIR
from winnow.server.storage.sqlite import Database, Layout

FOLDER, FILE = "claims", "claims.sqlite3"
RESTORE = (
    "bring it back (winnow restore FILE --replace, or a copy that winnow claims backup made), or move the file "
    "away and run winnow claims adopt, then winnow claims import FILE"
)
_SCHEMA = """
CREATE TABLE entries (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, project TEXT NOT NULL,
    owner TEXT NOT NULL, topic TEXT NOT NULL, session TEXT NOT NULL, needs_review INTEGER NOT NULL,
    claims INTEGER NOT NULL, claims_status TEXT NOT NULL, integration_status TEXT NOT NULL,
    friction REAL NOT NULL, revision INTEGER NOT NULL, sequence INTEGER NOT NULL, record TEXT NOT NULL);
CREATE INDEX entries_by_topic ON entries (project, owner, topic, integration_status, needs_review, session);
CREATE INDEX entries_by_friction ON entries (project, owner, friction);
CREATE INDEX entries_by_sequence ON entries (project, owner, sequence);
CREATE TABLE history (project TEXT NOT NULL, owner TEXT NOT NULL, sequence INTEGER NOT NULL, entry TEXT NOT NULL,
    kind TEXT NOT NULL, at REAL NOT NULL, body TEXT NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (project, owner, sequence)) WITHOUT ROWID;
CREATE INDEX history_by_entry ON history (entry);
CREATE TABLE verdicts (claim TEXT NOT NULL, other TEXT NOT NULL, entry TEXT NOT NULL, other_entry TEXT NOT NULL,
    record TEXT NOT NULL, PRIMARY KEY (claim, other)) WITHOUT ROWID;
CREATE INDEX verdicts_by_entry ON verdicts (entry);
CREATE INDEX verdicts_by_other ON verdicts (other_entry);
CREATE TABLE comparisons (entry TEXT NOT NULL, other TEXT NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (entry, other)) WITHOUT ROWID;
CREATE INDEX comparisons_by_other ON comparisons (other);
CREATE TABLE vectors (number INTEGER PRIMARY KEY AUTOINCREMENT, entry INTEGER NOT NULL, claim TEXT NOT NULL,
    model TEXT NOT NULL, vector BLOB NOT NULL);
CREATE INDEX vectors_by_entry ON vectors (entry, model)
"""
_LAYOUT = Layout(2, f"{_SCHEMA.strip()};{word_index.SCHEMA}", {1: word_index.SCHEMA})
_CHANGE = "sequence, entry, kind, at, body, digest"


@dataclass(frozen=True, slots=True)
class StoredVector:
    """The vector of a claim: float32 numbers. ``number`` grows with each vector, ``entry`` is the entry's."""

    number: int
    entry: int
    entry_id: str
    claim_id: str
    vector: bytes


@contextmanager
def _own_advice() -> Iterator[None]:
    """Make errors about a damaged file advise restoring a backup, because an ingest cannot recreate claims."""
    try:
        yield
    except WinnowError as error:
        if REPAIR not in error.message:
            raise
        message = error.message.replace(REPAIR, RESTORE)
        raise WinnowError(error.reason, message, retryable=error.retryable, details=error.details) from error


def claims_path(store: Path) -> Path:
    """The path of the file, whether it exists or not."""
    return store / FOLDER / FILE


class SqliteClaimStore:
    """``ClaimStore`` in a file, created where there is none. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        self._deriving = threading.local()
        self.heads = NotebookHeads(path)
        self.heads.require_file()
        with _own_advice():
            self.database = Database(path, _prepare)
        try:
            self._open_file: OpenFile | None = None
            self._require_heads()
            self._open_file = OpenFile(path)
        except BaseException:
            self.database.close()
            raise

    def _require_heads(self) -> None:
        """Raise ``WinnowError`` unless the file has the changes that its heads name. Create missing heads."""
        if self.heads.read():
            self.heads.require_changes(self._digest_at)
        elif notebooks := self.notebooks():
            self.heads.replace({each: self._head(each) for each in notebooks})

    def require_file(self) -> None:
        """Raise ``WinnowError`` where the file was removed, emptied or replaced since it was opened."""
        if self._open_file:
            with _own_advice():
                self._open_file.require_same(lambda: self.heads.require_changes(self._digest_on_disk))

    def _digest_on_disk(self, notebook: Notebook, sequence: int) -> str | None:
        rows = self.database.rows_anew(_DIGEST, notebook.project, notebook.owner, sequence)
        ((count,),) = self.database.rows_anew(_EARLIER, notebook.project, notebook.owner, sequence)
        return str(rows[0][0]) if rows and count == sequence else None

    def _digest_at(self, notebook: Notebook, sequence: int) -> str | None:
        rows = self._rows(_DIGEST, notebook.project, notebook.owner, sequence)
        return str(rows[0][0]) if rows else None

    def _head(self, notebook: Notebook) -> Head:
        last = self.last_sequence(notebook)
        return last, self._digest_at(notebook, last) or ""

    def keep_heads(self) -> None:
        """Replace the heads by the last changes of the notebooks that the file has now."""
        self.heads.replace({each: self._head(each) for each in self.notebooks()})

    @contextmanager
    def _changing(self, notebook: Notebook) -> Iterator[sqlite3.Connection]:
        """A transaction that is on the disk when it has ended; the notebook's head is stored after it."""
        self.require_file()
        with self.database.transaction(to_disk=True) as connection:
            yield connection
        self.require_file()
        self.heads.advance(notebook, self._head(notebook))

    @_own_advice()
    def add(self, notebook: Notebook, entry: Entry) -> Entry:
        """See ``ClaimStore.add``."""
        with self._changing(notebook) as connection:
            if connection.execute("SELECT 1 FROM entries WHERE id = ?", (entry.id,)).fetchone():
                raise WinnowError("INVALID_REQUEST", f"entry {entry.id} exists already; revise it")
            return _write(connection, notebook, entry, "written")

    @_own_advice()
    def revise(self, notebook: Notebook, entry: Entry, kind: ChangeKind = "revised") -> Entry:
        """See ``ClaimStore.revise``."""
        with self._changing(notebook) as connection:
            query = "SELECT revision FROM entries WHERE id = ? AND project = ? AND owner = ?"
            found = connection.execute(query, (entry.id, notebook.project, notebook.owner)).fetchone()
            if found is None:
                raise WinnowError("NOT_FOUND", f"there is no entry {entry.id}")
            if found[0] != entry.revision:
                raise WinnowError(
                    "INVALID_REQUEST",
                    f"entry {entry.id} has revision {found[0]} by now, not {entry.revision}: read it again, then "
                    "revise what it says now",
                )
            return _write(connection, notebook, entry.model_copy(update={"revision": found[0] + 1}), kind)

    @_own_advice()
    def judge(self, notebook: Notebook, verdicts: Sequence[ClaimVerdict]) -> None:
        """See ``ClaimStore.judge``."""
        with self._changing(notebook) as connection:
            for verdict in verdicts:
                first, second = sorted((verdict.claim_id, verdict.other_id))
                query = "SELECT 1 FROM verdicts WHERE claim = ? AND other = ?"
                is_known = connection.execute(query, (first, second)).fetchone()
                if is_known and verdict.by.startswith(MODEL_PREFIX):
                    continue
                body, entry = verdict.model_dump_json(), entry_of(verdict.claim_id)
                _append(connection, notebook, entry, "judged", verdict.created_at, body)
                values = (first, second, entry_of(first), entry_of(second), body)
                connection.execute("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?, ?)", values)

    @contextmanager
    def deriving(self) -> Iterator[None]:
        """A context for reading entries and storing derived results, in which no other process writes."""
        self.require_file()
        with _own_advice(), self.database.transaction() as connection:
            self._deriving.connection = connection
            try:
                yield
            finally:
                self._deriving.connection = None

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A write transaction of this thread: that of ``deriving``, or one of its own."""
        outer: sqlite3.Connection | None = getattr(self._deriving, "connection", None)
        if outer is not None:
            yield outer
            return
        with self.database.transaction() as connection:
            yield connection

    @_own_advice()
    def refresh(self, entries: Sequence[Entry]) -> None:
        """See ``ClaimStore.refresh``. An entry that was revised meanwhile stays as it is."""
        with self._transaction() as connection:
            connection.executemany(
                "UPDATE entries SET integration_status = ?, friction = ?, record = ?"
                " WHERE id = ? AND revision = ?",
                (
                    (entry.integration_status, entry.friction, _body(entry), entry.id, entry.revision)
                    for entry in entries
                ),
            )

    @_own_advice()
    def note_drift(self, notebook: Notebook, entry_ids: Sequence[str]) -> None:
        """See ``ClaimStore.note_drift``."""
        if not entry_ids:
            return
        with self._changing(notebook) as connection:
            for id in entry_ids:
                for (record,) in connection.execute("SELECT record FROM entries WHERE id = ?", (id,)).fetchall():
                    sequence = _append(connection, notebook, id, "drifted", time.time(), record)
                    connection.execute("UPDATE entries SET sequence = ? WHERE id = ?", (sequence, id))

    @_own_advice()
    def compare(self, entry_id: str, comparisons: Sequence[Comparison]) -> None:
        """See ``ClaimStore.compare``."""
        with self._transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO comparisons VALUES (?, ?, ?)",
                (
                    (*sorted((entry_id, each.other_id)), each.model_dump_json(exclude={"friction"}))
                    for each in comparisons
                ),
            )

    @_own_advice()
    def save_vectors(self, entry_id: str, model: str, vectors: Sequence[tuple[str, bytes]]) -> None:
        """Store the vectors of an entry's claims (ids and float32 numbers) in place of its earlier vectors."""
        with self.database.transaction() as connection:
            row = connection.execute("SELECT number FROM entries WHERE id = ?", (entry_id,)).fetchone()
            if row is None:
                return
            connection.execute("DELETE FROM vectors WHERE entry = ?", row)
            connection.executemany(
                "INSERT INTO vectors (entry, claim, model, vector) VALUES (?, ?, ?, ?)",
                ((row[0], claim, model, vector) for claim, vector in vectors),
            )

    def vectors(self, notebook: Notebook, model: str, after: int, limit: int) -> list[StoredVector]:
        """The latest vectors with a number above ``after``, in the order in which they were stored."""
        query = (
            "SELECT v.number, v.entry, e.id, v.claim, v.vector FROM vectors v"
            " CROSS JOIN entries e ON e.number = v.entry"
            " WHERE v.number > ? AND v.model = ? AND e.project = ? AND e.owner = ? ORDER BY v.number DESC LIMIT ?"
        )
        rows = self._rows(query, after, model, notebook.project, notebook.owner, limit)
        return [StoredVector(*row) for row in reversed(rows)]

    def without_vectors(self, notebook: Notebook, model: str, limit: int) -> list[Entry]:
        """Entries whose claims have no vectors of this model yet."""
        missing = "NOT EXISTS (SELECT 1 FROM vectors v WHERE v.entry = entries.number AND v.model = ?)"
        query = f"SELECT {_ENTRY} FROM entries WHERE project = ? AND owner = ? AND {missing} LIMIT ?"
        return self._entries(query, notebook.project, notebook.owner, model, limit)

    def compared(self, entry_ids: Sequence[str]) -> set[str]:
        """Those of these entries whose claims have vectors, so that they were compared."""
        query = (
            "SELECT DISTINCT e.id FROM entries e JOIN vectors v ON v.entry = e.number"
            " WHERE e.id IN (SELECT value FROM json_each(?))"
        )
        return {row[0] for row in self._rows(query, json.dumps(list(entry_ids)))}

    def count_without_vectors(self, notebook: Notebook, model: str) -> int:
        """The number of entries whose claims have no vectors of this model yet."""
        missing = "NOT EXISTS (SELECT 1 FROM vectors v WHERE v.entry = entries.number AND v.model = ?)"
        query = f"SELECT count(*) FROM entries WHERE project = ? AND owner = ? AND {missing}"
        return int(self._rows(query, notebook.project, notebook.owner, model)[0][0])

    def entry_numbers(self, view: View) -> list[int]:
        """The numbers of the entries that a view has."""
        where, values = _where(view)
        return [row[0] for row in self._rows(f"SELECT number FROM entries WHERE {where}", *values)]

    def read(self, view: View, entry_ids: Sequence[str]) -> dict[str, Entry]:
        """See ``ClaimStore.read``."""
        where, values = _where(view, "e.")
        columns = ", ".join(f"e.{name}" for name in _ENTRY.split(", "))
        # A cross join is made in this order: otherwise all entries of the notebook may be read.
        query = (
            f"SELECT {columns} FROM json_each(?) wanted CROSS JOIN entries e ON e.id = wanted.value WHERE {where}"
        )
        return {entry.id: entry for entry in self._entries(query, json.dumps(list(entry_ids)), *values)}

    def entries(self, entry_ids: Sequence[str]) -> list[Entry]:
        """The entries with these ids, of any notebook, entries that wait for approval included."""
        query = f"SELECT {_ENTRY} FROM entries WHERE id IN (SELECT value FROM json_each(?))"
        return self._entries(query, json.dumps(list(entry_ids)))

    def recent(self, view: View, since: int, limit: int) -> list[tuple[Change, Entry]]:
        """See ``ClaimStore.recent``."""
        where, values = _where(view, "e.")
        columns = ", ".join(f"h.{name}" for name in _CHANGE.split(", "))
        entry = ", ".join(f"e.{name}" for name in _ENTRY.split(", "))
        query = (
            f"SELECT {columns}, {entry} FROM history h JOIN entries e ON e.id = h.entry WHERE h.project = ?"
            f" AND h.owner = ? AND h.sequence > ? AND {where} AND NOT EXISTS (SELECT 1 FROM history later"
            " WHERE later.entry = h.entry AND later.sequence > h.sequence) ORDER BY h.sequence LIMIT ?"
        )
        notebook = view.notebook
        rows = self._rows(query, notebook.project, notebook.owner, since, *values, limit)
        with _own_advice(), self.database.decoding():
            return [(Change(*row[:6]), _entry(row[6:])) for row in rows]

    def topics(self, view: View) -> list[TopicCount]:
        """See ``ClaimStore.topics``."""
        where, values = _where(view)
        query = (
            "SELECT topic, claims_status, count(*), sum(friction) FROM entries"
            f" WHERE {where} GROUP BY topic, claims_status ORDER BY topic"
        )
        sums: dict[str, tuple[Counter[str], float]] = {}
        for topic, status, number, friction in self._rows(query, *values):
            statuses, total = sums.get(topic, (Counter(), 0.0))
            statuses[status] += number
            sums[topic] = (statuses, total + friction)
        return [
            TopicCount(topic, statuses.total(), total / statuses.total(), dict(statuses))
            for topic, (statuses, total) in sums.items()
        ]

    def most_contested(self, view: View, min_friction: float, limit: int) -> list[Entry]:
        """See ``ClaimStore.most_contested``."""
        where, values = _where(view)
        query = f"SELECT {_ENTRY} FROM entries WHERE {where} AND friction >= ? ORDER BY friction DESC, id LIMIT ?"
        return self._entries(query, *values, min_friction, limit)

    def listing(self, view: View, after: int, limit: int) -> list[Entry]:
        """See ``ClaimStore.listing``."""
        where, values = _where(view)
        query = f"SELECT {_ENTRY} FROM entries WHERE {where} AND sequence > ? ORDER BY sequence LIMIT ?"
        return self._entries(query, *values, after, limit)

    def counts(self, view: View) -> NotebookCounts:
        """See ``ClaimStore.counts``."""
        where, values = _where(view)
        query = (
            "SELECT integration_status, claims_status, count(*), sum(claims), sum(needs_review)"
            f" FROM entries WHERE {where} GROUP BY integration_status, claims_status"
        )
        rows = self._rows(query, *values)
        by_integration: Counter[str] = Counter()
        by_claims: Counter[str] = Counter()
        for integration, claims_status, number, *_ in rows:
            by_integration[integration] += number
            by_claims[claims_status] += number
        return NotebookCounts(
            by_integration.total(),
            sum(row[3] for row in rows),
            by_integration,
            by_claims,
            sum(row[4] for row in rows),
            self._last_seen(view),
        )

    def _last_seen(self, view: View) -> int:
        """The sequence of the last change of an entry of this view, verdicts included; 0 for none."""
        where, values = _where(view, "e.")
        query = (
            "SELECT h.sequence FROM history h JOIN entries e ON e.id = h.entry WHERE h.project = ?"
            f" AND h.owner = ? AND {where} ORDER BY h.sequence DESC LIMIT 1"
        )
        rows = self._rows(query, view.notebook.project, view.notebook.owner, *values)
        return int(rows[0][0]) if rows else 0

    def comparisons(self, entry_ids: Sequence[str]) -> list[Comparison]:
        """See ``ClaimStore.comparisons``."""
        rows = self._rows(_EITHER.format(table="comparisons", other="other"), *[json.dumps(list(entry_ids))] * 2)
        with _own_advice(), self.database.decoding():
            # Earlier versions stored a friction with the novelty; it may be out of date.
            return [Comparison.model_validate({**json.loads(row[0]), "friction": 0.0}) for row in rows]

    def verdicts(self, entry_ids: Sequence[str]) -> list[ClaimVerdict]:
        """See ``ClaimStore.verdicts``."""
        rows = self._rows(
            _EITHER.format(table="verdicts", other="other_entry"), *[json.dumps(list(entry_ids))] * 2
        )
        with _own_advice(), self.database.decoding():
            return [ClaimVerdict.model_validate_json(row[0]) for row in rows]

    def verdicts_in(self, notebook: Notebook) -> list[ClaimVerdict]:
        """See ``ClaimStore.verdicts_in``."""
        query = (
            "SELECT v.record FROM verdicts v JOIN entries e ON e.id = v.entry WHERE e.project = ? AND e.owner = ?"
        )
        rows = self._rows(query, notebook.project, notebook.owner)
        with _own_advice(), self.database.decoding():
            return [ClaimVerdict.model_validate_json(row[0]) for row in rows]

    def history(self, notebook: Notebook, entry_id: str = "") -> list[Change]:
        """The changes of one entry, or of the whole notebook, oldest first."""
        query = f"SELECT {_CHANGE} FROM history WHERE project = ? AND owner = ? AND (? = '' OR entry = ?)"
        rows = self._rows(f"{query} ORDER BY sequence", notebook.project, notebook.owner, entry_id, entry_id)
        return [Change(*row) for row in rows]

    def last_sequence(self, notebook: Notebook) -> int:
        """The sequence of the last change, 0 for an empty notebook."""
        query = "SELECT coalesce(max(sequence), 0) FROM history WHERE project = ? AND owner = ?"
        return int(self._rows(query, notebook.project, notebook.owner)[0][0])

    def notebooks(self) -> list[Notebook]:
        """All notebooks of the file, by project and owner."""
        query = "SELECT DISTINCT project, owner FROM history ORDER BY project, owner"
        return [Notebook(*row) for row in self._rows(query)]

    def notebooks_of(self, entry_ids: Collection[str]) -> set[Notebook]:
        """The notebooks that have any of these entries."""
        query = "SELECT DISTINCT project, owner FROM entries WHERE id IN (SELECT value FROM json_each(?))"
        return {Notebook(*row) for row in self._rows(query, json.dumps([*entry_ids]))}

    def first_flaw(self, notebook: Notebook) -> int | None:
        """The sequence of the first change that is not as it was written; None if all are."""
        return first_flaw(self.history(notebook))

    def search_words(self, view: View, query: str, limit: int) -> list[tuple[str, float]]:
        """See ``ClaimStore.search_words``."""
        where, values = _where(view, "entries.")
        self.require_file()
        with _own_advice():
            return words.search(self.database, query, where, values, limit)

    @_own_advice()
    def citing(self, view: View, passages: Sequence[str], most: int) -> list[PassageClaim]:
        """At most ``most`` claims of the view that cite each of these passages, by their ids. One query."""
        self.require_file()
        return citations.citing(self.database, passages, *_where(view, "e."), most)

    @_own_advice()
    def import_changes(self, notebook: Notebook, changes: Sequence[tuple[Change, Entry | ClaimVerdict]]) -> None:
        """Append changes of another file to this notebook, in one transaction.

        A change that continues the notebook's history keeps its digest; any other change gets a new digest.
        """
        with self._changing(notebook) as connection:
            for change, record in changes:
                if isinstance(record, ClaimVerdict):
                    first, second = sorted((record.claim_id, record.other_id))
                    values = (first, second, entry_of(first), entry_of(second), change.body)
                    _append(connection, notebook, change.entry_id, change.kind, change.at, change.body)
                    connection.execute("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?, ?)", values)
                    continue
                query = "SELECT project, owner FROM entries WHERE id = ?"
                found = connection.execute(query, (record.id,)).fetchone()
                if found not in (None, (notebook.project, notebook.owner)):
                    raise WinnowError("INVALID_REQUEST", f"entry {record.id} is in another notebook already")
                _write(connection, notebook, record, change.kind, body=change.body, at=change.at)

    @_own_advice()
    def close(self) -> None:
        """Close the file."""
        self.database.close()

    def _rows(self, query: str, *values: Any) -> list[Any]:
        self.require_file()
        with _own_advice():
            return self.database.rows(query, *values)

    def _entries(self, query: str, *values: Any) -> list[Entry]:
        rows = self._rows(query, *values)
        with _own_advice(), self.database.decoding():
            return [_entry(row) for row in rows]


_DIGEST = "SELECT digest FROM history WHERE project = ? AND owner = ? AND sequence = ?"
_EARLIER = "SELECT count(*) FROM history WHERE project = ? AND owner = ? AND sequence <= ?"
_ENTRY = "project, owner, sequence, record"
# Two lookups, each by an index of its own; UNION removes a row that both find.
_EITHER = (
    "SELECT record FROM {table} WHERE entry IN (SELECT value FROM json_each(?))"
    " UNION SELECT record FROM {table} WHERE {other} IN (SELECT value FROM json_each(?))"
)


def _prepare(database: Database) -> None:
    _LAYOUT.prepare(database)
    word_index.prepare(database)
    citations.prepare(database)


def _where(view: View, table: str = "") -> tuple[str, list[Any]]:
    """The condition of a view, and its values. ``table`` stands before each column."""
    notebook, prefix = view.notebook, view.topic_prefix.strip("/")
    conditions, values = [f"{table}project = ?", f"{table}owner = ?"], [notebook.project, notebook.owner]
    if not view.sees_all:
        conditions.append(f"({table}needs_review = 0 OR ({table}session = ? AND {table}session <> ''))")
        values.append(view.session)
    if prefix:  # "0" is the character after "/"
        conditions.append(f"({table}topic = ? OR ({table}topic > ? AND {table}topic < ?))")
        values += [prefix, f"{prefix}/", f"{prefix}0"]
    if view.integration_status:
        conditions.append(f"{table}integration_status = ?")
        values.append(view.integration_status)
    return " AND ".join(conditions), values


def _entry(row: Sequence[Any]) -> Entry:
    project, owner, sequence, record = row
    return Entry.model_validate({**json.loads(record), "project": project, "owner": owner, "sequence": sequence})


def _body(entry: Entry) -> str:
    """The record of an entry without its sequence, and without its notebook, which may be renamed."""
    return entry.model_dump_json(exclude={"project", "owner", "sequence"})


def _append(
    connection: sqlite3.Connection, notebook: Notebook, entry: str, kind: ChangeKind, at: float, body: str
) -> int:
    """Append a change to the history; return its sequence."""
    query = "SELECT sequence, digest FROM history WHERE project = ? AND owner = ? ORDER BY sequence DESC LIMIT 1"
    last, previous = connection.execute(query, (notebook.project, notebook.owner)).fetchone() or (0, "")
    digest = digest_of(previous, last + 1, entry, kind, at, body)
    connection.execute(
        "INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (notebook.project, notebook.owner, last + 1, entry, kind, at, body, digest),
    )
    return int(last) + 1


def _forget_comparisons(connection: sqlite3.Connection, entry: Entry) -> None:
    """Remove the vectors and comparisons of an entry if its claims have changed."""
    found = connection.execute("SELECT number, record FROM entries WHERE id = ?", (entry.id,)).fetchone()
    if found is None:
        return
    earlier = [(claim["id"], claim["text"]) for claim in json.loads(found[1])["claims"]]
    if earlier != [(claim.id, claim.text) for claim in entry.claims]:
        connection.execute("DELETE FROM vectors WHERE entry = ?", (found[0],))
        connection.execute("DELETE FROM comparisons WHERE entry = ? OR other = ?", (entry.id, entry.id))


def _write(
    connection: sqlite3.Connection,
    notebook: Notebook,
    entry: Entry,
    kind: ChangeKind,
    *,
    body: str = "",
    at: float | None = None,
) -> Entry:
    """Write an entry and its change; ``body`` and ``at`` are given for a change that another file has."""
    sequence = _append(
        connection, notebook, entry.id, kind, time.time() if at is None else at, body or _body(entry)
    )
    values: dict[str, Any] = {
        "id": entry.id,
        "project": notebook.project,
        "owner": notebook.owner,
        "topic": entry.topic,
        "session": entry.session,
        "needs_review": entry.needs_review,
        "claims": len(entry.claims),
        "claims_status": entry.claims_status,
        "integration_status": entry.integration_status,
        "friction": entry.friction,
        "revision": entry.revision,
        "sequence": sequence,
        "record": _body(entry),
    }
    _forget_comparisons(connection, entry)
    changed = ", ".join(f"{name} = excluded.{name}" for name in values if name != "id")
    places = ", ".join("?" * len(values))
    connection.execute(
        f"INSERT INTO entries ({', '.join(values)}) VALUES ({places}) ON CONFLICT (id) DO UPDATE SET {changed}",
        tuple(values.values()),
    )
    ((number,),) = connection.execute("SELECT number FROM entries WHERE id = ?", (entry.id,))
    word_index.index(connection, number, values["record"])
    return entry.model_copy(update={"project": notebook.project, "owner": notebook.owner, "sequence": sequence})
