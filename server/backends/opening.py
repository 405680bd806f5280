"""Opens the backends of the settings: catalogue, vector store, graph, model, and the retriever over them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from threading import Thread
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from winnow.server.backends.catalogue import Binding, Catalogue
from winnow.server.backends.graphs.damaged_graph import DamagedGraph
from winnow.server.backends.graphs.document_facts import SqliteFactStore
from winnow.server.backends.graphs.sqlite_graph import SqliteGraph
from winnow.server.backends.models.embedders import LazyEmbedder
from winnow.server.backends.models.installed.table import DEFAULT, find_record
from winnow.server.backends.vectors.current_store import BuildVectors, CurrentVectors
from winnow.server.backends.vectors.index_build import build_in_subprocess
from winnow.server.backends.vectors.migration import check_finished
from winnow.server.backends.vectors.reindex_plan import folder_name, remove_leftovers
from winnow.server.claims.library import ClaimLibrary
from winnow.server.errors import WinnowError
from winnow.server.models import Document, Filters, Labels
from winnow.server.retrieval.graph.base import GraphStore, Scope
from winnow.server.retrieval.hybrid import Retriever
from winnow.server.runtime.logs import log
from winnow.server.runtime.reports.store_figures import ProjectSize, StoreFigures
from winnow.server.runtime.waits import WaitSummary
from winnow.server.settings.settings import Settings
from winnow.server.storage.base import ContradictionModel, Reranker, VectorStore, admits
from winnow.server.storage.files.lock import HOLDER, StoreLock
from winnow.server.storage.files.store_folder import CATALOGUE, REPAIR, map_os_errors, prepare_store
from winnow.server.text.matching import is_glob
from winnow.server.text.words.languages import is_mixed, load_language_model

if TYPE_CHECKING:  # it brings an HTTP library, which most servers do without
    from winnow.server.claims.http_notebook import HttpNotebook

# Filters whose documents are cached: the ids of 100,000 documents take about 10 MB.
_SCOPES = 16


def _no_model() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Selection:
    """The documents that some filters admit: their ids, and their uris in order."""

    ids: frozenset[str]
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Backends:
    """The open parts of an index. Must be closed before another process can open them.

    ``reranker`` loads the second stage at its first call and raises what loading raises; it returns None if there
    is none; so does ``nli_model`` with the model that judges claims. ``graph`` is None if it is switched off.
    ``scope_of``, ``labels_of``, ``fields_of`` and ``sizes_of`` are the cached functions behind ``admitted``,
    ``labels``, ``fields`` and ``figures``. ``claims`` are what agents wrote.
    """

    catalogue: Catalogue
    store: CurrentVectors
    graph: GraphStore | None
    embedder: LazyEmbedder
    retriever: Retriever
    scope_of: Callable[[Filters], Scope]
    labels_of: Callable[[Filters], Labels]
    fields_of: Callable[[Filters], frozenset[str]]
    sizes_of: Callable[[Sequence[str]], tuple[tuple[ProjectSize, ...], int]]
    claims: ClaimLibrary
    reranker: Callable[[], Reranker | None] = _no_model
    nli_model: Callable[[], ContradictionModel | None] = _no_model

    def admits(self, filters: Filters, document: Document) -> bool:
        """Whether a search with these filters could return the document."""
        return admits(filters, document)

    def admitted(self, filters: Filters) -> Scope:
        """The ids of the documents that a search with these filters could return; None for the whole project."""
        return self.scope_of(filters)

    def labels(self, filters: Filters) -> Labels:
        """The labels of the documents that these filters admit, regardless of dates."""
        return self.labels_of(filters)

    def fields(self, filters: Filters) -> frozenset[str]:
        """The names of the metadata of the documents that these filters admit."""
        return self.fields_of(filters)

    def has_documents(self, filters: Filters) -> bool:
        """Whether these filters admit any document."""
        if filters.path or filters.where:  # the operation needs these documents as well
            return bool(self.scope_of(filters))
        return self.catalogue.has_documents(filters)

    def waits(self) -> Mapping[str, WaitSummary]:
        """The times that searches waited for writers, by backend. (Reads of the catalogue never wait.)"""
        graph = {"graph": self.graph.waits.summary} if isinstance(self.graph, SqliteGraph) else {}
        return {"vectors": self.store.waits.summary, **graph}

    def figures(self, projects: Sequence[str]) -> StoreFigures:
        """Figures of the store about these projects and the use of its model."""
        sizes, vectors = self.sizes_of(projects)
        return StoreFigures(sizes, vectors, self.embedder.figures)

    def close(self) -> None:
        """Close the stores and the catalogue."""
        self.store.close()
        if self.graph:
            self.graph.close()
        self.claims.close()
        self.catalogue.close()


def open_backends(
    settings: Settings, *, wait_for_model: bool, builds_in_subprocess: bool = False, repairs_vectors: bool = False
) -> Backends:
    """Open the backends; a store that does not exist is created, empty.

    The model is loaded in the background; with ``wait_for_model`` this returns once it is loaded or known to be
    missing. ``builds_in_subprocess``: build the vector index in another process, because several servers share
    this one. ``repairs_vectors``: the caller repairs the vectors, so they need not match the catalogue yet. Raises
    ``WinnowError``: "INDEX_HELD" if another process holds the index, "INDEX_UNAVAILABLE" if it cannot be opened or
    reached.
    """
    prepare_store(settings.store)
    with map_os_errors(settings.store):
        return _open(
            settings,
            wait_for_model=wait_for_model,
            builds_in_subprocess=builds_in_subprocess,
            repairs_vectors=repairs_vectors,
        )


def _open(
    settings: Settings, *, wait_for_model: bool, builds_in_subprocess: bool, repairs_vectors: bool
) -> Backends:
    embedder = LazyEmbedder(settings)
    embedder.start()
    catalogue = Catalogue(catalogue_path(settings))
    graph: GraphStore | None = None
    store: CurrentVectors | None = None
    try:
        graph = open_graph(settings)
        check_finished(settings.store, str(settings.qdrant_url or ""))
        binding = _bind_vectors(settings, catalogue, embedder)
        if not repairs_vectors:
            require_vectors(settings, catalogue, binding)
        store = _open_current_vectors(settings, catalogue, binding, builds_in_subprocess=builds_in_subprocess)
        if not settings.qdrant_url:
            remove_leftovers(settings.store, catalogue)
            if not repairs_vectors:
                check_counts(settings.store, catalogue, store)
    except BaseException:
        if store:
            store.close()
        catalogue.close()
        if graph:
            graph.close()
        raise
    if wait_for_model:
        embedder.wait()
    selected, languages_of = cache_selections(catalogue), cache_languages(catalogue)
    scope_of = _scopes_of(selected)
    if any(is_mixed(languages_of(project)) for project in settings.reachable):
        Thread(target=load_language_model, name="winnow-languages", daemon=True).start()
    retriever = Retriever(
        store,
        embedder,
        _embeddings(catalogue, store, embedder),
        settings.fusion,
        graph,
        scope_of,
        languages_of=languages_of,
        paths_of=partial(_paths_of, selected),
    )
    return Backends(
        catalogue,
        store,
        graph,
        embedder,
        retriever,
        scope_of,
        cache_labels(catalogue),
        cache_fields(catalogue),
        _cache_sizes(catalogue, store),
        open_claim_library(settings),
        _reranker_of(settings),
        _nli_model_of(settings),
    )


def open_claim_library(settings: Settings) -> ClaimLibrary:
    """The entries of the store, or those on the server at ``notebook_url``; nothing is opened yet."""
    address, token = settings.notebook_url, settings.notebook_token
    if address is None:
        return ClaimLibrary(settings.store)

    def reach() -> HttpNotebook:
        from winnow.server.claims.http_notebook import HttpNotebook

        return HttpNotebook(address.whole, token.get_secret_value() if token else "")

    return ClaimLibrary(settings.store, reach)


def require_vectors(settings: Settings, catalogue: Catalogue, binding: Binding) -> None:
    """Raise ``WinnowError`` if the folder of the vectors is lost: opening would make an empty one in its place."""
    if not settings.qdrant_url and not (settings.store / binding.vectors).is_dir():
        _compare_counts(settings.store, catalogue.chunk_count(), 0)


def check_counts(store: Path, catalogue: Catalogue, vectors: VectorStore) -> None:
    """Raise ``WinnowError`` if vectors are missing.

    An ingest writes points before chunks and removes chunks before points, so there are never fewer points.
    """
    _compare_counts(store, catalogue.chunk_count(), vectors.count())


def _compare_counts(store: Path, chunks: int, points: int) -> None:
    if points >= chunks > 0 or points == chunks:
        return
    missing = (
        f"the vectors hold {points:,} of {chunks:,} chunks; to rebuild them from the text in the store, run: "
        "winnow reindex"
        if chunks
        else f"the catalogue is empty, the vectors hold {points:,} chunks; {REPAIR}"
    )
    raise WinnowError("INDEX_UNAVAILABLE", f"the index in {store} is incomplete: {missing}")


def catalogue_path(settings: Settings) -> Path:
    """The path of the catalogue, whether it exists or not."""
    return settings.store / CATALOGUE


def open_vectors(settings: Settings, catalogue: Catalogue) -> VectorStore:
    """Open the vectors of this catalogue, in its folder or on the server of the settings; creates missing ones.

    ``require_vectors`` and ``check_counts`` say whether they are those of its chunks.

    Raises ``WinnowError`` as ``open_backends`` does.
    """
    return open_store(settings, catalogue.identity, catalogue.binding)


def open_fact_store(settings: Settings) -> SqliteFactStore:
    """Open the store of the facts that the graph is built from."""
    return SqliteFactStore(settings.store / "ledger.sqlite3", str(settings.neo4j_url or ""))


def cache_selections(catalogue: Catalogue) -> Callable[[Filters], Selection]:
    """A cached function: the documents that filters admit."""

    @lru_cache(maxsize=_SCOPES)
    def at(filters: Filters, generation: int) -> Selection:
        documents = catalogue.documents_within(filters)
        return Selection(
            frozenset(document.id for document in documents), tuple(document.uri for document in documents)
        )

    return lambda filters: at(filters, catalogue.generation(filters.project))


def cache_scopes(catalogue: Catalogue) -> Callable[[Filters], Scope]:
    """A cached function: the ids of the documents that filters admit; None for the whole project."""
    return _scopes_of(cache_selections(catalogue))


def _scopes_of(selected: Callable[[Filters], Selection]) -> Callable[[Filters], Scope]:
    return lambda filters: None if filters == Filters(filters.project) else selected(filters).ids


def _paths_of(selected: Callable[[Filters], Selection], filters: Filters) -> tuple[str, ...]:
    """The paths by which an index finds the documents that ``path`` and ``where`` match: one if it is a folder."""
    paths, folder = selected(filters).paths, filters.path.rstrip("/")
    is_folder = (
        not filters.where and not is_glob(folder) and all(f"{path}/".startswith(f"{folder}/") for path in paths)
    )
    return (folder,) if is_folder and paths else paths


def cache_labels(catalogue: Catalogue) -> Callable[[Filters], Labels]:
    """A cached function: the labels of the documents that filters admit."""

    @lru_cache(maxsize=_SCOPES)
    def at(filters: Filters, generation: int) -> Labels:
        return catalogue.labels(filters)

    return lambda filters: at(filters, catalogue.generation(filters.project))


def cache_fields(catalogue: Catalogue) -> Callable[[Filters], frozenset[str]]:
    """A cached function: the names of the metadata of the documents that filters admit."""

    @lru_cache(maxsize=_SCOPES)
    def at(filters: Filters, generation: int) -> frozenset[str]:
        return catalogue.fields(filters)

    return lambda filters: at(filters, catalogue.generation(filters.project))


def cache_languages(catalogue: Catalogue) -> Callable[[str], Mapping[str, int]]:
    """A cached function: the number of a project's documents by language."""

    @lru_cache(maxsize=_SCOPES)
    def at(project: str, generation: int) -> Mapping[str, int]:
        return MappingProxyType(catalogue.languages(project))

    return lambda project: at(project, catalogue.generation(project))


