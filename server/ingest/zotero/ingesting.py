"""Ingests libraries of Zotero: each is a source of its own, so that none can delete what another has.

An ingest of some collections or tags brings in line what has these collections or tags, now or when it was
indexed, as an ingest of a folder within a source does. So a second collection is added to a first one, and a work
that left a collection leaves the index with the next ingest of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from winnow.server.bibliographies.zotero.choice import ZoteroChoice
from winnow.server.bibliographies.zotero.records import ZoteroLibrary
from winnow.server.bibliographies.zotero.selection import choose_works
from winnow.server.errors import WinnowError
from winnow.server.ingest.children.reader_pool import ReaderPool
from winnow.server.ingest.file_discovery import Listing, Root, SourcePart
from winnow.server.ingest.pipeline import Target, ingest_parts
from winnow.server.ingest.report import IngestReport, OnProgress
from winnow.server.ingest.selection.deletions import DeletionRule
from winnow.server.ingest.selection.request import IngestRequest
from winnow.server.ingest.zotero.library_documents import (
    LibraryDocuments,
    is_from_zotero,
    list_documents,
    source_of,
)
from winnow.server.ingest.zotero.reading import FoundLibraries, read_libraries
from winnow.server.models import Document
from winnow.server.storage.base import IndexedDocument
from winnow.server.text.sizes import count_of

_NOT_HERE = "{source}: {count} not read: {reason}"
_REMARKS_SHOWN = 20
_ABSENT = "{source} is not in Zotero any more; its documents were kept; to delete them: winnow zotero ingest " + (
    "--allow-deletions --project {project}"
)


def ingest_zotero(
    target: Target, request: IngestRequest, store: Path, progress: OnProgress | None = None
) -> IngestReport:
    """Read what is chosen of Zotero, and make the index hold it. ``store`` is the folder of the store.

    Raises ``WinnowError`` as ``read_libraries`` and ``ingest_libraries`` do.
    """
    return ingest_found(target, read_libraries(choice_of(request), store), request, progress)


def choice_of(request: IngestRequest) -> ZoteroChoice:
    """The choice of works in Zotero, all of them where the request does not say."""
    return request.zotero or ZoteroChoice()


def ingest_found(
    target: Target,
    found: FoundLibraries,
    request: IngestRequest,
    progress: OnProgress | None = None,
    *,
    deletions: DeletionRule | None = None,
    pool: ReaderPool | None = None,
) -> IngestReport:
    """Make the index hold what was read, as ``ingest_libraries`` does; the report names what was not read."""
    report = ingest_libraries(
        target, found.libraries, request, progress, deletions=deletions, pool=pool, unread=found.unread
    )
    notes = (found.note,) if found.note else ()
    return replace(report, failures=(*found.failures, *report.failures), warnings=(*notes, *report.warnings))


def ingest_libraries(
    target: Target,
    libraries: Sequence[ZoteroLibrary],
    request: IngestRequest,
    progress: OnProgress | None = None,
    *,
    deletions: DeletionRule | None = None,
    pool: ReaderPool | None = None,
    unread: Sequence[str] = (),
) -> IngestReport:
    """Make the index hold what these libraries contain; the request says what was chosen of them.

    ``unread`` are the ids of libraries that Zotero has and that are not among these. No library touches another
    one's documents. Raises as ``ingest_parts`` does, and "NOT_FOUND" for a collection that no library has.
    """
    chosen, admits_all = choice_of(request), (deletions or request.deletions).admits_all
    indexed = [each for each in target.catalogue.indexed_documents(target.project) if is_from_zotero(each.source)]
    libraries = _choose(libraries, chosen, allows_none=admits_all)
    found = [_list_library(target, library, chosen, request.linked_below, indexed) for library in libraries]
    parts = [part for part, _ in found]
    warnings = [line for part, documents in found for line in _describe_missing(part, documents)]
    if chosen.is_everything:
        gone = sorted(
            {each.source for each in indexed} - {part.root.source for part in parts} - set(map(source_of, unread))
        )
        if admits_all:
            parts += [SourcePart(Root(source, ""), Listing(is_emptied=True)) for source in gone]
        else:
            warnings += [_ABSENT.format(source=source, project=target.project) for source in gone]
    report = ingest_parts(target, parts, request, progress, deletions=deletions, pool=pool)
    return replace(report, warnings=(*warnings, *report.warnings))


def _choose(libraries: Sequence[ZoteroLibrary], choice: ZoteroChoice, *, allows_none: bool) -> list[ZoteroLibrary]:
    """The libraries with the works that are chosen, none where a library lacks a collection.

    Raises ``WinnowError("NOT_FOUND")`` where no library has it, unless ``allows_none``.
    """
    found, errors = [], []
    for library in libraries:
        try:
            found.append(choose_works(library, choice.collections, choice.tags))
        except WinnowError as error:
            errors.append(error)
            found.append(replace(library, works=()))
    if errors and len(errors) == len(libraries) and not allows_none:
        raise errors[0]
    return found


def _list_library(
    target: Target,
    library: ZoteroLibrary,
    choice: ZoteroChoice,
    linked_below: Sequence[Path] | None,
    indexed: Sequence[IndexedDocument],
) -> tuple[SourcePart, LibraryDocuments]:
    source = source_of(library.id)
    origins = {each.uri: each.origin for each in indexed if each.source == source}
    documents = list_documents(library, frozenset(origins.values()), linked_below)
    listing = Listing(files=documents.files, unreadable=documents.unreadable)
    has_files = any(work.files for work in library.works)
    is_without_files = has_files and not any(file.modified_ns for file in documents.files)
    had_files = any(Path(origin).suffix for origin in origins.values())
    listing.is_emptied = not library.works or (is_without_files and had_files)
    if choice.is_part:
        held = (each for each in target.catalogue.documents(target.project) if each.source == source)
        listing.pending |= {origins[each.uri] for each in held if not _is_chosen(each, choice)}
    return SourcePart(Root(source, ""), listing, documents.read), documents


def _is_chosen(document: Document, choice: ZoteroChoice) -> bool:
    """Whether a document was in what is chosen when it was indexed."""
    held = document.metadata.get("collections")
    collections = [str(name) for name in held] if isinstance(held, list | tuple) else []
    return choice.admits(collections, document.tags)


def _describe_missing(part: SourcePart, documents: LibraryDocuments) -> Iterator[str]:
    """A line for each reason why files of a library are not read."""
    for reason, count in documents.missing.most_common():
        files = count_of(count, "file was", "files were")
        yield _NOT_HERE.format(source=part.root.source, count=files, reason=reason)
    yield from (f"{part.root.source}: {name}: {reason}" for name, reason in documents.remarks[:_REMARKS_SHOWN])
