"""Settings and open backends to what an ingest writes to."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

from server.backends.base import Embedder
from server.errors import WinnowError
from server.graph.base import GraphStore
from server.graph.extraction.gazetteer import NO_GAZETTEER, Gazetteer, read_gazetteer
from server.ingest.pipeline import GraphTarget, Target
from server.opening import Backends, open_fact_store
from server.settings import Settings


def target_of(settings: Settings, backends: Backends, embedder: Embedder | None) -> Target:
    """Where the project of these settings is written to.

    Raises ``WinnowError``: "INVALID_REQUEST" where the user's own names (setting ``entities``) cannot be read,
    "EMBEDDING_MISMATCH" where the store's vectors have another dimension than the model's, "INDEX_HELD" where
    others have taken the place of those that are open.
    """
    if not backends.store.is_current() and not _followed(backends, embedder):
        raise WinnowError(
            "INDEX_HELD",
            "the store was embedded anew with another model than is loaded here; run: winnow engine stop, and "
            "give every host the same --embedder",
        )
    if embedder and embedder.dimension != backends.store.binding.dimension:
        raise WinnowError(
            "EMBEDDING_MISMATCH",
            f"the store's vectors have {backends.store.binding.dimension} dimensions, those of "
            f"{embedder.fingerprint} {embedder.dimension}; to change to it run: winnow reindex "
            f"--embedder {settings.embedder}",
        )
    graph = graph_target_of(settings, backends.graph) if backends.graph else None
    return Target(settings.project, backends.catalogue, backends.store, embedder, graph)


def _followed(backends: Backends, embedder: Embedder | None) -> bool:
    """Whether the vectors that took the place of the former ones are open now: those of another model are not."""
    made_with = {one.embedding for one in backends.catalogue.projects()}
    return (embedder is None or made_with <= {embedder.fingerprint}) and backends.store.open_current()


def graph_target_of(settings: Settings, graph: GraphStore) -> GraphTarget:
    """How the graph is written to. Raises as ``target_of`` does."""
    gazetteer, digest = _own_names(settings.entities) if settings.entities else (NO_GAZETTEER, "")
    return GraphTarget(graph, open_fact_store(settings), gazetteer, digest)


def _own_names(path: Path) -> tuple[Gazetteer, str]:
    try:
        return read_gazetteer(path), blake2b(path.read_bytes(), digest_size=8).hexdigest()
    except OSError as error:
        raise WinnowError("INVALID_REQUEST", f"entities: {path} cannot be read: {error.strerror}") from None
