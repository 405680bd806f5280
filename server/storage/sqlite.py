"""Access to SQLite files that several processes and threads share: the only module that opens them.

Write-ahead logging lets several processes read while one writes; a writer waits its turn for ten seconds. Each
thread has its own connection. No error of SQLite leaves this module: each becomes a ``WinnowError`` that names the
file, what is wrong with it and what to do.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from winnow.server.errors import WinnowError
from winnow.server.storage.files import seal
from winnow.server.storage.files.descriptors import DescriptorUse
from winnow.server.storage.files.private_folder import make_private
from winnow.server.storage.files.store_folder import REPAIR, folder_error, free_mb

BUSY_SECONDS = 10.0
_POLL_SECONDS = 0.01
_SEAL_SECONDS = 1.0
_RETRY_SECONDS = 5.0
_SHARED_BYTES = 1 << 20
_NAME_END = bytes.fromhex("d9d505f920a163d7")  # what ends a journal that names another one
_COPY_PAGES = 2_000  # pages of 4 KiB between two progress reports
_PRIMARY = 0xFF  # mask of the primary error code; the higher bits are details
# What decoding a row raises when the row does not hold what was written into it.
_DECODE_ERRORS = (ValueError, TypeError, LookupError)

_OWNER = "give {folder} and its files to the user who runs winnow, or use another --store"


@dataclass(frozen=True, slots=True)
class _Meaning:
    """An SQLite error code in words. ``{detail}``, ``{free}`` and ``{folder}`` are filled in."""

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
_DAMAGED = _Meaning("it is damaged ({detail})", REPAIR)
_CLOSED = _Meaning("it was closed", "try again", is_retryable=True)
_OTHER = _Meaning("{detail}", "for details run: winnow doctor --store {folder}; or ingest into another --store")
_MEANINGS: Mapping[int, _Meaning] = MappingProxyType(
    {
        sqlite3.SQLITE_BUSY: _BUSY,
        sqlite3.SQLITE_LOCKED: _BUSY,
        sqlite3.SQLITE_CORRUPT: _DAMAGED,
        sqlite3.SQLITE_NOTADB: _DAMAGED,
        sqlite3.SQLITE_ERROR: _DAMAGED,  # our statements are right, so a table or a column is missing
        sqlite3.SQLITE_FULL: _Meaning(
            "the disk is full ({free} MB are free in {folder})", "free some space, then run the same command again"
        ),
        sqlite3.SQLITE_IOERR: _Meaning(
            "the disk failed to read or write it ({detail}; {free} MB are free in {folder})",
            "free some space or check the disk, then run the same command again",
        ),
        sqlite3.SQLITE_READONLY: _Meaning("it is read-only for this user", _OWNER),
        sqlite3.SQLITE_PERM: _Meaning("this user may not open it", _OWNER),
        sqlite3.SQLITE_CANTOPEN: _Meaning("it cannot be opened ({detail})", _OWNER),
    }
)


class Database:
    """One SQLite file, created where there is none. ``prepare`` is called once to bring its layout up to date.

    Every method raises ``WinnowError``: "INDEX_HELD" where other processes write for too long,
    "INDEX_UNAVAILABLE" for every other failure.
    """

    def __init__(self, path: Path, prepare: Callable[[Database], None]) -> None:
        self.path = path
        self._local = threading.local()
        self._connections: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._guard = threading.Lock()
        with map_errors(path):
            make_private(path.parent)
        self._seal_check = seal.SealCheck(path.parent, damage_error, (path.name,))
        self._descriptor = _open_descriptor(path)
        try:
            prepare(self)
            with map_errors(path):
                self._descriptor = self._descriptor or DescriptorUse(path)
            self._seal_check.start()
        except BaseException:
            self.close()
            raise

    def rows(self, query: str, *values: Any) -> list[Any]:
        """All rows of a query."""
        with map_errors(self.path):
            return self._connection().execute(query, values).fetchall()

    def iterate_rows(self, query: str, *values: Any) -> Iterator[Any]:
        """The rows of a query one by one."""
        with map_errors(self.path):
            yield from self._connection().execute(query, values)

    def rows_anew(self, query: str, *values: Any) -> list[Any]:
        """All rows of a query by a connection of its own, which has kept no page of the file."""
        with map_errors(self.path), closing(connect(self.path)) as connection:
            return connection.execute(query, values).fetchall()

    def layout_version(self) -> int:
        """The version of the file's layout; 0 for an empty file."""
        return int(self.rows("PRAGMA user_version")[0][0])

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """A read transaction: several reads see the same state of the file."""
        with map_errors(self.path):
            connection = self._connection()
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                _roll_back(connection)

    @contextmanager
    def transaction(self, *, to_disk: bool = False) -> Iterator[sqlite3.Connection]:
        """A write transaction. ``to_disk``: the change survives a machine failure once this has returned.

        The folder loses its seal: an ingest seals it at its end (``seal_databases``).
        """
        with map_errors(self.path):
            connection = self._connection()
            if to_disk:
                connection.execute("PRAGMA synchronous = FULL")
            try:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    self._break_seal()
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    _roll_back(connection)
                    raise
            finally:
                if to_disk:
                    connection.execute("PRAGMA synchronous = NORMAL")

    @contextmanager
    def sealed_transaction(self) -> Iterator[sqlite3.Connection]:
        """A durable write transaction outside of an ingest: a sealed folder is sealed again at its end."""
        before = seal.read_state(self.path.parent)
        try:
            with self.transaction(to_disk=True) as connection:
                yield connection
        finally:
            if before:
                seal_databases(self.path.parent, before)

    def compact(self) -> None:
        """Write the file anew without the space of removed rows. Waits for other writers."""
        with map_errors(self.path):
            connection = self._connection()
            self._break_seal()
            connection.execute("VACUUM")
            seal.unseal(self.path.parent)  # another command may have sealed the former file meanwhile

    @contextmanager
    def decoding(self) -> Iterator[None]:
        """Around code that decodes rows: a value that cannot be decoded means that the file is damaged."""
        try:
            yield
        except _DECODE_ERRORS as error:
            raise damage_error(self.path, f"{type(error).__name__}: {error}") from error

    def close(self) -> None:
        """Close the connections of all threads."""
        self._seal_check.close()
        with self._guard:
            for _, connection in self._connections:
                connection.close()
            self._connections.clear()
            self._local = threading.local()
            if self._descriptor:
                self._descriptor.close()
                self._descriptor = None

    def _break_seal(self) -> None:
        """Remove the seal before the first change; what others changed would be sealed as ours at the end."""
        if seal.is_sealed(self.path.parent):
            for flaw in seal.find_flaws(self.path.parent, (self.path.name,)):
                if flaw.file == self.path.name:
                    raise damage_error(self.path, flaw.why)
            seal.unseal(self.path.parent)

    def _connection(self) -> sqlite3.Connection:
        self._seal_check.raise_damage()
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = connect(self.path)
            with self._guard:
                for thread, abandoned in self._connections:
                    if not thread.is_alive():
                        abandoned.close()
                self._connections = [pair for pair in self._connections if pair[0].is_alive()]
                self._connections.append((threading.current_thread(), connection))
        return connection


