"""The status of watched paths, in a file that other processes read.

The file is written by the watcher alone. It is up to date only while a process holds the store's watcher lock.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from winnow.server.errors import WinnowError
from winnow.server.storage.files.lock import WATCHER, Holder, find_holder
from winnow.server.text.printable import one_line

FILE = "watching.json"
_BYTES = 4 * 1024 * 1024
_WHY_CHARS = 300

_Count = Annotated[int, Field(ge=0, le=2**53)]
_Time = Annotated[float, Field(ge=0, le=4e9)]  # until the year 2096
WatchState = Literal["starting", "events", "polling", "away", "failed"]


@dataclass(frozen=True, slots=True)
class PathStatus:
    """The state of one path of a source.

    ``events``: the kernel reports changes; ``polling``: the path is listed every few seconds, for the reason
    ``why``; ``away``: the path is missing; ``failed``: the last ingest failed. ``held`` is the number of documents
    whose files vanished and whose deletion awaits confirmation; ``confirmed_at`` is the last confirmation that was
    used. ``unreadable`` files are not in the index; ``failures`` names the first of them, each with its reason.
    ``scanned_at`` and ``changed_at`` are seconds since 1970, 0 for never. ``indexing`` is the progress of a
    running ingest.
    """

    source: str
    path: str
    project: str
    state: WatchState = "starting"
    why: str = ""
    files: _Count = 0
    indexing: str = ""
    held: _Count = 0
    unreadable: _Count = 0
    failures: tuple[str, ...] = ()
    scanned_at: _Time = 0.0
    changed_at: _Time = 0.0
    confirmed_at: _Time = 0.0
    written: _Count = 0
    moved: _Count = 0
    deleted: _Count = 0


class _StatusFile(BaseModel):
    """The content of the file."""

    model_config = ConfigDict(hide_input_in_errors=True)

    paths: tuple[PathStatus, ...]


@dataclass(frozen=True, slots=True)
class WatcherStatus:
    """The process that watches a store (None if no process does), and the last status of each path."""

    holder: Holder | None
    paths: tuple[PathStatus, ...]


def write_status(store: Path, paths: Iterable[PathStatus]) -> None:
    """Write the status of all paths, all or nothing. Raises ``OSError``."""
    temporary = store / f".{FILE}"
    temporary.write_text(json.dumps({"paths": [asdict(path) for path in paths]}), encoding="utf-8")
    os.replace(temporary, store / FILE)


def read_status(store: Path) -> WatcherStatus:
    """The known status of the watcher of a store. A file that cannot be read counts as none."""
    try:
        holder = find_holder(store, WATCHER)
    except WinnowError:
        holder = None
    try:
        with (store / FILE).open("rb") as file:
            return WatcherStatus(holder, _StatusFile.model_validate_json(file.read(_BYTES)).paths)
    except (OSError, ValueError):
        return WatcherStatus(holder, ())


def reason_of(error: Exception) -> str:
    """Why an ingest or a listing failed, as one line."""
    text = (
        error.message
        if isinstance(error, WinnowError)
        else (getattr(error, "strerror", "") or type(error).__name__)
    )
    return one_line(text, _WHY_CHARS)
