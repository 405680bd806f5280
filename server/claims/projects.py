"""Moves and removals of notebooks whose project is renamed or removed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from winnow.server.claims.indexes import word_index
from winnow.server.claims.notebook_heads import were_written
from winnow.server.claims.sqlite_store import SqliteClaimStore, claims_path
from winnow.server.errors import WinnowError

_OF_ENTRIES = "(SELECT {column} FROM entries WHERE project = ?)"
# Rows to delete before the entries of a project: the table, its column that refers to an entry, and the column of
# ``entries`` that it refers to.
_REMOVED = (
    ("vectors", "entry", "number"),
    ("comparisons", "entry", "id"),
    ("comparisons", "other", "id"),
    ("verdicts", "entry", "id"),
    ("verdicts", "other_entry", "id"),
)


def has_notebooks(store: Path, project: str) -> bool:
    """Whether anything was ever written into a notebook of this project."""
    if not were_written(claims_path(store)):
        return False
    with closing(SqliteClaimStore(claims_path(store))) as claims:
        return any(notebook.project == project for notebook in claims.notebooks())


def require_no_notebooks(store: Path, project: str) -> None:
    """Raise ``WinnowError("INVALID_REQUEST")`` if there are notebooks of a project that does not exist."""
    if has_notebooks(store, project):
        raise WinnowError(
            "INVALID_REQUEST",
            f"there are claims of a project {project!r} already; choose another name, or see: winnow claims list "
            f"--project {project}",
        )


def move_notebooks(store: Path, project: str, successor: str) -> None:
    """Give the notebooks of a project to its successor, or remove them if ``successor`` is "".

    Their histories stay valid, because no digest covers the name of the project.
    """
    if not has_notebooks(store, project):
        return
    with closing(SqliteClaimStore(claims_path(store))) as claims:
        with claims.database.transaction(to_disk=True) as connection:
            if successor:
                for table in ("entries", "history"):
                    connection.execute(f"UPDATE {table} SET project = ? WHERE project = ?", (successor, project))
            else:
                _remove(connection, project)
        claims.keep_heads()


def _remove(connection: sqlite3.Connection, project: str) -> None:
    query = _OF_ENTRIES.format(column="number")
    for (number,) in connection.execute(f"SELECT * FROM {query}", (project,)).fetchall():
        word_index.remove(connection, number)
    word_index.remove_unused_words(connection)
    for table, column, entry in _REMOVED:
        chosen = _OF_ENTRIES.format(column=entry)
        connection.execute(f"DELETE FROM {table} WHERE {column} IN {chosen}", (project,))
    for table in ("history", "entries"):
        connection.execute(f"DELETE FROM {table} WHERE project = ?", (project,))
