"""Tables on the pages of a PDF, and what only looks like them: formulas, names in the margin, programs."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from tests.pdf_files import Box, PdfFile, Text, build_pdf
from tests.unit.test_pdf_layout import line, prose, read_pages
from winnow.server.readers.formats import pdf_liteparse
from winnow.server.readers.formats.parsed_file import ReadOptions
from winnow.server.readers.pdf.layout import NO_RULES, BlockKind, Rules
from winnow.server.readers.pdf.layout import Box as PageBox
from winnow.server.readers.pdf.lines import Cell, Line, cell_of
from winnow.server.readers.pdf_characters.torn_words import HYPHEN
from winnow.server.readers.pdf_tables.aligned_cells import join_typed
from winnow.server.readers.pdf_tables.margin_names import join_margin_names
from winnow.server.readers.pdf_tables.rows import join_cells
from winnow.server.readers.pdf_tables.tables import table_markdown

pytestmark = pytest.mark.both_users

BLACK = (0.0, 0.0, 0.0)
TEXT = "a line of text that goes on to the edge of its column"


def cells(parts: Sequence[tuple[str, float]], top: float, *, size: float = 10, mono: bool = False) -> list[Line]:
    """The cells of a line by their left edges, letters of half a size."""
    return [line(text, left, top, left + size / 2 * len(text), size, mono=mono) for text, left in parts]


def kinds(blocks: Sequence[tuple[BlockKind, str]]) -> list[BlockKind]:
    return [kind for kind, _ in blocks]


def tables(lines: Sequence[Line], rules: Rules = NO_RULES) -> list[str]:
    return [text for kind, text in read_pages(lines, rules=rules) if kind is BlockKind.TABLE]


# --- what is no table


def margin_page(top: float) -> list[Line]:
    """Text at 150 points, with the names of three commands beside the first lines of a paragraph."""
    text = [line(f"Line {at} is {TEXT}", 150, top + 12 * at, 450) for at in range(8)]
    names = [
        line(name, 130 - 6 * len(name), top + 12 * at, 130) for at, name in enumerate(("open", "shut", "read"))
    ]
    return [*text[:7], line("The last one ends.", 150, top + 84, 240), *names]


def test_names_in_the_margin_stand_before_their_paragraph_and_are_no_column() -> None:
    plain = [line(f"Line {at} is {TEXT}", 150, 100 + 12 * at, 450) for at in range(40)]
    blocks = read_pages(plain, margin_page(100))
    paragraph = blocks[-1][1]
    assert (BlockKind.TABLE in kinds(blocks), paragraph[:25]) == (False, "open shut read Line 0 is ")


def test_a_text_has_no_names_without_number_in_its_margin() -> None:
    names = [piece for at in range(100) for piece in cells([(f"n{at}", 50)], 112 + 12 * at)]
    text = cells([("open", 50), (TEXT, 150)], 100)
    first, *_ = join_margin_names(
        [replace(text[1], cells=(text[0].cells[0], text[1].cells[0])), *names], 150, NO_RULES
    )
    assert first.text.split(" a line")[0].split()[-1] == "n58"


def test_names_in_the_margin_beside_a_program_are_a_line_above_it() -> None:
    plain = [line(f"Line {at} is {TEXT}", 150, 100 + 12 * at, 450) for at in range(40)]
    program = [
        Line(
            PageBox(150, 100 + 12 * at, 330, 110 + 12 * at), 10, False, (Cell(f"let a{at} be b", 150, 330),), True
        )
        for at in range(3)
    ]
    names = [line(name, 100, 100 + 12 * at, 124, mono=True) for at, name in enumerate(("open", "shut"))]
    blocks = read_pages(plain, [*program, *names])
    assert [text.split() for text in blocks[-1][1].split("\n")] == [
        ["open", "shut"],
        *(["let", f"a{at}", "be", "b"] for at in range(3)),
    ]


@pytest.mark.parametrize("mark", ["[1]", "1.", "12"])
def test_marks_of_items_and_numbers_of_lines_are_no_names_in_the_margin(mark: str) -> None:
    beside = [
        replace(piece, cells=(Cell(mark, 120, 132), *piece.cells))
        for piece in (line(f"Work {at} is {TEXT}", 150, 100 + 30 * at, 450) for at in range(3))
    ]
    assert list(join_margin_names(beside, 150.0, NO_RULES)) == beside


def test_a_formula_with_its_number_is_lines_and_does_not_part_their_order() -> None:
    lines = [
        line(f"Text that goes before the formula, which is {TEXT}", 50, 100, 450),
        *cells([("x", 120), ("=", 150), ("sin t", 180), ("(4)", 430)], 120),
        *cells([("y", 120), ("=", 150), ("cos t", 180), ("(5)", 430)], 140),
        line("where t is the time, which goes on after it.", 50, 160, 300),
    ]
    assert [(kind, text.split()[0]) for kind, text in read_pages(lines)] == [
        (BlockKind.PARAGRAPH, "Text"),
        (BlockKind.ROWS, "x"),
        (BlockKind.PARAGRAPH, "where"),
    ]


def test_a_heading_with_its_number_ends_a_table_also_without_a_dot() -> None:
    lines = [
        *cells([("one", 50), ("first", 150), ("a", 250)], 100),
        *cells([("two", 50), ("second", 150), ("b", 250)], 114),
        *cells([("3", 50), ("Usage of it", 150)], 136, size=14),
    ]
    assert "Usage" not in tables(lines)[0]


def test_a_bold_heading_parts_a_table_whose_parts_may_have_one_row() -> None:
    names = ("Save it", "Find it", "Print it", "Close it", "Open it")
    rows = [cells([(name, 50), (f"C-c C-{name[0]}", 200)], 100 + 14 * at) for at, name in enumerate(names)]
    heading = line("Other files", 50, 120, 120, 14, bold=True)
    below = [[replace(cell, box=replace(cell.box, top=cell.box.top + 26)) for cell in row] for row in rows[1:]]
    below = [[replace(cell, box=replace(cell.box, bottom=cell.box.top + 10)) for cell in row] for row in below]
    blocks = read_pages([*rows[0], heading, *(cell for row in below for cell in row)])
    assert [(kind, text.count("C-c")) for kind, text in blocks] == [
        (BlockKind.TABLE, 1),
        (BlockKind.HEADING, 0),
        (BlockKind.TABLE, 4),
    ]


def test_a_heading_with_its_number_below_a_table_with_bars_is_no_row() -> None:
    rows = [cells([("Bytes", 260), ("1", 320)], 100), cells([("Value", 260), ("tag", 320)], 114)]
    bars = tuple((x, 98.0, 126.0) for x in (255.0, 310.0, 340.0))
    rules = Rules(tuple((y, 255.0, 340.0) for y in (98.0, 112.0, 126.0)), bars)
    heading = cells([("4.4", 50), ("Architecture", 90)], 140, size=14)
    text = prose("text", 50, 170, 450, 4)
    blocks = read_pages([*(cell for row in rows for cell in row), *heading, *text], rules=rules)
    assert kinds(blocks)[:2] == [BlockKind.TABLE, BlockKind.HEADING]


def test_columns_of_a_program_that_are_made_by_blanks_are_one_program() -> None:
    def row(at: int, top: float) -> list[Line]:
        parts = [(f"[{at}] first_1.0.{at}", 50.0), (f"second_2.{at}", 190.0), (f"third_3.{at}", 320.0)]
        return cells(parts, top, mono=True)

    rows = [row(at, 100 + 12 * at) for at in range(15)]
    blocks = read_pages([cell for cells in rows for cell in cells], prose("text", 50, 100, 450, 30))
    assert (blocks[0][0], blocks[0][1].split("\n")[0].split()) == (
        BlockKind.LINES,
        ["[0]", "first_1.0.0", "second_2.0", "third_3.0"],
    )


def test_two_programs_beside_each_other_are_not_one() -> None:
    """Their letters are no whole number of letters apart."""
    names = [("first" if at % 3 else "first_name_of_it(alpha, beta, gamma)", 100 + 12 * at) for at in range(15)]
    rows = [cells([(name, 50), (name.replace("first", "second"), 252)], top, mono=True) for name, top in names]
    blocks = read_pages([cell for row in rows for cell in row], prose("text", 50, 100, 450, 30))
    assert [(kind, text.partition("_")[0]) for kind, text in blocks[:2]] == [
        (BlockKind.LINES, "first"),
        (BlockKind.LINES, "second"),
    ]


def test_a_word_that_is_divided_in_a_cell_is_whole() -> None:
    assert join_cells(f"algorithm for send{HYPHEN}", "ing messages") == f"algorithm for send{HYPHEN}ing messages"


def test_items_before_which_a_sign_without_a_name_stands_are_no_table() -> None:
    lines = [
        piece
        for at in range(4)
        for piece in cells(
            [
                ("\x11", 50),
                (f"item {at} of a list", 70),
            ],
            100 + 14 * at,
        )
    ]
    assert tables(lines) == []


def test_text_above_an_indented_program_is_not_parted_where_the_program_has_columns() -> None:
    words = (("where", 50.0, 75.0), ("names", 80.0, 105.0), ("have", 110.0, 130.0), ("forms", 150.0, 175.0))
    above = Line(PageBox(50, 100, 175, 110), 10, False, (cell_of(words),))
    program = [
        piece
        for at in range(3)
        for piece in cells([("name", 90), (f"# comment {at}", 150)], 120 + 12 * at, mono=True)
    ]
    assert read_pages([above, *program])[0] == (BlockKind.PARAGRAPH, "where names have forms")


def test_a_numbered_line_of_a_program_in_another_font_belongs_to_it() -> None:
    """An accent or a comment may be in letters of other widths."""
    lines = [
        *cells([("1", 50), ("by a person", 70)], 100),
        *(piece for at in (2, 3) for piece in cells([(str(at), 50), ("let it be", 70)], 88 + 12 * at, mono=True)),
        *cells([("4", 50), ("}", 70)], 136),
    ]
    ((kind, text),) = read_pages([*prose("p", 50, 20, 450, 3), *lines])[-1:]
    assert (kind, [row.split()[0] for row in text.split("\n")]) == (BlockKind.LINES, ["1", "2", "3", "4"])


def test_text_whose_lines_are_numbered_in_letters_of_one_width_is_no_program() -> None:
    """The numbers of empty lines stand alone, as in a draft."""
    numbers = [piece for at in range(1, 9) for piece in cells([(str(at), 30)], 88 + 12 * at, mono=True)]
    texts = [piece for at in range(3, 9) for piece in cells([(f"{TEXT} {at}", 60)], 88 + 12 * at)]
    found = "\n".join(text for kind, text in read_pages([*numbers, *texts]) if kind is BlockKind.LINES)
    assert TEXT not in found


# --- rows


def test_the_values_in_brackets_below_a_name_go_on_with_it() -> None:
    lines = [
        *cells([("Width:", 50), ("200", 180)], 100),
        *cells([("Format:", 50), ("2", 180)], 114),
        *cells([("(1/2/3)", 50)], 128),
        *cells([("Mode:", 50), ("0", 180)], 142),
        *cells([("(yes=1/no=0)", 50)], 156),
    ]
    rows = [("Width:", "200"), ("Format: (1/2/3)", "2"), ("Mode: (yes=1/no=0)", "0")]
    assert tables(lines) == [table_markdown(rows)]


def framed(heights: Sequence[float], bars: Sequence[float], *, per_cell: bool = False) -> Rules:
    """Rules at these heights from the first to the last bar, over all cells or one for each."""
    spans = list(pairwise(bars)) if per_cell else [(bars[0], bars[-1])]
    return Rules(tuple(sorted((y, left, right) for y in heights for left, right in spans)), ())


def test_an_underline_that_is_drawn_twice_does_not_part_a_row() -> None:
    lines = [
        *cells([("encode", 50), ("says whether it is", 150)], 100),
        *cells([("to be encoded", 150)], 112),
        *cells([("input", 50), ("names a file", 150)], 130),
    ]
    bars = tuple((x, 96.0, 144.0) for x in (46.0, 146.0, 446.0))
    frame = framed((96, 126, 144), (46, 146, 446)).horizontal
    rules = Rules(tuple(sorted([*frame, (110.6, 160, 182), (111.0, 160, 182)])), bars)
    rows = [("encode", "says whether it is to be encoded"), ("input", "names a file")]
    assert tables(lines, rules) == [table_markdown(rows)]


def test_a_title_over_all_columns_of_a_frame_is_a_row() -> None:
    lines = [
        *cells([("Numbers", 50)], 100),
        *cells([("one", 50), ("first", 150)], 114),
        *cells([("Letters", 50)], 128),
        *cells([("alpha", 50), ("second", 150)], 142),
    ]
    heights = (97.0, 111.0, 125.0, 139.0, 153.0)
    bars = [(x, 97.0, 153.0) for x in (46.0, 300.0)] + [(146.0, 111.0, 125.0), (146.0, 139.0, 153.0)]
    rules = Rules(framed(heights, (46.0, 300.0)).horizontal, tuple(sorted(bars)))
    rows = [("Numbers", ""), ("one", "first"), ("Letters", ""), ("alpha", "second")]
    assert tables(lines, rules) == [table_markdown(rows)]


def test_text_below_a_table_on_a_page_with_a_frame_is_no_title_of_it() -> None:
    """The ground of a page is drawn as a box; the edges of its table are between its bars."""
    lines = [
        *cells([("one", 50), ("first", 150)], 100),
        *cells([("two", 50), ("second", 150)], 114),
        *cells([(TEXT, 46)], 140),
        *cells([(TEXT, 46)], 152),
    ]
    bars = [(x, 97.0, 125.0) for x in (46.0, 146.0, 300.0)] + [(x, 0.0, 800.0) for x in (0.0, 500.0)]
    across = (*framed((97, 111, 125), (46.0, 300.0)).horizontal, (0.0, 0.0, 500.0), (800.0, 0.0, 500.0))
    blocks = read_pages(lines, rules=Rules(tuple(sorted(across)), tuple(sorted(bars))))
    assert kinds(blocks) == [BlockKind.TABLE, BlockKind.PARAGRAPH]


def test_cells_of_several_paragraphs_with_rules_of_their_own_are_a_row() -> None:
    """Only one bar is drawn; the paragraphs of a cell are farther apart than lines."""
    lines = [
        *cells([("open", 50), ("Opens a file.", 150)], 100),
        *cells([("name - the file.", 150)], 120),
        *cells([("mode - for what.", 150)], 140),
        *cells([("close", 50), ("Closes it.", 150)], 160),
    ]
    rules = Rules(framed((96, 156, 174), (46, 146, 400), per_cell=True).horizontal, ((146.0, 96.0, 174.0),))
    rows = [("open", "Opens a file. name - the file. mode - for what."), ("close", "Closes it.")]
    assert tables(lines, rules) == [table_markdown(rows)]


def test_rules_of_cells_that_have_no_bars_do_not_make_a_frame() -> None:
    lines = [piece for at in range(3) for piece in cells([("a", 50), ("b", 150), ("c", 250)], 100 + 14 * at)]
    rules = Rules(
        framed((96, 112, 126, 140), (46, 146, 246, 300), per_cell=True).horizontal, ((146.0, 96.0, 140.0),)
    )
    assert tables(lines, rules) == [table_markdown([("a", "b", "c")] * 3)]


def test_a_word_has_no_room_where_the_space_beside_a_bar_is() -> None:
    """The first word of the last line would reach into the space that each cell has before its bar."""
    lines = [
        *cells([("OTHER", 50), ("says nothing", 156)], 100),
        *cells([("FLAG_OF_A_LONG_", 50)], 118),
        line("If value is set, do not write more text than", 156, 118, 386),
        *cells([("NAME", 105)], 130),
        line("in what was given.", 156, 130, 240),
    ]
    bars = tuple((x, 96.0, 144.0) for x in (46.0, 146.0, 400.0))
    rules = Rules(framed((96, 114, 144), (46.0, 400.0)).horizontal, bars)
    long = "If value is set, do not write more text than in what was given."
    assert tables(lines, rules) == [table_markdown([("OTHER", "says nothing"), ("FLAG_OF_A_LONG_ NAME", long)])]


def test_lines_of_a_header_that_end_above_its_rule_are_one_row() -> None:
    lines = [
        *cells([("sets of", 150), ("number", 250)], 100),
        *cells([("Name", 50), ("roles", 150), ("of all", 250)], 112),
        *cells([("dom", 50), ("X", 155), ("1", 255)], 130),
        *cells([("ran", 50), ("Y", 155), ("2", 255)], 142),
        *cells([("all", 50), ("Z", 155), ("3", 255)], 154),
    ]
    rules = Rules(((125.0, 46.0, 300.0),), ())
    assert tables(lines, rules)[0].split("\n")[0] == "| Name | sets of roles | number of all |"


def test_cells_below_a_name_over_two_columns_stay_in_its_table() -> None:
    lines = [
        *cells([("Name", 50), ("kinds of sets, by category", 150), ("rest", 320)], 100),
        *cells([("eq", 50), ("W", 325)], 120),
        *cells([("and", 50), ("X", 170), ("Y", 240), ("Z", 325)], 132),
        *cells([("or", 50), ("X", 170), ("Y", 240), ("Z", 325)], 144),
    ]
    rules = Rules(((115.0, 46.0, 360.0),), ())
    assert tables(lines, rules)[0].split("\n")[2:] == [
        "| eq |  |  | W |",
        "| and | X | Y | Z |",
        "| or | X | Y | Z |",
    ]


def test_the_last_cells_of_a_small_table_that_is_wider_than_the_text_are_no_notes() -> None:
    rows = [(f"pack{at}", "x", "y", "z") for at in range(8)]
    table = [
        piece
        for at, found in enumerate(rows)
        for piece in cells(list(zip(found, (50, 200, 350, 520), strict=True)), 260 + 10 * at, size=7)
    ]
    assert tables([*prose("l", 50, 100, 480, 12), *table]) == [table_markdown(rows)]


def test_the_header_of_a_table_at_the_top_of_each_page_is_no_running_head() -> None:
    rules = Rules(
        tuple((60.0 + 20 * at, 46.0, 340.0) for at in range(12)),
        tuple((x, 60.0, 280.0) for x in (46.0, 140.0, 240.0, 340.0)),
    )
    pages = [
        [
            *cells([("Sign", 50), ("Name", 150), ("Place", 250)], 64),
            *(
                piece
                for at in range(1, 11)
                for piece in cells(
                    [(f"s{page}{at}", 50), (f"n{page}{at}", 150), (f"p{page}{at}", 250)], 64 + 20 * at
                )
            ),
        ]
        for page in range(5)
    ]
    found = [text for kind, text in read_pages(*pages, rules=rules, has_heads=True) if kind is BlockKind.TABLE]
    assert [text.split("\n")[0] for text in found] == ["| Sign | Name | Place |"] * 5


# --- lists of descriptions, typescripts


def test_a_wide_space_in_a_stretched_line_of_an_explanation_begins_no_column() -> None:
    def described(at: int, name: str, left: float) -> list[Line]:
        top = 100 + 36 * at
        return [
            line(name, 50, top, 90),
            line("A test of it with the words of a text is run.", 110, top, left - 14),
            line(f"(file/{name}.c:", left, top, 450),
            line("its own tests)", 110, top + 13, 190, mono=True),
        ]

    above = line("Prose that stands above the list and is as wide as its column with all its words.", 50, 60, 450)
    names = ("sha1", "sha256", "sha512")
    lines = [piece for at, name in enumerate(names) for piece in described(at, name, 360 - 4 * at)]
    rows = [
        (name, f"A test of it with the words of a text is run. (file/{name}.c: its own tests)") for name in names
    ]
    assert tables([above, *lines]) == [table_markdown(rows)]


def typed(text: str, top: float) -> Line:
    """A line of a typescript: letters of six points, a cell for each run of words that two blanks part."""
    found, at = [], 0
    for part in text.split("  "):
        if part.strip():
            left = at + len(part) - len(part.lstrip())
            found.append(Cell(part.strip(), 50 + 6.0 * left, 50 + 6.0 * (left + len(part.strip()))))
        at += len(part) + 2
    return Line(PageBox(found[0].left, top, found[-1].right, top + 10), 10, False, tuple(found), True)


def test_words_two_blanks_apart_in_a_stretched_typescript_are_one_cell() -> None:
    lines = [
        typed("default  to  blocks of many bytes for each", 100),
        typed("file and  directory on the system,  as used", 112),
        typed("only with  -s and per directory in total.", 124),
    ]
    assert [len(line.cells) for line in join_typed(lines)] == [1, 1, 1]


def test_cells_two_blanks_apart_that_stand_below_each_other_stay_cells() -> None:
    lines = [
        typed(text, 100 + 12 * at) for at, text in enumerate(("Name  Size", "cats  12", "dogs  140", "ants  7"))
    ]
    assert [len(line.cells) for line in join_typed(lines)] == [2, 2, 2, 2]


# --- numbered lines of programs, bars


def test_a_small_number_of_four_digits_does_not_give_its_line_its_size() -> None:
    page = [
        piece
        for at in range(6)
        for piece in (
            Text(50, 700 - 14 * at, str(2744 + at), 5),
            Text(66, 700 - 14 * at, f"let value_{at} be it", 10, mono=True),
        )
    ]
    text = pdf_liteparse.read(io.BytesIO(build_pdf(PdfFile([page]))), ReadOptions()).text
    assert ("|" in text, [row.split()[0] for row in text.split("\n") if "let" in row]) == (
        False,
        [str(2744 + at) for at in range(6)],
    )


def test_a_bar_of_one_row_between_longer_ones_parts_its_cells() -> None:
    """The outer bars of a table go on where titles over all columns interrupt the inner one."""
    frame = [Box(x, 640, 0.4, height, BLACK) for x, height in ((46, 80), (446, 80), (200, 20))]
    rules = [Box(46, 640 + 20 * at, 400, 0.4, BLACK) for at in range(5)] + [Box(200, 680, 0.4, 20, BLACK)]
    texts = [("quote", "a quotation"), ("Titles", ""), ("tag", "a name in brackets")]
    page: list[Box | Text] = [*frame, *rules]
    for at, (first, second) in enumerate([("Kinds", ""), *texts]):
        page.append(Text(50, 706 - 20 * at, first))
        if second:
            page.append(Text(205, 706 - 20 * at, second))
    text = pdf_liteparse.read(io.BytesIO(build_pdf(PdfFile([page]))), ReadOptions()).text
    rows = [("Kinds", ""), ("quote", "a quotation"), ("Titles", ""), ("tag", "a name in brackets")]
    assert text.strip() == table_markdown(rows)


# --- bounds


def test_a_page_of_very_many_words_is_laid_out_in_time_in_proportion() -> None:
    """Names in a margin, edges that stand below each other, and rules without number."""
    many = [
        piece
        for at in range(33_000)
        for piece in cells([("\x11", 50), ("name", 100), (f"cell {at % 7} of text", 150)], 20 + at / 50)
    ]
    rules = Rules(
        tuple((20 + at * 1.7, 46.0, 146.0) for at in range(400)),
        tuple((46.0 + at, 20.0, 700.0) for at in range(400)),
    )
    assert sum(len(text) for _, text in read_pages(many, rules=rules)) > 600_000


def test_a_table_is_no_more_looked_for_where_very_many_lines_between_bars_begin_none() -> None:
    """Each of them is tried with all lines below it."""
    table = [piece for at in range(3) for piece in cells([("name", 50), (f"text {at}", 150)], 4000 + 12 * at)]

    def count(lines: int) -> int:
        single = [
            piece
            for at in range(lines)
            for piece in cells([("a", 50), ("b", 150)][: 1 + (at % 20 == 0)], 20 + 12 * at)
        ]
        rules = Rules((), tuple((x, 0.0, 5000.0) for x in (46.0, 146.0, 300.0)))
        return len(tables([*single, *table], rules))

    assert (count(20), count(300)) == (1, 0)


def test_numbers_of_lines_without_end_are_no_numbers() -> None:
    lines = cells([("9" * 5_000, 50), ("let", 70)], 100) + cells([("1", 50), ("be", 70)], 112)
    assert any("9" * 5_000 in text for _, text in read_pages(lines))


class _CountedRules(tuple[tuple[float, float, float], ...]):
    """Rules of a page, and how often one of them was looked at."""

    looks: int = 0

    def __getitem__(self, place: Any) -> Any:
        self.looks += isinstance(place, int)
        return super().__getitem__(place)


def test_the_borders_of_the_cells_of_a_line_are_looked_for_once_in_all_tables_that_may_have_it() -> None:
    """Many cells with rules of their own stand above and below the page, beside its only bar."""

    def count(lines: int) -> int:
        single = [
            piece
            for at in range(lines)
            for piece in cells([("a", 50), ("b", 150)][: 1 + (at % 20 == 0)], 20 + 12 * at)
        ]
        heights = (10.0, 20.0 + 12 * lines)
        parted = _CountedRules((y, 46.0, right) for y in heights for right in (*[146.0] * 59, 300.0))
        assert tables(single, Rules(parted, ((146.0, 0.0, 50_000.0),))) == []
        return parted.looks

    assert count(160) < 3 * count(80)
