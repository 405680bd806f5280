"""Presentations become Markdown: a slide is a place, with its title, text, tables and speaker notes."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest

from tests.office_files import links, pptx, shape, zipped
from winnow.server.readers.common.bounded_xml import parse_xml
from winnow.server.readers.common.charts import chart_table
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.formats import pptx as reader
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions

SAMPLE = Path(__file__).parents[3] / "shared/data/documents/office/a.pptx"


def _read(file: io.BytesIO, *, keeps_hidden: bool = False) -> ParsedFile:
    return reader.read(file, ReadOptions(keeps_hidden=keeps_hidden))


def _paragraph(text: str, properties: str = "") -> str:
    return f"<a:p>{properties}<a:r><a:t>{text}</a:t></a:r></a:p>"


def test_a_slide_is_a_place_with_its_title_text_and_notes() -> None:
    """Notes stand below a line that says so; what repeats on every slide is left out."""
    first = shape("Date", "dt") + shape("Point", "") + shape("Plan", "title")
    parsed = _read(pptx({"one": first, "two": shape("free text")}, {"one": "say hello"}))
    assert parsed.text == "# Plan\n\n- Point\n\nNotes:\n\nsay hello\n\nfree text"
    assert [(place.kind, place.number, place.label) for place in parsed.places] == [
        ("slide", 1, "Plan"),
        ("slide", 2, ""),
    ]
    assert parsed.text[parsed.places[1].start :] == "free text"


def test_the_title_is_that_of_the_first_slide_where_the_program_made_one_up() -> None:
    """Every presentation is called PowerPoint Presentation unless its author says otherwise."""
    parsed = _read(pptx({"one": shape("Budget 2027", "ctrTitle")}))
    assert (parsed.title, parsed.facts["author"]) == ("Budget 2027", "Ada Example")


def test_lists_keep_their_levels_and_numbers() -> None:
    """Placeholders are lists unless a paragraph says otherwise; other shapes are lists where it does."""
    body = (
        _paragraph("a")
        + _paragraph("b", '<a:pPr lvl="1"/>')
        + _paragraph("c", "<a:pPr><a:buNone/></a:pPr>")
        + _paragraph("d", "<a:pPr><a:buAutoNum/></a:pPr>")
        + _paragraph("e", "<a:pPr><a:buAutoNum/></a:pPr>")
        + "<a:p><a:r><a:t>two</a:t></a:r><a:br/><a:r><a:t>lines</a:t></a:r></a:p>"
    )
    text = _read(pptx({"one": shape("", "body", paragraphs=body)})).text
    assert text == "- a\n   - b\n\nc\n\n1. d\n2. e\n- two\n  lines"


def test_tables_groups_and_images_are_read() -> None:
    """In the order of the file."""
    cells = "".join(
        f"<a:tc><a:txBody>{_paragraph(text)}{_paragraph('x')}</a:txBody></a:tc>" for text in ("p|q", "r")
    )
    table = (
        "<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tr>"
        f"{cells}</a:tr></a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
    )
    image = '<p:pic><p:nvPicPr><p:cNvPr id="2" name="b" descr="a map"/></p:nvPicPr></p:pic>'
    group = f"<p:grpSp>{shape('inner')}{image}</p:grpSp>"
    text = _read(pptx({"one": table + group})).text
    assert text == "| p\\|q x | r x |\n| --- | --- |\n\ninner\n\n[image: a map]"


def _cells(kind: str, *cells: str) -> str:
    points = "".join(f'<c:pt idx="{number}"><c:v>{cell}</c:v></c:pt>' for number, cell in enumerate(cells) if cell)
    return f"<c:{kind}Ref><c:f>Sheet1!A1</c:f><c:{kind}Cache>{points}</c:{kind}Cache></c:{kind}Ref>"


def _chart(series: str, title: str = "") -> str:
    head = f"<c:title><c:tx><c:rich><a:p><a:r><a:t>{title}</a:t></a:r></a:p></c:rich></c:tx></c:title>"
    plot = f"<c:plotArea><c:barChart>{series}</c:barChart></c:plotArea>"
    chart = f"<c:chart>{head if title else ''}{plot}</c:chart>"
    return f'<c:chartSpace xmlns:c="urn:c" xmlns:a="urn:a">{chart}</c:chartSpace>'


def _series(name: str, categories: tuple[str, ...], values: tuple[str, ...]) -> str:
    return (
        f"<c:ser><c:tx>{_cells('str', name)}</c:tx><c:cat>{_cells('str', *categories)}</c:cat>"
        f"<c:val>{_cells('num', *values)}</c:val></c:ser>"
    )


def _frame(id: str, offset: int = 0) -> str:
    return (
        f'<p:graphicFrame><p:xfrm><a:off x="{offset}" y="0"/><a:ext cx="10" cy="10"/></p:xfrm><a:graphic>'
        f'<a:graphicData><c:chart xmlns:c="urn:c" xmlns:r="urn:r" r:id="{id}"/></a:graphicData></a:graphic>'
        "</p:graphicFrame>"
    )


NAMES = ("Q1", "Q2", "Q3")
QUARTERS = _series("Tons | a", NAMES, ("1.5", "", "4")) + _series("Crates", NAMES, ("7", "8", "9"))


def test_charts_are_tables_of_the_values_that_they_show_where_they_are_seen() -> None:
    charts = {
        "ppt/charts/chart1.xml": _chart(QUARTERS, "Apples &amp; pears"),
        "ppt/charts/chart2.xml": _chart("<c:ser/>"),
        "ppt/charts/chart3.xml": "<broken",
        "ppt/slides/_rels/one.xml.rels": links(*(("chart", f"../charts/chart{n}.xml") for n in (1, 2, 3))),
    }
    shapes = (
        shape("Sales", "title")
        + "".join(map(_frame, ("rId1", "rId2", "rId3", "rId9", "rId1")))
        + _frame("rId4", 5_000)
    )
    parsed = _read(_with(pptx({"one": shapes}), charts))
    assert parsed.text == (
        "# Sales\n\nChart: Apples & pears\n\n|  | Tons \\| a | Crates |\n| --- | --- | --- |\n"
        "| Q1 | 1.5 | 7 |\n| Q2 |  | 8 |\n| Q3 | 4 | 9 |"
    )
    assert parsed.reading.notes == ("charts without a copy of their values, 3 in all, were left out",)


def test_a_chart_of_very_many_values_is_cut() -> None:
    many = tuple(map(str, range(5_000)))
    chart = _chart("".join(_series(f"s{n}", many, many) for n in range(30)))
    text = chart_table(parse_xml(chart.encode()))
    rows = [line for line in text.split("\n") if line.startswith("| ")]
    assert (len(rows), rows[0].count("|"), rows[-1].startswith("| 199 |")) == (202, 22, True)


def test_hidden_slides_keep_their_numbers_and_are_left_out() -> None:
    """The slide after a hidden one has the number that PowerPoint shows."""
    slides = {"one": shape("A"), "two": shape("secret"), "three": shape("C")}
    dropped, kept = _read(pptx(slides, hidden=["two"])), _read(pptx(slides, hidden=["two"]), keeps_hidden=True)
    assert (dropped.text, [place.number for place in dropped.places]) == ("A\n\nC", [1, 3])
    assert (dropped.reading.pages, dropped.reading.hidden_reasons) == (3, {"hidden slide": 1})
    assert dropped.reading.notes == ("hidden slides: 2 were left out",)
    assert (kept.text, kept.reading.notes) == ("A\n\nsecret\n\nC", ())


@pytest.mark.parametrize(
    ("hidden", "why"),
    [
        (shape("unseen", named=' hidden="1"'), "set as hidden"),
        (
            shape("unseen", frame='<a:xfrm><a:off x="-500" y="0"/><a:ext cx="400" cy="10"/></a:xfrm>'),
            "off the page",
        ),
        (
            shape("unseen", frame='<a:xfrm><a:off x="0" y="900"/><a:ext cx="400" cy="10"/></a:xfrm>'),
            "off the page",
        ),
        (shape("", paragraphs='<a:p><a:r><a:rPr sz="100"/><a:t>unseen</a:t></a:r></a:p>'), "too small"),
    ],
    ids=["property", "left", "below", "tiny"],
)
def test_hidden_text_is_left_out_and_counted_unless_it_is_asked_for(hidden: str, why: str) -> None:
    """Hidden shapes, shapes beside the slide, and text too small to be read."""
    dropped = _read(pptx({"one": shape("seen") + hidden}))
    kept = _read(pptx({"one": shape("seen") + hidden}), keeps_hidden=True)
    assert (dropped.reading.hidden_reasons, kept.reading.hidden_reasons) == ({why: 1}, {why: 1})
    assert (dropped.text, dropped.reading.hidden_runs, dropped.reading.hidden_kept) == ("seen", 1, False)
    assert (kept.text, kept.reading.hidden_runs, kept.reading.hidden_kept) == ("seen\n\nunseen", 1, True)


def test_raised_numbers_struck_words_and_equations_keep_what_they_say() -> None:
    looks = (("10", ""), ("9", 'baseline="30000"'), (" m, ", ""), ("not", 'strike="sngStrike"'), (" now ", ""))
    runs = "".join(f"<a:r><a:rPr {look}/><a:t>{text}</a:t></a:r>" for text, look in looks)
    half = "<a:m><a:f><a:num><a:t>1</a:t></a:num><a:den><a:t>2</a:t></a:den></a:f></a:m>"
    assert _read(pptx({"one": shape("", paragraphs=f"<a:p>{runs}{half}</a:p>")})).text == "10⁹ m, ~~not~~ now 1/2"


def test_a_slide_that_is_listed_again_and_again_is_read_once() -> None:
    """A small file cannot ask for a large slide a thousand times."""
    part = '<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst>' + '<p:sldId r:id="rId1"/>' * 1000
    whole = pptx({"one": shape("text")})
    entries = {"ppt/presentation.xml": part + "</p:sldIdLst></p:presentation>"}
    assert _read(_with(whole, entries)).text == "text"


def _with(file: io.BytesIO, entries: dict[str, str]) -> io.BytesIO:
    """The same archive with some of its entries replaced."""
    with zipfile.ZipFile(file) as archive:
        kept = {name: archive.read(name) for name in archive.namelist()}
    return zipped({**kept, **entries})


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"text", "not a PPTX file"),
        (zipped({"a.txt": "text"}).getvalue(), "a ZIP archive, but not a PPTX file"),
        (pptx({"one": "<p:sp>"}).getvalue(), "not well-formed"),
        (pptx({"one": "<p:grpSp>" * 400 + "</p:grpSp>" * 400}).getvalue(), "nested too deeply"),
        (pptx({f"s{n}": "" for n in range(5_001)}).getvalue(), "more than 5,000 slides"),
    ],
    ids=["text", "zip", "unclosed", "deep", "many"],
)
def test_a_file_that_is_no_presentation_has_a_plain_reason(data: bytes, reason: str) -> None:
    """No exception of a parser is passed on."""
    with pytest.raises(UnreadableFile, match=reason):
        _read(io.BytesIO(data))


@pytest.mark.skipif(not SAMPLE.exists(), reason="the sample documents are not on this machine")
def test_a_presentation_of_80_slides_is_whole() -> None:
    """Every title, cell and note."""
    with SAMPLE.open("rb") as file:
        parsed = reader.read(file, ReadOptions())
    assert [place.label for place in parsed.places] == [f"Slide title {number}" for number in range(80)]
    assert set(re.findall(r"Speaker note \d+", parsed.text)) == {f"Speaker note {number}" for number in range(80)}
    cells = {f"S{slide}r{row}c{column}" for slide in range(80) for row in range(3) for column in range(3)}
    assert cells - set(re.findall(r"S\d+r\dc\d", parsed.text)) == set()
