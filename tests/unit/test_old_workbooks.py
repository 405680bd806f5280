"""XLS and XLSB: values, hidden sheets and charts, and why what is no readable workbook is refused."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.old_workbooks import DATE, HIDDEN, HOURS, VERY_HIDDEN, Formula, Number, Sheet, ole, rows, xls, xlsb
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions
from winnow.server.readers.formats.workbook import read
from winnow.server.readers.sheets.binary_sheets import check_xlsb_sheet, prepare_xls

Make = Callable[[Mapping[str, Sheet]], io.BytesIO]
VALUES = rows(
    ["Name", "Value", "When"],
    ["größe", Number(2.5), Number(45_000, DATE)],
    ["sum", Formula(110.0), Number(-1.5, HOURS)],
    ["on", True, False],
)
BOOK = {
    "Välues": VALUES,
    "Secret": Sheet({(0, 0): "hidden words"}, HIDDEN),
    "Deep": Sheet({(0, 0): "hidden words"}, VERY_HIDDEN),
    "Picture": Sheet({(0, 0): Number(1.0)}, is_chart=True),
    "Last": rows(["a", "b"], ["c", "d"]),
}


@pytest.fixture(params=[xls, xlsb], ids=["xls", "xlsb"])
def make(request: pytest.FixtureRequest) -> Make:
    found: Make = request.param
    return found


def parse(file: io.BytesIO, *, keeps_hidden: bool = False) -> ParsedFile:
    return read(file, ReadOptions(keeps_hidden=keeps_hidden))


def test_values_dates_durations_and_formulas_are_read_as_they_are_shown(make: Make) -> None:
    parsed = parse(make({"S": VALUES}))
    assert parsed.text == (
        "# S\n\n| Name | Value | When |\n| --- | --- | --- |\n| größe | 2.5 | 2023-03-15 |\n"
        "| sum | 110 | -36:00:00 |\n| on | TRUE | FALSE |"
    )


def test_hidden_sheets_are_left_out_and_named_and_charts_are_no_sheets(make: Make) -> None:
    parsed = parse(make(BOOK))
    assert [(place.number, place.label, place.rows) for place in parsed.places] == [
        (1, "Välues", (1, 4)),
        (5, "Last", (1, 2)),
    ]
    assert (parsed.reading.pages, parsed.reading.hidden_runs, parsed.reading.notes) == (
        5,
        2,
        ("hidden sheets were left out: Secret, Deep",),
    )


def test_hidden_sheets_are_read_where_hidden_text_is_kept(make: Make) -> None:
    parsed = parse(make(BOOK), keeps_hidden=True)
    assert [place.label for place in parsed.places] == ["Välues", "Secret", "Deep", "Last"]
    assert parsed.reading.hidden_kept is True


def test_the_name_of_the_stream_in_older_files_is_known() -> None:
    assert parse(xls(BOOK, stream="Book")).text == parse(xls(BOOK)).text


def test_a_sheet_with_cells_far_apart_is_refused_before_it_takes_all_memory(make: Make) -> None:
    far = Sheet({(0, 0): "a", (65_535, 255): "b"})
    reason = "its sheets span 16,777,216 cells, more than 12,000,000: delete stray cells"
    with pytest.raises(UnreadableFile, match=reason):
        parse(make({"S": far}))
    assert "| b |" in parse(make({"S": Sheet({(60_000, 254): "a", (65_535, 255): "b"})})).text


def test_the_sheets_of_an_xls_which_are_held_together_are_counted_together() -> None:
    wide = Sheet({(0, 0): "a", (65_535, 99): "b"})
    with pytest.raises(UnreadableFile, match="span 13,107,200 cells"):
        parse(xls({"One": wide, "Two": wide}))


_REFUSED = {
    "is encrypted; save it without a password": [
        xls(BOOK, is_encrypted=True).getvalue(),
        ole({"EncryptionInfo": b"x", "EncryptedPackage": b"x"}),
    ],
    "is an old office document, but not a workbook; save it in today's format": [ole({"WordDocument": b"x"})],
    "is damaged or not a workbook": [
        xls(BOOK).getvalue()[:600],
        xls(BOOK).getvalue()[:20],
        ole({"Workbook": b"\xff" * 5_000}),
    ],
    "is HTML or XML, not a workbook; open it and save it as XLSX": [b"\xef\xbb\xbf\n<html><table>", b"<?xml ?>"],
    "is text, not a workbook; open it and save it as XLSX": [b"a\tb\r\n1\t2\r\n"],
    "is a sheet of Excel 4 or older, not a workbook; open it and save it as XLSX": [
        b"\x09\x04\x06\0\0\0\x10\0\0\0"
    ],
}


@pytest.mark.parametrize(("reason", "data"), [(reason, data) for reason in _REFUSED for data in _REFUSED[reason]])
def test_what_is_no_readable_workbook_is_named(reason: str, data: bytes) -> None:
    with pytest.raises(UnreadableFile) as caught:
        parse(io.BytesIO(data))
    assert str(caught.value).partition(" (")[0] == reason


@pytest.mark.parametrize("is_short", [False, True])
def test_the_size_that_an_xls_states_of_a_sheet_is_not_believed(is_short: bool) -> None:
    """The library makes room for it: here for 330 GB."""
    data = bytearray(xls({"S": VALUES}, is_short=is_short).getvalue())
    stated = data.index(struct.pack("<HHII", 0x200, 14, 0, 4))
    struct.pack_into("<I", data, stated + 8, 0xA400_0004)
    assert parse(io.BytesIO(data)).text == parse(xls({"S": VALUES})).text


@pytest.mark.parametrize(
    "numbers",
    [
        {512 + 4 * place: 1 for place in range(128)},
        {512 + 4: 1},
        {68: 0, 512 + 508: 0},
        {60: 1, 512 + 4: 1},
    ],
    ids=["every sector", "directory", "list of tables", "short streams"],
)
def test_chains_of_sectors_that_lead_in_a_circle_are_refused(numbers: dict[int, int]) -> None:
    """The library follows them until its time or its memory is spent."""
    data = bytearray(xls(BOOK).getvalue())
    for place, number in numbers.items():
        struct.pack_into("<I", data, place, number)
    with pytest.raises(UnreadableFile, match="is damaged or not a workbook"):
        prepare_xls(bytes(data), 100)


@given(st.data())
def test_a_damaged_xls_is_checked_or_refused(data: st.DataObject) -> None:
    """The check raises nothing but ``UnreadableFile``, whatever the file says of its sectors and records."""
    whole = bytearray(xls({"S": VALUES}).getvalue())
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(0, len(whole) - 1) | st.integers(24, 1_200))
        whole[place] = data.draw(st.integers(0, 255))
    with suppress(UnreadableFile):
        prepare_xls(bytes(whole[: data.draw(st.integers(0, len(whole)))]), 1_000)


@given(st.binary(max_size=200))
def test_any_bytes_are_checked_as_a_sheet_of_xlsb(data: bytes) -> None:
    with suppress(UnreadableFile):
        check_xlsb_sheet(data, 1_000)
