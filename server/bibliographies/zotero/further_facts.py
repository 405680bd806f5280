"""Facts of Zotero about a work beyond the fields of an item: under the names of CSL, else under Zotero's own.

In the field Extra, users and programs write lines "Name: value" for what a type of item has no field for. A line
whose name is one of CSL's is that fact; the rest stays a note.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from winnow.server.bibliographies.item_types import CSL_TYPES, NAME_ROLES
from winnow.server.bibliographies.records import Creator
from winnow.server.bibliographies.zotero.objects import ZoteroObject, iso_date

# Fields of Zotero by the names of CSL.
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "edition": ("edition",),
    "publisher-place": ("place",),
    "ISBN": ("ISBN",),
    "ISSN": ("ISSN",),
    "PMID": ("PMID",),
    "PMCID": ("PMCID",),
    "collection-title": ("series", "seriesTitle"),
    "collection-number": ("seriesNumber",),
    "volume-title": ("volumeTitle",),
    "part-number": ("partNumber",),
    "part-title": ("partTitle",),
    "number-of-volumes": ("numberOfVolumes",),
    "number-of-pages": ("numPages",),
    "title-short": ("shortTitle",),
    "container-title-short": ("journalAbbreviation",),
    "accessed": ("accessDate",),
    "archive": ("archive",),
    "archive_location": ("archiveLocation",),
    "call-number": ("callNumber", "applicationNumber"),
    "section": ("section",),
    "version": ("versionNumber", "version"),
    "number": (
        *("number", "reportNumber", "billNumber", "docketNumber", "patentNumber", "documentNumber"),
        *("publicLawNumber", "episodeNumber", "archiveID", "identifier"),
    ),
    "genre": (
        *("type", "genre", "reportType", "thesisType", "manuscriptType", "letterType", "mapType", "websiteType"),
        *("postType", "presentationType"),
    ),
    "medium": (
        *("medium", "artworkMedium", "audioRecordingFormat", "videoRecordingFormat", "interviewMedium"),
        "audioFileType",
    ),
    "dimensions": ("runningTime", "artworkSize"),
    "scale": ("scale",),
    "event-title": ("conferenceName", "meetingName", "eventName"),
    "event-place": ("eventPlace",),
    "authority": ("court", "legislativeBody", "issuingAuthority", "authority", "organization"),
    "references": ("history", "references"),
    "status": ("status", "legalStatus"),
    "source": ("libraryCatalog",),
    "submitted": ("filingDate",),
    "original-date": ("originalDate",),
    "original-title": ("originalTitle",),
    "original-publisher": ("originalPublisher",),
    "original-publisher-place": ("originalPlace",),
}
_FACTS: Mapping[str, str] = {name: fact for fact, names in _FIELDS.items() for name in names}
_DATES = frozenset({"accessed", "submitted", "original-date", "event-date", "available-date"})
# Names in Extra beside those of CSL and of Zotero's fields.
_ALSO: Mapping[str, str] = {
    **{fact.casefold().replace("_", "-"): fact for fact in _FIELDS},
    **{name.casefold(): fact for name, fact in _FACTS.items()},
    "publisher-place": "publisher-place",
    "event-date": "event-date",
    "available-date": "available-date",
    "reviewed-title": "reviewed-title",
    "reviewed-genre": "reviewed-genre",
    "jurisdiction": "jurisdiction",
    "annote": "annote",
    "number-of-pages": "number-of-pages",
}
# Names in Extra that are fields of an item.
_OF_ITEM: Mapping[str, str] = {
    "citation-key": "citation_key",
    "citekey": "citation_key",
    "doi": "doi",
    "url": "url",
    "issued": "date",
    "date": "date",
    "container-title": "container",
    "publication-title": "container",
    "publisher": "publisher",
    "volume": "volume",
    "issue": "issue",
    "page": "pages",
    "pages": "pages",
    "language": "language",
    "title": "title",
}
_LINE = re.compile(r"[ \t]*([A-Za-z][A-Za-z_ -]{1,30}?)[ \t]*:[ \t]*(\S.*?)[ \t]*")


@dataclass(frozen=True, slots=True)
class Extra:
    """The field Extra: fields of an item, a type of CSL, creators, facts, and the lines that are none of these."""

    fields: Mapping[str, str]
    item_type: str
    creators: tuple[Creator, ...]
    facts: Mapping[str, str]
    note: str


def read_extra(extra: str) -> Extra:
    r"""The parts of the field Extra; of several lines with one name the first counts.

    >>> read_extra("read it again\nCitation Key: mueller2019\nOriginal Date: 1827").facts
    {'original-date': '1827'}
    """
    fields: dict[str, str] = {}
    facts: dict[str, str] = {}
    creators: list[Creator] = []
    item_type, rest = "", []
    for line in extra.splitlines():
        match = _LINE.fullmatch(line)
        name = match[1].casefold().replace(" ", "-").replace("_", "-") if match else ""
        value = match[2] if match else ""
        if name == "type" and value in CSL_TYPES:
            item_type = item_type or value
        elif name in _OF_ITEM:
            fields.setdefault(_OF_ITEM[name], value)
        elif name in NAME_ROLES:
            family, _, given = (part.strip() for part in value.partition("||"))
            creators.append(Creator(family, given, name))
        elif fact := _ALSO.get(name) or _ALSO.get(name.replace("-", "")):
            facts.setdefault(fact, _date(value) if fact in _DATES else value)
        elif line.strip():
            rest.append(line.strip())
    return Extra(fields, item_type, tuple(creators), facts, " ".join(rest))


def further_facts(item: ZoteroObject, extra: Extra) -> Iterator[tuple[str, str]]:
    """All facts of a work that are no fields of an item; those that have fields come before those in Extra."""
    for name, value in item.further.items():
        fact = _FACTS.get(name, name)
        yield fact, _date(value) if fact in _DATES else value
    yield from extra.facts.items()
    if extra.note:
        yield "note", extra.note


def _date(stated: str) -> str:
    """A date in ISO 8601 where it begins as one: Zotero adds the time of day to dates of access."""
    return iso_date(stated) or stated
