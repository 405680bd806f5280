"""What a list of tools costs whoever reads it, and what it still says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from mcp import Client
from mcp_types import Tool

from server.app import Application, running
from server.contracts import flat_schema, wire_schema
from server.settings import load_settings
from server.tokens import count_tokens
from server.tools import TOOLS
from server.transports.dispatch import Dispatcher
from server.transports.protocol import build_server

PARTS = ("Use when:", "Do not use when:", "Returns at most:", "If you need more, call:", "Defaults:", "Max:")
IN_CODE_MODE = ["kb_retrieve_evidence", "execute_code", "help"]


async def listed(application: Application, **changed: Any) -> Sequence[Tool]:
    settings = application.settings.model_copy(update=changed)
    async with (
        running(settings, wait_for_model=False) as app,
        Client(build_server(Dispatcher(app.context, settings), app)) as client,
    ):
        return (await client.list_tools()).tools


def cost(tools: Sequence[Tool]) -> int:
    """Tokens of what a host puts before a model: names, descriptions, schemas of arguments."""
    schemas = [json.dumps(tool.input_schema, separators=(",", ":")) for tool in tools]
    return sum(count_tokens(text) for tool in tools for text in (tool.name, tool.description or "")) + sum(
        map(count_tokens, schemas)
    )


@pytest.fixture
async def tools(application: Application) -> Sequence[Tool]:
    return await listed(application)


@pytest.mark.anyio
@pytest.mark.walls
async def test_everything_that_is_listed_costs_no_more_than_4500_tokens(tools: Sequence[Tool]) -> None:
    assert {tool.name for tool in tools} >= {
        "kb_search",
        "graph_expand",
        "find_vendor_info",
        "execute_code",
        "help",
    }
    assert cost(tools) <= 4_500


@pytest.mark.anyio
@pytest.mark.walls
async def test_a_server_for_scripts_lists_three_tools_for_no_more_than_1500_tokens(
    application: Application,
) -> None:
    few = await listed(application, tools="code")
    assert [tool.name for tool in few] == IN_CODE_MODE
    assert cost(few) <= 1_500
    told = " ".join(tool.description or "" for tool in few)
    named = {tool.name.replace(".", "_") for tool in TOOLS} - {tool.name for tool in few}
    in_scripts = {"semantic_search", "read_result", "find_vendor_info"}
    assert {name for name in named - in_scripts if name in told} == set()


@pytest.mark.anyio
@pytest.mark.walls
async def test_a_server_for_scripts_answers_those_and_read_result_and_says_so(application: Application) -> None:
    settings = application.settings.model_copy(update={"tools": "code"})
    async with (
        running(settings, wait_for_model=False) as app,
        Client(build_server(Dispatcher(app.context, settings), app)) as client,
    ):
        assert "kb_search" not in (client.instructions or "")
        assert "kb_retrieve_evidence(question)" in (client.instructions or "")
        playbook = (await client.call_tool("help", {})).structured_content
        assert playbook is not None
        assert "kb_search" not in playbook["text"]
        unknown = (await client.call_tool("read_result", {"execution_id": "0" * 16})).structured_content
        assert unknown is not None
        assert unknown["error"]["details"]["reason"] == "NOT_FOUND"


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_description_is_short_and_has_its_five_parts(tool: Any) -> None:
    for changed in ({}, {"limits": "strict"}, {"sandbox": "monty"}, {"execute_code": "off"}, {"tools": "code"}):
        description = tool.worded(tool.description, load_settings(**changed))
        assert len(description) <= 1_500
        if not changed and tool.name != "help":  # whose topics have no largest one
            assert [part for part in PARTS if part not in description] == []


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_listed_schema_has_every_argument_with_its_type_bounds_and_default(tool: Any) -> None:
    whole, short = (schema(tool.arguments)["properties"] for schema in (flat_schema, wire_schema))
    assert list(short) == list(whole)
    for name, argument in short.items():
        for key in {"type", "minimum", "maximum", "maxLength", "maxItems", "required"} & whole[name].keys():
            assert key in argument
        if whole[name].get("default") not in (None, [], {}):
            assert argument["default"] == whole[name]["default"]
    assert short.get("scope", {"properties": {"project_id": {}}})["properties"].keys() == {"project_id"}


def _objects(node: Any) -> list[dict[str, Any]]:
    if isinstance(node, list):
        return [found for item in node for found in _objects(item)]
    if not isinstance(node, dict):
        return []
    return [node, *(found for value in node.values() for found in _objects(value))]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_listed_schema_is_one_that_every_host_reads(tool: Any) -> None:
    """An object without properties is refused by some hosts, with the whole list; an unbounded value by ours."""
    for node in _objects(dict(wire_schema(tool.arguments))):
        if node.get("type") == "object":
            assert node["properties"]
        if node.get("type") == "string":
            assert {"maxLength", "enum"} & node.keys()
        if node.get("type") in ("integer", "number"):
            assert {"minimum", "maximum"} <= node.keys()
        if node.get("type") == "array":
            assert "maxItems" in node
