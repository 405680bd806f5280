"""Counts what an embedding model embeds, whichever model it is."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from winnow.server.storage.base import Embedder, Vector


class EmbedderUse:
    """Batches and texts that were embedded since the start of the process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._batches = self._texts = 0

    @property
    def counts(self) -> tuple[int, int]:
        """The number of batches, and of texts in them."""
        with self._lock:
            return self._batches, self._texts

    def add(self, texts: int) -> None:
        """Count one batch of so many texts."""
        with self._lock:
            self._batches += 1
            self._texts += texts

    def around(self, model: Embedder) -> Embedder:
        """The same model, counted."""
        return _CountedEmbedder(model, self)


class _CountedEmbedder:
    """A model whose calls are counted."""

    def __init__(self, model: Embedder, counts: EmbedderUse) -> None:
        self._model = model
        self._counts = counts

    @property
    def fingerprint(self) -> str:
        return self._model.fingerprint

    @property
    def dimension(self) -> int:
        return self._model.dimension

    @property
    def languages(self) -> frozenset[str] | None:
        return self._model.languages

    @property
    def background(self) -> float:
        return self._model.background

    @property
    def related(self) -> float:
        return self._model.related

    def embed(self, texts: Sequence[str]) -> Vector:
        self._counts.add(len(texts))
        return self._model.embed(texts)

    def embed_queries(self, queries: Sequence[str]) -> Vector:
        self._counts.add(len(queries))
        return self._model.embed_queries(queries)
