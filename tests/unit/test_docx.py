"""Word documents become Markdown: structure is kept, hidden text is not, and hostile files have a plain reason."""

from __future__ import annotations

import io
import re
import struct
import zipfile
from pathlib import Path

import pytest

from tests.office_files import docx, paragraph, zipped
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.formats import docx as reader
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions

SAMPLE = Path(__file__).parents[3] / "shared/data/documents/office/a.docx"
_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_STYLES = """
<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
<w:style w:type="paragraph" w:styleId="Chapter"><w:name w:val="Chapter"/><w:basedOn w:val="berschrift1"/></w:style>
<w:style w:type="paragraph" w:styleId="Deep"><w:name w:val="Deep"/>
<w:pPr><w:outlineLvl w:val="7"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Titel"><w:name w:val="Title"/></w:style>
<w:style w:type="character" w:styleId="Ghost"><w:name w:val="Ghost"/><w:rPr><w:vanish/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="Strong"><w:name w:val="Strong"/><w:rPr><w:b/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="Base"><w:name w:val="Base"/><w:basedOn w:val="Strong"/></w:style>
<w:style w:type="paragraph" w:styleId="LoopA"><w:name w:val="A"/><w:basedOn w:val="LoopB"/></w:style>
<w:style w:type="paragraph" w:styleId="LoopB"><w:name w:val="B"/><w:basedOn w:val="LoopA"/></w:style>
"""
_NUMBERING = f"""<w:numbering {_W}><w:abstractNum w:abstractNumId="1">
<w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl><w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl>
</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num></w:numbering>"""


def _read(file: io.BytesIO, *, keeps_hidden: bool = False) -> ParsedFile:
    return reader.read(file, ReadOptions(keeps_hidden=keeps_hidden))


def _listed(text: str, level: int) -> str:
    numbering = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="1"/></w:numPr>'
    return paragraph(text, properties=numbering)


def test_headings_keep_their_levels_whatever_their_styles_are_called() -> None:
    """The style of a heading is known by its English name, the style it is based on, or its outline level."""
    body = (
        paragraph("One", "berschrift1")
        + paragraph("Two", "Chapter")
        + paragraph("Three", "Deep")
        + paragraph("Four", properties='<w:outlineLvl w:val="2"/>')
        + paragraph("text", "LoopA")
    )
    assert _read(docx(body, _STYLES)).text == "# One\n\n# Two\n\n###### Three\n\n### Four\n\ntext"


def test_a_paragraph_in_bold_above_a_text_is_a_heading() -> None:
    """By its runs or its style; one that is bold in part, an item of a list and a cell are none."""
    text = paragraph("It says more.")
    part = "<w:p><w:r><w:rPr><w:b/></w:rPr><w:t>Bold</w:t></w:r><w:r><w:t> in part</w:t></w:r></w:p>"
    cell = f"<w:tbl><w:tr><w:tc>{paragraph('Name', run='<w:b/>')}</w:tc></w:tr></w:tbl>"
    number = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
    body = (
        paragraph("One", "berschrift1")
        + (paragraph("First start", run="<w:b/>") + text)
        + (paragraph("Next steps", "Base") + text)
        + (paragraph("Light", "Base", run='<w:b w:val="0"/>') + text)
        + (paragraph("Item", properties=number, run="<w:b/>") + text)
        + (part + text + cell + text)
    )
    found = _read(docx(body, _STYLES, {"word/numbering.xml": _NUMBERING})).text.splitlines()
    assert [line for line in found if line.startswith("#")] == ["# One", "## First start", "## Next steps"]


def test_the_style_of_a_title_is_a_heading_above_a_text() -> None:
    assert _read(docx(paragraph("Seen", "Titel") + paragraph("text"), _STYLES)).text == "# Seen\n\ntext"


def test_lists_keep_their_numbers_and_levels() -> None:
    """A nested item is indented below its parent."""
    body = _listed("first", 0) + _listed("inner", 1) + _listed("second", 0)
    text = _read(docx(body, others={"word/numbering.xml": _NUMBERING})).text
    assert [line for line in text.splitlines() if line] == ["1. first", "   - inner", "2. second"]


def test_tables_keep_every_cell_in_its_column() -> None:
    """Cells that span columns or rows leave empty ones, and paragraphs of a cell stay apart."""

    def cell(text: str, properties: str = "") -> str:
        return f"<w:tc><w:tcPr>{properties}</w:tcPr>{text}</w:tc>"

    wide = cell(paragraph("A") + paragraph("B"), '<w:gridSpan w:val="2"/>')
    tall = cell(paragraph("tall"), '<w:vMerge w:val="restart"/>')
    below = cell(paragraph(""), "<w:vMerge/>")
    rows = (tall + wide, below + cell(paragraph("x|y")) + cell(paragraph("z")))
    table = "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in rows) + "</w:tbl>"
    expected = "| tall | A B |  |\n| --- | --- | --- |\n|  | x\\|y | z |"
    assert _read(docx(table)).text == expected


