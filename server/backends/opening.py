"""Settings to open backends: catalogue, vector store, graph, model, and the retriever over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from threading import Thread
from types import MappingProxyType

from server.backends.base import Reranker, VectorStore, admits
from server.backends.catalogue import Catalogue
from server.backends.embedders import LazyEmbedder
from server.backends.graph_sqlite import SqliteGraph
from server.backends.ledger import LedgerFile
from server.backends.weights import DIMENSION
from server.graph.base import GraphStore, Scope
from server.models import Document, Filters
from server.retrieval.hybrid import Retriever
from server.retrieval.languages import is_mixed, load
from server.settings import Settings

# Filters whose documents are remembered: ids of 100,000 documents are about 10 MB.
_SCOPES = 16


def _none() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Backends:
    """Everything that an index consists of, open. Close it to let another process in.

    ``reranker`` loads the second stage when it is first asked for, and raises what that raises; None without one.
    ``graph`` is None where none is kept. ``scope_of`` is ``admitted`` as a function that remembers.
    """

    catalogue: Catalogue
    store: VectorStore
    graph: GraphStore | None
    embedder: LazyEmbedder
    retriever: Retriever
    scope_of: Callable[[Filters], Scope]
    reranker: Callable[[], Reranker | None] = _none

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


def open_backends(settings: Settings, *, wait_for_model: bool) -> Backends:
    """Open what ``settings`` name; a store that does not exist is made, empty.

    The model starts to load in the background; with ``wait_for_model`` this returns once it is loaded or
    known to be missing. Raises ``WinnowError``: "INDEX_HELD" where another process holds the index,
    "INDEX_UNAVAILABLE" where it cannot be opened or reached.
    """
    embedder = LazyEmbedder(settings)
    embedder.start()
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
    scope_of, languages_of = scopes(catalogue), languages(catalogue)
    if any(is_mixed(languages_of(project)) for project in settings.reachable):
        Thread(target=load, name="winnow-languages", daemon=True).start()
    retriever = Retriever(
        store, embedder, catalogue.embedding, settings.fusion, graph, scope_of, languages_of=languages_of
    )
    return Backends(catalogue, store, graph, embedder, retriever, scope_of, _reranker_of(settings))


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


def languages(catalogue: Catalogue) -> Callable[[str], Mapping[str, int]]:
    """How many documents of a project are in each language, remembered until the project changes."""

    @lru_cache(maxsize=_SCOPES)
    def at(project: str, generation: int) -> Mapping[str, int]:
        return MappingProxyType(catalogue.languages(project))

    return lambda project: at(project, catalogue.generation(project))


def open_graph(settings: Settings) -> GraphStore | None:
    """The graph that ``settings`` name, made where there is none; None where it is switched off.

    Raises ``WinnowError("INDEX_UNAVAILABLE")`` where it cannot be opened or reached.
    """
    if settings.graph == "off":
        return None
    return _open_neo4j(settings) if settings.neo4j_url else SqliteGraph(settings.store / "graph.sqlite3")


def _reranker_of(settings: Settings) -> Callable[[], Reranker | None]:
    folder = settings.reranker
    if folder is None:
        return _none

    @cache
    def loaded() -> Reranker:
        from server.backends.cross_encoder import CrossEncoder

        return CrossEncoder(folder)

    return loaded


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
