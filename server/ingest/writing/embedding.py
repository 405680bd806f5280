"""Computes the points of chunks (lexical and dense vectors) in threads while other chunks are read or written."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from winnow.server.errors import WinnowError
from winnow.server.ingest.indexed_text import indexed_text
from winnow.server.models import Chunk, Document
from winnow.server.retrieval.lexical import build_document_vector
from winnow.server.storage.base import DocumentStore, Embedder, Point, payload_of

Rows = Sequence[tuple[Document, Chunk]]

# Chunks per task: a fifth of a second of embedding, which is how long Ctrl-C waits.
CHUNKS_PER_TASK = 32
# Concurrent tasks: while one computes lexical vectors or ends, the other keeps the model busy on all cores.
_TASKS_AT_ONCE = 2
# Tasks of one batch that are submitted before the first result is taken: a batch of a huge document has thousands.
_TASKS_AHEAD = 8
# Points per write.
_POINTS_PER_WRITE = 512


class EmbeddedBatch:
    """The points of one batch, computed by a bounded number of tasks ahead of the result that is taken."""

    def __init__(self, threads: ThreadPoolExecutor, embedder: Embedder | None, rows: Rows) -> None:
        self._threads, self._embedder, self._rows = threads, embedder, rows
        self._submitted = 0
        self._tasks: deque[Future[list[Point]]] = deque()
        self._submit()

    def portions(self, on_computed: Callable[[int], None] = lambda count: None) -> Iterator[list[Point]]:
        """The points in order, in portions to write; each is computed and returned once.

        ``on_computed`` hears how many more were computed.
        """
        held: list[Point] = []
        while self._tasks:
            computed = self._tasks.popleft().result()
            self._submit()
            held += computed
            on_computed(len(computed))
            if len(held) >= _POINTS_PER_WRITE or not self._tasks:
                yield held
                held = []

    def _submit(self) -> None:
        while self._submitted < len(self._rows) and len(self._tasks) < _TASKS_AHEAD:
            rows = self._rows[self._submitted : self._submitted + CHUNKS_PER_TASK]
            self._tasks.append(self._threads.submit(make_points, rows, self._embedder))
            self._submitted += len(rows)


class EmbeddingStage:
    """Computes points in its own threads. Leaving the context cancels tasks that have not begun."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._threads = ThreadPoolExecutor(_TASKS_AT_ONCE, thread_name_prefix="winnow-points")

    def __enter__(self) -> EmbeddingStage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)

    def begin(self, rows: Rows) -> EmbeddedBatch:
        """Begin to compute the points of these chunks; the batch yields them in order."""
        return EmbeddedBatch(self._threads, self._embedder, rows)


def make_points(rows: Rows, embedder: Embedder | None) -> list[Point]:
    """Compute the points of chunks with their documents; without dense vectors if there is no model."""
    texts = [indexed_text(document, chunk) for document, chunk in rows]
    different = list(dict.fromkeys(texts))  # a text that repeats within a task is embedded once
    vectors = dict(zip(different, embedder.embed(different), strict=True)) if embedder and texts else {}
    return [
        Point(
            chunk.id,
            build_document_vector(document.title, text, document.language),
            vectors.get(text),
            payload_of(document),
        )
        for (document, chunk), text in zip(rows, texts, strict=True)
    ]


def check_binding(catalogue: DocumentStore, project: str, fingerprint: str) -> None:
    """Raise ``WinnowError("EMBEDDING_MISMATCH")`` if the project's settings name another model than this."""
    bound = catalogue.project_settings(project).embedder
    if bound not in ("", fingerprint):
        current = f"the model now is {fingerprint}" if fingerprint else "there is no model now"
        raise WinnowError(
            "EMBEDDING_MISMATCH",
            f"project {project!r} takes only vectors of {bound}, and {current}; set the embedder to that model "
            f"(winnow model show), or allow any: winnow project set {project} --reset embedder",
            details={"project": project, "bound_to": bound, "model": fingerprint},
        )


def check_model(catalogue: DocumentStore, project: str, fingerprint: str) -> None:
    """Raise ``WinnowError("EMBEDDING_MISMATCH")`` if the project's vectors come from another model than this.

    Also if its settings name another one.
    """
    check_binding(catalogue, project, fingerprint)
    indexed_with = catalogue.embedding(project)
    if indexed_with not in ("", fingerprint):
        current, advice = (
            (f"the model now is {fingerprint}", "change the whole store to this one: winnow reindex")
            if fingerprint
            else ("there is no model now", "ingest into another --project")
        )
        raise WinnowError(
            "EMBEDDING_MISMATCH",
            f"project {project!r} was indexed with {indexed_with}, and {current}; set the embedder that it "
            f"was indexed with (winnow model show), or {advice}",
            details={"project": project, "indexed_with": indexed_with, "model": fingerprint},
        )
