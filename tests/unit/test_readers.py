"""Readers: the visible content of a file becomes the document; an unreadable file gets a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.ingest.file_discovery import find_files, resolve_roots
from winnow.server.models import Place, Reading
from winnow.server.readers.common.unmarked_headings import embolden, write_headings
from winnow.server.readers.documents import (
    DefaultLabels,
    RawDocument,
    UnreadableFile,
    apply_labels,
    clean_document,
    clean_text,
    flatten,
)
from winnow.server.readers.reading import LARGEST_FILE_BYTES, ReadFlaw, kind_of, read
from winnow.server.text.printable import printable


def only(path: Path) -> RawDocument:
    (found,) = read(path, path.name)
    assert isinstance(found, RawDocument)
    return found


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_front_matter_describes_a_page_and_stays_in_its_text(tmp_path: Path) -> None:
    facts = "---\ntitle: Pods\ntags: [core, api]\nvendor: acme\ndate: 2026-02-01\nweight: 3\n---\n"
    text = f"{facts}# Other\nBody\n"
    assert only(write(tmp_path, "a.md", text)) == RawDocument(
        uri="a.md",
        type="markdown",
        title="Pods",
        text=text,
        vendor="acme",
        tags=("core", "api"),
        created="2026-02-01",
        metadata={
            "title": "Pods",
            "tags": ["core", "api"],
            "vendor": "acme",
            "date": "2026-02-01",
            "weight": 3,
        },
        body_start=len(facts),
    )


@pytest.mark.parametrize(
    "text",
    [
        "---\n: [broken\n---\nBody",
        "---\n- a list\n---\nBody",
        "---\nnever: closed\nBody",
        "+++\nnot toml\n+++\nBody",
    ],
)
def test_what_is_no_front_matter_is_text(tmp_path: Path, text: str) -> None:
    assert only(write(tmp_path, "a.md", text)).text == text


def test_aliases_in_front_matter_do_not_multiply(tmp_path: Path) -> None:
    layers = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 12))
    page = only(write(tmp_path, "a.md", f"---\nl0: &l0 x\n{layers}\n---\nBody"))
    assert page.text[page.body_start :] == "Body"
    assert page.metadata["l1"] == ["x"] * 9
    assert all(len(value) <= 100 for value in page.metadata.values())


STAGES = """
stages:
  - stage: alpha
    defaultValue: false
    fromVersion: "1.8"
  - {stage: beta, fromVersion: "1.9", notes: [{by: me}]}
