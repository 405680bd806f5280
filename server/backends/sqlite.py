"""SQLite files that several processes use at once: how they are opened."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

BUSY_SECONDS = 10.0
_AGAIN_SECONDS = 0.01
_PRIMARY = 0xFF  # of an error's code; what is above says more


def connect(path: Path) -> sqlite3.Connection:
    """A connection with a write-ahead log, without transactions of its own, that any thread may close."""
    # check_same_thread is off only so that another thread may close the connection.
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        write_ahead(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def write_ahead(connection: sqlite3.Connection) -> None:
    """Have the file use a write-ahead log.

    SQLite waits for others as long as the connection's timeout says, but not at this change, which fails at once
    where another connection makes it, or reads, just then.
    """
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & _PRIMARY != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_AGAIN_SECONDS)
