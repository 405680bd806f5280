"""Links of every kind resolve to the page that a click would open, or are left out."""

from __future__ import annotations

import pytest

from tests.graphs import Corpus

FILES = {
    "guide/b.md": "# Page B\n\nWords.\n\n## Part two\n\nMore words.\n\n## Own name {#mine}\n\nWords.",
    "guide/my page.md": "# Spaces\n\nWords.",
    "guide/page_(old).md": "# Parentheses\n\nWords.",
    "guide/sub/_index.md": "# Front page\n\nWords.",
    "top.md": "# Top\n\nWords.",
    "one/twice.md": "# First\n\nWords.",
    "two/twice.md": "# Second\n\nWords.",
    "flat_folders_into_names.md": "# Flattened\n\nWords.",
    "guide/тема.md": "# Тема\n\nСлова.",
}

LEADS = {
    "a file beside it": ("[b](b.md)", "guide/b.md"),
    "without extension": ("[b](b)", "guide/b.md"),
    "with the extension of the page it becomes": ("[b](b.html)", "guide/b.md"),
    "with a title": ('[b](b.md "see also")', "guide/b.md"),
    "over two lines": ("[page\nb](b.md)", "guide/b.md"),
    "from the folder above": ("[top](../top.md)", "top.md"),
    "to a section": ("[b](b.md#part-two)", "§Part two"),
    "to a section of another name": ("[b](b.md#mine)", "§Own name"),
    "to a section that is not there": ("[b](b.md#gone)", "guide/b.md"),
    "with a query": ("[b](b.md?plain=1#part-two)", "§Part two"),
    "spaces in brackets": ("[s](<my page.md>)", "guide/my page.md"),
    "spaces encoded": ("[s](my%20page.md)", "guide/my page.md"),
    "parentheses": ("[p](page_(old).md)", "guide/page_(old).md"),
    "letters of another script": ("[тема](тема.md)", "guide/тема.md"),
    "a folder's front page": ("[sub](sub/)", "guide/sub/_index.md"),
    "from the top of the site": ("[b](/docs/guide/b/)", "guide/b.md"),
    "to a page whose folders became part of its name": (
        "[f](/docs/flat/folders/into/names/)",
        "flat_folders_into_names.md",
    ),
    "reference": ("[b][Ref]\n\n[ref]: b.md", "guide/b.md"),
    "reference, collapsed": ("[Ref][]\n\n[ref]: b.md", "guide/b.md"),
    "reference, shortcut": ("see [Ref].\n\n[ref]: <b.md>", "guide/b.md"),
    "wiki, by title": ("[[Page B]]", "guide/b.md"),
    "wiki, by file": ("[[b]]", "guide/b.md"),
    "wiki, by path": ("[[guide/b]]", "guide/b.md"),
    "wiki, shown otherwise": ("[[Page B|that page]]", "guide/b.md"),
    "wiki, a section": ("[[Page B#Part two]]", "guide/b.md"),
    "wiki, a section by its anchor": ("[[Page B#part-two]]", "§Part two"),
    "HTML": ("<a class='x' href=\"b.md#part-two\">b</a>", "§Part two"),
    "HTML without quotes": ("<a href=b.md>b</a>", "guide/b.md"),
    "a shortcode for references": ('[b]({{< ref "b.md" >}}#part-two)', "§Part two"),
    "a role": (":doc:`b`", "guide/b.md"),
    "a role with a title": (":doc:`the page <b>`", "guide/b.md"),
    "around an image": ("[![alt](image.png)](b.md)", "guide/b.md"),
    "in a table": ("| a |\n|---|\n| [b](b.md) |", "guide/b.md"),
    "in a list": ("- item\n  - [b](b.md)", "guide/b.md"),
    "its own section": ("[down](#below)\n\n## Below\n\nWords.", "§Below"),
}


@pytest.mark.parametrize(("text", "target"), LEADS.values(), ids=LEADS)
def test_a_link_leads_to_the_page_or_section_that_it_means(text: str, target: str) -> None:
    corpus = Corpus({**FILES, "guide/a.md": f"---\ntitle: A\n---\n\n{text}\n"})
    assert corpus.edges_by_name("LINKS_TO") == {("guide/a.md", target)}


