"""What an ingest reports: progress while it runs, a report at its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from server.ingest.graph_update import GraphReport
from server.text.printable import one_line

# Of a name in a line of a report.
NAME_CHARS = 500
_LABEL_CHARS = 40
_UNKNOWN_ENVIRONMENTS = (
    "documents whose environment is none of dev, prod and scratch: {count} (first: {uri!r}, {environment!r}); "
    "no scope can name it, so every scope with an environment leaves them out; correct it in the documents"
)


@dataclass(frozen=True, slots=True)
class IngestFailure:
    """Something that could not be ingested: its name, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an ingest has come; what is counted here is durable.

    ``fraction`` is the part that is done, 0 to 1, None where the total is unknown; ``documents_total`` is 0 then.
    ``seconds_left`` is an estimate from the pace so far.
    """

    documents: int
    documents_total: int
    chunks: int
    chunks_per_second: float
    seconds_left: float | None
    fraction: float | None = None


@dataclass(frozen=True, slots=True)
class IngestReport:
    """The result of an ingest.

    ``documents`` were written (new or changed), ``unchanged`` were not, ``deleted`` were removed; ``chunks``
    counts the points that were written, ``skipped`` files of unknown kinds, ``ignored`` files and folders that
    patterns leave out. ``held`` documents are gone and were kept. ``graph`` is None where the graph did not change
    or there is none.
    """

    project: str
    documents: int = 0
    unchanged: int = 0
    deleted: int = 0
    chunks: int = 0
    seconds: float = 0.0
    skipped: int = 0
    ignored: int = 0
    held: int = 0
    failures: tuple[IngestFailure, ...] = ()
    warnings: tuple[str, ...] = ()
    graph: GraphReport | None = None


OnProgress = Callable[[Progress], None]


@dataclass(slots=True)
class ProgressMeter:
    """Counts what is in the index for good, and reports it to ``on_progress``."""

    on_progress: OnProgress | None
    documents_total: int = 0
    bytes_total: int = 0
    documents: int = 0
    chunks: int = 0
    bytes: int = 0
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Seconds since the ingest began."""
        return time.monotonic() - self.began

    def add(self, documents: int, chunks: int, bytes: int) -> None:
        """Count what a batch has written."""
        self.documents += documents
        self.chunks += chunks
        self.bytes += bytes
        if self.on_progress:
            self.on_progress(self._progress())

    def _progress(self) -> Progress:
        done = self._fraction()
        left = self.seconds / done * (1 - done) if done else None
        rate = self.chunks / max(self.seconds, 1e-9)
        return Progress(self.documents, self.documents_total, self.chunks, rate, left, done)

    def _fraction(self) -> float | None:
        if self.bytes_total:
            return min(self.bytes / self.bytes_total, 1.0)
        return min(self.documents / self.documents_total, 1.0) if self.documents_total else None


def environment_warnings(unknown: Sequence[tuple[str, str]]) -> Iterator[str]:
    """The warning about documents whose environment no scope can name, as pairs of their uri and environment."""
    for uri, environment in unknown[:1]:
        yield _UNKNOWN_ENVIRONMENTS.format(
            count=len(unknown), uri=one_line(uri, NAME_CHARS), environment=environment[:_LABEL_CHARS]
        )
