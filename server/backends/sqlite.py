"""SQLite files that several processes and threads use at once: opened, read, written, and what their errors mean.

Write-ahead logging lets several processes read while one writes; a writer waits its turn for ten seconds. Each
thread has a connection of its own. No error of SQLite leaves this module: each becomes a ``WinnowError`` that says
what is wrong with which file and what to do.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from server.backends.files import seal
from server.backends.files.descriptors import DescriptorUse
from server.backends.files.private_folder import make_private
from server.backends.files.store_folder import free_mb, refused
from server.errors import WinnowError

BUSY_SECONDS = 10.0
_AGAIN_SECONDS = 0.01
_SEAL_SECONDS = 1.0
_RETRY_SECONDS = 5.0
_PRIMARY = 0xFF  # of an error's code; what is above says more
# What becomes of a row that does not hold what was written into it.
_UNREADABLE = (ValueError, TypeError, LookupError)

REPAIR = "run: winnow ingest --repair PATH..., with the files and folders that were ingested"
_USER = "give {folder} and its files to the user who runs winnow, or use another --store"


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What a code of SQLite's stands for. ``{free}`` and ``{folder}`` are filled in."""

    why: str
    advice: str
    reason: str = "INDEX_UNAVAILABLE"
    is_retryable: bool = False


_BUSY = _Meaning(
    f"another process has been writing to it for more than {BUSY_SECONDS:.0f} s",
    "try again when that process has ended",
    "INDEX_HELD",
    is_retryable=True,
)
_DAMAGED = _Meaning("it is damaged ({told})", REPAIR)
_LATER = _Meaning("it was closed", "try again", is_retryable=True)
_OTHER = _Meaning("{told}", "winnow doctor --store {folder} says more; or ingest into another --store")
_MEANINGS: Mapping[int, _Meaning] = MappingProxyType(
    {
        sqlite3.SQLITE_BUSY: _BUSY,
        sqlite3.SQLITE_LOCKED: _BUSY,
        sqlite3.SQLITE_CORRUPT: _DAMAGED,
        sqlite3.SQLITE_NOTADB: _DAMAGED,
        sqlite3.SQLITE_ERROR: _DAMAGED,  # our statements are right, so a table or a column is missing
        sqlite3.SQLITE_FULL: _Meaning(
            "the disk is full ({free} MB are free in {folder})", "make room there, then run the same command again"
        ),
        sqlite3.SQLITE_IOERR: _Meaning(
            "the disk does not read or write it ({told}; {free} MB are free in {folder})",
            "make room or look after the disk, then run the same command again",
        ),
        sqlite3.SQLITE_READONLY: _Meaning("it may only be read", _USER),
        sqlite3.SQLITE_PERM: _Meaning("it may not be opened", _USER),
        sqlite3.SQLITE_CANTOPEN: _Meaning("it cannot be opened ({told})", _USER),
    }
)


