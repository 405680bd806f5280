"""Places in files in rows other than those of searches: graph, repeated texts, resources, earlier tools."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from mcp import Client
from mcp_types import ResourceLink
from typer.testing import CliRunner

from tests.placed_documents import DOCUMENTS, LOCATED, expected_fields, index_placed_documents, located
from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.opening import catalogue_path
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.commands.graph import app as graph_command
from winnow.server.models import Chunk
from winnow.server.operations.knowledge import SCRIPT
from winnow.server.settings.settings import Settings
from winnow.server.text.printable import beginning
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server
from winnow.server.transports.resources import PLACE_KEY

pytestmark = pytest.mark.anyio

VENDOR = "Acme"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The documents with a graph, three of them about a vendor."""
    documents = [
        replace(document, vendor=VENDOR) if uri in ("guide.pdf", "deck.pptx", "plain.md") else document
        for uri, document in DOCUMENTS.items()
    ]
    return index_placed_documents(tmp_path_factory.mktemp("store"), documents, graph="auto")[0]


@pytest.fixture(scope="module")
def chunks(drawn: Settings) -> Mapping[str, tuple[str, Chunk]]:
    """The path and the chunk of each chunk id."""
    with closing(Catalogue(catalogue_path(drawn))) as catalogue:
        found = catalogue.passages(catalogue.chunk_ids("default"), "default")
        return {id: (passage.document.uri, passage.chunk) for id, passage in found.items()}


@pytest.fixture
async def application(drawn: Settings) -> AsyncIterator[Application]:
    settings = drawn.model_copy(update={"calls_per_minute": 100_000, "legacy_tools": True})
    async with open_application(settings, wait_for_model=False) as opened:
        yield opened


@pytest.fixture
async def client(application: Application) -> AsyncIterator[Client]:
    server = build_server(Dispatcher(application.context, application.settings), application)
    async with Client(server) as opened:
        yield opened


async def call(client: Client, tool: str, **arguments: Any) -> tuple[dict[str, Any], str]:
    """The structured answer and the text of a tool."""
    answer = await client.call_tool(tool, arguments)
    assert answer.structured_content is not None
    assert not answer.is_error, answer.structured_content
    return answer.structured_content, answer.content[0].text  # type: ignore[union-attr]


