"""Settings to open backends: catalogue, vector store, model, and the retriever over them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from server.backends.base import VectorStore, admits
from server.backends.catalogue import Catalogue
from server.backends.embedders import LazyEmbedder
from server.backends.weights import DIMENSION
from server.models import Document, Filters
from server.retrieval.hybrid import Retriever
from server.settings import Settings


@dataclass(frozen=True, slots=True)
class Backends:
    """Everything that an index consists of, open. Close it to let another process in."""

    catalogue: Catalogue
    store: VectorStore
    embedder: LazyEmbedder
    retriever: Retriever

    def admits(self, filters: Filters, document: Document) -> bool:
        """Whether a search with these filters could return the document."""
        return admits(filters, document)

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
    catalogue = Catalogue(catalogue_path(settings))
    try:
        store = _open_server(settings, catalogue) if settings.qdrant_url else _open_embedded(settings)
    except BaseException:
        catalogue.close()
        raise
    if wait_for_model:
        embedder.wait()
    return Backends(catalogue, store, embedder, Retriever(store, embedder, catalogue.embedding, settings.fusion))


def catalogue_path(settings: Settings) -> Path:
    """Where the catalogue lies, whether it exists or not."""
    return settings.store / "catalogue.sqlite3"


# Each engine takes long to import, and only one is wanted.


def _open_embedded(settings: Settings) -> VectorStore:
    from server.backends.edge import EdgeStore

    return EdgeStore(settings.store, DIMENSION)


def _open_server(settings: Settings, catalogue: Catalogue) -> VectorStore:
    from server.backends.qdrant import QdrantStore

    key = settings.qdrant_api_key
    return QdrantStore(
        str(settings.qdrant_url),
        DIMENSION,
        # What is in the collection but not in the catalogue counts as left over, so no two share one.
        collection=f"winnow-{catalogue.identity}",
        api_key=key.get_secret_value() if key else None,
    )
