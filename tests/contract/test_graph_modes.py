"""Searches with a graph mode where the graph is off, not built yet, or unreachable."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.ingesting import ingest_paths
from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.opening import catalogue_path, open_backends, open_graph
from winnow.server.commands.entry.app import open_application
from winnow.server.ingest.graph_update import GraphUpdate
from winnow.server.jobs.target import graph_target_of, target_of
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

pytestmark = pytest.mark.anyio

QUESTION = "who keeps the gate"
GRAPH_MODES = ("hybrid_local", "multi_hop")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two pages as project "p", indexed before there were graphs."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "gate.md").write_text("# Gate\n\nThe gate is kept by [Ada](ada.md).\n", encoding="utf-8")
    (tmp_path / "docs" / "ada.md").write_text("# Ada Lovelace\n\nShe lives at sea.\n", encoding="utf-8")
    ingest(tmp_path, graph="off")
    return tmp_path


def ingest(home: Path, **chosen: str) -> None:
    settings = load_settings(store=home / "store", project="p", embedding="off", **chosen)
    backends = open_backends(settings, wait_for_model=True)
    try:
        assert ingest_paths(target_of(settings, backends, None), [home / "docs"]).failures == ()
    finally:
        backends.close()


@asynccontextmanager
async def connected(home: Path, **chosen: str) -> AsyncIterator[Client]:
    """A client of a server with these settings."""
    settings = load_settings(store=home / "store", project="p", embedding="off", execute_code="off", **chosen)
    async with open_application(settings, wait_for_model=True) as application:
        server = build_server(Dispatcher(application.context, settings), application)
        async with Client(server) as client:
            yield client


async def search_rows(client: Client, mode: str) -> tuple[list[tuple[str, str]], list[str]]:
    """The rows of a search as (title, source), and the warnings except that of the missing model."""
    answer = await client.call_tool("kb_search", {"query": QUESTION, "options": {"mode": mode}})
    assert not answer.is_error, answer.content
    payload: dict[str, Any] = dict(answer.structured_content)
    warnings = [one for one in payload["meta"]["warnings"] if "embedding" not in one]
    return [(row["title"], row["source"]) for row in payload["results"]], warnings


async def test_with_the_graph_off_the_legs_answer_and_say_so(store: Path) -> None:
    async with connected(store, graph="off") as client:
        for mode in GRAPH_MODES:
            rows, warnings = await search_rows(client, mode)
            assert rows == [("Gate", "bm25")]
            assert warnings == ["the graph is switched off (setting graph), so this is ranked without it"]
        assert await search_rows(client, "auto") == ([("Gate", "bm25")], [])


async def test_before_a_graph_is_drawn_the_legs_answer_and_say_what_draws_one(store: Path) -> None:
    async with connected(store) as client:
        for mode in GRAPH_MODES:
            rows, warnings = await search_rows(client, mode)
            assert rows == [("Gate", "bm25")]
            assert ["project 'p' has no graph yet" in one for one in warnings] == [True]
        assert await search_rows(client, "auto") == ([("Gate", "bm25")], [])


async def test_a_graph_that_is_drawn_while_a_server_runs_is_walked_without_a_restart(store: Path) -> None:
    """The tools are listed from the start; until there is a graph, their errors say how to build one."""
    settings = load_settings(store=store / "store", project="p", embedding="off")
    async with connected(store) as client:
        assert "graph_describe" in [tool.name for tool in (await client.list_tools()).tools]
        before = await client.call_tool("graph_describe", {"ids": ["Gate"]})
        assert before.is_error
        error = dict(before.structured_content)["error"]
        assert error["details"]["reason"] == "GRAPH_UNAVAILABLE"
        assert "project 'p' has no graph yet; its next winnow ingest draws one" in error["message"]
        drawn(settings)
        after = await client.call_tool("graph_describe", {"ids": ["Gate"]})
        assert not after.is_error, after.content
        assert await search_rows(client, "auto") == ([("Gate", "bm25"), ("Ada Lovelace", "graph_expanded")], [])


def drawn(settings: Settings) -> None:
    """Rebuild the graph as ``winnow graph rebuild`` does, in another process."""
    catalogue, graph = Catalogue(catalogue_path(settings)), open_graph(settings)
    assert graph is not None
    try:
        assert GraphUpdate("p", catalogue, graph_target_of(settings, graph)).update() is not None
    finally:
        catalogue.close()
        graph.close()


async def test_once_it_is_drawn_what_only_the_graph_brings_says_so(store: Path) -> None:
    ingest(store)
    async with connected(store) as client:
        for mode in ("auto", *GRAPH_MODES):
            assert await search_rows(client, mode) == (
                [("Gate", "bm25"), ("Ada Lovelace", "graph_expanded")],
                [],
            )
        assert await search_rows(client, "vector_only") == ([("Gate", "bm25")], [])


async def test_a_neo4j_that_is_away_costs_the_graph_and_nothing_else(store: Path) -> None:
    """A server that cannot be reached: nothing listens on port 9."""
    async with connected(store, neo4j_url="bolt://127.0.0.1:9") as client:
        for mode in ("auto", *GRAPH_MODES):
            rows, warnings = await search_rows(client, mode)
            assert rows == [("Gate", "bm25")]
            assert [one.startswith("the graph is down") for one in warnings] == [True]
