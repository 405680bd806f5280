"""The bibliography of one ingest: finds the entry of each document, and makes documents of the others.

A file whose entry is another one than before, or has changed, is read again, and no other: beside a file's stamp
stands what it said of the work it is (its DOI, its title, years), and a digest of the facts that it got. So the
entry of a file that did not change is found again without reading it. Facts are no part of the text that is
embedded, except for the title.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from winnow.server.bibliographies.facts import CITEKEY, facts_of, merge_facts
from winnow.server.bibliographies.matching import FileFacts, FoundItem, Matcher, plain_title, years_in
from winnow.server.bibliographies.packing import SUFFIXES, Bibliography
from winnow.server.bibliographies.records import LibraryItem
from winnow.server.errors import WinnowError
from winnow.server.ingest.children.parser import ParserProcess
from winnow.server.ingest.file_discovery import File, name_of
from winnow.server.ingest.references.reference_report import MOST_LISTED, NamedReason, ReferenceReport
from winnow.server.models import Document
from winnow.server.readers.documents import RawDocument, UnreadableFile, reason_of
from winnow.server.readers.reading import kind_of

# Separates a file's stamp from what it said of its work.
_MARK = "\n"
# Of a document's text, where its year is looked for: about two pages.
_FIRST_CHARS = 8_000
_DIGEST_BYTES = 8
_NOT_FOUND = "its file is not among the documents: {path}"
_NEWER = "kept as {name} has it, which is newer"


def read_references(parser: ParserProcess, path: Path) -> References:
    """The bibliography at a resolved path. Raises ``WinnowError("INVALID_REQUEST")`` if it cannot be read."""
    try:
        return References(parser.read_bibliography(path), path)
    except (OSError, UnreadableFile) as error:
        reason = f"{name_of(str(path))}: {reason_of(error)}"
        raise WinnowError("INVALID_REQUEST", f"--references: {reason}") from None


def plain_stamp(stamp: str | None) -> str | None:
    """The part of a stamp that is the file's own."""
    return stamp and stamp.partition(_MARK)[0]


def has_entry(stamp: str | None) -> bool:
    """Whether the file with this stamp had an entry in the bibliography of the ingest that left it."""
    mark = (stamp or "").partition(_MARK)[2]
    *_, digest = json.loads(mark) if mark else ("",)
    return bool(digest)


