"""What scripts did here: one JSON line for each execution, for whoever answers for the server.

Lines go to ``executions.jsonl`` in a folder of its own, which nobody else may read. A file that has grown to its
bound is put aside under the time of that moment; files put aside longer ago than they are to be kept are removed.
No line holds what a script asked or found: sources and arguments are there as hashes and sizes, unless the
operator wants queries in the log.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from server.logs import log

CURRENT = "executions.jsonl"
_ASIDE = "executions-*.jsonl"
_DAY_SECONDS = 86_400
_HASH_CHARS = 16  # enough to tell arguments apart; the source's hash is whole
_SINCE = re.compile(r"(\d{1,4})\s*([hd])")


class AuditLog:
    """Appends to the log of one store; threads may use it at the same time.

    ``max_bytes``: of one file. ``days``: how long files are kept. ``now`` tells seconds since the epoch.
    """

    def __init__(self, folder: Path, max_bytes: int, days: int, now: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._days = days
        self._now = now
        self._lock = threading.Lock()
        self._is_silent = False

    def write(self, record: Mapping[str, Any]) -> None:
        """Append one line with the time in front. Where that fails, the log says so once; the script's result goes
        out all the same.
        """
        line = json.dumps({"time": _iso(self._now()), **record}, ensure_ascii=False, separators=(",", ":")) + "\n"
        try:
            with self._lock:
                self._append(line.encode("utf-8", "replace"))
        except OSError as error:
            if not self._is_silent:
                log("executions are not audited", level=logging.ERROR, why=str(error))
            self._is_silent = True

    def _append(self, line: bytes) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / CURRENT
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_size + len(line) > self._max_bytes:
                self._put_aside(path)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)

    def _put_aside(self, path: Path) -> None:
        moment = datetime.fromtimestamp(self._now(), UTC).strftime("%Y%m%dT%H%M%S%f")
        path.rename(self._folder / _ASIDE.replace("*", moment))
        for old in self._folder.glob(_ASIDE):
            if self._now() - old.stat().st_mtime > self._days * _DAY_SECONDS:
                old.unlink(missing_ok=True)


def read(folder: Path, since: datetime | None = None) -> Iterator[dict[str, Any]]:
    """The lines of all files, oldest first, from ``since`` on. A line that is not whole is left out."""
    files = [*sorted(folder.glob(_ASIDE)), folder / CURRENT]
    earliest = "" if since is None else _iso(since.timestamp())
    for path in files:
        with contextlib.suppress(FileNotFoundError), path.open(encoding="utf-8") as lines:
            for line in lines:
                with contextlib.suppress(ValueError):
                    record = json.loads(line)
                    if isinstance(record, dict) and str(record.get("time", "")) >= earliest:
                        yield record


def since_of(text: str, now: datetime) -> datetime:
    """``7d`` and ``12h`` before now, or an ISO-8601 date or time (UTC where it names no zone).

    >>> since_of("2026-01-31", datetime.now(UTC)).isoformat()
    '2026-01-31T00:00:00+00:00'

    Raises:
        ValueError: for anything else.
    """
    match = _SINCE.fullmatch(text.strip())
    if match:
        return now - timedelta(**{{"h": "hours", "d": "days"}[match[2]]: int(match[1])})
    moment = datetime.fromisoformat(text.strip())
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def fingerprint(value: Any) -> str:
    """The first digits of a hash of a value's JSON: the same arguments have the same."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:_HASH_CHARS]


def hash_of(source: str) -> str:
    """The whole hash of a script's source."""
    return sha256(source.encode("utf-8", "replace")).hexdigest()


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
