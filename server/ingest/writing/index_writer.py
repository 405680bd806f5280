"""Writes batches of an ingest to the stores so that a kill at any moment loses nothing that was reported.

Theory of operation. The catalogue is the truth, the vector store follows it. For each batch::

    1. documents whose points get other labels are marked in the catalogue as doubtful
    2. points of new chunks, and labels of kept points -> vector store
                                                       killed here: points that the catalogue does not know
    3. documents, chunks, stamps -> catalogue          one transaction; from here on it is done, and reported
    4. points of former chunks out of the vector store     killed before this: the same

The first write of a run marks the project as unfinished, the end removes the mark. A run that finds the mark (or
a different number of points than of chunks) first compares the two stores by id, deletes points without a chunk
and writes those that are missing or doubtful. Ids are digests, so repeating a step has the same result. A file's
*stamp* (size, time, labels, options) is written together with its last document: a file with an equal stamp was
read to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from winnow.server.errors import WinnowError
from winnow.server.ingest.graph_update import GraphTarget
from winnow.server.ingest.writing.batches import Batch
from winnow.server.ingest.writing.embedding import make_points
from winnow.server.storage.base import CatalogueChanges, DocumentStore, Embedder, VectorStore, payload_of
from winnow.server.storage.project_states import ProjectState

_CHUNKS_PER_REPAIR = 128
_LOST = (
    "the vectors hold {points:,} of {chunks:,} chunks, and another model made the others; to make all again from "
    "the text in the store, run: winnow reindex"
)


@dataclass(frozen=True, slots=True)
class Target:
    """The stores that an ingest writes to.

    ``embedder`` is None without a model: the index is lexical then. ``graph`` is None without a graph. ``state``
    is what the project must have: "importing" where it stays hidden until the ingest is complete. ``follow_up`` is
    called with the project after a run that changed its index, and returns warnings for the report.
    ``allows_weaker``: formats other than text are read without walls where these are missing.
    """

    project: str
    catalogue: DocumentStore
    store: VectorStore
    embedder: Embedder | None
    graph: GraphTarget | None = None
    state: ProjectState = ""
    follow_up: Callable[[str], Sequence[str]] | None = None
    allows_weaker: bool = False


class IndexWriter:
    """Writes to the catalogue and the vector store of a target.

    ``deleted`` counts the deleted documents, ``remade`` the points that were made again because they were lost.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self.has_written = False
        self.deleted = self.remade = 0

    def write(self, batch: Batch, on_computed: Callable[[int], None] = lambda count: None) -> None:
        """Write new points, then the catalogue, then delete old points: see the theory of operation above.

        ``on_computed`` hears how many more points were computed, and may raise to end the run.
        """
        target = self._target
        stale = [id for document in batch.prepared for id in document.stale]
        stale += [id for document in batch.deleted for id in self._chunk_ids(document)]
        if batch.is_change:
            self._mark_unfinished()
            if dirty := [each.entry.document.id for each in batch.prepared if each.is_dirty]:
                target.catalogue.mark_dirty(dirty)
            for points in batch.points.portions(on_computed) if batch.points else ():
                target.store.upsert(points)
            for each in batch.prepared:
                target.store.relabel(each.relabelled, payload_of(each.entry.document))
            target.store.flush()
        entries = [document.entry for document in batch.prepared]
        if batch.is_change or batch.stamps:
            target.catalogue.apply(
                CatalogueChanges(target.project, batch.source, entries, batch.deleted, batch.stamps)
            )
        target.store.delete(stale)
        self.deleted += len(batch.deleted)

    def repair(self, on_computed: Callable[[int], None] = lambda count: None) -> None:
        """Bring the vector store in line with the catalogue, if an earlier run was interrupted or points are lost.

        No run leaves fewer points than chunks, so the store lost them, perhaps those of other projects too, also
        of deleted ones that can be restored. ``on_computed``: as in ``write``; the next run resumes it.
        Raises ``WinnowError("INDEX_UNAVAILABLE")`` where another model made some of them.
        """
        target, points = self._target, self._target.store.count()
        chunks = target.catalogue.chunk_count()
        if target.catalogue.has_unfinished_write(target.project) or points != chunks:
            self._mark_unfinished()
            self._repair_project(on_computed)
        if points < chunks:
            known = {project.name for project in target.catalogue.existing_projects()}
            for name in sorted(known | {*target.catalogue.hidden_projects()}):
                self._restore_points(name, on_computed)
            self.remade = target.store.count() - points
            if points + self.remade < chunks:
                raise WinnowError("INDEX_UNAVAILABLE", _LOST.format(points=points + self.remade, chunks=chunks))

    def _repair_project(self, on_computed: Callable[[int], None]) -> None:
        target = self._target
        expected, present = set(target.catalogue.chunk_ids(target.project)), set(target.store.ids(target.project))
        target.store.delete(sorted(present - expected))
        dirty = [each.id for each in target.catalogue.indexed_documents(target.project) if not each.context_hash]
        missing = sorted((expected - present).union(*map(self._chunk_ids, dirty)))
        self._make_points(missing, target.project, target.embedder, on_computed)

    def _restore_points(self, project: str, on_computed: Callable[[int], None]) -> None:
        """Make the missing points of a project, except those that another model made."""
        target, present = self._target, set(self._target.store.ids(project))
        fingerprint = target.embedder.fingerprint if target.embedder else ""
        for known in target.catalogue.indexed_documents(project):
            missing = [each.id for each in target.catalogue.chunks(known.id, project) if each.id not in present]
            if missing and known.embedding in ("", fingerprint):
                embedder = target.embedder if known.embedding else None
                self._make_points(missing, project, embedder, on_computed)

    def _make_points(
        self, chunk_ids: Sequence[str], project: str, embedder: Embedder | None, on_computed: Callable[[int], None]
    ) -> None:
        for start in range(0, len(chunk_ids), _CHUNKS_PER_REPAIR):
            passages = self._target.catalogue.passages(chunk_ids[start : start + _CHUNKS_PER_REPAIR], project)
            rows = [(passage.document, passage.chunk) for passage in passages.values()]
            self._target.store.upsert(make_points(rows, embedder))
            on_computed(len(rows))

    def finish(self) -> None:
        """Optimize and flush the stores, and remove the mark of an unfinished run."""
        if self.has_written:
            self._target.store.optimize()
            self._target.store.flush()
            self._target.catalogue.finish_write(self._target.project)

    def _mark_unfinished(self) -> None:
        if not self.has_written:
            self._target.catalogue.begin_write(self._target.project)
            self.has_written = True

    def _chunk_ids(self, document: str) -> set[str]:
        return {each.id for each in self._target.catalogue.chunks(document, self._target.project)}
