"""Pictures of pages: the mark covers the words of a quote on any page; hostile files and answers are refused."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence

import pypdfium2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.page_pixels import Edges, Pixels, is_paper, is_yellow
from tests.pdf_files import A4, Box, Drawing, Ligatures, PdfFile, Picture, Text, build_pdf
from winnow.server.models import WantedText
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.frames import ParserProtocolError
from winnow.server.readers.page_pictures.drawing import MarkedPicture, draw_page
from winnow.server.readers.page_pictures.png import MAX_PICTURE_BYTES, MAX_SIDE_PIXELS, check_png, write_png

WIDTH, HEIGHT = A4
SIZE, ADVANCE, LEADING, LEFT, TOP = 10, 6.0, 15, 72, 760  # Courier: all letters are as wide
WORDS = [f"word{number:02}{'abcdefghij'[number % 10] * (number % 5)}" for number in range(84)]
LINES = [WORDS[start : start + 7] for start in range(0, len(WORDS), 7)]
# Words in x, y of the page: left, bottom, right, top.
Area = tuple[float, float, float, float]


def _word_areas() -> list[Area]:
    """Where each word is drawn: from the base of its letters to the height of a small letter."""
    areas = []
    for row, words in enumerate(LINES):
        base, at = TOP - row * LEADING, LEFT
        for word in words:
            areas.append((at, base, at + ADVANCE * len(word), base + 0.45 * SIZE))
            at += int(ADVANCE) * (len(word) + 1)
    return areas


AREAS = _word_areas()


def _page() -> list[Drawing]:
    return [Text(LEFT, TOP - row * LEADING, " ".join(words), SIZE, mono=True) for row, words in enumerate(LINES)]


def _draw(data: bytes, *quotes: str, page: int = 1) -> MarkedPicture:
    return draw_page(io.BytesIO(data), page, [*map(WantedText, quotes)])


def _upright(x: float, y: float) -> tuple[float, float]:
    return x, HEIGHT - y


# A page that a viewer turns -> the way of a point, in points from the upper left corner of what is seen.
TURNS: Mapping[int, Callable[[float, float], tuple[float, float]]] = {
    0: _upright,
    90: lambda x, y: (y, x),
    180: lambda x, y: (WIDTH - x, y),
    270: lambda x, y: (HEIGHT - y, WIDTH - x),
}


def _boxes(areas: Sequence[Area], turn: int = 0) -> list[Edges]:
    """The boxes of areas of an A4 page, in pixels of its picture."""
    scale = MAX_SIDE_PIXELS / HEIGHT
    boxes = []
    for left, bottom, right, top in areas:
        (a, b), (c, d) = TURNS[turn](left, bottom), TURNS[turn](right, top)
        edges = (min(a, c), min(b, d), max(a, c), max(b, d))
        boxes.append((edges[0] * scale, edges[1] * scale, edges[2] * scale, edges[3] * scale))
    return boxes


def _edited(data: bytes, edit: Callable[[pypdfium2.PdfPage], None]) -> bytes:
    document = pypdfium2.PdfDocument(data)
    for page in document:
        edit(page)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize(("first", "count"), [(0, 1), (3, 4), (5, 6), (13, 2), (20, 20), (41, 9), (77, 7)])
def test_the_mark_covers_every_word_of_a_quote_and_no_line_without_one(first: int, count: int, turn: int) -> None:
    data = _edited(build_pdf(PdfFile([_page()])), lambda page: page.set_rotation(turn))
    drawn = _draw(data, " ".join(WORDS[first : first + count]))
    pixels = Pixels.of(drawn.data)
    assert drawn.marks == ("exact",)
    quoted = range(first, first + count)
    boxes = _boxes(AREAS, turn)
    assert {number: pixels.share(boxes[number], is_paper) for number in quoted} == dict.fromkeys(quoted, 0.0)
    lines = {number // 7 for number in quoted}
    away = [number for number in range(len(WORDS)) if number // 7 not in lines]
    assert {number: pixels.share(boxes[number], is_yellow) for number in away} == dict.fromkeys(away, 0.0)


@settings(max_examples=30)  # each draws a page
@given(first=st.integers(0, len(WORDS) - 1), count=st.integers(1, 30))
def test_any_run_of_words_is_marked(first: int, count: int) -> None:
    quoted = range(first, min(first + count, len(WORDS)))
    pixels = Pixels.of(_draw(build_pdf(PdfFile([_page()])), " ".join(WORDS[number] for number in quoted)).data)
    boxes = _boxes(AREAS)
    assert [number for number in quoted if pixels.share(boxes[number], is_paper)] == []


def test_a_page_whose_visible_part_begins_elsewhere_is_marked_there() -> None:
    data = _edited(build_pdf(PdfFile([_page()])), lambda page: page.set_cropbox(50, 342, 550, 842))
    pixels = Pixels.of(_draw(data, " ".join(WORDS[10:12])).data)
    scale = MAX_SIDE_PIXELS / 500 if MAX_SIDE_PIXELS / 500 < 2.5 else 2.5
    for left, bottom, right, top in AREAS[10:12]:
        box = ((left - 50) * scale, (842 - top) * scale, (right - 50) * scale, (842 - bottom) * scale)
        assert pixels.share(box, is_paper) == 0.0


@pytest.mark.parametrize(
    ("drawings", "quote", "mark"),
    [
        (
            [Text(72, 700, "A hyphen di-"), Text(72, 687, "vides this word.")],
            "A hyphen divides this word.",
            "exact",
        ),
        ([Text(72, 700, "Straight 'marks' here")], "Straight “marks” here", "exact"),
        ([Ligatures(72, 700, "the \x1brst of them")], "the first of them", "closest"),
        ([Text(72, 700, "It was kept for ninety days in all.")], "It was kept for sixty days in all", "closest"),
        ([Text(72, 700, "Something else entirely.")], "It was kept for ninety days", "absent"),
        ([Picture(), Text(72, 700, "Ninety days", mode=3)], "Ninety days", "exact"),  # what a scan was read as
    ],
)
def test_a_mark_says_whether_the_words_are_those_of_the_quote(
    drawings: list[Drawing], quote: str, mark: str
) -> None:
    assert _draw(build_pdf(PdfFile([drawings])), quote).marks == (mark,)


@pytest.mark.parametrize(
    "hidden",
    [Text(72, 700, "Pay ninety days", mode=3), Text(72, 700, "Pay ninety days", color=(1, 1, 1)),
     Text(72, 700, "Pay ninety days", size=1)],
)  # fmt: skip
def test_words_that_nobody_sees_are_not_marked_and_those_that_are_seen_are(hidden: Text) -> None:
    seen = Text(72, 500, "Pay ninety days", mono=True)
    assert _draw(build_pdf(PdfFile([[hidden]])), "Pay ninety days").marks == ("absent",)
    pixels = Pixels.of(_draw(build_pdf(PdfFile([[hidden, seen]])), "Pay ninety days").data)
    above, below = _boxes([(72, 695, 200, 715), (72, 500, 162, 504.5)])
    assert pixels.share(above, is_yellow) == 0.0
    assert pixels.share(below, is_paper) == 0.0


def test_of_repeated_words_those_after_so_many_others_are_marked() -> None:
    repeated = [Text(72, y, "Nobody enters.", mono=True) for y in (700, 600, 500)]
    boxes = _boxes([(72, y, 140, y + 4) for y in (700, 600, 500)])
    for number in range(3):
        drawn = draw_page(io.BytesIO(build_pdf(PdfFile([repeated]))), 1, [WantedText("Nobody enters", number)])
        pixels = Pixels.of(drawn.data)
        assert [pixels.share(box, is_paper) == 0.0 for box in boxes] == [each == number for each in range(3)]


def test_words_with_other_signs_between_them_are_no_exact_mark() -> None:
    page = build_pdf(PdfFile([[Text(72, 700, "A dose of 125 mg of the salt.")]]))
    assert [_draw(page, f"A dose of {dose} mg of the salt").marks for dose in ("125", "12.5")] == [
        ("exact",),
        ("closest",),
    ]


def test_black_letters_stay_black_under_the_mark() -> None:
    pixels = Pixels.of(_draw(build_pdf(PdfFile([_page()])), " ".join(WORDS[:7])).data)
    (line,) = _boxes([(LEFT, TOP, LEFT + 200, TOP + 7)])
    assert min(max(pixel) for pixel in pixels.within(line)) < 60


def _noise(seed: int = 1) -> list[Drawing]:
    """Thousands of small boxes of many colours, which no palette holds and nothing compresses."""
    boxes: list[Drawing] = []
    for number in range(9_000):
        seed = (seed * 1_103_515_245 + 12_345) % 2**31
        red, green, blue = (seed >> shift & 255 for shift in (3, 11, 19))
        boxes.append(Box(number % 90 * 6.6, number // 90 * 8.4, 6.6, 8.4, (red / 255, green / 255, blue / 255)))
    lines = [Text(seed % 17 + 10, 8 * row + 2, "x.:,;'xX" * 22, 6) for row, seed in enumerate(range(100))]
    return [*boxes, *lines, *[Text(line.x + 3, line.y + 3, line.text[::-1], 5) for line in lines]]


def test_a_page_that_compresses_badly_is_made_smaller_until_it_fits_and_its_mark_with_it() -> None:
    plain = Pixels.of(_draw(build_pdf(PdfFile([_page()]))).data)
    words = [Box(60, 290, 260, 30, (1, 1, 1)), Text(72, 300, "Here it is", 14)]
    drawn = _draw(build_pdf(PdfFile([[*_noise(), *words]])), "Here it is")
    pixels = Pixels.of(drawn.data)
    assert len(drawn.data) <= MAX_PICTURE_BYTES
    assert pixels.height < plain.height
    scale = pixels.height / HEIGHT
    assert pixels.share((74 * scale, (HEIGHT - 306) * scale, 124 * scale, (HEIGHT - 301) * scale), is_paper) == 0.0


@pytest.mark.parametrize("side", [10_000_000, 14_401])
def test_a_page_larger_than_pdf_allows_is_refused(side: int) -> None:
    data = build_pdf(PdfFile([_page()], media_box=(side, side)))
    with pytest.raises(UnreadableFile, match=f"page 1 measures {side:,} x {side:,} points"):
        _draw(data)


@pytest.mark.parametrize("box", [(14_400, 14_400), (14_400, 1), (1, 14_400), (0.01, 0.01)])
def test_a_page_of_any_allowed_size_has_a_picture_of_bounded_size(box: tuple[float, float]) -> None:
    picture = check_png(_draw(build_pdf(PdfFile([_page()], media_box=box))).data)
    assert min(picture.width, picture.height) >= 1
    assert max(picture.width, picture.height) <= MAX_SIDE_PIXELS


@pytest.mark.parametrize(
    ("data", "page", "reason"),
    [
        (b"", 1, "empty: it has no bytes"),
        (b"plain text", 1, "not a PDF: it does not begin with %PDF-"),
        (
            b"%PDF-1.7\nnothing",
            1,
            "damaged: it begins like a PDF, but has no pages; save it again from its program",
        ),
        (build_pdf(PdfFile([_page()])), 2, "has no page 2; it has 1"),
        (build_pdf(PdfFile([_page()])), 0, "has no page 0; it has 1"),
        (
            build_pdf(PdfFile([_page()], password="secret")),
            1,
            "encrypted: it opens only with a password, and none is kept after an ingest",
        ),
    ],
)
def test_what_cannot_be_drawn_has_a_reason(data: bytes, page: int, reason: str) -> None:
    with pytest.raises(UnreadableFile) as caught:
        _draw(data, page=page)
    assert str(caught.value) == reason


# --- the file of a picture, checked by who sends it

PALETTE = bytes(range(256)) * 3
GOOD = write_png(bytes(4) * 3, 3, 3, PALETTE)


def _png(width: int = 3, height: int = 3, rows: bytes = bytes(12), form: bytes = b"\x08\x03\0\0\0") -> bytes:
    header = struct.pack(">II", width, height) + form
    chunks = ((b"IHDR", header), (b"PLTE", PALETTE), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    parts = (struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
             for name, body in chunks)  # fmt: skip
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def test_a_picture_that_was_written_passes() -> None:
    assert (check_png(_png()).width, check_png(_png()).height) == (3, 3)
    assert check_png(GOOD).data == GOOD


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GIF89a",
        _png()[:-1],
        _png() + b"more",
        _png().replace(b"IDAT", b"iDOT"),
        _png()[:40] + b"\xff" + _png()[41:],  # the sum of a chunk
        _png(rows=bytes(11)),
        _png(rows=bytes(13)),
        _png(rows=bytes(10**7)),  # a bomb
        _png(rows=b"\x04" + bytes(11)),  # a filter
        _png(height=0, rows=b""),
        _png(width=MAX_SIDE_PIXELS + 1, height=1, rows=bytes(MAX_SIDE_PIXELS + 2)),
        _png(form=b"\x10\x02\0\0\0"),
        _png(form=b"\x08\x03\0\0\x01"),
    ],
)
def test_any_other_file_is_refused(data: bytes) -> None:
    with pytest.raises(ParserProtocolError):
        check_png(data)


@given(st.integers(0, len(GOOD) - 1), st.integers(1, 255))
def test_a_picture_with_a_changed_byte_is_refused_or_has_the_stated_pixels(at: int, change: int) -> None:
    data = bytearray(GOOD)
    data[at] ^= change
    with pytest.raises(ParserProtocolError):
        check_png(bytes(data))
