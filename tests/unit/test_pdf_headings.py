"""Headings of PDF that are printed like their text, and titles that part tables, on small files made in code."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from tests.pdf_files import Box, Drawing, PdfFile, Stroke, Text, WithLetters, build_pdf, paragraph
from winnow.server.readers.formats import pdf_liteparse, pdf_pdfium
from winnow.server.readers.formats.parsed_file import FormatReader, ReadOptions
from winnow.server.readers.pdf.layout import Box as Edges
from winnow.server.readers.pdf.layout import Rules
from winnow.server.readers.pdf.lines import Cell, Line
from winnow.server.readers.pdf.reading_order import columns_of, part_page

PROSE = (
    "A store keeps its passages in the order in which they were",
    "written, and a reader finds each of them by its number.",
)


@pytest.fixture(params=[pdf_liteparse.read, pdf_pdfium.read], ids=["liteparse", "pdfium"])
def read(request: pytest.FixtureRequest) -> FormatReader:
    reader: FormatReader = request.param
    return reader


def text_of(read: FormatReader, *pages: list[Drawing]) -> str:
    return read(io.BytesIO(build_pdf(PdfFile(pages))), ReadOptions()).text


def under(titles: list[str], lines: tuple[str, ...] = PROSE) -> Iterator[Text]:
    """Each title in letters of the text, and these lines below it."""
    for place, title in enumerate(titles):
        yield Text(50, 760 - 85 * place, title)
        yield from paragraph(50, 760 - 85 * place - 22, lines)


def headings(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith("#")]


def test_a_title_with_the_next_number_is_a_heading_without_larger_letters(read: FormatReader) -> None:
    titles = ["6.5.1 Weights of a passage", "6.5.2 Order", "7.2 Anchors", "6.9.3 Of another order"]
    page = [Text(50, 790, "6.5 Analysis", 16), *under(titles)]
    assert headings(text_of(read, page)) == ["# 6.5 Analysis", "## 6.5.1 Weights of a passage", "## 6.5.2 Order"]


def test_a_list_of_contents_has_no_headings(read: FormatReader) -> None:
    entries = [Text(50, 740 - 30 * place, f"6.5.{place} Chapter of a book 1{place}") for place in range(1, 6)]
    assert headings(text_of(read, [Text(50, 790, "6.5 Contents", 16), *entries])) == ["# 6.5 Contents"]


def test_lines_below_each_other_with_following_numbers_are_no_headings(read: FormatReader) -> None:
    lines = [Text(50, 740 - 30 * place, f"6.5.{place} Weights of a passage") for place in range(1, 6)]
    below = paragraph(50, 550, PROSE)
    assert headings(text_of(read, [Text(50, 790, "6.5 Analysis", 16), *lines, *below])) == ["# 6.5 Analysis"]


def test_numbered_questions_and_clauses_with_a_text_below_are_headings(read: FormatReader) -> None:
    questions = ["8. What is a passage?", "9. What parts a store", "10. Who reads it?", "11. Where is it kept?"]
    found = headings(text_of(read, [*under(questions)]))
    assert found == [f"# {question}" for question in questions]
    clauses = ["12. No Surrender of Freedom.", "13. Revised Versions.", "14. Disclaimer of Warranty."]
    assert headings(text_of(read, [*under(clauses, (PROSE[0], PROSE[0], *PROSE))])) == [
        f"# {clause}" for clause in clauses
    ]


def test_two_numbered_questions_or_numbered_steps_are_no_headings(read: FormatReader) -> None:
    assert headings(text_of(read, [*under(["1. What is a passage?", "2. Who reads it?"])])) == []
    steps = ["1. Open the store", "2. Write a passage", "3. Close the store"]
    assert headings(text_of(read, [*under(steps)])) == []


def test_a_bold_line_farther_below_parts_a_table() -> None:
    rows = [
        ("axis", "the direction of a turn"),
        ("angle", "how far it turns, in radians"),
        ("name", "the name of the turn"),
    ]
    more = [("turn", "the number that stands for it"), ("norm", "its length")]
    page: list[Drawing] = [*under(["A page with prose before its tables goes on"])]
    for place, (name, meaning) in enumerate(rows):
        page += [Text(60, 620 - 14 * place, name), Text(160, 620 - 14 * place, meaning)]
    page.append(Text(60, 556, "Outputs", bold=True))
    for place, (name, meaning) in enumerate(more):
        page += [Text(60, 536 - 14 * place, name), Text(160, 536 - 14 * place, meaning)]
    shown = text_of(pdf_liteparse.read, page)
    assert headings(shown) == ["# Outputs"]
    assert [f"| {name} | {meaning} |" in shown for name, meaning in (*rows, *more)] == [True] * 5


def test_rows_between_two_rules_whose_first_cells_had_room_are_rows(read: FormatReader) -> None:
    rows = [("IE", "investment in equipment"), ("C", "consumption"), ("Y", "gross product"), ("L", "wages")]
    page: list[Drawing] = [Text(64, 700, "abbr"), Text(124, 700, "description")]
    for place, (name, meaning) in enumerate(rows):
        page += [Text(64, 680 - 18 * place, name), Text(124, 680 - 18 * place, meaning)]
    page += [Stroke(55, y, 225) for y in (714, 694, 616)]
    page += [Box(x, 616, 0.5, 98, (0, 0, 0)) for x in (55, 115, 280)]
    shown = text_of(read, page)
    assert [f"| {name} | {meaning} |" in shown for name, meaning in rows] == [True] * 4


def test_tables_beside_each_other_with_rules_between_their_rows_are_read_one_after_the_other() -> None:
    """Each has one bar, no rule below its last row, and most cells begin above their neighbours."""
    page: list[Drawing] = []
    sides: list[tuple[str, int, list[tuple[str, str]]]] = [
        ("Left", 50, [("read", "a passage"), ("write", "an entry"), ("close", "a store"), ("open", "a file")]),
        ("Right", 310, [("find", "by words"), ("scan", "by signs"), ("rank", "by score"), ("cite", "by page")]),
    ]
    for title, left, rows in sides:
        top = 700 if title == "Left" else 690
        page.append(Text(left + 60, top + 8, title, bold=True))
        for place, (name, meaning) in enumerate(rows):
            y = top - 40 * place
            page += [Stroke(left, y, 200), Text(left + 90, y - 12, f"Takes {meaning}")]
            page += [
                Text(left + 5, y - (12 if place == 1 else 18), name),
                Text(left + 90, y - 24, f"of the {title}"),
            ]
        page.append(Box(left + 80, top - 156, 0.5, 156, (0, 0, 0)))
    shown = text_of(pdf_liteparse.read, page)
    cells = [f"| {name} | Takes {meaning} of the {title} |" for title, _, rows in sides for name, meaning in rows]
    assert [cell in shown for cell in cells] == [True] * 8
    assert shown.index("Left") < shown.index(cells[3]) < shown.index("Right")


def test_a_centred_line_in_italics_is_a_title(read: FormatReader) -> None:
    page: list[Drawing] = [*under(["A page whose sections have titles in the middle of it"])]
    page += [WithLetters(150, 680, "{Static Semantics}"), *paragraph(50, 655, PROSE)]
    page += [WithLetters(50, 610, "{Dynamic Semantics}"), *paragraph(50, 585, PROSE)]
    expected = ["# Static Semantics"] if read is pdf_liteparse.read else []
    assert headings(text_of(read, page)) == expected


def test_a_program_above_tables_beside_each_other_stays_one() -> None:
    lines = [
        f"store.write(passage_{number}, under='the number of the passage that it follows')" for number in range(3)
    ]
    page: list[Drawing] = [Text(50, 780 - 12 * place, line, mono=True) for place, line in enumerate(lines)]
    page += paragraph(50, 730, PROSE)
    for left, name in ((50, "left"), (310, "right")):
        top = 700 if left == 50 else 690
        for place in range(5):
            page += [Stroke(left, top - 20 * place, 200), Text(left + 5, top - 20 * place - 12, f"{name} {place}")]
            page.append(Text(left + 90, top - 20 * place - 12, f"value {place}"))
    blocks = text_of(pdf_liteparse.read, page).split("\n\n")
    assert blocks[0] == "\n".join(("```", *lines, "```"))
    assert [f"| left {place} | value {place} |" in blocks[2] for place in range(5)] == [True] * 5


def test_steps_with_capitals_are_no_headings(read: FormatReader) -> None:
    steps = ["1. Click Save.", "2. Select File > Open.", "3. Press Enter."]
    assert headings(text_of(read, [*under(steps)])) == []
    page: list[Drawing] = []
    for place, city in enumerate(["1. Paris, France", "2. London, England", "3. Berlin, Germany"]):
        page += [Text(50, 700 - 40 * place, city), Text(50, 685 - 40 * place, "The city has a store.")]
    assert headings(text_of(read, page)) == []


def test_a_table_of_programs_with_a_bold_title_is_read() -> None:
    page: list[Drawing] = [*(Text(50, 760 - 12 * place, PROSE[0], mono=True) for place in range(6))]
    for place in range(7):
        y = 660 - 12 * place - (14 if place > 2 else 0) - (14 if place > 3 else 0)
        cells = (
            [(50, "Outputs of it")] if place == 3 else [(50, f"a{place}"), (150, f"b{place}"), (250, f"c{place}")]
        )
        page += [Text(x, y, text, bold=place == 3, mono=place != 3) for x, text in cells]
    shown = text_of(pdf_liteparse.read, page)
    assert [cell in shown for cell in ("a0", "c2", "Outputs of it", "b6")] == [True] * 4


def test_pieces_without_width_between_two_ruled_tables_are_in_one_column() -> None:
    rules = Rules(tuple(sorted((100.0 + 20 * row, left, left + 200) for row in range(6) for left in (50, 350))))
    rules = Rules(tuple((y + (5 if left > 300 else 0), left, right) for y, left, right in rules.horizontal))
    lines = [
        Line(Edges(300, 110 + 20 * place, 300, 118 + 20 * place), 8, False, (Cell(f"sign {place}", 300, 300),))
        for place in range(4)
    ]
    lines += [
        Line(
            Edges(left, 110 + 20 * place, left + 90, 118 + 20 * place), 8, False, (Cell("text", left, left + 90),)
        )
        for place in range(4)
        for left in (55, 355)
    ]
    texts = [line.text for column in columns_of(part_page(lines, rules)) for line in column]
    assert sorted(" ".join(texts).split()) == sorted(" ".join(line.text for line in lines).split())
