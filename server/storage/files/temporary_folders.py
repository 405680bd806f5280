"""Temporary folders beside their target: contents are renamed into place when complete, and removed otherwise.

A process that is killed leaves its folder behind. Each folder is locked as long as its process lives, so that the
next process can tell abandoned folders from those in use.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Kinds: an empty index is created, a model is converted.
CREATING, CONVERTING = "creating", "converting"


@contextmanager
def temporary_folder(parent: Path, kind: str) -> Iterator[Path]:
    """An empty folder below ``parent``; removes abandoned folders of this kind first."""
    remove_abandoned(parent, kind)
    folder, lock = _create(parent, kind)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def remove_abandoned(parent: Path, kind: str) -> None:
    """Remove folders of this kind that belong to this user and are not locked by a process."""
    for folder in parent.glob(f".{kind}-*"):
        with suppress(OSError):
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(lock).st_uid == os.geteuid():
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def _create(parent: Path, kind: str) -> tuple[Path, int]:
    """A folder and its lock. Repeated where another process removed the folder before it was locked."""
    while True:
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=f".{kind}-"))
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            return folder, lock
        os.close(lock)
