"""Places in a file of spans of its document's text: pages, slides, rows of a sheet, ... in numbers and in words.

A place holds the characters from its start to the start of the next one; of several places that begin at one
character, the last one holds them and the others are empty. A span is in the places that hold its first and its
last character, and in those between.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

from winnow.server.bibliographies.facts import item_of
from winnow.server.models import Document, DocumentText, DocumentType, Passage, Place, PlaceKind
from winnow.server.text.printable import one_line
from winnow.server.text.sizes import count_of

LOCATOR_CHARS, LINK_CHARS = 300, 1_200
_LABEL_CHARS, _FILE_CHARS = 80, 1_000
# Of the work: a row names five authors, or the first three of more.
_LABEL_CHARS_OF_WORK, _AUTHOR_CHARS = 200, 100
_AUTHORS_SHOWN, _AUTHORS_BEFORE_OTHERS = 5, 3
_PAGE_OF_LINK = re.compile(r"#page=\d+\Z")
# What the sources of documents from Zotero begin with, and the names of those documents: "zotero/ABCD2345/a.pdf".
ZOTERO = "zotero:"
_ZOTERO_NAME = re.compile(
    r"zotero/(?P<group>groups/[0-9]{1,12}/)?(?P<key>[A-Z0-9]{8})/(?:annotations#(?P<mark>[A-Z0-9]{8})\Z)?"
)
_OPEN_IN_ZOTERO = "zotero://open-pdf/"
# Kinds of which a reader turns the pages: those that ``Reading.pages`` counts.
_PAGES: frozenset[PlaceKind] = frozenset({"page", "slide", "sheet"})
# What those are called in files of a type; "page" in all others.
_PAGE_NOUNS: Mapping[DocumentType, str] = MappingProxyType({"slides": "slide", "sheet": "sheet"})


def address_of(document: Document | DocumentText) -> str:
    """The address of the file of a document: its path; for one from a library of Zotero, one that Zotero opens.

    Only the ingest names sources, so no file can claim to be from Zotero. A link to a page is made by ``locate``.
    """
    named = _ZOTERO_NAME.match(document.uri) if document.source.startswith(ZOTERO) else None
    if named is None:
        return document.uri
    item = f"{(named['group'] or 'library/').removesuffix('/')}/items/{named['key']}"
    if named["mark"]:
        return f"{_OPEN_IN_ZOTERO}{item}?annotation={named['mark']}"
    is_opened = PurePosixPath(document.uri).suffix.lower() == ".pdf"
    return f"{_OPEN_IN_ZOTERO}{item}" if is_opened else f"zotero://select/{item}"


@dataclass(frozen=True, slots=True)
class Locator:
    """The places of a span.

    ``text`` says them in words: "pp. 45-46", 'sheet "Q1", rows 2-21'. Where the numbers printed on pages differ
    from those of the file, the printed ones are first: "p. 33 (file page 45)". ``page_span`` are the numbers in
    the file of the first and the last page, slide or sheet, None for other places; ``page_labels`` are their
    printed numbers, None where those are the same. ``link`` is the file and what viewers take to open it there.
    """

    text: str
    link: str
    page_span: tuple[int, int] | None = None
    page_labels: tuple[str, str] | None = None

    def to_fields(self) -> dict[str, Any]:
        """The fields of a row, without those that are None."""
        fields = {"page_span": self.page_span, "page_labels": self.page_labels}
        known = {name: list(value) for name, value in fields.items() if value is not None}
        return {**known, "locator": self.text, "link": self.link}


def locate(places: Sequence[Place], start: int, end: int, file: str) -> Locator | None:
    """The locator of the characters from ``start`` to ``end`` of a document, None without places.

    ``places`` are all that the span is in, or more, in the order of the text; ``file`` is the document's path or
    address, as ``address_of`` has it.

    >>> locate([Place(0, "page", 45, "33"), Place(90, "page", 46, "34")], 80, 120, "guide.pdf").text
    'pp. 33-34 (file pages 45-46)'
    """
    if not places:
        return None
    first = places[place_at(places, start)]
    # The last place of the same kind: a file has places of one kind, or begins with some of another.
    held = places[place_at(places, start) : place_at(places, max(end - 1, start)) + 1]
    last = next(place for place in reversed(held) if place.kind == first.kind)
    link = one_line(file, _FILE_CHARS)
    return Locator(
        describe_places(first, last),
        link_to_page(link, first.number) if first.kind == "page" else link,
        (first.number, last.number) if first.kind in _PAGES else None,
        _page_labels(first, last),
    )


def describe_places(first: Place, last: Place) -> str:
    """The places from the first to the last one, which are of one kind, in words.

    >>> describe_places(Place(0, "page", 6, "3"), Place(0, "page", 6, "3"))
    'p. 3 (file page 6)'
    """
    return one_line(_WORDS[first.kind](first, last), LOCATOR_CHARS)


def locator_fields(places: Sequence[Place], start: int, end: int, file: str) -> dict[str, Any]:
    """The fields of a row for a span, as ``locate`` finds them; without places {}, or an address in Zotero."""
    locator = locate(places, start, end, file)
    if locator is None:
        return {"link": one_line(file, _FILE_CHARS)} if file.startswith(ZOTERO) else {}
    return locator.to_fields()


def link_to_page(file: str, page: int) -> str:
    """The path or address of a file with what viewers take to open it at this page.

    >>> link_to_page("guide.pdf", 45), link_to_page("zotero://open-pdf/library/items/ABCD2345", 45)
    ('guide.pdf#page=45', 'zotero://open-pdf/library/items/ABCD2345?page=45')
    """
    if not file.startswith(ZOTERO):
        return f"{file}#page={page}"
    if not file.startswith(_OPEN_IN_ZOTERO):
        return file  # Zotero selects an item as a whole
    address, _, rest = file.partition("?")
    return "&".join(filter(None, (f"{address}?page={page}", rest)))


def passage_fields(passage: Passage, start: int = 0, end: int | None = None) -> dict[str, Any]:
    """The fields of a row for a passage, or for its characters from ``start`` to ``end``; {} without places."""
    chunk = passage.chunk
    last = chunk.end if end is None else chunk.start + end
    return locator_fields(passage.places, chunk.start + start, last, address_of(passage.document))


def cited_fields(passage: Passage, start: int = 0, end: int | None = None) -> dict[str, Any]:
    """The fields as ``passage_fields`` has them, and those of the work that its document is."""
    return {**passage_fields(passage, start, end), **work_fields(passage.document.metadata)}


def work_fields(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a row for the work that a document with this metadata is; {} without a citekey."""
    item = item_of("", (), metadata)
    citekey = one_line(item.citekey, _LABEL_CHARS_OF_WORK) if item else ""
    if item is None or not citekey:
        return {}
    authors = [each for each in item.creators if each.role == "author"]
    names = [name for each in authors if not each.is_others and (name := one_line(each.name, _AUTHOR_CHARS))]
    has_others = len(names) > _AUTHORS_SHOWN or any(each.is_others for each in authors)
    most = _AUTHORS_SHOWN if len(names) <= _AUTHORS_SHOWN else _AUTHORS_BEFORE_OTHERS
    shown = [*names[:most], *(["et al."] if has_others else [])]
    work = {"authors": shown, "year": item.year, "doi": one_line(item.doi, _LABEL_CHARS_OF_WORK)}
    known = {name: value for name, value in work.items() if value}
    return {"citekey": citekey, **known}


