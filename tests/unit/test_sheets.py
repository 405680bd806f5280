"""Workbooks and tables in text become parts of tables: every cell can be found, and what is left out is named."""

from __future__ import annotations

import csv
import io
import random
import re
import time
import zipfile
from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.office_files import sheet_xml, xlsx, zipped
from winnow.server.models import Document, Place
from winnow.server.readers.chunking import LARGEST, chunk, measure
from winnow.server.readers.common.markdown_draft import one_line, table_row
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.formats import delimited, workbook
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions
from winnow.server.readers.sheets import sheet_parts

SAMPLE = Path(__file__).parents[3] / "shared/data/documents/office/a.xlsx"
_TABLE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
# A cell with a word, in any script, with anything around it that XML can hold.
_CELLS = st.text(
    st.characters(blacklist_categories=["Cs", "Cc", "Cn", "Co"]) | st.sampled_from('|\\"\n\t,;'),
    min_size=1,
    max_size=30,
).filter(lambda cell: cell.strip())


def _read(file: io.BytesIO, *, keeps_hidden: bool = False) -> ParsedFile:
    return workbook.read(file, ReadOptions(keeps_hidden=keeps_hidden))


def _read_csv(text: str) -> ParsedFile:
    return delimited.read(io.BytesIO(text.encode()), ReadOptions())


def _parts(parsed: ParsedFile) -> list[tuple[Place, str]]:
    """Each place and its text."""
    ends = [*(place.start for place in parsed.places[1:]), len(parsed.text)]
    return [(place, parsed.text[place.start : end]) for place, end in zip(parsed.places, ends, strict=True)]


def test_a_sheet_is_parts_with_its_header_and_its_rows() -> None:
    """Parts follow one another without a gap, and each repeats the header."""
    rows = [("id", "name", "amount"), *((number, f"customer {number}", number * 1.25) for number in range(500))]
    parsed = _read(xlsx({"Orders": rows}))
    parts = _parts(parsed)
    assert len(parts) > 10
    assert parts[0][0].rows == (1, parts[1][0].rows[0] - 1)  # type: ignore[index]
    assert all(first.rows[1] + 1 == second.rows[0] for (first, _), (second, _) in pairwise(parts))  # type: ignore[index]
    assert parts[-1][0].rows[1] == 501  # type: ignore[index]
    assert {(place.kind, place.number, place.label) for place, _ in parts} == {("sheet", 1, "Orders")}
    assert all("| id | name | amount |\n| --- | --- | --- |\n" in text for _, text in parts)
    assert parsed.text.startswith("# Orders\n")


def test_a_part_is_one_passage() -> None:
    """No part is larger than a chunk, so that no row is without its header."""
    words = random.Random(3)
    rows = [("key", "value", "remark")]
    rows += [(str(n), f"{words.random():.12f}", " ".join(f"word{n}" for _ in range(n % 25))) for n in range(400)]
    parsed = _read(xlsx({"Data": rows}))
    document = Document("d", "p", "a.xlsx", "", "Book", "sheet", "")
    chunks = chunk(document, parsed.text, parsed.places)
    assert len(chunks) == len(parsed.places)
    assert all(measure(each.text) <= LARGEST for each in chunks)
    assert chunks[0].text.startswith("# Data\n")
    assert {each.heading_path for each in chunks[1:]} == {("Data",)}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.1 + 0.2, "0.3"),
        (3.0, "3"),
        (1e21, "1e+21"),
        (date(2026, 11, 23), "2026-11-23"),
        ("a|b", r"a\|b"),
        ("two\nlines", "two lines"),
    ],
)
def test_values_are_written_as_they_are_shown(value: object, shown: str) -> None:
    """Numbers without noise, dates in ISO 8601, bars escaped, one line a row."""
    assert _read(xlsx({"S": [["head", "b"], [value, "x"]]})).text.endswith(f"| {shown} | x |")


