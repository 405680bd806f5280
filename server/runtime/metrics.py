"""Counters of a process: calls, answers and scripts. Numbers only, no text."""

from __future__ import annotations

import bisect
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from winnow.server.runtime.audit import KINDS, AuditKind

# Upper bounds in seconds of the histograms of durations. The longest script may take 60 seconds.
BUCKETS = (0.005, 0.025, 0.1, 0.5, 2.0, 10.0, 30.0, 60.0)
RefusalSource = Literal["call", "read", "http"]


@dataclass(slots=True)
class _Durations:
    """A histogram: total seconds, and the number of durations in each bucket."""

    seconds: float = 0.0
    within: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))

    def add(self, seconds: float) -> None:
        """Count one duration."""
        self.seconds += seconds
        self.within[bisect.bisect_left(BUCKETS, seconds)] += 1

    def to_json(self) -> dict[str, Any]:
        """The histogram as JSON data."""
        return {"seconds": round(self.seconds, 3), "within": list(self.within)}


@dataclass(slots=True)
class _Calls:
    """The calls of one tool: verdicts and durations."""

    verdicts: Counter[str] = field(default_factory=Counter)
    durations: _Durations = field(default_factory=_Durations)

    def to_json(self) -> dict[str, Any]:
        """The counters as JSON data."""
        return {"verdicts": dict(self.verdicts), **self.durations.to_json()}


class Metrics:
    """Counters since the start of the process. Thread-safe.

    Answers are counted by tool: their number, total bytes and tokens, and the largest. ``note`` adds counters of
    single operations: ``cursors`` (pages after the first), ``duplicates`` (chunks dropped because their document
    had its share), ``quotes``, ``excerpts``, ``excerpts_truncated`` and ``harvest_alerts``. Scripts are counted by
    status, with their calls, the rows they read and the tokens they kept out of a model's context. Refusals are
    counted by the kind of request and a reason: ``call`` and ``read`` with the reasons of
    ``server.errors``, ``http`` with those of the façade, and before that with names of statuses.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._noted: Counter[str] = Counter()
        self._answers: dict[str, Counter[str]] = {}
        self._scripts: Counter[str] = Counter()
        self._endings: Counter[str] = Counter()
        self._calls: dict[str, _Calls] = {}
        self._refusals: dict[str, Counter[str]] = {}
        self._script_durations = _Durations()
        self._unaudited = Counter(dict.fromkeys(KINDS, 0))
        self._waits, self._waited = 0, 0.0

    def note(self, noted: Mapping[str, int]) -> None:
        """Add the counters of one operation."""
        with self._lock:
            self._noted.update(noted)

    def count_answer(self, tool: str, tokens: int, bytes: int, *, failed: bool) -> None:
        """Count one answer of a tool."""
        with self._lock:
            counts = self._answers.setdefault(tool, Counter())
            counts.update({"calls": 1, "errors": int(failed), "tokens": tokens, "bytes": bytes})
            counts["largest_tokens"] = max(counts["largest_tokens"], tokens)
            counts["largest_bytes"] = max(counts["largest_bytes"], bytes)

    def count_call(self, tool: str, verdict: str, seconds: float) -> None:
        """Count one call of a tool by verdict and duration."""
        with self._lock:
            calls = self._calls.setdefault(tool, _Calls())
            calls.verdicts[verdict] += 1
            calls.durations.add(seconds)

    def count_refusal(self, source: RefusalSource, reason: str) -> None:
        """Count one request that was refused, or ended with an error. ``reason`` is one of a few names."""
        with self._lock:
            self._refusals.setdefault(source, Counter())[reason] += 1

    def count_unaudited(self, kind: AuditKind) -> None:
        """Count one line that could not be written to the audit files."""
        with self._lock:
            self._unaudited[kind] += 1

    def count_wait(self, seconds: float) -> None:
        """Count the time that one script waited for a worker."""
        with self._lock:
            self._waits += 1
            self._waited += seconds

    def count_execution(self, status: str, seconds: float, calls: int, rows: int, tokens_kept_out: int) -> None:
        """Count one finished script, which ran for so many seconds."""
        with self._lock:
            self._endings[status] += 1
            self._script_durations.add(seconds)
            self._scripts.update(
                {"executions": 1, "sdk_calls": calls, "rows": rows, "tokens_kept_out": tokens_kept_out}
            )

    def snapshot(self) -> dict[str, Any]:
        """All counters as JSON data."""
        with self._lock:
            excerpts, cut = self._noted["excerpts"], self._noted["excerpts_truncated"]
            return {
                "answers": {tool: dict(counts) for tool, counts in sorted(self._answers.items())},
                "calls": {tool: calls.to_json() for tool, calls in sorted(self._calls.items())},
                "queue_waits": {"waits": self._waits, "seconds": round(self._waited, 3)},
                "refusals": {source: dict(reasons) for source, reasons in sorted(self._refusals.items())},
                "unaudited": dict(self._unaudited),
                "scripts": {
                    **{name: self._scripts[name] for name in _COUNTED},
                    "endings": dict(self._endings),
                    "durations": self._script_durations.to_json(),
                },
                **{name: self._noted[name] for name in _NOTED},
                "excerpt_truncation_rate": round(cut / excerpts, 4) if excerpts else 0.0,
            }


_COUNTED = ("executions", "sdk_calls", "rows", "tokens_kept_out")
_NOTED = ("cursors", "duplicates", "quotes", "excerpts", "excerpts_truncated", "harvest_alerts")