def test_footnotes_are_part_of_the_text_and_comments_are_counted() -> None:
    """A note follows the text under its number; what reviewers wrote is left out."""
    notes = f'<w:footnotes {_W}><w:footnote w:id="2">{paragraph("the note")}</w:footnote></w:footnotes>'
    comments = f'<w:comments {_W}><w:comment w:id="1">{paragraph("a remark")}</w:comment></w:comments>'
    body = (
        '<w:p><w:r><w:t>claim</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r>'
        '<w:r><w:commentReference w:id="1"/></w:r></w:p>'
    )
    parsed = _read(docx(body, others={"word/footnotes.xml": notes, "word/comments.xml": comments}))
    assert parsed.text == "claim[1]\n\n1. the note"
    assert parsed.reading.notes == ("1 comments were left out",)


@pytest.mark.parametrize(
    ("run", "why"),
    [
        ("<w:vanish/>", "set as hidden"),
        ('<w:rStyle w:val="Ghost"/>', "set as hidden"),
        ('<w:sz w:val="2"/>', "too small"),
        ('<w:color w:val="FFFFFF"/>', "colour of its background"),
    ],
)
def test_hidden_text_is_left_out_and_counted_unless_it_is_asked_for(run: str, why: str) -> None:
    """Hidden by property or style, too small to be read, or white on white."""
    body = paragraph("seen") + paragraph("unseen", run=run)
    dropped, kept = _read(docx(body, _STYLES)), _read(docx(body, _STYLES), keeps_hidden=True)
    assert (dropped.reading.hidden_reasons, kept.reading.hidden_reasons) == ({why: 1}, {why: 1})
    assert (dropped.text, dropped.reading.hidden_runs, dropped.reading.hidden_kept) == ("seen", 1, False)
    assert (kept.text, kept.reading.hidden_runs, kept.reading.hidden_kept) == ("seen\n\nunseen", 1, True)


def test_text_of_a_hidden_default_is_hidden() -> None:
    """What the defaults of a document hide, no run needs to say."""
    default = "<w:docDefaults><w:rPrDefault><w:rPr><w:vanish/></w:rPr></w:rPrDefault></w:docDefaults>"
    parsed = _read(docx(paragraph("unseen") + paragraph("seen", run='<w:vanish w:val="0"/>'), default))
    assert (parsed.text, parsed.reading.hidden_runs) == ("seen", 1)


def test_white_text_on_a_filled_ground_is_seen() -> None:
    """Headers of tables and shaded paragraphs are white on purpose."""
    white = '<w:color w:val="FFFFFF"/>'
    shaded = paragraph("shaded", properties='<w:shd w:fill="000000"/>', run=white)
    table = f"<w:tbl><w:tr><w:tc>{paragraph('header', run=white)}</w:tc></w:tr></w:tbl>"
    parsed = _read(docx(shaded + table))
    assert (parsed.reading.hidden_runs, "shaded" in parsed.text, "header" in parsed.text) == (0, True, True)


def test_equations_text_boxes_and_descriptions_of_images_are_text() -> None:
    """Mammoth alone passes over all three."""
    equation = "<w:p><m:oMath><m:r><m:t>E=mc2</m:t></m:r></m:oMath></w:p>"
    box = (
        '<w:p><w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><w:txbxContent>'
        f"{paragraph('boxed')}</w:txbxContent></w:drawing></mc:Choice></mc:AlternateContent></w:r></w:p>"
    )
    image = (
        '<w:p><w:r><w:drawing><wp:inline><wp:docPr descr="a red bicycle"/><a:graphic><a:graphicData><pic:pic>'
        '<pic:blipFill><a:blip r:embed="rId1"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline>'
        "</w:drawing></w:r></w:p>"
    )
    text = _read(docx(equation + box + image)).text
    assert text.split() == ["E=mc2", "boxed", "[image:", "a", "red", "bicycle]"]


def test_the_title_is_the_one_a_person_sees() -> None:
    """A paragraph in the style of a title comes before the properties, which templates leave behind."""
    titled, untitled = _read(docx(paragraph("Seen", "Titel"), _STYLES)), _read(docx(paragraph("text"), _STYLES))
    assert (titled.title, untitled.title) == ("Seen", "Kept title")
    assert titled.facts == {"author": "Ada Example", "created": "2026-01-02T03:04:05Z", "tags": ["alpha", "beta"]}


def _lying_size() -> bytes:
    """An archive whose document states that it has 10 bytes."""
    data = bytearray(docx(paragraph("text " * 1000)).getvalue())
    for signature, at in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        start = -1
        while (start := data.find(signature, start + 1)) >= 0:
            struct.pack_into("<I", data, start + at, 10)
    return bytes(data)


