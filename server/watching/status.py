"""What a watcher says about the paths it watches, in a file that other processes read.

The file is written by the watcher alone. It is up to date only while a process holds the store's watcher lock.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from server.backends.files.lock import WATCHER, Holder, find_holder
from server.errors import WinnowError
from server.text.printable import one_line

FILE = "watching.json"
_BYTES = 4 * 1024 * 1024
_WHY_CHARS = 300

State = Literal["starting", "events", "polling", "away", "failed"]


@dataclass(frozen=True, slots=True)
class PathStatus:
    """The state of one path of a source.

    ``events``: the kernel reports changes; ``polling``: the path is listed every few seconds, ``why`` says the
    reason; ``away``: it is not there; ``failed``: the last ingest failed. ``held`` documents
    are gone and wait for a confirmation; ``confirmed_at`` is the last one that was used. ``unreadable`` files are
    not in the index, ``failures`` names the first of them, each with its reason. ``scanned_at`` and
    ``changed_at`` are seconds since 1970, 0 before. ``indexing`` says how far a running ingest has come.
    """

    source: str
    path: str
    project: str
    state: State = "starting"
    why: str = ""
    files: int = 0
    indexing: str = ""
    held: int = 0
    unreadable: int = 0
    failures: tuple[str, ...] = ()
    scanned_at: float = 0.0
    changed_at: float = 0.0
    confirmed_at: float = 0.0
    written: int = 0
    moved: int = 0
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class WatcherStatus:
    """The process that watches a store, None if none does, and what was last said about each path."""

    holder: Holder | None
    paths: tuple[PathStatus, ...]


def write_status(store: Path, paths: Iterable[PathStatus]) -> None:
    """Write the state of all paths, all or nothing. Raises ``OSError``."""
    temporary = store / f".{FILE}"
    temporary.write_text(json.dumps({"paths": [asdict(path) for path in paths]}), encoding="utf-8")
    os.replace(temporary, store / FILE)


def read_status(store: Path) -> WatcherStatus:
    """What is known about the watcher of a store. A file that cannot be read counts as none."""
    try:
        holder = find_holder(store, WATCHER)
    except WinnowError:
        holder = None
    try:
        with (store / FILE).open("rb") as file:
            rows = json.loads(file.read(_BYTES))["paths"]
        return WatcherStatus(holder, tuple(_from_json(row) for row in rows))
    except (OSError, ValueError, TypeError, KeyError):
        return WatcherStatus(holder, ())


def _from_json(row: dict[str, Any]) -> PathStatus:
    values = {field.name: row[field.name] for field in fields(PathStatus) if field.name in row}
    return PathStatus(**{**values, "failures": tuple(values.get("failures", ()))})


def reason_of(error: Exception) -> str:
    """Why an ingest or a listing failed, as one line."""
    text = (
        error.message
        if isinstance(error, WinnowError)
        else (getattr(error, "strerror", "") or type(error).__name__)
    )
    return one_line(text, _WHY_CHARS)
