"""Chunks to points: their words and their vectors, computed while others are read and written."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from server.backends.base import Embedder, Point, payload_of
from server.ingest.chunking import indexed_text
from server.models import Chunk, Document
from server.retrieval.lexical import document_vector

Embedded = Sequence[Future[list[Point]]]

# Chunks in one piece of work: a fifth of a second of embedding, which is how long Ctrl-C waits.
PORTION = 32
# Pieces at once: while one computes its words or ends, the other keeps the model busy on all cores.
_AT_ONCE = 2


class Embedding:
    """Computes points in threads of its own. Leaving it drops what has not begun."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="winnow-points")

    def __enter__(self) -> Embedding:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)

    def begin(self, rows: Sequence[tuple[Document, Chunk]]) -> Embedded:
        """The points of these chunks, some time later, in their order."""
        portions = (rows[start : start + PORTION] for start in range(0, len(rows), PORTION))
        return [self._threads.submit(points, portion, self._embedder) for portion in portions]


def points(rows: Sequence[tuple[Document, Chunk]], embedder: Embedder | None) -> list[Point]:
    """The points of chunks and the documents that they are from; without vectors where there is no model."""
    texts = [indexed_text(document.title, one.heading_path, one.text) for document, one in rows]
    vectors = embedder.embed(texts) if embedder and texts else [None] * len(texts)
    return [
        Point(one.id, document_vector(document.title, text, document.language), vector, payload_of(document))
        for (document, one), text, vector in zip(rows, texts, vectors, strict=True)
    ]