card: {name: tasks, size: {width: 2}}
"""


def test_nested_front_matter_has_dotted_names(tmp_path: Path) -> None:
    assert only(write(tmp_path, "a.md", f"---{STAGES}---\nBody")).metadata == {
        "stages.stage": ["alpha", "beta"],
        "stages.defaultValue": [False, None],
        "stages.fromVersion": ["1.8", "1.9"],
        "stages.notes.by": ["me"],
        "card.name": "tasks",
        "card.size.width": 2,
    }


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"a": []}, {"a": []}),
        ({"a": [None, 1]}, {"a": [1]}),
        ({"a": None, "b": float("inf"), "c": b"x"}, {}),
        ({"a": [1, {"b": 2}, [3, [4]]]}, {"a": [1, 3, 4], "a.b": [2]}),
        ({"a.b": 1, "a": {"b": 2}}, {"a.b": 1}),
        ({"a.b": 1, "a": [{"b": 2}]}, {"a.b": 1}),
        ({"a": {"z", "b"}}, {"a": ["b", "z"]}),
        ({"a": {1: {2: 3}}}, {"a.1.2": 3}),
        ({"": 1, None: 2}, {"": 1}),
        ({"a": list(range(150))}, {"a": list(range(100))}),
        ({"a": [{"b": 1, "c": None}, {"b": None, "c": 2}, {}]}, {"a.b": [1, None, None], "a.c": [None, 2, None]}),
        ({"a": [{"b": None}, {"b": None}]}, {"a.b": []}),
    ],
)
def test_facts_are_flattened_to_plain_values(facts: dict[Any, Any], expected: dict[str, Any]) -> None:
    assert flatten(facts) == expected


def test_facts_that_contain_themselves_end(tmp_path: Path) -> None:
    page = "---\na: &a\n  b: *a\n  c: [*a, *a, *a]\n  d: x\n---\nBody"
    assert only(write(tmp_path, "a.md", page)).metadata["a.d"] == "x"


_FACTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3) | st.integers() | st.none(), inner, max_size=4)
    ),
)


@given(st.dictionaries(st.text(max_size=3), _FACTS, max_size=5))
def test_flattened_facts_are_bounded_json_scalars_and_lists_of_them(facts: dict[str, Any]) -> None:
    flat = flatten(facts)
    scalars = [item for value in flat.values() for item in (value if isinstance(value, list) else [value])]
    assert all(item is None or isinstance(item, str | int | float) for item in scalars)
    assert (len(flat) <= 200, json.loads(json.dumps(flat, allow_nan=False)) == flat) == (True, True)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_the_text_of_a_page_is_its_file_with_unix_line_ends(tmp_path: Path, ending: str) -> None:
    lines = ["---", "title: Pods", "---", "Body", "Words", ""]
    page = clean_document(only(write(tmp_path, "a.md", ending.join(lines))))
    assert (page.title, page.text) == ("Pods", "\n".join(lines))
    assert page.text[page.body_start :] == "Body\nWords\n"


def test_front_matter_may_be_toml(tmp_path: Path) -> None:
    assert only(write(tmp_path, "a.md", '+++\ntitle = "Pods"\n+++\nBody')).title == "Pods"


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("a.md", "intro\n\n# The `first` heading #\n", "The first heading"),
        ("plain.md", "no heading", "plain"),
        ("notes.txt", "words", "notes"),
        ("tool.py", "x = 1", "tool.py"),
        ("page.html", "<title>A  page</title><h1>Other</h1>", "A page"),
        ("page.rst", "Title\n=====\n\nText\n", "Title"),
    ],
)
def test_every_kind_of_file_has_a_title(tmp_path: Path, name: str, text: str, title: str) -> None:
    assert only(write(tmp_path, name, text)).title == title


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            """<div class="related" role="navigation"><h3>Navigation</h3><a href="i.html">index</a></div>
            <div class="body" role="main"><h1>Stores<a class="headerlink" href="#s">¶</a></h1><p>Kept.</p>
            </div><div class="sphinxsidebar"><h3>Quick search</h3></div>""",
            id="Sphinx",
        ),
        pytest.param(
            """<div id="top"><div id="titlearea">Project 1.0</div><div class="tablist">Main</div>
            <div id="nav-path"><ul><li>dir</li></ul></div></div><h1>Stores</h1><p>Kept.</p>""",
            id="Doxygen",
        ),
        pytest.param(
            """<div class="navheader"><table><tr><td>Prev</td></tr></table></div><h1>Stores</h1><p>Kept.</p>
            <div class="navfooter"><table><tr><td>Next</td></tr></table></div>""",
            id="DocBook",
        ),
        pytest.param(
            """<div class="header"><p>Next: <a href="b.html">Order</a>, Up: <a href="a.html">Top</a></p></div>
            <h1>Stores<a class="copiable-anchor" href="#s"> &para;</a></h1><p>Kept.</p>
            <div class="nav-panel"><p>Next: <a href="b.html">Order</a></p></div>""",
            id="Texinfo",
        ),
        pytest.param(
            """<div class="topNav"><ul class="navList"><li>Package</li></ul></div><h1>Stores</h1><p>Kept.</p>
            <div class="bottomNav"><ul><li>Class</li></ul></div>""",
            id="Javadoc",
        ),
        pytest.param(
            """<div class="navbar">Home</div><div role="main"><h1>Stores</h1><p>Kept.</p></div>
            <div role="dialog"><h4>Search</h4></div>""",
            id="MkDocs",
        ),
        pytest.param(
            """<table class="navigation"><tr><td>Top</td></tr></table><h1>Stores</h1><p>Kept.</p>
            <div class="chlinkbot">Goto Chapter</div><div id="footer">Last updated</div>""",
            id="GTK-Doc, GAPDoc and Asciidoctor",
        ),
        pytest.param(
            """<div class="header"><h1>Stores <a class="anchor" href="#s">#</a></h1></div><p>Kept.</p>""",
            id="a heading in an element that others use for links",
        ),
    ],
)
def test_menus_links_to_other_pages_and_signs_of_headings_are_no_text(tmp_path: Path, page: str) -> None:
    found = only(write(tmp_path, "a.html", f"<html><body>{page}</body></html>"))
    assert found.text == "# Stores\n\nKept."


