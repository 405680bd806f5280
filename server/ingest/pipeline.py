"""Sources to index: only what changed, in an order that a killed process cannot spoil.

A *source* is a folder, a file or a name; it consists of *origins* (files; a generated source has one), and an
origin of documents. After an ingest the index holds exactly the documents of the source as they are now.

Theory of operation. The catalogue is the truth, the vector store follows it. For each batch::

    1. documents whose points get other labels are marked in the catalogue as doubtful
    2. points of new chunks -> vector store            killed here: points that nobody knows
    3. documents, chunks, stamps -> catalogue          one transaction; from here on it is done, and reported
    4. points of former chunks out of the vector store     killed before this: the same

The first write of a run marks the project as unfinished, the end takes the mark away. A run that finds the
mark (or a different number of points than of chunks) first compares the two stores by id, takes out points
that nobody knows and writes those that are missing or doubtful. Ids are digests, so whatever is done twice has
the same result. A file's *stamp* (size, time, what the ingest says of documents without labels) is written
together with its last document: a stamp that is as before means that the file was read to its end.

No file stops a run: what cannot be read, cut or mined is named in the report with its reason, and keeps the
documents that it had. What may stall or crash a parser is parsed in a child (see ``ingest/parsing``).

Three things go on at once: a thread reads and cuts the next batches (``_batches``), two threads have them embedded
(``server.ingest.embedding``), and the caller's thread writes those that are done, in their order. At most
about ``_BATCHES_HELD`` of them, or one that is as large, are being written or wait for it; reading waits then.

The graph follows at the end of the run (``server.ingest.graph_update``); where it cannot, the next run
draws it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar, get_args

from server.backends.base import (
    CatalogueChanges,
    CatalogueEntry,
    DocumentStore,
    Embedder,
    IndexedDocument,
    VectorStore,
    payload_of,
)
from server.errors import WinnowError
from server.ids import document_id
from server.ingest.chunking import chunk
from server.ingest.documents import DefaultLabels, RawDocument, UnreadableFile, apply_labels, clean_document
from server.ingest.embedding import EmbeddedBatch, EmbeddingStage, make_points
from server.ingest.file_discovery import File, Listing, Root, find_files, resolve_roots
from server.ingest.graph_update import GraphReport, GraphTarget, GraphUpdate
from server.ingest.parsing.parser import ParserProcess
from server.ingest.read_ahead import read_ahead
from server.ingest.readers import ReadFlaw, kind_of, read
from server.models import Chunk, Document, Environment
from server.retrieval.lexical import is_stemmed_alike
from server.text.languages import language_of
from server.text.printable import one_line

__all__ = [
    "DefaultLabels",
    "GraphReport",
    "GraphTarget",
    "IngestFailure",
    "IngestReport",
    "Progress",
    "RawDocument",
    "Target",
    "ingest_documents",
    "ingest_paths",
]

# Grows when chunks or vectors of the same document would differ from what an earlier winnow made: all is written
# again.
INDEX_VERSION = 1
# Grows when readers would make another document of the same file: all is read again, and written where it differs.
READERS_VERSION = 5
# One transaction, one progress report: about two seconds of embedding.
_BATCH_CHUNKS = 128
# A document weighs as many chunks as are written for it, and one more for so many characters of its text.
_CHARS_OF_WEIGHT = 8_192
# Batches in memory: one that is written, and those that are read, and embedded or about to be.
_BATCHES_HELD = 3
_UNLABELLED = DefaultLabels()
_ENVIRONMENTS = frozenset(get_args(Environment))
_TAKEN = "{source} has a document of this name already; ingest this one into another --project"
_SHOWN_CHARS = 40
# Of what is named in a report: a path, and why.
_NAME_CHARS, _REASON_CHARS = 500, 300
_UNHEARD_OF = (
    "documents whose environment is none of dev, prod and scratch: {count} (first: {uri!r}, {environment!r}); "
    "no scope can name it, so every scope with an environment leaves them out"
)
_NOT_DRAWN = "the graph is not up to date, the next ingest tries again: {why}"


@dataclass(frozen=True, slots=True)
class IngestFailure:
    """Something that could not be ingested: what, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an ingest has come: what counts here is in the index for good.

    ``fraction`` is the part that is done, 0..1, None where nobody knows the whole; ``documents_total`` is 0
    then. ``seconds_left`` is an estimate from the pace so far.
    """

    documents: int
    documents_total: int
    chunks: int
    chunks_per_second: float
    seconds_left: float | None
    fraction: float | None = None


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest did.

    ``documents`` were written (new or changed), ``unchanged`` were not, ``deleted`` went; ``chunks`` counts
    the points that were written. ``skipped`` counts files of unknown kinds. ``graph`` says what became of the
    graph, None where it is as it was or there is none.
    """

    project: str
    documents: int = 0
    unchanged: int = 0
    deleted: int = 0
    chunks: int = 0
    seconds: float = 0.0
    skipped: int = 0
    failures: tuple[IngestFailure, ...] = ()
    warnings: tuple[str, ...] = ()
    graph: GraphReport | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """Where an ingest writes to.

    ``embedder`` is None where there is no model: the index is lexical then. ``graph`` is None where none is kept.
    """

    project: str
    catalogue: DocumentStore
    store: VectorStore
    embedder: Embedder | None
    graph: GraphTarget | None = None


