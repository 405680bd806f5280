"""OpenDocument texts and presentations become Markdown."""

from __future__ import annotations

import io

import pytest

from tests.office_files import opendocument, zipped
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.formats import opendocument as reader
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions

_STYLES = """
<style:style style:name="P1" style:parent-style-name="Title"/><style:style style:name="Title"/>
<style:style style:name="Gone"><style:text-properties text:display="none"/></style:style>
<style:style style:name="Tiny"><style:text-properties fo:font-size="1pt"/></style:style>
<style:style style:name="White"><style:text-properties fo:color="#FFFFFF"/></style:style>
<style:style style:name="Up"><style:text-properties style:text-position="super 58%"/></style:style>
<style:style style:name="Low"><style:text-properties style:text-position="-33% 58%"/></style:style>
<style:style style:name="Struck"><style:text-properties style:text-line-through-style="solid"/></style:style>
<style:style style:name="Bold"><style:text-properties fo:font-weight="bold"/></style:style>
<style:style style:name="P2" style:parent-style-name="Bold"/>
<style:style style:name="Light"><style:text-properties fo:font-weight="normal"/></style:style>
<style:style style:name="LoopA" style:parent-style-name="LoopB"/>
<style:style style:name="LoopB" style:parent-style-name="LoopA"/>
<style:style style:name="dp2"><style:drawing-page-properties presentation:visibility="hidden"/></style:style>
<text:list-style style:name="L1"><text:list-level-style-number text:level="1"/>
<text:list-level-style-bullet text:level="2"/></text:list-style>
"""


def _read(body: str, kind: str = "text", *, keeps_hidden: bool = False) -> ParsedFile:
    return reader.read(opendocument(body, _STYLES, kind), ReadOptions(keeps_hidden=keeps_hidden))


def test_headings_paragraphs_and_the_title() -> None:
    """White space is written as elements; deleted text and remarks are left out."""
    parsed = _read(
        "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
        '<text:p text:style-name="P1">Seen</text:p>'
        '<text:h text:outline-level="2">Part<text:s/>two</text:h>'
        "<text:p>a<text:line-break/>b<office:annotation><text:p>remark</text:p></office:annotation></text:p>"
        "<text:section><text:p>c <text:span>d</text:span></text:p></text:section>"
    )
    assert parsed.text == "Seen\n\n## Part two\n\na\nb\n\nc d"
    assert parsed.title == "Seen"
    assert parsed.facts == {"author": "Ada Example", "created": "2026-01-02T03:04:05"}
    assert parsed.reading.notes == ("1 comments were left out",)


def test_a_paragraph_in_bold_above_a_text_is_a_heading() -> None:
    """By its style, a parent of it, or its spans; a paragraph with other words, a cell and contents are none."""
    text = "<text:p>It says more.</text:p>"
    spans = '<text:span text:style-name="Bold">Next</text:span> <text:span text:style-name="P2">steps</text:span>'
    light = '<text:span text:style-name="Light">and light</text:span>'
    parsed = _read(
        '<text:h text:outline-level="1">Guide</text:h>'
        f'<text:p text:style-name="P2">First start</text:p>{text}'
        f"<text:p>{spans}</text:p>{text}"
        f'<text:p text:style-name="P2">Bold {light}</text:p>{text}'
        f'<text:p text:style-name="Bold">A bold sentence is text.</text:p>{text}'
        "<text:table-of-content><text:index-body>"
        f'<text:p text:style-name="Bold">First start 1</text:p>{text}</text:index-body></text:table-of-content>'
        '<table:table><table:table-row><table:table-cell><text:p text:style-name="Bold">Name</text:p>'
        f"</table:table-cell></table:table-row></table:table>{text}"
    )
    assert [line for line in parsed.text.splitlines() if line.startswith("#")] == [
        "# Guide",
        "## First start",
        "## Next steps",
    ]
    assert "\ufdd2" not in parsed.text


def test_a_heading_that_a_list_numbers_is_a_heading() -> None:
    heading = '<text:h text:outline-level="2">Rules</text:h>'
    listed = f"<text:list><text:list-item>{heading}</text:list-item></text:list><text:p>text</text:p>"
    assert _read(listed).text == "## Rules\n\ntext"
    assert _read(listed.replace("Rules", "A sentence of an item.")).text == "- A sentence of an item.\n\ntext"


def test_the_style_of_a_title_is_a_heading_above_a_text() -> None:
    assert _read('<text:p text:style-name="P1">Seen</text:p><text:p>text</text:p>').text == "# Seen\n\ntext"


def test_lists_keep_their_numbers_and_levels() -> None:
    """The style of a list says which levels are numbered."""
    inner = "<text:list><text:list-item><text:p>x</text:p></text:list-item></text:list>"
    items = f"<text:list-item><text:p>one</text:p>{inner}</text:list-item>"
    items += "<text:list-item><text:p>two</text:p></text:list-item>"
    assert _read(f'<text:list text:style-name="L1">{items}</text:list>').text == "1. one\n   - x\n2. two"