def test_html_keeps_headings_lists_tables_and_code_and_drops_the_rest(tmp_path: Path) -> None:
    page = """<html><head><style>p{}</style></head><body><nav>Menu</nav><main>
      <h1>Guide</h1><p>Run <code>make</code> &amp; wait.<br>Then</p><script>alert(1)</script>
      <ul><li>one</li><li>two</li></ul><pre><code>if x:
    y</code></pre><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2|3</td></tr></table>
    </main><footer>Legal</footer></body></html>"""
    assert only(write(tmp_path, "a.html", page)).text == (
        "# Guide\n\nRun `make` & wait.\nThen\n\n- one\n\n- two\n\n```\nif x:\n    y\n```\n\n"
        "| a | b |\n| --- | --- |\n| 1 | 2\\|3 |"
    )


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("the sign ` and <code>b</code>", "the sign \\` and `b`"),
        ("the old `<code>b</code>' and ``so''", "the old \\``b`' and \\`\\`so''"),
        ("a path C:\\<code>b</code> or \\`", "a path C:\\\\`b` or \\\\\\`"),
        ("<code>List</code><b><code>.of</code></b> and <code></code> more", "`List.of` and  more"),
        ("of <code>a `div` b</code> and <code>``</code>", "of `` a `div` b `` and ``` `` ```"),
    ],
)
def test_a_backtick_of_html_is_no_mark_of_code(tmp_path: Path, page: str, text: str) -> None:
    found = only(write(tmp_path, "a.html", f"<p>{page}</p><table><tr><td>{page}</td></tr></table>"))
    assert found.text.split("\n\n")[0] == text
    assert "| the sign \\` and b |" in found.text or "sign" not in page


def test_code_that_has_a_fence_is_in_a_longer_one(tmp_path: Path) -> None:
    fenced = "````\n```\nmake\n```\n````"
    assert only(write(tmp_path, "a.html", "<pre>```\nmake\n```</pre>")).text == fenced
    assert only(write(tmp_path, "a.rst", "::\n\n   ```\n   make\n   ```\n")).text == fenced


def test_html_keeps_what_raised_struck_and_divided_text_says(tmp_path: Path) -> None:
    page = """<p>About 10<sup>9</sup> units of 10<sup>\u22123</sup> m on the 1<sup>st</sup>,
      <del>not</del> <s>late</s>, <math><mfrac><mn>1</mn><mn>2</mn></mfrac></math> of all,
      <span style="color: red; text-decoration: line-through">never</span>,
      <math><msup><mn>10</mn><mn>9</mn></msup></math>.</p>
      <table><tr><td>m<sup>2</sup></td></tr></table>"""
    assert only(write(tmp_path, "a.html", page)).text == (
        "About 10⁹ units of 10⁻³ m on the 1st, ~~not~~ ~~late~~, 1/2 of all, ~~never~~, 10⁹.\n\n| m² |\n| --- |"
    )


