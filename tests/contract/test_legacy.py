"""The earlier tools: exact arguments, defaults and fields; pages and scope."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from mcp import Client

from tests.ingesting import ingest_paths
from winnow.server.backends.opening import open_backends
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.contracts import GetSectionText, SearchSections, flat_schema
from winnow.server.contracts.base import Cited
from winnow.server.contracts.kb import KbRow
from winnow.server.ingest.pipeline import Target
from winnow.server.settings.loading import load_settings
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

pytestmark = pytest.mark.anyio

QUERY = "who reads this page first"
SECTION_FIELDS = {
    "section_id", "title", "tokens", "doc_tag", "score", "rank", "source", "fusion_method", "fused_score",
    "title_vec_score", "entity_vec_score", "doc_title_sparse_score", "lexical_vec_score", "rerank_score",
    "graph_score", "graph_distance", "connection_count", "mention_count", "entity_boost_applied",
    "entity_metadata", "rrf_field_contributions",
}  # fmt: skip
TEXT_FIELDS = {"section_id", "title", "doc_tag", "text_truncated", "bytes", "truncated", "source_blob_id"}
ENDING = {"session_id", "partial", "limit_reason", "meta"}
WIDE = "ASCII, äöü, Ελληνικά, 備份 and 👩‍👩‍👧 take one to four bytes a character."

_connections = itertools.count()


@pytest.fixture(scope="module")
async def application(store: Path) -> AsyncIterator[Application]:
    """One winnow for all tests here: their clients have sessions of their own."""
    settings = load_settings(store=store, project="handbook", legacy_tools=True, execute_code="off")
    async with open_application(settings, wait_for_model=True) as app:
        yield app


@pytest.fixture(params=["legacy", "2026-07-28"])
async def client(request: pytest.FixtureRequest, application: Application) -> AsyncIterator[Client]:
    server = build_server(Dispatcher(application.context, application.settings), application)
    async with Client(server, mode=request.param) as connected:
        yield connected


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool, check its answer against its schema, and return the structured content."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    (schema,) = [listed.output_schema for listed in (await client.list_tools()).tools if listed.name == tool]
    jsonschema.validate(result.structured_content, schema or {})
    return dict(result.structured_content)


async def ids_of(application: Application, top_k: int = 100) -> list[str]:
    caller = application.caller(f"ids {next(_connections)}")
    asked = {"query": QUERY, "top_k": top_k, "response_mode": "ids_only"}
    found = await application.kb.call("semantic_search", asked, caller)
    return list(found.payload["ids"])


def test_arguments_and_defaults_are_those_of_the_earlier_tools_and_one_more() -> None:
    arguments = {
        model: {name: field.get("default") for name, field in flat_schema(model)["properties"].items()}
        for model in (SearchSections, GetSectionText)
    }
    assert arguments == {
        SearchSections: {
            "query": None,
            "top_k": 20,
            "filters": None,
            "cursor": None,
            "page_size": 25,
            "session_id": None,
            "include_debug": True,
        },
        GetSectionText: {"section_ids": None, "max_bytes_per": 8192, "session_id": None},
    }
    assert flat_schema(SearchSections)["required"] == ["query"]
    assert flat_schema(GetSectionText)["required"] == ["section_ids"]


async def test_rows_have_the_earlier_fields_and_what_this_server_knows_is_filled_in(client: Client) -> None:
    answer = await call(client, "search_sections", query="how are backups encrypted")
    assert set(answer) == {"results", "cursor", "next_cursor"} | ENDING
    assert [set(row) for row in answer["results"]] == [SECTION_FIELDS] * 20
    assert [row["rank"] for row in answer["results"]] == list(range(1, 21))
    same = await call(client, "semantic_search", query="how are backups encrypted", top_k=20, response_mode="full")
    for row, full in zip(answer["results"], same["results"], strict=True):
        known = (row["section_id"], row["score"], row["tokens"])
        assert known == (full["id"], full["score"], full["tokens"])
        assert row["title"].startswith(full["title"])
    first = answer["results"][0]
    assert (first["fusion_method"], first["source"], first["fused_score"]) == ("convex", "hybrid", 1.0)
    assert first["lexical_vec_score"] > 0
    assert (first["graph_distance"], first["entity_boost_applied"], first["rerank_score"]) == (0, False, None)


@pytest.mark.parametrize(
    ("arguments", "pages"),
    [
        ({}, [20]),
        ({"top_k": 3}, [3]),
        ({"top_k": 100}, [25, 25, 25, 25]),
        ({"page_size": 8}, [8, 8, 4]),  # top_k rows in all
        ({"page_size": 10}, [10, 10]),
        ({"page_size": 30, "top_k": 70}, [30, 30, 10]),
        ({"page_size": 40, "top_k": 40}, [40]),
        ({"page_size": 8, "include_debug": False}, [8, 8, 4]),
    ],
)
async def test_pages_follow_one_another_without_a_gap_or_a_repetition(
    application: Application, arguments: dict[str, Any], pages: list[int]
) -> None:
    caller = application.caller(f"pages {next(_connections)}")
    answers, cursor = [], None
    while not answers or cursor is not None:
        asked = {"query": QUERY, **arguments, "cursor": cursor}
        answers.append((await application.kb.call("search_sections", asked, caller)).payload)
        assert answers[-1]["cursor"] == cursor
        cursor = answers[-1]["next_cursor"]
    rows = [row for answer in answers for row in answer["results"]]
    assert [len(answer["results"]) for answer in answers] == pages
    assert [row["section_id"] for row in rows] == await ids_of(application, sum(pages))
    assert [row["rank"] for row in rows] == list(range(1, sum(pages) + 1))
    ending = [(answer["partial"], answer["limit_reason"]) for answer in answers]
    assert ending == [(True, "page_size")] * (len(pages) - 1) + [(False, "none")]


async def test_a_page_that_is_too_large_stops_early_and_goes_on(application: Application) -> None:
    caller = application.caller(f"large {next(_connections)}")
    asked = {"query": QUERY, "page_size": 100, "top_k": 100}
    first = (await application.kb.call("search_sections", asked, caller)).payload
    rest = (await application.kb.call("search_sections", asked | {"cursor": first["next_cursor"]}, caller)).payload
    assert (first["partial"], first["limit_reason"], rest["next_cursor"]) == (True, "token_cap", None)
    found = [row["section_id"] for row in first["results"] + rest["results"]]
    assert found == await ids_of(application)


async def test_a_session_id_is_ignored_with_a_warning_and_does_not_stop_a_cursor(client: Client) -> None:
    first = await call(client, "search_sections", query=QUERY, page_size=5)
    asked = {"query": QUERY, "page_size": 5, "cursor": first["next_cursor"], "session_id": "somebody-else-s"}
    second = await call(client, "search_sections", **asked)
    text = await call(client, "get_section_text", section_ids=[second["results"][0]["section_id"]], session_id="x")
    assert second["results"][0]["rank"] == 6
    assert second["session_id"] == first["session_id"] == text["session_id"] != "somebody-else-s"
    for answer in (second, text):
        (warning,) = answer["meta"]["warnings"]
        assert warning.startswith("session_id is ignored")


@pytest.mark.parametrize(
    ("filters", "topics", "warned"),
    [
        ({"tags": "billing"}, {"Billing"}, ()),
        ({"tags": ["handbook", "billing"]}, {"Billing"}, ()),
        ({"path_prefix": "guide/billing.md"}, {"Billing"}, ()),
        (
            {"updated_after": "2020-01-01"},
            set(),
            ("5 documents in reach state no date", "no document in reach has a date after '2020-01-01'"),
        ),
        ({"doc_tag": "none"}, set(), ("no document in reach has doc_tag 'none'",)),
        ({"doc_tag": ["none"]}, set(), ("no document in reach has doc_tag 'none'",)),
        ({"tags": "billing", "colour": {"is": 1}}, {"Billing"}, ("filters: colour ignored; filters here are",)),
        ({"tags": "billing", "project_id": "x"}, {"Billing"}, ("filters.project_id is ignored",)),
    ],
)
async def test_filters_are_a_free_object_of_which_some_keys_filter(
    application: Application, filters: dict[str, Any], topics: set[str], warned: tuple[str, ...]
) -> None:
    caller = application.caller(f"filters {next(_connections)}")
    asked = {"query": QUERY, "page_size": 100, "filters": filters}
    answer = await application.kb.call("search_sections", asked, caller)
    assert {row["title"].split()[0] for row in answer.payload["results"]} == topics
    assert len(answer.warnings) == len(warned)
    for warning, beginning in zip(answer.warnings, warned, strict=True):
        assert warning.startswith(beginning)


async def test_without_debug_rows_are_those_of_kb_search_and_lead_on(client: Client) -> None:
    answer = await call(client, "search_sections", query=QUERY, include_debug=False)
    assert [set(row) for row in answer["results"]] == [
        set(KbRow.model_fields) - {"scores", "debug", "claims", "claims_total", *Cited.model_fields}
    ] * 20
    row = answer["results"][3]
    excerpt = await call(client, "kb_read_excerpt", passage_id=row["passage_id"])
    assert excerpt["citation"]["section_id"] == row["section_id"]


async def test_numbers_beyond_a_cap_count_as_the_cap_and_the_answer_says_so(client: Client) -> None:
    many = await call(client, "search_sections", query=QUERY, top_k=5_000, page_size=500, include_debug=False)
    assert many["meta"]["warnings"] == [
        "page_size: 100 is the most; 500 counts as that",
        "top_k: 100 is the most; 5,000 counts as that",
    ]
    section = many["results"][0]["section_id"]
    text = await call(client, "get_section_text", section_ids=[section], max_bytes_per=1_000_000)
    assert text["meta"]["warnings"] == ["max_bytes_per: 32,768 is the most; 1,000,000 counts as that"]


async def test_texts_come_whole_in_the_order_asked_for_each_once(client: Client) -> None:
    first, second, third = ids = [
        row["section_id"] for row in (await call(client, "search_sections", query=QUERY))["results"][:3]
    ]
    answer = await call(client, "get_section_text", section_ids=[third, first, third, second])
    assert set(answer) == {"results", "hints"} | ENDING
    assert [set(row) for row in answer["results"]] == [TEXT_FIELDS] * 3
    assert [row["section_id"] for row in answer["results"]] == [third, first, second]
    full = await call(client, "semantic_search", filter_ids=ids, response_mode="full")
    texts = {row["section_id"]: row["text_truncated"] for row in answer["results"]}
    assert texts == {row["id"]: row["content"] for row in full["results"]}
    assert [row["bytes"] for row in answer["results"]] == [
        len(texts[one].encode()) for one in (third, first, second)
    ]
    assert (answer["partial"], answer["hints"]) == (False, {"next_tools": ["kb_expand_excerpt"]})


async def test_no_ids_give_no_texts_and_unknown_ones_are_named(client: Client) -> None:
    assert (await call(client, "get_section_text", section_ids=[]))["results"] == []
    answer = await call(client, "get_section_text", section_ids=["0" * 12, "no such id"])
    assert (answer["results"], answer["missing_ids"]) == ([], ["0" * 12, "no such id"])


async def test_texts_beyond_the_budget_are_named_and_come_with_the_next_call(client: Client) -> None:
    pages = [await call(client, "search_sections", query=QUERY, page_size=50, top_k=100)]
    more = {"page_size": 50, "top_k": 100, "cursor": pages[0]["next_cursor"]}
    pages.append(await call(client, "search_sections", query=QUERY, **more))
    wanted = [row["section_id"] for page in pages for row in page["results"]]
    first = await call(client, "get_section_text", section_ids=wanted)
    assert (first["partial"], first["limit_reason"]) == (True, "token_cap")
    rest = await call(client, "get_section_text", section_ids=first["hints"]["next_section_ids"])
    assert (rest["partial"], rest["limit_reason"]) == (False, "none")
    assert [row["section_id"] for row in first["results"] + rest["results"]] == wanted


@pytest.fixture(scope="module")
async def wide(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Application, str]]:
    """A winnow over one section of many scripts, and that section's id."""
    folder, store = tmp_path_factory.mktemp("wide"), tmp_path_factory.mktemp("store")
    (folder / "wide.md").write_text(f"# Wide\n\n{WIDE}\n", encoding="utf-8")
    settings = load_settings(store=store, project="wide", embedding="off", execute_code="off", kb_v2_enabled=False)
    backends = open_backends(settings, wait_for_model=False)
    try:
        ingest_paths(Target("wide", backends.catalogue, backends.store, None), [folder])
        (section,) = backends.catalogue.chunk_ids("wide")
    finally:
        backends.close()
    async with open_application(settings, wait_for_model=False) as app:
        yield app, section


@hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(max_bytes=st.integers(1, len(WIDE.encode()) + 40))
async def test_a_text_is_cut_between_characters_and_says_so(wide: tuple[Application, str], max_bytes: int) -> None:
    application, section = wide
    asked = {"section_ids": [section], "max_bytes_per": max_bytes}
    payload = (await application.kb.call("get_section_text", asked, application.caller("wide"))).payload
    (row,) = payload["results"]
    whole = (await application.kb.call("fetch", {"ids": [section]}, application.caller("wide"))).payload
    content = whole["results"][0]["content"]
    assert content.startswith(row["text_truncated"])
    assert row["bytes"] == len(row["text_truncated"].encode()) <= max_bytes
    assert row["bytes"] > max_bytes - 4 or row["text_truncated"] == content
    assert row["truncated"] == (row["text_truncated"] != content)
    assert payload["hints"] == {"next_tools": ["search_sections"]}  # kb_* are not listed here


async def test_by_words_alone_there_is_no_fusion_to_tell_of(wide: tuple[Application, str]) -> None:
    application, section = wide
    found = await application.kb.call("search_sections", {"query": "bytes"}, application.caller("wide"))
    (row,) = found.payload["results"]
    assert (row["section_id"], row["source"]) == (section, "bm25")
    assert (row["fusion_method"], row["fused_score"]) == (None, None)
    assert row["lexical_vec_score"] > 0
