"""Rows and pages of the SDK."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from winnow import client_sdk
from winnow.client_sdk import (
    MissingField,
    Results,
    Row,
    SDKError,
    claim_calls,
    claims,
    graph,
    graph_calls,
    group_by,
    kb,
    kb_calls,
    transport,
)
from winnow.client_sdk.rows import to_row

QUOTES = {
    "quotes": [{
        "quote": "Retry three times.", "passage_id": "p1", "section_id": "s1", "title": "A", "uri": "winnow://x",
        "confidence": 0.5,
    }],
    "next_cursor": None,
    "diagnostics": {"passages": 1, "search_mode": "hybrid"},
}  # fmt: skip
EXCERPT = {
    "passage_id": "p1",
    "excerpt": "Retry three times.",
    "start_char": 0,
    "truncated": True,
    "next_start_char": 18,
    "citation": {"section_id": "s1", "doc_tag": "t", "title": "A", "uri": "winnow://x"},
}
PAGE = {
    "mode": "metadata",
    "count": 2,
    "results": [{"id": "a", "title": "A", "metadata": {"tag": "t"}}, {"id": "b", "title": "B"}],
    "estimated_tokens": 12,
    "next_cursor": "c1",
}


@pytest.fixture
def calls() -> Iterator[list[Any]]:
    """The SDK's calls to the host, which answers with one page, one quote or one excerpt."""
    calls: list[Any] = []

    def answer(method: str, params: Any) -> dict[str, Any]:
        calls.append((method, dict(params)))
        return {"ok": QUOTES if "evidence" in method else EXCERPT if "excerpt" in method else PAGE}

    transport.connect(answer)
    yield calls
    transport._transport.clear()


def test_a_page_is_a_list_that_knows_its_fields() -> None:
    page = Results(PAGE)
    assert [row.id for row in page] == page.ids == page["ids"] == ["a", "b"]
    assert (page.count, page.mode, page["estimated_tokens"], page.next_cursor, page.warnings) == (
        2, "metadata", 12, "c1", [])  # fmt: skip
    assert page["results"] is page.results is page
    assert ("mode" in page, "nothing" in page, page[0] in page, page.get("nothing", 5)) == (True, False, True, 5)
    assert [row.title for row in page[1:]] == ["B"]


def test_a_page_of_ids_has_rows_of_ids() -> None:
    page = Results({"mode": "ids_only", "count": 2, "ids": ["a", "b"]})
    assert (page.ids, page[0].id, len(page), page.next_cursor) == (["a", "b"], "a", 2, None)


def test_a_row_is_a_dict_with_attributes() -> None:
    row = Results(PAGE)[0]
    row.note = "n"
    assert (row.title, row["title"], row.metadata.tag, row["note"], row.get("x")) == ("A", "A", "t", "n", None)
    assert row == {"id": "a", "title": "A", "metadata": {"tag": "t"}, "note": "n"}


@pytest.mark.parametrize("fields", [{"file": "a.md"}, {"metadata": {"file": "a.md"}}])
def test_what_is_known_of_a_hit_answers_at_every_level_in_both_spellings(fields: dict[str, Any]) -> None:
    row = Results({"results": [{"id": "a", **fields}]})[0]
    assert (row.file, row["file"], row.get("file"), row.metadata.file, row["metadata"]["file"]) == ("a.md",) * 5


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda page: page[0].titel, "did you mean 'title'?"),
        (lambda page: page[0]["text"], "response_mode='full'"),
        (lambda page: page[0].tga, "did you mean 'tag'?"),
        (lambda page: page.cuont, "did you mean 'count'?"),
        (lambda page: page.title, "page[0].title"),
        (lambda page: Row(page[0], passage_id="p1").content, "kb.read_excerpt(row)"),
        (lambda page: page[0].quote, "kb.extract_evidence(question, rows)"),
        (lambda page: Row(EXCERPT).tittle, "did you mean 'title'?"),
    ],
)
def test_a_missing_field_says_what_to_write(read: Any, message: str) -> None:
    with pytest.raises(MissingField) as caught:
        read(Results(PAGE))
    assert message in str(caught.value)
    assert isinstance(caught.value, KeyError) and isinstance(caught.value, AttributeError)  # noqa: PT018