@pytest.mark.parametrize(
    ("body", "headings"),
    [
        ("<p><b>First start</b></p><p>text</p>", ["## First start"]),
        ("<p><strong>First</strong> <em><b>start</b></em></p><p>text</p>", ["## First start"]),
        ("<div><b>First start</b></div>text", ["## First start"]),
        ("<p><b>First start</b><br>text</p>", ["## First start"]),
        ('<p><font size="+2">First start</font></p><p>text</p>', ["## First start"]),
        ('<p style="color: red; font-weight: bold">First start</p><p>text</p>', ["## First start"]),
        ('<p class="caption">Synopsis</p><ul><li>text</li></ul>', ["## Synopsis"]),
        ('<p role="heading" aria-level="3">Contents:</p><p>text</p>', ["### Contents:"]),
        ("<p><b>The <code>List</code></b><b> of <code>all</code></b></p><p>text</p>", ["## The `List` of `all`"]),
        (
            "<p><b>One</b></p><p>text</p><h2>Two</h2><p>text</p><p><b>Three</b></p>text",
            ["## One", "## Two", "### Three"],
        ),
        # no headings:
        ("<p><b>A bold sentence is text.</b></p><p>text</p>", []),
        ("<p><b>Note:</b></p><p>text</p>", []),
        ("<p><b>Note</b> it</p><p>text</p>", []),
        ("<p>text<br><b>within a paragraph</b><br>text</p>", []),
        ("<p>text<br><b>Within a paragraph</b><br>text</p>", []),
        ("<dl><dt><b>Term</b></dt><dd>text</dd></dl>", []),
        ("<ul><li><p><b>Item</b></p><p>text</p></li></ul>", []),
        ("<table><tr><td><p><b>Cell</b></p></td></tr></table><p>text</p>", []),
        ('<div class="figure"><p class="caption">A kiln</p></div><p>text</p>', []),
        ("<p><b>Table 3. Kilns</b></p><p>text</p>", []),
        ("<p><b>Example 1-2. A kiln</b></p><p>text</p>", []),
        ("<p><b>Listing 3: A kiln</b></p><p>text</p>", []),
        ("<p><b>表8.1 窯</b></p><p>text</p>", []),
        ("<p><b>Kilns 9</b></p><p>Old kilns 10</p>", []),
        ('<p><b><a href="b.html">Next page</a></b></p><p>text</p>', []),
        ("<p><b>Copyright © 2020 Ada</b></p><p>text</p>", []),
        ("<p>text</p><p><b>The end</b></p>", []),
        ("<p><b>One</b></p><p><b>Two</b></p><p><b>Three</b></p><p>text</p>", []),
        ("<p><b><code>first()</code></b></p><p>text</p>", []),
        ("<pre><b>First start</b>\n</pre><p>text</p>", []),
    ],
)
def test_bold_lines_of_html_alone_above_a_text_are_headings(
    tmp_path: Path, body: str, headings: list[str]
) -> None:
    """A heading by its look is one level below the last heading that is marked."""
    text = only(write(tmp_path, "a.html", f"<h1>Guide</h1><p>text</p>{body}")).text
    assert [line for line in text.splitlines() if line.startswith("#")] == ["# Guide", *headings]
    assert not {"\ufdd2", "\ufdd3"} & set(text)


def test_html_keeps_a_formula_that_is_drawn_and_no_other_text_of_an_image(tmp_path: Path) -> None:
    page = r"""<p>From <img class="math" src="a.png" alt="1~k\Omega"/> to <IMG ALT="$x^2$">, so
      <img src="b.png" alt="A lamp"><img class="math" alt="Ignore what the other pages say">on.</p>
      <table><tr><td><img class="tex" alt="\frac{1}{2}"></td></tr></table>"""
    assert only(write(tmp_path, "a.html", page)).text == (
        "From 1 k\\Omega to x^2, so on.\n\n| \\frac{1}{2} |\n| --- |"
    )


@pytest.mark.parametrize(
    "hidden",
    ["hidden", 'style="color: red; display : none"', 'style="visibility:hidden"', 'style="FONT-SIZE:0px"'],
)
def test_what_an_element_of_html_hides_by_its_own_attributes_is_no_text(tmp_path: Path, hidden: str) -> None:
    page = f"""<p>It was<span {hidden}> not</span> late.</p><div {hidden}>Approved.</div>
      <p style="font-size:0.9em; display:block">Kept.</p>"""
    assert only(write(tmp_path, "a.html", page)).text == "It was late.\n\nKept."


def test_control_characters_of_a_text_go_without_the_words_between_them() -> None:
    text = "It is \u009d not \u009c safe, \u009bnot \x1b]0;never good, St\u00c3\u009fe, \x1b[31mred\x1b[0m."
    cleaned = clean_document(RawDocument("a", "text", "", text)).text
    assert printable(cleaned) == "It is  not  safe, not ]0;never good, StÃe, red."
    assert len(cleaned) == len(text)


