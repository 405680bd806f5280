"""Rebuilds the vectors of all chunks in an empty vector store, for another model or because vectors are lost.

Chunks are embedded from their text in the catalogue; no file is read. Points that are already in the store are
kept, so that an interrupted run continues.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass

from winnow.server.errors import WinnowError
from winnow.server.ingest.pipeline import Progress
from winnow.server.ingest.read_ahead import read_ahead
from winnow.server.ingest.writing.embedding import EmbeddedBatch, EmbeddingStage
from winnow.server.models import Chunk, Document
from winnow.server.storage.base import DocumentStore, Embedder, VectorStore

_BATCH_CHUNKS = 128
# Batches in memory: one being written, the others embedded or waiting.
_BATCHES_HELD = 3


@dataclass(frozen=True, slots=True)
class EmbeddingCounts:
    """Counts of a run: ``chunks`` were embedded by it, ``kept`` by an interrupted run before it."""

    documents: int
    chunks: int
    kept: int
    seconds: float


@dataclass(frozen=True, slots=True)
class _Batch:
    documents: int
    chunks: int
    points: EmbeddedBatch


def embed_all(
    catalogue: DocumentStore,
    store: VectorStore,
    embedder: Embedder | None,
    progress: Callable[[Progress], None] | None = None,
) -> EmbeddingCounts:
    """Write a point for each chunk of every project to ``store``, with vectors of ``embedder`` if there is one.

    The caller must be the catalogue's only writer. Raises what the embedder and the store raise; chunks that were
    reported to ``progress`` are stored durably.
    """
    began, projects = time.monotonic(), catalogue.projects()
    present = {chunk for project in projects for chunk in store.ids(project.name)}
    total, chunks = sum(project.chunks for project in projects), 0
    documents, all_documents = 0, sum(project.documents for project in projects)
    with (
        EmbeddingStage(embedder) as embedding,
        closing(
            read_ahead(
                _batches(catalogue, present, embedding), _BATCHES_HELD * _BATCH_CHUNKS, lambda batch: batch.chunks
            )
        ) as batches,
    ):
        for batch in batches:
            for points in batch.points.portions():
                store.upsert(points)
            store.flush()
            documents, chunks = documents + batch.documents, chunks + batch.chunks
            if progress:
                seconds = time.monotonic() - began
                left = seconds / chunks * (total - len(present) - chunks) if chunks else None
                fraction = (len(present) + chunks) / total if total else 1.0
                rate = chunks / max(seconds, 1e-9)
                progress(Progress(documents, all_documents, len(present) + chunks, rate, left, min(fraction, 1.0)))
    if store.count() != total:
        raise WinnowError(
            "INDEX_UNAVAILABLE",
            f"the vectors hold {store.count():,} points for {total:,} chunks; run again: winnow reindex",
        )
    store.optimize()
    store.flush()
    return EmbeddingCounts(documents, chunks, len(present), time.monotonic() - began)


def _batches(catalogue: DocumentStore, present: set[str], embedding: EmbeddingStage) -> Iterator[_Batch]:
    documents, rows = 0, list[tuple[Document, Chunk]]()
    for document in _all_documents(catalogue):
        documents += 1
        rows += [
            (document, chunk)
            for chunk in catalogue.chunks(document.id, document.project)
            if chunk.id not in present
        ]
        if len(rows) >= _BATCH_CHUNKS:
            yield _Batch(documents, len(rows), embedding.begin(rows))
            documents, rows = 0, []
    yield _Batch(documents, len(rows), embedding.begin(rows))


def _all_documents(catalogue: DocumentStore) -> Iterable[Document]:
    return (document for project in catalogue.projects() for document in catalogue.documents(project.name))