def _overlapping() -> bytes:
    """An archive with two names for the same data."""
    file = zipped({"word/document.xml": "a" * 100_000, "word/other.xml": "b"})
    with zipfile.ZipFile(file) as archive:
        first, second = (info.header_offset for info in archive.infolist())
    data = bytearray(file.getvalue())
    at = data.rfind(b"PK\x01\x02")
    assert struct.unpack_from("<I", data, at + 42) == (second,)
    struct.pack_into("<I", data, at + 42, first)
    return bytes(data)


def _with_document(document: str) -> bytes:
    whole = zipfile.ZipFile(docx(""))
    entries = {name: whole.read(name) for name in whole.namelist()}
    return zipped({**entries, "word/document.xml": document}).getvalue()


_ENTITIES = (
    '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "'
    + "&a;" * 10
    + '"><!ENTITY c "'
    + "&b;" * 10
    + '">]>'
    + f"<w:document {_W}>&c;</w:document>"
)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a DOCX file"),
        (b"plain text, not an archive", "not a DOCX file"),
        (docx(paragraph("text")).getvalue()[:-200], "not a DOCX file"),
        (zipped({"a.txt": "text"}).getvalue(), "a ZIP archive, but not a DOCX file"),
        (zipped({"word/document.xml": b"0" * 40_000_000}).getvalue(), "grows more than 250 times"),
        (_lying_size(), "damaged"),
        (_overlapping(), "overlap"),
        (_with_document(_ENTITIES), "document type with declarations"),
        (_with_document("<w:p>" * 100), "not well-formed"),
        (_with_document(f"<w:document {_W}/>"), "not those of a Word document"),
        (docx("<w:p/>", '<w:style w:type="paragraph"/>').getvalue(), "not those of a Word document"),
        (_with_document(f"<d {_W}>" + "<w:p>" * 5_000 + "</w:p>" * 5_000 + "</d>"), "nested too deeply"),
        (_with_document(f'<d a="{"x" * 100_000_000}"/>'), "grows more than 250 times"),
    ],
    ids=[
        "empty",
        "text",
        "truncated",
        "plain-zip",
        "bomb",
        "lying",
        "overlapping",
        "entities",
        "unclosed",
        "body",
        "style",
        "deep",
        "attribute",
    ],
)
def test_a_file_that_is_no_document_has_a_plain_reason(data: bytes, reason: str) -> None:
    """Nothing is read beyond the bounds, and no exception of a library is passed on."""
    with pytest.raises(UnreadableFile, match=reason):
        _read(io.BytesIO(data))


def test_an_archive_of_too_many_entries_is_refused_before_its_directory_is_loaded() -> None:
    """The signatures of the directory are counted in the file itself."""
    with pytest.raises(UnreadableFile, match="more than 20,000 entries"):
        _read(io.BytesIO(b"PK\x01\x02" * 20_001))


@pytest.mark.skipif(not SAMPLE.exists(), reason="the sample documents are not on this machine")
def test_a_report_of_60_sections_is_whole() -> None:
    """Every heading with its level, every bullet and number, every cell."""
    with SAMPLE.open("rb") as file:
        text = reader.read(file, ReadOptions()).text
    found = {mark: len(re.findall(rf"^{re.escape(mark)} ", text, re.M)) for mark in ("#", "##", "-", "1.", "2.")}
    cells = {f"T{table}r{row}c{column}" for table in range(60) for row in range(4) for column in range(3)}
    assert found == {"#": 20, "##": 40, "-": 120, "1.": 60, "2.": 60}
    assert cells - set(re.findall(r"T\d+r\dc\d", text)) == set()


def test_raised_numbers_and_struck_words_keep_what_they_say() -> None:
    """By their own properties or by a style, whose line an own property takes off again."""
    styles = '<w:style w:type="character" w:styleId="Gone"><w:rPr><w:strike/></w:rPr></w:style>'
    looks = (
        ("10", ""),
        ("9", '<w:vertAlign w:val="superscript"/>'),
        (" m, 1", ""),
        ("st", '<w:vertAlign w:val="superscript"/>'),
        (", ", ""),
        ("not", "<w:dstrike/>"),
        (" ", ""),
        ("late", '<w:rStyle w:val="Gone"/>'),
        (" now", '<w:rStyle w:val="Gone"/><w:strike w:val="0"/>'),
    )
    runs = "".join(
        f'<w:r><w:rPr>{look}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>' for text, look in looks
    )
    assert _read(docx(f"<w:p>{runs}</w:p>", styles)).text == "10⁹ m, 1st, ~~not~~ ~~late~~ now"


def test_equations_keep_exponents_and_fractions() -> None:
    def term(text: str) -> str:
        return f"<w:r><w:t>{text}</w:t></w:r>"

    power = f"<w:sSup><w:e>{term('10')}</w:e><w:sup>{term('9')}</w:sup></w:sSup>"
    half = f"<w:f><w:num>{term('1')}</w:num><w:den>{term('2')}</w:den></w:f>"
    assert _read(docx(f"<w:p><w:oMath>{power}{term(' of ')}{half}</w:oMath></w:p>")).text == "10⁹ of 1/2"
