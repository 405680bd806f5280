"""The row of a match in a workbook: the one that the sheet's program shows, or else the rows of the whole part."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.office_files import xlsx
from winnow.server.bibliographies.locators import cited_fields, locate, locator_fields, place_at
from winnow.server.models import Document, Passage, Place
from winnow.server.operations.corpus.sheet_rows import narrow_passage, narrow_to_rows
from winnow.server.readers.chunking import chunk
from winnow.server.readers.common.markdown_draft import MarkdownDraft
from winnow.server.readers.formats import delimited, workbook
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions
from winnow.server.readers.sheets.sheet_parts import SheetRow, SheetWriter


def _locator(text: str, places: Sequence[Place], start: int, end: int) -> str:
    held = narrow_to_rows(places, start, end, len(text), lambda first, last: text[first:last])
    return str(locator_fields(held, start, end, "a.xlsx")["locator"])


def _find(parsed: ParsedFile, pattern: str) -> str:
    match = re.search(pattern, parsed.text)
    assert match is not None
    return _locator(parsed.text, parsed.places, *match.span())


def test_a_match_in_a_workbook_names_its_row_and_the_name_of_its_sheet() -> None:
    rows = [("id", "name"), *((number, f"customer <{number}>") for number in range(2, 5_001))]
    parsed = workbook.read(xlsx({"Empty": [], "Sheet 0": rows}), ReadOptions())
    assert len(parsed.places) > 10
    for number in (2, 3, 99, 2_500, 4_712, 5_000):
        assert _find(parsed, f"<{number}>") == f'sheet "Sheet 0", row {number}'
    assert _find(parsed, r"<10> \|\n.*<11>") == 'sheet "Sheet 0", rows 10-11'
    assert _find(parsed, "id") == 'sheet "Sheet 0", row 1'
    # A match over the repeated header of two parts is in the rows on both sides of it.
    last = parsed.places[0].rows[1]  # type: ignore[index]
    assert _find(parsed, rf"(?s)<{last}>.*?<{last + 1}>") == f'sheet "Sheet 0", rows {last}-{last + 1}'


def test_captions_and_a_table_without_the_name_of_a_sheet_are_counted() -> None:
    parsed = delimited.read(io.BytesIO(b"a;b\n1;x\n2;y\n"), ReadOptions())
    assert _find(parsed, "y") == "sheet 1, row 3"
    titled = workbook.read(xlsx({"S": [["Sales"], ["All years"], ["id", "n"], [1, "one"]]}), ReadOptions())
    assert (_find(titled, "id"), _find(titled, "one")) == ('sheet "S", row 3', 'sheet "S", row 4')
    assert _find(titled, "All years") == 'sheet "S", rows 1-4'


def test_where_rows_were_left_out_the_rows_of_the_part_stay() -> None:
    parsed = workbook.read(xlsx({"S": [["id", "n"], [1, "one"], [], [2, "two"]]}), ReadOptions())
    assert _find(parsed, "two") == 'sheet "S", rows 1-4'


_WORDS = st.sampled_from(["", "one", "a|b", "a\n\nb", "#", "---", "| x |", "\\", "- n: 1", "\u2028", "\t"])


@given(st.lists(st.lists(_WORDS, max_size=3), max_size=60), st.sampled_from(["", " ", "Data", "#"]), st.booleans())
@settings(max_examples=300, deadline=None)
def test_a_row_that_is_named_is_never_another_one(rows: list[list[str]], label: str, is_wide: bool) -> None:
    header = [["id " * 400, "b"]] if is_wide else []
    cells = [[*row, f"<{number}>"] if any(row) else [] for number, row in enumerate([*header, *rows], 1)]
    draft = MarkdownDraft()
    SheetWriter(draft).write(1, label, (SheetRow(number, row) for number, row in enumerate(cells, 1)))
    places = draft.places
    markers = [match for match in re.finditer(r"<(\d+)>", draft.text) if draft.text.count(match[0]) == 1]
    for match in markers:
        if is_wide and match[1] == "1":  # a name of the header, which rows repeat
            continue
        located = _locator(draft.text, places, *match.span())
        named = [int(number) for number in re.findall(r"\d+", located.rpartition("row")[2])]
        assert named[0] <= int(match[1]) <= named[-1]


@pytest.mark.parametrize(
    "text", ["", "\n\n\n", "| a |", "| a |\n| --- |", "words\n\n| a |\n| --- |\n| b |", "x" * 30_000]
)
def test_texts_that_are_no_tables_keep_the_rows_of_the_place(text: str) -> None:
    places = [Place(0, "sheet", 1, "S", (2, 21))]
    for at in range(min(len(text), 40)):
        assert _locator(text, places, at, at + 1) == 'sheet "S", rows 2-21'


def _passages(parsed: ParsedFile) -> list[Passage]:
    """The chunks of a workbook as an index has them."""
    document = Document("0" * 12, "p", "a.xlsx", "/d", "", "sheet", "")
    found = []
    for each in chunk(document, parsed.text, parsed.places):
        held = locate(parsed.places, each.start, each.end, "")
        assert held is not None
        index = place_at(parsed.places, each.start)
        found.append(
            Passage(each, document, tuple(parsed.places[index : place_at(parsed.places, each.end - 1) + 1]))
        )
    return found


def test_a_quote_from_a_passage_of_a_sheet_names_its_row_and_the_passage_all_of_its_rows() -> None:
    rows = [("id", "name"), *((number, f"customer <{number}>") for number in range(2, 401))]
    parsed = workbook.read(xlsx({"Data": rows, "Plain": [["id", "n"], [1, "<one>"]]}), ReadOptions())
    passages = _passages(parsed)
    assert len(passages) > 3
    named = {}
    for passage in passages:
        for match in re.finditer(r"<(\w+)>", passage.chunk.text):
            fields = cited_fields(narrow_passage(passage, *match.span()), *match.span())
            named[match[1]] = fields["locator"]
        assert narrow_passage(passage, 0, len(passage.chunk.text)).places[0].rows == passage.places[0].rows
    expected = {str(number): f'sheet "Data", row {number}' for number in range(2, 401)}
    assert named == {**expected, "one": 'sheet "Plain", row 2'}


def test_a_passage_of_another_kind_or_of_a_part_with_rows_left_out_is_as_it_was() -> None:
    (gapped,) = _passages(workbook.read(xlsx({"S": [["id", "n"], [1, "one"], [], [2, "two"]]}), ReadOptions()))
    at = gapped.chunk.text.index("two")
    assert narrow_passage(gapped, at, at + 3) == gapped
    page = replace(gapped, places=(Place(0, "page", 1),))
    assert narrow_passage(page, at, at + 3) is page
