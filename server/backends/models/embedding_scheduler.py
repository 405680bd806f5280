"""Schedules embedding on all cores, one text a run: queries go before ingests."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Generic, TypeVar

import numpy as np

from winnow.server.runtime.deadlines import current_deadline
from winnow.server.storage.base import Vector

T = TypeVar("T")

# Calls of at most this many texts go first: a query, or the candidates for a quote.
FEW = 16
# An ingest waits at most this long for queries before each text, so that they cannot stop it.
_MAX_WAIT_SECONDS = 1.0


class EmbeddingScheduler(Generic[T]):
    """Runs ``embed_one`` (one item to one vector, safe in several threads) over calls from several threads.

    A call of at most ``FEW`` items is a query, a longer one an ingest. Before each item an ingest waits for
    running queries.
    """

    def __init__(self, embed_one: Callable[[T], Vector]) -> None:
        self._embed_one = embed_one
        cores = os.cpu_count() or 1
        self._query_threads = ThreadPoolExecutor(cores, thread_name_prefix="winnow-embed")
        # One more than cores: while one waits for the interpreter, the cores have work.
        self._ingest_threads = ThreadPoolExecutor(cores + 1, thread_name_prefix="winnow-embed")
        self._gate = PriorityGate()

    def rows(self, items: Sequence[T]) -> Vector:
        """Shape (len(items), dimension), in their order; there is at least one."""
        if len(items) > FEW:
            return np.stack([*self._ingest_threads.map(self._embed_later, items)])
        deadline = current_deadline()

        def embed(item: T) -> Vector:
            deadline.check()
            return self._embed_one(item)

        with self._gate.taken():
            is_single = len(items) == 1
            return np.stack([*(map if is_single else self._query_threads.map)(embed, items)])

    def _embed_later(self, item: T) -> Vector:
        self._gate.give()
        return self._embed_one(item)


class PriorityGate:
    """A gate that queries hold together and an ingest waits for."""

    def __init__(self) -> None:
        self._holders = 0
        self._changed = threading.Condition()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Hold the gate: ``give`` waits meanwhile."""
        with self._changed:
            self._holders += 1
        try:
            yield
        finally:
            with self._changed:
                self._holders -= 1
                self._changed.notify_all()

    def give(self, seconds: float = _MAX_WAIT_SECONDS) -> bool:
        """Wait until the gate is free, at most this long; whether it is free."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._holders, seconds)
