"""How long readers waited for writers, by what they waited at."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_KEPT = 10_000  # the latest, 8 bytes each
_MS = 1000


@dataclass(frozen=True, slots=True)
class WaitSummary:
    """Reads since the start, and of the latest ``_KEPT`` the median, 95th percentile and longest wait in ms."""

    reads: int
    p50_ms: float
    p95_ms: float
    longest_ms: float


class WaitCounter:
    """Counts waits; threads may use it at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest: deque[float] = deque(maxlen=_KEPT)
        self._reads = 0

    def note(self, seconds: float) -> None:
        """One read waited so long; 0 where it did not."""
        with self._lock:
            self._reads += 1
            self._latest.append(seconds)

    @property
    def summary(self) -> WaitSummary:
        """What was counted so far."""
        with self._lock:
            reads, latest = self._reads, sorted(self._latest)
        if not latest:
            return WaitSummary(reads, 0.0, 0.0, 0.0)
        at = [latest[int(part * (len(latest) - 1))] for part in (0.5, 0.95, 1.0)]
        return WaitSummary(reads, *(round(one * _MS, 3) for one in at))


class WriterClock:
    """Runs while somebody writes. What it advances during a read is the longest that the read can have waited."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._writers, self._since, self._total = 0, 0.0, 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """While a write is under way."""
        with self._lock:
            if self._writers == 0:
                self._since = time.perf_counter()
            self._writers += 1
        try:
            yield
        finally:
            with self._lock:
                self._writers -= 1
                if self._writers == 0:
                    self._total += time.perf_counter() - self._since

    @property
    def seconds(self) -> float:
        """What it shows now."""
        with self._lock:
            return self._total + (time.perf_counter() - self._since if self._writers else 0.0)
