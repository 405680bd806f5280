"""What was asked and what scripts did here: one JSON line for each call of a tool, and one for each execution.

Lines go to ``calls.jsonl`` and ``executions.jsonl`` in a folder of their own, which nobody else may read. A file
that has grown to its bound, or is a day old, is put aside under the time of that moment. Files put aside are
removed once their last line is older than lines are to be kept, and the oldest where there are many more of them
than days; when a log is opened, and about once an hour while it is written. No line holds what was asked or found:
queries, sources and arguments are there as hashes and sizes, unless the operator wants queries in the log.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from server.runtime.logs import log
from server.settings import MIB, Settings
from server.text.printable import visible_json

Kind = Literal["executions", "calls"]
_SPARE_FILES = 10  # of one kind, beside one for each day: a file may be full before its day is over
_DAY_SECONDS = 86_400
_PRUNE_SECONDS = 3_600
_HASH_CHARS = 16  # enough to tell arguments apart; the source's hash is whole
_TIME = re.compile(r'\{"time":"([0-9TZ:.-]+)"')
_FIRST_CHARS = 100
_SINCE = re.compile(r"(\d{1,4})\s*([hd])")


def open_audit_log(settings: Settings, kind: Kind) -> AuditLog | None:
    """The log that these settings ask for, without what is too old; None where they ask for none."""
    if settings.audit == "off":
        return None
    kept = AuditLog(settings.audit_folder, int(settings.audit_mb * MIB), settings.audit_days, kind)
    kept.prune()
    return kept


class AuditLog:
    """Appends to a log of one store; threads and processes may do so at the same time.

    ``max_bytes``: of one file. ``days``: how long lines are kept. ``now`` tells seconds since the epoch.
    """

    def __init__(
        self,
        folder: Path,
        max_bytes: int,
        days: int,
        kind: Kind = "executions",
        now: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._days = days
        self._kind = kind
        self._now = now
        self._lock = threading.Lock()
        self._is_silent = False
        self._pruned = -math.inf

    def prune(self) -> None:
        """Remove what is older than it may be; for when a log is opened, and about once an hour."""
        with self._lock, contextlib.suppress(OSError):
            self._prune()

    def write(self, record: Mapping[str, Any]) -> None:
        """Append one line with the time in front. Where that fails, the log says so once; the script's result goes
        out all the same.
        """
        dumped = json.dumps({"time": _iso(self._now()), **record}, ensure_ascii=False, separators=(",", ":"))
        line = visible_json(dumped) + "\n"
        try:
            with self._lock:
                self._append(line.encode("utf-8", "replace"))
        except OSError as error:
            if not self._is_silent:
                log(f"{self._kind} are not audited", level=logging.ERROR, why=str(error))
            self._is_silent = True

    def _append(self, line: bytes) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / f"{self._kind}.jsonl"
        if abs(self._now() - self._pruned) > _PRUNE_SECONDS:
            self._prune()
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
        path.rename(self._folder / f"{self._kind}-{moment}.jsonl")

    def _prune(self) -> None:
        self._pruned = self._now()
        current = self._folder / f"{self._kind}.jsonl"
        with contextlib.suppress(FileNotFoundError):
            if _first_time(current) < _iso(self._now() - _DAY_SECONDS):
                self._put_aside(current)
        aside = sorted(self._folder.glob(f"{self._kind}-*.jsonl"))
        too_old = self._now() - self._days * _DAY_SECONDS
        for number, old in enumerate(aside):
            with contextlib.suppress(FileNotFoundError):
                if number < len(aside) - self._days - _SPARE_FILES or old.stat().st_mtime < too_old:
                    old.unlink()


def _first_time(path: Path) -> str:
    """When the first line of a file was written; "" where that cannot be told."""
    with path.open(encoding="utf-8", errors="replace") as file:
        match = _TIME.match(file.readline(_FIRST_CHARS))
    return match[1] if match else ""


def read_records(
    folder: Path, since: datetime | None = None, kind: Kind = "executions"
) -> Iterator[dict[str, Any]]:
    """The lines of all files, oldest first, from ``since`` on. A line that is not whole is left out."""
    files = [*sorted(folder.glob(f"{kind}-*.jsonl")), folder / f"{kind}.jsonl"]
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
