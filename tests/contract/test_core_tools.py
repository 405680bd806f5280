"""The pack ``core`` over a real index: shapes, the same answers for the same calls, limits, and scope."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.contract.test_budgets import without_meta
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.operations.core import executing
from winnow.server.settings.loading import load_settings
from winnow.server.text.quotes.finding import SourceText, find_quote
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

pytestmark = pytest.mark.anyio

QUESTION = "How are backups encrypted, and which port does the gateway listen on?"


@pytest.fixture(scope="module")
async def application(store: Path) -> AsyncIterator[Application]:
    settings = load_settings(store=store, project="handbook", tools="core", calls_per_minute=1000)
    async with open_application(settings, wait_for_model=True) as opened:
        yield opened


async def answer(application: Application, tool: str, **arguments: Any) -> dict[str, Any]:
    """The answer to a new client, without what differs from call to call."""
    server = build_server(Dispatcher(application.context, application.settings), application)
    async with Client(server) as client:
        result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.structured_content
    return without_meta(result.structured_content or {})


async def error(application: Application, tool: str, **arguments: Any) -> tuple[str, str]:
    """The reason and the message of a refusal."""
    server = build_server(Dispatcher(application.context, application.settings), application)
    async with Client(server) as client:
        result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    stated = (result.structured_content or {})["error"]
    return stated["details"]["reason"], stated["message"]


CALLS: Mapping[str, dict[str, Any]] = {
    "vector_query_search": {"query": QUESTION},
    "planner_multi_perspective": {"question": QUESTION},
    "research_execute": {"question": QUESTION},
}


@pytest.mark.parametrize("tool", CALLS)
async def test_the_same_call_gets_the_same_data_in_every_session(application: Application, tool: str) -> None:
    assert await answer(application, tool, **CALLS[tool]) == await answer(application, tool, **CALLS[tool])


@pytest.mark.parametrize("tool", CALLS)
async def test_a_project_out_of_scope_is_refused(application: Application, tool: str) -> None:
    reason, _ = await error(application, tool, **CALLS[tool], scope={"project_id": "other"})
    assert reason == "SCOPE_VIOLATION"


async def test_a_result_has_what_other_searches_have_and_its_id_leads_to_the_text(
    application: Application,
) -> None:
    found = await answer(application, "vector_query_search", query="how are backups encrypted", top_k=3)
    assert (found["count"], len(found["results"])) == (3, 3)
    first = found["results"][0]
    assert {"rank", "id", "document_id", "title", "uri", "snippet", "score", "source", "published"} <= first.keys()
    assert (first["rank"], first["uri"]) == (1, "guide/backups.md")
    assert "AES-256" in first["snippet"]
    read = await answer(application, "kb_read_excerpt", passage_id=first["id"])
    assert "AES-256" in read["excerpt"]
    following = await answer(
        application, "vector_query_search", query="how are backups encrypted", top_k=3, per_document=1
    )
    assert len({row["document_id"] for row in following["results"]}) == len(following["results"])


async def test_a_plan_begins_with_the_question_and_gives_each_perspective_a_query_and_a_reason(
    application: Application,
) -> None:
    plan = await answer(application, "planner_multi_perspective", question=QUESTION, max_perspectives=8)
    rows = plan["perspectives"]
    assert (rows[0]["kind"], rows[0]["query"]) == ("question", QUESTION)
    assert [row["id"] for row in rows] == [f"p{number}" for number in range(1, len(rows) + 1)]
    assert {"words", "section"} <= {row["kind"] for row in rows}
    assert all(row["query"].strip() and row["reason"] for row in rows)
    assert len({row["query"].casefold() for row in rows}) == len(rows) == plan["count"] > 3
    assert plan["for_a_writer"]
    ids = {node["id"] for node in plan["graph"]["nodes"]}
    ends = {end for edge in plan["graph"]["edges"] for end in (edge["source"], edge["target"])}
    assert ids == ends
    assert [part["perspective"] for part in plan["outline"]] == [row["id"] for row in rows]


async def test_a_smaller_plan_is_the_beginning_of_a_larger_one(application: Application) -> None:
    small = await answer(application, "planner_multi_perspective", question=QUESTION, max_perspectives=2)
    large = await answer(application, "planner_multi_perspective", question=QUESTION, max_perspectives=6)
    assert small["perspectives"] == large["perspectives"][:2]


@pytest.mark.own_store
async def test_every_quote_of_research_stands_in_its_section_and_the_outline_names_its_rank(
    application: Application,
) -> None:
    found = await answer(application, "research_execute", question=QUESTION, max_tokens=16_000)
    library = await application.kb.opened()  # type: ignore[attr-defined]
    passages = library.catalogue.passages([row["section_id"] for row in found["results"]], "handbook")
    for row in found["results"]:
        passage = passages[row["section_id"]]
        assert find_quote(row["quote"], SourceText(passage.chunk.text))
        assert (row["document_id"], row["file"]) == (passage.document.id, passage.document.uri)
    assert [row["rank"] for row in found["results"]] == list(range(1, len(found["results"]) + 1))
    assert all(first["score"] >= second["score"] for first, second in pairwise(found["results"]))
    assert {row["file"] for row in found["results"]} >= {"guide/backups.md", "guide/networking.md"}
    for part in found["outline"]:
        named = [row["rank"] for row in found["results"] if part["perspective"] in row["perspectives"]]
        assert part["evidence"] == named


async def test_research_that_does_not_fit_goes_on_at_its_cursor_without_a_gap(application: Application) -> None:
    asked = {"question": QUESTION, "max_tokens": 1500}
    pages = [await answer(application, "research_execute", **asked)]
    while cursor := pages[-1]["next_cursor"]:
        pages.append(await answer(application, "research_execute", **asked, cursor=cursor))
    assert len(pages) > 1
    assert [page["partial"] for page in pages] == [True] * (len(pages) - 1) + [False]
    ranks = [row["rank"] for page in pages for row in page["results"]]
    assert ranks == list(range(1, len(ranks) + 1))
    assert all(page["outline"] == pages[0]["outline"] for page in pages)
    reason, _ = await error(application, "research_execute", question="another", cursor=pages[0]["next_cursor"])
    assert reason == "INVALID_CURSOR"


async def test_what_the_documents_do_not_answer_is_a_gap_with_the_words_that_none_has(
    application: Application,
) -> None:
    found = await answer(
        application,
        "research_execute",
        question=QUESTION,
        perspectives=[
            {"name": "Encryption", "query": "how are backups encrypted"},
            {"name": "Quantum", "query": "zyxwvut quantum chromodynamics"},
        ],
    )
    assert [(row["kind"], row["name"]) for row in found["perspectives"]] == [
        ("given", "Encryption"),
        ("given", "Quantum"),
    ]
    (gap,) = found["gaps"]
    assert gap["perspective"] == "p2"
    assert {"zyxwvut", "quantum", "chromodynamics"} <= set(gap["missing_terms"])


@pytest.mark.own_store
async def test_perspectives_for_which_there_is_no_time_are_gaps_and_the_others_are_answered(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executing, "_LEAST_SECONDS", 1_000.0)
    found = await answer(application, "research_execute", question=QUESTION)
    first, *others = found["perspectives"]
    assert first["quotes"] > 0
    assert [row["quotes"] for row in others] == [0] * len(others)
    assert {gap["perspective"] for gap in found["gaps"]} >= {row["id"] for row in others}
    assert "not searched" in found["gaps"][-1]["reason"]
