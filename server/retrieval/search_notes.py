"""Notes of a search: the time of each stage, and warnings for the caller."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from winnow.server.runtime.reports.traces import span


@dataclass(slots=True)
class SearchNotes:
    """Warnings in order, and milliseconds by stage. The time of an inner stage is not part of the outer one."""

    warnings: list[str] = field(default_factory=list)
    stages: dict[str, float] = field(default_factory=dict)
    _inner: list[float] = field(default_factory=list)

    def add(self, stages: Mapping[str, float]) -> None:
        """Add times that were measured elsewhere."""
        for name, milliseconds in stages.items():
            self.stages[name] = self.stages.get(name, 0.0) + milliseconds

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of this block to the stage, also if the block raises."""
        started = time.perf_counter()
        self._inner.append(0.0)
        try:
            with span(name):
                yield
        finally:
            milliseconds = (time.perf_counter() - started) * 1000
            self.stages[name] = self.stages.get(name, 0.0) + milliseconds - self._inner.pop()
            if self._inner:
                self._inner[-1] += milliseconds
