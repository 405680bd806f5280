"""Many sessions in a small passage store: each reads its own passages, or an error that they are gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from winnow.server.commands.entry.app import Application, open_application
from winnow.server.operations.knowledge import SCRIPT
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import MIB
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

pytestmark = pytest.mark.anyio

TOPICS = ("backups", "networking", "billing", "onboarding", "incidents")
CLIENTS = 4


@pytest.fixture
async def application(store: Path) -> AsyncIterator[Application]:
    settings = load_settings(store=store, project="handbook", scratch_mb=1, reads_per_minute=100_000)
    async with open_application(settings, wait_for_model=True) as app:
        yield app


@dataclass
class Reader:
    """One client, the passages that it was shown, and the result of reading them."""

    client: Client
    shown: list[dict[str, Any]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    async def search(self, topic: str) -> None:
        arguments = {"query": f"who handles {topic}", "top_k": 50, "page_size": 50, "options": {"max_per_doc": 50}}
        answer = await self.client.call_tool("kb_search", arguments)
        self.shown += answer.structured_content["results"]

    async def read(self, row: dict[str, Any]) -> None:
        try:
            contents = (await self.client.read_resource(row["scratch_uri"])).contents
        except MCPError as error:
            self.refused.append(error.data["details"]["reason"])
        else:
            self.texts[row["section_id"]] = contents[0].text  # type: ignore[union-attr]

    async def trespass(self, row: dict[str, Any]) -> None:
        with pytest.raises(MCPError) as caught:
            await self.client.read_resource(row["scratch_uri"])
        assert caught.value.data["code"] == "SCOPE_VIOLATION"
        excerpt = await self.client.call_tool("kb_read_excerpt", {"passage_id": row["passage_id"]})
        assert excerpt.structured_content["error"]["details"]["reason"] == "NOT_FOUND"


async def test_sessions_that_evict_each_other_s_passages_never_read_them(application: Application) -> None:
    server = build_server(Dispatcher(application.context, application.settings), application)
    readers: list[Reader] = []

    async def crowd(number: int) -> None:
        mine, neighbour = readers[number], readers[(number + 1) % CLIENTS]
        for topic in TOPICS:
            await mine.search(topic)
            for row in (*mine.shown[:4], *mine.shown[-6:]):
                await mine.read(row)
            for row in neighbour.shown[-4:]:
                await mine.trespass(row)

    async with (
        Client(server, mode="legacy") as a,
        Client(server, mode="legacy") as b,
        Client(server) as c,
        Client(server) as d,
    ):
        readers += map(Reader, (a, b, c, d))
        await asyncio.gather(*map(crowd, range(CLIENTS)))
        for reader in readers:  # all of them together were shown more than the store holds
            for row in reader.shown:
                await reader.read(row)

    counters = (await application.kb.counters()).scratch
    assert counters.bytes <= MIB
    assert counters.evictions > 0
    assert {reason for reader in readers for reason in reader.refused} == {"NOT_FOUND"}
    sections = {section_id for reader in readers for section_id in reader.texts}
    fetched = await application.kb.call("fetch", {"ids": sorted(sections)}, application.kb.caller("truth", SCRIPT))
    truth = {row["id"]: row["content"] for row in fetched.payload["results"]}
    for reader in readers:
        assert reader.texts == {section_id: truth[section_id] for section_id in reader.texts}
        assert reader.texts