OnProgress = Callable[[Progress], None]
T = TypeVar("T")


def ingest_documents(
    target: Target,
    source: str,
    documents: Iterable[RawDocument],
    *,
    total: int = 0,
    progress: OnProgress | None = None,
) -> IngestReport:
    """Make the index hold exactly these documents for the source of this name.

    ``documents`` is consumed once, lazily, in another thread; ``total`` is their number, if it is known.
    Raises ``WinnowError``: "EMBEDDING_MISMATCH" where the project's vectors come from another model,
    "INDEX_HELD" where another ingest is running.
    """
    with target.catalogue.only_writer(), ParserProcess() as apart:
        run = _Run(target, _Meter(progress, documents_total=total), apart)
        run.take(source, [_Origin("", documents)])
        return run.end()


def ingest_paths(
    target: Target,
    paths: Sequence[Path],
    *,
    labels: DefaultLabels = _UNLABELLED,
    progress: OnProgress | None = None,
) -> IngestReport:
    """Make the index hold what lies in these files and folders now.

    A folder is a source of its own; a path inside a folder that was ingested before refreshes that part of
    it. ``labels`` are those of documents that state none; they hold for this run, so the next one gives them
    again or takes them away. Raises ``WinnowError`` as ``ingest_documents`` does, and "INVALID_REQUEST" for a
    path that does not exist.
    """
    meter = _Meter(progress)
    with target.catalogue.only_writer(), ParserProcess() as apart:
        run = _Run(target, meter, apart, labels)
        parts = [_Part(root, find_files(root)) for root in resolve_roots(paths, run.sources())]
        todo = [run.changed(part) for part in parts]
        meter.documents_total = _countable(todo)
        meter.bytes_total = sum(file.size for files in todo for file in files)
        for part, files in zip(parts, todo, strict=True):
            run.note(part.listing)
            documents = ((file, read(file.path, file.uri, apart.parse)) for file in files)
            run.take(part.root.source, (_Origin(file.uri, found, file) for file, found in documents))
            run.forget(part)
        return run.end()


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a source, and what lies there."""

    root: Root
    listing: Listing


@dataclass(frozen=True, slots=True)
class _Origin:
    """A part of a source that is read as a whole; ``file`` where it is one."""

    name: str
    documents: Iterable[RawDocument | ReadFlaw]
    file: File | None = None


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A document ready to be written: its entry, the chunks that need points, the points that must go.

    ``is_relabelled``: chunks that have points get others.
    """

    entry: CatalogueEntry
    fresh: tuple[Chunk, ...]
    stale: tuple[str, ...]
    is_relabelled: bool

    @property
    def size(self) -> int:
        """About the bytes of its origin that it stands for."""
        return len(self.entry.text)

    @property
    def weight(self) -> int:
        """What it takes of memory, in chunks."""
        return 1 + len(self.fresh) + len(self.entry.text) // _CHARS_OF_WEIGHT


