"""Who embeds next, where one process answers queries and ingests: queries at once, the ingest between them.

A query is one short text. An ingest embeds thousands of long ones on all processors; it does so a handful at a
time, and looks before each handful whether a query is being embedded.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from server.backends.base import Embedder, EmbedderSource, ModelState, Vector

# On two processors a handful takes about 0.1 s: what one query has to share them for at most.
_HANDFUL = 8
# Queries without a pause must not stop an ingest for ever.
_LONGEST_SECONDS = 0.25


class Turns:
    """Counts the queries that are being embedded."""

    def __init__(self) -> None:
        self._queries = 0
        self._changed = threading.Condition()

    @contextmanager
    def query(self) -> Iterator[None]:
        """While a query is embedded."""
        with self._changed:
            self._queries += 1
        try:
            yield
        finally:
            with self._changed:
                self._queries -= 1
                self._changed.notify_all()

    def give_way(self) -> None:
        """Return once no query is being embedded, or after a quarter of a second."""
        with self._changed:
            self._changed.wait_for(lambda: self._queries == 0, _LONGEST_SECONDS)


@dataclass(frozen=True, slots=True)
class _Urgent:
    """A model as queries use it."""

    model: Embedder
    turns: Turns

    @property
    def fingerprint(self) -> str:
        return self.model.fingerprint

    @property
    def dimension(self) -> int:
        return self.model.dimension

    def embed(self, texts: Sequence[str]) -> Vector:
        with self.turns.query():
            return self.model.embed(texts)


@dataclass(frozen=True, slots=True)
class _Patient:
    """A model as an ingest uses it; ``go_on`` is asked before each handful, and may raise."""

    model: Embedder
    turns: Turns
    go_on: Callable[[], None]

    @property
    def fingerprint(self) -> str:
        return self.model.fingerprint

    @property
    def dimension(self) -> int:
        return self.model.dimension

    def embed(self, texts: Sequence[str]) -> Vector:
        # By length: texts of one handful take equally long, so that no processor waits for the other.
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(order), _HANDFUL):
            some = order[start : start + _HANDFUL]
            self.go_on()
            self.turns.give_way()
            vectors[some] = self.model.embed([texts[at] for at in some])
        return vectors


class QueriesFirst:
    """An ``EmbedderSource`` over another one: what it gives out is for queries, ``patient`` is for an ingest."""

    def __init__(self, source: EmbedderSource) -> None:
        self._source = source
        self._turns = Turns()

    @property
    def state(self) -> ModelState:
        """See ``EmbedderSource``."""
        return self._source.state

    @property
    def why(self) -> str:
        """See ``EmbedderSource``."""
        return self._source.why

    def ready(self) -> Embedder | None:
        """See ``EmbedderSource``."""
        return self._urgent(self._source.ready())

    def wait(self) -> Embedder | None:
        """See ``EmbedderSource``."""
        return self._urgent(self._source.wait())

    def patient(self, go_on: Callable[[], None]) -> Embedder | None:
        """The model for an ingest, once it is loaded; None where there is none."""
        model = self._source.wait()
        return _Patient(model, self._turns, go_on) if model else None

    def _urgent(self, model: Embedder | None) -> Embedder | None:
        return _Urgent(model, self._turns) if model else None