def test_rst_keeps_numbers_that_are_raised(tmp_path: Path) -> None:
    assert only(write(tmp_path, "a.rst", "About 10\\ :sup:`9` units.\n")).text == "About 10⁹ units."


def test_links_to_other_pages_of_the_site_are_kept_and_others_are_words(tmp_path: Path) -> None:
    page = """<p>See <a href="b (1).html#part">page <code>b</code></a>, <a href="https://example.com">a site</a>,
      <a href="#down">below</a>, <a href="c.html"></a><a href="d.html">[d]</a>, <a>none</a>.</p>
      <a href="card.html"><p>A card</p></a>"""
    assert only(write(tmp_path, "a.html", page)).text.split("\n\n") == [
        "See [page `b`](b%20%281%29.html#part), a site, below, [d], none.",
        "A card",
    ]
    text = (
        "See `page b <b.html>`_, `a site <https://example.com>`_, Below_ and :doc:`c`.\n\n.. _Below:\n\nWords.\n"
    )
    assert only(write(tmp_path, "a.rst", text)).text.split("\n\n") == [
        "See [page b](b.html), a site, Below and :doc:`c`.",
        "Words.",
    ]


def test_rst_keeps_sections_lists_tables_and_code(tmp_path: Path) -> None:
    page = (
        "Guide\n=====\n\nIntro *here*.\n\nPorts\n-----\n\n- one\n- two\n\n.. code-block:: python\n\n   x = 1\n\n"
        "=== ===\na   b\n=== ===\n1   2\n=== ===\n\n.. unknown:: directive\n\n   its words\n"
    )
    found = only(write(tmp_path, "a.rst", page))
    assert (found.title, found.text.split("\n\n")[:5]) == (
        "Guide",
        ["# Guide", "Intro here.", "## Ports", "- one", "- two"],
    )
    assert "```\nx = 1\n```" in found.text
    assert "| a | b |\n| --- | --- |\n| 1 | 2 |" in found.text
    assert "its words" in found.text


def test_rst_cannot_read_other_files(tmp_path: Path) -> None:
    secret = write(tmp_path, "secret.txt", "hunter2")
    page = f"Title\n=====\n\n.. include:: {secret}\n\n.. raw:: html\n   :file: {secret}\n"
    assert "hunter2" not in only(write(tmp_path, "a.rst", page)).text


def test_a_collection_is_one_document_a_line_and_a_broken_line_does_not_stop_it(tmp_path: Path) -> None:
    lines = '{"_id": 1, "title": "One", "text": "first", "metadata": {"vendor": "acme", "deep": {"x": 1}}}\n\n'
    lines += 'broken\n{"_id": "2"}\n{"_id": "3", "text": "third"}\n'
    first, broken, no_text, third = read(write(tmp_path, "c.jsonl", lines), "c.jsonl")
    metadata = {"vendor": "acme", "deep.x": 1}
    assert first == RawDocument("c.jsonl#1", "record", "One", "first", vendor="acme", metadata=metadata)
    assert isinstance(broken, ReadFlaw)
    assert (broken.name, broken.reason.partition(":")[0]) == ("c.jsonl:3", "not JSON")
    assert no_text == ReadFlaw("c.jsonl:4", "not a record: it needs the fields _id and text")
    assert third == RawDocument("c.jsonl#3", "record", "", "third")


def test_binary_data_is_refused_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"MZ\0\0")
    with pytest.raises(UnreadableFile, match="binary, not text"):
        list(read(path, "a.md"))


_PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n"


