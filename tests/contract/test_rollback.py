"""The settings ``kb_v2_enabled`` and ``structured_output_enabled``, switched off."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, TextContent

from winnow.server.commands.entry.app import open_application
from winnow.server.commands.terminal.flags import _spellings
from winnow.server.contracts import answer_schema
from winnow.server.operations.answers.budget import dumps, measure
from winnow.server.settings.loading import load_settings
from winnow.server.tools.table import TOOLS
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

pytestmark = [pytest.mark.anyio, pytest.mark.walls]

QUESTION = "how are backups encrypted"
BY_NAME = {tool.name.replace(".", "_"): tool for tool in TOOLS if tool.listed and not tool.pack}
# The graph tools lead to the kb tools and from them, so both go together.
KB = [name for name in BY_NAME if name.startswith(("kb_", "graph_"))]
EARLIER = ["search_sections", "get_section_text"]
UNKNOWN = "0" * 12
CALLS: Mapping[str, dict[str, Any]] = {
    "kb_retrieve_evidence": {"question": QUESTION},
    "kb_search": {"query": QUESTION},
    "kb_extract_evidence": {"question": QUESTION, "passage_ids": [UNKNOWN]},
    "kb_read_excerpt": {"passage_id": UNKNOWN},
    "kb_expand_excerpt": {"passage_id": UNKNOWN},
    "kb_scan": {"pattern": "backup"},
    "kb_documents": {},
    "kb_read": {"document": UNKNOWN},
    "semantic_search": {"query": QUESTION, "top_k": 100, "response_mode": "full"},
    "graph_describe": {},
    "graph_expand": {"ids": [UNKNOWN]},
    "graph_paths": {"from_ids": [UNKNOWN], "to_ids": [UNKNOWN]},
    "graph_entities_for_sections": {"section_ids": [UNKNOWN]},
    "graph_sections_for_entities": {"entity_ids": [UNKNOWN]},
    "find_vendor_info": {"vendor_name": UNKNOWN},
    "search_sections": {"query": QUESTION, "page_size": 100},
    "get_section_text": {"section_ids": [UNKNOWN]},
    "execute_code": {"code": "print('seen')\nreturn semantic_search('backups', top_k=2).ids"},
    "help": {"topic": "semantic_search"},
}
# their id leads nowhere
REFUSED = [name for name, arguments in CALLS.items() if UNKNOWN in str(arguments) and name != "get_section_text"]
# What the text of an answer may take beside its payload.
META_TOKENS = 400


@pytest.fixture(params=["legacy", "auto"])
def era(request: pytest.FixtureRequest) -> Any:
    """Both eras of the protocol: "auto" discovers the server of 2026, which also brings its instructions."""
    return request.param


@asynccontextmanager
async def serving(store: Path, era: Any, **flags: Any) -> AsyncIterator[Client]:
    """A client of a server with these settings."""
    settings = load_settings(store=store, project="handbook", **flags)
    async with open_application(settings, wait_for_model=True) as app:
        server = build_server(Dispatcher(app.context, settings), app)
        async with Client(server, mode=era) as client:
            yield client


async def names_of(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.parametrize(
    ("flags", "absent"),
    [
        ({}, EARLIER),
        ({"legacy_tools": True}, []),
        ({"kb_v2_enabled": False}, KB),
        ({"kb_v2_enabled": False, "legacy_tools": True}, KB),
    ],
)
async def test_the_switches_decide_which_tools_are_listed(
    store: Path, flags: dict[str, bool], absent: list[str]
) -> None:
    async with serving(store, "auto", **flags) as client:
        assert await names_of(client) == [name for name in BY_NAME if name not in absent]


@pytest.mark.parametrize(
    ("earlier", "new"),
    [
        ("search_sections", "kb_search"),
        ("get_section_text", "kb_read_excerpt"),
        ("expand_neighbors", "graph_expand"),
    ],
)
async def test_an_earlier_name_is_unknown_by_default_and_the_error_names_the_new_one(
    store: Path, earlier: str, new: str
) -> None:
    async with serving(store, "auto") as client:
        with pytest.raises(MCPError, match=f"call {new} instead, or start the server with --legacy"):
            await client.call_tool(earlier, {"ids": ["acme"]})
    async with serving(store, "auto", legacy_tools=True) as client:
        answer = await client.call_tool("expand_neighbors", {"ids": ["acme"]})
        same = await client.call_tool("graph_expand", {"ids": ["acme"]})
    assert answer.structured_content["results"] == same.structured_content["results"]


def test_the_short_flag_is_the_setting() -> None:
    (spellings,) = [[*_spellings("legacy_tools")]]
    assert spellings == ["--legacy-tools/--no-legacy-tools", "--legacy"]


async def test_without_the_kb_tools_the_earlier_ones_answer_and_those_are_unknown(store: Path, era: Any) -> None:
    async with serving(store, era, kb_v2_enabled=False) as client:
        for name in KB:
            for spelling in (name, BY_NAME[name].name):
                with pytest.raises(MCPError) as caught:
                    await client.call_tool(spelling, CALLS[name])
                assert caught.value.code == INVALID_PARAMS
                assert "search_sections, get_section_text" in caught.value.message
                is_of_kb = name.startswith("kb")
                instead = r"switched off here \(setting kb_v2_enabled\): call (search|get|semantic)_"
                assert (re.search(instead, caught.value.message) is not None) == is_of_kb
        found = await client.call_tool("search_sections", {"query": QUESTION})
        section = found.structured_content["results"][0]["section_id"]
        read = await client.call_tool("get_section_text", {"section_ids": [section]})
        assert "AES-256" in read.structured_content["results"][0]["text_truncated"]
        for name in ("semantic_search", "execute_code", "help"):
            assert not (await client.call_tool(name, CALLS[name])).is_error


@pytest.mark.parametrize(
    ("settings", "instead"),
    [({}, "kb_search"), ({"kb_v2_enabled": False}, "semantic_search"), ({"tool_names": "dotted"}, "kb.search")],
)
async def test_tools_of_graphs_that_are_off_are_not_called_functions_of_scripts(
    store: Path, era: Any, settings: dict[str, Any], instead: str
) -> None:
    async with serving(store, era, graph="off", **settings) as client:
        for name in ("graph_expand", "graph.children", "find_vendor_info"):
            with pytest.raises(MCPError) as caught:
                await client.call_tool(name, {})
            told = f"; graphs are switched off here (setting graph): call {instead} instead; this server has"
            assert told in caught.value.message
            assert "function of scripts" not in caught.value.message


async def test_without_the_kb_tools_nothing_that_a_client_is_told_names_them(store: Path, era: Any) -> None:
    async with serving(store, era, kb_v2_enabled=False) as client:
        tools = (await client.list_tools()).tools
        texts = {"instructions": client.instructions or ""}
        texts |= {tool.name: f"{tool.description} {json.dumps(tool.input_schema)}" for tool in tools}
        for topic in ("playbook", *EARLIER, "semantic_search", "execute_code"):
            answer = await client.call_tool("help", {"topic": topic})
            texts[f"help on {topic}"] = answer.structured_content["text"]
    assert texts["instructions"]
    assert {
        place: found for place, text in texts.items() if (found := re.findall(r"\b(?:kb|graph)_\w+", text))
    } == {}


async def test_without_structure_every_answer_is_one_block_of_minified_json(store: Path, era: Any) -> None:
    async with serving(store, era, structured_output_enabled=False, legacy_tools=True) as client:
        tools = (await client.list_tools()).tools
        assert {tool.name: tool.output_schema for tool in tools} == dict.fromkeys(CALLS)
        for name, arguments in CALLS.items():
            payload = await plain_answer(client, name, arguments, failed=name in REFUSED)
            assert ("error" in payload) == (name in REFUSED)
            misspelt = {f"{next(iter(BY_NAME[name].arguments.model_fields))}x": 1}
            refused = await plain_answer(client, name, misspelt, failed=True)
            assert refused["error"]["code"] == "INVALID_ARGUMENT"


async def plain_answer(client: Client, name: str, arguments: dict[str, Any], *, failed: bool) -> dict[str, Any]:
    """The payload of a text-only answer, checked: minified, bounded, and valid for the schema."""
    result = await client.call_tool(name, arguments)
    (block,) = result.content
    assert isinstance(block, TextContent)
    assert (name, result.is_error, result.structured_content) == (name, failed, None)
    payload: dict[str, Any] = json.loads(block.text)
    assert dumps(payload) == block.text
    jsonschema.validate(payload, dict(answer_schema(BY_NAME[name].answer)))
    assert measure(payload).tokens <= BY_NAME[name].max_size.tokens + META_TOKENS
    return payload


async def test_structure_does_not_change_what_is_answered(store: Path) -> None:
    asked = {"query": QUESTION, "response_mode": "preview"}
    async with serving(store, "auto", structured_output_enabled=False) as client:
        plain = await plain_answer(client, "semantic_search", asked, failed=False)
    async with serving(store, "auto") as client:
        structured = (await client.call_tool("semantic_search", asked)).structured_content
    assert {**plain, "meta": None} == {**structured, "meta": None}
    # One channel is sent, not two.
    assert plain["meta"]["usage"]["tokens"] < structured["meta"]["usage"]["tokens"]
