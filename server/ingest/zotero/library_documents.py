"""The documents of a Zotero library: how each is named, when it has changed, and how it is read.

A document is named by the key of its attachment, note or item, so that a work which moves between collections
changes facts and no names. Links are made from the names (``server.bibliographies.locators``)::

    zotero/ATTACHM1/paper.pdf             a file that is on this machine
    zotero/ATTACHM1/annotations#ANNOTAT1  a mark in it: the marked text and the reader's comment, on its page
    zotero/NOTEKEY1/note                  a note
    zotero/ITEMKEY1/item                  a work of which no file can be read: its title and abstract

Those of a group are below ``zotero/groups/123/``. Each has the facts of its work, and its place in Zotero. A file
is read as one of a folder is; the rest is made of the library's records, and notes, which are HTML, are parsed
where other HTML is.
"""

from __future__ import annotations

import secrets
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from winnow.server.bibliographies.locators import ZOTERO
from winnow.server.bibliographies.records import Annotation, LibraryItem
from winnow.server.bibliographies.stated_language import stated_language
from winnow.server.bibliographies.zotero.records import ZoteroFile, ZoteroLibrary, ZoteroNote, ZoteroWork
from winnow.server.ingest.file_discovery import File, name_of
from winnow.server.ingest.references.references import add_work, digest_of
from winnow.server.models import Place
from winnow.server.readers.bounded_files import describe_type
from winnow.server.readers.documents import RawDocument
from winnow.server.readers.reading import DocumentParser, ReaderOutput, ReadFlaw, is_known, read

# In the metadata of a document: its place in its library ("library/items/ABCD2345"), the key and colour of a mark.
ZOTERO_FACT, ANNOTATION_FACT, COLOR_FACT = "zotero", "annotation", "annotation_color"
_OUTSIDE = "linked files outside the folders that this server may ingest from"
_UNKNOWN = "files of a type that is not read"
_GONE = "files that are not where the library says"
_Read = Callable[[DocumentParser], ReaderOutput]


def source_of(library_id: str) -> str:
    """The name of a library as a source of documents.

    >>> source_of("groups/123")
    'zotero:groups/123'
    """
    return f"{ZOTERO}{library_id}"


def is_from_zotero(source: str) -> bool:
    """Whether a source of documents is a library of Zotero."""
    return source.startswith(ZOTERO)


def prefix_of(library_id: str) -> str:
    """The prefix of the names of a library's documents.

    >>> prefix_of("library"), prefix_of("groups/123")
    ('zotero/', 'zotero/groups/123/')
    """
    return "zotero/" if library_id == "library" else f"zotero/{library_id}/"


@dataclass(slots=True)
class LibraryDocuments:
    """The readable parts of a library: ``files`` stand for documents, those of a folder and those that are made.

    ``missing`` counts files that are not read, by the reason. ``unreadable`` are names with the reason, whose
    documents stay as they are; ``remarks`` are keys with what is to be said of what was read.
    """

    files: list[File] = field(default_factory=list)
    missing: Counter[str] = field(default_factory=Counter)
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    remarks: list[tuple[str, str]] = field(default_factory=list)
    _readers: dict[str, _Read] = field(default_factory=dict)

    def add(self, file: File, reader: _Read) -> None:
        """Add a file, and how its documents are read."""
        self.files.append(file)
        self._readers[file.uri] = reader

    def read(self, file: File, parser: DocumentParser) -> ReaderOutput:
        """Read the documents of one of the files. Raises ``UnreadableFile``, or ``OSError``."""
        return self._readers[file.uri](parser)


def list_documents(
    library: ZoteroLibrary, indexed: Set[str], linked_below: Sequence[Path] | None
) -> LibraryDocuments:
    """Lists the documents of a library.

    ``indexed`` are the names of its files that are in the index. Linked files are read below these folders only,
    everywhere where ``linked_below`` is None.
    """
    listing = _Listing(library, indexed, linked_below)
    for work in library.works:
        listing.add_work(work)
    for flaw in library.flaws:
        if flaw.name in listing.keys:
            listing.found.remarks.append((flaw.name, flaw.reason))
        else:
            listing.found.unreadable.append((f"{prefix_of(library.id)}{name_of(flaw.name)}", flaw.reason))
    return listing.found


