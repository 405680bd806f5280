"""Pages whose lists, tables and titles are made of elements that HTML has for something else."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.models import Document
from winnow.server.readers.chunking import list_headings
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.markup import html_to_markdown


def markdown(page: str) -> str:
    return html_to_markdown(page)[1]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<ul><li><ul><li><h3>Kilns</h3><p>Hot.</p></li></ul></li></ul>", "### Kilns\n\nHot."),
        ("<ul><li><section><h3>Kilns</h3></section><p>Hot.</p></li></ul>", "### Kilns\n\nHot."),
        ("<ul><li><p>Hot.</p></li><li><h3>Kilns</h3><p>Cold.</p></li></ul>", "- Hot.\n\n### Kilns\n\nCold."),
        ("<ol start=4><li><h3>Kilns</h3><p>Hot.</p></li></ol>", "### 4. Kilns\n\nHot."),
        ("<ol><li>Hot.<h3>Kilns</h3></li></ol>", "1. Hot.\n\n### Kilns"),
        ("<dl><dt><h3>Kilns</h3></dt><dd>Hot.</dd></dl>", "### Kilns\n\nHot."),
        ("<details><summary><h3>Kilns</h3></summary><p>Hot.</p></details>", "### Kilns\n\nHot."),
        ("<blockquote><h3>Kilns</h3><p>Hot.</p></blockquote>", "### Kilns\n\nHot."),
        ("<ul><li><table><tr><td><h3>Kilns</h3>Hot.</td></tr></table></li></ul>", "### Kilns\n\nHot."),
        # true lists:
        ("<ul><li>Kilns<ul><li>hot</li></ul></li></ul>", "- Kilns\n\n  - hot"),
        ("<ul><li><p>Kilns</p><p>Hot.</p></li></ul>", "- Kilns\n\n  Hot."),
    ],
)
def test_an_item_with_a_heading_is_no_item(page: str, text: str) -> None:
    assert markdown(page) == text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        pytest.param(
            "<table><tr><td><h2>Kilns</h2><p>Hot.</p></td><td><img></td></tr></table>",
            "## Kilns\n\nHot.",
            id="a heading beside an image",
        ),
        pytest.param(
            "<table><tr><td colspan=2><h2>Kilns</h2></td></tr><tr><td>a</td><td>b</td></tr></table>",
            "## Kilns\n\n| a | b |\n| --- | --- |",
            id="a heading above rows",
        ),
        pytest.param(
            "<table><tr><td>a</td><td>b</td></tr><tr><td><h2>Kilns</h2></td></tr><tr><td>c</td><td>d</td></tr></table>",
            "| a | b |\n| --- | --- |\n\n## Kilns\n\n| c | d |\n| --- | --- |",
            id="a heading between rows",
        ),
        pytest.param(
            "<table><tr><td><pre>make\nrun</pre></td></tr></table>", "```\nmake\nrun\n```", id="code in a box"
        ),
        pytest.param(
            "<table><tr><td><ul><li>ash</li></ul></td><td><ul><li>wood</li></ul></td></tr></table>",
            "- ash\n\n- wood",
            id="columns of lists",
        ),
        pytest.param(
            "<table><tr><td>Note</td></tr><tr><td><p>Hot.</p><p>Cold.</p></td></tr></table>",
            "Note\n\nHot.\n\nCold.",
            id="a box with a title",
        ),
        pytest.param(
            "<table><tr><td>Menu</td><td><table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>"
            "</td></tr></table>",
            "Menu\n\n| a | b |\n| --- | --- |\n| c | d |",
            id="a table within a table",
        ),
        pytest.param(
            "<table><tr><td><table><tr><td><p>Hot.</p><p>Cold.</p></td></tr></table></td></tr></table>",
            "Hot.\n\nCold.",
            id="a frame around a frame",
        ),
        pytest.param(
            '<table role="presentation"><tr><td>Dear Ada,</td><td>hello.</td></tr></table>',
            "Dear Ada,\n\nhello.",
            id="a table that states its role",
        ),
        pytest.param(
            "<table><caption>Kilns</caption><tr><td>a</td><td>b</td></tr></table>",
            "Kilns\n\n| a | b |\n| --- | --- |",
            id="a caption",
        ),
        # tables of data:
        pytest.param(
            "<table><tr><td>a</td><td><p>b</p><p>c</p></td></tr><tr><td>d</td><td>e</td></tr></table>",
            "| a | b c |\n| --- | --- |\n| d | e |",
            id="paragraphs within a row",
        ),
        pytest.param(
            "<table><tr><td>a</td><td>b</td></tr><tr><td></td><td><p>c</p><p>d</p></td></tr></table>",
            "| a | b |\n| --- | --- |\n|  | c d |",
            id="paragraphs beside an empty cell",
        ),
        pytest.param(
            "<table><tr><td rowspan=2>a</td><td>b</td></tr><tr><td><p>c</p><p>d</p></td></tr></table>",
            "| a | b |\n| --- | --- |\n|  | c d |",
            id="paragraphs beside a cell of two rows",
        ),
        pytest.param(
            "<table><tr><th><h4>a</h4></th><th><h4>b</h4></th></tr><tr><td>1</td><td>2</td></tr>"
            "<tr><td>3</td><td>4</td></tr></table>",
            "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |",
            id="names of columns in headings",
        ),
        pytest.param(
            "<table><tr><td>a</td><td></td></tr><tr><td></td><td></td></tr><tr><td>b</td><td>c</td></tr></table>",
            "| a |  |\n| --- | --- |\n| b | c |",
            id="an empty row",
        ),
        pytest.param(
            "<table><tr><td>a<h3>b</h3>c</td><td>d</td><tr><td>1</td><td>2</td></tr></table>",
            "a\n\n### b\n\nc\n\nd\n\n| 1 | 2 |\n| --- | --- |",
            id="words beside a heading",
        ),
        pytest.param(
            "<table><tr><td>a<pre>b</pre>c</td><td>d</td><tr><td>1</td><td>2</td></tr></table>",
            "| a b c | d |\n| --- | --- |\n| 1 | 2 |",
            id="words beside code",
        ),
    ],
)
def test_a_row_that_arranges_the_page_is_no_row(page: str, text: str) -> None:
    assert markdown(page) == text


JAVADOC, OLD_JAVADOC = "<!-- Generated by javadoc -->", "<script>parent.document.title='a'</script>"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        pytest.param(
            """<link href="doxygen.css"><div class="headertitle"><div class="title">kiln.h</div></div>Hot.""",
            "# kiln.h\n\nHot.",
            id="Doxygen: title",
        ),
        pytest.param(
            """<link href="doxygen.css"><table><tr><td colspan=2><div class="groupHeader">Fuel</div></td></tr>
            <tr class="inherit_header a"><td colspan=2>Inherited from Oven</td></tr>
            <tr><td>int</td><td>heat</td></tr></table>""",
            "### Fuel\n\n### Inherited from Oven\n\n| int | heat |\n| --- | --- |",
            id="Doxygen: groups of members",
        ),
        pytest.param(
            """<link href="doxygen.css"><h2 class="memtitle"><span class="permalink"><a>\u25c6 </a></span>
            heat()</h2><div class="memproto"><table class="memname"><tr><td>int heat</td><td>(</td>
            <td>int</td><td>t</td><td>)</td></tr></table></div>""",
            "## heat()\n\nint heat ( int t )",
            id="Doxygen: a member",
        ),
        pytest.param(
            """<link href="doxygen.css"><div class="fragment"><div class="line"> 1 if:</div>
            <div class="line"> 2   go</div><div class="ttc"><div>kiln.h:1</div></div></div>""",
            "```\n 1 if:\n 2   go\nkiln.h:1\n```",
            id="Doxygen: code",
        ),
        pytest.param(
            OLD_JAVADOC
            + """<table><tr><td class="NavBarCell1">Tree</td></tr></table>
            <table><tr class="TableHeadingColor"><th colspan=2><font size="+2"><b>Fields</b></font></th></tr>
            <tr><td>int</td><td>heat</td></tr></table>
            <table><tr class="TableSubHeadingColor"><th><b>Inherited from Oven</b></th></tr>
            <tr><td>fuel</td></tr></table>""",
            "## Fields\n\n| int | heat |\n| --- | --- |\n\n### Inherited from Oven\n\nfuel",
            id="Javadoc 1.2 to 6",
        ),
        pytest.param(
            JAVADOC
            + """<ul class="blockList"><li class="blockList"><table class="typeSummary">
            <caption><span>Kilns</span></caption><tr><td>Kiln</td><td>hot</td></tr></table></li></ul>
            <table class="memberSummary"><caption><span class="activeTableTab">All</span>
            <span class="tableTab">Static</span></caption><tr><td>int</td><td>heat</td></tr></table>""",
            "## Kilns\n\n| Kiln | hot |\n| --- | --- |\n\n| int | heat |\n| --- | --- |",
            id="Javadoc 7 to 15",
        ),
        pytest.param(
            JAVADOC
            + """<ul class="block-list"><li><div id="class"><div class="caption"><span>Kilns</span></div>
            <div class="summary-table two-column-summary"><div class="table-header col-first">Class</div>
            <div class="table-header col-last">Description</div><div class="col-first">Kiln</div>
            <div class="col-last"><div class="block">hot | cold</div></div></div></div></li></ul>""",
            "## Kilns\n\n| Class | Description |\n| --- | --- |\n| Kiln | hot \\| cold |",
            id="Javadoc 16 and later: two columns",
        ),
        pytest.param(
            JAVADOC
            + """<ul class="summary-list"><li><section><p>All.</p><div class="three-column-summary"><div>a</div>
            <div>b</div><div>c</div><div>d</div><div></div><div>f</div></div></section></li></ul>""",
            "All.\n\n| a | b | c |\n| --- | --- | --- |\n| d |  | f |",
            id="Javadoc 16 and later: three columns",
        ),
        pytest.param(
            """<meta name="GENERATOR" content="Modular DocBook"><div class="NAVHEADER"><table><tr><td>Next</td>
            </tr></table></div><div class="TOC"><dl><dt><b>Contents</b></dt><dt>1. Kilns</dt></dl></div>""",
            "## Contents\n\n1. Kilns",
            id="DSSSL stylesheets for DocBook",
        ),
        pytest.param(
            """<link href="epydoc.css"><table><tr><td class="table-header"><table><tr><td>
            <span class="table-header">Kilns</span></td><td>[hide]</td></tr></table></td></tr>
            <tr><td>int</td><td>heat</td></tr></table>""",
            "## Kilns\n\n[hide]\n\n| int | heat |\n| --- | --- |",
            id="Epydoc",
        ),
        pytest.param(
            """<!-- Generated by Natural Docs --><div class="STitle">Summary</div><p>Hot.</p>""",
            "## Summary\n\nHot.",
            id="Natural Docs",
        ),
        pytest.param(
            """<div class="info-box"><div class="info-box-title">Kilns</div><div>Hot.</div></div>
            <p>by phpDocumentor</p>""",
            "## Kilns\n\nHot.\n\nby phpDocumentor",
            id="phpDocumentor",
        ),
        pytest.param(
            """<link href="rdoc-style.css"><div class="sectiontitle">Kilns</div>Hot.""",
            "## Kilns\n\nHot.",
            id="RDoc",
        ),
        pytest.param(
            """<link href="haddock.css"><table><tr><td class="section1">Kilns</td></tr><tr><td>Hot.</td></tr>
            <tr><td class="section2">Ovens</td></tr><tr><td>a</td><td>b</td></tr></table>""",
            "## Kilns\n\n| Hot. |\n| --- |\n\n### Ovens\n\n| a | b |\n| --- | --- |",
            id="Haddock 0.6 to 2.6",
        ),
        pytest.param(
            """<div id="toctitle">Contents</div><p>1. Kilns</p>""", "## Contents\n\n1. Kilns", id="AsciiDoc"
        ),
        pytest.param("""<p class="MsoTitle">Kilns</p><p>Hot.</p>""", "# Kilns\n\nHot.", id="Microsoft Word"),
    ],
)
def test_titles_rows_and_code_of_generators_are_read_as_they_are_displayed(page: str, text: str) -> None:
    assert markdown(page) == text


@pytest.mark.parametrize("stated", ["winnow-columns", "winnow-columns=0", "winnow-columns=a", "winnow-columns=-2"])
def test_a_page_that_states_attributes_of_its_own_is_read(stated: str) -> None:
    assert "Hot." in markdown(f"<div {stated}><div>Hot.</div></div>")


@pytest.mark.parametrize(
    "page",
    [
        "<table><tr>" + "<td><h3>a</h3></td>" * 4_000 + "<tr><td>1<td>2<tr><td>3<td>4</table>",
        "<div>" * 20_000 + "<h3>a</h3>" * 2_000,
        "<table><tr><td>a<td>" * 4_000,
        "<ul><li>" * 4_000 + "<h3>a</h3>" * 2_000,
    ],
    ids=["headings in one row", "headings in deep elements", "tables within tables", "lists within lists"],
)
def test_a_page_with_very_many_headings_or_tables_is_read_or_refused(page: str) -> None:
    with suppress(UnreadableFile):
        assert "a" in markdown(page)


def test_a_heading_without_words_is_none() -> None:
    assert markdown("<h2><a id='a'></a></h2><p>Hot.</p>") == "Hot."


def test_the_classes_of_a_generator_mean_nothing_in_other_pages() -> None:
    page = """<div class="STitle">Kilns</div><div class="two-column-summary"><div>a</div><div>b</div></div>"""
    assert markdown(page) == "Kilns\n\na\n\nb"


def test_passages_below_a_heading_within_lists_and_tables_have_it_in_their_path() -> None:
    page = """<h2>Oven</h2><ul><li><ul><li><h3>Kilns</h3><p>Hot.</p></li></ul></li></ul>
    <table><tr><td><h2>Fuel</h2></td></tr><tr><td>wood</td><td>ash</td></tr></table>"""
    document = Document(
        id="a", uri="a.html", source="a.html", content_hash="", project="p", type="html", title="A"
    )
    assert list_headings(document, markdown(page)) == [("Oven",), ("Oven", "Kilns"), ("Fuel",)]


def test_a_place_for_a_line_break_within_a_name_is_no_character() -> None:
    assert markdown("<p>heat\u200b(int t)</p><p>ไทย\u200bไทย</p>") == "heat(int t)\n\nไทย\u200bไทย"


ELEMENTS = [
    "div",
    "p",
    "ul",
    "ol",
    "li",
    "table",
    "tr",
    "td",
    "th",
    "h2",
    "h4",
    "pre",
    "b",
    "span",
    "caption",
    "dl",
    "dt",
]
CLASSES = [
    "",
    "title",
    "caption",
    "inherit_header",
    "memproto",
    "fragment",
    "blockList",
    "two-column-summary",
    "TableHeadingColor",
]


@st.composite
def pages(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A page of elements in any order within each other, which names three generators, and its words."""
    parts, words, opened = ["<link href='doxygen.css'><!-- Generated by javadoc -->"], [], []
    for number in range(draw(st.integers(1, 25))):
        tag = draw(st.sampled_from(ELEMENTS))
        parts.append(
            f'<{tag} class="{draw(st.sampled_from(CLASSES))}" role="{draw(st.sampled_from(["", "none"]))}">'
        )
        opened.append(tag)
        if draw(st.booleans()):
            words.append(f"W{number}x")
            parts.append(words[-1])
        while opened and draw(st.booleans()):
            parts.append(f"</{opened.pop()}>")
    return "".join(parts), words


@given(pages())
def test_no_word_of_a_page_is_lost_or_written_twice(page: tuple[str, list[str]]) -> None:
    html, words = page
    assert sorted(re.findall(r"W\d+x", markdown(html))) == sorted(words)
