"""Chunks to points: their words and their vectors, computed while others are read and written."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from server.backends.base import Embedder, Point, payload_of
from server.ingest.chunking import indexed_text
from server.models import Chunk, Document
from server.retrieval.lexical import build_document_vector

Rows = Sequence[tuple[Document, Chunk]]

# Chunks in one piece of work: a fifth of a second of embedding, which is how long Ctrl-C waits.
PORTION = 32
# Pieces at once: while one computes its words or ends, the other keeps the model busy on all cores.
_AT_ONCE = 2
# Pieces of one batch that are computed before the first is taken: a batch of a huge document has thousands.
_PIECES_AHEAD = 8
# Points in one write.
_WRITTEN_AT_ONCE = 512


class EmbeddedBatch:
    """The points of one batch, in the making: a bounded number of pieces ahead of the one that is taken."""

    def __init__(self, threads: ThreadPoolExecutor, embedder: Embedder | None, rows: Rows) -> None:
        self._threads, self._embedder, self._rows = threads, embedder, rows
        self._begun = 0
        self._pieces: deque[Future[list[Point]]] = deque()
        self._begin()

    def portions(self) -> Iterator[list[Point]]:
        """The points in their order, in portions to write; each is computed and given out once."""
        held: list[Point] = []
        while self._pieces:
            held += self._pieces.popleft().result()
            self._begin()
            if len(held) >= _WRITTEN_AT_ONCE or not self._pieces:
                yield held
                held = []

    def _begin(self) -> None:
        while self._begun < len(self._rows) and len(self._pieces) < _PIECES_AHEAD:
            rows = self._rows[self._begun : self._begun + PORTION]
            self._pieces.append(self._threads.submit(make_points, rows, self._embedder))
            self._begun += len(rows)


class EmbeddingStage:
    """Computes points in threads of its own. Leaving it drops what has not begun."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="winnow-points")

    def __enter__(self) -> EmbeddingStage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)

    def begin(self, rows: Rows) -> EmbeddedBatch:
        """The points of these chunks, some time later, in their order."""
        return EmbeddedBatch(self._threads, self._embedder, rows)


def make_points(rows: Rows, embedder: Embedder | None) -> list[Point]:
    """The points of chunks and the documents that they are from; without vectors where there is no model."""
    texts = [indexed_text(document.title, one.heading_path, one.text) for document, one in rows]
    different = list(dict.fromkeys(texts))  # what a document repeats is embedded once in a piece of work
    vectors = dict(zip(different, embedder.embed(different), strict=True)) if embedder and texts else {}
    return [
        Point(
            one.id,
            build_document_vector(document.title, text, document.language),
            vectors.get(text),
            payload_of(document),
        )
        for (document, one), text in zip(rows, texts, strict=True)
    ]