SHAPES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "a hit": ({"id": "a"}, ()),
    "a quote": ({"quote": "q", "section_id": "a"}, ("likeness",)),
    "an excerpt": ({"excerpt": "q", "citation": {"section_id": "a"}}, ("next_start_char",)),
    "a node": ({"id": "a", "label": "Entity"}, ("level", "tokens", "snippet", "edges_in", "relation", "weight")),
    "a match": ({"match": "x", "passage_id": "a"}, ("page",)),
    "a document": ({"document_id": "a", "path": "a.md"}, ()),
}


@pytest.mark.parametrize("kind", SHAPES)
def test_every_row_has_the_same_fields_and_those_of_its_kind(kind: str) -> None:
    fields, optional = SHAPES[kind]
    row = Results({"results": [fields]})[0]
    assert (row.id, row["score"], row.title, row.type, row.section) == ("a", None, None, None, None)
    assert (row.file, row.document_id) == (fields.get("path"), fields.get("document_id"))
    optional += ("page_span", "page_labels", "locator", "link")
    assert [row[name] for name in optional] == [None] * len(optional)
    assert (row.get("score", 1), row.get("nothing", 2), dict(row)) == (1, 2, fields)
    with pytest.raises(MissingField):
        _ = row.nothing


def test_an_object_within_a_row_has_only_its_own_fields() -> None:
    row = Results({"results": [{"id": "a", "metadata": {"file": "a.md"}, "nodes": [{"id": "n"}]}]})[0]
    assert (row.nodes[0].score, row.metadata.file) == (None, "a.md")
    with pytest.raises(MissingField):
        _ = row.metadata.id


def test_an_id_in_metadata_is_the_rows_and_never_that_of_its_document() -> None:
    metadata = {"id": "a", "document_id": "d", "file": "a.md"}
    row = Results({"results": [{"id": "a", "score": 0.5, "metadata": metadata | {"score": 0.5}}]})[0]
    assert (row.metadata.id, row["metadata"]["id"], row.metadata.score) == ("a", "a", 0.5)
    fetched = Results({"results": [{"id": "a", "metadata": metadata}]})[0]
    assert (fetched.metadata.score, fetched["metadata"]["score"], fetched.score) == (None, None, None)
    with pytest.raises(MissingField):
        _ = Results({"results": [{"id": "a", "metadata": {"document_id": "d"}}]})[0].metadata.id


STATING = {"document_id": "d", "labels": {"tags": ["a"]}, "fields": {"stage": "beta", "text": "x", "score": 9}}


def test_what_a_document_states_is_read_from_its_row_and_never_looks_like_its_text_or_score() -> None:
    row = to_row(STATING)
    assert (row.stage, row["stage"], row.get("stage"), row.tags) == ("beta", "beta", "beta", ["a"])
    assert (row.fields.text, row.score, row.get("owner")) == ("x", None, None)
    assert list(group_by([row, to_row({"document_id": "e", "fields": {}})], "stage")) == ["beta", ""]
    with pytest.raises(MissingField, match=r"Text comes with read\(row\)"):
        _ = row.text
    with pytest.raises(MissingField, match=r"row\.get\('owner'\)"):
        _ = row.owner


@pytest.mark.parametrize("name", ["content", "text", "excerpt", "quote", "snippet", "context"])
def test_text_and_content_are_the_same_on_every_row_that_has_a_text(name: str) -> None:
    row = Row({"id": "a", name: "words"})
    assert (row.text, row.content, row["text"], row.get("content")) == ("words",) * 4


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("path", "file"), ("url", "file"), ("heading", "section"), ("name", "title"), ("similarity", "score"),
     ("chunk_id", "id"), ("doc_id", "document_id"), ("kind", "type")],
)  # fmt: skip
def test_another_word_for_a_field_names_the_field(wrong: str, right: str) -> None:
    with pytest.raises(MissingField, match=f"did you mean '{right}'"):
        Row({"id": "a"})[wrong]


