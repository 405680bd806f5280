"""Query to ranking: the lexical and the dense leg, joined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from server.backends.base import EmbedderSource, VectorStore
from server.models import Filters, Ranking

Mode = Literal["hybrid", "lexical", "dense"]
Fusion = Literal["convex", "rrf"]


class Retriever:
    """Ranks chunks for a query."""

    def __init__(
        self,
        store: VectorStore,
        embedder: EmbedderSource,
        embedding_of: Callable[[str], str],
        fusion: Fusion = "convex",
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._embedding_of = embedding_of
        self._fusion = fusion

    def search(
        self, query: str, filters: Filters, limit: int, *, mode: Mode = "hybrid", fusion: Fusion | None = None
    ) -> Ranking:
        """The ``limit`` best chunks."""
        raise NotImplementedError
