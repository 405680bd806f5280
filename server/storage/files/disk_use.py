"""The use of the disk by a store, and the space on its disk."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from winnow.server.storage.files.store_folder import CATALOGUE

# With less room no ingest writes: a small index, and its growth by a batch.
ROOM_BYTES = 48 << 20
_BLOCK_BYTES = 512  # the unit of st_blocks
# Part -> the files and folders of a store that belong to it.
_PARTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "catalogue": (f"{CATALOGUE}*",),
        "vectors": ("vectors*",),
        "graph": ("graph.sqlite3*", "ledger.sqlite3*"),
    }
)


@dataclass(frozen=True, slots=True)
class DiskUse:
    """Bytes that each part of a store takes, and the size and the free bytes of its file system (0: unknown).

    ``room_bytes``: those that ingests may still fill.
    """

    parts: Mapping[str, int]
    total_bytes: int
    free_bytes: int
    room_bytes: int


def measure_parts(store: Path) -> dict[str, int]:
    """The bytes on disk of each part of a store. Files of the vector store are sparse, so blocks are counted."""
    return {part: sum(map(_bytes_of, _files(store, patterns))) for part, patterns in _PARTS.items()}


def measure_disk(store: Path) -> DiskUse:
    """The parts of a store and its file system. Blocks for as long as a listing of the store takes."""
    total = free = 0
    with suppress(OSError):
        usage = shutil.disk_usage(store)
        total, free = usage.total, usage.free
    return DiskUse(measure_parts(store), total, free, max(0, free - ROOM_BYTES))


def _files(store: Path, patterns: tuple[str, ...]) -> list[Path]:
    paths = (path for pattern in patterns for path in store.glob(pattern))
    return [file for path in paths for file in ([path] if path.is_file() else path.rglob("*"))]


def _bytes_of(file: Path) -> int:
    try:
        return file.stat().st_blocks * _BLOCK_BYTES if file.is_file() else 0
    except OSError:  # deleted meanwhile
        return 0
