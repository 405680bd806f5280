"""The ingest pipeline: brings the index in line with a source, resumably, writing only what changed.

A *source* is a folder, a file or a name; it consists of *origins* (files; a generated source has one), and an
origin of documents. After an ingest the index holds exactly the documents of the source as they are now.

Both stores are written so that a kill loses nothing that was reported (``server.ingest.writing.index_writer``).

No file stops a run: what cannot be read, cut or mined is named in the report with its reason, and keeps the
documents that it had. What may stall or take over a parser is parsed in child processes (``ingest/children``).

Three things run at once: a thread reads and cuts the next batches (``_batches``), two threads embed them
(``server.ingest.writing.embedding``), and the caller's thread writes finished batches in their order. At most
about ``_BATCHES_HELD`` of them, or one that is as large, are in memory; reading waits then.

At the end of the run follow the index of texts (``DocumentStore.index_texts``; scans read what it lacks) and the
graph (``server.ingest.graph_update``); where one cannot, the next run updates it. The last step is
``Target.follow_up``: quotes of claims are looked for again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TypeVar, get_args

from winnow.server.errors import WinnowError
from winnow.server.ingest.advice import add_advice
from winnow.server.ingest.change_detection import document_of, entry_of, indexed_document_of, stamp_of
from winnow.server.ingest.children.parser import ParserProcess, expected_tasks
from winnow.server.ingest.children.reader_pool import ReaderPool
from winnow.server.ingest.file_discovery import (
    File,
    Listing,
    Named,
    SourcePart,
    count_documents,
    find_parts,
    source_exists,
)
from winnow.server.ingest.graph_update import GraphReport, GraphTarget, GraphUpdate
from winnow.server.ingest.inspection.stored_documents import AlteredDocument, describe_altered, find_altered
from winnow.server.ingest.read_ahead import read_ahead
from winnow.server.ingest.references.references import References, has_entry, plain_stamp, read_references
from winnow.server.ingest.report import (
    NAME_CHARS,
    IngestFailure,
    IngestReport,
    OnProgress,
    Progress,
    ProgressMeter,
    environment_warnings,
    failure_of,
    index_texts,
)
from winnow.server.ingest.selection.deletions import DeletionRule, Deletions
from winnow.server.ingest.selection.request import IngestRequest
from winnow.server.ingest.writing.batches import Batch, CompletedOrigin, Origin, PreparedDocument
from winnow.server.ingest.writing.changed_points import prepare
from winnow.server.ingest.writing.embedding import EmbeddingStage, check_model
from winnow.server.ingest.writing.index_writer import IndexWriter, Target
from winnow.server.models import Chunk, Document, Environment
from winnow.server.readers.chunking import chunk
from winnow.server.readers.documents import (
    RawDocument,
    UnreadableFile,
    apply_labels,
    clean_document,
    reason_of,
    with_project_labels,
)
from winnow.server.readers.formats.format_table import needs_ocr
from winnow.server.readers.reading import ReadFlaw
from winnow.server.runtime.memory import release_memory
from winnow.server.storage.base import IndexedDocument
from winnow.server.storage.project_states import check_state
from winnow.server.text.printable import one_line
from winnow.server.text.sizes import count_of

__all__ = [
    "GraphReport",
    "GraphTarget",
    "IngestFailure",
    "IngestReport",
    "Progress",
    "RawDocument",
    "Target",
    "ingest_documents",
    "ingest_files",
    "ingest_parts",
]

_BATCH_CHUNKS = 128  # one transaction, one progress report: about two seconds of embedding
# The first batch of a run; each next one is twice as large. So the first documents are soon found, and kept.
_FIRST_BATCH_CHUNKS = 8
# Batches in memory: the one being written, and those that are read, and embedded or about to be.
_BATCHES_HELD = 3
# The memory of a batch of this weight is given back at once: a document takes twenty times its size while it is
# split and written.
_LARGE_WEIGHT = 16 * _BATCH_CHUNKS
_MOST_SUFFIXES = 20  # of skipped files, in a report
_ENVIRONMENTS = frozenset(get_args(Environment))
_ENTRIES_LOST = "{files} no entry any more (citekey, authors, year): {why}"
_NO_BIBLIOGRAPHY = (
    "this ingest named no bibliography; ingest again with it (--references, or references_path), or let a watched "
    "source keep it (winnow sources add --references)"
)
_NOT_IN_BIBLIOGRAPHY = "the bibliography has none for them now; if it is not whole, bring it back and ingest again"
_NAME_TAKEN = "{source} has a document of this name already; ingest this one into another --project"
_REMADE = "the vectors of {chunks} were lost; they were made again from the text in the store"
_INTERRUPTED = (
    "the last ingest into project {project} did not end (it was interrupted, or failed); this one went on, with "
    "{documents} in the index"
)
_OUTDATED = (
    "{files} cannot be read as changed, so searches still give the text of the last reading: {names}; to take "
    "that text out, delete the file and ingest again"
)
_GRAPH_OUTDATED = "the graph is not up to date, the next ingest tries again: {why}"


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
    with target.catalogue.only_writer(), ParserProcess() as parser:
        run = _IngestRun(target, ProgressMeter(progress, documents_total=total), parser, IngestRequest())
        run.index(source, [Origin("", documents)])
        return run.finish()


def ingest_files(target: Target, request: IngestRequest, progress: OnProgress | None = None) -> IngestReport:
    """Make the index hold what the files and folders of a request contain now.

    A folder is a source; a path inside a folder that was ingested before refreshes that part of it. Labels,
    options and the bibliography hold for this run: the next run must give them again to keep them.
    Raises ``WinnowError`` as ``ingest_documents`` does, and "INVALID_REQUEST" for a path that does not exist.
    """
    with target.catalogue.only_writer(), _parser_of(target, request) as parser:
        run = _IngestRun(target, ProgressMeter(progress), parser, request)
        sources, may_be_gone = target.catalogue.sources(target.project), request.allow_deletions
        return run.ingest(
            find_parts(request.paths, sources, request.rules, project=target.project, allows_missing=may_be_gone)
        )


def ingest_parts(
    target: Target,
    parts: Sequence[SourcePart],
    request: IngestRequest,
    progress: OnProgress | None = None,
    *,
    deletions: DeletionRule | None = None,
    pool: ReaderPool | None = None,
) -> IngestReport:
    """Make the index hold what these parts of sources contained when listed. As ``ingest_files``.

    ``deletions`` are made in place of those of the request. ``pool`` keeps the children that read files for the
    next ingest.
    """
    with target.catalogue.only_writer(), _parser_of(target, request, pool) as parser:
        return _IngestRun(target, ProgressMeter(progress), parser, request, deletions).ingest(parts)


def _parser_of(target: Target, request: IngestRequest, pool: ReaderPool | None = None) -> ParserProcess:
    return ParserProcess(request.options, allows_weaker=target.allows_weaker, pool=pool)


class _IngestRun:
    """One ingest into one project."""

    def __init__(
        self,
        target: Target,
        meter: ProgressMeter,
        parser: ParserProcess,
        request: IngestRequest,
        deletions: DeletionRule | None = None,
    ) -> None:
        self._target = target
        self._references = read_references(parser, request.references) if request.references else None
        self._meter = meter
        self._writer = IndexWriter(target)
        self._parser = parser
        check_state(target.project, target.catalogue.project_state(target.project), target.state)
        own = target.catalogue.project_settings(target.project).labels
        self._labels = with_project_labels(request.labels, own.doc_tag, own.environment, own.repository)
        self._stamp = partial(stamp_of, labels=self._labels, options=parser.options)
        self._fingerprint = target.embedder.fingerprint if target.embedder else ""
        self._unchanged = self._ignored = self._images = 0
        self._had_entries: list[File] = []
        self._links, self._hidden = Named(), Named()
        self._batch_chunks = min(_FIRST_BATCH_CHUNKS, _BATCH_CHUNKS)
        self._skipped: Counter[str] = Counter()
        self._failures: list[IngestFailure] = []
        self._outdated = Named()
        self._unknown_environments: list[tuple[str, str]] = []
        check_model(target.catalogue, target.project, self._fingerprint)
        self._graph = GraphUpdate(target.project, target.catalogue, target.graph) if target.graph else None
        self._altered = self._mark_altered()
        self._by_uri: dict[str, IndexedDocument] = {}
        self._by_origin: dict[tuple[str, str], list[IndexedDocument]] = {}
        for known in target.catalogue.indexed_documents(target.project):
            self._by_uri[known.uri] = known
            self._by_origin.setdefault((known.source, known.origin), []).append(known)
        self._deletions = Deletions(
            deletions or request.deletions,
            target.project,
            Counter(known.source for known in self._by_uri.values()),
        )
        self._was_interrupted = target.catalogue.has_unfinished_write(target.project)
        self._kept = len(self._by_uri)
        self._writer.repair(self._meter.advance)

    def _mark_altered(self) -> tuple[AlteredDocument, ...]:
        """In a store without a seal: the documents that are not as they were ingested; they are read again."""
        catalogue = self._target.catalogue
        if catalogue.is_trusted:
            return ()
        altered = tuple(find_altered(catalogue))
        if altered:
            catalogue.mark_altered([each.id for each in altered])
        return altered

    def ingest(self, parts: Sequence[SourcePart]) -> IngestReport:
        """Bring the index in line with these parts of sources."""
        todo = [self.changed_files(part) for part in parts]
        self._parser.expect(
            frozenset().union(
                *(expected_tasks(file.path, file.size, self._parser.options) for files in todo for file in files)
            )
        )
        self._meter.documents_total = count_documents(todo)
        self._meter.bytes_total = sum(file.size for files in todo for file in files)
        self._meter.report()
        for part, files in zip(parts, todo, strict=True):
            self.report_listing(part.root.source, part.listing)
            origins = (Origin(file.uri, part.read(file, self._parser), file) for file in files)
            self.index(part.root.source, origins)
            self.delete_missing(part)
        if self._references:
            self.index_references(self._references)
        return self.finish()

    def report_listing(self, source: str, listing: Listing) -> None:
        """Put unreadable, skipped and ignored files into the report."""
        self._skipped += listing.skipped
        self._ignored += listing.ignored
        self._links.update(listing.links)
        self._hidden.update(listing.hidden)
        for name, reason in listing.unreadable:
            self._fail(name, reason)
            if (source, name) in self._by_origin:
                self._outdated.add(name)

    def changed_files(self, part: SourcePart) -> list[File]:
        """The files to read: new, changed, with other labels, doubtful, or without vectors of this model."""
        source = part.root.source
        stamps = self._target.catalogue.stamps(self._target.project, source)
        new = (file for file in part.listing.files if file.uri not in stamps and self._may_read(file))
        self._deletions.add_arrivals((self._stamp(file), file.uri) for file in new)
        files = []
        for file in part.listing.files:
            known = self._by_origin.get((source, file.uri), [])
            is_settled = all(each.embedding == self._fingerprint and each.context_hash for each in known)
            former = stamps.get(file.uri)
            if is_settled and former == self._stamp_of(source, file, former):
                self._unchanged += len(known)
            elif self._may_read(file):
                files.append(file)
                if has_entry(former):
                    self._had_entries.append(file)
            else:
                self._images += 1  # the documents that it has are kept
        return files

    def _may_read(self, file: File) -> bool:
        return self._parser.options.uses_ocr or not needs_ocr(file.path.name)

    def index(self, source: str, origins: Iterable[Origin]) -> None:
        """Read the origins of a source and write what changed."""
        with (
            EmbeddingStage(self._target.embedder) as embedding,
            closing(self._read_ahead(source, origins, embedding)) as batches,
            self._parser.closing_on_error(),  # or leaving would wait until the current document is read
        ):
            for batch in batches:
                self._write(batch)
                is_large = batch.weight >= _LARGE_WEIGHT
                del batch  # it may be large, and the next one may take long
                if is_large:
                    release_memory()

    def _write(self, batch: Batch) -> None:
        self._meter.begin(batch.chunks, batch.bytes)
        self._writer.write(batch, self._meter.advance)
        self._deletions.add_written(each.entry.origin for each in batch.prepared)
        self._meter.add([document.entry for document in batch.prepared], batch.chunks, batch.bytes)

    def delete_missing(self, part: SourcePart) -> None:
        """Delete the documents of files that no longer exist, unless that is held back."""
        source, listing = part.root.source, part.listing
        present = {file.uri for file in listing.files}
        stamps = self._target.catalogue.stamps(self._target.project, source)
        missing = stamps.keys() | {origin for owner, origin in self._by_origin if owner == source}
        missing = {name for name in missing - present if part.root.holds(name) and not listing.hides(name)}
        documents = {name: [known.id for known in self._by_origin.get((source, name), [])] for name in missing}
        renamed = {
            name
            for name in sorted(missing)
            if self._deletions.take_renamed(plain_stamp(stamps.get(name)), len(documents[name]))
        }
        count = sum(len(documents[name]) for name in missing - renamed)
        if not self._deletions.admit(source, count, is_emptied=listing.is_emptied):
            missing = renamed
        if listing.ignored:
            left_out = filter(lambda name: Path(source, name).is_file(), missing)
            self._deletions.left_out += sum(len(documents[name]) for name in left_out)
        deleted = [each for name in missing for each in documents[name]]
        self._write(Batch(source, deleted=deleted, stamps=dict.fromkeys(sorted(missing))))

    def index_references(self, references: References) -> None:
        """Index the entries without a file.

        The documents of those that have one now are deleted, and those of older bibliographies with their keys.
        """
        source = references.source
        documents = list(self._target.catalogue.documents(self._target.project))
        covered = references.cover(documents)
        self._delete_entries(references.replaced(documents))
        names = {references.uri_of(key) for key in covered}
        known = self._by_origin.get((source, ""), [])
        self._write(Batch(source, deleted=[each.id for each in known if each.uri in names]))
        kept = names | references.unread
        self._by_origin[source, ""] = rest = [each for each in known if each.uri not in kept]
        if not references.is_empty or self._deletions.admit(source, len(rest), is_emptied=True):
            self.index(source, [Origin("", references.documents())])

    def _delete_entries(self, entries: Iterable[Document]) -> None:
        by_source = defaultdict[str, list[Document]](list)
        for each in entries:
            by_source[each.source].append(each)
            self._by_uri.pop(each.uri, None)
        for source, gone in by_source.items():
            self._write(Batch(source, deleted=[each.id for each in gone]))

    def finish(self) -> IngestReport:
        """Optimize and flush the stores, update the graph, and build the report."""
        self._writer.finish()
        indexing = index_texts(self._target.catalogue)
        altered = self._check_altered()
        graph, warnings = self._update_graph()
        followed: Sequence[str] = ()
        if self._writer.has_written:
            release_memory()
            followed = self._target.follow_up(self._target.project) if self._target.follow_up else ()
        environments = environment_warnings(self._unknown_environments)
        return IngestReport(
            project=self._target.project,
            documents=self._meter.documents - self._deletions.moved,
            unchanged=self._unchanged,
            deleted=self._writer.deleted - self._deletions.moved,
            moved=self._deletions.moved,
            chunks=self._meter.chunks,
            seconds=self._meter.seconds,
            skipped=self._skipped.total(),
            skipped_suffixes=_most_frequent(self._skipped),
            ignored=self._ignored,
            links=self._links.count,
            link_names=tuple(self._links.first),
            hidden=self._hidden.count,
            hidden_names=tuple(self._hidden.first),
            images_skipped=self._images,
            images_blank=self._parser.blank_images,
            held=self._deletions.held,
            failures=tuple(self._failures),
            warnings=(
                *self._parser.wall_warnings,
                *self._earlier_run(),
                *self._outdated_documents(),
                *self._remade_vectors(),
                *altered,
                *self._deletions.warnings(),
                *self._lost_entries(),
                *environments,
                *self._meter.reading.thin_warnings(),
                *indexing,
                *warnings,
                *followed,
            ),
            graph=graph,
            reading=self._meter.reading.summarize(),
            references=self._references.report() if self._references else None,
            reader_tier=self._parser.tier,
        )

    def _earlier_run(self) -> tuple[str, ...]:
        text = _INTERRUPTED.format(project=self._target.project, documents=count_of(self._kept, "document"))
        return (text,) if self._was_interrupted else ()

    def _outdated_documents(self) -> tuple[str, ...]:
        """A warning of files whose documents are not as the files are now, because these cannot be read."""
        count, names = self._outdated.count, [one_line(name, NAME_CHARS) for name in self._outdated.first]
        more = ", ..." if count > len(names) else ""
        text = _OUTDATED.format(files=count_of(count, "file"), names=", ".join(names) + more)
        return (text,) if count else ()

    def _remade_vectors(self) -> tuple[str, ...]:
        count = self._writer.remade
        return (_REMADE.format(chunks=count_of(count, "chunk")),) if count else ()

    def _lost_entries(self) -> tuple[str, ...]:
        """A warning of files that had an entry before, and have none in this bibliography, or none is named."""
        references = self._references
        lost = [file for file in self._had_entries if references is None or references.lacks(file)]
        why = _NO_BIBLIOGRAPHY if references is None else _NOT_IN_BIBLIOGRAPHY
        return (
            (_ENTRIES_LOST.format(files=count_of(len(lost), "file has", "files have"), why=why),) if lost else ()
        )

    def _check_altered(self) -> tuple[str, ...]:
        """Have the store sealed, or warn of documents that are still not as they were ingested."""
        catalogue = self._target.catalogue
        left = [
            known.id
            for project in sorted({each.project for each in self._altered})
            for known in catalogue.indexed_documents(project)
            if not known.content_hash
        ]
        still = [each for each in self._altered if each.id in left]
        if not still:
            catalogue.trust()
        return (describe_altered(still),) if still else ()

    def _update_graph(self) -> tuple[GraphReport | None, tuple[str, ...]]:
        """Bring the graph in line with the catalogue, or return a warning: search works without it."""
        try:
            graph = self._graph.update() if self._graph else None
        except WinnowError as error:
            return None, (_GRAPH_OUTDATED.format(why=error.message),)
        return graph, graph.warnings if graph else ()

    # --- reading: in the reader's thread

    def _read_ahead(
        self, source: str, origins: Iterable[Origin], embedding: EmbeddingStage
    ) -> Generator[Batch, None, None]:
        batches = self._batches(source, origins, embedding)
        return read_ahead(batches, _BATCHES_HELD * _BATCH_CHUNKS, lambda batch: batch.weight, self._meter.report)

    def _batches(self, source: str, origins: Iterable[Origin], embedding: EmbeddingStage) -> Iterator[Batch]:
        """Batches of changed documents, whose embedding has begun."""
        batch = Batch(source)
        for event in self._read(source, origins):
            batch.add(event, partial(self._stamp_of, source))
            if batch.weight >= self._batch_chunks:
                self._batch_chunks = min(2 * self._batch_chunks, _BATCH_CHUNKS)
                yield batch.begin_embedding(embedding)
                batch = Batch(source)
        yield batch.begin_embedding(embedding)

    def _read(self, source: str, origins: Iterable[Origin]) -> Iterator[PreparedDocument | CompletedOrigin]:
        for origin in origins:
            self._meter.current = one_line(origin.name, NAME_CHARS)
            failures, remaining = len(self._failures), origin.file.size if origin.file else 0
            seen: set[str] = set()
            for raw in self._documents(source, origin):
                for prepared in self._prepare(source, origin, raw, seen):
                    remaining -= prepared.size
                    yield prepared
            is_whole = len(self._failures) == failures
            unseen = [each for each in self._by_origin.get((source, origin.name), []) if each.uri not in seen]
            if unseen and not is_whole:
                self._outdated.add(origin.name or source)
            deleted = tuple(each.id for each in unseen) if is_whole else ()
            if not self._deletions.admit(source, len(deleted)):
                deleted, is_whole = (), False
            yield CompletedOrigin(origin, is_whole, deleted, remaining)

    def _documents(self, source: str, origin: Origin) -> Iterator[RawDocument]:
        """The documents of an origin; errors go into the report."""
        documents = iter(origin.documents)
        while raw := self._attempt(origin, origin.name or source, lambda: next(documents, None)):
            if isinstance(raw, ReadFlaw):
                self._fail(raw.name, raw.reason)
            else:
                raw = self._add_reference(source, origin, clean_document(raw))
                yield apply_labels(raw, *self._labels)

    def _add_reference(self, source: str, origin: Origin, raw: RawDocument) -> RawDocument:
        return self._references.apply(raw, origin.file, source) if self._references and origin.file else raw

    def _stamp_of(self, source: str, file: File, former: str | None = None) -> str:
        """The stamp of a file; ``former`` is the one in the catalogue, where the file was not read in this run."""
        stamp = self._stamp(file)
        return self._references.stamp_of(stamp, file, source, former) if self._references else stamp

    def _prepare(
        self, source: str, origin: Origin, raw: RawDocument, seen: set[str]
    ) -> Iterator[PreparedDocument]:
        """The document if it changed; errors go into the report."""
        known = self._by_uri.get(raw.uri)
        if raw.uri in seen:
            self._fail(raw.uri, "the same name twice in one collection; only the first document is kept")
        elif known and known.source != source and source_exists(known.source):
            self._fail(raw.uri, _NAME_TAKEN.format(source=known.source))
        else:
            seen.add(raw.uri)
            if raw.environment and raw.environment not in _ENVIRONMENTS:
                self._unknown_environments.append((raw.uri, raw.environment))
            document = document_of(self._target.project, source, raw)
            now = indexed_document_of(document, origin.name, self._fingerprint)
            if now == known:
                self._unchanged += 1
            elif (chunks := self._attempt(origin, raw.uri, lambda: self._cut(document, raw))) is not None:
                self._by_uri[raw.uri] = now
                yield prepare(self._target.catalogue, entry_of(document, raw, chunks, now), now, known)

    def _cut(self, document: Document, raw: RawDocument) -> tuple[Chunk, ...]:
        """Cut the document into chunks and mine it for the graph. Raises ``UnreadableFile``."""
        self._parser.dry_run(raw)
        chunks = chunk(document, raw.text, raw.places)
        if self._graph:
            self._graph.extract(document, raw.text, chunks)
        return chunks

    def _attempt(self, origin: Origin, name: str, work: Callable[[], T]) -> T | None:
        """The result of ``work``; None where it fails on this file or document, which goes into the report."""
        try:
            return work()
        except (OSError, UnreadableFile) as error:
            self._fail(name, reason_of(error))
        except Exception as error:
            if origin.file is None:  # a bug in a generated source, not in a user's file
                raise
            self._fail(name, f"cannot be read ({type(error).__name__})")
        return None

    def _fail(self, name: str, reason: str) -> None:
        self._failures.append(failure_of(name, add_advice(reason)))


def _most_frequent(counts: Counter[str]) -> dict[str, int]:
    """The first of them by number, then by name."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_MOST_SUFFIXES])