@dataclass(frozen=True, slots=True)
class Layout:
    """The tables of a file. ``migrations``: the statements that turn a layout of this version into the next."""

    version: int
    schema: str
    migrations: Mapping[int, str] = field(default_factory=dict)

    def prepare(self, database: Database) -> None:
        """Bring the file to this version, in one transaction.

        Raises ``WinnowError("INDEX_UNAVAILABLE")`` for a file of a later version.
        """
        if (version := database.layout_version()) < self.version:
            # Only a file that was there has its shared descriptor by now, which sealing needs.
            with database.sealed_transaction() if version else database.transaction() as connection:
                # Another process may have been first while this one waited, so the version is read again.
                self._migrate(connection, database.layout_version())
        if (version := database.layout_version()) != self.version:
            raise WinnowError(
                "INDEX_UNAVAILABLE",
                f"{database.path} cannot be used: it has layout {version}, this winnow reads {self.version}; "
                "ingest into another --store",
            )

    def _migrate(self, connection: sqlite3.Connection, version: int) -> None:
        scripts = [self.migrations[each] for each in range(version, self.version)] if version else [self.schema]
        for script in scripts:
            for statement in script.split(";"):  # executescript would commit the transaction around it
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {max(version, self.version)}")


@contextmanager
def map_errors(path: Path) -> Iterator[None]:
    """Around every use of an SQLite file: its errors become ``WinnowError``."""
    try:
        yield
    except sqlite3.Error as error:
        raise _file_error(path, _meaning(error), str(error)) from error
    except OSError as error:
        raise folder_error(path.parent, error) from error


def _open_descriptor(path: Path) -> DescriptorUse | None:
    """None where there is no file yet, or this user may not read it; SQLite reports that better."""
    with suppress(OSError):
        return DescriptorUse(path)
    return None


def check_integrity(path: Path) -> str:
    """The fault that SQLite's own check finds in an existing file, "" for nothing. Changes nothing."""
    address = f"{path.resolve().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS)) as connection:
            messages = [str(row[0]) for row in connection.execute("PRAGMA quick_check(1)")]
    except sqlite3.Error as error:
        return "" if _meaning(error) is _BUSY or _is_disk_full(path) else str(error)
    return "" if messages == ["ok"] else "; ".join(messages)


