"""The records of a bibliography: what is known of a work, independent of the file or program it comes from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from winnow.server.text.forms.title_case import Kept

OTHERS = "others"
_DOI = re.compile(r"10\.\d{1,9}(?:\.\d{1,9}){0,4}/\S+")
_DOI_CHARS = 300
# Titles in ``more``.
_FURTHER_TITLES = ("collection-title", "title-short", "event-title", "original-title")
_YEAR = re.compile(r"\d{4}")


@dataclass(frozen=True, slots=True)
class Creator:
    """A person or an organization. An organization has only ``family``.

    ``role`` is that of CSL: "author", "editor", "translator" and others. ``suffix`` is "Jr.", "III" and the like.
    The name "others" alone stands for those that an entry leaves out.
    """

    family: str
    given: str = ""
    role: str = "author"
    suffix: str = ""

    @property
    def name(self) -> str:
        """The name with the family name first: "Family, Given", "King, Martin Luther, Jr."."""
        return ", ".join(part for part in (self.family, self.given, self.suffix) if part)

    @property
    def is_others(self) -> bool:
        """Whether it stands for those that are left out."""
        return (self.family, self.given) == (OTHERS, "")


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file of a work: its path as the bibliography states it, which may be relative to the bibliography."""

    path: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Annotation:
    """A mark in a file: the marked text, the reader's comment, the page (0 for unknown) and the colour."""

    key: str
    text: str = ""
    comment: str = ""
    page: int = 0
    color: str = ""


@dataclass(frozen=True, slots=True)
class LibraryItem:
    """A work in a bibliography.

    ``key`` identifies the entry where it comes from, ``citekey`` in the user's texts. ``item_type`` is a type of
    CSL ("article-journal"). ``year`` is 0 if unknown, ``date`` in ISO 8601, as exact as it is known. ``container``
    is the journal, the book or the site that the work is part of. ``doi`` has no address before it.
    ``more`` are all other facts by name: those that CSL knows under its names ("edition", "publisher-place"), the
    rest under the names that the bibliography has for them. ``collections`` are names; those of subcollections
    include the names above: "Thesis/Chapter 2".
    ``cased`` are the titles that stand in title case as BibTeX has them, under the names that CSL has for them,
    each with the places in it that keep their case (``title_case``). All other titles are in sentence case.
    """

    key: str
    citekey: str
    item_type: str
    title: str
    creators: tuple[Creator, ...] = ()
    year: int = 0
    date: str = ""
    doi: str = ""
    url: str = ""
    container: str = ""
    publisher: str = ""
    volume: str = ""
    issue: str = ""
    pages: str = ""
    language: str = ""
    abstract: str = ""
    tags: tuple[str, ...] = ()
    collections: tuple[str, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    more: tuple[tuple[str, str], ...] = ()
    cased: tuple[tuple[str, Kept], ...] = ()

    @property
    def titles(self) -> Mapping[str, str]:
        """The titles that may be in title case, by their names in CSL."""
        further = {name: text for name, text in self.more if name in _FURTHER_TITLES}
        return {**further, "title": self.title, "container-title": self.container}


@dataclass(frozen=True, slots=True)
class EntryFlaw:
    """A part of a bibliography that could not be read: its line (from 1; 0 for unknown), its name, the reason."""

    line: int
    name: str
    reason: str


def plain_doi(stated: str) -> str:
    """The DOI in a text that is one, or its address; "" where there is none.

    >>> plain_doi("https://doi.org/10.1000/XYZ.5")
    '10.1000/XYZ.5'
    """
    match = _DOI.search(stated[:_DOI_CHARS])
    return match[0].rstrip(".,;") if match else ""


def year_of(date: str) -> int:
    """The year of a date, 0 without one.

    >>> year_of("2019-03-01/2020"), year_of("in press")
    (2019, 0)
    """
    match = _YEAR.search(date[:_DOI_CHARS])
    return int(match[0]) if match else 0