def test_all_rows_of_all_pages_are_a_list_and_pages_are_requested_one_by_one() -> None:
    asked: list[str] = []

    def follow(cursor: str) -> Results:
        asked.append(cursor)
        return Results({"results": [{"id": cursor}], "next_cursor": None}, follow)

    page = Results(PAGE, follow)
    assert [each.ids for each in [next(page.pages())]] == [["a", "b"]]
    assert asked == []
    rows = page.all()
    assert (isinstance(rows, list), [row.id for row in rows], asked) == (True, ["a", "b", "c1"], ["c1"])
    assert asyncio.run(_await(rows)) is rows


async def _await(value: Any) -> Any:
    return await value


def test_awaiting_a_page_gives_the_page(calls: list[Any]) -> None:
    async def script() -> Results:
        return await client_sdk.kb.search("q")

    assert asyncio.run(script()).ids == ["a", "b"]
    assert calls == [("kb.search", {"query": "q", "top_k": 5, "page_size": 5})]


def test_a_page_of_quotes_answers_to_the_name_of_the_wire_and_to_that_of_every_page() -> None:
    page = Results(QUOTES)
    assert page["quotes"] is page.quotes is page["results"] is page
    assert ("quotes" in page, "quotes" in Results(PAGE), page.count, page.diagnostics.passages) == (
        True, False, 1, 1)  # fmt: skip
    assert (page[0].id, page.ids, page[0].text, page[0].content) == ("s1", ["s1"], *["Retry three times."] * 2)
    assert page[0] == QUOTES["quotes"][0]


def test_an_excerpt_is_a_row_with_its_citation_and_may_be_awaited(calls: list[Any]) -> None:
    async def script() -> Row:
        return await kb.read_excerpt("p1")

    row = asyncio.run(script())
    assert row == EXCERPT
    assert row.excerpt == row.text == row["content"] == "Retry three times."
    assert (row.citation.title, row.title, row.id, row.section_id) == ("A", "A", "s1", "s1")


CALLS = {
    "search": (lambda: kb.search("q", top_k=20, max_per_doc=3, cursor="c"), {
        "query": "q", "top_k": 20, "page_size": 20, "cursor": "c", "options": {"max_per_doc": 3}}),
    "retrieve_evidence": (lambda: kb.retrieve_evidence("q?", top_k=2, filters={"tags": ["x"]}), {
        "question": "q?", "top_k": 2, "max_quotes": 6, "max_quote_tokens": 80, "include_context_tokens": 20,
        "filters": {"tags": ["x"]}}),
    "extract_evidence": (lambda: kb.extract_evidence("q?", "p1", max_quotes=1), {
        "question": "q?", "passage_ids": ["p1"], "max_quotes": 1, "max_quote_tokens": 80,
        "include_context_tokens": 20}),
    "read_excerpt": (lambda: kb.read_excerpt("p1", 50, 7, format="bullets"), {
        "passage_id": "p1", "max_tokens": 50, "start_char": 7, "options": {"format": "bullets"}}),
    "expand_excerpt": (lambda: kb.expand_excerpt("p1", 10, scope={"project_id": "x"}), {
        "passage_id": "p1", "before_tokens": 10, "after_tokens": 150, "scope": {"project_id": "x"}}),
}  # fmt: skip


def test_every_function_of_the_ladder_is_called_below() -> None:
    assert CALLS.keys() == kb_calls.FUNCTIONS.keys()


@pytest.mark.parametrize("name", CALLS)
def test_a_call_asks_in_the_shape_of_the_wire(calls: list[Any], name: str) -> None:
    call, params = CALLS[name]
    call()
    assert calls == [(f"kb.{name}", params)]


