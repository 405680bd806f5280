"""Settings to open backends: catalogue, vector store, model and the retriever over them."""

from __future__ import annotations

from dataclasses import dataclass

from server.backends.base import VectorStore
from server.backends.catalogue import Catalogue
from server.backends.embedders import LazyEmbedder
from server.retrieval.hybrid import Retriever
from server.settings import Settings


@dataclass(frozen=True, slots=True)
class Backends:
    """Everything that a store consists of, open. Close it to let another process in."""

    catalogue: Catalogue
    store: VectorStore
    embedder: LazyEmbedder
    retriever: Retriever

    def close(self) -> None:
        """Let go of the store and the catalogue."""
        self.store.close()
        self.catalogue.close()


def open_backends(settings: Settings, *, wait_for_model: bool) -> Backends:
    """Open what ``settings`` name.

    The model starts to load in the background; with ``wait_for_model`` this returns once it is loaded or
    known to be missing. Raises ``WinnowError("INDEX_HELD")`` where another process holds the index.
    """
    raise NotImplementedError
