"""Settings to open backends: catalogue, vector store, graph, model, and the retriever over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from server.backends.base import EmbedderSource, VectorStore, admits
from server.backends.catalogue import Catalogue
from server.backends.embedders import LazyEmbedder
from server.backends.graph_sqlite import SqliteGraph
from server.backends.ledger import LedgerFile
from server.backends.weights import DIMENSION
from server.graph.base import GraphStore, Scope
from server.models import Document, Filters
from server.retrieval.hybrid import Retriever
from server.settings import Settings

# Filters whose documents are remembered: ids of 100,000 documents are about 10 MB.
_SCOPES = 16


@dataclass(frozen=True, slots=True)
class Backends:
    """Everything that an index consists of, open. Close it to let another process in.

    ``graph`` is None where none is kept. ``scope_of`` is ``admitted`` as a function that remembers.
    """

    catalogue: Catalogue
    store: VectorStore
    graph: GraphStore | None
    embedder: EmbedderSource
    retriever: Retriever
    scope_of: Callable[[Filters], Scope]

    def admits(self, filters: Filters, document: Document) -> bool:
        """Whether a search with these filters could return the document."""
        return admits(filters, document)

    def admitted(self, filters: Filters) -> Scope:
        """The documents that a search with these filters could return, by id; None for all of the project."""
        return self.scope_of(filters)

    def close(self) -> None:
        """Let go of the stores and the catalogue."""
        self.store.close()
        if self.graph:
            self.graph.close()
        self.catalogue.close()


def _itself(source: EmbedderSource) -> EmbedderSource:
    return source


def open_backends(
    settings: Settings, *, wait_for_model: bool, around: Callable[[EmbedderSource], EmbedderSource] = _itself
) -> Backends:
    """Open what ``settings`` name; a store that does not exist is made, empty.

    The model starts to load in the background; with ``wait_for_model`` this returns once it is loaded or
    known to be missing. ``around`` may put something between the model and all who use it. Raises
    ``WinnowError``: "INDEX_HELD" where another process holds the index, "INDEX_UNAVAILABLE" where it cannot be
    opened or reached.
    """
    loading = LazyEmbedder(settings)
    loading.start()
    embedder = around(loading)
    catalogue = Catalogue(catalogue_path(settings))
    graph: GraphStore | None = None
    try:
        graph = open_graph(settings)
        store = _open_server(settings, catalogue) if settings.qdrant_url else _open_embedded(settings)
    except BaseException:
        catalogue.close()
        if graph:
            graph.close()
        raise
    if wait_for_model:
        embedder.wait()
    scope_of = scopes(catalogue)
    retriever = Retriever(store, embedder, catalogue.embedding, settings.fusion, graph, scope_of)
    return Backends(catalogue, store, graph, embedder, retriever, scope_of)


def catalogue_path(settings: Settings) -> Path:
    """Where the catalogue lies, whether it exists or not."""
    return settings.store / "catalogue.sqlite3"


def ledger_of(settings: Settings) -> LedgerFile:
    """What the graph of these settings was drawn from."""
    return LedgerFile(settings.store / "ledger.sqlite3", settings.neo4j_url or "")


def scopes(catalogue: Catalogue) -> Callable[[Filters], Scope]:
    """The documents of a catalogue that filters admit, by id; None for all of the project."""

    @lru_cache(maxsize=_SCOPES)
    def at(filters: Filters, generation: int) -> Scope:
        return frozenset(one.id for one in catalogue.documents(filters.project) if admits(filters, one))

    def admitted(filters: Filters) -> Scope:
        is_whole = filters == Filters(filters.project)
        return None if is_whole else at(filters, catalogue.generation(filters.project))

    return admitted


def open_graph(settings: Settings) -> GraphStore | None:
    """The graph that ``settings`` name, made where there is none; None where it is switched off.

    Raises ``WinnowError("INDEX_UNAVAILABLE")`` where it cannot be opened or reached.
    """
    if settings.graph == "off":
        return None
    return _open_neo4j(settings) if settings.neo4j_url else SqliteGraph(settings.store / "graph.sqlite3")


# Each engine takes long to import, and only one is wanted.


def _open_embedded(settings: Settings) -> VectorStore:
    from server.backends.edge import EdgeStore

    return EdgeStore(settings.store, DIMENSION)


def _open_neo4j(settings: Settings) -> GraphStore:
    from server.backends.neo4j import Neo4jGraph

    password = settings.neo4j_password
    user = settings.neo4j_user if password else ""
    return Neo4jGraph(str(settings.neo4j_url), user, password.get_secret_value() if password else "")


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
