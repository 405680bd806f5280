"""The audit log: one JSON line for each tool call and one for each execution of a script.

Lines go to ``calls.jsonl`` and ``executions.jsonl`` in a folder that only its owner may read. A file that has
reached its maximum size, or is a day old, is rotated: renamed to the current time. Rotated files are deleted when
their last line is older than the retention time, and the oldest when there are many more files than days. This
happens when a log is opened and about once an hour while it is written. No line contains queries or results:
queries, sources and arguments are recorded as hashes and sizes, unless ``log_queries`` is on.

A call whose line cannot be written is answered all the same. The lines that are lost are a *gap*: each is counted,
the log has a message when it begins and when it ends, and the first line after it has their number and times.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, get_args

from winnow.server.runtime.logs import log
from winnow.server.settings.settings import MIB, Settings
from winnow.server.text.printable import visible_json

AuditKind = Literal["executions", "calls"]
KINDS: tuple[AuditKind, ...] = get_args(AuditKind)
GAP = "not_audited"  # the field of the line about lost lines
trace_of_call: ContextVar[str] = ContextVar("trace_of_call", default="")  # the trace id of the call in progress
_SPARE_FILES = 10  # of one kind, in addition to one per day: a file may be full before its day is over
_DAY_SECONDS = 86_400
_PRUNE_SECONDS = 3_600
_HASH_CHARS = 16  # enough to distinguish arguments; the hash of a source is not shortened
_TIME = re.compile(r'\{"time":"([0-9TZ:.-]+)"')
_FIRST_CHARS = 100
_MOST_FIGURE = 10**15
_SINCE = re.compile(r"(\d{1,4})\s*([hd])")


def open_audit_log(
    settings: Settings, kind: AuditKind, on_lost: Callable[[], None] = lambda: None
) -> AuditLog | None:
    """Open the audit log and delete what is too old; None if the settings switch it off.

    ``on_lost`` is called for each line that cannot be written.
    """
    if settings.audit == "off":
        return None
    audit_log = AuditLog(
        settings.audit_folder, int(settings.audit_mb * MIB), settings.audit_days, kind, on_lost=on_lost
    )
    audit_log.prune()
    return audit_log


@dataclass(frozen=True, slots=True)
class _Gap:
    """Lines that could not be written: their number, and the times of the first and the last."""

    count: int
    first: float
    last: float

    def to_json(self) -> dict[str, Any]:
        """The gap as a field of a line."""
        return {"count": self.count, "from": _iso(self.first), "to": _iso(self.last)}


class AuditLog:
    """Appends to a log of one store. Safe for concurrent threads and processes.

    ``max_bytes``: of one file. ``days``: how long lines are kept. ``now``: seconds since the epoch. ``on_lost`` is
    called for each line that cannot be written.
    """

    def __init__(
        self,
        folder: Path,
        max_bytes: int,
        days: int,
        kind: AuditKind = "executions",
        now: Callable[[], float] = time.time,
        on_lost: Callable[[], None] = lambda: None,
    ) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._days = days
        self._kind = kind
        self._now = now
        self._lock = threading.Lock()
        self._on_lost = on_lost
        self._gap: _Gap | None = None
        self._pruned = -math.inf

    def prune(self) -> None:
        """Delete rotated files that are too old."""
        with self._lock, contextlib.suppress(OSError):
            self._prune()

    def write(self, record: Mapping[str, Any]) -> None:
        """Append one line, preceded by the time. A failure begins a gap and does not fail the call."""
        with self._lock:
            now, gap = self._now(), self._gap
            lines = _line_of(now, record)
            if gap:
                lines = _line_of(now, {GAP: gap.to_json()}) + lines
            try:
                self._append(lines)
            except OSError as error:
                self._gap = _Gap(gap.count + 1 if gap else 1, gap.first if gap else now, now)
                self._on_lost()
                if gap is None:
                    log(f"{self._kind} are not audited", level=logging.ERROR, why=str(error))
                return
            self._gap = None
        if gap:
            log(f"{self._kind} are audited again", level=logging.WARNING, missing=gap.count, since=_iso(gap.first))

    def _append(self, line: bytes) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / f"{self._kind}.jsonl"
        if abs(self._now() - self._pruned) > _PRUNE_SECONDS:
            self._prune()
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_size + len(line) > self._max_bytes:
                self._rotate(path)
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            if _ends_within_a_line(descriptor):
                line = b"\n" + line
            if os.write(descriptor, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        finally:
            os.close(descriptor)

    def _rotate(self, path: Path) -> None:
        moment = datetime.fromtimestamp(self._now(), UTC).strftime("%Y%m%dT%H%M%S%f")
        path.rename(self._folder / f"{self._kind}-{moment}.jsonl")

    def _prune(self) -> None:
        self._pruned = self._now()
        current = self._folder / f"{self._kind}.jsonl"
        with contextlib.suppress(FileNotFoundError):
            if _first_time(current) < _iso(self._now() - _DAY_SECONDS):
                self._rotate(current)
        rotated = sorted(self._folder.glob(f"{self._kind}-*.jsonl"))
        too_old = self._now() - self._days * _DAY_SECONDS
        for number, old in enumerate(rotated):
            with contextlib.suppress(FileNotFoundError):
                if number < len(rotated) - self._days - _SPARE_FILES or old.stat().st_mtime < too_old:
                    old.unlink()


def why_unwritable(folder: Path, kind: AuditKind) -> str:
    """Why no line can be added to a log in this folder; "" if one can. Changes nothing."""
    path = folder / f"{kind}.jsonl"
    above = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    if not above.is_dir():
        return f"{above} is no folder"
    if not os.access(above, os.W_OK | os.X_OK):
        return f"this account may not write in {above}"
    if path.exists() and not (path.is_file() and os.access(path, os.W_OK)):
        return f"this account may not write to {path}"
    return ""


def _line_of(seconds: float, record: Mapping[str, Any]) -> bytes:
    text = json.dumps({"time": _iso(seconds), **record}, ensure_ascii=False, separators=(",", ":"))
    return f"{visible_json(text)}\n".encode("utf-8", "replace")


def _ends_within_a_line(descriptor: int) -> bool:
    """Whether the last line was cut: the disk was full, or a process ended while it wrote."""
    size = os.fstat(descriptor).st_size
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"


def _first_time(path: Path) -> str:
    """The time of the first line of a file; "" if it has none."""
    with path.open(encoding="utf-8", errors="replace") as file:
        match = _TIME.match(file.readline(_FIRST_CHARS))
    return match[1] if match else ""


def read_records(
    folder: Path, since: datetime | None = None, kind: AuditKind = "executions"
) -> Iterator[dict[str, Any]]:
    """The records of all files from ``since`` on, oldest first.

    Lines are skipped that are incomplete, or that no log writes: a file may be damaged, or edited by a person.
    """
    files = [*sorted(folder.glob(f"{kind}-*.jsonl")), folder / f"{kind}.jsonl"]
    earliest = "" if since is None else _format_time(since)
    for path in files:
        with contextlib.suppress(FileNotFoundError), path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                record = _read_line(line)
                if record is not None and record["time"] >= earliest:
                    yield record


def _read_line(line: str) -> dict[str, Any] | None:
    """The record of a line, of which every field that reports use has its type; None for any other line."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not isinstance(record.get("time"), str):
        return None
    is_right = all(is_right(record[name]) for is_right, names in _FIELDS for name in names if name in record)
    return record if is_right else None


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_figure(value: Any) -> bool:
    return isinstance(value, int | float) and 0 <= value < _MOST_FIGURE