def _cache_sizes(
    catalogue: Catalogue, vectors: CurrentVectors
) -> Callable[[Sequence[str]], tuple[tuple[ProjectSize, ...], int]]:
    """A cached function: the sizes of those projects that exist, and the number of vectors of all projects."""

    @lru_cache(maxsize=_SCOPES)
    def at(generations: tuple[tuple[str, int], ...]) -> tuple[tuple[ProjectSize, ...], int]:
        asked = {name for name, _ in generations}
        found = (info for info in catalogue.existing_projects() if info.name in asked)
        sizes = (ProjectSize(info.name, info.documents, info.chunks, info.changed) for info in found)
        return tuple(sizes), vectors.count()

    return lambda projects: at(tuple((project, catalogue.generation(project)) for project in projects))


def open_graph(settings: Settings) -> GraphStore | None:
    """Open the graph, creating it if it is missing; None if it is switched off.

    Every call of a damaged one raises its error. Raises ``WinnowError("INDEX_UNAVAILABLE")`` if it cannot be
    opened or reached for another reason.
    """
    if settings.graph == "off":
        return None
    if settings.neo4j_url:
        return open_neo4j(settings)
    try:
        return SqliteGraph(settings.store / "graph.sqlite3")
    except WinnowError as error:
        if not error.details.get("damaged"):
            raise
        log("the graph is damaged; searches go on without it", level=40, why=error.message)
        return cast("GraphStore", DamagedGraph(error))