@dataclass(frozen=True, slots=True)
class _Completed:
    """An origin was read: what it no longer holds, whether no part of it failed, its bytes not yet counted."""

    origin: _Origin
    is_whole: bool
    gone: tuple[str, ...]
    rest: int


@dataclass(slots=True)
class _Batch:
    """What the next transaction will hold."""

    source: str
    prepared: list[_Prepared] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    stamps: dict[str, str | None] = field(default_factory=dict)
    bytes: int = 0
    points: EmbeddedBatch | None = None

    @property
    def chunks(self) -> int:
        return sum(len(one.fresh) for one in self.prepared)

    @property
    def weight(self) -> int:
        """What it takes of memory, in chunks."""
        return sum(one.weight for one in self.prepared)

    @property
    def is_change(self) -> bool:
        return bool(self.prepared or self.deleted)


@dataclass(slots=True)
class _Meter:
    """Counts what is in the index for good, and tells."""

    on_progress: OnProgress | None
    documents_total: int = 0
    bytes_total: int = 0
    documents: int = 0
    chunks: int = 0
    bytes: int = 0
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def add(self, batch: _Batch) -> None:
        self.documents += len(batch.prepared)
        self.chunks += batch.chunks
        self.bytes += batch.bytes
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


class _Run:
    """One ingest into one project."""

    def __init__(
        self, target: Target, meter: _Meter, apart: ParserProcess, labels: DefaultLabels = _UNLABELLED
    ) -> None:
        self._target = target
        self._meter = meter
        self._apart = apart
        self._labels = labels
        self._fingerprint = target.embedder.fingerprint if target.embedder else ""
        self._is_marked = False
        self._unchanged = self._deleted = self._skipped = 0
        self._failures: list[IngestFailure] = []
        self._unheard_of: list[tuple[str, str]] = []
        _check_model(target, self._fingerprint)
        self._graph = GraphUpdate(target.project, target.catalogue, target.graph) if target.graph else None
        self._by_uri: dict[str, IndexedDocument] = {}
        self._by_origin: dict[tuple[str, str], list[IndexedDocument]] = {}
        for known in target.catalogue.indexed_documents(target.project):
            self._by_uri[known.uri] = known
            self._by_origin.setdefault((known.source, known.origin), []).append(known)
        self._repair()

    def sources(self) -> list[str]:
        """Folders and files that were ingested before."""
        return sorted({source for source, _ in self._by_origin if Path(source).is_absolute()})

    def note(self, listing: Listing) -> None:
        """Keep what the walk found unreadable or of no known kind for the report."""
        self._skipped += listing.skipped
        for name, reason in listing.unreadable:
            self._fail(name, reason)

    def changed(self, part: _Part) -> list[File]:
        """The files that must be read: new, changed, labelled otherwise, doubtful, or of another model or none."""
        source = part.root.source
        stamps = self._target.catalogue.stamps(self._target.project, source)
        files = []
        for file in part.listing.files:
            known = self._by_origin.get((source, file.uri), [])
            is_settled = all(one.embedding == self._fingerprint and one.context_hash for one in known)
            if is_settled and stamps.get(file.uri) == _stamp(file, self._labels):
                self._unchanged += len(known)
            else:
                files.append(file)
        return files

    def take(self, source: str, origins: Iterable[_Origin]) -> None:
        """Read the origins of a source and write what changed."""
        with (
            EmbeddingStage(self._target.embedder) as embedding,
            closing(self._ahead(source, origins, embedding)) as batches,
            self._apart.ended_by_errors(),  # or the reader would be waited for until its document is read
        ):
            for batch in batches:
                self._write(batch)
                del batch  # it may be large, and the next one is waited for

    def forget(self, part: _Part) -> None:
        """Take out the documents of files that are gone."""
        source, listing = part.root.source, part.listing
        present = {file.uri for file in listing.files}
        stamps = self._target.catalogue.stamps(self._target.project, source)
        gone = stamps.keys() | {origin for of, origin in self._by_origin if of == source}
        gone = {name for name in gone - present if part.root.holds(name) and not listing.hides(name)}
        documents = [one.id for name in gone for one in self._by_origin.get((source, name), [])]
        self._write(_Batch(source, deleted=documents, stamps=dict.fromkeys(sorted(gone))))

    def end(self) -> IngestReport:
        """Bring the stores to rest and say what was done."""
        if self._is_marked:
            self._target.store.optimize()
            self._target.store.flush()
            self._target.catalogue.finish_write(self._target.project)
        graph, warnings = self._update_graph()
        return IngestReport(
            project=self._target.project,
            documents=self._meter.documents,
            unchanged=self._unchanged,
            deleted=self._deleted,
            chunks=self._meter.chunks,
            seconds=self._meter.seconds,
            skipped=self._skipped,
            failures=tuple(self._failures),
            warnings=(*self._warnings(), *warnings),
            graph=graph,
        )

    def _update_graph(self) -> tuple[GraphReport | None, tuple[str, ...]]:
        """The graph in line with the catalogue, or why it is not: documents are searched without it, too."""
        try:
            graph = self._graph.update() if self._graph else None
        except WinnowError as error:
            return None, (_NOT_DRAWN.format(why=error.message),)
        return graph, graph.warnings if graph else ()

    def _warnings(self) -> tuple[str, ...]:
        if not self._unheard_of:
            return ()
        uri, environment = self._unheard_of[0]
        count, uri = len(self._unheard_of), one_line(uri, _NAME_CHARS)
        return (_UNHEARD_OF.format(count=count, uri=uri, environment=environment[:_SHOWN_CHARS]),)

    # --- reading: in the reader's thread

    def _ahead(
        self, source: str, origins: Iterable[_Origin], embedding: EmbeddingStage
    ) -> Generator[_Batch, None, None]:
        batches = self._batches(source, origins, embedding)
        return read_ahead(batches, _BATCHES_HELD * _BATCH_CHUNKS, lambda batch: batch.weight)

    def _batches(self, source: str, origins: Iterable[_Origin], embedding: EmbeddingStage) -> Iterator[_Batch]:
        """What changed, in portions that are being embedded."""
        batch = _Batch(source)
        for event in self._read(source, origins):
            _put(batch, event, self._labels)
            if batch.weight >= _BATCH_CHUNKS:
                yield _begun(batch, embedding)
                batch = _Batch(source)
        yield _begun(batch, embedding)

    def _read(self, source: str, origins: Iterable[_Origin]) -> Iterator[_Prepared | _Completed]:
        for origin in origins:
            failures, rest = len(self._failures), origin.file.size if origin.file else 0
            seen: set[str] = set()
            for raw in self._documents(source, origin):
                for prepared in self._prepare(source, origin, raw, seen):
                    rest -= prepared.size
                    yield prepared
            is_whole = len(self._failures) == failures
            known = self._by_origin.get((source, origin.name), []) if is_whole else []
            yield _Completed(origin, is_whole, tuple(one.id for one in known if one.uri not in seen), rest)

    def _documents(self, source: str, origin: _Origin) -> Iterator[RawDocument]:
        """The documents of an origin; what is wrong with it goes into the report."""
        documents = iter(origin.documents)
        while found := self._tried(origin, origin.name or source, lambda: next(documents, None)):
            if isinstance(found, ReadFlaw):
                self._fail(found.name, found.reason)
            else:
                yield apply_labels(clean_document(found), self._labels)

    def _prepare(self, source: str, origin: _Origin, raw: RawDocument, seen: set[str]) -> Iterator[_Prepared]:
        """The document if it changed; what is wrong with it goes into the report."""
        known = self._by_uri.get(raw.uri)
        if raw.uri in seen:
            self._fail(raw.uri, "the same name twice in one collection")
        elif known and known.source != source and _is_there(known.source):
            self._fail(raw.uri, _TAKEN.format(source=known.source))
        else:
            seen.add(raw.uri)
            if raw.environment and raw.environment not in _ENVIRONMENTS:
                self._unheard_of.append((raw.uri, raw.environment))
            document = _document(self._target.project, source, raw)
            now = _known(document, origin.name, self._fingerprint)
            if now == known:
                self._unchanged += 1
            elif (chunks := self._tried(origin, raw.uri, lambda: self._cut(document, raw))) is not None:
                self._by_uri[raw.uri] = now
                yield self._compared(document, raw.text, chunks, now, known)

    def _cut(self, document: Document, raw: RawDocument) -> tuple[Chunk, ...]:
        """The document in chunks, mined for the graph. Raises ``UnreadableFile``."""
        self._apart.rehearse(raw)
        chunks = chunk(document, raw.text)
        if self._graph:
            self._graph.mine(document, raw.text, chunks)
        return chunks

    def _compared(
        self,
        document: Document,
        text: str,
        chunks: tuple[Chunk, ...],
        now: IndexedDocument,
        known: IndexedDocument | None,
    ) -> _Prepared:
        """Which of the document's chunks are not in the store as they should be."""
        entry = CatalogueEntry(document, text, chunks, now.origin, now.embedding, now.context_hash)
        former = self._chunk_ids(known.id) if known else set()
        is_alike = known and (known.context_hash, known.embedding) == (now.context_hash, now.embedding)
        fresh = tuple(one for one in chunks if not (is_alike and one.id in former))
        is_relabelled = not former.isdisjoint(one.id for one in fresh)
        return _Prepared(entry, fresh, tuple(sorted(former - {one.id for one in chunks})), is_relabelled)

    def _tried(self, origin: _Origin, name: str, work: Callable[[], T]) -> T | None:
        """What ``work`` returns; None where this file or this document fails, which goes into the report."""
        try:
            return work()
        except (OSError, UnreadableFile) as error:
            self._fail(name, _reason(error))
        except Exception as error:
            if origin.file is None:  # a source of our own has an error, which is not for its reader to mend
                raise
            self._fail(name, f"cannot be read ({type(error).__name__})")
        return None

    def _fail(self, name: str, reason: str) -> None:
        self._failures.append(IngestFailure(one_line(name, _NAME_CHARS), one_line(reason, _REASON_CHARS)))

    # --- writing

    def _write(self, batch: _Batch) -> None:
        """Points in, catalogue, points out: see the theory of operation above."""
        target = self._target
        stale = [chunk for one in batch.prepared for chunk in one.stale]
        stale += [chunk for id in batch.deleted for chunk in self._chunk_ids(id)]
        if batch.is_change:
            self._mark()
            if relabelled := [one.entry.document.id for one in batch.prepared if one.is_relabelled]:
                target.catalogue.mark_doubtful(relabelled)
            for some in batch.points.portions() if batch.points else ():
                target.store.upsert(some)
            target.store.flush()
        if batch.is_change or batch.stamps:
            entries = [one.entry for one in batch.prepared]
            target.catalogue.apply(
                CatalogueChanges(target.project, batch.source, entries, batch.deleted, batch.stamps)
            )
        target.store.delete(stale)
        self._deleted += len(batch.deleted)
        self._meter.add(batch)

    def _mark(self) -> None:
        if not self._is_marked:
            self._target.catalogue.begin_write(self._target.project)
            self._is_marked = True

    def _repair(self) -> None:
        """Make the vector store agree with the catalogue, if an earlier run was cut off."""
        target = self._target
        if (
            not target.catalogue.has_unfinished_write(target.project)
            and target.store.count() == target.catalogue.chunk_count()
        ):
            return
        self._mark()
        expected, present = set(target.catalogue.chunk_ids(target.project)), set(target.store.ids(target.project))
        target.store.delete(sorted(present - expected))
        doubtful = [one.id for one in target.catalogue.indexed_documents(target.project) if not one.context_hash]
        missing = sorted((expected - present).union(*map(self._chunk_ids, doubtful)))
        for start in range(0, len(missing), _BATCH_CHUNKS):
            passages = target.catalogue.passages(missing[start : start + _BATCH_CHUNKS], target.project)
            rows = [(passage.document, passage.chunk) for passage in passages.values()]
            target.store.upsert(make_points(rows, target.embedder))

    def _chunk_ids(self, document: str) -> set[str]:
        return {one.id for one in self._target.catalogue.chunks(document, self._target.project)}