def _is_walls(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(name), list) for name in ("stood", "missing"))


# Fields that reports add up or show, by what they must be.
_FIELDS: tuple[tuple[Callable[[Any], bool], tuple[str, ...]], ...] = (
    (_is_text, ("execution_id", "verdict", "error", "tool", "source_sha256", "source")),
    (_is_figure, ("wall_ms", "ms", "sdk_calls", "rows", "tokens", "tokens_kept_out", "tokens_returned")),
    (_is_walls, ("walls",)),
)


def since_of(text: str, now: datetime) -> datetime:
    """The time meant by ``7d``, ``12h`` (before now) or an ISO-8601 date or time (UTC unless it names a zone).

    >>> since_of("2026-01-31", datetime.now(UTC)).isoformat()
    '2026-01-31T00:00:00+00:00'

    Raises:
        ValueError: for anything else.
    """
    match = _SINCE.fullmatch(text.strip())
    if match:
        return now - timedelta(**{{"h": "hours", "d": "days"}[match[2]]: int(match[1])})
    moment = datetime.fromisoformat(text.strip())
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        raise ValueError("no time of UTC") from None


def fingerprint(value: Any) -> str:
    """A short hash of a value's JSON, to recognise equal arguments."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:_HASH_CHARS]


def hash_of(source: str) -> str:
    """The SHA-256 of a script's source."""
    return sha256(source.encode("utf-8", "replace")).hexdigest()


def _iso(seconds: float) -> str:
    return _format_time(datetime.fromtimestamp(seconds, UTC))


def _format_time(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