@pytest.mark.parametrize("spelt", ["kb.{}", "kb_{}"])
@pytest.mark.parametrize("name", CALLS)
def test_a_client_asks_the_same_by_name(calls: list[Any], name: str, spelt: str) -> None:
    params = CALLS[name][1]
    found = client_sdk.MCPClient().call_tool(spelt.format(name), params)
    assert calls == [(f"kb.{name}", params)]
    assert found == CALLS[name][0]()
    assert getattr(client_sdk.MCPClient, name) is kb_calls.FUNCTIONS[name]


ENTRY = {"entry_id": "e1", "topic": "a/b", "claims": [{"n": 1, "text": "So."}], "claims_status": "distilled"}
# Function -> a call, its arguments on the wire, and the name of the rows of its answer.
NOTEBOOK: dict[str, tuple[Any, dict[str, Any], str]] = {
    "search": (lambda: claims.search("q", mode="lexical", topic_prefix="a"), {
        "query": "q", "mode": "lexical", "top_k": 10, "topic_prefix": "a", "min_similarity": 0.3, "max_claims": 5},
        "results"),
    "related": (lambda: claims.related(Row(ENTRY), "similar"), {
        "entry_id": "e1", "direction": "similar", "max_results": 10}, "results"),
    "claims": (lambda: claims.claims([Row(ENTRY), "e1", "e2"]), {"entry_ids": ["e1", "e2"]}, "entries"),
    "read": (lambda: claims.read("e1", project="p"), {"entry_id": "e1", "start_char": 0, "project": "p"}, ""),
    "topics": (lambda: claims.topics("a"), {"prefix": "a", "min_entries": 1}, "topics"),
    "friction": (lambda: claims.friction(limit=3), {"min_friction": 0.3, "limit": 3}, "results"),
    "recent": (lambda: claims.recent(7), {"since_sequence": 7, "limit": 20}, "changes"),
    "status": (lambda: claims.status(), {}, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", claim_calls.FUNCTIONS)
def test_a_notebook_is_asked_in_the_shape_of_the_wire_and_answers_with_rows(name: str) -> None:
    asked: list[Any] = []
    call, params, rows = NOTEBOOK[name]

    def answer(method: str, given: Any) -> dict[str, Any]:
        asked.append((method, dict(given)))
        return {"ok": {rows: [ENTRY]} if rows else ENTRY}

    transport.connect(answer)
    try:
        found = call()
        for spelt in ("claims.{}", "claims_{}", "wild_{}"):
            assert client_sdk.MCPClient().call_tool(spelt.format(name), params) == found
    finally:
        transport._transport.clear()
    row = found[0] if rows else found
    assert asked == [(f"claims.{name}", params)] * 4
    assert (row.id, row.topic, row.author, row.claims[0].text, row.claims[0].verified) == (
        "e1",
        "a/b",
        None,
        "So.",
        None,
    )
    assert not rows or found[rows] is found.results is found


def test_claims_of_no_entries_are_an_empty_page_without_a_call(calls: list[Any]) -> None:
    assert (len(claims.claims([])), claims.claims(()).missing_ids, calls) == (0, [], [])


@pytest.mark.parametrize(
    ("name", "told"),
    [("write", "wild_write"), ("revise", "wild_revise"), ("serch", "'search'"), ("batch", "'claims'")],
)
def test_what_a_notebook_has_not_is_told(name: str, told: str) -> None:
    with pytest.raises(AttributeError, match=told):
        getattr(claims, name)
    with pytest.raises(AttributeError, match=told.strip("'")):
        client_sdk.MCPClient().call_tool(f"claims_{name}")


PAGED = {"include_snippet": False, "page_size": 25}
WALKS = {
    "describe": (lambda: graph.describe("Pod"), {"ids": ["Pod"], **PAGED}),
    "expand": (lambda: graph.expand(["Pod", "e1"], 2, direction="out", types="MENTIONS", page_size=3), {
        "ids": ["Pod", "e1"], "hops": 2, "direction": "out", "types": ["MENTIONS"], "include_snippet": False,
        "page_size": 3}),
    "paths": (lambda: graph.paths("a", ["b"], types=("CALLS",)), {
        "from_ids": ["a"], "to_ids": ["b"], "max_hops": 3, "types": ["CALLS"], "limit": 10}),
    "parents": (lambda: graph.parents("a", cursor="c"), {"ids": ["a"], "hops": 5, "cursor": "c", **PAGED}),
    "children": (lambda: graph.children("a", 2), {"ids": ["a"], "hops": 2, **PAGED}),
    "entities_for_sections": (lambda: graph.entities_for_sections(["s"]), {"section_ids": ["s"], "page_size": 25}),
    "sections_for_entities": (lambda: graph.sections_for_entities("e", scope={"doc_tags": ["x"]}), {
        "entity_ids": ["e"], "scope": {"doc_tags": ["x"]}, **PAGED}),
}  # fmt: skip
VENDOR = {
    "vendor": "Acme",
    "entities": [{"id": "e1", "title": "Rocket", "section_ids": ["s1"]}],
    "relationships": [{"source_id": "d1", "target_id": "e1", "relationship_type": "ABOUT", "confidence": 1.0}],
    "next_cursor": None,
}


def test_every_walk_is_called_below() -> None:
    assert WALKS.keys() == graph_calls.FUNCTIONS.keys()


@pytest.mark.parametrize("name", WALKS)
def test_a_walk_asks_in_the_shape_of_the_wire_by_either_name(calls: list[Any], name: str) -> None:
    call, params = WALKS[name]
    page = call()
    for spelt in (f"graph.{name}", f"graph_{name}"):
        assert client_sdk.MCPClient().call_tool(spelt, params) == page
    assert calls == [(f"graph.{name}", params)] * 3


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("Pod", ["Pod"]),
        (Results(PAGE), ["a", "b"]),
        (Results(QUOTES)[0], ["s1"]),
        ([Row(entity_id="e1"), Row(EXCERPT), "x"], ["e1", "s1", "x"]),
        ((row for row in Results(PAGE)), ["a", "b"]),
    ],
)
def test_nodes_are_named_by_names_ids_rows_or_a_page(calls: list[Any], given: Any, sent: list[str]) -> None:
    graph.expand(given)
    assert calls[0][1]["ids"] == sent


