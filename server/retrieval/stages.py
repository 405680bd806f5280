"""What goes along with a search: how long each stage of it took, and what its reader should know."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class SearchNotes:
    """Warnings in order, and milliseconds by stage. A stage within another one counts only once, as itself."""

    warnings: list[str] = field(default_factory=list)
    stages: dict[str, float] = field(default_factory=dict)
    _within: list[float] = field(default_factory=list)

    def add(self, stages: Mapping[str, float]) -> None:
        """Add what others measured."""
        for name, taken in stages.items():
            self.stages[name] = self.stages.get(name, 0.0) + taken

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of this block to the stage of this name, also where the block raises."""
        began = time.perf_counter()
        self._within.append(0.0)
        try:
            yield
        finally:
            taken = (time.perf_counter() - began) * 1000
            self.stages[name] = self.stages.get(name, 0.0) + taken - self._within.pop()
            if self._within:
                self._within[-1] += taken