def test_an_open_document_sheet_is_read() -> None:
    """Repeated cells and rows are written out, and dates are dates."""
    office = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
    table = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
    text = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
    cells = (
        '<table:table-cell office:value-type="string"><text:p>name</text:p></table:table-cell>'
        '<table:table-cell office:value-type="string"><text:p>day</text:p></table:table-cell>',
        '<table:table-cell office:value-type="string"><text:p>tea</text:p></table:table-cell>'
        '<table:table-cell office:value-type="date" office:date-value="2026-11-23"/>',
    )
    rows = "".join(f"<table:table-row>{row}</table:table-row>" for row in cells)
    content = (
        f'<office:document-content xmlns:office="{office}" xmlns:table="{table}" xmlns:text="{text}">'
        f'<office:body><office:spreadsheet><table:table table:name="Stock">{rows}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    parsed = _read(zipped({"mimetype": kind, "META-INF/manifest.xml": "<manifest/>", "content.xml": content}))
    assert parsed.text == "# Stock\n\n| name | day |\n| --- | --- |\n| tea | 2026-11-23 |"


def test_rows_keep_the_numbers_of_the_sheet() -> None:
    """Empty rows are left out and counted as rows; captions stand above the table."""
    parsed = _read(xlsx({"S": [[], ["Sales of 2026"], [], ["a", "b"], ["1", "2"], [], ["3", "4"]]}))
    assert parsed.places[0].rows == (2, 7)
    assert parsed.text == "# S\n\nSales of 2026\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |"


def test_a_wide_sheet_names_each_value() -> None:
    """A header that would fill the part is not repeated: each value has its name, and the names have a part."""
    names = [f"measurement number {number}" for number in range(60)]
    parsed = _read(xlsx({"W": [names, [f"value{number}" for number in range(59)]]}))
    assert "- measurement number 58: value58" in parsed.text
    assert "measurement number 58 | measurement number 59" in parsed.text
    assert [place.rows for place in parsed.places] == [(1, 1), (2, 2)]


def test_hidden_sheets_are_left_out_counted_and_named() -> None:
    """They are read on request; the numbers of the other sheets stay those of the workbook."""
    file = {"Front": [["a", "b"]], "Secret": [["password", "x"]], "Back": [["c", "d"]]}
    dropped, kept = _read(xlsx(file, ["Secret"])), _read(xlsx(file, ["Secret"]), keeps_hidden=True)
    assert "password" not in dropped.text
    assert [place.number for place in dropped.places] == [1, 3]
    assert dropped.reading.notes == ("hidden sheets were left out: Secret",)
    assert (dropped.reading.hidden_reasons, dropped.reading.hidden_kept) == ({"hidden sheet": 1}, False)
    assert "password" in kept.text
    assert (kept.reading.hidden_runs, kept.reading.hidden_kept, kept.reading.notes) == (1, True, ())


def test_hidden_rows_and_columns_are_read_and_counted() -> None:
    """A filter hides rows for a while; comments are left out."""
    xml = sheet_xml([["a", "b", "c"], ["d", "e", "f"]])
    xml = xml.replace(
        "<sheetData>", '<cols><col min="2" max="3" hidden="1"/><col min="4" max="9"/></cols><sheetData>'
    )
    xml = xml.replace('<row r="2">', '<row r="2" hidden="1">')
    parsed = _read(xlsx({"S": []}, others={"xl/worksheets/sheet1.xml": xml, "xl/comments1.xml": "<comments/>"}))
    assert "| d | e | f |" in parsed.text
    assert parsed.reading.notes == (
        "comments of 1 sheets were left out",
        "sheet 'S': 1 hidden rows and 2 hidden columns are part of the text",
    )


def test_a_part_that_two_sheets_share_is_copied_once() -> None:
    """A workbook may list one part again and again."""
    whole = xlsx({"A": [["x", "y"]], "B": [["z"]]})
    with zipfile.ZipFile(whole) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    entries["xl/workbook.xml"] = entries["xl/workbook.xml"].replace(b"rId2", b"rId1")
    assert _read(zipped(entries)).text.count("| x | y |") == 2


def test_rows_beyond_the_limit_are_counted_in_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is that of the whole workbook; every sheet that is cut is named."""
    monkeypatch.setattr(sheet_parts.SheetBudget.__init__, "__defaults__", (100, 4_000_000, 60_000))
    rows = [("n", "text"), *((number, f"row {number}") for number in range(150))]
    parsed = _read(xlsx({"A": rows, "B": rows[:20]}))
    assert parsed.reading.notes == (
        "sheet 'A': 151 rows, the first 100 were read",
        "sheet 'B': 20 rows, the first 0 were read",
    )
    assert ("row 98" in parsed.text, "row 99" in parsed.text) == (True, False)
    assert _read_csv("\n".join(f"{a},{b}" for a, b in rows)).reading.notes == (
        "151 rows, the first 100 were read",
    )


@settings(max_examples=60, deadline=None)
# Another delimiter splits the lines better, against the quotation marks.
@example([["0", "0\t"], ['0"0']])
@example([["0"], ["0", "0|"], ["|"]])
@example([["0"], ["0"], ["0", "0|"], ["0", "0", "0|"]])
# A header of rare letters that fills half of a part, over columns without values.
@example([["0:0:0:ĊĲ𐀀𐀀𐀀𐀀𠁀", "0:0:0:0ĊĲ𐀀𐀀𐀀𐀀𠁀", "0:᠁0:0:0:0:0Ġᎀ𐀀𝑀"], ["0"]])
@given(st.lists(st.lists(_CELLS, min_size=1, max_size=4), min_size=1, max_size=12))
def test_every_cell_of_a_workbook_and_of_a_table_can_be_found(rows: list[list[str]]) -> None:
    """A cell is text of the part whose rows hold it, whatever marks it is made of."""
    written = io.StringIO()
    csv.writer(written, quoting=csv.QUOTE_ALL).writerows(rows)
    readings = (_read(xlsx({"S": rows})), _read_csv(written.getvalue()))
    for parsed in readings:
        for number, row in enumerate(rows, 1):
            text = next(text for place, text in _parts(parsed) if place.rows[0] <= number <= place.rows[1])  # type: ignore[index]
            shown = text.replace(r"\|", "|")
            assert [cell for cell in row if one_line(cell) not in shown] == []


@given(st.lists(_CELLS, min_size=1, max_size=6))
def test_a_row_is_one_line_whose_cells_can_be_told_apart(cells: list[str]) -> None:
    """Only the bars between cells are bare."""
    parts = re.split(r"(?<!\\)\|", table_row([cell.replace("\\", "/") for cell in cells]))[1:-1]
    assert "\n" not in table_row(cells)
    assert [part.strip().replace(r"\|", "|") for part in parts] == [
        one_line(cell.replace("\\", "/")) for cell in cells
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter: str) -> None:
    """Commas in numbers and text do not mislead."""
    lines = [("name", "price"), ("tea, green", "1,50"), ("coffee", "2,75"), ("milk", "0,99")]
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter).writerows(lines)
    assert "| coffee | 2,75 |" in _read_csv(written.getvalue()).text


def test_the_delimiter_is_found_where_some_quotation_marks_are_loose() -> None:
    """A program that quotes nothing writes marks as they are."""
    lines = ["name\tnote", *(f"thing {number}, or so\tplain" for number in range(5)), 'last, or so\t"Best" of all']
    assert "| thing 3, or so | plain |" in _read_csv("\n".join(lines)).text


def test_a_quotation_mark_that_nothing_closes_loses_nothing() -> None:
    """The marks are then text."""
    text = 'a,b\n1,"open\n' + "\n".join(f"{number},value {number}" for number in range(2000))
    assert {"value 0", "value 1999"} <= set(re.findall(r"value \d+", _read_csv(text).text))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a workbook"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 2000, "not a workbook"),
        (zipped({"a.txt": "text"}).getvalue(), "not a workbook"),
        (xlsx({"S": [["a"]]}).getvalue()[:-100], "not a workbook"),
        (
            xlsx({"S": [["a"]]}, others={"xl/worksheets/sheet1.xml": "<worksheet><sheetData><row"}).getvalue(),
            "not a",
        ),
        (zipped({"xl/workbook.xml": '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}).getvalue(), "document type"),
        (
            zipped(
                {"content.xml": b"0" * 1000, "mimetype": "application/vnd.oasis.opendocument.spreadsheet"}
            ).getvalue(),
            "not a workbook",
        ),
    ],
    ids=["empty", "ole", "zip", "cut", "unclosed", "entities", "ods"],
)
def test_a_file_that_is_no_workbook_has_a_plain_reason(data: bytes, reason: str) -> None:
    """No error of a library is passed on."""
    with pytest.raises(UnreadableFile, match=reason):
        _read(io.BytesIO(data))


def test_a_number_of_a_workbook_is_what_its_cell_shows() -> None:
    """By the format of its style, also as the result of a formula; others have the digits that a cell keeps."""
    codes = ["", "0.00", "#,##0.00&quot; €&quot;", "# ?/?"]
    styles = "".join(
        f'<numFmt numFmtId="{170 + at}" formatCode="{code}"/>' for at, code in enumerate(codes) if code
    )
    numbers = (0, 171, 172, 173, 10, 14)
    used = "".join(f'<xf numFmtId="{number}"/>' for number in numbers)
    sheet = "".join(f'<c r="{letter}1" s="{style}"><v>1234.5</v></c>' for style, letter in enumerate("ABCDE"))
    sheet += '<c r="F1" s="1"><f>A1&gt;2</f><v>0.125</v></c><c r="G1" s="1" t="b"><v>1</v></c>'
    sheet += (
        '<c s="1" t="n" r="H1"><v>2</v></c><c r="I1" s="1" t="e"><v>#DIV/0!</v></c><c r="J1" s="5"><v>2</v></c>'
    )
    sheet += '<c r="K1" s="1"><v>1e400</v></c>'  # no number
    root = f'<worksheet xmlns="{_TABLE}"><sheetData><row r="1">{sheet}</row></sheetData></worksheet>'
    book = f'<styleSheet xmlns="{_TABLE}"><numFmts>{styles}</numFmts><cellXfs>{used}</cellXfs></styleSheet>'
    file = xlsx({"S": []}, others={"xl/worksheets/sheet1.xml": root, "xl/styles.xml": book})
    shown = [
        "1234.5",
        "1234.50",
        "1,234.50 €",
        "1234.5",
        "123450.00%",
        "0.13",
        "TRUE",
        "2.00",
        "#DIV/0!",
        "1900-01-02",
        "inf",
    ]
    assert _read(file).text.split("\n")[2] == table_row(shown)


_ODS_NAMES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{prefix}:1.0"'
    for prefix in ("office", "table", "text")
)


def _ods(*rows: str) -> io.BytesIO:
    """A spreadsheet of OpenDocument with one sheet of these rows of cells."""
    body = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    table = f'<table:table table:name="S">{body}</table:table>'
    document = f"<office:document-content {_ODS_NAMES}><office:body><office:spreadsheet>{table}"
    return zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
            "META-INF/manifest.xml": "<manifest/>",
            "content.xml": f"{document}</office:spreadsheet></office:body></office:document-content>",
        }
    )


def _ods_cell(kind: str, value: str, text: str, more: str = "") -> str:
    name = f"{kind}-value" if kind in {"string", "date", "time", "boolean"} else "value"
    return f'<table:table-cell office:value-type="{kind}" office:{name}="{value}"{more}>{text}</table:table-cell>'


_ODS_SHOWN = [
    ("float", "0.909297426825682", "0.9092974268257"),
    ("float", "-0.75", "-0,7500"),
    ("percentage", "0.255", "26 %"),
    ("currency", "1234.5", "1.234,50 €"),
    ("date", "2024-12-24", "24.12.24"),
    ("time", "PT36H00M00S", "36:00:00"),
    ("boolean", "true", "WAHR"),
    ("float", "0", "#DIV/0!"),
    ("string", "raw", "as shown"),
]


@pytest.mark.parametrize(("kind", "value", "shown"), _ODS_SHOWN)
@pytest.mark.parametrize("form", ["<text:p>{}</text:p>", "<text:p><text:span>{}</text:span></text:p>"])
def test_a_cell_of_opendocument_is_the_text_that_its_sheet_shows(
    kind: str, value: str, shown: str, form: str
) -> None:
    """Also in a cell with a comment, one that is repeated, and one of a formula."""
    text = form.format(shown)
    comment = "<office:annotation><text:p>remark 42</text:p></office:annotation>"
    cells = [
        _ods_cell(kind, value, text),
        _ods_cell(kind, value, comment + text),
        _ods_cell(kind, value, text, ' table:number-columns-repeated="2"'),
        _ods_cell(kind, value, text, ' table:formula="of:=[.A1]" table:number-columns-spanned="2"'),
    ]
    read = _read(_ods("".join(cells))).text.split("\n")[2]
    assert read == table_row([shown] * 5)


def test_a_cell_of_opendocument_without_its_text_has_its_value() -> None:
    """Some programs write values alone."""
    row = _ods_cell("float", "0.25", "") + '<table:table-cell office:value-type="float" office:value="7.5"/>'
    assert _read(_ods(row)).text.split("\n")[2] == "| 0.25 | 7.5 |"


def test_a_sheet_whose_values_span_too_much_is_refused_before_it_is_loaded() -> None:
    """Two cells at opposite ends would take half a terabyte; far cells without a value are harmless."""

    def sheet(far: str) -> io.BytesIO:
        cells = f'<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576">{far}</row>'
        xml = f'<worksheet xmlns="{_TABLE}"><sheetData>{cells}</sheetData></worksheet>'
        return xlsx({"Data": []}, others={"xl/worksheets/sheet1.xml": xml})

    with pytest.raises(UnreadableFile, match="'Data' spans 1,048,576 rows of 16,384 columns: delete stray cells"):
        _read(sheet('<c r="XFD1048576"><v>1</v></c>'))
    assert _read(sheet('<c r="XFD1048576" s="1"/>')).text == "# Data\n\n| 1 |\n| --- |"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (
            '<row r="1"><c r="A4294967295"><v>1</v></c></row>',
            "has a row 4,294,967,295, and sheets end at 1,048,576",
        ),
        ('<row r="99999999999"><c><v>1</v></c></row>', "has a row 99,999,999,999, and sheets end"),
        ('<row r="1"><c r="XFD9999"><v>1</v></c></row>', "spans 9,999 rows of 16,384 columns"),
        ('<row r="1"><c r="XFD999999"><f>1</f><v>1</v></c></row>', "spans 999,999 rows of 16,384 columns"),
    ],
)
def test_a_cell_that_says_to_be_in_another_row_than_its_own_is_measured_there(row: str, reason: str) -> None:
    """The library believes the cell, and takes all memory for it."""
    xml = f'<worksheet xmlns="{_TABLE}"><sheetData>{row}</sheetData></worksheet>'
    with pytest.raises(UnreadableFile, match=reason):
        _read(xlsx({"Data": []}, others={"xl/worksheets/sheet1.xml": xml}))


@pytest.mark.slow
def test_a_workbook_of_a_million_rows_is_read_to_its_limit(capsys: pytest.CaptureFixture[str]) -> None:
    """The first 200,000 rows are read, and the reading says so."""
    row = '<row><c t="inlineStr"><is><t>key</t></is></c><c><v>{}</v></c></row>'
    xml = sheet_xml([]).replace("<sheetData>", "<sheetData>" + "".join(map(row.format, range(1_000_000))))
    file = xlsx({"Data": []}, others={"xl/worksheets/sheet1.xml": xml})
    start = time.process_time()
    parsed = _read(file)
    with capsys.disabled():
        print(f"\na million rows: {time.process_time() - start:.1f} s, {len(parsed.places):,} parts")
    assert parsed.reading.notes == ("sheet 'Data': 1,000,000 rows, the first 200,000 were read",)
    assert set(re.findall(r"key \| (\d+)", parsed.text)) == set(map(str, range(200_000)))


@pytest.mark.skipif(not SAMPLE.exists(), reason="the sample documents are not on this machine")
def test_each_of_15000_rows_is_found_by_a_regular_expression() -> None:
    """Three sheets of 5,000 rows."""
    with SAMPLE.open("rb") as file:
        text = workbook.read(file, ReadOptions()).text
    found = set(re.findall(r"text \d+ of \d+ \|", text))
    assert found == {f"text {row} of {sheet} |" for row in range(5000) for sheet in range(3)}
