"""Names in prose: the rules for entities, and spellings with one key."""

from __future__ import annotations

import pytest

from tests.graphs import Corpus
from winnow.server.readers.extraction.name_candidates import find_expansions, name_parts
from winnow.server.readers.extraction.names import entity_key, heading_slug, page_key
from winnow.server.readers.extraction.prose import parse_prose

SAME = [
    ("ConfigMap", "ConfigMaps", "configmap", "the ConfigMap", "`ConfigMap`", "**ConfigMap**", "ConfigMap's"),
    ("Network Policy", "network policies", "Network  Policies", "a network\npolicy"),
    ("Theodred II", "Theodred II (Bishop of Elmham)"),
    ("Mass", "mass", "masses"),
    ("Straße", "STRASSE"),
    ("Ｆｕｌｌ　Ｗｉｄｔｈ", "full width"),
    ("Москва", "МОСКВА"),
    ("spec.containers", "Spec.Containers"),
]


@pytest.mark.parametrize("spellings", SAME, ids=lambda spellings: spellings[0])
def test_spellings_of_one_name_have_one_key(spellings: tuple[str, ...]) -> None:
    assert {entity_key(one) for one in spellings} == {entity_key(spellings[0])}


DIFFERENT = [
    ("status", "statu"),
    ("analysis", "analysi"),
    ("class", "clas"),
    ("spec.containers", "spec.container"),
    ("Geena Davis", "GeenDavis"),
    ("us", "u"),
    ("(CRI)", "CRD"),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_names_that_only_look_alike_keep_apart(one: str, other: str) -> None:
    assert entity_key(one) != entity_key(other)


def test_what_has_neither_letter_nor_digit_is_no_name() -> None:
    assert [entity_key(text) for text in ("", " ", "--", "`*`", "…", "()")] == [""] * 6


def test_anchors_are_written_as_renderers_write_them() -> None:
    assert [heading_slug(text) for text in ("What's next? (v1.2)", "A  b_c", "Тема №1")] == [
        "whats-next-v12",
        "a--b_c",
        "тема-1",
    ]


def test_one_page_has_one_key_however_it_is_named() -> None:
    names = (
        "docs/Pods/_index.md",
        "/docs/pods/",
        "docs/pods/index.html",
        "docs_pods__index.md",
        "docs/./pods/README.md",
    )
    assert {page_key(name) for name in names} == {"docs/pods"}


# Text in two documents -> the entities extracted from it, besides the titles.
SAID_TWICE = {
    "a name": ("It runs on Apache Kafka today.", {"Apache Kafka"}),
    "a name at the start of a sentence": ("Apache Kafka stores it.", {"Apache Kafka"}),
    "an ordinary word at the start of a sentence": ("Stores keep it. Words end.", set()),
    "a word that elsewhere is a name": ("Kafka stores it. We trust Kafka.", {"Kafka"}),
    "a word in quotation marks": ('They starred in "Charmed" once.', {"Charmed"}),
    "a sentence in quotation marks": ('They said: "Stores keep it." (Words end.)', set()),
    "a function word before a name": ("The Apache Kafka server. In Berlin it runs.", {"Apache Kafka", "Berlin"}),
    "a name with small words in it": (
        "He met Boso the Elder, a King of Italy.",
        {"Boso the Elder", "King of Italy"},
    ),
    "two names in a row": ("He met Hugh, King of Italy.", {"Hugh", "King of Italy"}),
    "names joined by and": ("It joins Kafka and Redis at once.", {"Kafka", "Redis"}),
    "initials": ("It was by J. R. Hartley then.", {"J. R. Hartley"}),
    "a saint": ("It is in St. Gallen today.", {"St. Gallen"}),
    "over a line break": ("It runs on Apache\nKafka today.", {"Apache Kafka"}),
    "not over a paragraph": ("It runs on Apache\n\nKafka today. Yes, Kafka.", {"Apache", "Kafka"}),
    "emphasis": ("It is **Apache Kafka** that runs.", {"Apache Kafka"}),
    "a possessive": ("It is Kafka's log.", {"Kafka"}),
    "capitals of other scripts": ("Она живёт в Нижний Новгород давно.", {"Нижний Новгород"}),
    "umlauts": ("Er wohnt in Übersee am See.", {"Übersee", "See"}),
    "camel case": ("it sets maxOpenFiles there", {"maxOpenFiles"}),
    "snake case": ("it sets max_open_files there", {"max_open_files"}),
    "dotted": ("it sets spec.replicas there", {"spec.replicas"}),
    "an abbreviation with dots": ("it is set, e.g. there, i.e. here", set()),
    "a code span": ("it runs `kubectl` there", {"kubectl"}),
    "a call in a code span": ("it runs `os.path.join()` there", {"os.path.join"}),
    "a code element": ("it runs <code>kubectl</code> there", {"kubectl"}),
    "a value in a code span": ("it is `true` or `null`", set()),
    "a command line in a code span": ("it runs `rm -rf /tmp/x` there", set()),
    "an acronym": ("it speaks TLS now", {"TLS"}),
    "an acronym in the plural": ("it has CRDs now", {"CRD"}),
    "a value in capitals": ("it is FALSE or NULL", set()),
    "a version": ("it needs Apache Kafka 1.24 now", {"Apache Kafka 1.24"}),
    "a role": ("it is a :class:`~pkg.Walker` now", {"pkg.Walker"}),
    "a phrase said again and again": ("the cold start; a cold start; one cold start", {"cold start"}),
    "a link's text": ("see [the walker](https://example.com)", set()),
    "an address": ("see https://Example.com/Big/Name and a@Big.Name", set()),
    "fenced code": ("```\nKind: Apache Kafka\nmax_open_files\n```", set()),
    "fenced code in a quotation": ("> ```\n> Apache Kafka\n> ```", set()),
    "a comment": ("<!-- Apache Kafka -->", set()),
    "a picture": ("![Apache Kafka](kafka.png)", set()),
    "a tag's attributes": ('<div title="Apache Kafka">x</div>', set()),
    "han": ("東京タワーは高い。", set()),
}


@pytest.mark.parametrize(("text", "entities"), SAID_TWICE.values(), ids=SAID_TWICE)
def test_what_two_documents_say_is_an_entity(text: str, entities: set[str]) -> None:
    files = {f"{name}.md": f"---\ntitle: {name}\n---\n\n{text}\n" for name in ("zzone", "zztwo")}
    assert set(Corpus(files).types()) - {"zzone", "zztwo"} == entities


def test_what_one_document_says_is_no_entity_until_another_is_titled_so() -> None:
    files = {"a.md": "# A\n\nIt runs on Apache Kafka today."}
    assert Corpus(files).targets("MENTIONS") == set()
    files["b.md"] = "# Apache Kafka (software)\n\nWords."
    assert Corpus(files).edges_by_name("MENTIONS") == {("¶A", "Apache Kafka (software)")}


def test_a_name_is_shown_as_the_page_of_that_title_writes_it() -> None:
    files = {
        "a.md": "# A\n\nit runs `configmaps`",
        "b.md": "# B\n\nSome ConfigMaps run.",
        "c.md": "# ConfigMap (v1)\n\nWords.",
    }
    assert set(Corpus(files).types()) == {"A", "B", "ConfigMap (v1)"}
    files["d.md"] = "# ConfigMap\n\nWords."
    assert set(Corpus(files).types()) == {"A", "B", "ConfigMap"}


def test_a_known_name_is_found_within_a_longer_span() -> None:
    files = {"a.md": "# A\n\nIt was Queen Elizabeth II Herself.", "b.md": "# Elizabeth II\n\nWords."}
    assert Corpus(files).edges_by_name("MENTIONS") == {("¶A", "Elizabeth II")}


def test_the_names_within_a_name_come_longest_first() -> None:
    assert [title for _, title in name_parts("King of Upper Italy")] == [
        "King of Upper",
        "Upper Italy",
        "King",
        "Upper",
        "Italy",
    ]


def test_a_section_defines_what_its_heading_names_if_that_is_a_name() -> None:
    files = {
        "a.md": "# A\n\n## Dead Letters\n\nWords.\n\n## What's next\n\nWords.",
        "b.md": "# B\n\nThere are Dead Letters here.\n\n## What's next\n\nWords.",
        "c.md": "# C\n\nThere are Dead Letters here.",
    }
    assert Corpus(files).edges_by_name("DEFINES") == {
        ("a.md", "A"),
        ("b.md", "B"),
        ("c.md", "C"),
        ("§Dead Letters", "Dead Letters"),
    }


EXPANDED = {
    "behind": ("a Custom Resource Definition (CRD) is", [("CRD", "Custom Resource Definition")]),
    "before": ("a CRD (Custom Resource Definition) is", [("CRD", "Custom Resource Definition")]),
    "plural": ("some Custom Resource Definitions (CRDs) are", [("CRD", "Custom Resource Definitions")]),
    "small letters": ("a dead letter queue (DLQ) is", [("DLQ", "dead letter queue")]),
    "small words between": ("the quality of service (QoS) is", [("QoS", "quality of service")]),
    "a hyphen": ("Role-Based Access Control (RBAC) is", [("RBAC", "Role-Based Access Control")]),
    "over a line": ("a Custom Resource\nDefinition (CRD) is", [("CRD", "Custom Resource Definition")]),
    "another sentence": ("Custom rules. Definition (CRD) is", []),
    "other letters": ("a Custom Resource Definition (API) is", []),
    "one word": ("the Kubernetes (K8s) is", []),
    "an aside": ("a definition (of course) and (yes) so", []),
    "a year": ("the Great War (1914) and (1918)", []),
}


@pytest.mark.parametrize(("text", "expected"), EXPANDED.values(), ids=EXPANDED)
def test_an_acronym_is_read_with_what_it_stands_for(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(one.short, one.long) for one in find_expansions(text)] == expected


def test_an_acronym_expands_to_its_entity_where_one_document_says_so() -> None:
    corpus = Corpus({"a.md": "# A\n\nA Custom Resource Definition (CRD) is one. Every CRD is."})
    assert corpus.edges_by_name("EXPANDS_TO") == {("CRD", "Custom Resource Definition")}
    assert corpus.types() == {"A": "term", "CRD": "acronym", "Custom Resource Definition": "term"}
    assert corpus.edges_by_name("MENTIONS") == {("¶A", "CRD"), ("¶A", "Custom Resource Definition")}


def test_headings_are_found_outside_of_code_and_nested_as_they_are_written() -> None:
    text = "# One #\n\nTwo\n---\n\n```\n# no\n```\n### `Three` [x](y.md) {#own}\n\n    # no\n#no\n\n- a\n---\n"
    found = [(one.depth, one.title, one.anchor) for one in parse_prose(text).headings]
    assert found == [(1, "One", ""), (2, "Two", ""), (3, "Three x", "own")]
