"""Reads RIS: records of lines with a tag of two letters, from ``TY`` to ``ER``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import rispy  # type: ignore[import-untyped]
from rispy.config import TAG_KEY_MAPPING  # type: ignore[import-untyped]

from winnow.server.bibliographies.item_types import OF_RIS, UNKNOWN_TYPE
from winnow.server.bibliographies.records import Attachment, Creator, EntryFlaw, LibraryItem, plain_doi, year_of

_BEGIN, _END = re.compile(r"TY  ?-"), re.compile(r"ER  ?-")
_TAGS = {tag: tag for tag in (*TAG_KEY_MAPPING, "ED")}
_LISTS = ["A1", "A2", "A3", "A4", "AU", "ED", "KW", "UR", "L1", "L2", "L4"]
_ROLES: Mapping[str, str] = {"AU": "author", "A1": "author", "A2": "editor", "ED": "editor", "A4": "translator"}
_LOCAL = re.compile(r"(?:file|internal-pdf):/*(?=/)|internal-pdf://")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,30}://")
_DATE = re.compile(r"(\d{4})(?:[/-](\d\d?))?(?:[/-](\d\d?))?")

# The name in CSL of a tag that is a further fact; other tags keep theirs.
_MORE: Mapping[str, str] = {
    "ET": "edition",
    "CY": "publisher-place",
    "PP": "publisher-place",
    "SN": "ISBN",
    "T3": "collection-title",
    "M3": "genre",
    "N1": "note",
    "Y2": "accessed",
    "ST": "title-short",
    "NV": "number-of-volumes",
    "SE": "section",
    "CN": "call-number",
}
_READ = frozenset(
    [
        "TY",
        "ER",
        "ID",
        "LB",
        "TI",
        "T1",
        "CT",
        "PY",
        "Y1",
        "DA",
        "DO",
        "UR",
        "JO",
        "T2",
        "JF",
        "JA",
        "J2",
        "PB",
        "VL",
        "IS",
        "SP",
        "EP",
        "LA",
        "AB",
        "N2",
        "KW",
        "L1",
        "L2",
        "L4",
    ]
)

Record = Mapping[str, Any]


def read(text: str) -> tuple[list[LibraryItem], list[EntryFlaw]]:
    """The records of a file, and what could not be read. A record may have no key."""
    items: list[LibraryItem] = []
    flaws: list[EntryFlaw] = []
    for line, lines in _records(text):
        if not _END.match(lines[-1]):
            flaws.append(
                EntryFlaw(line, _name(lines), "the record has no end (ER); it is read up to the next one")
            )
        try:
            (record,) = rispy.loads(
                "\n".join((*filter(_is_inside, lines), "ER  - ")),
                mapping=_TAGS,
                list_tags=_LISTS,
                delimiter_tags_mapping={},
                skip_unknown_tags=True,
            )
            items.append(_item(record))
        # A line that continues none, or a tag that the library does not expect.
        except (KeyError, ValueError, AttributeError, TypeError):
            flaws.append(EntryFlaw(line, _name(lines), "not read: its lines are not those of a record"))
    return items, flaws


def _records(text: str) -> Iterator[tuple[int, list[str]]]:
    """The number of the first line of each record, from 1, and its lines that are not empty."""
    first, lines = 0, list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        if _BEGIN.match(line):
            if lines:
                yield first, lines
            first, lines = number, []
        if line.strip() and (lines or _BEGIN.match(line)):
            lines.append(line)
        if lines and _END.match(line):
            yield first, lines
            lines = []
    if lines:
        yield first, lines


def _is_inside(line: str) -> bool:
    return not _END.match(line)


def _name(lines: Sequence[str]) -> str:
    stated = {line[:2]: line[6:].strip() for line in reversed(lines)}
    return stated.get("ID") or stated.get("TI") or stated.get("T1") or stated.get("TY") or "record"


def _item(record: Record) -> LibraryItem:
    date = _date(_first(record, "DA", "PY", "Y1"))
    start, end = _first(record, "SP"), _first(record, "EP")
    links = [path for tag in ("L1", "L2", "L4") for path in record.get(tag, ())]
    creators = tuple(_creators(record))
    title = _first(record, "TI", "T1", "CT")
    year = year_of(_first(record, "PY", "Y1") or date)
    key = _first(record, "ID", "LB")
    return LibraryItem(
        key=key,
        citekey=key,
        item_type=OF_RIS.get(_first(record, "TY").upper(), UNKNOWN_TYPE),
        title=title,
        creators=creators,
        year=year,
        date=date,
        doi=plain_doi(_first(record, "DO")),
        url=next(iter(record.get("UR", ())), ""),
        container=_first(record, "JO", "T2", "JF", "JA", "J2"),
        publisher=_first(record, "PB"),
        volume=_first(record, "VL"),
        issue=_first(record, "IS"),
        pages=start if not end or "-" in start or start == end else f"{start}–{end}",
        language=_first(record, "LA"),
        abstract=_first(record, "AB", "N2"),
        tags=tuple(dict.fromkeys(filter(None, record.get("KW", ())))),
        more=tuple(
            (_MORE.get(tag, tag), _first(record, tag)) for tag in record if tag not in _READ and tag not in _ROLES
        ),
        attachments=tuple(Attachment(path) for link in links if (path := _local_path(link))),
    )


def _first(record: Record, *tags: str) -> str:
    return next((text for tag in tags if (text := str(record.get(tag) or "").strip())), "")


def _local_path(link: str) -> str:
    path = _LOCAL.sub("", link)
    return "" if _ADDRESS.match(path) else path


def _date(stated: str) -> str:
    """A date of RIS ("2019/03/05/spring") in ISO 8601."""
    match = _DATE.match(stated)
    return "-".join(f"{int(part):02}" for part in match.groups() if part) if match else ""


def _creators(record: Record) -> Iterator[Creator]:
    for tag, role in _ROLES.items():
        for name in record.get(tag, ()):
            family, given, suffix, *_ = (*(part.strip() for part in name.split(",", 2)), "", "")
            if family or given:
                yield Creator(family or given, given if family else "", role, suffix)
