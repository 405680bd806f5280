"""Facts that a PDF states of itself: title, authors, when it was made, its DOI."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from winnow.server.readers.pdf.document import OpenPdf
from winnow.server.readers.pdf.layout import BlockKind, Page

# What programs write where nobody gave a title or a name.
_NO_TITLE = re.compile(
    r"(?:untitled|title|document|microsoft \w+ - .*|.*\.(?:docx?|tex|dvi|pdf|indd|qxd|odt|rtf|pptx?))", re.I
)
_NO_AUTHOR = re.compile(r"(?:anonymous|unknown|author|admin(?:istrator)?|user|root|owner|\W*)", re.I)
_DATE = re.compile(r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(?:(\d\d)(\d\d)(\d\d)?)?(?:(Z)|([+-]\d\d)'?(\d\d)?)?")
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>\[\]{}|\\^`]+")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()\s]*\)")
_DOI_PAGES, _DOI_CHARS = 2, 12_000
_LONGEST_AUTHORS = 2_000
_MOST_AUTHORS = 100


def read_title(opened: OpenPdf, pages: Sequence[Page]) -> str:
    """The stated title, else the first heading of the first page; "" if there is neither."""
    stated = opened.info("Title")
    if stated and not _NO_TITLE.fullmatch(stated):
        return stated
    return first_heading(pages)


def first_heading(pages: Sequence[Page]) -> str:
    """The first heading of the first page; "" without one."""
    blocks = pages[0].blocks if pages else ()
    return next((block.text for block in blocks if block.kind is BlockKind.HEADING), "")


def read_facts(opened: OpenPdf, pages: Sequence[Page]) -> Mapping[str, Any]:
    """The facts that the file has: author, authors if they are several, created, doi, subject and keywords."""
    authors = split_authors(opened.info("Author"))
    facts = {
        "author": "; ".join(authors),
        "authors": authors if len(authors) > 1 else [],
        "created": iso_date(opened.info("CreationDate")),
        "doi": find_doi(opened.info("Subject"), pages),
        "subject": _unless_empty(opened.info("Subject")),
        "keywords": opened.info("Keywords"),
    }
    return {name: fact for name, fact in facts.items() if fact}


def split_authors(stated: str) -> list[str]:
    """The names in an entry; commas part names unless the entry is one name, family name first.

    >>> split_authors("A. First, B. Second and C. Third"), split_authors("Ohm, Georg")
    (['A. First', 'B. Second', 'C. Third'], ['Ohm, Georg'])
    """
    parts = re.split(r"\s*(?:;|&|\band\b|\bund\b)\s*", stated[:_LONGEST_AUTHORS])
    if len(parts) > 1 or stated.count(",") > 1 or re.search(r"\w\s+\w.*,.*\w\s+\w", stated):
        semicolons = ";" in stated
        parts = [name for part in parts for name in ([part] if semicolons else part.split(","))]
    names = (part.strip(" ,") for part in parts)
    return [name for name in names if not _NO_AUTHOR.fullmatch(name)][:_MOST_AUTHORS]


def iso_date(stated: str) -> str:
    """A date of PDF ("D:20261122062801Z") in ISO 8601; "" for anything else.

    >>> iso_date("D:20240306100000+01'00'")
    '2024-03-06T10:00:00+01:00'
    """
    match = _DATE.match(stated)
    if match is None:
        return ""
    year, month, day, hour, minute, second, utc, zone, zone_minutes = match.groups()
    if not hour:
        return "-".join(part for part in (year, month, day) if part)
    offset = "Z" if utc else f"{zone}:{zone_minutes or '00'}" if zone else ""
    return f"{year}-{month}-{day}T{hour}:{minute}:{second or '00'}{offset}"


def find_doi(subject: str, pages: Iterable[Page]) -> str:
    """The DOI in the entry "Subject" or on the first two pages; "" without one.

    One that only the target of a link has ("the paper", with its DOI behind it) is that of a work that is cited.
    """
    texts = (block.text for page in pages if page.number <= _DOI_PAGES for block in page.blocks)
    match = _DOI.search(_LINK.sub(_label, "\n".join((subject, *texts))[:_DOI_CHARS]))
    return _trim(match[0]) if match else ""


def _label(link: re.Match[str]) -> str:
    return link[0] if "doi" in link[1].casefold() else link[1]


def _trim(doi: str) -> str:
    """Without the marks after it, and without a bracket that was opened before it."""
    doi = doi.rstrip(".,;:'*_")
    while doi.endswith(")") and doi.count(")") > doi.count("("):
        doi = doi[:-1].rstrip(".,;:")
    return doi


def _unless_empty(subject: str) -> str:
    return "" if subject.casefold() in ("unspecified", "subject") else subject
