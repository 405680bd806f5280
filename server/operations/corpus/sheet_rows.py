"""The exact rows of a sheet that a span of its text is in, from the lines of its tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from winnow.server.bibliographies.locators import place_at
from winnow.server.models import Passage, Place

# A part of a sheet fits into a passage. What is longer is a very long row, or not from a workbook.
_MOST_CHARS = 20_000
_RULE_CELL = "---"


def narrow_to_rows(
    places: Sequence[Place], start: int, end: int, length: int, read: Callable[[int, int], str]
) -> Sequence[Place]:
    """The places that a span is in, with the rows of the span itself where those are certain.

    ``places`` are all of a document in the order of its text, ``length`` are the characters of that text, and
    ``read`` returns those between two offsets. Places other than sheets are returned as they are. A part of a
    sheet from which rows were left out, such as empty ones, keeps the rows of the whole part.
    """
    if not places or places[0].kind != "sheet":
        return places
    last = max(end - 1, start)
    ends = [place_at(places, at) for at in (start, last)]
    top, bottom = (_row_at(places, index, at, length, read) for index, at in zip(ends, (start, last), strict=True))
    held = list(places[ends[0] : ends[1] + 1])
    held[0] = _replace_rows(held[0], top, None)
    held[-1] = _replace_rows(held[-1], None, bottom)
    return held


def narrow_passage(passage: Passage, start: int, end: int) -> Passage:
    """The passage with the rows of its characters from ``start`` to ``end`` as those of its place, where certain.

    A passage that is a whole part of a sheet is enough to tell them. Other passages are returned as they are.
    """
    if len(passage.places) != 1 or passage.places[0].kind != "sheet":
        return passage
    (place,), text = passage.places, passage.chunk.text
    top, bottom = (_row_in_part(place, text, at) for at in (start, max(end - 1, start)))
    return replace(passage, places=(_replace_rows(place, top, bottom),))


def _row_in_part(place: Place, text: str, at: int) -> int | None:
    """The row of a character of a part, which may begin its sheet or not: its number of lines fits one of both."""
    rows = (find_row(place, text, at, begins_sheet=begins) for begins in (True, False))
    return next((row for row in rows if row is not None), None)


def find_row(place: Place, text: str, at: int, *, begins_sheet: bool) -> int | None:
    """The row of the sheet that a character of a part's text is in, None where it is not certain.

    The text is that of ``SheetWriter``: the name of the sheet and the captions above its header where the part
    begins the sheet, then a table with a row on each line. A line does not say which row it is, so there have to
    be as many as ``place.rows`` counts.
    """
    lead, _, table = text.rstrip("\n").rpartition("\n\n")
    lines = table.split("\n")
    above = _count_rows_above(place, lead, begins_sheet=begins_sheet)
    if place.rows is None or above is None or not _is_table(lines):
        return None
    first, last = place.rows
    line = text.count("\n", 0, at) - (lead.count("\n") + 2 if lead else 0)
    if last - first + 1 != above + len(lines) - 2 or line >= len(lines):
        return None
    if line == 0 and begins_sheet:
        return first + above - 1
    return first + above + line - 2 if line >= 2 else None


def _row_at(
    places: Sequence[Place], index: int, at: int, length: int, read: Callable[[int, int], str]
) -> int | None:
    """The row of a character of the document, in the place of this index."""
    place = places[index]
    end = places[index + 1].start if index + 1 < len(places) else length
    if end - place.start > _MOST_CHARS or at < place.start:
        return None
    begins_sheet = index == 0 or places[index - 1].number != place.number
    return find_row(place, read(place.start, end), at - place.start, begins_sheet=begins_sheet)


def _replace_rows(place: Place, top: int | None, bottom: int | None) -> Place:
    if place.rows is None:
        return place
    first, last = place.rows
    return replace(place, rows=(first if top is None else top, last if bottom is None else bottom))


def _is_table(lines: Sequence[str]) -> bool:
    """Whether these are a header, the rule below it and rows."""
    if len(lines) < 2 or not all(line.startswith("|") for line in lines):
        return False
    return all(cell.strip() == _RULE_CELL for cell in lines[1].strip("|").split("|"))


def _count_rows_above(place: Place, lead: str, *, begins_sheet: bool) -> int | None:
    """The number of rows of the sheet above the body of the table, None where it is not certain."""
    if not begins_sheet:
        return None if lead else 0
    blocks = lead.split("\n\n") if lead else []
    has_name = bool(blocks) and blocks[0].startswith("#")
    # The name of a sheet is its label, but for invisible characters; without it, a caption may begin so.
    return len(blocks) - has_name + 1 if has_name == bool(place.label) else None
