"""Checks what a child says of a file that it has parsed: each value, its type, its range and its length.

The child that wrote an answer may be in the hands of the file that it parsed. An answer that breaks a rule is not
mended but refused as a whole; texts that are too long are cut, as they are in files of text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

from winnow.server.models import HiddenReason, Place, PlaceKind, Reading
from winnow.server.readers.documents import clean_text
from winnow.server.readers.formats.parsed_file import ParsedFile
from winnow.server.readers.frames import MAX_TEXT_CHARS, ParserProtocolError
from winnow.server.readers.page_pictures.png import PagePicture, check_png
from winnow.server.text import stated_facts
from winnow.server.text.printable import one_line

_PLACE_KINDS = frozenset(get_args(PlaceKind))
_HIDDEN_REASONS = frozenset(get_args(HiddenReason))
_LARGEST = 2**31  # of pages, rows and counts
_MOST_PLACES = 100_000
_MOST_NAMES, _MOST_FACTS = 1_000, 1_000
_NAME_CHARS = 300
Mark = Literal["exact", "closest", "absent"]
_MARKS = frozenset(get_args(Mark))


@dataclass(frozen=True, slots=True)
class MarkedPage:
    """The picture of a page; for each quote whether its words are marked, the closest ones, or none."""

    picture: PagePicture
    marks: tuple[Mark, ...]


def check_text(text: bytes) -> str:
    """The text of an answer, which ``clean_document`` cleans. Raises ``ParserProtocolError``."""
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError:
        raise ParserProtocolError("the text is not UTF-8") from None
    if len(decoded) > MAX_TEXT_CHARS:
        raise ParserProtocolError("the text is too long")
    return decoded


def check_title(facts: Mapping[str, Any]) -> str:
    """The title in the facts of an answer. Raises ``ParserProtocolError``."""
    return _line(facts.get("title"), stated_facts.TITLE_CHARS)


def check_parsed_file(facts: Mapping[str, Any], text: str) -> ParsedFile:
    """The parsed file in the facts and the checked text of an answer. Raises ``ParserProtocolError``."""
    stated = facts.get("facts")
    if not isinstance(stated, dict) or len(stated) > _MOST_FACTS:
        raise ParserProtocolError("not facts")
    return ParsedFile(
        text=text,
        reading=_check_reading(facts.get("reading")),
        title=check_title(facts),
        places=_check_places(facts.get("places"), len(text)),
        facts=stated,
    )


def check_page(facts: Mapping[str, Any], data: bytes, quotes: int) -> MarkedPage:
    """The picture of a page with the marks of so many quotes. Raises ``ParserProtocolError``."""
    marks = _list(facts.get("marks"), quotes)
    _require(len(marks) == quotes and all(isinstance(mark, str) and mark in _MARKS for mark in marks), "marks")
    return MarkedPage(check_png(data), tuple(marks))


def _check_places(value: Any, length: int) -> tuple[Place, ...]:
    rows = _list(value, _MOST_PLACES)
    places = tuple(_check_place(row, length) for row in rows)
    starts = [place.start for place in places]
    _require(starts == sorted(starts), "places in order")
    # Numbers count up, so that a span never ends on a page before the one that it begins on.
    _require(all(a.number <= b.number for a, b in pairwise(places) if a.kind == b.kind), "numbers in order")
    return places


def _check_place(value: Any, length: int) -> Place:
    _require(isinstance(value, list) and len(value) == 5, "a place")
    start, kind, number, label, rows = value
    _require(isinstance(kind, str) and kind in _PLACE_KINDS, "a kind of place")
    return Place(
        _number(start, length), kind, _number(number, _LARGEST, 1), _line(label, _NAME_CHARS), _check_rows(rows)
    )


def _check_rows(value: Any) -> tuple[int, int] | None:
    if value is None:
        return None
    _require(isinstance(value, list) and len(value) == 2, "rows")
    first = _number(value[0], _LARGEST, 1)
    return first, _number(value[1], _LARGEST, first)


def _check_reading(value: Any) -> Reading:
    _require(isinstance(value, dict), "reading")
    _require(isinstance(value.get("hidden_kept"), bool), "hidden_kept")
    hidden = _number(value.get("hidden_runs"), _LARGEST)
    return Reading(
        reader=_line(value.get("reader"), _NAME_CHARS),
        pages=_number(value.get("pages"), _LARGEST),
        hidden_runs=hidden,
        hidden_kept=value["hidden_kept"],
        needs_ocr=tuple(_number(page, _LARGEST, 1) for page in _list(value.get("needs_ocr"), _MOST_PLACES)),
        ocr_pages=_number(value.get("ocr_pages"), _LARGEST),
        attachments=_lines(value.get("attachments")),
        notes=_lines(value.get("notes")),
        hidden_reasons=_check_hidden_reasons(value.get("hidden_reasons"), hidden),
    )


def _check_hidden_reasons(value: Any, runs: int) -> Mapping[HiddenReason, int]:
    _require(isinstance(value, dict) and value.keys() <= _HIDDEN_REASONS, "reasons")
    counts = {reason: _number(count, _LARGEST, 1) for reason, count in value.items()}
    _require(sum(counts.values()) == runs, "a reason for each hidden run")
    return counts


def _lines(value: Any) -> tuple[str, ...]:
    return tuple(_line(item, _NAME_CHARS) for item in _list(value, _MOST_NAMES))


def _line(value: Any, most: int) -> str:
    _require(isinstance(value, str), "a text")
    return one_line(clean_text(value[: 4 * most]), most)


def _list(value: Any, most: int) -> Sequence[Any]:
    _require(isinstance(value, list) and len(value) <= most, "a list")
    return list(value)


def _number(value: Any, largest: int, smallest: int = 0) -> int:
    _require(type(value) is int and smallest <= value <= largest, "a number")
    return int(value)


def _require(is_valid: bool, name: str) -> None:
    if not is_valid:
        raise ParserProtocolError(f"not {name}")
