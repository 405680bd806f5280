"""Reports of an ingest: progress while it runs, a report at its end."""

from __future__ import annotations

import re
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from winnow.server.errors import WinnowError
from winnow.server.ingest.graph_update import GraphReport
from winnow.server.ingest.references.reference_report import ReferenceReport
from winnow.server.models import DocumentType, HiddenReason, Reading
from winnow.server.storage.base import CatalogueEntry, DocumentStore
from winnow.server.text.printable import MOST_UNREADABLE, one_line, unreadable_share
from winnow.server.text.sizes import name_numbers

# Of a name in a line of a report.
NAME_CHARS = 500
_REASON_CHARS = 300
_LABEL_CHARS = 40
_REPORT_SECONDS = 0.25
_SMOOTHING = 0.3
# Before that share is done, the pace is that of the first file and of the start.
_LEAST_SHARE = 0.05
# The pace is that of the last seconds, and of this share of the time so far if that is longer: a large file takes
# long to be read before its passages count. After a third of that time in which nothing was done, it begins anew.
_WINDOW_SECONDS, _WINDOW_SHARE = 10.0, 0.25
_MOST_NOTES = 100  # different ones, as a report lists them
_MOST_COUNTED = 10_000  # different ones: notes name sheets and files, and every file may have a thousand
_MOST_FILES = 100  # with hidden text, and with pages that are images
_NUMBER = re.compile(r"\d[\d,.]*")
_TEXTS_NOT_INDEXED = "scans read more text than they have to until the next ingest has indexed it: {why}"
_UNKNOWN_ENVIRONMENTS = (
    "documents whose environment is none of dev, prod and scratch: {count} (first: {uri!r}, {environment!r}); "
    "no scope can name it, so every scope with an environment leaves them out; correct it in the documents"
)
_NO_PASSAGES = "documents without text, in which nothing is found: {count} ({names}); {advice}"
_UNREADABLE = "documents with many unreadable characters: {count} ({names}); {advice}"
_LOOK = "look at what was read: winnow ingest --explain FILE; all of them: winnow doctor --documents"
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class IngestFailure:
    """Something that could not be ingested: its name, and why."""

    name: str
    reason: str