class References:
    """The bibliography of one ingest. ``source`` is the name of its documents' source: the path of its file."""

    def __init__(self, bibliography: Bibliography, path: Path) -> None:
        self.source = str(path)
        self._name = name_of(path.name)
        self._items = {item.citekey: item for item in bibliography.items}
        self._flaws = bibliography.flaws
        self._matcher = Matcher(bibliography.items, path.parent)
        self._marks: dict[Path, str] = {}
        self._found: dict[Path, tuple[str, FoundItem]] = {}
        self._covered: set[str] = set()
        self._newer: dict[str, str] = {}  # citekey -> the newer bibliography that has it
        self._replaced = 0

    def stamp_of(self, stamp: str, file: File, source: str, former: str | None = None) -> str:
        """The stamp of a file with its mark: of its reading in this run, else of its ``former`` stamp."""
        if kind_of(file.path) == "record":
            return stamp
        if file.path not in self._marks and former and _MARK in former:
            self._match(file, source, _load(former.partition(_MARK)[2]))
        return stamp + self._marks.get(file.path, _MARK)

    def apply(self, raw: RawDocument, file: File, source: str) -> RawDocument:
        """The document with the facts of its entry; as it is where it has none. Collections have none."""
        if kind_of(file.path) == "record":
            return raw
        item = self._match(file, source, _facts_in(raw)).item
        return raw if item is None else add_work(raw, item)

    def _match(self, file: File, source: str, facts: FileFacts) -> FoundItem:
        match = self._matcher.find(file.path, Path(source), facts)
        self._found[file.path] = (file.uri, match)
        self._marks[file.path] = _MARK + json.dumps(
            [facts.doi, facts.title, facts.years, digest_of(match.item) if match.item else ""]
        )
        return match

    def lacks(self, file: File) -> bool:
        """Whether a file that was read in this run has no entry."""
        found = self._found.get(file.path)
        return found is not None and found[1].item is None

    # --- entries without a file

    def cover(self, documents: Iterable[Document]) -> Set[str]:
        """Note which entries have a file among these documents, or stay as a newer bibliography has them.

        Returns the keys of both.
        """
        others = [document for document in documents if document.source != self.source]
        files = {_key_of(each) for each in others if not is_entry(each.source, each.uri)}
        self._covered = self._items.keys() & files
        self._newer = {
            key: name_of(Path(each.source).name)
            for each in others
            if (key := _key_of(each)) in self._items.keys() - files
            and is_entry(each.source, each.uri)
            and _is_newer(each.source, self.source)
        }
        return self._covered | self._newer.keys()

    def replaced(self, documents: Iterable[Document]) -> Sequence[Document]:
        """The entries of older bibliographies with the keys of this one. For after ``cover``."""
        keys = self._items.keys() - self._newer.keys()
        others = (each for each in documents if each.source != self.source and is_entry(each.source, each.uri))
        older = [each for each in others if _key_of(each) in keys]
        self._replaced += len(older)
        return older

    def uri_of(self, citekey: str) -> str:
        """The name of the document of an entry."""
        return f"{self._name}#{citekey}"

    @property
    def unread(self) -> Set[str]:
        """The names of the documents of entries that could not be read: they stay as they are."""
        return {self.uri_of(flaw.name) for flaw in self._flaws} - {self.uri_of(key) for key in self._items}

    @property
    def is_empty(self) -> bool:
        """Whether it has no entry."""
        return not self._items

    def documents(self) -> Iterator[RawDocument]:
        """A document for each entry without a file, of its title and abstract."""
        for citekey, item in self._items.items():
            if citekey not in self._covered | self._newer.keys() and (item.title or item.abstract):
                yield RawDocument(
                    self.uri_of(citekey),
                    "record",
                    item.title or citekey,
                    item.abstract or item.title,
                    tags=item.tags,
                    created=item.date.partition("/")[0],
                    metadata=facts_of(item),
                )

    def report(self) -> ReferenceReport:
        """The fit of the entries and the files of this run."""
        found = [(name, match) for name, match in self._found.values()]
        files = [NamedReason(name, match.reason) for name, match in found if match.item is None]
        matched = [NamedReason(name, f"{m.item.citekey}, by {m.reason}") for name, m in found if m.item]
        newer = [NamedReason(key, _NEWER.format(name=name)) for key, name in self._newer.items()]
        known = self._covered | self._newer.keys()
        rest = [item for key, item in self._items.items() if key not in known]
        missing = [
            NamedReason(item.citekey, _NOT_FOUND.format(path=name_of(item.attachments[0].path)))
            for item in rest
            if item.attachments
        ]
        return ReferenceReport(
            path=name_of(self.source),
            entries=len(self._items),
            matched=len(found) - len(files),
            without_file=sum(1 for item in rest if item.title or item.abstract),
            replaced=self._replaced,
            matched_files=tuple(matched[:MOST_LISTED]),
            newer=tuple(newer[:MOST_LISTED]),
            newer_count=len(newer),
            unmatched_files=tuple(files[:MOST_LISTED]),
            unmatched_files_count=len(files),
            missing_files=tuple(missing[:MOST_LISTED]),
            missing_files_count=len(missing),
            flaws=tuple(NamedReason(f"line {flaw.line}: {flaw.name}", flaw.reason) for flaw in self._flaws),
        )


def has_suffix_of_bibliography(source: str) -> bool:
    """Whether the name of a source may be that of a bibliography. Collections of other data end in .json too."""
    return Path(source).is_absolute() and Path(source).suffix.lower() in SUFFIXES


def is_entry(source: str, uri: str) -> bool:
    """Whether a document of this source and name is an entry of a bibliography."""
    return has_suffix_of_bibliography(source) and uri.startswith(f"{name_of(Path(source).name)}#")


def _key_of(document: Document) -> str:
    return str(document.metadata.get(CITEKEY))


def _is_newer(other: str, source: str) -> bool:
    """Whether a bibliography that is still there was changed after another one."""
    try:
        return Path(other).stat().st_mtime_ns > Path(source).stat().st_mtime_ns
    except OSError:
        return False


def add_work(raw: RawDocument, item: LibraryItem) -> RawDocument:
    """The document with the facts of the work that it is, in place of its own."""
    return replace(
        raw,
        title=item.title or raw.title,
        tags=tuple(dict.fromkeys((*raw.tags, *item.tags))),
        metadata=merge_facts(raw.metadata, item),
    )


def digest_of(item: LibraryItem, *more: Any) -> str:
    """A digest of what a document gets of its work, and of more JSON data."""
    facts: Mapping[str, Any] = {"title": item.title, "tags": item.tags, **facts_of(item)}
    data = json.dumps([facts, *more] if more else facts, ensure_ascii=False, sort_keys=True)
    return blake2b(data.encode("utf-8", "replace"), digest_size=_DIGEST_BYTES).hexdigest()


def _facts_in(raw: RawDocument) -> FileFacts:
    """Facts of a document about the work it is."""
    doi, stated = raw.metadata.get("doi"), (raw.metadata.get("year"), raw.metadata.get("date"))
    years = years_in(" ".join((raw.text[:_FIRST_CHARS], *map(str, stated))))
    return FileFacts(doi if isinstance(doi, str) else "", plain_title(raw.title), years)


def _load(mark: str) -> FileFacts:
    doi, title, years, _ = json.loads(mark)
    return FileFacts(doi, title, tuple(years))
