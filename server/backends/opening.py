"""Settings to open backends: catalogue, vector store, model, and the retriever over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from server.backends.base import VectorStore
from server.backends.catalogue import Catalogue
from server.backends.embedders import LazyEmbedder
from server.backends.weights import DIMENSION
from server.retrieval.hybrid import Retriever
from server.settings import Settings


@dataclass(frozen=True, slots=True)
class Backends:
    """Everything that an index consists of, open. Close it to let another process in."""

    catalogue: Catalogue
    store: VectorStore
    embedder: LazyEmbedder
    retriever: Retriever

    def close(self) -> None:
        """Let go of the store and the catalogue."""
        self.store.close()
        self.catalogue.close()


def open_backends(settings: Settings, *, wait_for_model: bool) -> Backends:
    """Open what ``settings`` name; a store that does not exist is made, empty.

    The model starts to load in the background; with ``wait_for_model`` this returns once it is loaded or
    known to be missing. Raises ``WinnowError``: "INDEX_HELD" where another process holds the index,
    "INDEX_UNAVAILABLE" where it cannot be opened or reached.
    """
    embedder = LazyEmbedder(settings)
    embedder.start()
    store = _store(settings)
    try:
        catalogue = Catalogue(catalogue_path(settings))
    except BaseException:
        store.close()
        raise
    if wait_for_model:
        embedder.wait()
    return Backends(catalogue, store, embedder, Retriever(store, embedder, catalogue.embedding, settings.fusion))


def catalogue_path(settings: Settings) -> Path:
    """Where the catalogue lies, whether it exists or not."""
    return settings.store / "catalogue.sqlite3"


def _store(settings: Settings) -> VectorStore:
    # Each engine takes long to import, and only one is wanted.
    make: Callable[[Settings], VectorStore] = _server if settings.qdrant_url else _embedded
    return make(settings)


def _embedded(settings: Settings) -> VectorStore:
    from server.backends.edge import EdgeStore

    return EdgeStore(settings.store, DIMENSION)


def _server(settings: Settings) -> VectorStore:
    from server.backends.qdrant import QdrantStore

    key = settings.qdrant_api_key
    return QdrantStore(str(settings.qdrant_url), DIMENSION, api_key=key.get_secret_value() if key else None)
