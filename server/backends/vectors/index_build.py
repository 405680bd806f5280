"""Builds the search graph of embedded vectors in a subprocess, in a copy of them.

    python -m winnow.server.backends.vectors.index_build < job.json

The embedded vector store holds the interpreter until the graph is built, so a process that answers searches would
answer nothing meanwhile.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

from winnow import SEARCH_PATH
from winnow.server.backends.catalogue import Binding
from winnow.server.storage.base import EXACT_KB
from winnow.server.storage.files.holes import find_data

_NICENESS = 10  # searches go first
_NUMBER_BYTES = 4


def build_in_subprocess(store: Path, binding: Binding, count: int, memory_mb: int) -> Binding | None:
    """Copy these ``count`` vectors and build the graph of the copy; returns the copy's binding.

    None where there are too few vectors for a graph, where there is no room, or where it fails. The caller is the
    only writer, and has flushed. Blocks, but other threads run. An unfinished copy is removed when the store is
    next opened.
    """
    if count * binding.dimension * _NUMBER_BYTES <= EXACT_KB * 1024:
        return None
    copy = store / f"vectors-{secrets.token_hex(4)}"
    job = {"store": str(store), "vectors": copy.name, "dimension": binding.dimension, "memory_mb": memory_mb}
    try:
        shutil.copytree(store / binding.vectors, copy, copy_function=_copy_with_holes)
        subprocess.run(
            [sys.executable, "-m", __name__],
            input=json.dumps(job).encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=SEARCH_PATH,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        shutil.rmtree(copy, ignore_errors=True)
        return None
    return Binding(copy.name, binding.dimension)


def _copy_with_holes(source: str, target: str) -> None:
    """Copy a file with its holes: Qdrant's logs are mostly holes, which an ordinary copy would fill."""
    with open(source, "rb") as read, open(target, "wb") as write:
        os.ftruncate(write.fileno(), os.fstat(read.fileno()).st_size)
        for start, end in find_data(read.fileno()):
            at = start
            while at < end:
                at += os.copy_file_range(read.fileno(), write.fileno(), end - at, at, at)


def main() -> None:
    """Build the graph that the job on standard input names."""
    from winnow.server.backends.vectors.edge import EdgeStore

    os.nice(_NICENESS)
    job = json.load(sys.stdin)
    folder, memory_mb = Path(job["store"]), job["memory_mb"]
    store = EdgeStore(folder, job["dimension"], memory_mb, vectors=job["vectors"], is_unlocked=True)
    try:
        store.optimize()
    finally:
        store.close()
    _sync_folder(Path(job["store"], job["vectors"]))


def _sync_folder(folder: Path) -> None:
    """Flush all files to the disk, also those that the copy brought along.

    The process that opens them, holding the interpreter, then waits less for the disk.
    """
    for path in (folder, *folder.rglob("*")):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


if __name__ == "__main__":
    main()