def test_what_is_around_a_vendor_is_a_page_of_entities_that_knows_its_relationships() -> None:
    transport.connect(lambda method, params: {"ok": VENDOR if method == "find_vendor_info" else None})
    page = client_sdk.find_vendor_info("acme", entity_types="product")
    transport._transport.clear()
    assert page is page.entities is page["results"]
    assert (page.vendor, page.ids, page[0].section_ids) == ("Acme", ["e1"], ["s1"])
    assert [(one.source_id, one.relationship_type) for one in page.relationships] == [("d1", "ABOUT")]


def test_what_the_wire_nests_may_be_given_beside_the_rest_or_nested(calls: list[Any]) -> None:
    client = client_sdk.MCPClient()
    client.call_tool("kb_search", {"query": "q", "max_per_doc": 2, "options": {"include_scores": True}})
    client.call_tool("kb_search", {"query": "q", "page_size": 3, "surprise": 1})
    assert [params for _, params in calls] == [
        {"query": "q", "page_size": 5, "options": {"max_per_doc": 2, "include_scores": True}},
        {"query": "q", "page_size": 3, "surprise": 1},
    ]


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("p1", ["p1"]),
        (["p1", "p2"], ["p1", "p2"]),
        (Results(QUOTES), ["p1"]),
        (Results(QUOTES)[0], ["p1"]),
        ([Results(QUOTES)[0], Results(PAGE)[0], {"id": "c"}, "d"], ["p1", "a", "c", "d"]),
        ((row for row in Results(PAGE)), ["a", "b"]),
        ([Row(EXCERPT)], ["p1"]),
        ([], []),
    ],
)
def test_passages_are_named_by_ids_rows_or_a_page(calls: list[Any], given: Any, sent: list[str]) -> None:
    kb.extract_evidence("q?", given)
    assert calls[0][1]["passage_ids"] == sent


