"""What a query says besides its words: ``field:value``, dates and "quoted phrases". Pure.

::

    doc_tag:hr vendor:acme type:code tag:net path:guide/net   narrows the search to that
    after:2024-01 before:2025                                 to documents with a date of their own in between
    "mark and sweep"                                          what holds the phrase comes first

A field counts only where a document that the call may see has the value, whatever its case. A field that is
unknown and a value that no such document has are words like any other: a query narrows a search, it never widens
one and never contradicts. ``project:`` is such a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from types import MappingProxyType
from typing import Protocol

from server.backends.base import seconds_of
from server.models import Filters, Labels

_FIELD = re.compile(r'(?<!\S)([a-z_]{2,10}):(?:"([^"\n]{1,200})"|(\S{1,200}))')
_PHRASE = re.compile(r'"([^"\n]{2,200})"')
_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
# Words that a query needs where its fields are taken away; with fewer they are searched for as well.
_FEWEST_CHARS = 2
# A value and the filters so far -> the filters with it, or None where no document has it.
_Narrow = Callable[[str, Filters, "KnownLabels"], Filters | None]


class KnownLabels(Protocol):
    """What is known of the labels of documents."""

    def labels(self, filters: Filters) -> Labels:
        """The labels of the documents that these filters admit, whatever their dates."""

    def has_path(self, filters: Filters, prefix: str) -> bool:
        """Whether one of these documents is the file ``prefix``, or lies below it."""


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """The words to rank by, the phrases that come first, the filters, and what was read as one (``type:code``).

    ``unknown``: what has the form of a filter and was read as words, since no document has the value.
    """

    text: str
    phrases: tuple[str, ...]
    filters: Filters
    fields: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def understood(query: str, filters: Filters, known: KnownLabels | None) -> ParsedQuery:
    """What ``query`` asks for within ``filters``. Without ``known`` labels nothing in it is a filter."""
    fields: list[str] = []
    unknown: list[str] = []
    words: list[str] = []
    last = 0
    for match, narrow in _forms(query) if known is not None else ():
        narrowed = narrow(match[2] or match[3], filters, known) if known is not None else None
        if narrowed is None:
            unknown.append(match[0])
        else:
            filters = narrowed
            fields.append(match[0])
            words.append(query[last : match.start()])
            last = match.end()
    rest = " ".join("".join([*words, query[last:]]).split())
    phrases = tuple(" ".join(phrase.split()) for phrase in _PHRASE.findall(rest))
    text = " ".join(rest.replace('"', " ").split())
    text = text if len(text) >= _FEWEST_CHARS else query
    return ParsedQuery(text, phrases, filters, tuple(fields), tuple(unknown))


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


def _forms(query: str) -> Iterator[tuple[re.Match[str], _Narrow]]:
    """What has the form of a filter, in order, and how it narrows."""
    for match in _FIELD.finditer(query):
        if narrow := _FIELDS.get(match[1]):
            yield match, narrow


def _doc_tag(value: str, filters: Filters, known: KnownLabels) -> Filters | None:
    found = known.labels(filters).spellings("doc_tag", value)
    return replace(filters, doc_tags=found) if found else None


def _vendor(value: str, filters: Filters, known: KnownLabels) -> Filters | None:
    found = known.labels(filters).spellings("vendor", value)
    return replace(spelt(filters, "vendor", found), vendor=filters.vendor or found[0]) if found else None


def _type(value: str, filters: Filters, known: KnownLabels) -> Filters | None:
    found = known.labels(filters).spellings("type", value)
    return replace(filters, types=found) if found else None


def _tag(value: str, filters: Filters, known: KnownLabels) -> Filters | None:
    found = known.labels(filters).spellings("tags", value)
    return replace(spelt(filters, "tags", found), tags=(*filters.tags, found[0])) if found else None


def _path(value: str, filters: Filters, known: KnownLabels) -> Filters | None:
    outer, inner = filters.path_prefix.strip("/"), value.strip("/")
    is_within = not outer or inner == outer or inner.startswith(f"{outer}/")
    return replace(filters, path_prefix=value) if inner and is_within and known.has_path(filters, inner) else None


def _after(value: str, filters: Filters, known: KnownLabels) -> Filters | None:
    day = _day(value)
    return _dated(replace(filters, updated_after=day), known) if day and not filters.updated_after else None


def _before(value: str, filters: Filters, known: KnownLabels) -> Filters | None:
    day = _day(value)
    return _dated(replace(filters, updated_before=day), known) if day and not filters.updated_before else None


def _dated(filters: Filters, known: KnownLabels) -> Filters | None:
    """The filters, if a document's date lies within them."""
    first, end = seconds_of(filters.updated_after), seconds_of(filters.updated_before)
    dates = known.labels(undated_of(filters)).dates
    is_held = any((first is None or date >= first) and (end is None or date < end) for date in dates)
    return filters if is_held else None


def undated_of(filters: Filters) -> Filters:
    """The filters without those on dates."""
    return replace(filters, updated_after="", updated_before="")


def spelt(filters: Filters, name: str, spellings: Iterable[str]) -> Filters:
    """The filters with further spellings of a label's value."""
    more = ((name, one) for one in spellings)
    return replace(filters, spellings=tuple(dict.fromkeys((*filters.spellings, *more))))


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


_FIELDS: Mapping[str, _Narrow] = MappingProxyType(
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
