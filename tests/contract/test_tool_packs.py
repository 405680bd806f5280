"""Packs of tools: listed and answered where the setting ``tools`` names them, and nowhere else."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import get_args

import pytest
from mcp import Client, MCPError

from winnow.server.commands.entry.app import open_application
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings
from winnow.server.settings.value_types import ToolPack
from winnow.server.tools.table import TOOLS
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.extensions.apps import APPS
from winnow.server.transports.protocol import build_server
from winnow.server.transports.wire import build_tool

pytestmark = pytest.mark.anyio

PACKS = get_args(ToolPack)


def wire_names(pack: str) -> list[str]:
    """The listed tools of a pack that need no other setting, "" for the usual list."""
    return [tool.name.replace(".", "_") for tool in TOOLS if tool.pack == pack and tool.listed and tool.read_only]


@asynccontextmanager
async def serving(store: Path, tools: str) -> AsyncIterator[Client]:
    settings = load_settings(store=store, project="handbook", tools=tools, embedding="off", execute_code="off")
    async with (
        open_application(settings, wait_for_model=False) as application,
        Client(build_server(Dispatcher(application.context, settings), application)) as client,
    ):
        yield client


async def names_listed(store: Path, tools: str) -> list[str]:
    async with serving(store, tools) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.parametrize("pack", PACKS)
async def test_a_pack_stands_beside_the_usual_list_or_beside_the_list_for_scripts(store: Path, pack: str) -> None:
    usual, few = await names_listed(store, "all"), await names_listed(store, "code")
    of_pack = wire_names(pack)
    assert of_pack
    assert await names_listed(store, pack) == await names_listed(store, f"all,{pack}")
    assert [name for name in await names_listed(store, pack) if name not in of_pack] == usual
    assert [name for name in await names_listed(store, f"code,{pack}") if name not in of_pack] == few
    assert {*of_pack} <= {*await names_listed(store, pack)} & {*await names_listed(store, f"code,{pack}")}


async def test_the_list_with_every_pack_and_its_writes_is_a_line_of_less_than_64_kib(store: Path) -> None:
    """Clients on asyncio read lines of at most 64 KiB by default."""
    settings = load_settings(
        store=store, project="a", projects=("a", "b"), tools=PACKS, enable_writes=True, ingest_roots=(store,)
    )
    async with open_application(settings, wait_for_model=False) as application:
        dispatcher = Dispatcher(application.context, settings)
        tools = [build_tool(tool, settings, APPS) for tool in dispatcher.list_tools()]
        sent = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    assert {"execute_code", "query", "ingest_from_source"} <= {tool["name"] for tool in sent}
    assert len(json.dumps(sent, separators=(",", ":")).encode()) < 64 * 1024 - 2_000
    assert {json.dumps(tool["outputSchema"]["properties"]["meta"]) for tool in sent} == {'{"type": "object"}'}


@pytest.mark.parametrize("pack", PACKS)
async def test_without_its_pack_a_tool_is_not_listed_and_unknown(store: Path, pack: str) -> None:
    async with serving(store, "all") as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        topics = (await client.call_tool("help", {"topic": "topics"})).structured_content["text"].split(", ")
        for name in wire_names(pack):
            assert name not in {*listed, *topics}
            flags = f"it is a tool of the pack {pack}: start the server with --tools all,{pack}"
            with pytest.raises(MCPError, match=f"unknown tool '{name}'.*{flags}"):
                await client.call_tool(name, {})
            refused = await client.call_tool("help", {"topic": name})
            assert flags in refused.structured_content["error"]["message"]
        text = (await client.call_tool("help", {"topic": pack})).structured_content["text"]
        assert text.startswith(f"# The pack {pack}\n")
        assert text.count(f"(not listed here: it needs --tools all,{pack}") == sum(
            tool.pack == pack for tool in TOOLS
        )
        assert "(not listed here: it needs --tools all,claims --enable-writes)" in text or pack != "claims"


@pytest.mark.parametrize("pack", PACKS)
async def test_help_on_a_pack_that_is_on_names_its_tools_and_what_those_that_write_need(
    store: Path, pack: str
) -> None:
    async with serving(store, pack) as client:
        text = (await client.call_tool("help", {"topic": pack})).structured_content["text"]
        listed = {tool.name for tool in (await client.list_tools()).tools}
        for name in wire_names(pack):
            (line,) = (line for line in text.splitlines() if line.startswith(f"- {name}: "))
            assert line.endswith("(not listed here: it needs --enable-writes)") is (name not in listed)


@pytest.mark.parametrize("pack", PACKS)
async def test_help_explains_each_tool_of_a_pack_that_is_on(store: Path, pack: str) -> None:
    async with serving(store, pack) as client:
        for name in wire_names(pack):
            answer = (await client.call_tool("help", {"topic": name})).structured_content
            assert "## Arguments" in answer["text"]


@pytest.mark.parametrize(
    ("given", "tools", "is_code_only"),
    [
        ("all", ("all",), False),
        ("code", ("code",), True),
        ("research", ("research",), False),
        (" code , research ", ("code", "research"), True),
        (("research", "code", "research"), ("research", "code"), True),
    ],
)
def test_a_list_of_tool_sets_is_read_in_every_form(
    given: object, tools: tuple[str, ...], *, is_code_only: bool
) -> None:
    settings = load_settings(tools=given)
    assert (settings.tools, settings.is_code_only) == (tools, is_code_only)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("all,code", "all and code exclude each other"),
        ("everything", "input should be 'all', 'code'"),
        ((), "the list contains no name"),
        (" , ", "the list contains no name"),
    ],
)
def test_a_list_that_means_nothing_is_refused(given: object, complaint: str) -> None:
    with pytest.raises(WinnowError, match=complaint):
        load_settings(tools=given)