def test_one_passage_is_named_by_an_id_or_by_any_row(calls: list[Any]) -> None:
    for given in ("p1", Results(QUOTES)[0], Row(EXCERPT), Results(PAGE)[0]):
        kb.expand_excerpt(given)
    client_sdk.fetch([Results(QUOTES)[0], Row(EXCERPT, section_id="s2")])
    assert [params.get("passage_id", params.get("ids")) for _, params in calls] == [
        "p1", "p1", "p1", "a", ["s1", "s2"]]  # fmt: skip


def test_a_page_in_place_of_one_passage_is_told_what_to_write(calls: list[Any]) -> None:
    for call in (kb.read_excerpt, kb.expand_excerpt):
        with pytest.raises(TypeError, match="one id or one row"):
            call(Results(PAGE))
    assert calls == []


@pytest.mark.parametrize(
    ("read", "meant"),
    [
        (lambda: kb.retrieve, "'retrieve_evidence'"),
        (lambda: kb.evidence, "'retrieve_evidence'"),
        (lambda: kb.expand, "'expand_excerpt'"),
        (lambda: kb.read_exerpt, "'read_excerpt'"),
        (lambda: kb.serach, "'search'"),
        (lambda: kb.nothing_like_it, "it has retrieve_evidence, search"),
        (lambda: client_sdk.MCPClient().call_tool("evidence"), "'kb.retrieve_evidence'"),
        (lambda: client_sdk.MCPClient().call_tool("kb.excerpt"), "'kb.read_excerpt'"),
        (lambda: client_sdk.MCPClient().call_tool("retrieve_evidence"), "'kb.retrieve_evidence'"),
        (lambda: client_sdk.MCPClient().call_tool("kb.serach"), "'kb.search'"),
        (lambda: graph.neighbors, "'expand'"),
        (lambda: graph.shortest_path, "'paths'"),
        (lambda: graph.nothing_like_it, "it has describe, expand"),
        (lambda: client_sdk.MCPClient().call_tool("graph_path"), "'graph.paths'"),
    ],
)
def test_a_call_that_is_not_there_names_the_one_that_is_meant(read: Any, meant: str) -> None:
    with pytest.raises(AttributeError) as caught:
        read()
    assert meant in str(caught.value)


def test_a_refusal_is_an_exception_with_type_and_hint() -> None:
    error = {"type": "SCOPE_VIOLATION", "message": "not yours", "hint": "leave scope out", "limit": False}
    transport.connect(lambda method, params: {"error": error})
    with pytest.raises(SDKError) as caught:
        client_sdk.fetch("a")
    transport._transport.clear()
    assert (caught.value.type, caught.value.hint, caught.value.limit) == (
        "SCOPE_VIOLATION",
        "leave scope out",
        False,
    )
    assert str(caught.value) == "SCOPE_VIOLATION: not yours (leave scope out)"


def test_outside_the_sandbox_a_call_says_so() -> None:
    with pytest.raises(SDKError, match="inside execute_code"):
        client_sdk.kb.search("q")


def test_every_public_function_says_how_it_is_used() -> None:
    functions = [
        client_sdk.semantic_search,
        client_sdk.search_many,
        client_sdk.fetch,
        *kb_calls.FUNCTIONS.values(),
    ]
    functions += [client_sdk.find_vendor_info, *graph_calls.FUNCTIONS.values(), *claim_calls.FUNCTIONS.values()]
    for thing in (*functions, client_sdk.MCPClient, Results, Row):
        assert "\n\n" in (thing.__doc__ or "")


def test_a_row_survives_a_copy() -> None:
    row = Results(PAGE)[0]
    assert (pickle.loads(pickle.dumps(row)), type(row.copy())) == (row, dict)
