"""Reads CSL-JSON: a list of works, or an object with such a list under ``items``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from winnow.server.bibliographies.item_types import CSL_TYPES, NAME_ROLES, UNKNOWN_TYPE
from winnow.server.bibliographies.records import Attachment, Creator, EntryFlaw, LibraryItem, plain_doi, year_of

# Authors first: the order of the others does not matter.
_ROLES = ("author", "editor", "translator", *sorted(NAME_ROLES - {"author", "editor", "translator"}))
# What is read as fields of an item, or is no fact of the work.
_FIELDS = frozenset(
    {*_ROLES, "id", "citation-key", "type", "title", "issued", "DOI", "URL", "container-title", "publisher"}
    | {"volume", "issue", "page", "language", "abstract", "keyword", "categories", "attachments"}
)
_BEGIN = re.compile(r'\s*(?:\{\s*"items"\s*:\s*)?\[\s*')
_BETWEEN = re.compile(r"\s*,?\s*")
_LIST = re.compile(r"[,;]")
_ISO_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?")
# The markup that CSL and Zotero allow in texts.
MARKUP = re.compile(r"</?(?:i|b|sup|sub|sc|span)\b[^<>]{0,200}>")
_NOT_A_LIST = "not CSL-JSON: a list of works is expected"

Work = Mapping[str, Any]


def read(text: str) -> tuple[list[LibraryItem], list[EntryFlaw]]:
    """The works of a file, and what could not be read. A work may have no key."""
    items: list[LibraryItem] = []
    flaws: list[EntryFlaw] = []
    for line, work in _works(text):
        try:
            items.append(_item(work))
        except ValueError as error:
            flaws.append(EntryFlaw(line, _name(work), f"not read: {error}"))
    return items, flaws


def _works(text: str) -> Iterator[tuple[int, Any]]:
    """The line of each work, from 1, and its data; an exception's message for text that is not JSON."""
    decoder = json.JSONDecoder()
    begin = _BEGIN.match(text)
    if begin is None:
        yield 1, ValueError(_NOT_A_LIST)
        return
    at, line, counted = begin.end(), 1, 0
    while at < len(text) and text[at] != "]":
        line, counted = line + text.count("\n", counted, at), at
        try:
            work, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", str(error))
            yield line, ValueError(f"not JSON from this work on: {reason}")
            return
        yield line, work
        between = _BETWEEN.match(text, at)
        at = between.end() if between else at
    if at >= len(text):
        yield line, ValueError("not JSON: the list has no end")


def _name(work: Any) -> str:
    return str(work.get("id") or work.get("title") or "work")[:200] if isinstance(work, dict) else "file"


def _item(work: Any) -> LibraryItem:
    """The item of a work. Raises ``ValueError`` with the field that is not as CSL has it."""
    if isinstance(work, Exception):
        raise ValueError(str(work))
    if not isinstance(work, dict):
        raise ValueError("a work must be an object")
    creators = tuple(creator for role in _ROLES for creator in _creators(work, role))
    date, title = _date(work), _text(work, "title")
    year = year_of(date or _text(_object(work, "issued"), "raw") or _text(_object(work, "issued"), "literal"))
    key = _text(work, "citation-key") or _text(work, "id")
    kind = _text(work, "type")
    return LibraryItem(
        key=_text(work, "id") or key,
        citekey=key,
        item_type=kind if kind in CSL_TYPES else UNKNOWN_TYPE,
        title=title,
        creators=creators,
        year=year,
        date=date,
        doi=plain_doi(_text(work, "DOI")),
        url=_text(work, "URL"),
        container=_text(work, "container-title"),
        publisher=_text(work, "publisher"),
        volume=_text(work, "volume"),
        issue=_text(work, "issue"),
        pages=_text(work, "page"),
        language=_text(work, "language"),
        abstract=_text(work, "abstract"),
        tags=_tags(work),
        more=tuple(_more(work)),
        attachments=tuple(Attachment(path) for path in _texts(work, "attachments", "path")),
    )


def _more(work: Work) -> Iterator[tuple[str, str]]:
    """All other texts and numbers of a work, its other dates, and the names of those with other roles.

    What CSL has no name for is in ``custom``.
    """
    custom = work["custom"] if isinstance(work.get("custom"), dict) else {}
    for name, value in custom.items():
        if isinstance(value, str) and name not in work:
            yield name, _text(custom, name)
    for name, value in work.items():
        match value:
            case _ if name in _FIELDS or isinstance(value, bool):
                pass
            case str() | int():
                yield name, _text(work, name)
            case {"date-parts": _} | {"raw": _} | {"literal": _}:
                yield name, _date(work, name) or _text(value, "raw") or _text(value, "literal")
            case [dict(), *_]:
                yield name, "; ".join(each.name for each in _creators(work, name))


def _text(work: Work, name: str) -> str:
    """A text or number, without the markup that CSL allows in texts. Raises ``ValueError`` for anything else."""
    value = work.get(name, "")
    match value:
        case None:
            return ""
        case bool():
            raise ValueError(f"{name} must be a text")
        case int() | str():
            return " ".join(MARKUP.sub("", str(value)).split())
        case [str() as first, *_]:
            return first
        case []:
            return ""
        case _:
            raise ValueError(f"{name} must be a text")


def _object(work: Work, name: str) -> Work:
    value = work.get(name) or {}
    if not isinstance(value, dict):
        raise ValueError(f"{name} must be an object")
    return value


def _creators(work: Work, role: str) -> Iterator[Creator]:
    stated = work.get(role) or []
    if not isinstance(stated, list) or not all(isinstance(name, dict) for name in stated):
        raise ValueError(f"{role} must be a list of names")
    for name in stated:
        particle, suffix = _text(name, "non-dropping-particle"), _text(name, "suffix")
        family = " ".join(filter(None, (particle, _text(name, "family") or _text(name, "literal"))))
        given = " ".join(filter(None, (_text(name, "given"), _text(name, "dropping-particle"))))
        if family or given:
            yield Creator(family or given, given if family else "", role, suffix)


def _date(work: Work, name: str = "issued") -> str:
    """A date in ISO 8601, a range with "/" in it; "" without one."""
    issued = _object(work, name)
    parts = issued.get("date-parts") or [[]]
    if not isinstance(parts, list) or not all(isinstance(each, list) for each in parts):
        raise ValueError(f"{name} must have date-parts as a list of lists")
    dates = [_iso_date(each) for each in parts[:2]]
    if dates[0]:
        return "/".join(filter(None, dates))
    match = _ISO_DATE.match(_text(issued, "raw") or _text(issued, "literal"))
    return match[0] if match else ""


def _iso_date(parts: Sequence[Any]) -> str:
    numbers = [str(part) for part in parts[:3] if isinstance(part, int | str) and str(part).isdecimal()]
    return "-".join(number.zfill(2) for number in numbers) if numbers and len(numbers[0]) == 4 else ""


def _tags(work: Work) -> tuple[str, ...]:
    stated = work.get("keyword") or work.get("categories") or ""
    parts = stated if isinstance(stated, list) else _LIST.split(stated) if isinstance(stated, str) else []
    return tuple(dict.fromkeys(tag for part in parts if isinstance(part, str) and (tag := part.strip())))


def _texts(work: Work, name: str, field: str) -> Iterator[str]:
    """The texts of a field in a list of objects, which exports of Zotero have beside the fields of CSL."""
    stated = work.get(name)
    for each in stated if isinstance(stated, list) else ():
        if isinstance(each, dict) and isinstance(text := each.get(field), str) and text:
            yield text
