"""Titles and headings without template code: what a reader of the built page sees, in bounded time."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from winnow.server.models import Document
from winnow.server.readers.chunking import chunk
from winnow.server.readers.documents import RawDocument
from winnow.server.readers.extraction.prose import parse_prose
from winnow.server.readers.reading import read
from winnow.server.text.markup.template_code import has_template_code, resolve_heading, resolve_template_code


@pytest.mark.parametrize(
    ("title", "resolved"),
    [
        ('{{% heading "options" %}}', "Options"),
        ("{{% heading 'whatsnext' %}} ", "Whatsnext"),
        ('{{< glossary_tooltip text="Pod" term_id="pod" >}}', "Pod"),
        ('The {{< glossary_tooltip text="pods" term_id="pod" >}} of a node', "The pods of a node"),
        ('{{< glossary_tooltip term_id="cri-o" >}}', "Cri-o"),
        ("Feature gates in Kubernetes {{< skew currentVersion >}}", "Feature gates in Kubernetes"),
        ('{{% tab title="Linux" %}}', "Linux"),
        ("{% include head.html %} Install", "Install"),
        ('{% include "head.html" %} Install', "Install"),
        ('{{ "install" | translate }} it', "Install it"),
        ("{{ page.title }}", ""),
        ("{# a remark #}Install <!-- another --> {/* a third */}", "Install"),
        ("<Badge text='new' /> Install", "Install"),
        ("<Tabs>One</Tabs>", "One"),
        ('<a name="install"></a>Install<br/>it', "Install it"),
        ("<b><i>Both</i></b> of <code>a</code>", "Both of a"),
        ("<i>C. elegans</i>, H<sub>2</sub>O", "C. elegans, H2O"),
        ("import A from './a'; import {B, C} from \"b\" Tabs", "Tabs"),
        ("{frontmatter.title} in short", "in short"),
        (":ref:`Install it <install>`", "Install it"),
        (":py:class:`~queue.Queue` objects", "Queue objects"),
        ("{ref}`The guide <guide>`", "The guide"),
        (":func:`!open` of `a` and :mod:`os`", "open of `a` and os"),
    ],
)
def test_template_code_is_resolved_or_dropped(title: str, resolved: str) -> None:
    assert resolve_template_code(title) == resolved


@pytest.mark.parametrize(
    "title",
    [
        "Install",
        "  two  spaces  ",
        "`{{ .Values.name }}` in charts",
        "Logs from <pod-name>",
        "compile_command(source, filename='<input>')",
        "<PodName> of <Pod>",
        "List<String> and Map<K, V>",
        "a < b and c > d",
        "p<0.05 and n>3",
        "f(x) = {a.b}",
        "Install {#install}",
        'How to "quote"',
        "std::vector<A>",
        ":warning: Danger",
        "import os",
    ],
)
def test_other_titles_stay_as_they_are(title: str) -> None:
    assert resolve_template_code(title) == title


def test_a_heading_of_code_alone_keeps_its_words() -> None:
    assert (resolve_heading("{{< latest-version >}}"), resolve_heading("<Tabs />")) == ("latest-version", "Tabs")


_PIECES = st.lists(
    st.sampled_from(["{{", "}}", "<", ">", "%", "%}", "`", ":a:`", '"', "b", "/", "=", "Tabs", " ", "{#", "{/*"])
    | st.text(max_size=3),
    max_size=12,
).map("".join)


@settings(deadline=None)
@example("<<b>b>")
@given(_PIECES)
def test_resolving_again_changes_nothing(title: str) -> None:
    resolved = resolve_template_code(title)
    assert resolve_template_code(resolved) == resolved
    assert has_template_code(title) or resolved == title


@pytest.mark.parametrize(
    "piece",
    [
        '{{< a "',
        "{{",
        "{%",
        "{# ",
        "<!--",
        "<a ",
        "<Tabs>",
        "<Tabs a=",
        "</",
        ":a:`",
        ":a",
        "`",
        '{{ text="',
        "{page.",
    ],
)
def test_titles_that_are_all_openings_take_no_longer_than_their_length(piece: str) -> None:
    """At this size, a pattern that is not linear exceeds the time limit of a test."""
    for text in (piece * (60_000 // len(piece)), (piece * 1_000)[:1_000]):
        assert len(resolve_heading(text)) <= len(text)


def test_titles_of_pages_are_resolved_and_their_text_is_verbatim(tmp_path: Path) -> None:
    body = '# {{ page.title }}\n\n## {{% heading "options" %}}\n\nBody\n'
    text = f"---\ntitle: 'Pods in {{{{< version >}}}}'\n---\n{body}"
    (tmp_path / "a.md").write_text(text)
    (tmp_path / "b.md").write_text(body)
    first, second = [next(iter(read(tmp_path / name, name))) for name in ("a.md", "b.md")]
    assert isinstance(first, RawDocument)
    assert isinstance(second, RawDocument)
    assert (first.title, first.text, second.title) == ("Pods in", text, "Options")


def test_chunks_and_the_graph_name_a_section_alike() -> None:
    text = (
        "# A\n\nWords.\n\n"
        + '## {{% heading "options" %}} {#o}\n\n'
        + "Many words. " * 200
        + "\n\n## <Tabs />\n\nMore.\n"
    )
    document = Document("0" * 12, "p", "a.md", "/docs", "A", "markdown", "")
    paths = dict.fromkeys(one.heading_path for one in chunk(document, text))
    assert (list(paths), [one.title for one in parse_prose(text).headings]) == (
        [(), ("Options",), ("Tabs",)],
        ["A", "Options", "Tabs"],
    )
