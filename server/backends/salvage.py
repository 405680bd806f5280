"""Copies what can still be read of a damaged catalogue into a new one.

A damaged page of a table makes the rows on it unreadable, and no others. So each table is read in ranges of its
rows; a range that fails is halved until the rows that cannot be read are left. Stamps of files are not copied: an
ingest reads every file again, and writes what is missing or differs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winnow.server.backends.catalogue import SCHEMA_VERSION, Catalogue
from winnow.server.storage.sqlite import map_errors

# Tables in the order in which they are copied. Those of documents have ids as keys.
_BY_NUMBER = ("projects", "documents", "texts", "chunks")
_BY_KEY = ("project_settings", "places", "readings")
_RANGE = 256
_UNKNOWN_ROWS = 1 << 20  # how far rows are looked for where their highest number cannot be read
# Rows that are worth nothing without those that could not be read.
_ORPHANS = (
    "DELETE FROM documents WHERE id NOT IN (SELECT document_id FROM texts)",
    "DELETE FROM texts WHERE document_id NOT IN (SELECT id FROM documents)",
    "DELETE FROM chunks WHERE document_id NOT IN (SELECT id FROM documents)",
    "DELETE FROM places WHERE document_id NOT IN (SELECT id FROM documents)",
    "DELETE FROM readings WHERE document_id NOT IN (SELECT id FROM documents)",
    "INSERT OR IGNORE INTO projects (name) SELECT DISTINCT project FROM documents",
    "INSERT OR IGNORE INTO projects (name) SELECT project FROM project_settings",
)


@dataclass(frozen=True, slots=True)
class Salvage:
    """The counts of what was copied.

    ``is_bound``: the new catalogue knows the vectors of the former one. ``unread``: tables of which rows are lost.
    """

    is_bound: bool
    unread: tuple[str, ...]


def salvage_catalogue(damaged: Path, target: Path) -> Salvage:
    """Copy what can be read of ``damaged`` into a new catalogue at ``target``. Changes nothing else.

    Raises ``WinnowError`` where the new one cannot be written.
    """
    Catalogue(target).close()
    if not _is_known_layout(damaged):
        return Salvage(False, (*_BY_NUMBER, *_BY_KEY))
    unread = list[str]()
    with (
        closing(sqlite3.connect(f"{damaged.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as source,
        map_errors(target),
        closing(sqlite3.connect(target, isolation_level=None)) as copy,
    ):
        copy.execute("BEGIN IMMEDIATE")
        for table in (*_BY_NUMBER, *_BY_KEY):
            reader = _Rows(source, table)
            for row in reader.by_number() if table in _BY_NUMBER else reader.by_key():
                copy.execute(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(row))})", row)
            if reader.has_lost:
                unread.append(table)
        for statement in _ORPHANS:
            copy.execute(statement)
        if "chunks" in unread:  # of which documents is unknown: an ingest writes them all again
            copy.execute("UPDATE documents SET context_hash = ''")
        is_bound = _copy_binding(source, copy)
        copy.execute("COMMIT")
    return Salvage(is_bound, tuple(unread))


class _Rows:
    """The readable rows of a table. ``has_lost``: some could not be read."""

    def __init__(self, source: sqlite3.Connection, table: str) -> None:
        self._source, self._table = source, table
        self.has_lost = False

    def by_number(self) -> Iterator[tuple[Any, ...]]:
        """The rows of a table that SQLite numbers."""
        first, last = self._bound("min", 0), self._bound("max", _UNKNOWN_ROWS)
        for start in range(first, last + 1, _RANGE):
            yield from self._within(start, min(start + _RANGE - 1, last))

    def by_key(self) -> Iterator[tuple[Any, ...]]:
        """The rows of a table in the order of its key: those before the first bad page, and after the last one."""
        query = f"SELECT * FROM {self._table}"
        yield from self._until_damage(query)
        if self.has_lost:
            keys = [row[1] for row in self._until_damage(f"PRAGMA table_info({self._table})") if row[5]]
            yield from self._until_damage(f"{query} ORDER BY {', '.join(f'{key} DESC' for key in keys)}")

    def _bound(self, what: str, unknown: int) -> int:
        for (number,) in self._until_damage(f"SELECT {what}(rowid) FROM {self._table}"):
            return int(number or 0)
        return unknown

    def _within(self, first: int, last: int) -> Iterator[tuple[Any, ...]]:
        query = f"SELECT * FROM {self._table} WHERE rowid BETWEEN ? AND ?"
        try:
            yield from self._source.execute(query, (first, last)).fetchall()
        except sqlite3.Error:
            if first == last:
                self.has_lost = True
                return
            middle = (first + last) // 2
            yield from self._within(first, middle)
            yield from self._within(middle + 1, last)

    def _until_damage(self, query: str) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._source.execute(query)
        except sqlite3.Error:
            self.has_lost = True


def _is_known_layout(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            return bool(connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,))
    except sqlite3.Error:
        return False


def _copy_binding(source: sqlite3.Connection, copy: sqlite3.Connection) -> bool:
    try:
        row = source.execute("SELECT identity, vectors, dimension FROM catalogue").fetchone()
    except sqlite3.Error:
        return False
    if row:
        copy.execute("UPDATE catalogue SET identity = ?, vectors = ?, dimension = ?", row)
    return row is not None
