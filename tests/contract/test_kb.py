"""The ``kb.*`` tools: names, fields, defaults, caps, pages, errors; evidence and excerpts."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client
from mcp_types import CallToolResult, ResourceLink, TextContent

from winnow.server.commands.entry.app import Application, open_application
from winnow.server.contracts import flat_schema
from winnow.server.contracts.excerpts import MAX_EXCERPT_TOKENS
from winnow.server.operations.answers.budget import measure
from winnow.server.operations.excerpts import _build_bullets
from winnow.server.settings.loading import load_settings
from winnow.server.text.words.tokens import count_tokens
from winnow.server.tools.table import TOOLS
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

pytestmark = pytest.mark.anyio

BACKUPS = "how long are encrypted backups kept"
EVERYWHERE = "who reads this page first"


@pytest.fixture(scope="module")
async def served(store: Path) -> AsyncIterator[Application]:
    """One running winnow for all of them; each test has a connection of its own."""
    settings = load_settings(store=store, project="handbook", execute_code="off")
    async with open_application(settings, wait_for_model=True) as application:
        yield application


@pytest.fixture
async def client(served: Application) -> AsyncIterator[Client]:
    async with Client(build_server(Dispatcher(served.context, served.settings), served)) as connected:
        yield connected


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return dict(result.structured_content)


async def refusal(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The error of a call that must fail, checked against the schema."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    schema = {listed.name: listed.output_schema for listed in (await client.list_tools()).tools}[tool]
    jsonschema.validate(result.structured_content, schema or {})
    assert result.structured_content["error"]["message"] in _text(result)
    return dict(result.structured_content["error"])


def _text(result: CallToolResult) -> str:
    assert isinstance(result.content[0], TextContent)
    return result.content[0].text


async def test_the_ladder_takes_the_arguments_of_its_contract_with_their_defaults_and_bounds(
    client: Client,
) -> None:
    tools = {tool.name: tool.input_schema["properties"] for tool in (await client.list_tools()).tools}
    defaults = {
        tool: {name: value["default"] for name, value in tools[tool].items() if "default" in value}
        for tool in tools
        if tool.startswith("kb_")
    }
    assert defaults == {
        "kb_retrieve_evidence": {
            "top_k": 5,
            "max_quotes": 6,
            "max_quote_tokens": 80,
            "include_context_tokens": 20,
            "mode": "auto",
        },
        "kb_search": {"top_k": 5, "page_size": 5},
        "kb_scan": {"case": True, "context": 80, "limit": 1000},
        "kb_documents": {"sort": "path", "limit": 100},
        "kb_read": {"start": 0, "max_tokens": 800},
        "kb_extract_evidence": {"max_quotes": 6, "max_quote_tokens": 80, "include_context_tokens": 20},
        "kb_read_excerpt": {"max_tokens": 300, "start_char": 0},
        "kb_expand_excerpt": {"before_tokens": 150, "after_tokens": 150},
    }
    assert set(tools["kb_search"]) == {
        "query",
        "top_k",
        "cursor",
        "page_size",
        "filters",
        "options",
    }
    options = tools["kb_search"]["options"]["properties"]
    assert {name: value.get("default", False) for name, value in options.items()} == {
        "max_snippet_chars": 280,
        "max_per_doc": 1,
        "include_scores": False,
        "include_debug": False,
        "mode": "auto",
    }
    assert options["mode"]["enum"] == ["auto", "vector_only", "hybrid_local", "multi_hop"]
    assert set(tools["kb_read_excerpt"]["options"]["properties"]) == {"format", "include_citation"}
    assert tools["kb_read_excerpt"]["max_tokens"]["maximum"] == 800
    whole = {tool.name.replace(".", "_"): flat_schema(tool.arguments)["properties"] for tool in TOOLS}
    for tool in defaults:
        scope = whole[tool]["scope"]["properties"]
        assert set(scope) == {"project_id", "environment", "doc_tags", "repositories"}
        assert "session_id" not in tools[tool]
    assert [tool for tool in defaults if "scope" in tools[tool]] == []  # of one project alone


async def test_a_result_has_the_fields_of_its_contract_and_more_only_on_request(client: Client) -> None:
    plain = await call(client, "kb_search", query=BACKUPS)
    assert set(plain) == {"results", "next_cursor", "partial", "limit_reason", "session_id", "meta"}
    fields = {
        "passage_id",
        "section_id",
        "doc_tag",
        "title",
        "rank",
        "score",
        "source",
        "preview",
        "scratch_uri",
        "size_bytes",
        "anchor",
    }
    assert [set(row) for row in plain["results"]] == [fields] * 5
    first = plain["results"][0]
    assert (first["rank"], first["anchor"], first["source"]) == (1, "backups", "hybrid")
    assert first["scratch_uri"] == f"winnow://scratch/{plain['session_id']}/{first['passage_id']}"
    asked = {"include_scores": True, "include_debug": True}
    told = await call(client, "kb_search", query=BACKUPS, options=asked)
    assert [set(row) for row in told["results"]] == [fields | {"scores", "debug"}] * 5
    assert told["results"][0]["debug"]["file"].endswith("backups.md")
    assert told["debug"]["search_mode"] == "hybrid"


async def test_previews_are_the_sentences_that_answer_and_never_the_whole_text(client: Client) -> None:
    found = await call(client, "kb_search", query=BACKUPS, options={"max_snippet_chars": 120})
    assert "ninety days" in found["results"][0]["preview"]
    assert all(len(row["preview"]) <= 120 for row in found["results"])
    found = await call(client, "kb_search", query="case 28 of the incidents", options={"max_snippet_chars": 120})
    assert all(len(row["preview"]) <= 120 for row in found["results"])
    assert max(row["size_bytes"] for row in found["results"]) > 500


async def test_a_passage_is_a_resource_that_the_same_connection_can_read(client: Client) -> None:
    result = await client.call_tool("kb_search", {"query": BACKUPS})
    assert [type(block) for block in result.content] == [TextContent]
    read = await client.read_resource(result.structured_content["results"][0]["scratch_uri"])
    assert "ninety days" in read.contents[0].text  # type: ignore[union-attr]


async def test_with_the_setting_a_passage_is_a_resource_link_as_well(served: Application) -> None:
    settings = served.settings.model_copy(update={"resource_links": "on"})
    async with Client(build_server(Dispatcher(served.context, settings), served)) as client:
        result = await client.call_tool("kb_search", {"query": BACKUPS})
        await _check_links(client, result)


async def _check_links(client: Client, result: CallToolResult) -> None:
    links = [block for block in result.content if isinstance(block, ResourceLink)]
    rows = result.structured_content["results"]
    assert [link.uri for link in links] == [row["scratch_uri"] for row in rows]
    assert [(link.size, link.mime_type) for link in links] == [(row["size_bytes"], "text/plain") for row in rows]
    for link in links:
        assert link.annotations is not None
        assert (link.annotations.audience, link.annotations.priority) == (["assistant"], 0.1)
        assert link.annotations.last_modified
    read = await client.read_resource(links[0].uri)
    assert "ninety days" in read.contents[0].text  # type: ignore[union-attr]


async def test_pages_hold_page_size_rows_one_of_each_document_and_end_at_top_k(client: Client) -> None:
    asked = {"query": EVERYWHERE, "top_k": 8, "page_size": 3, "options": {"max_per_doc": 2}}
    sizes, ranks, ids, cursor = [], [], [], None
    while True:
        page = await call(client, "kb_search", **asked, cursor=cursor)
        sizes.append(len(page["results"]))
        ranks += [row["rank"] for row in page["results"]]
        ids += [row["section_id"] for row in page["results"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
        assert (page["partial"], page["limit_reason"]) == (True, "page_size")
    assert (sizes, ranks, len(set(ids))) == ([3, 3, 2], list(range(1, 9)), 8)
    assert (page["partial"], page["limit_reason"]) == (False, "none")


@pytest.mark.parametrize(
    ("asked", "pages"),
    [({}, [5]), ({"top_k": 3}, [3]), ({"page_size": 2}, [2, 2, 1]), ({"top_k": 10, "page_size": 5}, [5, 5])],
)
async def test_all_pages_together_have_top_k_rows(client: Client, asked: dict[str, Any], pages: list[int]) -> None:
    asked = {"query": EVERYWHERE, "options": {"max_per_doc": 4}, **asked}
    sizes, cursor = [], None
    while not sizes or cursor is not None:
        page = await call(client, "kb_search", **asked, cursor=cursor)
        sizes.append(len(page["results"]))
        cursor = page["next_cursor"]
    assert sizes == pages


@pytest.mark.parametrize("query", ["how are backups encrypted", "zyxwvut"])
async def test_a_preview_shows_at_most_60_percent_of_a_passage_also_where_no_word_matches(
    client: Client, query: str
) -> None:
    options = {"max_snippet_chars": 500, "max_per_doc": 100}
    page = await call(client, "kb_search", query=query, top_k=30, page_size=30, options=options)
    ids = [row["section_id"] for row in page["results"]]
    whole = await call(client, "semantic_search", filter_ids=ids, response_mode="full")
    texts = {row["id"]: row["content"] for row in whole["results"]}
    long = [row for row in page["results"] if len(texts.get(row["section_id"], "")) > 200]
    assert long
    assert [row["preview"] for row in long if len(row["preview"]) > 0.6 * len(texts[row["section_id"]])] == []


async def test_dedupe_reads_on_until_the_page_is_full(client: Client) -> None:
    """Every chunk of each of five handbooks matches; each handbook is returned once."""
    found = await call(client, "kb_search", query=EVERYWHERE, options={"include_debug": True})
    assert len({row["debug"]["document_id"] for row in found["results"]}) == len(found["results"]) == 5


async def test_one_call_answers_a_question_with_quotes_and_their_sources(client: Client) -> None:
    answer = await call(client, "kb_retrieve_evidence", question=BACKUPS)
    best = answer["quotes"][0]
    assert set(best) == {"quote", "passage_id", "section_id", "title", "uri", "confidence", "file"}
    assert "ninety days" in best["quote"]
    assert best["title"].startswith("Backups handbook")
    assert answer["diagnostics"] == {"passages": 10, "search_mode": "hybrid"}
    assert len({quote["passage_id"] for quote in answer["quotes"]}) <= 5
    assert measure({**answer, "meta": None}).tokens <= 1_000
    again = await call(client, "kb_retrieve_evidence", question=BACKUPS)
    assert again["quotes"] == answer["quotes"]


async def test_quotes_far_below_the_best_are_shown_only_to_who_asks_for_more(client: Client) -> None:
    """By default a page has none of them; a number of quotes or a cursor brings them."""
    by_default = await call(client, "kb_retrieve_evidence", question=BACKUPS)
    all_six = await call(client, "kb_retrieve_evidence", question=BACKUPS, max_quotes=6)
    shown = by_default["quotes"]
    assert by_default["next_cursor"] is not None
    assert 0 < len(shown) < len(all_six["quotes"])
    assert shown == all_six["quotes"][: len(shown)]
    assert (by_default["partial"], by_default["limit_reason"]) == (False, "none")
    more = await call(client, "kb_retrieve_evidence", question=BACKUPS, cursor=by_default["next_cursor"])
    assert more["quotes"][0]["quote"] == all_six["quotes"][len(shown)]["quote"]


async def test_every_session_is_shown_the_same_quotes(served: Application, client: Client) -> None:
    """Ids are random, and so are the tokens of their letters: they change neither their number nor a word."""
    asked = {"question": BACKUPS, "max_quotes": 20, "max_quote_tokens": 8}
    first = await call(client, "kb_retrieve_evidence", **asked)
    for _ in range(5):
        async with Client(build_server(Dispatcher(served.context, served.settings), served)) as other:
            again = await call(other, "kb_retrieve_evidence", **asked)
        assert [row["uri"] for row in again["quotes"]] != [row["uri"] for row in first["quotes"]]
        assert [row["quote"] for row in again["quotes"]] == [row["quote"] for row in first["quotes"]]


async def test_the_text_says_once_where_quotes_are_as_resources(client: Client) -> None:
    result = await client.call_tool("kb_retrieve_evidence", {"question": BACKUPS, "max_quotes": 3})
    quotes = (result.structured_content or {})["quotes"]
    text = _text(result)
    [address] = re.findall(r"winnow://\S+", text)
    assert [address.replace("PASSAGE_ID", row["passage_id"]) for row in quotes] == [row["uri"] for row in quotes]
    assert all(f"[{row['passage_id']}]" in text for row in quotes)


async def test_quotes_go_on_with_a_cursor_and_none_comes_twice(client: Client) -> None:
    asked = {"question": BACKUPS, "max_quotes": 2}
    pages, cursor = [], None
    for _ in range(4):
        page = await call(client, "kb_retrieve_evidence", **asked, cursor=cursor)
        pages.append([row["quote"] for row in page["quotes"]])
        cursor = page["next_cursor"]
        if cursor is None:
            break
    told = [quote for page in pages for quote in page]
    assert len(told) == len(set(told))
    whole = await call(client, "kb_retrieve_evidence", question=BACKUPS, max_quotes=8)
    assert told == [row["quote"] for row in whole["quotes"]][: len(told)]


async def test_evidence_of_known_passages_names_those_that_are_unknown(client: Client) -> None:
    found = await call(client, "kb_search", query=BACKUPS)
    known = found["results"][0]["passage_id"]
    answer = await call(client, "kb_extract_evidence", question=BACKUPS, passage_ids=[known, "nothing"])
    assert {row["passage_id"] for row in answer["quotes"]} == {known}
    assert answer["missing_ids"] == ["nothing"]
    error = await refusal(client, "kb_extract_evidence", question=BACKUPS, passage_ids=["nothing"])
    assert error["details"]["reason"] == "NOT_FOUND"


async def test_an_excerpt_is_bounded_and_goes_on_to_the_end_of_its_passage(client: Client) -> None:
    found = await call(client, "kb_search", query=EVERYWHERE)
    passage = found["results"][0]
    read, start, pieces = None, 0, []
    while start is not None:
        read = await call(
            client, "kb_read_excerpt", passage_id=passage["passage_id"], max_tokens=40, start_char=start
        )
        assert count_tokens(read["excerpt"]) <= 40
        assert read["truncated"] == (read["next_start_char"] is not None)
        pieces.append(read["excerpt"])
        start = read["next_start_char"]
    whole = (await client.read_resource(passage["scratch_uri"])).contents[0].text  # type: ignore[union-attr]
    assert len(pieces) > 1
    assert "".join(pieces) == whole
    assert read is not None
    assert read["citation"] == {
        "section_id": passage["section_id"],
        "doc_tag": "",
        "title": passage["title"],
        "uri": passage["scratch_uri"],
    }


async def test_beyond_a_passage_the_document_is_read_on(client: Client) -> None:
    passage = (await call(client, "kb_search", query=BACKUPS))["results"][0]["passage_id"]
    expanded = await call(client, "kb_expand_excerpt", passage_id=passage, before_tokens=0)
    assert "ninety days" in expanded["excerpt"]
    assert expanded["truncated"]
    on = await call(client, "kb_read_excerpt", passage_id=passage, start_char=expanded["next_start_char"])
    assert on["start_char"] == expanded["next_start_char"]
    whole = await call(client, "kb_expand_excerpt", passage_id=passage, before_tokens=0, after_tokens=700)
    assert (expanded["excerpt"] + on["excerpt"])[:1_000] in whole["excerpt"]
    error = await refusal(client, "kb_read_excerpt", passage_id=passage, start_char=10_000_000)
    assert "ends at" in error["message"]


async def test_expanding_again_does_not_grow_the_excerpt_beyond_its_cap(client: Client) -> None:
    passage = (await call(client, "kb_search", query=EVERYWHERE))["results"][2]["passage_id"]
    sizes = set()
    for _ in range(3):
        expanded = await call(client, "kb_expand_excerpt", passage_id=passage, before_tokens=800, after_tokens=800)
        sizes.add(count_tokens(expanded["excerpt"]))
    assert len(sizes) == 1
    assert MAX_EXCERPT_TOKENS / 2 < sizes.pop() <= MAX_EXCERPT_TOKENS


async def test_bullets_hold_one_span_a_line_within_the_same_cap(client: Client) -> None:
    passage = (await call(client, "kb_search", query=EVERYWHERE))["results"][0]["passage_id"]
    read = await call(
        client,
        "kb_read_excerpt",
        passage_id=passage,
        max_tokens=60,
        options={"format": "bullets", "include_citation": False},
    )
    assert all(line.startswith("- ") for line in read["excerpt"].splitlines())
    assert count_tokens(read["excerpt"]) <= 60
    assert read["truncated"]
    assert "citation" not in read


@pytest.mark.parametrize(
    ("text", "bullets"),
    [
        ("- one\n- two", "- one\n- two"),
        ("* one\n+ two", "- one\n- two"),
        ("## Limits", "- Limits"),
        ("```sh\nls\n```", "```sh\nls\n```"),
        ("1. first\n2. second", "- 1. first\n- 2. second"),
        ("A plain sentence.", "- A plain sentence."),
    ],
)
def test_a_bullet_has_one_mark(text: str, bullets: str) -> None:
    assert _build_bullets(text, 100)[0] == bullets


async def test_ids_of_semantic_search_lead_on_to_excerpts_and_evidence(client: Client) -> None:
    row = (await call(client, "semantic_search", query=BACKUPS))["results"][0]
    read = await call(client, "kb_read_excerpt", passage_id=row["id"])
    assert "ninety days" in read["excerpt"]
    assert read["passage_id"] != row["id"]
    answer = await call(client, "kb_extract_evidence", question=BACKUPS, passage_ids=[row["id"]])
    assert "ninety days" in answer["quotes"][0]["quote"]


@pytest.mark.parametrize(
    ("mode", "walked"), [("auto", True), ("vector_only", False), ("hybrid_local", True), ("multi_hop", True)]
)
async def test_the_mode_says_whether_the_graph_has_its_part(client: Client, mode: str, walked: bool) -> None:
    options = {"mode": mode, "include_debug": True, "include_scores": True}
    found = await call(client, "kb_search", query=BACKUPS, options=options)
    assert (found["debug"]["walked"], found["meta"]["warnings"]) == (walked, [])
    assert ("graph" in found["results"][0]["scores"]) == walked
    assert "ninety days" in found["results"][0]["preview"]
    again = await call(client, "kb_search", query=BACKUPS, options=options)
    assert again["results"] == found["results"]


async def test_pages_of_a_walk_neither_repeat_nor_lose_a_row(client: Client) -> None:
    options = {"mode": "multi_hop", "max_per_doc": 100}
    whole = await call(client, "kb_search", query=EVERYWHERE, page_size=12, top_k=12, options=options)
    rows: list[str] = []
    cursor: dict[str, Any] = {}
    while len(rows) < 12:
        asked = {"query": EVERYWHERE, "page_size": 4, "top_k": 12, "options": options, **cursor}
        page = await call(client, "kb_search", **asked)
        assert page["meta"]["warnings"] == []
        rows += [row["passage_id"] for row in page["results"]]
        cursor = {"cursor": page["next_cursor"]}
    assert rows == [row["passage_id"] for row in whole["results"]]


async def test_a_cursor_belongs_to_its_question(client: Client) -> None:
    first = await call(client, "kb_search", query=EVERYWHERE, top_k=10, options={"max_per_doc": 4})
    error = await refusal(client, "kb_search", query=BACKUPS, cursor=first["next_cursor"])
    assert error["details"]["reason"] == "INVALID_CURSOR"


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("kb_search", {"query": "   "}, "query"),
        ("kb_search", {"query": "ok", "top_k": 101}, "top_k"),
        ("kb_search", {"query": "ok", "page_size": 0}, "page_size"),
        ("kb_search", {"query": "ok", "options": {"max_snippet_chars": 501}}, "options.max_snippet_chars"),
        ("kb_search", {"query": "ok", "options": {"snippet": 1}}, "options.snippet"),
        ("kb_search", {"query": "ok", "page_sizes": 3}, "page_sizes"),
        ("kb_read_excerpt", {"passage_id": "x", "max_tokens": 801}, "max_tokens"),
        ("kb_read_excerpt", {"passage_id": "x", "start_char": -1}, "start_char"),
        ("kb_expand_excerpt", {"passage_id": "x", "after_tokens": 801}, "after_tokens"),
        ("kb_extract_evidence", {"question": "ok", "passage_ids": []}, "passage_ids"),
        ("kb_extract_evidence", {"question": "ok", "passage_ids": ["x"] * 51}, "passage_ids"),
        ("kb_retrieve_evidence", {"query": "ok"}, "question"),
        ("kb_retrieve_evidence", {"question": "ok", "max_quotes": 21}, "max_quotes"),
        ("kb_retrieve_evidence", {"question": "ok", "max_quote_tokens": 201}, "max_quote_tokens"),
    ],
)
async def test_a_wrong_argument_is_named(client: Client, tool: str, arguments: dict[str, Any], field: str) -> None:
    error = await refusal(client, tool, **arguments)
    assert error["code"] == "INVALID_ARGUMENT"
    assert field in error["details"]["fields"]


async def test_quotes_follow_a_line_that_says_whether_they_answer(client: Client) -> None:
    found = await client.call_tool("kb_retrieve_evidence", {"question": "which port does the gateway listen on"})
    other = await client.call_tool("kb_retrieve_evidence", {"question": "How does Kafka rebalance partitions?"})
    answered, absent = found.structured_content, other.structured_content
    assert (answered["verdict"], absent["verdict"]) == ("answered", "not_found")
    assert _text(found).splitlines()[0] == f"answered (confidence {answered['confidence']:.3f})"
    assert absent["missing_terms"] == ["Kafka", "rebalance", "partitions"]
    assert _text(other).splitlines()[0] == (
        f"not found (confidence {absent['confidence']:.3f}): no document searched has 'Kafka', 'rebalance', "
        "'partitions'; nearest quotes follow"
    )
