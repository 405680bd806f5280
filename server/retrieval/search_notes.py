"""Notes of a search: the time of each stage, warnings for the caller, and the steps of a recorded ranking."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType

from winnow.server.models import Hit, RankingStep, StepName
from winnow.server.runtime.reports.traces import span


@dataclass(slots=True)
class SearchNotes:
    """Warnings in order, and milliseconds by stage. The time of an inner stage is not part of the outer one.

    ``steps`` is None where the ranking is not recorded.
    """

    warnings: list[str] = field(default_factory=list)
    stages: dict[str, float] = field(default_factory=dict)
    steps: list[RankingStep] | None = None
    _inner: list[float] = field(default_factory=list)

    def add(self, stages: Mapping[str, float]) -> None:
        """Add times that were measured elsewhere."""
        for name, milliseconds in stages.items():
            self.stages[name] = self.stages.get(name, 0.0) + milliseconds

    def record(
        self,
        name: StepName,
        hits: Sequence[Hit],
        parts: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
        facts: Mapping[str, float | str] = MappingProxyType({}),
    ) -> None:
        """Record the hits as a step leaves them, if the ranking is recorded."""
        if self.steps is not None:
            self.steps.append(RankingStep(name, {hit.chunk_id: hit.score for hit in hits}, parts, facts))

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
