"""The current vectors of a catalogue: a vector store whose contents can be replaced while searches go on.

Two things replace the open vectors: those that ``winnow reindex`` made (``open_current``), and, in a process that
several servers share, the same vectors with their search graph built (``optimize``). The embedded vector store
holds the interpreter until the graph is built, which takes seconds and more, so a subprocess builds it, in a copy.
Each search ends in the vectors that it began in; replaced vectors are closed after their last search.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from winnow.server.backends.catalogue import Binding, Catalogue
from winnow.server.errors import WinnowError
from winnow.server.models import CollectionFacts, Filters
from winnow.server.runtime.waits import WaitCounter, WriterClock
from winnow.server.storage.base import Payload, Point, SparseVector, Vector, VectorStore

# Builds the graph of this many vectors in a copy; returns the copy's binding, or None where it did not.
BuildVectors = Callable[[Binding, int], Binding | None]


@dataclass(slots=True, eq=False)
class _OpenStore:
    store: VectorStore
    binding: Binding
    users: int = 0
    is_replaced: bool = False


class CurrentVectors:
    """The ``VectorStore`` over the current vectors. ``waits`` counts how long searches waited for writes.

    ``open_next`` opens other vectors of the catalogue beside the open ones. ``build_vectors`` is None where
    building may block this process; otherwise it is also called after every ``build_every`` points. ``discard``
    removes replaced vectors after their last search, ``on_close`` is called at the end.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        binding: Binding,
        open_next: Callable[[Binding], VectorStore],
        *,
        build_vectors: BuildVectors | None = None,
        build_every: int = 0,
        discard: Callable[[Binding], None] = lambda binding: None,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        self.waits = WaitCounter()
        self._catalogue = catalogue
        self._open_next = open_next
        self._build_apart, self._build_every, self._unbuilt = build_vectors, build_every, 0
        self._discard, self._on_close = discard, on_close
        self._clock = WriterClock()
        self._guard = threading.Lock()
        self._switching = threading.Lock()
        self._current = _OpenStore(open_next(binding), binding)

    @property
    def binding(self) -> Binding:
        """The binding of the open vectors."""
        return self._current.binding

    def is_current(self) -> bool:
        """Whether the open vectors are those that the catalogue names."""
        return self._switching.locked() or self._catalogue.binding == self.binding

    def open_current(self) -> bool:
        """Open the vectors that the catalogue names, if they changed; False where they do not open."""
        if not self._switching.acquire(blocking=False):
            return True  # another thread is switching; the open vectors serve until then
        try:
            wanted = self._catalogue.binding
            if wanted != self.binding:
                self._switch_to(self._open(wanted))
        except WinnowError:
            return False
        finally:
            self._switching.release()
        return True

    def upsert(self, points: Sequence[Point]) -> None:
        """See ``VectorStore``."""
        with self._writing() as store:
            store.upsert(points)
        self._unbuilt += len(points)
        if self._build_apart and self._unbuilt >= self._build_every:
            self.optimize()

    def relabel(self, chunk_ids: Sequence[str], payload: Payload) -> None:
        """See ``VectorStore``."""
        with self._writing() as store:
            store.relabel(chunk_ids, payload)

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """See ``VectorStore``."""
        with self._writing() as store:
            store.delete(chunk_ids)

    def search_dense(
        self, vector: Vector, filters: Filters, limit: int, *, exact: bool = False
    ) -> list[tuple[str, float]]:
        """See ``VectorStore``."""
        with self._reading() as store:
            return store.search_dense(vector, filters, limit, exact=exact)

    def search_sparse(self, vector: SparseVector, filters: Filters, limit: int) -> list[tuple[str, float]]:
        """See ``VectorStore``."""
        with self._reading() as store:
            return store.search_sparse(vector, filters, limit)

    def score_dense(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """See ``VectorStore``."""
        with self._reading() as store:
            return store.score_dense(vector, chunk_ids)

    def score_sparse(self, vector: SparseVector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """See ``VectorStore``."""
        with self._reading() as store:
            return store.score_sparse(vector, chunk_ids)

    def ids(self, project: str) -> Iterable[str]:
        """See ``VectorStore``."""
        with self._in_use() as store:
            yield from store.ids(project)

    def points(self, first: str = "") -> Iterator[Sequence[Point]]:
        """See ``VectorStore``."""
        with self._in_use() as store:
            yield from store.points(first)

    def count(self) -> int:
        """See ``VectorStore``."""
        with self._in_use() as store:
            return store.count()

    def inspect(self, filters: Filters, sample: int = 0) -> CollectionFacts:
        """See ``VectorStore``."""
        with self._reading() as store:
            return store.inspect(filters, sample)

    def flush(self) -> None:
        """See ``VectorStore``."""
        with self._writing() as store:
            store.flush()

    def optimize(self) -> None:
        """See ``VectorStore``. The caller is the only writer."""
        self._unbuilt = 0
        if self._build_apart is not None and self._build_aside(self._build_apart):
            return
        with self._writing() as store:
            store.optimize()

    def warm(self) -> None:
        """See ``VectorStore``."""
        with self._in_use() as store:
            store.warm()

    def close(self) -> None:
        """Close the vectors and release the store."""
        self._current.store.close()
        self._on_close()

    def _build_aside(self, build: BuildVectors) -> bool:
        self.flush()
        built = build(self.binding, self.count())
        if built is None:
            return False
        with self._switching:
            fresh = self._open(built)
            self._catalogue.bind(built)  # the switch: a kill before it leaves the former vectors current
            self._switch_to(fresh)
        return True

    def _open(self, binding: Binding) -> _OpenStore:
        with self._clock.running():  # opening holds the interpreter
            return _OpenStore(self._open_next(binding), binding)

    def _switch_to(self, fresh: _OpenStore) -> None:
        with self._guard:
            former, self._current = self._current, fresh
            former.is_replaced = True
            is_free = former.users == 0
        if is_free:
            self._discard_store(former)

    def _discard_store(self, former: _OpenStore) -> None:
        former.store.close()
        self._discard(former.binding)

    @contextmanager
    def _in_use(self) -> Iterator[VectorStore]:
        with self._guard:
            opened = self._current
            opened.users += 1
        try:
            yield opened.store
        finally:
            with self._guard:
                opened.users -= 1
                is_last = opened.is_replaced and opened.users == 0
            if is_last:
                self._discard_store(opened)

    @contextmanager
    def _reading(self) -> Iterator[VectorStore]:
        before = self._clock.seconds
        with self._in_use() as store:
            yield store
        self.waits.note(self._clock.seconds - before)

    @contextmanager
    def _writing(self) -> Iterator[VectorStore]:
        with self._in_use() as store, self._clock.running():
            yield store