NOWHERE = {
    "another site": "[b](https://example.com/b.md) <https://example.com/guide/b> https://example.com/b.md",
    "mail": "[b](mailto:b.md@example.com)",
    "a protocol of any name": "[b](//example.com/b.md)",
    "a picture": "![b](b.md)",
    "a file that is not there": "[c](c.md) [[c/d]] [e][e]",
    "either of two": "[t](/docs/twice/) [[twice]]",
    "itself": "[a](a.md) [a](#) [[a]]",
    "code": "`[b](b.md)`",
    "a fenced block": "```\n[b](b.md) [[Page B]]\n```",
    "a fenced block in a list": "- item\n\n  ~~~~\n  ~~~\n  [b](b.md)\n  ~~~~",
    "a fenced block without an end": "```md\n[b](b.md)",
    "a comment": "<!-- [b](b.md)\n[[Page B]] -->",
    "a footnote": "words[^1]\n\n[^1]: b.md",
    "brackets alone": "[b] (b.md) [b]: b",
    "nothing": "[b]() [[]] [](<>)",
}


@pytest.mark.parametrize("text", NOWHERE.values(), ids=NOWHERE)
def test_what_leads_out_of_the_project_or_to_no_page_in_particular_is_no_link(text: str) -> None:
    corpus = Corpus({**FILES, "guide/a.md": f"---\ntitle: A\n---\n\nWords.\n\n{text}\n"})
    assert corpus.targets("LINKS_TO") & set(FILES) == set()


def test_pages_of_html_and_restructured_text_are_linked_as_those_of_markdown_are() -> None:
    files = {
        "a.html": "<title>A</title><p>See <a href='sub/b.rst#ports'>ports</a>.</p>",
        "sub/b.rst": "B\n=\n\nWords and `a <../a.html>`_.\n\nPorts\n-----\n\nSee :doc:`/c`.\n",
        "c.md": "# C\n\nWords.",
    }
    links = {("a.html", "§Ports"), ("sub/b.rst", "a.html"), ("§Ports", "c.md")}
    assert Corpus(files).edges_by_name("LINKS_TO") == links


def test_a_link_says_from_which_section_and_in_which_chunk_it_leads() -> None:
    text = "# A\n\n## Near\n\n" + "Words. " * 300 + "[b](b.md) and [b](b.md)\n\n## Far\n\nWords."
    corpus = Corpus({**FILES, "guide/a.md": text})
    (edge,) = corpus.edges("LINKS_TO")
    assert (corpus.name(edge.source), corpus.name(edge.target)) == ("§Near", "guide/b.md")
    assert (edge.weight, edge.confidence) == (1.631, 1.0)
    (chunk,) = edge.evidence
    assert corpus.nodes[chunk].title == "Near"


def test_a_path_that_fits_only_in_part_is_trusted_less() -> None:
    files = {**FILES, "guide/a.md": "# A\n\n[exact](b.md)", "guide/c.md": "# C\n\n[in part](/site/en/guide/b)"}
    assert [edge.confidence for edge in Corpus(files).edges("LINKS_TO")] == [1.0, 0.8]


def test_a_wiki_link_to_no_page_names_an_entity() -> None:
    corpus = Corpus({"a.md": "# A\n\nSee [[Order Service|orders]]."})
    assert corpus.edges_by_name("LINKS_TO") == {("a.md", "Order Service")}


def test_front_matter_relates_documents_by_path_title_and_name() -> None:
    front = 'related: [b.md, "[[Top]]", Spaces]\ndepends-on: /docs/guide/sub/\nsee_also: Unknown Thing'
    corpus = Corpus({**FILES, "guide/a.md": f"---\ntitle: A\n{front}\n---\n\nWords."})
    related = {"guide/b.md", "top.md", "guide/my page.md", "guide/sub/_index.md", "Unknown Thing"}
    assert corpus.edges_by_name("RELATED_TO") == {("guide/a.md", target) for target in related}
