"""Builds the target of an ingest (the stores, model and graph it writes to), and runs a request into it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from hashlib import blake2b
from pathlib import Path

from winnow.server.backends.opening import Backends, open_fact_store
from winnow.server.claims.life_cycle import check_project
from winnow.server.errors import WinnowError
from winnow.server.ingest.pipeline import GraphTarget, Target, ingest_files
from winnow.server.ingest.report import IngestReport, OnProgress
from winnow.server.ingest.selection.request import IngestRequest
from winnow.server.readers.extraction.gazetteer import NO_GAZETTEER, Gazetteer, read_gazetteer
from winnow.server.retrieval.graph.base import GraphStore
from winnow.server.settings.settings import Settings
from winnow.server.storage.base import Embedder


def target_of(settings: Settings, backends: Backends, embedder: Embedder | None) -> Target:
    """The target of an ingest into the project of these settings.

    Raises ``WinnowError``: "INVALID_REQUEST" if the gazetteer (setting ``entities``) cannot be read,
    "EMBEDDING_MISMATCH" if the store's vectors have another dimension than the model's, "INDEX_HELD" if vectors of
    another model have replaced the open ones.
    """
    if not backends.store.is_current() and not _open_replaced_vectors(backends, embedder):
        raise WinnowError(
            "INDEX_HELD",
            "the store was re-embedded with another model than the one loaded here; run: winnow engine stop, then "
            "give every host the same --embedder",
        )
    if embedder and embedder.dimension != backends.store.binding.dimension:
        raise WinnowError(
            "EMBEDDING_MISMATCH",
            f"the store's vectors have {backends.store.binding.dimension} dimensions, those of "
            f"{embedder.fingerprint} have {embedder.dimension}; to change to this model, run: winnow reindex "
            f"--embedder {settings.embedder}",
        )
    graph = graph_target_of(settings, backends.graph) if backends.graph else None
    check_claims = partial(check_project, backends.claims, backends.catalogue)
    return Target(
        settings.project,
        backends.catalogue,
        backends.store,
        embedder,
        graph,
        follow_up=check_claims,
        allows_weaker=settings.allow_weaker_reader,
    )


def open_target(settings: Settings, backends: Backends) -> tuple[Target, tuple[str, ...]]:
    """The target with the backends' own model, once it is loaded; and a warning if there is no model.

    Raises as ``target_of`` does.
    """
    embedder = backends.embedder.wait()
    warnings = () if embedder else (f"indexed by words alone: {backends.embedder.why}",)
    return target_of(settings, backends, embedder), warnings


def run_request(
    settings: Settings, backends: Backends, request: IngestRequest, progress: OnProgress
) -> IngestReport:
    """Ingest into the project of these settings. Raises as ``open_target`` and ``ingest_parts`` do."""
    target, warnings = open_target(settings, backends)
    if request.zotero:
        from winnow.server.ingest.zotero.ingesting import ingest_zotero

        report = ingest_zotero(target, request, settings.store, progress)
    else:
        report = ingest_files(target, request, progress)
    return replace(report, warnings=warnings + report.warnings)


def _open_replaced_vectors(backends: Backends, embedder: Embedder | None) -> bool:
    """Open the replacement vectors, unless another model made them; return whether they are open now."""
    fingerprints = {project.embedding for project in backends.catalogue.projects()}
    return (embedder is None or fingerprints <= {embedder.fingerprint}) and backends.store.open_current()


def graph_target_of(settings: Settings, graph: GraphStore) -> GraphTarget:
    """The part of the target that updates the graph. Raises as ``target_of`` does."""
    gazetteer, digest = _read_gazetteer(settings.entities) if settings.entities else (NO_GAZETTEER, "")
    return GraphTarget(graph, open_fact_store(settings), gazetteer, digest, settings.store)


def _read_gazetteer(path: Path) -> tuple[Gazetteer, str]:
    try:
        return read_gazetteer(path), blake2b(path.read_bytes(), digest_size=8).hexdigest()
    except OSError as error:
        raise WinnowError("INVALID_REQUEST", f"entities: {path} cannot be read: {error.strerror}") from None
