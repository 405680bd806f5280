"""Whose turn it is at a model: one text a run, on all cores, and what somebody waits for before what can wait."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Generic, TypeVar

import numpy as np

from server.backends.base import Vector
from server.runtime.deadlines import current_deadline

T = TypeVar("T")

# Texts in a call that goes first: a query, or the candidates for a quote.
FEW = 16
# Questions that never end would hold up an ingest for good; after this long it takes a step all the same.
_PATIENCE_SECONDS = 1.0


class EmbeddingScheduler(Generic[T]):
    """Runs ``embed_one`` (one item to one vector, safe in several threads) over calls from several threads.

    A call of at most ``FEW`` items is a question, a longer one an ingest: between two of its items the ingest lets
    questions go first.
    """

    def __init__(self, embed_one: Callable[[T], Vector]) -> None:
        self._embed_one = embed_one
        cores = os.cpu_count() or 1
        self._questions = ThreadPoolExecutor(cores, thread_name_prefix="winnow-embed")
        # One more than cores: while one waits for the interpreter, the cores have work.
        self._ingests = ThreadPoolExecutor(cores + 1, thread_name_prefix="winnow-embed")
        self._way = PriorityGate()

    def rows(self, items: Sequence[T]) -> Vector:
        """Shape (len(items), dimension), in their order; there is at least one."""
        if len(items) > FEW:
            return np.stack([*self._ingests.map(self._later, items)])
        deadline = current_deadline()

        def embedded(item: T) -> Vector:
            deadline.check()
            return self._embed_one(item)

        with self._way.taken():
            alone = len(items) == 1
            return np.stack([*(map if alone else self._questions.map)(embedded, items)])

    def _later(self, item: T) -> Vector:
        self._way.give()
        return self._embed_one(item)


class PriorityGate:
    """Who has it keeps the others waiting, not those who have it too."""

    def __init__(self) -> None:
        self._holders = 0
        self._changed = threading.Condition()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """While this is open, ``give`` waits."""
        with self._changed:
            self._holders += 1
        try:
            yield
        finally:
            with self._changed:
                self._holders -= 1
                self._changed.notify_all()

    def give(self, seconds: float = _PATIENCE_SECONDS) -> bool:
        """Wait until nobody has the right of way, at most this long; whether nobody has."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._holders, seconds)