def count_pages(counts: Mapping[DocumentType, int]) -> str:
    """Numbers of pages by the type of their files, in words; "" for none.

    >>> count_pages({"pdf": 3, "slides": 1, "image": 2})
    '5 pages, 1 slide'
    """
    by_noun: Counter[str] = Counter()
    for type, count in counts.items():
        by_noun[_PAGE_NOUNS.get(type, "page")] += count
    return ", ".join(count_of(count, noun) for noun, count in by_noun.items() if count)


def cite_place(row: Mapping[str, Any]) -> str:
    """The citekey, the file and the locator of a row: "[@ohm1827, guide.pdf, p. 45]"; "" where it has none.

    The file is there where the row has a locator.
    """
    place = (_PAGE_OF_LINK.sub("", row["link"]), row["locator"]) if "locator" in row else ()
    known = ", ".join(filter(None, (cite_work(row), *place)))
    return f"[{known}]" if known else ""


def cite_work(row: Mapping[str, Any]) -> str:
    """The citekey of a row as Markdown has it: "@ohm1827"; "" without one."""
    return f"@{row['citekey']}" if "citekey" in row else ""


def place_at(places: Sequence[Place], at: int) -> int:
    """The index of the place that holds this character; text before the first place counts to it."""
    return max(bisect_right(places, at, key=lambda place: place.start) - 1, 0)


def _page_labels(first: Place, last: Place) -> tuple[str, str] | None:
    ends = (first, last)
    if first.kind != "page" or all(place.label in ("", str(place.number)) for place in ends):
        return None
    a, b = (_label(place) or str(place.number) for place in ends)
    return a, b


def _label(place: Place) -> str:
    return one_line(place.label, _LABEL_CHARS)


# --- in words


def _pages(first: Place, last: Place) -> str:
    """Printed numbers, which people cite; where they differ from the numbers in the file, those in brackets."""
    labels = _page_labels(first, last)
    if labels is None:
        return _numbered("p.", "pp.")(first, last)
    printed = f"p. {labels[0]}" if labels[0] == labels[1] else f"pp. {labels[0]}-{labels[1]}"
    return f"{printed} ({_numbered('file page', 'file pages')(first, last)})"


def _numbered(one: str, several: str) -> Callable[[Place, Place], str]:
    def describe(first: Place, last: Place) -> str:
        is_one = first.number == last.number
        return f"{one} {first.number}" if is_one else f"{several} {first.number}-{last.number}"

    return describe


def _sheets(first: Place, last: Place) -> str:
    names = [f'"{_label(place)}"' if place.label else str(place.number) for place in (first, last)]
    if first.number != last.number:
        return f"sheets {names[0]} to {names[1]}"
    if first.rows is None or last.rows is None:
        return f"sheet {names[0]}"
    top, bottom = first.rows[0], last.rows[1]
    return f"sheet {names[0]}, " + (f"row {top}" if top == bottom else f"rows {top}-{bottom}")


def _chapters(first: Place, last: Place) -> str:
    words = _numbered("chapter", "chapters")(first, last)
    return f'{words} "{_label(first)}"' if first.label and first.number == last.number else words


def _times(first: Place, last: Place) -> str:
    """Times without fractions of seconds."""
    begin, end = (_label(place).partition(".")[0] or f"caption {place.number}" for place in (first, last))
    return begin if begin == end else f"{begin}-{end}"


_WORDS: Mapping[PlaceKind, Callable[[Place, Place], str]] = MappingProxyType(
    {
        "page": _pages,
        "slide": _numbered("slide", "slides"),
        "sheet": _sheets,
        "chapter": _chapters,
        "cell": _numbered("cell", "cells"),
        "message": _numbered("message", "messages"),
        "time": _times,
    }
)
