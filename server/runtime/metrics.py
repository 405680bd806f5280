"""Counters of a process: calls, answers and scripts. Numbers only, no text."""

from __future__ import annotations

import bisect
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Upper bounds in seconds of the histogram of call durations.
BUCKETS = (0.005, 0.025, 0.1, 0.5, 2.0, 10.0, 30.0)


@dataclass(slots=True)
class _Calls:
    """The calls of one tool: verdicts, total seconds and the histogram of durations."""

    verdicts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    within: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))

    def to_json(self) -> dict[str, Any]:
        """The counters as JSON data."""
        return {"verdicts": dict(self.verdicts), "seconds": round(self.seconds, 3), "within": list(self.within)}


class Metrics:
    """Counters since the start of the process. Thread-safe.

    Answers are counted by tool: their number, total bytes and tokens, and the largest. ``note`` adds counters of
    single operations: ``cursors`` (pages after the first), ``duplicates`` (chunks dropped because their document
    had its share), ``quotes``, ``excerpts`` and ``excerpts_truncated``. Scripts are counted by status, with their
    calls, the rows they read and the tokens they kept out of a model's context.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._noted: Counter[str] = Counter()
        self._answers: dict[str, Counter[str]] = {}
        self._scripts: Counter[str] = Counter()
        self._endings: Counter[str] = Counter()
        self._calls: dict[str, _Calls] = {}
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
            calls.seconds += seconds
            calls.within[bisect.bisect_left(BUCKETS, seconds)] += 1

    def count_wait(self, seconds: float) -> None:
        """Count the time that one script waited for a worker."""
        with self._lock:
            self._waits += 1
            self._waited += seconds

    def count_execution(self, status: str, calls: int, rows: int, tokens_kept_out: int) -> None:
        """Count one finished script."""
        with self._lock:
            self._endings[status] += 1
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
                "scripts": {**{name: self._scripts[name] for name in _COUNTED}, "endings": dict(self._endings)},
                **{name: self._noted[name] for name in _NOTED},
                "excerpt_truncation_rate": round(cut / excerpts, 4) if excerpts else 0.0,
            }


_COUNTED = ("executions", "sdk_calls", "rows", "tokens_kept_out")
_NOTED = ("cursors", "duplicates", "quotes", "excerpts", "excerpts_truncated")
