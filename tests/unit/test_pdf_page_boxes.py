"""Pages that lie on their side in the file, and pages whose visible part does not begin at the origin."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pypdfium2  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pdf_files import Box, Link, PdfFile, Text, build_pdf
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.formats import pdf_liteparse, pdf_pdfium
from winnow.server.readers.formats.parsed_file import FormatReader, NotForThisReader, ReadOptions

pytestmark = pytest.mark.both_users

READERS = pytest.mark.parametrize("reader", [pdf_liteparse.read, pdf_pdfium.read], ids=["liteparse", "pdfium"])
LINES = [f"Line {at} of a page whose text is as wide as that of many other pages." for at in range(12)]
TABLE = [("Name", "Port", "Use"), ("cache", "6379", "keeps what was asked"), ("store", "5432", "keeps the rest")]
SIDE = {0: "1 0 0 1", 90: "0 1 -1 0", 180: "-1 0 0 -1", 270: "0 -1 1 0"}
Change = Callable[[Any], None]


def shown_at(turn: int, x: float, y: float) -> tuple[float, float]:
    """Where a page of 595 x 842 points has what is shown at x and y after a turn clockwise."""
    return {0: (x, y), 90: (595 - y, x), 180: (595 - x, 842 - y), 270: (y, 842 - x)}[turn]


def page(turn: int = 0) -> PdfFile:
    """Lines, a number that is raised, and a table with bars, drawn so that they are upright after the turn."""

    def text(x: float, y: float, words: str, size: float = 10) -> Text:
        return Text(*shown_at(turn, x, y), words, size, turn=SIDE[turn])

    def bar(x: float, y: float, width: float, height: float) -> Box:
        (left, low), (right, high) = shown_at(turn, x, y), shown_at(turn, x + width, y + height)
        return Box(min(left, right), min(low, high), abs(right - left), abs(high - low), (0, 0, 0))

    cells = [
        text(x, 330 - 20 * row, cell)
        for row, cells in enumerate(TABLE)
        for x, cell in zip((104, 164, 224), cells, strict=True)
    ]
    bars = [bar(x, 284, 0.5, 60) for x in (100, 160, 220, 400)] + [
        bar(100, 344 - 20 * row, 300, 0.5) for row in range(4)
    ]
    raised = [
        text(100, 365, "The mass of the body is 10"),
        text(219, 369, "9", 7),
        text(226, 365, "kg as a whole."),
    ]
    return PdfFile([[*(text(100, 560 - 14 * at, line) for at, line in enumerate(LINES)), *raised, *cells, *bars]])


def read(reader: FormatReader, file: PdfFile, change: Change = lambda page: None) -> str:
    """The text of a file whose first page was changed."""
    document = pypdfium2.PdfDocument(build_pdf(file))
    change(document[0])
    written = io.BytesIO()
    document.save(written)
    return reader(io.BytesIO(written.getvalue()), ReadOptions()).text


@READERS
@pytest.mark.parametrize(
    "change",
    [
        lambda page: page.set_cropbox(50, 100, 560, 800),
        lambda page: page.set_mediabox(-40, -60, 560, 800),
        lambda page: page.set_cropbox(-100, -100, 900, 900),
    ],
    ids=["visible part", "other origin", "visible part beyond the page"],
)
def test_a_page_that_begins_elsewhere_is_read_as_one_at_the_origin(reader: FormatReader, change: Change) -> None:
    assert read(reader, page(), change) == read(reader, page())


@READERS
@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_page_that_a_viewer_turns_is_read_as_it_is_shown(reader: FormatReader, turn: int) -> None:
    assert read(reader, page(turn), lambda page: page.set_rotation(turn)) == read(reader, page())


@READERS
@pytest.mark.parametrize("turn", [90, 180, 270])
def test_upright_text_on_a_page_that_a_viewer_lays_on_its_side_is_read_upright(
    reader: FormatReader, turn: int
) -> None:
    assert read(reader, page(), lambda page: page.set_rotation(turn)) == read(reader, page())


@READERS
@pytest.mark.parametrize("askew", ["0.9996 0.03 -0.03 0.9996", "0.9996 -0.03 0.03 0.9996"], ids=["left", "right"])
def test_text_that_is_a_little_askew_is_upright(reader: FormatReader, askew: str) -> None:
    file = PdfFile([[Text(100, 560 - 14 * at, line, turn=askew) for at, line in enumerate(LINES)]])
    assert read(reader, file, lambda page: page.set_rotation(90)) == read(reader, file)


def test_an_address_keeps_to_its_words_on_a_page_that_begins_elsewhere() -> None:
    file = PdfFile(
        [[Text(100, 700, "The manual says more of it.")]],
        links={0: [Link(119, 698, 36, 12, "https://example.org/a")]},
    )
    expected = "The [manual](https://example.org/a) says more of it."
    assert read(pdf_liteparse.read, file) == expected
    assert read(pdf_liteparse.read, file, lambda page: page.set_cropbox(50, 100, 560, 800)) == expected


def _pages_of_one_list(words: str, *pages: str) -> bytes:
    """A file without a table of objects, whose pages, of which these are the boxes, have one list of contents."""
    kids = " ".join(f"{number} 0 R" for number in range(6, 6 + len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "[4 0 R]",
        f"<< /Length {len(words)} >> stream\n{words}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        *(
            f"<< /Type /Page /Parent 2 0 R {boxes} /Contents 3 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
            for boxes in pages
        ),
    ]
    body = "\n".join(f"{number} 0 obj\n{entries}\nendobj" for number, entries in enumerate(objects, 1))
    return f"%PDF-1.5\n{body}\ntrailer\n<< /Root 1 0 R >>\n%%EOF\n".encode()


def _shown(x: int, y: int, words: str) -> str:
    return f"BT /F1 12 Tf {x} {y} Td ({words}) Tj ET"


FAR, SPREAD = "/MediaBox [1000 1000 1612 1792]", "/MediaBox [0 0 612 792] /CropBox [{} 0 {} 792]"


@pytest.mark.parametrize(
    ("words", "pages", "read_words", "hidden"),
    [
        (
            f"{_shown(1100, 1700, 'seen')} Q {_shown(100, 600, 'ignore all')}",
            [FAR],
            ["seen"],
            {"off the page": 1},
        ),
        (f"{_shown(1100, 1700, 'first')} Q {_shown(1100, 1600, 'second')}", [FAR], ["first", "second"], {}),
        (
            f"{_shown(50, 700, 'left')} {_shown(400, 700, 'right')}",
            [SPREAD.format(0, 306), SPREAD.format(306, 612)],
            ["left", "right"],
            {"off the page": 2},
        ),
        (
            f"{_shown(50, 700, 'left')} {_shown(400, 700, 'right')}",
            [SPREAD.format(20, 306), SPREAD.format(306, 612)],
            ["left", "right"],
            {"off the page": 2},
        ),
    ],
    ids=["hidden behind a state", "seen behind a state", "a spread", "a spread that begins elsewhere"],
)
def test_pages_that_cannot_be_moved_are_read_by_pdfium_as_they_are_shown(
    words: str, pages: list[str], read_words: list[str], hidden: dict[str, int]
) -> None:
    file = _pages_of_one_list(words, *pages)
    parsed = pdf_pdfium.read(io.BytesIO(file), ReadOptions())
    assert (parsed.text.split(), parsed.reading.hidden_reasons) == (read_words, hidden)
    with pytest.raises(NotForThisReader, match="cannot be moved"):
        pdf_liteparse.read(io.BytesIO(file), ReadOptions())


def test_pages_of_one_list_that_begin_at_the_origin_are_not_moved() -> None:
    file = _pages_of_one_list(_shown(50, 400, "words"), *["/MediaBox [0 0 612 792]"] * 3)
    assert pdf_liteparse.read(io.BytesIO(file), ReadOptions()).text.split() == ["words"] * 3


@given(
    box=st.lists(st.floats(-1e7, 1e7, width=32), min_size=4, max_size=4),
    crop=st.lists(st.floats(-1e7, 1e7, width=32), min_size=4, max_size=4),
    turn=st.sampled_from([0, 90, 180, 270]),
)
@settings(max_examples=60)
def test_any_box_of_a_page_is_read_or_refused(box: list[float], crop: list[float], turn: int) -> None:
    def change(page: Any) -> None:
        page.set_mediabox(*box)
        page.set_cropbox(*crop)
        page.set_rotation(turn)

    for reader in (pdf_liteparse.read, pdf_pdfium.read):
        try:
            assert isinstance(read(reader, page(), change), str)
        except (UnreadableFile, NotForThisReader):
            continue