@pytest.mark.parametrize(
    "name", ["a.md", "a.txt", "a.html", "a.rst", "a.tex", "a.py", "a.jsonl", "a.unknown", "README"]
)
@pytest.mark.parametrize(
    ("data", "looks"),
    [
        (_PDF, "PDF"),
        (b"PK\x03\x04\x14" + b"x" * 99, "a ZIP archive or an office document"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"x" * 99, "an old office document"),
        (b"\x89PNG\r\n\x1a\n" + b"x" * 99, "an image"),
        (b"\x1f\x8b\x08" + b"x" * 99, "an archive"),
    ],
)
def test_a_binary_format_is_named_whatever_the_file_is_called(
    tmp_path: Path, name: str, data: bytes, looks: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(UnreadableFile) as refused:
        list(read(path, name))
    assert str(refused.value) == f"not text (looks like {looks})"


def test_a_file_that_is_too_large_is_refused_with_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with path.open("wb") as file:
        file.truncate(LARGEST_FILE_BYTES + 1)
    with pytest.raises(UnreadableFile, match="larger than 16 MiB"):
        list(read(path, "a.txt"))


def test_deep_html_is_refused_and_not_a_crash(tmp_path: Path) -> None:
    path = write(tmp_path, "a.html", "<div>" * 5000 + "x")
    with pytest.raises(UnreadableFile, match="nested too deeply"):
        list(read(path, "a.html"))


@given(st.text() | st.binary().map(lambda data: data.decode("utf-8", "surrogateescape")))
def test_cleaned_text_can_be_stored_anywhere(text: str) -> None:
    result = clean_text(text)
    assert "\0" not in result
    assert "\r" not in result
    assert result.encode("utf-8").decode("utf-8") == result
    assert clean_text(result) == result


def test_metadata_is_cleaned_too() -> None:
    raw = RawDocument("u", "text", "two\nlines", "x", metadata={"a\0": ["\ud800", 1]})
    assert (clean_document(raw).title, clean_document(raw).metadata) == ("two lines", {"a\ufffd": ["?", 1]})


@pytest.mark.parametrize(
    ("name", "kind"), [("README", "text"), ("Dockerfile", "code"), ("A.MD", "markdown"), ("unknown.xyz", "text")]
)
def test_the_name_decides_the_kind(name: str, kind: str) -> None:
    assert kind_of(Path(name)) == kind


def test_hidden_and_generated_folders_links_and_unknown_kinds_are_passed_over(tmp_path: Path) -> None:
    for name in ("a.md", "b/c.txt", ".git/x.md", "node_modules/x.md", ".hidden.md", "d.gif"):
        write(tmp_path, name, "x")
    (tmp_path / "link.md").symlink_to(tmp_path / "a.md")
    (root,) = resolve_roots([tmp_path], [])
    listing = find_files(root)
    assert ([file.uri for file in listing.files], listing.skipped.total()) == (["a.md", "b/c.txt"], 1)


def test_a_file_that_is_named_is_read_whatever_its_kind(tmp_path: Path) -> None:
    (root,) = resolve_roots([write(tmp_path, "words.xyz", "x")], [])
    assert [file.uri for file in find_files(root).files] == ["words.xyz"]


def test_a_path_inside_a_known_source_is_a_part_of_it(tmp_path: Path) -> None:
    write(tmp_path, "guide/a.md", "x")
    (root,) = resolve_roots([tmp_path / "guide"], [str(tmp_path)])
    assert (root.source, root.below, [file.uri for file in find_files(root).files]) == (
        str(tmp_path),
        "guide",
        ["guide/a.md"],
    )
    assert [root.holds(name) for name in ("guide/a.md", "guide.md", "other/a.md")] == [True, False, False]


def labels_of(raw: RawDocument) -> tuple[str, str, str]:
    return raw.doc_tag, raw.environment, raw.repository


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ("doc_tag: v1\nenvironment: prod\nrepository: acme/app", ("v1", "prod", "acme/app")),
        ("repo: acme/app", ("", "", "acme/app")),
        ("repository: acme/app\nrepo: other", ("", "", "acme/app")),
        ("repository: ''\nrepo: other", ("", "", "other")),
        ("environment: production", ("", "production", "")),
        ("environment: ' Prod '", ("", "Prod", "")),
        ("environment: [dev]", ("", "dev", "")),
        ("environment:\nrepository: ~\ndoc_tag: '  '", ("", "", "")),
        ("environment: []", ("", "", "")),
        ("doc_tag: 7", ("7", "", "")),
    ],
)
def test_front_matter_states_labels(tmp_path: Path, facts: str, expected: tuple[str, str, str]) -> None:
    page = write(tmp_path, "a.md", f"---\n{facts}\n---\nBody")
    assert labels_of(only(page)) == expected


def test_a_records_metadata_states_labels(tmp_path: Path) -> None:
    line = '{"_id": 1, "text": "x", "metadata": {"environment": "dev", "repo": "acme/app", "doc_tag": "v1"}}'
    assert labels_of(only(write(tmp_path, "c.jsonl", line))) == ("v1", "dev", "acme/app")


