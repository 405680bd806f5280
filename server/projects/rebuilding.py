"""Embeds every chunk of a store again, into a second set of vectors that replaces the first at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.opening import open_store
from winnow.server.backends.vectors.reindex_plan import finish_reindex, plan_reindex
from winnow.server.ingest.pipeline import Progress
from winnow.server.ingest.reindexing import EmbeddingCounts, embed_all
from winnow.server.ingest.writing.embedding import check_binding
from winnow.server.projects.removal import check_no_import, clear_hidden, forget_removed
from winnow.server.settings.settings import Settings
from winnow.server.storage.base import Embedder


@dataclass(frozen=True, slots=True)
class ReindexReport:
    """Counts of a reindex and its model; the fingerprint is "" for an index by words alone."""

    fingerprint: str
    dimension: int
    report: EmbeddingCounts


def rebuild_vectors(
    settings: Settings, catalogue: Catalogue, model: Embedder | None, on_progress: Callable[[Progress], None]
) -> ReindexReport:
    """Embed every chunk of every project with this model, by words alone without one, and purge deleted projects.

    An interrupted run is continued by the next one. Raises ``WinnowError``: "INDEX_HELD" where another process
    writes to the store, "EMBEDDING_MISMATCH" where the settings of a project name another model, and what the
    model and the store raise.
    """
    fingerprint = model.fingerprint if model else ""
    for project in catalogue.existing_projects():
        check_binding(catalogue, project.name, fingerprint)
    dimension = model.dimension if model else catalogue.binding.dimension
    with catalogue.only_writer():
        check_no_import(catalogue)
        removed = clear_hidden(catalogue)
        binding = plan_reindex(settings.store, catalogue, fingerprint, dimension)
        target = open_store(settings, catalogue.identity, binding, is_unlocked=True)
        try:
            report = embed_all(catalogue, target, model, on_progress)
        finally:
            target.close()
        finish_reindex(settings.store, catalogue, binding, fingerprint)
        forget_removed(settings, catalogue, removed)
        return ReindexReport(fingerprint, dimension, report)
