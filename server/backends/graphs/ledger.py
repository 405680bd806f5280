"""What the graph's ingest has to know of every document to bring in one more, in one SQLite file.

A row is written last, after the graph that it stands for: what is here is in the graph. ``store`` tells several
graph stores apart that were filled from one catalogue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from server.backends.sqlite import Database

_SCHEMA = """
CREATE TABLE IF NOT EXISTS ledger (
    store TEXT NOT NULL, project TEXT NOT NULL, document_id TEXT NOT NULL,
    stamp TEXT NOT NULL, facts BLOB NOT NULL,
    PRIMARY KEY (store, project, document_id)
) WITHOUT ROWID
"""


class LedgerFile:
    """Stamps and facts of documents by project. ``store`` names the graph store that they belong to.

    The file is made when it is first asked. Methods raise ``WinnowError`` as ``server.backends.sqlite`` says.
    """

    def __init__(self, path: Path, store: str) -> None:
        self._path = path
        self._store = store

    def stamps(self, project: str) -> dict[str, str]:
        """What each document was like, by id, when its graph was written."""
        query = "SELECT document_id, stamp FROM ledger WHERE store = ? AND project = ?"
        with closing(self._opened()) as database:
            return dict(database.rows(query, self._store, project))

    def facts(self, project: str) -> Iterator[bytes]:
        """What was kept of each document."""
        query = "SELECT facts FROM ledger WHERE store = ? AND project = ? ORDER BY document_id"
        with closing(self._opened()) as database:
            yield from (facts for (facts,) in database.each(query, self._store, project))

    def apply(self, project: str, written: Mapping[str, tuple[str, bytes]], deleted: Sequence[str] = ()) -> None:
        """Keep stamp and facts of some documents and forget others, in one transaction."""
        rows = [(self._store, project, id, stamp, facts) for id, (stamp, facts) in written.items()]
        gone = [(self._store, project, id) for id in deleted]
        with closing(self._opened()) as database, database.writing() as connection:
            connection.executemany("INSERT OR REPLACE INTO ledger VALUES (?, ?, ?, ?, ?)", rows)
            connection.executemany("DELETE FROM ledger WHERE store = ? AND project = ? AND document_id = ?", gone)

    def _opened(self) -> Database:
        return Database(self._path, _prepare)


def _prepare(database: Database) -> None:
    if not database.rows("SELECT 1 FROM sqlite_master WHERE name = 'ledger'"):
        with database.writing() as connection:
            connection.execute(_SCHEMA)
