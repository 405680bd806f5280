"""Statistics of how long readers waited for writers."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_LATEST = 10_000  # waits that are kept, 8 bytes each
_MS = 1000


@dataclass(frozen=True, slots=True)
class WaitSummary:
    """The number of reads, and the median, 95th percentile and longest wait (ms) of the latest ``_LATEST``."""

    reads: int
    p50_ms: float
    p95_ms: float
    longest_ms: float


class WaitCounter:
    """Records waits. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest: deque[float] = deque(maxlen=_LATEST)
        self._reads = 0

    def note(self, seconds: float) -> None:
        """Record the wait of one read; 0 if it did not wait."""
        with self._lock:
            self._reads += 1
            self._latest.append(seconds)

    @property
    def summary(self) -> WaitSummary:
        """The statistics so far."""
        with self._lock:
            reads, latest = self._reads, sorted(self._latest)
        if not latest:
            return WaitSummary(reads, 0.0, 0.0, 0.0)
        percentiles = [latest[int(part * (len(latest) - 1))] for part in (0.5, 0.95, 1.0)]
        return WaitSummary(reads, *(round(seconds * _MS, 3) for seconds in percentiles))


class WriterClock:
    """A clock that runs during writes. How far it advances during a read bounds how long the read has waited."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._writers, self._since, self._total = 0, 0.0, 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the clock for the duration of a write."""
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
        """The current reading."""
        with self._lock:
            return self._total + (time.perf_counter() - self._since if self._writers else 0.0)
