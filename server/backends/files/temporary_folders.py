"""Folders for what is being made and is not whole yet: renamed into place when it is, and swept when it never was.

A process that is killed in the middle leaves its folder behind. Each folder is locked as long as its process
lives, so that the next process can tell what is left over from what is being made.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# What is made there: an empty index, a converted model.
CREATING, CONVERTING = "creating", "converting"


@contextmanager
def temporary_folder(parent: Path, kind: str) -> Iterator[Path]:
    """An empty folder beside the place of what is made in it; what other processes left of this kind goes."""
    remove_abandoned(parent, kind)
    folder, lock = _made(parent, kind)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def remove_abandoned(parent: Path, kind: str) -> None:
    """Remove the folders of this kind that belong to this user and to no process any more."""
    for folder in parent.glob(f".{kind}-*"):
        with suppress(OSError):
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(lock).st_uid == os.geteuid():
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def _made(parent: Path, kind: str) -> tuple[Path, int]:
    """A folder and its lock. One that was swept between its making and its lock is made again."""
    while True:
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=f".{kind}-"))
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            return folder, lock
        os.close(lock)
