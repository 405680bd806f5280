"""What a query says besides its words: ``field:value``, dates and "quoted phrases". Pure.

::

    doc_tag:hr vendor:acme type:code tag:net path:guide/net   narrows the search to that
    after:2024-01 before:2025                                 to documents with a date of their own in between
    "mark and sweep"                                          what holds the phrase comes first

A field that is unknown, a value that is none and a field that the call's own filters speak of are words like any
other: a query narrows a search, it never widens one and never contradicts. ``project:`` is such a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from types import MappingProxyType
from typing import get_args

from server.models import DocumentType, Filters

_FIELD = re.compile(r'(?<!\S)([a-z_]{2,10}):(?:"([^"\n]{1,200})"|(\S{1,200}))')
_PHRASE = re.compile(r'"([^"\n]{2,200})"')
_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
_TYPES = frozenset(get_args(DocumentType))
# Words that a query needs where its fields are taken away; with fewer they are searched for as well.
_FEWEST_CHARS = 2


@dataclass(frozen=True, slots=True)
class Understood:
    """The words to rank by, the phrases that come first, the filters, and what was read as one (``type:code``)."""

    text: str
    phrases: tuple[str, ...]
    filters: Filters
    fields: tuple[str, ...]


def understood(query: str, filters: Filters) -> Understood:
    """What ``query`` asks for within ``filters``.

    >>> understood('vendor:acme "rate limit" policy', Filters("p")).text
    'rate limit policy'
    """
    fields: list[str] = []
    words: list[str] = []
    last = 0
    for match in _FIELD.finditer(query):
        narrowed = _narrowed(match[1], match[2] or match[3], filters)
        if narrowed is not None:
            filters = narrowed
            fields.append(match[0])
            words.append(query[last : match.start()])
            last = match.end()
    rest = " ".join("".join([*words, query[last:]]).split())
    phrases = tuple(" ".join(phrase.split()) for phrase in _PHRASE.findall(rest))
    text = " ".join(rest.replace('"', " ").split())
    return Understood(text if len(text) >= _FEWEST_CHARS else query, phrases, filters, tuple(fields))


def holds(phrases: tuple[str, ...], text: str) -> bool:
    """Whether the text has all of these phrases in it, whatever the case and the white space.

    >>> holds(("rate limit",), "The Rate  limit is ten.")
    True
    """
    folded, wanted = text.casefold(), [phrase.casefold() for phrase in phrases]
    if not all(phrase.split(" ", 1)[0] in folded for phrase in wanted):
        return False  # as most texts do: white space is not looked at for them
    plain = " ".join(folded.split())
    return all(phrase in plain for phrase in wanted)


def _narrowed(field: str, value: str, filters: Filters) -> Filters | None:
    """The filters with this one, or None where it is no filter, or where they speak of the field already."""
    narrow = _FIELDS.get(field)
    return narrow(value, filters) if narrow else None


def _doc_tag(value: str, filters: Filters) -> Filters | None:
    return replace(filters, doc_tags=(value,)) if not filters.doc_tags or value in filters.doc_tags else None


def _vendor(value: str, filters: Filters) -> Filters | None:
    return replace(filters, vendor=value) if filters.vendor in ("", value) else None


def _type(value: str, filters: Filters) -> Filters | None:
    is_free = value in _TYPES and (not filters.types or value in filters.types)
    return replace(filters, types=(value,)) if is_free else None


def _tag(value: str, filters: Filters) -> Filters:
    return replace(filters, tags=(*filters.tags, value))


def _path(value: str, filters: Filters) -> Filters | None:
    outer = filters.path_prefix.strip("/")
    is_within = not outer or value.strip("/") == outer or value.strip("/").startswith(f"{outer}/")
    return replace(filters, path_prefix=value) if is_within else None


def _after(value: str, filters: Filters) -> Filters | None:
    day = _day(value)
    return replace(filters, updated_after=day) if day and not filters.updated_after else None


def _before(value: str, filters: Filters) -> Filters | None:
    day = _day(value)
    return replace(filters, updated_before=day) if day and not filters.updated_before else None


def _day(value: str) -> str:
    """The first day of a year, a month or a day, "" where it is none of these."""
    match = _DATE.fullmatch(value)
    if not match:
        return ""
    year, month, day = match[1], match[2] or "01", match[3] or "01"
    return f"{year}-{month}-{day}" if _is_day(int(year), int(month), int(day)) else ""


def _is_day(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


_FIELDS: Mapping[str, Callable[[str, Filters], Filters | None]] = MappingProxyType(
    {
        "doc_tag": _doc_tag,
        "vendor": _vendor,
        "type": _type,
        "tag": _tag,
        "path": _path,
        "after": _after,
        "before": _before,
    }
)
