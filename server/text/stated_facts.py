"""Normalises the labels, titles and dates that documents state about themselves.

Values are limited when a document is ingested, and again when a row is rendered, because an older store may
contain anything. Both use the functions below, which do not change a value that is already normalised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from email.utils import parsedate_to_datetime

from server.text.printable import one_line

# A longer title is misplaced text.
TITLE_CHARS = 500
# A scope or a filter names at most 200 characters.
LABEL_CHARS = 200
# An ISO time with microseconds and an offset takes 32.
MOMENT_CHARS = 40
MOST_TAGS = 100
# The characters that are examined for a date.
_DATE_CHARS = 200

_REMARK = re.compile(r"\([^()]*\)\s*\Z")
_RFC_DATE = re.compile(r"(?:[A-Za-z]{3,9},? )?\d{1,2} [A-Za-z]{3,9} \d{4}(?: [\d:]{4,8}(?: [A-Z+\-\d]{1,5})?)?")
_SCRIPT_DATE = re.compile(
    r"[A-Z][a-z]{2} (?P<month>[A-Z][a-z]{2}) (?P<day>\d{2}) (?P<year>\d{4}) (?P<time>\d{2}:\d{2}:\d{2})"
    r" (?:GMT|UTC)(?P<zone>[+-]\d{4})"
)


def tags(values: Iterable[str]) -> tuple[str, ...]:
    """At most 100 tags, each one line, without duplicates and empty ones."""
    return tuple(dict.fromkeys(tag for value in values if (tag := one_line(value, LABEL_CHARS))))[:MOST_TAGS]


def moment(text: str) -> str:
    """A date or time in ISO 8601; text in no common notation stays as it is, as a short line.

    >>> moment("Wed Mar 06 2024 10:00:00 GMT+0100 (Central European Standard Time)")
    '2024-03-06T10:00:00+01:00'
    """
    said = one_line(text, _DATE_CHARS)
    return _iso(said) or one_line(said, MOMENT_CHARS)


def _iso(said: str) -> str:
    try:
        found = datetime.fromisoformat(said)
    except ValueError:
        return _iso_of_rfc(_REMARK.sub("", said).strip())
    return said if len(said) <= MOMENT_CHARS else found.isoformat()


def _iso_of_rfc(said: str) -> str:
    if match := _SCRIPT_DATE.fullmatch(said):
        said = "{day} {month} {year} {time} {zone}".format_map(match.groupdict())
    if not _RFC_DATE.fullmatch(said):
        return ""
    try:
        found = parsedate_to_datetime(said)
    except (ValueError, TypeError, OverflowError, IndexError):
        return ""
    return found.isoformat() if ":" in said else found.date().isoformat()
