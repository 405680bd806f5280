"""Normalises the labels, titles and dates that documents state about themselves.

Values are limited when a document is ingested, and again when a row is rendered, because an older store may
contain anything. Both use the functions below, which do not change a value that is already normalised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from email.utils import parsedate_to_datetime

from winnow.server.text.printable import one_line

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
    line = one_line(text, _DATE_CHARS)
    return _to_iso(line) or one_line(line, MOMENT_CHARS)


def _to_iso(text: str) -> str:
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        return _rfc_to_iso(_REMARK.sub("", text).strip())
    return text if len(text) <= MOMENT_CHARS else parsed.isoformat()


def _rfc_to_iso(text: str) -> str:
    if match := _SCRIPT_DATE.fullmatch(text):
        text = "{day} {month} {year} {time} {zone}".format_map(match.groupdict())
    if not _RFC_DATE.fullmatch(text):
        return ""
    try:
        parsed = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError, IndexError):
        return ""
    return parsed.isoformat() if ":" in text else parsed.date().isoformat()
