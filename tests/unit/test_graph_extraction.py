"""Extraction of a document's graph: complete, well-formed, with evidence, independent of earlier changes."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.graphs import Corpus, extract, read
from winnow.server.models import Document, DocumentType
from winnow.server.readers.chunking import chunk
from winnow.server.readers.extraction.document_extraction import extract_document
from winnow.server.readers.extraction.gazetteer import NO_GAZETTEER
from winnow.server.readers.extraction.name_candidates import find_candidates
from winnow.server.readers.extraction.names import entity_key
from winnow.server.readers.extraction.prose import GAP, parse_prose
from winnow.server.readers.extraction.resolution import (
    Ledger,
    ProjectFacts,
    build_document_graph,
    facts_of,
    resolve_graph,
)
from winnow.server.readers.extraction.rules import CONFIDENCE, Rule
from winnow.server.retrieval.graph.records import DocumentGraph, validate_graph

LONG = "Words of prose that fill a section. " * 40


def test_sections_hang_below_sections_and_chunks_below_the_innermost() -> None:
    text = f"# Guide\n\n{LONG}\n\n## Setup\n\n{LONG}\n\n### Linux\n\n{LONG}\n\n## Use\n\n{LONG}"
    corpus = Corpus({"guide.md": text})
    assert corpus.edges_by_name("PART_OF") == {
        ("§Setup", "guide.md"),
        ("§Linux", "§Setup"),
        ("§Use", "guide.md"),
        ("¶Guide", "guide.md"),
        ("¶Setup", "§Setup"),
        ("¶Linux", "§Linux"),
        ("¶Use", "§Use"),
    }
    found = [(node.title, node.level, node.anchor) for node in corpus.nodes.values() if node.label == "Section"]
    assert found == [("Setup", 1, "setup"), ("Linux", 2, "linux"), ("Use", 1, "use")]


def test_a_section_within_a_larger_chunk_is_a_node_and_shows_that_chunk() -> None:
    corpus = Corpus({"guide.md": "# Guide\n\nShort.\n\n## Setup\n\nShort too.\n\n### Linux\n\nShort as well."})
    (only,) = (node.id for node in corpus.nodes.values() if node.label == "Chunk")
    assert [(corpus.name(edge.source), edge.evidence) for edge in corpus.edges("PART_OF")] == [
        ("§Setup", (only,)),
        ("§Linux", (only,)),
        ("¶Guide", (only,)),
    ]


def test_chunks_follow_each_other_in_reading_order() -> None:
    document, text = read("guide.md", f"# Guide\n\n{LONG}\n\n## Setup\n\n{LONG}")
    chunks = chunk(document, text)
    graph = build_document_graph(document, text, chunks, ProjectFacts())
    assert [(edge.source, edge.target) for edge in graph.edges if edge.type == "NEXT"] == [
        (one.id, other.id) for one, other in pairwise(chunks)
    ]


def test_front_matter_gives_tags_vendors_products_people_and_other_names() -> None:
    front = """---
title: Gateway
vendor: Acme
products: [Edge Gateway, Core Gateway]
authors:
  - Ada Lovelace
reviewers: [grace]
tags: [network, edge]
aka: [The Door, GW]
---

