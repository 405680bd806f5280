"""The size of the tool list in tokens, and what it has to say within that."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest
from mcp import Client
from mcp_types import Tool

from winnow.server.commands.entry.app import Application, open_application
from winnow.server.contracts import KbSearch, answer_schema, flat_schema, wire_schema
from winnow.server.models import DocumentType
from winnow.server.settings.loading import load_settings
from winnow.server.text.words.tokens import count_tokens
from winnow.server.tools.table import TOOLS
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

PARTS = ("Use when:", "Do not use when:", "Returns at most:", "If you need more, call:", "Defaults:", "Max:")
# Arguments that the list leaves out: others do the same, another tool lists the values, or a warning names them.
UNLISTED = {
    "kb.scan": {"filters", "max_match"},
    "kb.documents": {"filters"},
    "kb.read": {"page"},
    "graph.paths": {"types"},
    "kb.search": {"syntax"},
    "kb.retrieve_evidence": {"syntax"},
    "semantic_search": {"syntax"},
}
# Tools whose answers end before the most that the dispatcher lets through, where a description says.
ENDS_BEFORE = {"kb.expand_excerpt", "list_projects", "wild_status", "execute_code"}
# What to do where a list takes too many tokens.
TOO_LONG = (
    "say the same in fewer words, or describe fewer arguments (DESCRIBED); a tool that is seldom needed is not "
    "listed: listed=False in its ToolSpec, and its name in docs/offering.md and docs/decisions/0005-protocol.md"
)
# Page -> its words about the tools that are not listed.
UNLISTED_TOOLS = {
    "docs/offering.md": r"`help` with the name of a tool explains them\. ([^.]*) are\s+not\s+listed",
    "docs/decisions/0005-protocol.md": r"tools that are\s+seldom needed: ([^.]*)\.",
}
IN_CODE_MODE = ["kb_retrieve_evidence", "execute_code", "help"]


async def list_tools(application: Application, **changed: Any) -> Sequence[Tool]:
    settings = application.settings.model_copy(update=changed)
    async with (
        open_application(settings, wait_for_model=False) as app,
        Client(build_server(Dispatcher(app.context, settings), app)) as client,
    ):
        return (await client.list_tools()).tools


def cost(tools: Sequence[Tool]) -> int:
    """The tokens of the tool list as a host shows it to a model: names, descriptions, argument schemas."""
    schemas = [json.dumps(tool.input_schema, separators=(",", ":")) for tool in tools]
    return sum(count_tokens(text) for tool in tools for text in (tool.name, tool.description or "")) + sum(
        map(count_tokens, schemas)
    )


@pytest.fixture
async def tools(application: Application) -> Sequence[Tool]:
    return await list_tools(application)


@pytest.mark.anyio
@pytest.mark.walls
async def test_everything_that_is_listed_costs_no_more_than_4500_tokens(
    tools: Sequence[Tool], application: Application
) -> None:
    assert {tool.name for tool in tools} >= {
        "kb_search",
        "graph_expand",
        "find_vendor_info",
        "execute_code",
        "help",
    }
    assert cost(tools) <= 4_500, TOO_LONG
    # What docs/offering.md says of other lists.
    assert cost(await list_tools(application, projects=("handbook", "another"))) <= 5_000, TOO_LONG
    assert cost(await list_tools(application, tools=("all", "research", "core", "claims", "pages"))) <= 11_500, (
        TOO_LONG
    )
    # As a host that counts whole objects does; schemas of answers are in them.
    assert sum(count_tokens(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in tools) <= 15_000


@pytest.mark.parametrize("page", UNLISTED_TOOLS)
def test_a_page_names_the_tools_that_are_not_listed(page: str) -> None:
    """Those with ``listed=False`` in their ToolSpec."""
    (words,) = re.findall(UNLISTED_TOOLS[page], (Path(__file__).parents[2] / page).read_text("utf-8"))
    unlisted = {tool.name.replace(".", "_") for tool in TOOLS if not tool.listed}
    reaches_the_same = {"graph_expand"}
    named = set(re.findall(r"`([a-z_]+)`", words)) - reaches_the_same
    assert named == unlisted, f"{page} has to name the tools with listed=False"


@pytest.mark.anyio
@pytest.mark.parametrize("legacy_tools", [False, True])
async def test_a_list_of_all_tools_is_a_line_of_fewer_than_64000_bytes(
    application: Application, *, legacy_tools: bool
) -> None:
    """Clients on asyncio read lines of at most 64 KiB by default. This is the longest list."""
    tools = await list_tools(
        application,
        legacy_tools=legacy_tools,
        tool_names="dotted",
        projects=("handbook", "another"),
        execute_code="on",
    )
    old = {"search_sections", "get_section_text"} if legacy_tools else set()
    assert {tool.name for tool in tools} >= {"kb.search", "execute_code", "graph.paths", *old}
    sent = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    assert len(json.dumps(sent, separators=(",", ":")).encode()) < 64_000


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_listed_schema_of_answers_has_every_field_with_its_type_and_enum_and_no_words(tool: Any) -> None:
    whole, short = flat_schema(tool.answer), answer_schema(tool.answer)
    assert short["properties"].keys() == whole["properties"].keys() | {"error"}
    unlisted = {"description", "default", "maxLength", "maximum", "minimum", "maxItems"}
    for name, field in whole["properties"].items():
        listed = _objects(short["properties"][name])
        for key in ("type", "enum", "required"):
            told = [node[key] for node in _objects(field) if isinstance(node.get(key), str | list)]
            assert [node[key] for node in listed if isinstance(node.get(key), str | list)] == told
        keywords = [node for node in listed if isinstance(node.get("type"), str)]
        assert [node for node in keywords if unlisted & node.keys()] == []
        assert [node for node in keywords if node.get("additionalProperties") is False] == []


@pytest.mark.anyio
@pytest.mark.walls
async def test_a_server_for_scripts_lists_three_tools_for_no_more_than_1500_tokens(
    application: Application,
) -> None:
    few = await list_tools(application, tools=("code",))
    assert [tool.name for tool in few] == IN_CODE_MODE
    assert cost(few) <= 1_500
    told = " ".join(tool.description or "" for tool in few)
    named = {tool.name.replace(".", "_") for tool in TOOLS} - {tool.name for tool in few}
    in_scripts = {"semantic_search", "read_result", "find_vendor_info"}
    assert {name for name in named - in_scripts if name in told} == set()


@pytest.mark.anyio
@pytest.mark.walls
async def test_a_server_for_scripts_answers_those_and_read_result_and_says_so(application: Application) -> None:
    settings = application.settings.model_copy(update={"tools": ("code",)})
    async with (
        open_application(settings, wait_for_model=False) as app,
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
        description = tool.fit_description(tool.description, load_settings(**changed))
        words = tool.describe_arguments(load_settings(**changed))
        assert max(len(text) for text in (description, *words.values())) <= 1_000
        if not changed and tool.name != "help":  # whose topics have no largest one
            assert [part for part in PARTS if part not in description] == []


@pytest.mark.parametrize(
    "tool", [tool for tool in TOOLS if tool.name not in ENDS_BEFORE], ids=lambda tool: tool.name
)
def test_a_description_states_no_fewer_tokens_than_an_answer_may_have(tool: Any) -> None:
    (most,) = re.findall(r"^Returns at most: (.*?)$", tool.description, re.MULTILINE)
    exact = re.sub(r"about [\d,]+", "", most)
    stated = [int(count.replace(",", "")) for count in re.findall(r"\d+,\d{3}\b", exact)]
    assert max(stated, default=tool.max_size.tokens) == tool.max_size.tokens


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_listed_schema_has_every_argument_with_its_type_bounds_and_default(tool: Any) -> None:
    whole, short = flat_schema(tool.arguments)["properties"], wire_schema(tool.arguments, has_projects=True)
    listed = short["properties"]
    assert list(listed) == [name for name in whole if name not in UNLISTED.get(tool.name, ())]
    for name, argument in listed.items():
        for key in {"type", "minimum", "maximum", "maxItems", "enum", "pattern"} & whole[name].keys():
            assert argument[key] == whole[name][key]
        default = whole[name].get("default")
        if default is not False and default not in (None, [], {}):
            assert argument["default"] == whole[name]["default"]
    required = short.get("required", [])
    assert [name for name in required if whole[name].get("minItems") != listed[name].get("minItems")] == []


def test_what_narrows_a_search_is_listed_whole_where_candidates_are_searched_and_described() -> None:
    listed = wire_schema(KbSearch)["properties"]
    assert listed["filters"]["properties"].keys() == (
        flat_schema(KbSearch)["properties"]["filters"]["properties"].keys()
    )
    described = [name for name, value in listed["filters"]["properties"].items() if "description" in value]
    assert described == ["doc_tag", "tags", "path", "where"]
    assert listed["filters"]["properties"]["types"]["items"]["enum"] == list(get_args(DocumentType))


def test_a_server_of_several_projects_lists_the_project_wherever_it_can_be_named() -> None:
    several = {
        tool.name for tool in TOOLS if "scope" in wire_schema(tool.arguments, has_projects=True)["properties"]
    }
    one = {tool.name for tool in TOOLS if "scope" in wire_schema(tool.arguments)["properties"]}
    assert several == {tool.name for tool in TOOLS if "scope" in tool.arguments.model_fields}
    assert one == set()


def _objects(node: Any) -> list[dict[str, Any]]:
    if isinstance(node, list):
        return [found for item in node for found in _objects(item)]
    if not isinstance(node, dict):
        return []
    return [node, *(found for value in node.values() for found in _objects(value))]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_listed_schema_is_one_that_every_host_reads(tool: Any) -> None:
    """Some hosts refuse the whole list for an object without properties; our rule is that values have bounds."""
    schema = dict(wire_schema(tool.arguments, has_projects=True))
    # Longer than the grammars that some hosts make of a bound.
    sources = [schema["properties"].get(name) for name in ("code", "pattern", "content", "text")]
    for node in _objects(schema):
        if node.get("type") == "object":
            assert node["properties"]
        if node.get("type") == "string" and not any(node is source for source in sources):
            assert {"maxLength", "enum", "pattern"} & node.keys()
        if node.get("type") in ("integer", "number"):
            assert {"minimum", "maximum"} <= node.keys()
        if node.get("type") == "array":
            assert "maxItems" in node


def test_no_argument_is_also_a_header() -> None:
    """The server compares none with the body of a call (``_no_declared_headers``), so none may be declared."""
    assert [tool.name for tool in TOOLS if "x-mcp-header" in json.dumps(dict(flat_schema(tool.arguments)))] == []
