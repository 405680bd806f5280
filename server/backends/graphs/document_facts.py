"""Facts of every document that an update of the graph needs, in one SQLite file.

A document's row is written after its graph, so every row here stands for a graph that is stored. ``store``
distinguishes several graph stores that are filled from one catalogue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from winnow.server.storage.sqlite import Database

_SCHEMA = """
CREATE TABLE IF NOT EXISTS ledger (
    store TEXT NOT NULL, project TEXT NOT NULL, document_id TEXT NOT NULL,
    stamp TEXT NOT NULL, facts BLOB NOT NULL,
    PRIMARY KEY (store, project, document_id)
) WITHOUT ROWID
"""


class SqliteFactStore:
    """Stamps and facts of documents by project. ``store`` names the graph store that they belong to.

    The file is opened for each call, and created by the first. Methods raise ``WinnowError`` as
    ``server.storage.sqlite`` does.
    """

    def __init__(self, path: Path, store: str) -> None:
        self._path = path
        self._store = store

    def stamps(self, project: str) -> dict[str, str]:
        """The stamp of each document, by id, from when its graph was written."""
        query = "SELECT document_id, stamp FROM ledger WHERE store = ? AND project = ?"
        with closing(self._open()) as database:
            return dict(database.rows(query, self._store, project))

    def facts(self, project: str) -> Iterator[bytes]:
        """The encoded facts of each document."""
        query = "SELECT facts FROM ledger WHERE store = ? AND project = ? ORDER BY document_id"
        with closing(self._open()) as database:
            yield from (facts for (facts,) in database.iterate_rows(query, self._store, project))

    def apply(self, project: str, written: Mapping[str, tuple[str, bytes]], deleted: Sequence[str] = ()) -> None:
        """Store stamp and facts of some documents and delete those of others, in one transaction."""
        rows = [(self._store, project, id, stamp, facts) for id, (stamp, facts) in written.items()]
        keys = [(self._store, project, id) for id in deleted]
        with closing(self._open()) as database, database.transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO ledger VALUES (?, ?, ?, ?, ?)", rows)
            connection.executemany("DELETE FROM ledger WHERE store = ? AND project = ? AND document_id = ?", keys)

    def _open(self) -> Database:
        return Database(self._path, _prepare)


def _prepare(database: Database) -> None:
    if not database.rows("SELECT 1 FROM sqlite_master WHERE name = 'ledger'"):
        with database.transaction() as connection:
            connection.execute(_SCHEMA)
