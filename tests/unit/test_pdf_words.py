"""Words that were torn, lines in columns, and what a PDF says of itself."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.readers.formats.pdf_liteparse import whole_words
from winnow.server.readers.pdf.facts import find_doi, iso_date, split_authors
from winnow.server.readers.pdf.layout import Block, BlockKind, Box, Page
from winnow.server.readers.pdf.lines import Cell, Line
from winnow.server.readers.pdf.reading_order import columns_of, part_page
from winnow.server.readers.pdf.visibility import _multiply, _transform
from winnow.server.readers.pdf_characters.glyph_names import letters_of, may_name_signs
from winnow.server.readers.pdf_characters.torn_words import HYPHEN, Mender, expand_ligatures

# --- torn words


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("Ef ficient rules", "Efficient rules"),  # neither piece is a word of the document
        ("an of fice", "an office"),  # the whole word is one
        ("a piece of fish", "a piece of fish"),
        ("if first, then", "if first, then"),
        (f"a di{HYPHEN}vided word", "a divided word"),
        (f"a well{HYPHEN}known rule", "a well-known rule"),
        (f"a cost{HYPHEN}weighted mean", "a cost-weighted mean"),  # both are words that stand alone
        (f"some{HYPHEN}thing weighted", "something weighted"),  # the second is no word
        (f"two well{HYPHEN}knowns", "two well-knowns"),
        (f"a non{HYPHEN}empty list", "a non-empty list"),  # the first begins other compounds
        (f"a self{HYPHEN}consistent rule", "a self-consistent rule"),
        (f"an empty{HYPHEN}like rule", "an empty-like rule"),
        (f"a dis{HYPHEN}like", "a dislike"),
        (f"a pro{HYPHEN}gram", "a program"),
        ("the CONCLU-SIONS", "the CONCLUSIONS"),
        ("/doc/wellknown/", "/doc/wellknown/"),
        (
            "the file, a file, configuration file: configurationfile",
            "the file, a file, configuration file: configurationfile",
        ),
        ("bug fixes, bug fixes, bugfixes", "bug fixes, bug fixes, bugfixes"),
        ("DBF files", "DBF files"),
    ],
)
def test_the_words_of_the_document_decide(text: str, mended: str) -> None:
    document = ["of it, an office. if so, first. fish. A well-known, well-known thing. conclusions"]
    document += ["cost weighted, " * 3, "non-zero, non-trivial, non-standard", "empty, empty, weighted"]
    assert Mender([*document, text]).mend(text) == mended


def test_ligatures_of_one_character_become_letters() -> None:
    assert expand_ligatures("e\ufb03cient \ufb02ow") == "efficient flow"


@pytest.mark.parametrize(
    ("text", "composed"),
    [
        ("re b´emol, ut di`ese", "re bémol, ut dièse"),
        ("meggy˝ozve, p˛aczek", "meggyőzve, pączek"),
        ("peut ˆetre r´egl´e `a z´ero", "peut être réglé à zéro"),
        ("l’´etat `a part", "l’´etat `a part"),  # none of its accents stands within a word, or begins one
        ("r´egl´e, ´etat `a HAUT", "réglé, état à HAUT"),
        ("the sign `a’ of it", "the sign `a’ of it"),
    ],
)
def test_accents_that_stand_before_their_letters_are_composed(text: str, composed: str) -> None:
    """A grave accent is one where others are; alone it is a quotation mark."""
    assert expand_ligatures(text) == composed


@given(st.lists(st.text("of fiteln-" + HYPHEN, max_size=40), max_size=8))
def test_mending_removes_only_spaces_and_hyphens_and_adds_hyphens(texts: list[str]) -> None:
    mender = Mender(texts)
    for text in texts:
        assert [c for c in mender.mend(text) if c.isalpha()] == [c for c in text if c.isalpha()]


# --- columns


WORDS = "and the words of its line"


def _line(text: str, left: float, top: float, width: float) -> Line:
    return Line(Box(left, top, left + width, top + 10), 10, False, (Cell(text, left, left + width),))


@dataclass(frozen=True)
class _Word:
    text: str
    x: float
    width: float
    y: float = 0.0


@dataclass(frozen=True)
class _Item:
    text: str
    words: tuple[_Word, ...]


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("here, pero is.", [("here,", 0.0, 25.0), ("pero", 28.0, 48.0), ("is.", 52.0, 66.0)]),
        (
            "other text",
            [("here,", 0.0, 25.0), ("per", 28.0, 43.0), ("o", 44.0, 48.0), ("is", 52.0, 62.0), (".", 62.0, 66.0)],
        ),
    ],
)
def test_words_without_a_blank_in_the_text_of_their_item_are_one(
    text: str, whole: list[tuple[str, float, float]]
) -> None:
    words = (
        _Word("here,", 0, 25),
        _Word("per", 28, 15),
        _Word("o", 44, 4),
        _Word("is", 52, 10),
        _Word(".", 62, 4),
    )
    assert whole_words(_Item(text, words), {}) == whole


def test_a_title_over_two_columns_parts_them() -> None:
    """What is above a title is read before it, what is below it afterwards, each column by column."""
    lines = [
        *(
            _line(f"{side}{row} {WORDS}", left, 10 + 15 * row, 200)
            for row in range(5)
            for side, left in (("a", 0), ("b", 220))
        ),
        _line("title", 50, 100, 300),
        *(
            _line(f"{side}{row} {WORDS}", left, 130 + 15 * row, 200)
            for row in range(5)
            for side, left in (("c", 0), ("d", 220))
        ),
    ]
    expected = (
        [f"{side}{row} {WORDS}" for side in "ab" for row in range(5)],
        [f"{side}{row} {WORDS}" for side in "cd" for row in range(5)],
    )
    assert [line.text for column in columns_of(part_page(lines)) for line in column] == [
        *expected[0],
        "title",
        *expected[1],
    ]


@given(st.lists(st.tuples(*[st.floats(0, 500)] * 2, st.floats(1, 400)), max_size=30))
def test_every_letter_is_kept_once(places: list[tuple[float, float, float]]) -> None:
    """Pieces on one line become one line."""
    lines = [_line(chr(0x4E00 + number), *place) for number, place in enumerate(places)]
    kept = "".join(line.text for column in columns_of(part_page(lines)) for line in column).replace(" ", "")
    assert sorted(kept) == sorted(line.text for line in lines)


# --- facts


@pytest.mark.parametrize(
    ("stated", "date"),
    [
        ("D:20240306100000+01'00'", "2024-03-06T10:00:00+01:00"),
        ("D:20240306100000Z", "2024-03-06T10:00:00Z"),
        ("D:20240306", "2024-03-06"),
        ("D:2024", "2024"),
        ("yesterday", ""),
    ],
)
def test_dates_of_pdf_become_iso_dates(stated: str, date: str) -> None:
    assert iso_date(stated) == date


@pytest.mark.parametrize(
    ("stated", "names"),
    [
        ("A. First, B. Second and C. Third", ["A. First", "B. Second", "C. Third"]),
        ("First, A.; Second, B.", ["First, A.", "Second, B."]),
        ("Ohm, Georg", ["Ohm, Georg"]),
        ("Georg Ohm", ["Georg Ohm"]),
        ("anonymous", []),
    ],
)
def test_authors_are_parted(stated: str, names: list[str]) -> None:
    assert split_authors(stated) == names


@pytest.mark.parametrize(
    ("text", "doi"),
    [
        ("See https://doi.org/10.1000/abc.7.", "10.1000/abc.7"),
        ("(doi:10.1016/S0140-6736(05)67728-8)", "10.1016/S0140-6736(05)67728-8"),
        ("version 10.4/2", ""),
        ("please cite [the paper](http://dx.doi.org/10.1000/cited)", ""),
        ("[the paper](https://doi.org/10.1000/cited) [DOI](https://doi.org/10.1000/own)", "10.1000/own"),
        ("[https://doi.org/10.1000/own](https://doi.org/10.1000/own)", "10.1000/own"),
        ("[10.1000/own](https://example.org/own)", "10.1000/own"),
    ],
)
def test_the_first_doi_is_found_without_the_marks_after_it(text: str, doi: str) -> None:
    page = Page(1, 842, (Block(BlockKind.PARAGRAPH, text, Box(0, 0, 1, 1)),))
    assert find_doi("", [page]) == doi


def test_forms_within_forms_are_placed_by_both_matrices() -> None:
    """Scaled by two and moved by 10 in the inner form, moved by 100 in the outer one."""
    matrix = _multiply((2, 0, 0, 2, 10, 10), (1, 0, 0, 1, 100, 0))
    assert _transform((0, 0, 5, 5), matrix) == (110, 10, 120, 20)


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ("r\u00b4esum\u00b4es", "r\u00e9sum\u00e9s"),
        ("na\u00a8\u0131ve \u00a8Uber", "na\u00efve \u00dcber"),
        ("fa\u00b8cade \ufb01le", "fa\u00e7ade file"),
        ("2\u02c6x and \u00b4a quote", "2\u02c6x and \u00b4a quote"),
    ],
)
def test_an_accent_before_its_letter_is_a_part_of_it(printed: str, text: str) -> None:
    assert expand_ligatures(printed) == text


# --- letters that only their names tell


LETTERS = {code: chr(code) for code in range(97, 117)}
FORMULA = {2: ";", 3: ":", 4: "\x0e"}


@pytest.mark.parametrize(
    ("names", "texts"),
    [
        ({2: ",", 3: ".", 4: "\x0c", 34: '"', 40: "("}, {2: ",", 3: ".", 4: "fi", 34: "\u201d"}),
        ({44: ",", 46: ".", 27: "\x1b", 34: '"'}, {27: "ff"}),  # the encoding T1, whose quotation mark is ASCII's
        (FORMULA, dict.fromkeys(FORMULA, "\ufffd")),  # a comma in a font of formulas is no semicolon
    ],
)
def test_letters_are_told_by_their_names_in_fonts_of_text(names: dict[int, str], texts: dict[int, str]) -> None:
    assert letters_of({**LETTERS, **names}, is_mono=False) == texts


def test_a_font_of_one_width_has_the_signs_of_programs() -> None:
    names = {2: "{", 3: "|", 44: ",", 46: "."}
    assert letters_of({**LETTERS, **names}, is_mono=True) == {2: "{", 3: "|"}


def test_digits_of_a_font_of_numbers_are_known_and_a_few_of_one_of_symbols_are_not() -> None:
    digits = dict(enumerate("203145+"))
    assert letters_of(digits, is_mono=False) == digits
    assert letters_of({0: "1", 2: "2"}, is_mono=False) == {0: "\ufffd", 2: "\ufffd"}


def test_names_of_signs_are_found_in_packed_objects() -> None:
    """Files of PDF 1.5 and later have their fonts packed."""
    fonts = (
        zlib.compress(b"1 0 << /Differences [2 /#2C /a27] >>"),
        zlib.compress(b"1 0 << /Differences [2 /comma] >>"),
    )
    files = [b"<< /Type /ObjStm /N 1 /First 4 >> stream\n" + font + b"\nendstream" for font in fonts]
    assert [may_name_signs(file) for file in files] == [True, False]