def failure_of(name: str, reason: str) -> IngestFailure:
    """The failure with a name and a reason that fit into a line of a report."""
    return IngestFailure(one_line(name, NAME_CHARS), one_line(reason, _REASON_CHARS))


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of an ingest; what is counted here is durable, but for ``computed``.

    ``computed`` counts the passages of the batch that is being written whose points are there. ``fraction`` is
    the part that is done, 0 to 1, None where the total is unknown; ``documents_total`` is 0 then.
    ``seconds_left`` is an estimate from the pace so far. ``bytes`` are those of files, ``pages`` counts pages,
    slides and sheets, ``current`` is the file that is being read, "" where none is.
    """

    documents: int
    documents_total: int
    chunks: int
    chunks_per_second: float
    seconds_left: float | None
    fraction: float | None = None
    bytes: int = 0
    bytes_total: int = 0
    pages: int = 0
    current: str = ""
    computed: int = 0


@dataclass(frozen=True, slots=True)
class ReadingSummary:
    """The reading of the documents that an ingest wrote.

    ``readers`` counts documents by reader, those of text by their type. ``pages`` counts pages, slides and sheets,
    ``pages_by_type`` the same by the type of their documents, ``hidden_runs`` runs of text that a person does not
    see, ``hidden_reasons`` the same by reason, ``hidden_kept`` those of them that are in the index. ``needs_ocr``
    counts pages without text of their own, ``ocr_pages`` those that were read by OCR, ``attachments`` files within
    files, which are not read, ``notes`` documents by what their readers note. ``hidden_files`` are the runs of
    hidden text by document, and ``image_files`` the numbers of pages that are images, as "1-2, 7", of documents
    where OCR did not read all of them; both name the first 100 documents.
    """

    readers: Mapping[str, int] = field(default_factory=dict)
    pages: int = 0
    pages_by_type: Mapping[DocumentType, int] = field(default_factory=dict)
    hidden_runs: int = 0
    hidden_kept: int = 0
    needs_ocr: int = 0
    ocr_pages: int = 0
    attachments: int = 0
    notes: Mapping[str, int] = field(default_factory=dict)
    hidden_reasons: Mapping[HiddenReason, int] = field(default_factory=dict)
    hidden_files: Mapping[str, int] = field(default_factory=dict)
    image_files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IngestReport:
    """The result of an ingest.

    ``documents`` were written (new or changed), ``unchanged`` were not, ``deleted`` were removed; ``moved`` are
    those of files that have a new name or place, and count as neither written nor deleted. ``chunks`` counts the
    points that were written with their vectors, ``skipped`` files of unknown types, ``skipped_suffixes`` the
    same by the end of their names, the most frequent ones. ``ignored`` files and folders are those that patterns
    leave out, ``links`` were not followed, ``hidden`` are files and folders whose names begin with a dot;
    ``link_names`` and ``hidden_names`` are the first of them.
    ``images_skipped`` were not read, because OCR was not used; ``images_blank`` were, and have no text. ``held``
    documents are gone and were kept. ``reader_tier`` is the tier of walls around readers of files, "none" where
    too few stand, "" where no file needed them. ``reading`` is of the documents that were written. ``graph`` is
    None where the graph did not change or there is none, ``references`` without a bibliography.
    """

    project: str
    documents: int = 0
    unchanged: int = 0
    deleted: int = 0
    moved: int = 0
    chunks: int = 0
    seconds: float = 0.0
    skipped: int = 0
    skipped_suffixes: Mapping[str, int] = field(default_factory=dict)
    ignored: int = 0
    links: int = 0
    link_names: tuple[str, ...] = ()
    hidden: int = 0
    hidden_names: tuple[str, ...] = ()
    images_skipped: int = 0
    images_blank: int = 0
    held: int = 0
    failures: tuple[IngestFailure, ...] = ()
    warnings: tuple[str, ...] = ()
    graph: GraphReport | None = None
    reading: ReadingSummary = field(default_factory=ReadingSummary)
    references: ReferenceReport | None = None
    reader_tier: str = ""


OnProgress = Callable[[Progress], None]


@dataclass(slots=True)
class ReadingTally:
    """Counts how documents were read."""

    readers: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    pages: Counter[DocumentType] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    hidden: Counter[HiddenReason] = field(default_factory=Counter)
    hidden_files: dict[str, int] = field(default_factory=dict)
    image_files: dict[str, str] = field(default_factory=dict)
    thin: Counter[str] = field(default_factory=Counter)  # a warning -> documents that it is about
    thin_names: dict[str, list[str]] = field(default_factory=dict)  # the first of them

    def add(self, entries: Sequence[CatalogueEntry]) -> None:
        """Count these documents."""
        for entry in entries:
            reading = entry.reading
            self.readers[reading.reader if reading else entry.document.type] += 1
            self._note_thin(entry)
            if reading:
                kept = reading.hidden_runs if reading.hidden_kept else 0
                self.pages[entry.document.type] += reading.pages
                self.counts.update(pages=reading.pages, hidden_runs=reading.hidden_runs, hidden_kept=kept)
                self.counts.update(needs_ocr=len(reading.needs_ocr), ocr_pages=reading.ocr_pages)
                self.counts.update(attachments=len(reading.attachments))
                self.hidden.update(reading.hidden_reasons)
                self._add_notes(reading.notes)
                self._name_file(one_line(entry.document.uri, NAME_CHARS), reading)

    def _note_thin(self, entry: CatalogueEntry) -> None:
        if not entry.chunks:
            kind = _NO_PASSAGES
        elif unreadable_share(entry.text) > MOST_UNREADABLE:
            kind = _UNREADABLE
        else:
            return
        self.thin[kind] += 1
        if self.thin[kind] <= _MOST_NAMED:
            self.thin_names.setdefault(kind, []).append(one_line(entry.document.uri, NAME_CHARS))

    def thin_warnings(self) -> Iterator[str]:
        """The warnings about documents that are in the index and of which little or nothing is found."""
        for kind, count in self.thin.items():
            names = ", ".join(self.thin_names[kind]) + (", ..." if count > _MOST_NAMED else "")
            yield kind.format(count=count, names=names, advice=_LOOK)

    def _add_notes(self, notes: Iterable[str]) -> None:
        for note in dict.fromkeys(notes):
            if note in self.notes or len(self.notes) < _MOST_COUNTED:
                self.notes[note] += 1

    def _name_file(self, name: str, reading: Reading) -> None:
        if reading.hidden_runs and len(self.hidden_files) < _MOST_FILES:
            self.hidden_files[name] = reading.hidden_runs
        if len(reading.needs_ocr) > reading.ocr_pages and len(self.image_files) < _MOST_FILES:
            self.image_files[name] = name_numbers(reading.needs_ocr)

    def summarize(self) -> ReadingSummary:
        """The summary, the most frequent first."""
        notes = dict(self.notes.most_common(_MOST_NOTES))
        pages = {type: count for type, count in self.pages.most_common() if count}
        return ReadingSummary(
            dict(self.readers.most_common()),
            pages_by_type=pages,
            notes=notes,
            hidden_reasons=dict(self.hidden.most_common()),
            hidden_files=dict(self.hidden_files),
            image_files=dict(self.image_files),
            **self.counts,
        )


@dataclass(slots=True)
class ProgressMeter:
    """Counts what is in the index for good, and reports it to ``on_progress``."""

    on_progress: OnProgress | None
    documents_total: int = 0
    bytes_total: int = 0
    documents: int = 0
    chunks: int = 0
    bytes: int = 0
    current: str = ""
    reading: ReadingTally = field(default_factory=ReadingTally)
    clock: Callable[[], float] = time.monotonic
    began: float = 0.0
    _batch_chunks: int = 0
    _batch_bytes: int = 0
    _computed: int = 0
    _reported: float = 0.0
    _left: tuple[float, float] | None = None  # the last estimate of the seconds left, and when it was made
    _steps: deque[tuple[float, float]] = field(default_factory=deque)  # of late: when which part was done

    def __post_init__(self) -> None:
        self.began = self.clock()
        self._steps.append((self.began, 0.0))

    @property
    def seconds(self) -> float:
        """Seconds since the ingest began."""
        return self.clock() - self.began

    def add(self, entries: Sequence[CatalogueEntry], chunks: int, bytes: int) -> None:
        """Count what a batch has written."""
        self.begin(0, 0)
        self.documents += len(entries)
        self.reading.add(entries)
        self.chunks += chunks
        self.bytes += bytes
        self.report()

    def begin(self, chunks: int, bytes: int) -> None:
        """Take over the size of the batch that is being written."""
        self._batch_chunks, self._batch_bytes, self._computed = chunks, bytes, 0

    def advance(self, computed: int) -> None:
        """Count points that were computed for the batch, and report that a few times a second."""
        self._computed += computed
        if self.clock() - self._reported >= _REPORT_SECONDS:
            self.report()

    def report(self) -> None:
        """Report the counts so far."""
        self._reported = self.clock()
        if self.on_progress:
            self.on_progress(self._progress())

    def _progress(self) -> Progress:
        done = self._fraction()
        left = None if done is None else self._estimate(done)
        rate = (self.chunks + self._computed) / max(self.seconds, 1e-9)
        return Progress(
            self.documents,
            self.documents_total,
            self.chunks,
            rate,
            left,
            done,
            self.bytes,
            self.bytes_total,
            self.reading.counts["pages"],
            self.current,
            self._computed,
        )

    def _estimate(self, done: float) -> float | None:
        """The seconds left by the pace of late; None where that tells nothing."""
        if done == 1:
            return 0.0
        now, steps = self.clock(), self._steps
        window = max(_WINDOW_SECONDS, _WINDOW_SHARE * self.seconds)
        has_waited = now - steps[-1][0] > window / 3
        if done > steps[-1][1]:
            if has_waited:
                steps.clear()
            steps.append((now, done))
        while len(steps) > 2 and steps[1][0] <= now - window:
            steps.popleft()
        since, before = steps[0]
        if has_waited or done <= before or done < _LEAST_SHARE or now - since < _WINDOW_SECONDS:
            self._left = None
            return None
        return self._smooth((1 - done) * (now - since) / (done - before))

    def _smooth(self, left: float) -> float:
        """The seconds left, smoothed: files of one size take very different times."""
        now = self.clock()
        if self._left is not None:
            expected = max(self._left[0] - (now - self._left[1]), 0.0)
            left = expected + _SMOOTHING * (left - expected)
        self._left = left, now
        return left

    def _fraction(self) -> float | None:
        if self.bytes_total:
            part = self._computed / self._batch_chunks if self._batch_chunks else 0.0
            return min((self.bytes + part * self._batch_bytes) / self.bytes_total, 1.0)
        return min(self.documents / self.documents_total, 1.0) if self.documents_total else None


def environment_warnings(unknown: Sequence[tuple[str, str]]) -> Iterator[str]:
    """The warning about documents whose environment no scope can name, as pairs of their uri and environment."""
    for uri, environment in unknown[:1]:
        yield _UNKNOWN_ENVIRONMENTS.format(
            count=len(unknown), uri=one_line(uri, NAME_CHARS), environment=environment[:_LABEL_CHARS]
        )


def index_texts(catalogue: DocumentStore) -> tuple[str, ...]:
    """Bring the index of texts up to date, or return a warning: the ingest is good without it."""
    try:
        catalogue.index_texts()
    except WinnowError as error:
        return (_TEXTS_NOT_INDEXED.format(why=error.message),)
    return ()


def group_failures(failures: Sequence[IngestFailure]) -> list[tuple[str, int]]:
    """The reasons of failures with how many have each, the most frequent first.

    Reasons that differ only in their numbers are one, in the words of the first.
    """
    first: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for failure in failures:
        kind = _NUMBER.sub("0", failure.reason)
        counts[kind] += 1
        first.setdefault(kind, failure.reason)
    return [(first[kind], count) for kind, count in counts.most_common()]