class Database:
    """One SQLite file, made where there is none. ``prepare`` brings its layout up to date and is called once.

    Raises ``WinnowError``, as every method does: "INDEX_HELD" where others write for too long, "INDEX_UNAVAILABLE"
    for all else.
    """

    def __init__(self, path: Path, prepare: Callable[[Database], None]) -> None:
        self.path = path
        self._own = threading.local()
        self._all: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._guard = threading.Lock()
        with mapped(path):
            make_private(path.parent)
        self._watch = seal.SealCheck(path.parent, damaged, (path.name,))
        self._use = _use_of(path)
        try:
            prepare(self)
            with mapped(path):
                self._use = self._use or DescriptorUse(path)
            self._watch.start()
        except BaseException:
            self.close()
            raise

    def rows(self, query: str, *values: Any) -> list[Any]:
        """All rows of a query."""
        with mapped(self.path):
            return self._connection().execute(query, values).fetchall()

    def each(self, query: str, *values: Any) -> Iterator[Any]:
        """The rows of a query one by one."""
        with mapped(self.path):
            yield from self._connection().execute(query, values)

    def version(self) -> int:
        """Of the file's layout; 0 for an empty one."""
        return int(self.rows("PRAGMA user_version")[0][0])

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One state of the file for several reads."""
        with mapped(self.path):
            connection = self._connection()
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                _roll_back(connection)

    @contextmanager
    def writing(self, *, to_disk: bool = False) -> Iterator[sqlite3.Connection]:
        """One change, all of it or nothing. ``to_disk``: it survives a machine that fails after this returned."""
        with mapped(self.path):
            connection = self._connection()
            seal.unseal(self.path.parent)
            if to_disk:
                connection.execute("PRAGMA synchronous = FULL")
            try:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    _roll_back(connection)
                    raise
            finally:
                if to_disk:
                    connection.execute("PRAGMA synchronous = NORMAL")

    @contextmanager
    def parsing(self) -> Iterator[None]:
        """Around code that takes rows apart: what is not as it was written means that the file is damaged."""
        try:
            yield
        except _UNREADABLE as error:
            raise damaged(self.path, f"{type(error).__name__}: {error}") from error

    def close(self) -> None:
        """Close the connections of all threads."""
        self._watch.close()
        with self._guard:
            for _, connection in self._all:
                connection.close()
            self._all.clear()
            self._own = threading.local()
            if self._use:
                self._use.close()
                self._use = None

    def _connection(self) -> sqlite3.Connection:
        self._watch.hold()
        connection: sqlite3.Connection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = connect(self.path)
            with self._guard:
                for thread, left in self._all:
                    if not thread.is_alive():
                        left.close()
                self._all = [pair for pair in self._all if pair[0].is_alive()]
                self._all.append((threading.current_thread(), connection))
        return connection


@contextmanager
def mapped(path: Path) -> Iterator[None]:
    """Around everything that is done with a file of SQLite's: its errors become ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise _unusable(path, _meaning(error), str(error)) from error
    except OSError as error:
        raise refused(path.parent, error) from error


def _use_of(path: Path) -> DescriptorUse | None:
    """None where there is no file yet, or it may not be read, which SQLite says better."""
    with suppress(OSError):
        return DescriptorUse(path)
    return None


def complaint(path: Path) -> str:
    """What SQLite itself finds wrong with a file that is there, "" for nothing. Changes nothing."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS)) as one:
            said = [str(row[0]) for row in one.execute("PRAGMA quick_check(1)")]
    except sqlite3.Error as error:
        return "" if _meaning(error) is _BUSY else str(error)
    return "" if said == ["ok"] else "; ".join(said)


def damaged(path: Path, told: str) -> WinnowError:
    """That a file is not as it was written, and what to do."""
    return _unusable(path, _DAMAGED, told)


def seal_databases(folder: Path) -> None:
    """Seal the databases of a folder, unless they are; the caller is their only writer.

    First all that is in a write-ahead log goes into its file. Where a reader is in the way, or the disk, the next
    writer tries again: what has no seal opens, too.
    """
    if seal.is_sealed(folder):
        return
    with suppress(sqlite3.Error, OSError):
        files = sorted(folder.glob("*.sqlite3"))
        if all(_is_whole(file) for file in files):
            seal.write(folder, files)


def _is_whole(path: Path) -> bool:
    """Move what is in the log into the file; whether nothing is left in the log."""
    with (
        closing(DescriptorUse(path)),
        closing(sqlite3.connect(path, timeout=_SEAL_SECONDS, isolation_level=None)) as connection,
    ):
        ((is_busy, *_),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return not is_busy


def unknown_layout(path: Path, found: int, known: int) -> WinnowError:
    """That a file is of another version of winnow."""
    return WinnowError(
        "INDEX_UNAVAILABLE",
        f"{path} cannot be used: it has layout {found}, this winnow reads {known}; ingest into another --store",
    )


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


def _roll_back(connection: sqlite3.Connection) -> None:
    """A disk that is full, or fails, has ended the transaction already; what went wrong first is what counts."""
    with suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _meaning(error: sqlite3.Error) -> _Meaning:
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        return _MEANINGS.get(code & _PRIMARY, _OTHER)
    # Python's own: of a closed connection, and of text that is no UTF-8.
    return _LATER if isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error) else _DAMAGED


def _unusable(path: Path, meaning: _Meaning, told: str) -> WinnowError:
    facts = {"told": told, "folder": path.parent, "free": free_mb(path.parent)}
    why, advice = meaning.why.format(**facts), meaning.advice.format(**facts)
    return WinnowError(
        meaning.reason,
        f"{path} cannot be used: {why}; {advice}",
        retryable=meaning.is_retryable,
        retry_after_s=_RETRY_SECONDS if meaning.is_retryable else None,
        details={"damaged": path.name} if meaning is _DAMAGED else {},
    )
