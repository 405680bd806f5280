"""Locks on a store's folder: its holder, its writer, its engine, its watcher and others.

The embedded vector store admits one process at a time, the *holder*. An ingest is the only *writer*, also where
the vectors are on a server that admits many processes. The process that several servers of a store share is its
*engine*, and one process at a time is the *starter* of the next engine. One process is its *watcher*, one
command at a time changes its *sources* or its *keys*, and one process at a time is the *runner* of its jobs.

A lock is ``flock`` on a file in the store's folder, so it ends with its process however that ends. The file's text
(pid and command) is for messages: it is valid only while a process holds the lock.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from winnow.server.errors import WinnowError
from winnow.server.storage.files.store_folder import map_os_errors, prepare_store

HOLDER, WRITER, ENGINE, STARTER = "holder", "writer", "engine", "starter"
WATCHER, SOURCES, RUNNER, KEYS = "watcher", "sources", "runner", "keys"
_VERBS = {
    HOLDER: "held by",
    WRITER: "being written by",
    ENGINE: "shared by",
    STARTER: "about to be shared by",
    WATCHER: "watched by",
    SOURCES: "being changed by",
    RUNNER: "given its jobs by",
    KEYS: "being given keys by",
}
_RETRY_SECONDS = 5.0
_INSTANT_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that holds an index. ``command`` is its command line; pid 0 where it could not be read."""

    pid: int
    command: str

    def __str__(self) -> str:
        return f"process {self.pid} ({self.command})" if self.pid else "another process"


class StoreLock:
    """A lock on a store's folder, held from construction to ``release``. ``kind`` is one of those above.

    Raises ``WinnowError``: "INDEX_HELD" with the process that has it, "INDEX_UNAVAILABLE" where the folder cannot
    be used.
    """

    def __init__(self, store: Path, kind: str) -> None:
        prepare_store(store)
        with map_os_errors(store):
            descriptor = os.open(store / kind, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._file = os.fdopen(descriptor, "r+", encoding="utf-8")
        if not _acquire_soon(self._file):
            held_by = _read_holder(self._file)
            self._file.close()
            raise WinnowError(
                "INDEX_HELD",
                f"the index in {store} is {_VERBS[kind]} {held_by}; wait for it, end it (an engine: "
                "winnow engine stop), or use another --store",
                retryable=True,
                retry_after_s=_RETRY_SECONDS,
                details={"pid": held_by.pid, "command": held_by.command},
            )
        with map_os_errors(store):
            self.write_owner()

    def write_owner(self) -> None:
        """Write this process into the file as the owner; a forked child shares the lock with its parent."""
        owner = json.dumps(asdict(_this_process())).encode()
        # One write over the whole former text, so that no reader sees half of it.
        os.pwrite(self._file.fileno(), owner.ljust(os.fstat(self._file.fileno()).st_size), 0)

    def release(self) -> None:
        """Release the lock."""
        self._file.close()


def find_holder(store: Path, kind: str = HOLDER) -> Holder | None:
    """The process that has the lock of this kind on ``store``, or None. Changes nothing.

    Raises ``WinnowError("INDEX_UNAVAILABLE")`` where the folder cannot be used.
    """
    try:
        with map_os_errors(store):
            file = (store / kind).open("r+", encoding="utf-8")
    except WinnowError as error:
        if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError):
            return None
        raise
    with file:
        return None if _acquire(file) else _read_holder(file)


def _acquire_soon(file: IO[str]) -> bool:
    if _acquire(file):
        return True
    time.sleep(_INSTANT_SECONDS)  # ``find_holder`` of another process takes the lock for an instant
    return _acquire(file)


def _acquire(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read_holder(file: IO[str]) -> Holder:
    file.seek(0)
    try:
        return Holder(**json.load(file))
    except (ValueError, TypeError):  # its owner has not written it yet
        return Holder(0, "")


def _this_process() -> Holder:
    return Holder(os.getpid(), " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]))
