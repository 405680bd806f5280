"""The files of an embedded vector store: free space, page cache, and errors with their remedy."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from winnow.server.errors import WinnowError
from winnow.server.storage.files import seal
from winnow.server.storage.files.disk_use import ROOM_BYTES
from winnow.server.storage.files.holes import find_data
from winnow.server.storage.files.store_folder import folder_error

REINDEX = "to make the vectors again from the text in the store, run: winnow reindex"
_READ_AT_OPENING = ("quantized.", "vector_index", "payload_index", "id_tracker")
# Marks of deleted points go into pages of a few files.
ROOM_TO_DELETE_BYTES = 4 << 20
_TOO_MANY_OPEN = ("TooManyOpenFiles", "Too many open files")
_READERS = 4
_READ_BYTES = 1 << 20


def vector_damage_error(path: Path, why: str) -> WinnowError:
    details = {"damaged": path.name}
    return WinnowError("INDEX_UNAVAILABLE", f"{path} is damaged: {why}; {REINDEX}", details=details)


def check_room(folder: Path, least: int = ROOM_BYTES) -> None:
    """Raise ``WinnowError`` on a nearly full disk: Qdrant writes to mapped sparse files and would crash."""
    free = shutil.disk_usage(folder).free
    if free < least:
        raise WinnowError(
            "INDEX_UNAVAILABLE",
            f"the disk is nearly full: {free >> 20:,} MB are free in {folder}, writing the index takes at least "
            f"{least >> 20}; free some space there, then run the same command again",
        )


def check_open_files(folder: Path, error: Exception) -> None:
    """Raise the ``WinnowError`` for too many open files, where that is what the error means."""
    if any(words in str(error) for words in _TOO_MANY_OPEN):
        raise folder_error(folder.parent, OSError(errno.EMFILE, os.strerror(errno.EMFILE))) from error


def list_files(folder: Path) -> list[str]:
    """The names of all files of the index below its folder, without the seal."""
    start = len(os.fspath(folder)) + 1
    seals = (seal.NAME, f".{seal.NAME}")
    return [name for path in _find_files(os.fspath(folder)) if (name := path[start:]) not in seals]


def _find_files(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _find_files(entry.path)
            elif entry.is_file():
                yield entry.path


def warm_page_cache(folder: Path) -> None:
    """Read the files that Qdrant needs when it opens into the page cache.

    Qdrant reads the same pages itself, but through mappings that it advised as random access: from a cold disk
    they come one by one.
    """
    files = [folder / name for name in list_files(folder) if any(part in name for part in _READ_AT_OPENING)]
    with ThreadPoolExecutor(_READERS) as readers:
        list(readers.map(read_file, files))


def read_file(file: Path, is_cancelled: Callable[[], bool] = lambda: False) -> None:
    """Read the parts of a file that are on the disk; the files of an index are mostly holes while it is small."""
    with file.open("rb", buffering=0) as stream:
        for start, end in find_data(stream.fileno()):
            for at in range(start, end, _READ_BYTES):
                if is_cancelled():
                    return
                stream.seek(at)
                stream.read(min(_READ_BYTES, end - at))
