"""Query syntax: ``field:value`` filters, dates and "quoted phrases". Pure.

::

    doc_tag:hr vendor:acme type:code tag:net path:guide/net   narrows the search to these values
    path:tasks_*                                              a glob, or the beginning of a path
    after:2024-01 before:2025                                 narrows it to documents dated in between
    "mark and sweep"                                          passages with the phrase come first

A field is a filter only if a document that the call may see has the value, in any case. An unknown field, or a
value that no such document has, is searched for as words: a query narrows a search, and never widens or
contradicts the call's filters. ``project:`` is not a field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from types import MappingProxyType
from typing import Protocol

from winnow.server.models import Filters, Labels
from winnow.server.storage.base import seconds_of
from winnow.server.text.matching import find_spellings

_FIELD_PATTERN = re.compile(r'(?<!\S)([a-z_]{2,10}):(?:"([^"\n]{1,200})"|(\S{1,200}))')
_PHRASE_PATTERN = re.compile(r'"([^"\n]{2,200})"')
_DATE_PATTERN = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
# The least text of a query without its fields; with less, the fields are searched for as words too.
_MIN_TEXT_CHARS = 2
# A value and the filters so far -> the filters with it, or None if no document has it.
_Narrow = Callable[[str, Filters, "KnownLabels"], Filters | None]


class KnownLabels(Protocol):
    """The labels of the indexed documents."""

    def labels(self, filters: Filters) -> Labels:
        """The labels of the documents that match these filters, regardless of dates."""

    def has_documents(self, filters: Filters) -> bool:
        """Whether any document matches these filters."""


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A parsed query: the text to rank by, phrases, filters, and the ``fields`` that became filters.

    ``unknown``: fields that were read as words, because no document has the value.
    """

    text: str
    phrases: tuple[str, ...]
    filters: Filters
    fields: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def parse_query(query: str, filters: Filters, known: KnownLabels | None) -> ParsedQuery:
    """Parse a query within ``filters``. Without ``known`` labels no field is a filter."""
    fields: list[str] = []
    unknown: list[str] = []
    words: list[str] = []
    last = 0
    for match, narrow in _find_fields(query) if known is not None else ():
        narrowed = narrow(match[2] or match[3], filters, known) if known is not None else None
        if narrowed is None:
            unknown.append(match[0])
        else:
            filters = narrowed
            fields.append(match[0])
            words.append(query[last : match.start()])
            last = match.end()
    rest = " ".join("".join([*words, query[last:]]).split())
    phrases = tuple(" ".join(phrase.split()) for phrase in _PHRASE_PATTERN.findall(rest))
    text = " ".join(rest.replace('"', " ").split())
    text = text if len(text) >= _MIN_TEXT_CHARS else query
    return ParsedQuery(text, phrases, filters, tuple(fields), tuple(unknown))


def contains_phrases(phrases: tuple[str, ...], text: str) -> bool:
    """Whether the text contains all of these phrases; case and white space are ignored.

    >>> contains_phrases(("rate limit",), "The Rate  limit is ten.")
    True
    """
    folded, wanted = text.casefold(), [phrase.casefold() for phrase in phrases]
    if not all(phrase.split(" ", 1)[0] in folded for phrase in wanted):
        return False  # most texts: the slower comparison below is skipped
    plain = " ".join(folded.split())
    return all(phrase in plain for phrase in wanted)


def _find_fields(query: str) -> Iterator[tuple[re.Match[str], _Narrow]]:
    """Find the fields of a query, in order, each with its function that narrows the filters."""
    for match in _FIELD_PATTERN.finditer(query):
        if narrow := _NARROW_BY_FIELD.get(match[1]):
            yield match, narrow


def _narrow_by_label(field: str, narrow: Callable[[Filters, tuple[str, ...]], Filters]) -> _Narrow:
    """The function that narrows filters to the spellings of a label's value."""

    def narrow_to_value(value: str, filters: Filters, known: KnownLabels) -> Filters | None:
        spellings = find_spellings(known.labels(filters).values.get(field, ()), value)
        return narrow(filters, spellings) if spellings else None

    return narrow_to_value


def _narrow_vendor(filters: Filters, spellings: tuple[str, ...]) -> Filters:
    return replace(with_spellings(filters, "vendor", spellings), vendor=filters.vendor or spellings[0])


def _narrow_tag(filters: Filters, spellings: tuple[str, ...]) -> Filters:
    return replace(with_spellings(filters, "tags", spellings), tags=(*filters.tags, spellings[0]))


def _narrow_path(value: str, filters: Filters, known: KnownLabels) -> Filters | None:
    outer, inner = filters.path_prefix.strip("/"), value.strip("/")
    is_within = not outer or inner == outer or inner.startswith(f"{outer}/")
    below = replace(filters, path_prefix=value)
    if inner and is_within and known.has_documents(below):
        return below
    alike = replace(filters, path=value)
    return alike if not filters.path and known.has_documents(alike) else None


def _narrow_after(value: str, filters: Filters, known: KnownLabels) -> Filters | None:
    day = _first_day(value)
    return _check_dates(replace(filters, updated_after=day), known) if day and not filters.updated_after else None


def _narrow_before(value: str, filters: Filters, known: KnownLabels) -> Filters | None:
    day = _first_day(value)
    return (
        _check_dates(replace(filters, updated_before=day), known) if day and not filters.updated_before else None
    )


def _check_dates(filters: Filters, known: KnownLabels) -> Filters | None:
    """The filters, if any document is dated within them; else None."""
    first, end = seconds_of(filters.updated_after), seconds_of(filters.updated_before)
    dates = known.labels(without_dates(filters)).dates
    has_document = any((first is None or date >= first) and (end is None or date < end) for date in dates)
    return filters if has_document else None


def without_dates(filters: Filters) -> Filters:
    """The filters without those on dates."""
    return replace(filters, updated_after="", updated_before="")


def with_spellings(filters: Filters, name: str, spellings: Iterable[str]) -> Filters:
    """The filters with further spellings of a label's value."""
    more = ((name, spelling) for spelling in spellings)
    return replace(filters, spellings=tuple(dict.fromkeys((*filters.spellings, *more))))


def _first_day(value: str) -> str:
    """The first day of a year, a month or a day as YYYY-MM-DD; "" for anything else."""
    match = _DATE_PATTERN.fullmatch(value)
    if not match:
        return ""
    year, month, day = match[1], match[2] or "01", match[3] or "01"
    return f"{year}-{month}-{day}" if _is_valid_date(int(year), int(month), int(day)) else ""


def _is_valid_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


_NARROW_BY_FIELD: Mapping[str, _Narrow] = MappingProxyType(
    {
        "doc_tag": _narrow_by_label("doc_tag", lambda filters, found: replace(filters, doc_tags=found)),
        "vendor": _narrow_by_label("vendor", _narrow_vendor),
        "type": _narrow_by_label("type", lambda filters, found: replace(filters, types=found)),
        "tag": _narrow_by_label("tags", _narrow_tag),
        "path": _narrow_path,
        "after": _narrow_after,
        "before": _narrow_before,
    }
)
