"""The records of a Zotero library: its works with their files, annotations and notes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from winnow.server.bibliographies.records import Annotation, EntryFlaw, LibraryItem


@dataclass(frozen=True, slots=True)
class ZoteroFile:
    """A stored or linked file of a work.

    ``key`` is that of the attachment. ``path`` is absolute, None where the file is not on this machine or must not
    be read; then ``missing`` is the reason, else "". ``is_linked`` says that the file is outside Zotero's storage.
    """

    key: str
    title: str
    path: Path | None
    missing: str = ""
    is_linked: bool = False
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class ZoteroNote:
    """A note, as HTML that is not cleaned. ``title`` is its first line."""

    key: str
    title: str
    html: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ZoteroWork:
    """A work with its files and notes.

    The item of a lone file or note has that file's or note's key and no citekey.
    """

    item: LibraryItem
    files: tuple[ZoteroFile, ...] = ()
    notes: tuple[ZoteroNote, ...] = ()


@dataclass(frozen=True, slots=True)
class ZoteroLibrary:
    """A library: the user's own (``id`` "library") or a group's ("groups/123"). Works are in the order of keys.

    ``version`` grows with changes that Zotero knows the order of; it is 0 where no such number exists.
    """

    id: str
    name: str
    version: int
    works: tuple[ZoteroWork, ...] = ()
    flaws: tuple[EntryFlaw, ...] = ()