def _countable(todo: Sequence[Sequence[File]]) -> int:
    """How many documents the files will make; 0 where one is a collection, and nobody knows before it is read."""
    files = [file for some in todo for file in some]
    return 0 if any(kind_of(file.path) == "record" for file in files) else len(files)


def _check_model(target: Target, fingerprint: str) -> None:
    theirs = target.catalogue.embedding(target.project)
    if theirs not in ("", fingerprint):
        ours, way = (
            (f"the model now is {fingerprint}", "change the whole store to this one: winnow reindex")
            if fingerprint
            else ("there is no model now", "ingest into another --project")
        )
        raise WinnowError(
            "EMBEDDING_MISMATCH",
            f"project {target.project!r} was indexed with {theirs}, and {ours}; set the embedder that it was "
            f"indexed with (winnow model show), or {way}",
            details={"project": target.project, "indexed_with": theirs, "model": fingerprint},
        )


def _begun(batch: _Batch, embedding: EmbeddingStage) -> _Batch:
    batch.points = embedding.begin([(one.entry.document, chunk) for one in batch.prepared for chunk in one.fresh])
    return batch


def _put(batch: _Batch, event: _Prepared | _Completed, labels: DefaultLabels) -> None:
    if isinstance(event, _Prepared):
        batch.prepared.append(event)
        batch.bytes += event.size
        return
    batch.deleted += event.gone
    batch.bytes += event.rest
    if event.origin.file:
        batch.stamps[event.origin.name] = _stamp(event.origin.file, labels) if event.is_whole else None