def _reranker_of(settings: Settings) -> Callable[[], Reranker | None]:
    folder = settings.reranker
    if folder is None:
        return _no_model

    @cache
    def loaded() -> Reranker:
        from winnow.server.backends.models.cross_encoder import CrossEncoder

        return CrossEncoder(folder)

    return loaded


def _nli_model_of(settings: Settings) -> Callable[[], ContradictionModel | None]:
    folder = settings.nli_model
    if folder is None:
        return _no_model

    @cache
    def loaded() -> ContradictionModel:
        from winnow.server.backends.models.entailment import EntailmentModel

        return EntailmentModel(folder)

    return loaded


def open_store(settings: Settings, identity: str, binding: Binding, *, is_unlocked: bool = False) -> VectorStore:
    """Open the vectors of the catalogue ``identity`` with this binding, creating missing ones."""
    if settings.qdrant_url:
        return _open_server(settings, identity, binding)
    return _open_embedded(settings, binding, is_unlocked=is_unlocked)


def _bind_vectors(settings: Settings, catalogue: Catalogue, embedder: LazyEmbedder) -> Binding:
    """The catalogue's binding to its vectors; an empty catalogue is bound to the dimension of the model."""
    binding = catalogue.binding
    if catalogue.chunk_count() or settings.embedding == "off":
        return binding
    model = find_record(settings) or embedder.wait()
    dimension = model.dimension if model else DEFAULT.dimension
    if dimension != binding.dimension:
        binding = Binding(folder_name(dimension), dimension)
        catalogue.bind(binding)
    return binding