class _Listing:
    """Lists the documents of a library, work by work."""

    def __init__(self, library: ZoteroLibrary, indexed: Set[str], linked_below: Sequence[Path] | None) -> None:
        self.found = LibraryDocuments()
        self._id, self._indexed, self._linked_below = library.id, indexed, linked_below
        self.keys = {key for work in library.works for key in _keys_of(work)}
        # Keys of works of which a file was read in this run.
        self._read: set[str] = set()

    def add_work(self, work: ZoteroWork) -> None:
        """Add the documents of a work."""
        files = [name for each in work.files if (name := self._add_file(work, each))]
        for note in work.notes:
            self._add_note(work, note)
        for attachment in work.files:
            self._add_annotations(work, attachment)
        is_entry = work.item.key not in _children_of(work)
        if is_entry and self._indexed.isdisjoint(files) and (work.item.title or work.item.abstract):
            self._add_item(work.item, has_files=bool(files))

    def _name(self, key: str, rest: str) -> str:
        return name_of(f"{prefix_of(self._id)}{key}/{rest}")

    def _describe(self, raw: RawDocument, item: LibraryItem, key: str, **facts: str) -> RawDocument:
        """The document with the facts of its work, and its place in Zotero."""
        described = add_work(raw, item)
        place = {ZOTERO_FACT: f"{self._id}/items/{key}", **{name: value for name, value in facts.items() if value}}
        return replace(described, metadata={**described.metadata, **place})

    # --- files

    def _add_file(self, work: ZoteroWork, attachment: ZoteroFile) -> str:
        """Add the file of an attachment; returns its name, "" if it is not read."""
        path = attachment.path
        reason = attachment.missing if path is None else self._find_obstacle(attachment, path)
        if path is None or reason:
            self.found.missing[reason or _GONE] += 1
            return ""
        name = self._name(attachment.key, path.name)
        try:
            status = path.lstat()
        except FileNotFoundError:
            self.found.missing[_GONE] += 1
            return ""
        except OSError as error:
            self.found.unreadable.append((name, error.strerror or "unreadable"))
            return name
        if not stat.S_ISREG(status.st_mode):
            self.found.unreadable.append((name, describe_type(status.st_mode)))
            return name
        mark = digest_of(work.item, work.item.language, self._id, attachment.key)
        file = File(path, name, status.st_size, status.st_mtime_ns, mark)
        self.found.add(file, lambda parser: self._read_file(work.item, attachment.key, file, parser))
        return name

    def _find_obstacle(self, attachment: ZoteroFile, path: Path) -> str:
        """Why a file is not read; "" if it is."""
        if not is_known(path):
            return _UNKNOWN
        is_outside = attachment.is_linked and self._linked_below is not None
        if is_outside and not any(path.is_relative_to(folder) for folder in self._linked_below or ()):
            return _OUTSIDE
        return ""

    def _read_file(self, item: LibraryItem, key: str, file: File, parser: DocumentParser) -> ReaderOutput:
        language = stated_language(item.language)
        for raw in read(file.path, file.uri, parser):
            if isinstance(raw, ReadFlaw):
                yield raw
            else:
                self._read.add(item.key)
                yield replace(self._describe(raw, item, key), language=language)

    # --- what is made of records

    def _add_made(self, name: str, item: LibraryItem, content: Sequence[Any], reader: _Read) -> None:
        """Add documents that are made of a record, which have changed where ``content`` has."""
        size = sum(len(each) for each in content if isinstance(each, str))
        self.found.add(File(Path(name), name, size, 0, digest_of(item, item.language, self._id, *content)), reader)

    def _add_note(self, work: ZoteroWork, note: ZoteroNote) -> None:
        name = self._name(note.key, "note")

        def read_note(parser: DocumentParser) -> ReaderOutput:
            for raw in parser.parse("html", note.html, name):
                if isinstance(raw, ReadFlaw):
                    yield raw
                elif raw.text.strip():
                    described = self._describe(replace(raw, tags=note.tags), work.item, note.key)
                    yield replace(described, title=note.title or described.title)

        self._add_made(name, work.item, (note.title, note.html, note.tags), read_note)

    def _add_annotations(self, work: ZoteroWork, attachment: ZoteroFile) -> None:
        name = self._name(attachment.key, "annotations")
        marks = [each for each in attachment.annotations if each.text or each.comment]
        if marks:
            content = [(each.key, each.text, each.comment, each.page, each.color) for each in marks]
            self._add_made(name, work.item, content, lambda _: self._make_annotations(work, attachment, marks))

    def _make_annotations(
        self, work: ZoteroWork, attachment: ZoteroFile, marks: Sequence[Annotation]
    ) -> Iterator[RawDocument]:
        """A document for each mark: so each has a link and a colour of its own, whatever their length."""
        name = self._name(attachment.key, "annotations")
        for mark in marks:
            text = "\n\n".join(filter(None, (mark.text, mark.comment)))
            title = work.item.title or attachment.title
            places = (Place(0, "page", mark.page),) if mark.page else ()
            raw = RawDocument(f"{name}#{mark.key}", "record", title, text, places=places)
            facts = {ANNOTATION_FACT: mark.key, COLOR_FACT: mark.color}
            yield self._describe(raw, work.item, attachment.key, **facts)

    def _add_item(self, item: LibraryItem, *, has_files: bool) -> None:
        name = self._name(item.key, "item")

        def make_item(_: DocumentParser) -> ReaderOutput:
            if item.key not in self._read:  # its files come before it
                raw = RawDocument(
                    name, "record", item.title, item.abstract or item.title, created=item.date.partition("/")[0]
                )
                yield replace(self._describe(raw, item, item.key), language=stated_language(item.language))

        # Where it has files, whether one can be read is found out in each run.
        content = (item.abstract, *([secrets.token_hex()] if has_files else []))
        self._add_made(name, item, content, make_item)


def _children_of(work: ZoteroWork) -> set[str]:
    """The keys of the files and notes of a work, which is one of them where it is alone."""
    return {file.key for file in work.files} | {note.key for note in work.notes}


def _keys_of(work: ZoteroWork) -> set[str]:
    return {work.item.key} | _children_of(work)