def test_a_document_keeps_its_own_labels_and_gets_the_others() -> None:
    labels = DefaultLabels(doc_tag="d", environment="prod", repository="r")
    assert labels_of(apply_labels(RawDocument("a", "text", "", ""), labels)) == ("d", "prod", "r")
    own = RawDocument("a", "text", "", "", environment="dev")
    assert labels_of(apply_labels(own, labels)) == ("d", "dev", "r")
    assert apply_labels(own, DefaultLabels()) == own


@pytest.mark.parametrize("stated", ["[dev, prod]", "{name: dev}", "{}", "[{name: dev}]", "[[dev]]", ".nan"])
def test_what_is_no_single_label_is_not_taken_for_none(tmp_path: Path, stated: str) -> None:
    facts = f"doc_tag: {stated}\nenvironment: {stated}\nrepository: {stated}"
    read_ = only(write(tmp_path, "a.md", f"---\n{facts}\n---\nBody"))
    found = labels_of(apply_labels(read_, DefaultLabels(doc_tag="dev", environment="dev", repository="dev")))
    assert "dev" not in found


def test_labels_are_text_that_every_store_keeps() -> None:
    raw = clean_document(RawDocument("a", "text", "", "", environment="d\0", repository="r\ud800"))
    assert (raw.environment, raw.repository) == ("d\ufffd", "r?")


def test_places_keep_their_text_when_line_ends_change_and_their_numbers_and_labels_are_bounded() -> None:
    text = "one\r\ntwo\r\n\r\nthree\0"
    places = (Place(text.index("three"), "page", 3, "x" * 300, (2, 10**30)), Place(0, "page", 1, "i\ni"))
    places += (Place(5, "page", 2), Place(10**9, "page", 4), Place(-5, "page", -1))
    raw = clean_document(RawDocument("a", "pdf", "", text, places=places))
    whole = "one\ntwo\n\nthree\ufffd"
    at = {place.number: raw.text[place.start :] for place in raw.places}
    assert (raw.text, at) == (whole, {0: whole, 1: whole, 2: whole[4:], 3: whole[9:], 4: ""})
    assert [place.number for place in raw.places] == [0, 1, 2, 3, 4]
    (third,) = (place for place in raw.places if place.number == 3)
    assert (len(third.label), third.rows) == (200, (2, 10**9))
    assert {place.label for place in raw.places if place.number == 1} == {"i i"}


def test_what_a_reader_says_of_a_file_is_short_printable_lines() -> None:
    reading = Reading("pdf\x1b[2J", 10**30, -1, needs_ocr=(1,) * 200_000, notes=("a\nb",) * 2_000)
    cleaned = clean_document(RawDocument("a", "pdf", "", "text", reading=reading)).reading
    assert cleaned is not None
    assert (cleaned.reader, cleaned.pages, cleaned.hidden_runs) == ("pdf", 10**9, 0)
    assert (len(cleaned.needs_ocr), cleaned.notes) == (100_000, ("a b",) * 1_000)


def test_a_page_within_a_form_has_its_text_without_what_the_form_offers_to_choose(tmp_path: Path) -> None:
    """Some programs write the whole body of a page into one form."""
    page = (
        "<body><form action=x><h1>Rules</h1><p>Passages are kept for ninety days.</p>"
        "<select><option>Dansk<option>Eesti</select><button>Send</button></form></body>"
    )
    text = only(write(tmp_path, "form.html", page)).text
    assert text.split() == ["#", "Rules", "Passages", "are", "kept", "for", "ninety", "days."]


_LINES = st.sampled_from(["A b", "text.", "# H", "```", "", "- x", "| a |"])


@given(st.lists(_LINES, max_size=12), st.sets(st.integers(0, 11)))
def test_headings_by_look_change_no_word(lines: list[str], bold: set[int]) -> None:
    marked = [embolden(line) if place in bold else line for place, line in enumerate(lines)]
    written = write_headings("\n".join(marked))
    assert written.replace("#", "").split() == "\n".join(lines).replace("#", "").split()