def _is_disk_full(path: Path) -> bool:
    """Whether SQLite lacks room for the few pages that it shares between processes: no fault of the file."""
    with suppress(OSError):
        return shutil.disk_usage(path.parent).free < _SHARED_BYTES
    return False


def copy_database(source: Path, target: Path, on_progress: Callable[[int, int], None]) -> None:
    """Copy a database with SQLite's backup, over what is there; ``on_progress`` gets pages done and their total.

    Other connections may use the source meanwhile. Raises ``WinnowError`` that names the target.
    """

    def report(status: int, remaining: int, total: int) -> None:
        on_progress(total - remaining, total)

    with map_errors(target):
        seal.unseal(target.parent)
        for path in (source, target):
            _check_journal(path)
        with (
            closing(sqlite3.connect(source, timeout=BUSY_SECONDS)) as reader,
            closing(sqlite3.connect(target, timeout=BUSY_SECONDS)) as writer,
        ):
            reader.backup(writer, pages=_COPY_PAGES, progress=report)


def damage_error(path: Path, detail: str) -> WinnowError:
    """The error for a file that is not as it was written, with the command that repairs it."""
    return _file_error(path, _DAMAGED, detail)


def seal_databases(folder: Path, before: seal.Before = MappingProxyType({})) -> None:
    """Seal the databases of a folder unless they are sealed. ``before``: see ``seal.write``.

    First everything in a write-ahead log goes into its file; then no process may write until the seal is there.
    Where a reader, a writer or the disk prevents that, the folder stays without a seal, which opens too, and the
    next ingest tries again.
    """
    if seal.is_sealed(folder):
        return
    with suppress(sqlite3.Error, OSError), ExitStack() as held:
        files = sorted(folder.glob("*.sqlite3"))
        if all(map(_checkpoint, files)) and all(_hold_writers(file, held) for file in files):
            seal.write(folder, [file.name for file in files], before)


def _checkpoint(path: Path) -> bool:
    """Move the write-ahead log into the file; whether the log is empty afterwards."""
    with _open_for_sealing(path) as connection:
        ((is_busy, *_),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return not is_busy


def _hold_writers(path: Path, held: ExitStack) -> bool:
    """Keep writers of the file out while ``held`` is open; whether nothing came since the checkpoint."""
    connection = held.enter_context(_open_for_sealing(path))
    connection.execute("BEGIN IMMEDIATE")
    log = path.with_name(f"{path.name}-wal")
    return not log.exists() or log.stat().st_size == 0


@contextmanager
def _open_for_sealing(path: Path) -> Iterator[sqlite3.Connection]:
    with (
        closing(DescriptorUse(path)),
        closing(sqlite3.connect(path, timeout=_SEAL_SECONDS, isolation_level=None)) as connection,
    ):
        yield connection


def _check_journal(path: Path) -> None:
    """Raise ``sqlite3.DatabaseError`` for a journal that names another one at its end.

    winnow leaves none, and SQLite deletes the file of that name after a rollback: any file of this user, if
    somebody else made the store.
    """
    with suppress(FileNotFoundError), open(f"{path}-journal", "rb") as journal:
        journal.seek(max(0, journal.seek(0, os.SEEK_END) - len(_NAME_END)))
        if journal.read() == _NAME_END:
            raise sqlite3.DatabaseError("its journal names another file")


def connect(path: Path) -> sqlite3.Connection:
    """A connection with a write-ahead log and without implicit transactions; any thread may close it."""
    _check_journal(path)
    # check_same_thread is off only so that another thread may close the connection.
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        _enable_write_ahead_log(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _enable_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch the file to a write-ahead log.

    SQLite honours the connection's timeout everywhere but here: the switch fails at once while another connection
    makes it, or reads. So it is repeated.
    """
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & _PRIMARY != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_POLL_SECONDS)


def _roll_back(connection: sqlite3.Connection) -> None:
    """Roll back without hiding the first error: a full disk has ended the transaction already."""
    with suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _meaning(error: sqlite3.Error) -> _Meaning:
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        return _MEANINGS.get(code & _PRIMARY, _OTHER)
    # Errors of Python's own module: a closed connection, and text that is not UTF-8.
    return _CLOSED if isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error) else _DAMAGED


def _file_error(path: Path, meaning: _Meaning, detail: str) -> WinnowError:
    facts = {"detail": detail, "folder": path.parent, "free": free_mb(path.parent)}
    why, advice = meaning.why.format(**facts), meaning.advice.format(**facts)
    return WinnowError(
        meaning.reason,
        f"{path} cannot be used: {why}; {advice}",
        retryable=meaning.is_retryable,
        retry_after_s=_RETRY_SECONDS if meaning.is_retryable else None,
        details={"damaged": path.name} if meaning is _DAMAGED else {},
    )