def place_of(chunks: Mapping[str, tuple[str, Chunk]], row: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that a row with ``section_ids`` must have: those of the first of them."""
    if not row["section_ids"]:
        return {}
    uri, chunk = chunks[row["section_ids"][0]]
    return expected_fields(uri, chunk.start, chunk.end)


def rows_of(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The rows of an answer about the graph; of paths, their steps."""
    for row in answer.get("entities", answer.get("results", ())):
        yield from row.get("edges", [row])


def graph_calls(chunks: Mapping[str, tuple[str, Chunk]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """A call of every tool of the graph for every document."""
    yield "find_vendor_info", {"vendor_name": VENDOR}
    yield "find_vendor_info", {"vendor_name": VENDOR, "include_content": True}
    firsts = [(uri, chunk) for uri, chunk in chunks.values() if chunk.ordinal == 0]
    for uri, chunk in firsts:
        name, first = uri.partition(".")[0].title(), chunk.id
        yield "graph_describe", {"ids": [name, first], "include_snippet": True}
        yield "graph_expand", {"ids": [first], "hops": 2}
        yield "graph_parents", {"ids": [first]}
        yield "graph_children", {"ids": [chunk.document_id], "hops": 2}
        yield "graph_entities_for_sections", {"section_ids": [chunk.document_id]}
        yield "graph_sections_for_entities", {"entity_ids": [name]}
        yield "graph_paths", {"from_ids": [first], "to_ids": [name]}


async def test_rows_of_the_graph_say_where_their_first_passage_is(
    client: Client, chunks: Mapping[str, tuple[str, Chunk]]
) -> None:
    seen: dict[str, set[str]] = {}
    for tool, arguments in graph_calls(chunks):
        answer, text = await call(client, tool, **arguments)
        for row in rows_of(answer):
            expected = place_of(chunks, row)
            assert located(row) == expected, (tool, arguments, row)
            if expected:
                file = chunks[row["section_ids"][0]][0]
                assert f"[{file}, {expected['locator']}]" in text
                seen.setdefault(tool, set()).add(file)
    assert {tool: "guide.pdf" in files for tool, files in seen.items()} == dict.fromkeys(
        {tool for tool, _ in graph_calls(chunks)}, True
    )


async def test_rows_of_the_graph_out_of_scope_show_no_file(client: Client) -> None:
    scope = {"environment": "prod"}  # only guide.pdf
    answer, _ = await call(client, "find_vendor_info", vendor_name=VENDOR, scope=scope)
    assert {row["link"].partition("#")[0] for row in rows_of(answer) if "link" in row} == {"guide.pdf"}


async def test_rows_of_a_graph_of_text_do_not_grow(client: Client) -> None:
    answer, _ = await call(client, "graph_describe", ids=["Plain"], include_snippet=True)
    assert not set(answer["results"][0]) & LOCATED


async def test_copies_of_a_repeated_text_say_where_each_one_is(application: Application) -> None:
    kb = application.context("test", ignore).kb
    answer = await kb.call("kb.repeats", {"min_chars": 50}, kb.caller("test", SCRIPT))
    copies = [place for row in answer.payload["results"] for place in row["places"]]
    for place in copies:
        assert located(place) == expected_fields(place["file"], place["start"], place["end"])
    assert {place["file"] for place in copies} == set(DOCUMENTS)


async def test_the_earlier_tools_say_it_for_files_with_places_and_are_unchanged_for_others(
    client: Client, chunks: Mapping[str, tuple[str, Chunk]]
) -> None:
    for debug in (True, False):
        found, text = await call(client, "search_sections", query="valve opens", top_k=100, include_debug=debug)
        for row in found["results"]:
            uri, chunk = chunks[row["section_id"]]
            expected = expected_fields(uri, chunk.start, chunk.end)
            assert located(row) == expected
            assert f"[{uri}, {expected['locator']}]" in text if expected else uri == "plain.md"
    for size in (30, 8192):
        read, text = await call(client, "get_section_text", section_ids=list(chunks)[:40], max_bytes_per=size)
        for row in read["results"]:
            uri, chunk = chunks[row["section_id"]]
            expected = expected_fields(uri, chunk.start, chunk.start + len(row["text_truncated"]))
            assert located(row) == expected
            assert expected.get("locator", "") in text


async def test_passages_as_resources_say_it_beside_their_text(
    application: Application, chunks: Mapping[str, tuple[str, Chunk]]
) -> None:
    settings = application.settings.model_copy(update={"resource_links": "on"})
    async with Client(build_server(Dispatcher(application.context, settings), application)) as client:
        await _check_resources(client, chunks)


async def _check_resources(client: Client, chunks: Mapping[str, tuple[str, Chunk]]) -> None:
    for uri in DOCUMENTS:
        answer = await client.call_tool("kb_search", {"query": "valve opens", "filters": {"path": uri}})
        row = answer.structured_content["results"][0]
        (link,) = [block for block in answer.content if isinstance(block, ResourceLink)]
        expected = located(row)
        assert link.description == (f"[{uri}, {expected['locator']}]" if expected else None)
        (content,) = (await client.read_resource(link.uri)).contents
        _, chunk = chunks[row["section_id"]]
        assert content.text == beginning(chunk.text, 10**6)  # type: ignore[union-attr]
        assert (content.meta or {}).get(PLACE_KEY, {}) == expected


SCRIPT_OF_ROWS = f"""
copies = [place for row in repeats(min_chars=50, path="guide.pdf") for place in row.places]
node = graph.describe(["Guide"])[0]
path = graph.paths([node.section_ids[0]], ["Guide"])[0]
hits = semantic_search("valve guide46", filters={{"path": "guide.pdf"}})
save("rows", [kb.retrieve_evidence("when does valve guide45 open", filters={{"path": "guide.pdf"}})[0]])
kept = load("rows")[0]
entity = find_vendor_info("{VENDOR}")[0]
return {{
    "copies": all(place.locator.startswith("p") and place.page_span for place in copies) and len(copies) > 1,
    "node": [node.locator, node.page_labels, node.link],
    "step": path.edges[0].locator,
    "entity": bool(entity.link),
    "kept": [kept["locator"], kept["page_span"]],
    "hybrid": hybrid_search("valve guide46", top_k=1, filters={{"path": "guide.pdf"}})[0].locator[:1],
    "reranked": rerank("valve guide46", hits)[0].link[:9],
    "fetched": fetch(node.section_ids[0])[0].locator,
    "packed": "p. 33 (file page 45)" in format_for_agent([node]),
}}
"""


@pytest.mark.walls
async def test_scripts_read_the_places_of_these_rows(client: Client) -> None:
    answer, _ = await call(client, "execute_code", code=SCRIPT_OF_ROWS)
    assert answer["status"] == "ok", answer
    result = answer["result"]
    locator, labels, link = result.pop("node")
    assert (locator[:2], labels[0], link) == ("p.", "33", "guide.pdf#page=45")
    assert result.pop("fetched") == locator
    assert result == {
        "copies": True,
        "step": locator,
        "entity": True,
        "kept": ["p. 33 (file page 45)", [45, 45]],
        "hybrid": "p",
        "reranked": "guide.pdf",
        "packed": True,
    }


def test_the_command_shows_the_places_of_neighbours(drawn: Settings) -> None:
    done = CliRunner().invoke(graph_command, ["show", VENDOR, "--store", str(drawn.store)])
    assert done.exit_code == 0, done.output
    lines = [line.strip("│├└─ ") for line in done.output.splitlines()]
    assert [line for line in lines if "plain.md" in line] == ["Plain  [document, plain.md]"]
    (guide,) = [line for line in lines if "guide.pdf" in line]
    assert "guide.pdf, p. 33 (file page 45)" in guide


async def ignore(seconds: float, message: str) -> None:
    """A listener of progress that does nothing."""
