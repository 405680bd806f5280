"""How fast documents become an index: end to end, and each stage alone, over the same chunks in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median
from typing import Any

from server.backends.base import (
    CatalogueChanges,
    CatalogueEntry,
    DocumentStore,
    Embedder,
    Point,
    VectorStore,
    payload_of,
)
from server.errors import WinnowError
from server.ids import document_id
from server.ingest.chunking import chunk, indexed_text
from server.ingest.documents import RawDocument
from server.ingest.embedding import PORTION
from server.ingest.pipeline import IngestReport, Target, ingest_documents
from server.models import Chunk, Document
from server.retrieval.lexical import document_vector

PROJECT = "bench"
# Calls of the model at once, as an ingest makes them.
_AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Workload:
    """Documents, cut: what every round and every peer is given."""

    documents: tuple[RawDocument, ...]
    rows: tuple[tuple[Document, str, tuple[Chunk, ...]], ...]

    @property
    def texts(self) -> list[str]:
        """What is embedded and indexed for each chunk."""
        return [
            indexed_text(document.title, one.heading_path, one.text)
            for document, _, chunks in self.rows
            for one in chunks
        ]

    @property
    def tokens(self) -> int:
        """Tokens in all chunks, without their heading prefixes."""
        return sum(one.tokens for _, _, chunks in self.rows for one in chunks)


@dataclass(frozen=True, slots=True)
class Place:
    """An empty index to write to."""

    catalogue: DocumentStore
    store: VectorStore


def workload(documents: Iterator[RawDocument], chunks: int) -> Workload:
    """The first documents that make so many chunks. Raises ``WinnowError("INVALID_REQUEST")`` for none."""
    taken: list[RawDocument] = []
    rows: list[tuple[Document, str, tuple[Chunk, ...]]] = []
    while sum(len(some) for _, _, some in rows) < chunks and (raw := next(documents, None)):
        document = _document(raw)
        taken.append(raw)
        rows.append((document, raw.text, chunk(document, raw.text)))
    if not any(some for _, _, some in rows):
        raise WinnowError("INVALID_REQUEST", "there is nothing to index; name a folder that holds documents")
    return Workload(tuple(taken), tuple(rows))


def end_to_end(work: Workload, place: Place, embedder: Embedder) -> dict[str, float]:
    """One ingest of the documents into an empty index: chunks a second, and processor time for each."""
    target = Target(PROJECT, place.catalogue, place.store, embedder)
    made: list[IngestReport] = []
    row = _timed(
        sum(len(some) for _, _, some in work.rows),
        lambda: made.append(ingest_documents(target, "bench", work.documents)),
    )
    if made[0].failures:
        raise WinnowError("INVALID_REQUEST", f"{made[0].failures[0].name}: {made[0].failures[0].reason}")
    return row


def stages(work: Workload, place: Place, embedder: Embedder) -> dict[str, dict[str, float]]:
    """Each stage of an ingest alone, one after the other: what it costs, and what bounds the whole."""
    texts, count = work.texts, len(work.texts)
    points: list[Point] = []

    def embed() -> None:
        portions = [texts[at : at + PORTION] for at in range(0, count, PORTION)]
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            vectors = [row for rows in threads.map(embedder.embed, portions) for row in rows]
        owners = [(document, one) for document, _, some in work.rows for one in some]
        for (document, one), text, vector in zip(owners, texts, vectors, strict=True):
            points.append(Point(one.id, document_vector(document.title, text), vector, payload_of(document)))

    def write() -> None:
        place.catalogue.begin_write(PROJECT)
        place.store.upsert(points)
        place.store.flush()
        entries = [CatalogueEntry(document, text, some) for document, text, some in work.rows]
        place.catalogue.apply(CatalogueChanges(PROJECT, "bench", entries))

    return {
        "cut": _timed(count, lambda: [chunk(document, text) for document, text, _ in work.rows]),
        "words": _timed(count, lambda: [document_vector("", text) for text in texts]),
        "embed": _timed(count, embed),
        "write": _timed(count, write),
    }


def middle(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """The median of each figure over the rounds."""
    return {name: round(median(row[name] for row in rows), 3) for name in rows[0]}


def _timed(chunks: int, work: Callable[[], object]) -> dict[str, float]:
    began, busy = time.perf_counter(), time.process_time()
    work()
    seconds, processor = time.perf_counter() - began, time.process_time() - busy
    return {
        "chunks_per_s": round(chunks / seconds, 1),
        "processor_ms_per_chunk": round(processor / chunks * 1000, 3),
    }


def _document(raw: RawDocument) -> Document:
    id = document_id(PROJECT, raw.uri)
    return Document(id, PROJECT, raw.uri, "bench", raw.title, raw.type, "")


def summary(work: Workload) -> dict[str, Any]:
    """What was indexed."""
    count = len(work.texts)
    return {"documents": len(work.documents), "chunks": count, "tokens_per_chunk": round(work.tokens / count, 1)}