def test_tables_and_footnotes() -> None:
    """A covered cell is empty, a repeated one is repeated."""
    rows = (
        '<table:table-row><table:table-cell table:number-columns-repeated="2">'
        "<text:p>h</text:p></table:table-cell></table:table-row>",
        "<table:table-row><table:table-cell><text:p>a|b</text:p><text:p>c</text:p></table:table-cell>"
        "<table:covered-table-cell/></table:table-row>",
    )
    note = "<text:note><text:note-body><text:p>the note</text:p></text:note-body></text:note>"
    text = _read(
        f"<table:table><table:table-header-rows>{rows[0]}</table:table-header-rows>{rows[1]}</table:table>"
        f"<text:p>claim{note}</text:p>"
    ).text
    assert text == "| h | h |\n| --- | --- |\n| a\\|b c |  |\n\nclaim[1]\n\n1. the note"


def test_raised_numbers_and_struck_words_keep_what_they_say() -> None:
    looks = (("", "10"), ("Up", "9"), ("", " m, 1"), ("Up", "st"), ("", ", x"), ("Low", "2"), ("", ", "))
    spans = "".join(
        f'<text:span text:style-name="{style}">{text}</text:span>' for style, text in (*looks, ("Struck", "not"))
    )
    body = f"<text:p>{spans} now</text:p>"
    assert _read(body).text == "10⁹ m, 1st, x2, ~~not~~ now"


def test_text_boxes_and_images_are_read() -> None:
    """Frames follow the paragraph that they are anchored in, nested ones once."""
    inner = "<draw:frame><draw:text-box><text:p>inner</text:p></draw:text-box></draw:frame>"
    image = "<draw:frame><draw:image/><svg:desc>a map</svg:desc></draw:frame>"
    box = f"<draw:frame><draw:text-box><text:p>boxed{inner}</text:p></draw:text-box></draw:frame>"
    assert _read(f"<text:p>text{box}{image}</text:p>").text == "text\n\nboxed\n\ninner\n\n[image: a map]"


@pytest.mark.parametrize(
    ("hidden", "why"),
    [
        ('<text:p text:style-name="Gone">unseen</text:p>', "set as hidden"),
        ('<text:p><text:span text:style-name="Tiny">unseen</text:span></text:p>', "too small"),
        ('<text:p text:style-name="White">unseen</text:p>', "colour of its background"),
        ('<text:p><text:hidden-text text:string-value="unseen"/></text:p>', "set as hidden"),
    ],
)
def test_hidden_text_is_left_out_and_counted_unless_it_is_asked_for(hidden: str, why: str) -> None:
    """Hidden by property, too small, white on white, or in a field that is not shown."""
    body = f'<text:p text:style-name="LoopA">seen</text:p>{hidden}'
    dropped, kept = _read(body), _read(body, keeps_hidden=True)
    assert (dropped.reading.hidden_reasons, kept.reading.hidden_reasons) == ({why: 1}, {why: 1})
    assert (dropped.text, dropped.reading.hidden_runs, dropped.reading.hidden_kept) == ("seen", 1, False)
    assert (kept.text, kept.reading.hidden_runs, kept.reading.hidden_kept) == ("seen\n\nunseen", 1, True)


def test_slides_have_titles_notes_and_numbers() -> None:
    """A hidden slide keeps its number and is left out."""

    def frame(text: str, role: str) -> str:
        box = f"<draw:text-box><text:p>{text}</text:p></draw:text-box>"
        return f'<draw:frame presentation:class="{role}">{box}</draw:frame>'

    notes = f"<presentation:notes>{frame('7', 'page-number')}{frame('say this', 'notes')}</presentation:notes>"
    body = (
        f"<draw:page>{frame('body', 'outline')}{frame('Plan', 'title')}{notes}</draw:page>"
        f'<draw:page draw:style-name="dp2">{frame("secret", "outline")}</draw:page>'
        f"<draw:page>{frame('end', 'outline')}</draw:page>"
    )
    parsed = _read(body, "presentation")
    assert parsed.text == "# Plan\n\nbody\n\nNotes:\n\nsay this\n\nend"
    assert [(place.kind, place.number, place.label) for place in parsed.places] == [
        ("slide", 1, "Plan"),
        ("slide", 3, ""),
    ]
    assert (parsed.reading.pages, parsed.reading.hidden_reasons) == (3, {"hidden slide": 1})
    assert parsed.reading.notes == ("hidden slides: 2 were left out",)
    assert "secret" in _read(body, "presentation", keeps_hidden=True).text


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"text", "no ZIP archive"),
        (zipped({"a.txt": "x"}).getvalue(), "not an OpenDocument file"),
        (zipped({"content.xml": "<a/>"}).getvalue(), "neither a text nor a presentation"),
        (opendocument("<text:p>").getvalue(), "not well-formed"),
        (opendocument("<text:section>" * 300 + "</text:section>" * 300).getvalue(), "nested too deeply"),
        (opendocument("<text:list-item>" * 190 + "</text:list-item>" * 190).getvalue(), ""),
        (
            opendocument("", others={"META-INF/manifest.xml": "<m><e><encryption-data/></e></m>"}).getvalue(),
            "encrypted",
        ),
    ],
    ids=["text", "zip", "other", "unclosed", "deep", "list", "encrypted"],
)
def test_a_file_that_is_no_document_has_a_plain_reason(data: bytes, reason: str) -> None:
    """No exception of a parser is passed on."""
    if not reason:
        assert reader.read(io.BytesIO(data), ReadOptions()).text == ""
        return
    with pytest.raises(UnreadableFile, match=reason):
        reader.read(io.BytesIO(data), ReadOptions())