Words.
"""
    corpus = Corpus({"a.md": front})
    assert corpus.edges_by_name("TAGGED") == {("a.md", "network"), ("a.md", "edge")}
    assert corpus.edges_by_name("ALIAS_OF") == {("The Door", "Gateway"), ("GW", "Gateway")}
    assert {title: corpus.types()[title] for title in corpus.targets("ABOUT")} == {
        "Acme": "vendor",
        "Edge Gateway": "product",
        "Core Gateway": "product",
        "Ada Lovelace": "person",
        "grace": "person",
    }


def test_a_mention_counts_how_often_and_says_where() -> None:
    text = (
        f"# A\n\n## Far\n\n{LONG}\n\n## Near\n\nOne Apache Kafka, two Apache Kafka, three Apache Kafka.\n\n{LONG}"
    )
    corpus = Corpus({"a.md": text, "b.md": "# B\n\nThere is Apache Kafka."})
    here = [edge for edge in corpus.edges("MENTIONS") if corpus.nodes[edge.source].title == "Near"]
    assert [(edge.weight, edge.confidence, edge.evidence) for edge in here] == [(1.2, 0.6, (here[0].source,))]


def test_every_rule_has_the_confidence_that_the_documentation_states() -> None:
    page = (Path(__file__).parents[2] / "docs" / "graph.md").read_text("utf-8")
    stated = {rule: float(number) for rule, number in re.findall(r"\| ([a-z ]+) \| (\d\.\d+) (?=\|)", page)}
    assert (stated, set(stated)) == (dict(CONFIDENCE), set(get_args(Rule)))


def test_a_file_name_that_nobody_wrote_as_a_title_names_nothing() -> None:
    assert Corpus({"release_notes_2.txt": "words", "notes.txt": "words"}).types() == {"notes": "term"}


def test_titles_without_words_and_control_characters_are_fit_to_keep() -> None:
    corpus = Corpus({"a\x07b.md": "---\ntitle: '!!!'\n---\n\n## \x1b[31mRed\n\nwords [x](a\x07b.md#red)"})
    assert {node.title for node in corpus.nodes.values()} == {"!!!", "Red"}


# --- any text

PIECES = st.sampled_from(
    [
        "# One",
        "## Two (2)",
        "Setext\n---",
        "Apache Kafka runs. The Apache Kafka.",
        "Custom Resource Definition (CRD)",
        "`code`, ``a`b``, <code>x.y</code>",
        "[a](b.md#c), [[Wiki|x]], [r][d], ![i](j), :doc:`k <l>`",
        "[d]: ../e.md",
        "```\nfence",
        "```",
        "<!-- comment",
        "-->",
        "<a href='x.md'>y</a>",
        '{{< ref "b.md" >}} {{% text="z" %}}',
        "日本語の文章。Название Города.",
        "| A | B |\n|---|---|\n| C D | e_f |",
        "> quoted `x",
        "def f():\n    return g()",
        "a\u2028b\x0cC\x85D\u00a0E",
    ]
)
TEXTS = st.lists(PIECES, max_size=10).map("\n\n".join) | st.text(max_size=300)
TYPES = st.sampled_from(get_args(DocumentType))


def graph_of(text: str, type: DocumentType, uri: str = "a.py") -> DocumentGraph:
    document = Document("0" * 12, "p", uri, "/docs", "Title", type, "")
    return build_document_graph(document, text, chunk(document, text), ProjectFacts())


@example("\0[a](\0)\0`\0`", "markdown")
@settings(deadline=None, max_examples=150)
@given(TEXTS, TYPES)
def test_any_text_has_a_graph_that_keeps_the_rules_and_is_the_same_again(text: str, type: DocumentType) -> None:
    graph = graph_of(text, type)
    validate_graph(graph)
    assert graph == graph_of(text, type)
    ids = [node.id for node in graph.nodes]
    assert len(set(ids)) == len(ids)
    own = {node.id for node in graph.nodes if node.label == "Chunk"}
    assert {id for edge in graph.edges for id in edge.evidence} <= own
    assert {end for edge in graph.edges for end in (edge.source, edge.target)} <= set(ids)


@settings(deadline=None, max_examples=150)
@given(TEXTS)
def test_prose_keeps_every_offset_and_candidates_stand_where_they_say(text: str) -> None:
    prose = parse_prose(text)
    assert len(prose.text) == len(text)
    kept = [(one, other) for one, other in zip(prose.text, text, strict=True) if one != GAP]
    assert [one for one, _ in kept] == [" " if other == GAP else other for _, other in kept]
    spans = [
        one for one in find_candidates(prose) if one.rule in ("capitalised", "acronym", "identifier", "code span")
    ]
    assert [one.key for one in spans] == [
        entity_key(text[one.start : one.end].removesuffix("()")) for one in spans
    ]


@settings(deadline=None, max_examples=60)
@given(TEXTS)
def test_a_chunk_that_mentions_a_name_shows_it(text: str) -> None:
    words = f"{LONG}\n\n{text}\n\nAnd so Apache Kafka runs.\n\n{LONG}\n\n# Then\n\nIt was Apache Kafka that ran."
    document, body = read("a.md", words)
    chunks = {one.id: one for one in chunk(document, body)}
    ledger = Ledger()
    ledger.put(facts_of(extract("b.md", "# Apache Kafka\n\nwords")))
    graph = resolve_graph(extract_document(document, body, tuple(chunks.values()), NO_GAZETTEER), ledger)
    (kafka,) = [node.id for node in graph.nodes if node.title == "Apache Kafka"] or [""]
    edges_by_name = [
        chunks[edge.source].text for edge in graph.edges if (edge.type, edge.target) == ("MENTIONS", kafka)
    ]
    assert [one for one in edges_by_name if "Apache Kafka" not in one] == []


HOSTILE = [
    "[",
    "[a",
    "[[a]",
    "[a](",
    "`",
    "``a",
    "<!--",
    "<a ",
    "(",
    "(A) ",
    "Aa(BC) ",
    "AB (a b) ",
    "A of the ",
    "a_",
]
HOSTILE += [
    "a.b",
    "A.",
    "# ",
    "a\n=\n",
    "```\n",
    "{{<",
    "|",
    "![[",
    "http://",
    ":a:`",
    "<code>",
    "x ",
    "[a]: b\n",
    "日本",
]


def test_an_escaped_backtick_is_no_mark_of_code() -> None:
    assert [each.text for each in parse_prose(r"the \`foo' of `bar` and \``baz`'").code_spans] == ["bar", "baz"]


@pytest.mark.parametrize("piece", HOSTILE)
def test_text_that_is_all_openings_takes_no_longer_than_its_length(piece: str) -> None:
    """At this size, extraction that is not linear exceeds the time limit of a test."""
    text = piece * (60_000 // len(piece))
    document = Document("0" * 12, "p", "a.md", "/docs", "Title", "markdown", "")
    validate_graph(resolve_graph(extract_document(document, text, (), NO_GAZETTEER), Ledger()))


# --- a project that changes

NAMES = ["Apache Kafka", "Order Service", "Alpha", "Beta"]
LINES = st.sampled_from(
    [f"It is {name} there." for name in NAMES]
    + [f"# {name}" for name in NAMES]
    + [
        "## Part",
        "[x](a.md)",
        "[x](b.md#part)",
        "[[Alpha]]",
        "[x](sub/c.md)",
        "`max_open`",
        "Old Alpha Beta Ways run.",
    ]
)
URIS = st.sampled_from(["a.md", "b.md", "sub/c.md", "sub/a.md"])
STEPS = st.lists(st.tuples(URIS, st.none() | st.lists(LINES, max_size=5).map("\n\n".join)), max_size=8)


@settings(deadline=None, max_examples=150)
@given(STEPS)
def test_a_project_that_was_changed_step_by_step_is_as_if_made_at_once(
    steps: list[tuple[str, str | None]],
) -> None:
    """Only the documents that the ledger names are resolved again."""
    held: dict[str, str] = {}
    ledger, extractions, graphs = Ledger(), {}, {}
    for uri, text in steps:
        if text is None:
            if uri not in held:
                continue
            del held[uri]
            gone = next(id for id, one in extractions.items() if one.page.uri == uri)
            del extractions[gone], graphs[gone]
            changed = ledger.remove(gone)
        else:
            held[uri] = text
            one = extract(uri, text)
            extractions[one.page.id] = one
            changed = ledger.put(facts_of(one))
            graphs[one.page.id] = resolve_graph(one, ledger)
        for id in ledger.dependents(changed):
            graphs[id] = resolve_graph(extractions[id], ledger)
    assert set(graphs.values()) == set(Corpus(held).graphs)


def test_a_change_concerns_only_the_documents_whose_graph_it_changes() -> None:
    ledger = Ledger()
    texts = {"a.md": "# A\n\nIt is Apache Kafka.", "b.md": "# B\n\nWords.", "c.md": "# C\n\n[b](b.md)"}
    ids = {uri: extract(uri, text).page.id for uri, text in texts.items()}
    for uri, text in texts.items():
        ledger.put(facts_of(extract(uri, text)))
    unchanged = ledger.put(facts_of(extract("b.md", "# B\n\nOther words.")))
    second_vote = ledger.put(facts_of(extract("b.md", "# B\n\nThere is Apache Kafka.")))
    new_section = ledger.put(facts_of(extract("b.md", "# B\n\nThere is Apache Kafka.\n\n## Part\n\nWords.")))
    assert [ledger.dependents(one) - {ids["b.md"]} for one in (unchanged, second_vote, new_section)] == [
        set(),
        {ids["a.md"]},
        {ids["c.md"]},
    ]


def test_a_page_of_that_title_concerns_those_who_use_the_name_as_another_one() -> None:
    ledger = Ledger()
    alias = extract("a.md", "---\ntitle: A\naka: [door]\n---\n\nWords.")
    ledger.put(facts_of(alias))
    titled = extract("b.md", "# Door\n\nWords.")
    assert ledger.dependents(ledger.put(facts_of(titled))) - {titled.page.id} == {alias.page.id}
    assert "Door" in {node.title for node in resolve_graph(alias, ledger).nodes}