def _open_current_vectors(
    settings: Settings, catalogue: Catalogue, binding: Binding, *, builds_in_subprocess: bool
) -> CurrentVectors:
    """Lock the store and open its current vectors. Raises as ``open_backends`` does."""
    if settings.qdrant_url:
        return CurrentVectors(catalogue, binding, lambda bound: _open_server(settings, catalogue.identity, bound))
    lock = StoreLock(settings.store, HOLDER)
    try:
        return CurrentVectors(
            catalogue,
            binding,
            lambda bound: _open_embedded(
                settings, bound, is_unlocked=True, is_built_by_caller=builds_in_subprocess
            ),
            build_vectors=_builder_of(settings) if builds_in_subprocess else None,
            build_every=_points_at_once(settings),
            discard=lambda former: shutil.rmtree(settings.store / former.vectors, ignore_errors=True),
            on_close=lock.release,
        )
    except BaseException:
        lock.release()
        raise


def _builder_of(settings: Settings) -> BuildVectors:
    return lambda binding, count: build_in_subprocess(settings.store, binding, count, settings.index_memory_mb)


def _embeddings(catalogue: Catalogue, vectors: CurrentVectors, embedder: LazyEmbedder) -> Callable[[str], str]:
    """A function: the embedding fingerprint of a project's vectors in the open store.

    It opens newer vectors of the same model if they have replaced the open ones. Vectors of another model stay
    closed, because this process could not query them.
    """
    last: dict[str, str] = {}

    def embedding_of(project: str) -> str:
        if not vectors.is_current():
            model = embedder.ready()
            if model is None or model.fingerprint != catalogue.embedding(project) or not vectors.open_current():
                return last.get(project, "")
        last[project] = catalogue.embedding(project)
        return last[project]

    return embedding_of


# Each vendor takes long to import, and only one is needed.


def open_neo4j(settings: Settings, *, space: str = "", query_seconds: float | None = None) -> GraphStore:
    """Open the graph on the server at ``neo4j_url``; ``query_seconds`` overrides the store's own limit."""
    from winnow.server.backends.graphs.neo4j import QUERY_SECONDS, Neo4jGraph

    assert settings.neo4j_url is not None
    password = settings.neo4j_password
    return Neo4jGraph(
        settings.neo4j_url.whole,
        settings.neo4j_user if password else "",
        password.get_secret_value() if password else "",
        space=space,
        query_seconds=QUERY_SECONDS if query_seconds is None else query_seconds,
    )


def _points_at_once(settings: Settings) -> int:
    from winnow.server.backends.vectors.edge import points_between_builds

    return points_between_builds(settings.index_memory_mb)


def _open_embedded(
    settings: Settings, binding: Binding, *, is_unlocked: bool, is_built_by_caller: bool = False
) -> VectorStore:
    from winnow.server.backends.vectors.edge import EdgeStore

    return EdgeStore(
        settings.store,
        binding.dimension,
        settings.index_memory_mb,
        vectors=binding.vectors,
        is_unlocked=is_unlocked,
        is_built_by_caller=is_built_by_caller,
    )


def _open_server(settings: Settings, identity: str, binding: Binding) -> VectorStore:
    from winnow.server.backends.vectors.qdrant import CollectionLayout, QdrantStore

    assert settings.qdrant_url is not None
    key = settings.qdrant_api_key
    return QdrantStore(
        settings.qdrant_url.whole,
        binding.dimension,
        # Two catalogues must not share a collection: points that are not in the catalogue are deleted as
        # leftovers.
        collection="-".join(["winnow", identity, *binding.vectors.split("-")[1:]]),
        api_key=key.get_secret_value() if key else None,
        layout=CollectionLayout(settings.qdrant_shards, settings.qdrant_replicas, settings.qdrant_on_disk),
    )
