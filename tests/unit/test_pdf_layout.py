"""Lines of a PDF put together: columns, headings, programs, cells between bars, text that a reader lost."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pdf_files import Box, PdfFile, Text, WithMinus, build_pdf, paragraph
from winnow.server.readers.formats import pdf_liteparse, pdf_pdfium
from winnow.server.readers.formats.parsed_file import FormatReader, ReadOptions
from winnow.server.readers.pdf.document import open_pdf
from winnow.server.readers.pdf.layout import NO_RULES, BlockKind, Rules
from winnow.server.readers.pdf.layout import Box as PageBox
from winnow.server.readers.pdf.line_layout import DrawnPage, TurnedText, lay_out_pages
from winnow.server.readers.pdf.lines import Cell, Line, cell_of
from winnow.server.readers.pdf_characters.ink_sizes import box_of_line, box_of_runs, ink_size, join_sizes
from winnow.server.readers.pdf_characters.lost_text import LostText
from winnow.server.readers.pdf_characters.pieces import Piece, part_lines
from winnow.server.readers.pdf_characters.turned_text import find_turn, part_turned
from winnow.server.readers.pdf_tables.descriptions import find_descriptions
from winnow.server.readers.pdf_tables.tables import table_markdown

pytestmark = pytest.mark.both_users

PROSE = "a line of prose that fills its column"
READERS = pytest.mark.parametrize("reader", [pdf_liteparse.read, pdf_pdfium.read], ids=["liteparse", "pdfium"])


def line(
    text: str,
    left: float,
    top: float,
    right: float,
    size: float = 10,
    *,
    bold: bool = False,
    mono: bool = False,
) -> Line:
    box = PageBox(left, top, right, top + size)
    return Line(box, size, bold, (Cell(text, left, right),), mono)


def prose(name: str, left: float, top: float, right: float, count: int, size: float = 10) -> list[Line]:
    """So many full lines below each other, and a short last one that ends the sentence."""
    lines = [line(f"{name}{at} {PROSE}", left, top + 12 * at, right, size) for at in range(count)]
    return [*lines, line(f"{name} end.", left, top + 12 * count, left + 40, size)]


def read_pages(
    *pages: Sequence[Line], rules: Rules = NO_RULES, has_heads: bool = False
) -> list[tuple[BlockKind, str]]:
    """The blocks of pages of these lines."""
    drawn = [DrawnPage(number, 800, tuple(lines), rules) for number, lines in enumerate(pages, 1)]
    laid = lay_out_pages(drawn, has_heads=has_heads)
    return [(block.kind, block.text) for page in laid for block in page.blocks]


def words(blocks: Sequence[tuple[BlockKind, str]]) -> list[str]:
    """The first word of each block."""
    return [text.split()[0] for _, text in blocks]


def test_a_wide_full_stop_ends_a_paragraph_of_japanese() -> None:
    page = [
        line("コマンドを起動すると自動的に", 70, 100, 290),
        line("設定される．", 70, 112, 130),
        line("configure の使用法については", 70, 124, 290),
        line("別の文書を参照のこと．", 70, 136, 180),
    ]
    assert [text for _, text in read_pages(page)] == [
        "コマンドを起動すると自動的に設定される．",
        "configure の使用法については別の文書を参照のこと．",
    ]


def test_lines_of_japanese_are_joined_without_a_blank_and_others_with_one() -> None:
    page = [
        line("これは単一のパー", 70, 100, 290),
        line("ティションを使う文の", 70, 112, 290),
        line("example のあとに続く文です。", 70, 124, 250),
    ]
    assert read_pages(page) == [
        (BlockKind.PARAGRAPH, "これは単一のパーティションを使う文の example のあとに続く文です。")
    ]


# --- columns


def test_a_page_of_formulas_and_labels_has_the_columns_of_the_other_pages() -> None:
    """Where most lines of a page are no prose, its columns are those that the document has elsewhere."""
    usual = [[*prose("l", 70, 100, 290, 20), *prose("r", 300, 100, 520, 20)] for _ in range(3)]
    left = [line(f"H = {at}", 130, 100 + 20 * at, 170) for at in range(12)]
    right = [line(f"{at}.5", 310 + 40 * (at % 5), 110 + 20 * at, 318 + 40 * (at % 5), 6) for at in range(12)]
    for at in (0, 4, 8, 11):
        left.append(line(f"left{at} {PROSE}.", 70, 110 + 20 * at, 290))
        right.append(line(f"right{at} {PROSE}.", 300, 100 + 20 * at, 520))
    text = " ".join(text for _, text in read_pages(*usual, [*left, *right]))
    parts = ("H = 0", "left0", "H = 7", "left8", "left11", "right0", "4.5", "right8", "right11")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_a_raised_number_does_not_part_its_line_from_the_next() -> None:
    star = Line(PageBox(80, 699, 84, 709), 6, False, (Cell("*", 80, 84),))
    note = [star, line("A note that fills its line, as far as it goes", 84, 702, 290, 8)]
    lines = [*prose("l", 70, 100, 290, 20), *note, line("Stores of it are in the next one.", 70, 711.5, 200, 8)]
    assert [text for _, text in read_pages(lines)][-1].endswith(
        "as far as it goes Stores of it are in the next one."
    )


def test_programs_beside_prose_are_a_column_where_other_pages_have_one() -> None:
    usual = [[*prose("l", 70, 100, 290, 20), *prose("r", 300, 100, 520, 20)] for _ in range(3)]
    left = [line(f"In> Sin({at})", 80, 103 + 9.7 * at, 140, 9, mono=True) for at in range(24)]
    page = [*left, *prose("r", 300, 100, 520, 20)]
    last = read_pages(*usual, page)[2 * len(usual) :]
    assert [(kind, text.split("\n")[-1].split()[0]) for kind, text in last] == [
        (BlockKind.LINES, "In>"),
        (BlockKind.PARAGRAPH, "r0"),
    ]


# --- headings, paragraphs


def test_the_name_that_begins_a_title_is_no_program() -> None:
    lines = [
        *prose("l", 70, 100, 520, 8),
        line("RuleBase - define a func-", 70, 240, 230, 12, mono=True),
        line("tion as a rule", 70, 254, 170, 12, bold=True),
        *prose("m", 70, 280, 520, 8),
    ]
    assert [text for kind, text in read_pages(lines) if kind is BlockKind.HEADING] == [
        "RuleBase - define a func-",
        "tion as a rule",
    ]


def test_paragraphs_in_larger_letters_than_most_are_no_headings() -> None:
    """A preface, or the first pages of a file whose others are in small print."""
    small = [prose("s", 70, 100, 520, 40, 6) for _ in range(3)]
    preface = [line("Title", 70, 80, 200, 17), *prose("p", 70, 120, 520, 8, 10)]
    assert [kind for kind, _ in read_pages(preface, *small)][:2] == [BlockKind.HEADING, BlockKind.PARAGRAPH]


def test_a_line_whose_first_word_is_large_is_no_heading_if_its_last_word_goes_on() -> None:
    lines = [
        *prose("l", 70, 100, 520, 8),
        line("Limits: as shown in the output above, the imple-", 70, 300, 520, 12),
        line("mentation reads no more than one line.", 70, 314, 300, 10),
    ]
    assert [kind for kind, _ in read_pages(lines)] == [BlockKind.PARAGRAPH] * 2


def test_a_small_gap_above_a_paragraph_parts_it_from_a_line_that_is_full() -> None:
    lines = [
        line("This manual was made of the texts of its functions, as they stand there.", 70, 100, 520),
        line("Permission is granted to copy what it says, provided that the notice and this", 70, 115, 520),
        line("permission are kept.", 70, 127, 160),
    ]
    assert words(read_pages(lines)) == ["This", "Permission"]


def test_a_label_in_a_picture_does_not_divide_a_sentence() -> None:
    first = [line(f"l{at} {PROSE}", 70, 100 + 12 * at, 520) for at in range(6)]
    then = [line("d", 100, 100, 106, 8), line("and this is its end.", 70, 200, 160)]
    assert words(read_pages(first, then)) == ["l0", "and", "d"]


def test_numbers_outside_of_the_frame_of_a_program_are_its_line_numbers() -> None:
    """An empty line has a number alone, whose letters are smaller and begin lower."""
    code = ["procedure Read is", "   Name : Text;", "", "begin", "   Open (Name);"]
    numbered = [
        part
        for at, text in enumerate(code)
        for part in (
            line(str(at + 8), 55, 304 + 12 * at, 60, 5),
            *(
                [line(text.strip(), 80 + 5 * (len(text) - len(text.strip())), 300 + 12 * at, 180, mono=True)]
                * bool(text)
            ),
        )
    ]
    frame = Rules((), ((70.0, 290.0, 370.0), (560.0, 290.0, 370.0)))
    blocks = read_pages(
        [*prose("before", 50, 100, 560, 6), *numbered, *prose("after", 50, 400, 560, 6)], rules=frame
    )
    kind, text = blocks[1]
    assert kind is BlockKind.LINES
    assert [row.split(maxsplit=1) for row in text.split("\n")] == [
        ["8", "procedure Read is"],
        ["9", "Name : Text;"],
        ["10"],
        ["11", "begin"],
        ["12", "Open (Name);"],
    ]


def test_the_rest_of_an_address_is_no_program() -> None:
    above = "1 The manual is at https://example.org/documents/how-to-call-it-from-a-"
    lines = [
        *prose("l", 70, 100, 520, 6),
        line(above, 70, 300, 520),
        line("program.html", 70, 312, 130, mono=True),
    ]
    assert read_pages(lines)[-1] == (BlockKind.PARAGRAPH, f"{above}program.html")


def test_a_name_ends_a_paragraph_whose_first_line_has_an_indent() -> None:
    lines = [
        *prose("l", 70, 100, 520, 6),
        line("For more about these records see the code and the comments of the file", 86, 300, 520),
        line("chunk_loc.h.", 70, 312, 130, mono=True),
    ]
    assert read_pages(lines)[-1][1].endswith("of the file chunk_loc.h.")


def test_a_short_paragraph_does_not_go_on_in_the_one_below_it() -> None:
    lines = [
        line("Someone, in the year of the", 70, 100, 210),
        line("(with colours added later)", 70, 112, 205),
        line("In the version of today the function has been changed, and what it says of", 70, 150, 520),
        line("its records, too.", 70, 162, 160),
    ]
    assert words(read_pages(lines)) == ["Someone,", "In"]


def test_what_a_command_takes_is_no_heading() -> None:
    lines = [
        line("Options", 70, 80, 120, bold=True),
        line("--all", 70, 100, 100, bold=True),
        *prose("l", 90, 114, 520, 3),
        line("[-m] name", 70, 180, 120, bold=True),
        *prose("m", 90, 194, 520, 3),
    ]
    assert [text for kind, text in read_pages(lines) if kind is BlockKind.HEADING] == ["Options"]


def test_a_full_line_of_ideographs_in_bold_goes_on() -> None:
    """Each is as wide as two letters: 38 of them fill a line."""
    text = [line("使用新字体，" * 6, 70, 100 + 12 * at, 520) for at in range(9)]
    note = [
        line("新字体可能不会在所有应用程式中即时更新，个别程式可能需要关闭重启才能", 70, 300, 520, bold=True),
        line("使用新字体。", 70, 312, 150),
    ]
    head = [line("新字体", 70, 340, 120, bold=True), line("使用新字体。", 70, 352, 150)]
    headings = [text for kind, text in read_pages([*text, *note, *head]) if kind is BlockKind.HEADING]
    assert headings == ["新字体"]


def test_a_bold_term_before_text_is_no_heading() -> None:
    lines = [
        line("Names", 70, 80, 120, bold=True),
        line("See also:", 70, 100, 115, bold=True),
        line("store, open", 118, 100, 180),
        *prose("l", 70, 130, 520, 5),
    ]
    assert [text for kind, text in read_pages(lines) if kind is BlockKind.HEADING] == ["Names"]


def test_headings_with_their_numbers_at_the_left_are_no_table() -> None:
    lines = [
        *(line(text, left, 100, right, 17) for text, left, right in [("2", 50, 60), ("What it does", 93, 250)]),
        *(line(text, left, 130, right, 14) for text, left, right in [("2.1", 50, 70), ("Its styles", 93, 180)]),
        *prose("l", 70, 160, 520, 6),
    ]
    rules = Rules(((125.0, 50.0, 520.0),))
    assert [text for kind, text in read_pages(lines, rules=rules) if kind is BlockKind.HEADING] == [
        "2 What it does",
        "2.1 Its styles",
    ]


def test_heads_are_left_out_where_most_lines_are_those_of_programs() -> None:
    pages = [
        [
            line("An introduction to stores", 50, 40, 200, bold=True),
            *(line(f"print({number}, {at})", 93, 150 + 10 * at, 180, 8, mono=True) for at in range(40)),
            *prose(f"p{number}-", 93, 600, 450, 4),
            line(str(number), 550, 760, 556, bold=True),
        ]
        for number in range(1, 5)
    ]
    texts = [text for _, text in read_pages(*pages, has_heads=True)]
    assert [text for text in texts if text.startswith("An introduction") or text.isdigit()] == []


# --- tables


def grid(rows: Sequence[Sequence[str]], top: float) -> list[Line]:
    """The cells of a table, 40 points apart."""
    return [
        line(cell, 50 + 40 * column, top + 14 * row, 55 + 40 * column + 5 * len(cell))
        for row, cells in enumerate(rows)
        for column, cell in enumerate(cells)
    ]


YEARS = [["FEB", "2015", "2016", "2017"], ["1", "66", "111", "93"], ["2", "114", "95", "88"], ["3", "7", "8", "9"]]


def test_a_header_of_years_is_no_line_of_stretched_text() -> None:
    assert read_pages(grid(YEARS, 100))[0][1].split("\n")[0] == "| FEB | 2015 | 2016 | 2017 |"


def test_lines_that_are_drawn_for_each_cell_part_the_rows() -> None:
    """Beside the table are the lines of a chart, which are farther apart."""
    cells = [(113.0 + 14 * row, 48.0 + 40 * at, 88.0 + 40 * at) for row in range(3) for at in range(4)]
    label = line("Values of the stores in each of the years", 500, 101, 800)
    bars = tuple((48.0 + 40 * at, 95.0, 160.0) for at in range(1, 3))
    rules = Rules(tuple(sorted([*cells, (128.0, 260.0, 800.0)])), bars)
    table = read_pages([*grid(YEARS, 100), label], rules=rules)[0][1]
    assert table.split("\n")[3:] == ["| 2 | 114 | 95 | 88 |  |", "| 3 | 7 | 8 | 9 |  |"]


@READERS
def test_soft_hyphens_within_a_line_are_hyphens(reader: FormatReader) -> None:
    """Some programs write each hyphen and minus sign as one."""
    page = paragraph(50, 700, ["The result is x2 - x1 for each row-wise line of the", "picture that is read."])
    plain = b"/Helvetica /Encoding /WinAnsiEncoding"
    soft = b"/Helvetica /Encoding << /Differences [45 /softhyphen] >>"
    file = build_pdf(PdfFile([page])).replace(plain, soft)
    assert "x2 - x1 for each row-wise line" in reader(io.BytesIO(file), ReadOptions()).text


@pytest.mark.parametrize(
    ("text", "printed"), [("-\xadin", "-in"), ("a \xad b", "a - b"), ("\xad\xadout", "--out"), ("a-b", "a-b")]
)
def test_a_hyphen_and_a_soft_one_in_one_place_are_one(text: str, printed: str) -> None:
    assert pdf_liteparse._shown(text) == printed


@READERS
def test_dashes_and_quotation_marks_are_as_they_are_printed(reader: FormatReader) -> None:
    """In a program they are those of ASCII, which its author wrote."""
    page = paragraph(
        50, 700, ["“A store” – pages 3–5 – is the reader’s: it’s a ‘well-known’ rule — and it", "is no other."]
    )
    page += [Text(50, 600 - 12 * at, "print(‘hello’, “–v”)", mono=True) for at in range(3)]
    text = reader(io.BytesIO(build_pdf(PdfFile([page]))), ReadOptions()).text
    assert text.split("\n\n") == [
        "“A store” – pages 3–5 – is the reader’s: it’s a ‘well-known’ rule — and it is no other.",
        "\n".join(["```", *["print('hello', \"-v\")"] * 3, "```"]),
    ]


def test_cells_are_what_stands_between_two_bars() -> None:
    """A value at the left of its column may lie outside of a header that is centred, and near the cell before."""
    rows = [("Old", "Hit", "New"), ("0 (for each line)", "Line", "1"), ("1", "-", "2")]
    bars = [46, 127, 200, 300]
    lefts = [[60, 150, 240], [50, 129, 203], [50, 129, 203]]
    texts = [
        Text(left, 700 - 20 * row, cell)
        for row, cells in enumerate(rows)
        for left, cell in zip(lefts[row], cells, strict=True)
    ]
    drawn = [Box(46, 714 - 20 * row, 254, 0.5, (0, 0, 0)) for row in range(4)]
    drawn += [Box(x, 654, 0.5, 60, (0, 0, 0)) for x in bars]
    text = pdf_liteparse.read(io.BytesIO(build_pdf(PdfFile([[*texts, *drawn]]))), ReadOptions()).text
    assert text.split("\n") == [
        "| Old | Hit | New |",
        "| --- | --- | --- |",
        "| 0 (for each line) | Line | 1 |",
        "| 1 | - | 2 |",
    ]


def test_text_that_runs_over_the_bars_of_its_cell_stays_whole() -> None:
    """Also beyond the frame of its table; what stands behind the bar that it runs over is the next cell."""
    rows = [
        ("Maker", "Model", "Time", "Manual"),
        ("A", "OEM", "200", "http://www.example.org/manuals/oem.pdf"),
        ("Burkhard", "Step", "6000", "http://www.example.org/manuals/step.pdf"),
        ("C", "Pro", "300", "none"),
    ]
    texts = [
        Text(55 + 50 * column, 700 - 20 * row, cell)
        for row, cells in enumerate(rows)
        for column, cell in enumerate(cells)
    ]
    drawn = [Box(50, 714 - 20 * row, 200, 0.5, (0, 0, 0)) for row in range(5)]
    drawn += [Box(x, 634, 0.5, 80, (0, 0, 0)) for x in (50, 93, 150, 200, 250)]
    text = pdf_liteparse.read(io.BytesIO(build_pdf(PdfFile([[*texts, *drawn]]))), ReadOptions()).text
    assert text.split("\n") == [
        "| Maker | Model | Time | Manual |",
        "| --- | --- | --- | --- |",
        *(f"| {' | '.join(cells)} |" for cells in rows[1:]),
    ]


def test_a_word_that_ends_beyond_the_last_bar_is_one_wherever_the_bars_stand() -> None:
    """Both bars that it runs over are where two of its letters meet."""
    rows = [("Maker", "Manual"), ("A", "oem_manual_of_2026.pdf"), ("B", "none"), ("C", "none")]
    texts = [
        Text(left, 700 - 20 * row, cell, mono=True)
        for row, cells in enumerate(rows)
        for left, cell in zip((60, 152), cells, strict=True)
    ]
    drawn = [Box(50, 714 - 20 * row, 198, 0.5, (0, 0, 0)) for row in range(5)]
    drawn += [Box(x, 634, 0.5, 80, (0, 0, 0)) for x in (50, 146, 199.75, 247.75)]
    text = pdf_liteparse.read(io.BytesIO(build_pdf(PdfFile([[*texts, *drawn]]))), ReadOptions()).text
    assert "| A | oem_manual_of_2026.pdf |" in text.split("\n")


def test_columns_without_bars_of_their_own_are_columns() -> None:
    """Bars stand beside the first column and around the others, rules beside the header and the last row."""
    rows = [
        ["", "one", "line", "grid"],
        *([name, "s", "r", "s"] for name in ("point", "line", "area", "grid")),
    ]
    lines = [piece for at, cells in enumerate(rows) for piece in grid([cells], 100 + 14 * at) if piece.text]
    rules = Rules(
        tuple((y, 46.0, 230.0) for y in (97.0, 112.0, 154.0, 170.0)),
        tuple((x, 97.0, 170.0) for x in (46.0, 86.0, 230.0)),
    )
    assert read_pages(lines, rules=rules)[0][1].split("\n")[2:] == [
        f"| {name} | s | r | s |" for name in ("point", "line", "area", "grid")
    ]


def test_numbers_beside_a_bar_are_below_each_other() -> None:
    """One of them has a single digit, at the right."""
    numbers = [("2", "2.4", "2.3"), ("16", "18.9", "18.8"), ("128", "150.0", "151.5"), ("512", "600.0", "602.5")]
    rights, bars = (100, 160, 220), (104, 164)
    texts = [
        Text(right - 5.56 * len(cell.replace(".", "")) - 2.78 * cell.count("."), 700 - 14 * row, cell)
        for row, cells in enumerate(numbers)
        for right, cell in zip(rights, cells, strict=True)
    ]
    drawn = [Box(x, 650, 0.5, 62, (0, 0, 0)) for x in bars]
    text = pdf_liteparse.read(io.BytesIO(build_pdf(PdfFile([[*texts, *drawn]]))), ReadOptions()).text
    assert [line for line in text.split("\n") if "---" not in line] == [
        f"| {' | '.join(row)} |" for row in numbers
    ]


def test_a_table_of_many_columns_is_not_parted_into_two() -> None:
    """Its gap in the middle is as wide as one between columns of text."""
    notes = "cdefgahijklmnop"
    lefts = (72, 123, 230, 270, 310, 345, 380, 415)
    lines = [
        piece
        for at, note in enumerate(notes)
        for piece in row(
            [(f"{note}{end}", left) for left, end in zip(lefts, "abcdefgh", strict=True)], 100 + 14 * at
        )
    ]
    table = read_pages(lines)[0][1].split("\n")
    assert (len(table), table[0]) == (16, "| ca | cb | cc | cd | ce | cf | cg | ch |")


def test_words_with_even_gaps_that_stand_below_each_other_are_cells() -> None:
    rows = [
        ("sharp", "sostenido", "diesis", "cis"),
        ("flat", "bemol", "bemolle", "ces"),
        ("none", "do", "do", "c"),
    ]
    lines = [
        piece
        for at, cells in enumerate(rows)
        for piece in row(list(zip(cells, (50, 90, 150, 195), strict=True)), 100 + 14 * at)
    ]
    assert read_pages(lines)[0][1].split("\n")[0] == "| sharp | sostenido | diesis | cis |"


def test_an_option_without_a_short_form_is_a_row() -> None:
    rows = [("-c", "–config", "Show it."), ("-y", "–extended", "Enable more."), ("", "–strict", "Enable less.")]
    lines = [
        piece
        for at, cells in enumerate(rows)
        for piece in row([cell for cell in zip(cells, (50, 120, 220), strict=True) if cell[0]], 100 + 14 * at)
    ]
    assert read_pages(lines)[0][1].split("\n")[-2:] == [
        "| -y | –extended | Enable more. |",
        "|  | –strict | Enable less. |",
    ]


def spaced(words: Sequence[tuple[str, float]], top: float) -> Line:
    """A line of one cell; its words by their left edges, letters of five points."""
    held = tuple((text, left, left + 5 * len(text)) for text, left in words)
    return Line(PageBox(held[0][1], top, held[-1][2], top + 10), 10, False, (cell_of(held),))


def test_a_label_that_nearly_fills_its_column_is_a_cell() -> None:
    """Its gap is a little wider than those between words; so is that of the last word in a line of prose."""
    labels = [("no", 50), ("yes", 50), ("nothing", 50), ("else", 50)]
    lines = [
        piece
        for at, (text, left) in enumerate(labels)
        if text != "nothing"
        for piece in row([(text, left), ("a value of it", 90)], 100 + 14 * at)
    ]
    lines.append(spaced([("nothing", 50), ("a", 90), ("value", 98), ("of", 126), ("it", 139)], 128))
    lines.append(spaced([("This", 50), ("is", 74), ("a", 87), ("sentence.", 96)], 220))
    assert read_pages(lines) == [
        (BlockKind.TABLE, table_markdown([[text, "a value of it"] for text, _ in labels])),
        (BlockKind.PARAGRAPH, "This is a sentence."),
    ]


def test_a_word_over_its_bar_and_the_one_behind_the_bar_are_two_cells() -> None:
    rows = [("Maker", "Model", "Time"), ("A", "OEM", "200"), ("Burkhard", "Step", "600"), ("C", "Pro", "300")]
    lines = [
        piece
        for at, cells in enumerate(rows)
        for piece in row(list(zip(cells, (50, 92, 140), strict=True)), 100 + 14 * at)
    ]
    rules = Rules(vertical=tuple((x, 95.0, 160.0) for x in (46.0, 88.0, 136.0, 170.0)))
    assert read_pages(lines, rules=rules)[0][1] == table_markdown(rows)


def test_two_tables_of_signs_and_names_beside_each_other_are_read_apart() -> None:
    """Their signs are set flush right, and so begin at many places."""
    signs = ["a", "abc", "ab", "abcd", "abcde", "a", "ab", "abcd", "abc", "abcde", "ab", "abcdef", "a"]
    names = ["One", "Three", "Another", "Nothing"]
    sides = {
        "l": [(sign, names[at % 4]) for at, sign in enumerate(signs)],
        "r": [(f"{sign}x", f"{names[at % 4]} name that is longer") for at, sign in enumerate(signs)],
    }
    lines = [
        piece
        for side, edge in (("l", 100), ("r", 330))
        for at, (sign, name) in enumerate(sides[side])
        for piece in row([(sign, edge - 5 * len(sign)), (name, edge + 12)], 100 + 14 * at)
    ]
    assert [text for _, text in read_pages(lines)] == [table_markdown(cells) for cells in sides.values()]


def test_a_line_with_few_of_many_cells_goes_on_with_the_full_row_above_it() -> None:
    rows = [[f"{name}{at}" for name in "abcdef"] for at in range(6)]
    texts = [*rows[:3], ["rest", "", "more", "", "", ""], *rows[3:]]
    lines = [
        piece
        for at, cells in enumerate(texts)
        for piece in row([cell for cell in zip(cells, range(50, 350, 50), strict=True) if cell[0]], 100 + 14 * at)
    ]
    whole = ["a2 rest", "b2", "c2 more", *rows[2][3:]]
    assert read_pages(lines)[0][1] == table_markdown([*rows[:2], whole, *rows[3:]])


def _spread(rows: Sequence[Sequence[str]], lefts: Sequence[float], pitch: float = 12) -> list[Line]:
    """Lines of these cells at these places, each of its own width."""
    return [
        piece
        for at, cells in enumerate(rows)
        for piece in row([cell for cell in zip(cells, lefts, strict=True) if cell[0]], 100 + pitch * at)
    ]


def test_lines_whose_words_had_room_above_are_rows_though_they_have_no_first_cell() -> None:
    """A letter stands in the margin of some rows alone."""
    rows = [
        ("A", "always", "one", "says it"),
        ("P", "apply", "one", "puts it on"),
        ("", "avoid", "one", "leaves it"),
        ("R", "red", "two", "colours it"),
        ("", "rest", "two", "waits for it"),
    ]
    assert read_pages(_spread(rows, (50, 80, 200, 300)))[0][1] == table_markdown(rows)


def test_a_name_that_fills_more_than_its_column_begins_the_row_below_it() -> None:
    names = ("open", "open_with_many_arguments(first, second)", "shut", "wait")
    rest = [("", "two", "opens it with them"), (names[2], "one", "shuts it"), (names[3], "one", "waits for it")]
    lines = _spread([(names[0], "one", "opens it"), (names[1], "", ""), *rest], (50, 150, 250), 14)
    rows = [(names[0], "one", "opens it"), (names[1], *rest[0][1:]), *rest[1:]]
    assert read_pages(lines)[0][1] == table_markdown(rows)


def test_a_cell_that_comes_again_below_a_gap_begins_a_row() -> None:
    """The first column has a letter of the alphabet above many rows."""
    rows = [
        ("R", "red", "gen", "colours what is drawn"),
        ("", "rotate_all(angle, centre, scale)", "", ""),
        ("", "", "gen", "turns what is drawn by"),
        ("", "", "", "so many degrees"),
        ("", "round", "cct", "rounds a number"),
        ("", "", "", "to the next one"),
        ("", "rest", "gen", "waits"),
    ]
    expected = [
        rows[0],
        ("", rows[1][1], "gen", "turns what is drawn by so many degrees"),
        ("", "round", "cct", "rounds a number to the next one"),
        rows[6],
    ]
    assert read_pages(_spread(rows, (50, 80, 160, 200)))[0][1] == table_markdown(expected)


def _ruled(rows: Sequence[Sequence[str]], ends: Sequence[int]) -> str:
    """The text of a table of three columns with a rule below each of these rows and above the first one."""
    heights = (97.0, *(108.0 + 12 * end for end in ends))
    rules = Rules(tuple((y, 46.0, 460.0) for y in heights), ())
    return read_pages(_spread(rows, (50, 150, 250)), rules=rules)[0][1]


def test_lines_between_two_rules_are_rows_where_their_words_had_room_above() -> None:
    """The name of a group stands beside its first row alone."""
    rows = [
        ("Files", "open", "opens a file"),
        ("", "shut", "shuts it again"),
        ("", "wait", "waits until another program has it no longer"),
        ("Names", "find", "finds a name"),
        ("", "list", "lists them"),
        ("Other", "stop", "ends it"),
        ("", "help", "says how"),
    ]
    assert _ruled(rows, (2, 4, 6)) == table_markdown(rows)


def test_lines_between_two_rules_are_one_row_where_their_words_had_no_room_above() -> None:
    text = "a text that fills the width of its cell"
    rows = [
        ("Name", "What it takes", "What it does"),
        ("open", "a long name of a", f"{text}, then"),
        ("", "file and a mode", f"{text} to"),
        ("", "", "the end"),
        ("shut", "a name of a file", f"{text}, and"),
        ("", "that is open yet", "ends"),
    ]
    whole = [
        rows[0],
        ("open", "a long name of a file and a mode", f"{text}, then {text} to the end"),
        ("shut", "a name of a file that is open yet", f"{text}, and ends"),
    ]
    assert _ruled(rows, (0, 3, 5)) == table_markdown(whole)


def test_single_cells_between_two_rules_are_rows_where_their_words_had_room_above() -> None:
    rows = [
        ("Display", "Extract", "Modify"),
        ("print", "nobs", "update"),
        ("plot", "vcov", "add"),
        ("", "terms", ""),
    ]
    assert _ruled([*rows, ("", "residuals", "")], (0, 4)) == table_markdown([*rows, ("", "residuals", "")])


def test_a_table_of_long_cells_between_three_rules_is_not_parted_into_columns() -> None:
    """Its cells are as long as lines of prose, and one rule is drawn between its first and its last line."""
    lines = [
        piece
        for at in range(4)
        for piece in (
            line(f"what stands at the left of row {at}", 135, 100 + 12 * at, 290),
            line(f"what stands at the right of row {at}", 304, 100 + 12 * at, 470),
        )
    ]
    rules = Rules(tuple((y, 130.0, 477.0) for y in (96.0, 111.0, 149.0)))
    rows = [(f"what stands at the left of row {at}", f"what stands at the right of row {at}") for at in range(4)]
    assert read_pages(lines, rules=rules)[0][1] == table_markdown(rows)


def test_a_header_of_two_short_lines_above_a_rule_is_one_row() -> None:
    rows = [("Item", "Total", "Kind"), ("", "size", "of it"), ("a", "1", "file"), ("b", "2", "link")]
    header = ("Item", "Total size", "Kind of it")
    assert _ruled(rows, (1, 3)) == table_markdown([header, *rows[2:]])


def _mark(name: str, top: float) -> list[Line]:
    return row([(f"{name}(value)", 50), ("(function)", 440)], top)


def test_the_end_of_a_line_of_prose_above_marks_in_the_margin_is_no_cell() -> None:
    text = "a line of prose that goes on and on to the very end of its column, with the"
    words = text.split()
    pitch = (436.6 + 2.5 - 50) / len(words)
    places = [(word, 50 + pitch * at, 50 + pitch * (at + 1) - 2.5) for at, word in enumerate(words)]
    prose_line = replace(line(text, 50, 150, 490), cells=(cell_of([*places, ("t-th", 440, 490)]),))
    lines = [*_mark("a", 100), *_mark("b", 112), prose_line, line("term of it.", 50, 162, 120)]
    lines += [*_mark("c", 186), *_mark("d", 198)]
    assert f"{text} t-th term of it." in [text for _, text in read_pages(lines)]


def test_a_heading_with_its_number_ends_the_table_above_it() -> None:
    rows = [("name", "kind", "text"), ("one", "file", "opens"), ("two", "file", "shuts"), ("six", "file", "waits")]
    heading = [line("1.5", 50, 160, 70, 15, bold=True), line("Other names", 150, 160, 230, 15, bold=True)]
    blocks = read_pages([*_spread(rows, (50, 150, 250)), *heading, *prose("p", 50, 186, 500, 6)])
    assert [text for _, text in blocks][:2] == [table_markdown(rows), "1.5 Other names"]


def test_numbers_below_numbers_are_a_row_of_their_own() -> None:
    """The name of both rows stands beside the first, and rules part them from the others."""
    rows = [("", "kind", "low", "high"), ("Good", "one", "0.5", "0.6"), ("", "two", "0.4", "0.5")]
    lines = [
        piece
        for at, cells in enumerate(rows)
        for piece in row([cell for cell in zip(cells, (50, 100, 150, 200), strict=True) if cell[0]], 100 + 12 * at)
    ]
    rules = Rules(
        tuple((y, 46.0, 240.0) for y in (97.0, 111.0, 136.0)),
        tuple((x, 97.0, 136.0) for x in (46.0, 96.0, 146.0, 196.0, 240.0)),
    )
    assert read_pages(lines, rules=rules)[0][1] == table_markdown(rows)


def test_a_turned_table_is_read_as_if_its_page_were_turned_back() -> None:
    turned = TurnedText(
        tuple(piece for at in range(4) for piece in row([(f"name{at}", 50), (f"{at}.5", 120)], 100 + 14 * at)),
        NO_RULES,
    )
    upright = (line("Text above it that stands upright.", 50, 60, 300),)
    (page,) = lay_out_pages([DrawnPage(1, 800, upright, turned=turned)])
    assert [block.text for block in page.blocks] == [
        "Text above it that stands upright.",
        table_markdown([[f"name{at}", f"{at}.5"] for at in range(4)]),
    ]


@pytest.mark.parametrize("rotation", [90, 270])
def test_what_is_turned_by_a_quarter_is_upright_after_the_turn(rotation: int) -> None:
    """The page has 600 by 800 points; the second word is read after the first, the rule is between lines."""
    at = {90: [(500, 100), (500, 160), (480, 100)], 270: [(100, 700), (100, 640), (120, 700)]}[rotation]
    items = [
        Piece(text, x, y if rotation == 90 else y - 50, 10, 50, rotation=rotation)
        for text, (x, y) in zip(("first", "second", "below"), at, strict=True)
    ]
    turn = find_turn(items, 600, 800)
    assert turn is not None
    others, turned = part_turned([*items, Piece("7", 300, 780, 6, 10)], turn)
    first, second, below = map(turn.item, turned)
    assert [item.text for item in others] == ["7"]
    assert (first.x, second.x - first.x, second.y - first.y, first.height) == (100, 60, 0, 10)
    assert (below.x - first.x, below.y - first.y) == (0, 20)
    rules = turn.rules(Rules(vertical=((495.0 if rotation == 90 else 115.0, 100.0, 700.0),)))
    assert (rules.horizontal, rules.vertical) == (((first.y + 15, 100.0, 700.0),), ())


def test_a_page_with_a_turned_label_beside_its_text_is_not_turned() -> None:
    items = [Piece("a line of text", 50, 50 + 12 * at, 80, 10) for at in range(5)]
    assert find_turn([*items, Piece("density", 30, 60, 10, 40, rotation=270)], 600, 800) is None


@pytest.mark.parametrize(
    ("text", "height"),
    [("an axe", 4.3), ("above", 6.9), ("Typeset", 8.9), ("ago", 6.3), ("f(x)", 10.0), ("12", 6.5)],
)
def test_the_size_of_a_bitmap_font_is_that_of_its_ink(text: str, height: float) -> None:
    """However high the letters are that a line has, its box is that of a line."""
    ink = PageBox(50, 100, 90, 100 + height)
    assert ink_size(text, height) == pytest.approx(10, abs=0.2)
    box = box_of_line(text, ink, 10)
    assert (box.height, box.top <= ink.top + 0.5, box.bottom >= ink.bottom - 0.1) == (10, True, True)


def test_sizes_near_the_usual_one_are_one() -> None:
    assert join_sizes([(10.8, 60), (11.4, 40), (10.2, 20), (14.3, 9)]) == [10.8, 10.8, 10.8, 14.0]


def test_lines_that_the_parser_took_for_one_item_are_items_of_their_own() -> None:
    words = (Piece("quit", 94, 100, 23, 9), Piece("ends", 178, 100, 25, 9), Piece("cut", 94, 114, 17, 9))
    item = Piece("quit ends cut", 94, 100, 109, 23, words=words)
    assert [(part.text, part.x, part.y, part.height) for part in part_lines(item)] == [
        ("quit ends", 94, 100, 9),
        ("cut", 94, 114, 9),
    ]


def test_the_number_of_a_page_may_be_larger_than_its_text() -> None:
    pages = [[*prose(f"p{at}", 70, 100, 290, 8), line(f"Page {at} / 9", 60, 721, 130, 12)] for at in range(1, 4)]
    assert [text for _, text in read_pages(*pages, has_heads=True) if text.startswith("Page")] == []


def test_a_bullet_is_no_column() -> None:
    rows = [
        [("Menu", 50, 80), ("●", 200, 206), ("Add points", 225, 270)],
        [("●", 200, 206), ("Remove points", 225, 285)],
        [("Window", 50, 90), ("●", 200, 206), ("Close it", 225, 260)],
        [("Picture", 50, 90), ("●", 200, 206), ("Turn it", 225, 260)],
    ]
    lines = [line(text, left, 100 + 14 * at, right) for at, row in enumerate(rows) for text, left, right in row]
    assert read_pages(lines)[0][1].split("\n")[-2:] == ["| Window | ● Close it |", "| Picture | ● Turn it |"]


def row(cells: Sequence[tuple[str, float]], top: float) -> list[Line]:
    """The cells of a line by their left edges, letters of five points."""
    return [line(text, left, top, left + 5 * len(text)) for text, left in cells]


def test_a_cell_in_the_middle_of_its_row_is_beside_the_lines_above_and_below_it() -> None:
    lines = [
        *row([("Name", 50), ("What it does", 150)], 100),
        *row([("A store of", 150)], 112),
        *row([("store", 50), ("names that", 150)], 124),
        *row([("were read.", 150)], 136),
        *row([("Opens a file", 150)], 148),
        *row([("open", 50)], 154),
        *row([("to read it.", 150)], 160),
        *row([("close", 50), ("Closes it.", 150)], 172),
    ]
    assert read_pages(lines)[0][1].split("\n") == [
        "| Name | What it does |",
        "| --- | --- |",
        "| store | A store of names that were read. |",
        "| open | Opens a file to read it. |",
        "| close | Closes it. |",
    ]


def test_a_cell_at_the_top_of_its_row_goes_on_below_it() -> None:
    lines = [
        *row([("Name", 50), ("What it does", 150)], 100),
        *row([("store", 50), ("A store of names", 150)], 112),
        *row([("that were read.", 150)], 124),
        *row([("open", 50), ("Opens a file", 150)], 136),
        *row([("to read it.", 150)], 148),
    ]
    assert read_pages(lines)[0][1].split("\n")[2:] == [
        "| store | A store of names that were read. |",
        "| open | Opens a file to read it. |",
    ]


def test_each_alternative_of_a_grammar_is_a_row() -> None:
    lines = [
        *row([("lists", 50), ("::=", 150), ("[ item ]", 190)], 100),
        *row([("item", 50), ("::=", 150), ("name", 190)], 112),
        *row([("|", 155), ("name ( list )", 190)], 124),
        *row([("|", 155), ("name *", 190)], 136),
    ]
    assert read_pages(lines)[0][1].split("\n")[2:] == [
        "| item | ::= | name |",
        "|  | \\| | name ( list ) |",
        "|  | \\| | name * |",
    ]


def test_a_ruled_table_over_both_columns_of_its_page_is_one_table() -> None:
    """Few of its rows have a cell that crosses the gutter."""
    rows = [
        ("Step", "Kinetic", "Rest"),
        ("10", "2.4", "7"),
        ("20", "2.5", "8"),
        ("a step over the gutter", "", ""),
    ]
    rows += [("30", "2.6", "9"), ("40", "2.7", "1")]
    lefts, tops = (60, 250, 420), [100 + 14 * at for at in range(len(rows))]
    cells = [
        line(cell, left, top, left + 5 * len(cell) + 100 * (len(cell) > 10))
        for cells, top in zip(rows, tops, strict=True)
        for cell, left in zip(cells, lefts, strict=True)
        if cell
    ]
    rules = Rules(
        tuple((top - 2.0, 50.0, 550.0) for top in (*tops, tops[-1] + 14)),
        tuple((x, 98.0, tops[-1] + 12.0) for x in (50.0, 240.0, 410.0, 550.0)),
    )
    lines = [*cells, *prose("l", 50, 210, 290, 12), *prose("r", 310, 210, 550, 12)]
    blocks = read_pages(lines, rules=rules)
    assert blocks[0][1].split("\n") == [
        "| Step | Kinetic | Rest |",
        "| --- | --- | --- |",
        "| 10 | 2.4 | 7 |",
        "| 20 | 2.5 | 8 |",
        "| a step over the gutter |  |  |",
        "| 30 | 2.6 | 9 |",
        "| 40 | 2.7 | 1 |",
    ]
    assert words(blocks[1:]) == ["l0", "r0"]


def test_cells_with_powers_are_parted_at_bars() -> None:
    """The parser makes one formula of a power and of the numbers behind it."""
    rows = [("Step", "Value", "Rest"), ("5 \u00b7 10", "2.4012", "-21"), ("2 \u00b7 10", "2.3895", "-22")]
    texts = [
        Text(left, 700 - 20 * row, cell)
        for row, cells in enumerate(rows)
        for left, cell in zip((54, 92, 126), cells, strict=True)
    ]
    powers = [WithMinus(76.2, 703.6 - 20 * row, "", "3", 7) for row in (1, 2)]
    drawn = [Box(50, 714 - 20 * row, 105, 0.5, (0, 0, 0)) for row in range(4)]
    drawn += [Box(x, 654, 0.5, 60, (0, 0, 0)) for x in (50, 90, 124, 155)]
    text = pdf_liteparse.read(io.BytesIO(build_pdf(PdfFile([[*texts, *powers, *drawn]]))), ReadOptions()).text
    assert text.split("\n") == [
        "| Step | Value | Rest |",
        "| --- | --- | --- |",
        "| 5 · 10⁻³ | 2.4012 | -21 |",
        "| 2 · 10⁻³ | 2.3895 | -22 |",
    ]


def test_a_table_of_three_columns_may_have_many_lines_in_its_last_cells() -> None:
    lines = [
        piece
        for at in range(3)
        for piece in (
            *row([(f"name{at}", 50), ("cct", 150), (f"what {at} is, which", 200)], 100 + 60 * at),
            *(line(f"goes on in {way}", 200, 100 + 60 * at + 12 * way, 290) for way in range(1, 5)),
        )
    ]
    assert read_pages(lines)[0][1].split("\n")[:3] == [
        "| name0 | cct | what 0 is, which goes on in 1 goes on in 2 goes on in 3 goes on in 4 |",
        "| --- | --- | --- |",
        "| name1 | cct | what 1 is, which goes on in 1 goes on in 2 goes on in 3 goes on in 4 |",
    ]


def test_titles_with_their_pages_are_lines_of_contents_and_no_table() -> None:
    titles = ["First steps", "How to store a name which", "was read before", "How to open", "Questions", "Index"]
    numbers, pages = ["1", "1.1", "", "1.2", "2", ""], ["1", "", "2", "4", "9", "12"]
    lines = [
        piece
        for at, (number, title, page) in enumerate(zip(numbers, titles, pages, strict=True))
        for piece in row([cell for cell in [(number, 50), (title, 80), (page, 400)] if cell[0]], 100 + 12 * at)
    ]
    lines = [
        replace(piece, box=replace(piece.box, right=410)) if piece.box.left == 400 else piece for piece in lines
    ]
    assert read_pages(lines) == [
        (
            BlockKind.ROWS,
            "1 First steps 1\n1.1 How to store a name which\nwas read before 2\n1.2 How to open 4\n"
            "2 Questions 9\nIndex 12",
        )
    ]


def test_declarations_with_the_same_word_at_their_right_are_no_table() -> None:
    lines = [
        piece
        for at, name in enumerate(["(open-port port)", "(close-port port)", "(read-line port)"])
        for piece in row([(name, 50), ("procedure", 400)], 100 + 12 * at)
    ]
    assert [kind for kind, _ in read_pages(lines)] == [BlockKind.ROWS]


def test_words_that_are_stretched_to_the_width_of_a_cell_are_one_cell() -> None:
    lines = [
        *row([("delay", 50), ("The time between two calls, in seconds", 150)], 100),
        *row([("limit", 50), ("The most names that are kept in it", 150)], 112),
        *row([("safe", 50), ("Whether", 150), ("each", 200), ("line", 240), ("is", 280), ("read", 310)], 124),
        *row([("again.", 150)], 136),
    ]
    assert read_pages(lines)[0][1].split("\n")[-1] == "| safe | Whether each line is read again. |"


def test_gaps_between_groups_of_rows_do_not_join_the_rows_of_a_group() -> None:
    names = ["first", "pair", "list", "rest", "many", "last", "none"]
    tops = [100, 112, 124, 150, 162, 188, 200]
    lines = [
        piece
        for at, (name, top) in enumerate(zip(names, tops, strict=True))
        for piece in row([(name, 50), ("one value", 150), *([("(also x)", 250)] if at % 3 == 0 else [])], top)
    ]
    table = read_pages(lines)[0][1].split("\n")
    assert [cells.split(" | ")[0] for cells in table[:1] + table[2:]] == [f"| {name}" for name in names]


def test_a_table_of_names_values_and_long_texts_is_not_parted_into_columns() -> None:
    lines = [
        piece
        for at in range(14)
        for piece in row(
            [
                (f"name{chr(97 + at)}", 50),
                (f"value{chr(97 + at)}", 130),
                (f"what the {chr(97 + at)} name says", 250),
            ],
            100 + 24 * at,
        )
    ]
    table = read_pages(lines)[0][1].split("\n")
    assert table[0] == "| namea | valuea | what the a name says |"
    assert len(table) == 15


def test_a_row_in_a_frame_is_a_table_and_the_text_above_it_is_none() -> None:
    """As Doxygen has its parameters; a coloured box behind words has no bars between them."""
    texts = [
        Text(50, 724, "void store(name)"),
        Text(150, 724, "Stores a name."),
        Text(50, 712, "Parameters"),
        Text(60, 695, "name"),
        Text(110, 695, "The name that is stored."),
        Text(50, 675, "Returns nothing."),
    ]
    drawn = [Box(46, y, 254, 0.5, (0, 0, 0)) for y in (690, 705)]
    drawn += [Box(x, 690, 0.5, 15, (0, 0, 0)) for x in (46, 100, 300)]
    text = pdf_liteparse.read(io.BytesIO(build_pdf(PdfFile([[*texts, *drawn]]))), ReadOptions()).text
    assert text.split("\n\n")[-2:] == [
        "| name | The name that is stored. |\n| --- | --- |",
        "Returns nothing.",
    ]


def test_a_row_between_bars_begins_with_the_line_that_is_highest() -> None:
    """Its name is set in its middle, in letters of one width, which are no program there."""
    lines = [
        *row([("Property", 50), ("Meaning", 150)], 100),
        *row([("Should it be drawn at all?", 150)], 120),
        line("visible", 50, 126, 85, 8, mono=True),
        *row([("Sometimes it is not.", 150)], 132),
        *row([("width", 50), ("Its width", 150)], 150),
    ]
    rules = Rules(
        tuple((y, 46.0, 300.0) for y in (97.0, 115.0, 146.0, 164.0)),
        tuple((x, 97.0, 164.0) for x in (46.0, 140.0, 300.0)),
    )
    assert read_pages(lines, rules=rules)[0][1].split("\n") == [
        "| Property | Meaning |",
        "| --- | --- |",
        "| visible | Should it be drawn at all? Sometimes it is not. |",
        "| width | Its width |",
    ]


def test_a_rule_below_the_header_alone_does_not_make_one_row_of_the_others() -> None:
    names = ["asin(x)", "acos(x)", "atan(x)", "sinh(x)", "cosh(x)", "tanh(x)"]
    lines = [
        *row([("Function", 50), ("Returns", 150)], 100),
        *(piece for at, name in enumerate(names) for piece in row([(name, 50), ("a value", 150)], 114 + 12 * at)),
    ]
    rules = Rules(
        tuple((y, 46.0, 300.0) for y in (97.0, 112.0, 188.0)),
        tuple((x, 97.0, 188.0) for x in (46.0, 140.0, 300.0)),
    )
    table = read_pages(lines, rules=rules)[0][1].split("\n")
    assert table[2:] == [f"| {name} | a value |" for name in names]


def test_a_table_with_bars_between_its_columns_alone_ends_where_its_rules_do() -> None:
    rows = [
        ("name", "size", "kind", "what it is"),
        ("first", "120", "program", "a text that fills"),
        ("", "", "", "its whole cell"),
        ("second", "7", "file", "a short one"),
    ]
    rules = Rules(
        tuple((y, 46.0, 400.0) for y in (97.0, 110.0, 134.0, 147.0)),
        tuple((x, 97.0, 147.0) for x in (110.0, 160.0, 220.0)),
    )
    whole = [rows[0], ("first", "120", "program", "a text that fills its whole cell"), rows[3]]
    assert read_pages(_spread(rows, (50, 115, 165, 225)), rules=rules)[0][1] == table_markdown(whole)


def test_a_row_between_rules_goes_on_though_its_lines_are_farther_apart_than_those_of_others() -> None:
    """Numbers in the middle of their rows stand between the lines of the texts beside them."""
    lines = [
        *row([("Version", 50), ("Since", 130), ("Change", 220)], 100),
        *row([("Lists clients, and", 220)], 115),
        *row([("1.2", 50), ("2.6.4", 130)], 121),
        *row([("asks for versions", 220)], 127),
        *row([("1.3", 50), ("2.8.0", 130), ("Follows what", 220)], 142),
        *row([("was asked for", 220)], 154),
    ]
    rules = Rules(tuple((y, 46.0, 320.0) for y in (97.0, 112.0, 139.0, 166.0)), ())
    rows = [
        ("Version", "Since", "Change"),
        ("1.2", "2.6.4", "Lists clients, and asks for versions"),
        ("1.3", "2.8.0", "Follows what was asked for"),
    ]
    assert read_pages(lines, rules=rules)[0][1] == table_markdown(rows)


def test_a_name_that_fills_its_column_ends_where_the_next_one_begins() -> None:
    name = cell_of([("name.of.many.parts", 50, 139), ("true,", 142, 167), ("false", 170, 195)])
    joined = Line(PageBox(50, 136, 195, 146), 10, False, (name, Cell("what it does", 250, 310)))
    lines = [
        *row([("Name", 50), ("Values", 142), ("Meaning", 250)], 100),
        *row([("one", 50), ("yes, no", 142), ("what it says", 250)], 112),
        *row([("two", 50), ("yes, no", 142), ("what it has", 250)], 124),
        joined,
    ]
    assert read_pages(lines)[0][1].split("\n")[-1] == "| name.of.many.parts | true, false | what it does |"


# --- lists of descriptions


def line_of(cells: Sequence[tuple[str, float]], top: float, *, is_mono: bool = False) -> Line:
    """A line of these cells by their left edges, letters of five points."""
    made = tuple(Cell(text, left, left + 5 * len(text)) for text, left in cells)
    return Line(PageBox(made[0].left, top, made[-1].right, top + 10), 10, False, made, is_mono)


EXPLAINED = "a text that explains it at such a length that it fills its whole column"


def _described(term: str, top: float, *, count: int = 2, left: float = 50, indent: float = 110) -> list[Line]:
    """A term, and its explanation of so many lines, the last of which is short."""
    lines = [piece for at in range(count - 1) for piece in row([(EXPLAINED, indent)], top + 12 * at)]
    return [*row([(term, left)], top), *lines, *row([("in short.", indent)], top + 12 * (count - 1))]


def test_a_term_and_the_lines_of_its_explanation_are_a_row() -> None:
    names = ("--one", "--two", "--three")
    lines = [
        line("Prose that stands above the list and is as wide as its column with all its words.", 50, 60, 465),
        *(piece for at, name in enumerate(names) for piece in _described(name, 100 + 66 * at, count=5)),
    ]
    text = " ".join([EXPLAINED] * 4)
    assert read_pages(lines)[1:] == [
        (BlockKind.TABLE, table_markdown([(name, f"{text} in short.") for name in names]))
    ]


def test_a_term_that_is_too_long_for_its_column_stands_above_its_explanation() -> None:
    lines = [
        line("Prose that stands above the list and is as wide as its column with all its words.", 50, 60, 465),
        *_described("--one", 100),
        line("--a-long-name FILE", 50, 134, 140, mono=True),
        *row([(EXPLAINED, 110)], 146),
        *_described("--two", 168),
    ]
    rows = [
        ("--one", f"{EXPLAINED} in short."),
        ("--a-long-name FILE", EXPLAINED),
        ("--two", f"{EXPLAINED} in short."),
    ]
    assert read_pages(lines)[1:] == [(BlockKind.TABLE, table_markdown(rows))]


def test_the_second_line_of_a_term_goes_on_with_it() -> None:
    lines = [
        line("Prose that stands above the list and is as wide as its column with all its words.", 50, 60, 465),
        *_described("--one", 100, count=5),
        *row([("SHUT IT", 50), (EXPLAINED, 110)], 166),
        *row([("DOWN", 50), ("in short.", 110)], 178),
        *_described("--two", 196, count=5),
    ]
    long = " ".join([EXPLAINED] * 4)
    rows = [
        ("--one", f"{long} in short."),
        ("SHUT IT DOWN", f"{EXPLAINED} in short."),
        ("--two", f"{long} in short."),
    ]
    assert read_pages(lines)[1:] == [(BlockKind.TABLE, table_markdown(rows))]


def test_a_long_term_without_an_explanation_that_is_one_text_is_no_part_of_a_list() -> None:
    names = ("--one", "--two", "--six")
    lines = [
        line("Prose that stands above the list and is as wide as its column with all its words.", 50, 60, 465),
        *(piece for at, name in enumerate(names) for piece in _described(name, 100 + 34 * at)),
        line("--a-long-name FILE", 50, 202, 140, mono=True),
        *row([("two cells", 110), ("far apart", 300)], 214),
    ]
    rows = [(name, f"{EXPLAINED} in short.") for name in names]
    assert [text for _, text in read_pages(lines)[1:]] == [
        table_markdown(rows),
        "--a-long-name FILE",
        "two cells far apart",
    ]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["term", "long term", "beside", "rest", "far", "blank"]),
            st.sampled_from([-4.0, 0.0, 12.0, 24.0, 40.0]),
        ),
        max_size=6,
    )
)
def test_no_letter_is_lost_or_added_whatever_stands_below_a_term(kinds: Sequence[tuple[str, float]]) -> None:
    cells = {
        "term": [("--name", 50.0)],
        "long term": [("--a-name-over-its-column", 50.0)],
        "beside": [("name", 50.0), ("what it says", 110.0)],
        "rest": [("goes on", 110.0)],
        "far": [("here", 110.0), ("and there", 300.0)],
        "blank": [(" ", 50.0), ("said", 110.0)],
    }
    kinds = [*[("beside", 12.0), ("rest", 12.0)] * 3, *kinds]  # a list that goes on somehow
    tops = accumulate((distance for _, distance in kinds), initial=100.0)
    lines = [
        line_of(cells[kind], top, is_mono=kind == "long term") for (kind, _), top in zip(kinds, tops, strict=False)
    ]
    for start in range(len(lines)):
        found = find_descriptions(lines, start)
        if found is not None:
            taken = "".join(text for line in lines[start : start + found.lines] for text in line.text)
            assert sorted(filter(str.isalpha, found.blocks[0].text)) == sorted(filter(str.isalpha, taken))


def test_names_in_the_margin_of_prose_are_no_list_of_descriptions() -> None:
    """The text goes on between them in paragraphs of its own, and none begins where they do."""
    lines = [
        piece
        for at, name in enumerate(("store", "fetch", "close"))
        for piece in (*_described(name, 100 + 80 * at, count=3), *row([(EXPLAINED, 110)], 144 + 80 * at))
    ]
    assert BlockKind.TABLE not in {kind for kind, _ in read_pages(lines)}


@pytest.mark.parametrize("names", [("1.", "2.", "3."), ("[1]", "[2]", "[3]"), ("•", "•", "•")])
def test_items_and_works_are_no_descriptions(names: Sequence[str]) -> None:
    lines = [
        line("Prose that stands above the list and is as wide as its column with all its words.", 50, 60, 465),
        *(piece for at, name in enumerate(names) for piece in _described(name, 100 + 66 * at, count=5, indent=80)),
    ]
    assert BlockKind.TABLE not in {kind for kind, _ in read_pages(lines)}


# --- notes in the margin


def test_notes_in_the_margin_stand_beside_a_program_that_is_wider_than_the_text() -> None:
    lines = [
        *prose("l", 70, 100, 300, 8),
        *(
            line(f"x{at} = [1, 2, 3]  # a list that is wider", 70, 220 + 8 * at, 380, 7, mono=True)
            for at in range(30)
        ),
        *prose("m", 70, 480, 300, 8),
        *(line(f"note{at} of it", 330, 100 + 10 * at, 400, 8) for at in range(3)),
    ]
    assert words(read_pages(lines)) == ["l0", "x0", "m0", "note0"]


# --- programs


@pytest.mark.parametrize(
    "font", ["SFST0800", "ABCDEF+SFIT1000", "Monaco", "CMSLTT10", "t1xtt", "ABCDEF+t1xbtt", "tcxtt", "txbtt"]
)
def test_fonts_of_one_width_are_known_by_their_names(font: str) -> None:
    assert pdf_liteparse._is_mono([("data(dune)", 50, 92)], font, 8)


def test_words_of_a_program_that_touch_have_no_space_between_them() -> None:
    parts = [('setMethod("', 104.0, 173.0), ('.value"', 172.9, 216.0), (",", 216.0, 222.2), ("x)", 228.5, 241.0)]
    assert [text for text, _, _ in pdf_liteparse.join_touching(parts, 1.5)] == ['setMethod(".value",', "x)"]


# --- text that liteparse lost


def test_the_box_of_a_root_is_as_high_as_what_is_printed_within_its_sides() -> None:
    stated = PageBox(130.5, 133.2, 151.1, 145.2)
    sign, letter = PageBox(131.4, 124.7, 140.7, 136.6), PageBox(141.0, 127.1, 150.7, 135.3)
    below, beside = PageBox(111.3, 141.2, 498.8, 152.0), PageBox(154.8, 126.8, 187.7, 135.4)
    assert box_of_runs(stated, [sign, letter, below, beside]) == PageBox(130.5, 124.7, 151.1, 136.6)
    assert box_of_runs(stated, [below, beside]) == stated


def test_text_that_the_first_reader_lost_is_found_but_no_page_number() -> None:
    page = [
        Text(50, 700, "•"),
        Text(60, 700, "In islands this is the kind of value"),
        Text(50, 688, "that is usual, z = 3"),
        Text(290, 25, "12"),
    ]
    opened = open_pdf(io.BytesIO(build_pdf(PdfFile([page]))), ReadOptions())
    lost = LostText(opened, opened.data)
    try:
        found = lost.find(1, [line("In islands this is the kind of value", 60, 132, 230)], has_hidden=False)
        hidden = lost.find(1, [line("In islands this is the kind of value", 60, 132, 230)], has_hidden=True)
    finally:
        lost.close()
        opened.close()
    assert ([each.text for each in found], [each.text for each in hidden]) == (
        ["•", "that is usual, z = 3"],
        ["•"],
    )


def test_a_table_with_a_frame_is_parted_from_the_chart_and_the_notes_beside_it() -> None:
    """Its last rows, below the frame, are rows of their own."""
    names = ["Day", "1", "2", "3", "4", "Max", "Min"]
    rows = [
        line(text, 20 + 40 * column, 100 + 12 * row, 35 + 40 * column)
        for row, name in enumerate(names)
        for column, text in enumerate((name, f"{20 + row}", f"{30 + row}"))
    ]
    chart = [line(f"{140 - 20 * place}", 266, 103 + 15 * place, 280) for place in range(5)]
    rules = Rules(
        tuple((98.0 + 12 * row, 18.0, 140.0) for row in range(6)),
        tuple((x, 98.0, 158.0) for x in (18.0, 58.0, 98.0, 140.0)),
    )
    table, *others = read_pages([*rows, *chart], rules=rules)
    assert table[1].split("\n")[2:] == [f"| {name} | {21 + at} | {31 + at} |" for at, name in enumerate(names[1:])]
    assert " ".join(text for _, text in others) == "140 120 100 80 60"