def _document(project: str, source: str, raw: RawDocument) -> Document:
    return Document(
        id=document_id(project, raw.uri),
        project=project,
        uri=raw.uri,
        source=source,
        title=raw.title,
        type=raw.type,
        content_hash=_content_hash(raw),
        vendor=raw.vendor,
        doc_tag=raw.doc_tag,
        tags=raw.tags,
        created=raw.created,
        metadata=raw.metadata,
        environment=raw.environment,
        repository=raw.repository,
        language="" if raw.type == "code" else language_of(raw.text),
    )


def _content_hash(raw: RawDocument) -> str:
    # Environment and repository count in the context hash. Here they would make every document of an index from
    # before them a changed one.
    facts = {key: value for key, value in asdict(raw).items() if key not in ("environment", "repository")}
    return _hash(INDEX_VERSION, facts)


def _known(document: Document, origin: str, fingerprint: str) -> IndexedDocument:
    return IndexedDocument(
        id=document.id,
        uri=document.uri,
        source=document.source,
        origin=origin,
        content_hash=document.content_hash,
        context_hash=_context_hash(document),
        embedding=fingerprint,
    )


def _context_hash(document: Document) -> str:
    # What is stemmed as English always was: an index from before languages were told apart keeps those points.
    language = () if is_stemmed_alike(document.language, "en") else (document.language,)
    return _hash(INDEX_VERSION, document.title, payload_of(document), *language)


def _hash(*values: Any) -> str:
    data = json.dumps(values, ensure_ascii=False, sort_keys=True).encode()
    return blake2b(data, digest_size=16).hexdigest()


def _stamp(file: File, labels: DefaultLabels) -> str:
    return f"{INDEX_VERSION}.{READERS_VERSION}:{file.size}:{file.modified_ns}:{_hash(asdict(labels))}"


def _is_there(source: str) -> bool:
    """Whether the source can still be refreshed: a folder that was moved away can not, and gives up its names."""
    return not Path(source).is_absolute() or Path(source).exists()


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
