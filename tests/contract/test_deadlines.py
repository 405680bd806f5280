"""Calls that time out or are cancelled: they do not block other calls, and their work stops."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from winnow.server.backends.opening import open_backends
from winnow.server.commands.entry.app import Application
from winnow.server.errors import WinnowError
from winnow.server.models import Filters
from winnow.server.operations import knowledge
from winnow.server.operations.knowledge import OPERATIONS, KnowledgeBase, Store
from winnow.server.retrieval.hybrid import Retriever
from winnow.server.runtime.call_threads import CallThreads
from winnow.server.runtime.deadlines import (
    CallEnded,
    check_deadline,
    current_deadline,
    deadline_after,
    use_deadline,
)
from winnow.server.settings.settings import Settings
from winnow.server.storage.base import SparseVector, VectorStore
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

pytestmark = pytest.mark.anyio

LIMIT = 120  # seconds; waits end with an event long before
ASKED = {"query": "how are backups encrypted"}
OTHER = {"query": "who may open the gateway"}  # rankings are kept: what is asked slowly was not asked before


class Pages:
    """The vectors of a store, of which a slow search gives page after page, each of them when it is let.

    All chunks of a slow search have one score, so that it looks deeper again and again.
    """

    def __init__(self, vectors: VectorStore) -> None:
        self.is_slow = False
        self.begun = 0
        self.first, self.go_on = threading.Event(), threading.Event()
        self._vectors = vectors

    def search_sparse(self, vector: SparseVector, filters: Filters, limit: int) -> list[tuple[str, float]]:
        if not self.is_slow:
            return self._vectors.search_sparse(vector, filters, limit)
        self.begun += 1
        self.first.set()
        assert self.go_on.wait(LIMIT)
        return [(f"{number:012x}", 1.0) for number in range(limit)]

    def warm(self) -> None:
        self._vectors.warm()


class World:
    """A knowledge base over a real store with ``Pages``; ``opened`` is set before it opens, unless asked."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings.model_copy(update={"embedding": "off", "graph": "off"})
        self.opened = threading.Event()
        self.opened.set()
        self.kb = KnowledgeBase(self.library, self.settings)
        self.pages: Pages

    def library(self) -> Store:
        """Open the store."""
        assert self.opened.wait(LIMIT)
        backends = open_backends(self.settings, wait_for_model=False)
        self.pages = Pages(backends.store)
        ranking = Retriever(self.pages, backends.embedder, backends.catalogue.embedding)  # type: ignore[arg-type]
        return replace(backends, retriever=ranking)

    async def ask(self, operation: str = "semantic_search") -> int:
        """Rows of the answer."""
        return (await self.kb.call(operation, ASKED, self.kb.caller("x"))).rows

    async def slow(self) -> asyncio.Task[int]:
        """Start a call and wait until it is within its first page."""
        self.pages.is_slow = True
        call = asyncio.create_task(self.ask())
        assert await asyncio.to_thread(self.pages.first.wait, LIMIT)
        return call

    async def pages_at_the_end(self) -> int:
        """The number of pages begun, once all work has ended."""
        self.pages.go_on.set()
        await self.kb.aclose()
        return self.pages.begun


@pytest.fixture
async def world(settings: Settings) -> AsyncIterator[World]:
    made = World(settings)
    assert (await made.kb.call("semantic_search", OTHER, made.kb.caller("x"))).rows > 0
    yield made
    made.pages.go_on.set()
    await made.kb.aclose()


@contextmanager
def limited(monkeypatch: pytest.MonkeyPatch, operation: str, seconds: float) -> Iterator[None]:
    """Set the time limit of the operation."""
    with monkeypatch.context() as patch:
        limit = {operation: replace(OPERATIONS[operation], seconds=seconds)}
        patch.setattr(knowledge, "OPERATIONS", {**OPERATIONS, **limit})
        yield


async def test_calls_that_timed_out_keep_no_place_from_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.pages.is_slow = True
    with limited(monkeypatch, "kb.search", 0.05):
        for _ in range(3):
            ended = await asyncio.gather(*(world.ask("kb.search") for _ in range(8)), return_exceptions=True)
            assert {getattr(error, "reason", error) for error in ended} == {"TIMEOUT"}
    assert world.pages.begun > 0
    world.pages.is_slow = False
    assert await asyncio.wait_for(world.ask(), LIMIT) > 0
    assert not world.pages.go_on.is_set()


async def test_a_call_whose_caller_is_gone_begins_no_further_page(world: World) -> None:
    call = await world.slow()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await world.pages_at_the_end() == 1


async def test_a_call_whose_time_is_up_begins_no_further_page(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with limited(monkeypatch, "semantic_search", 0.05):
        with pytest.raises(WinnowError, match=r"no answer within .* ask for less") as caught:
            await (await world.slow())
        assert caught.value.reason == "TIMEOUT"
    assert await world.pages_at_the_end() == 1


async def test_a_request_that_its_client_withdraws_begins_no_further_page(world: World) -> None:
    application = Application(world.settings.model_copy(update={"execute_code": "off"}), world.kb)
    server = build_server(Dispatcher(application.context, application.settings), application)
    for mode in ("legacy", "2026-07-28"):
        world.pages.first.clear()
        world.pages.go_on.clear()
        world.pages.is_slow, world.pages.begun = True, 0
        async with Client(server, mode=mode) as client:
            asked = asyncio.create_task(client.call_tool("semantic_search", ASKED, read_timeout_seconds=0.2))
            assert await asyncio.to_thread(world.pages.first.wait, LIMIT)
            with pytest.raises(MCPError):
                await asked
            world.pages.is_slow = False
            assert not (await client.call_tool("semantic_search", OTHER)).is_error
            world.pages.is_slow = True  # a further page would be counted
            world.pages.go_on.set()
    assert await world.pages_at_the_end() == 1


@pytest.mark.walls
async def test_a_script_that_ended_begins_no_further_page(world: World) -> None:
    application = Application(world.settings, world.kb)
    await application.ready()
    world.pages.is_slow = True
    outcome = await application.scripts.run(f"return len(semantic_search({ASKED['query']!r}))", timeout=1)
    assert (outcome.status, world.pages.begun) == ("timeout", 1)
    await application.scripts.close()
    assert await world.pages_at_the_end() == 1


async def test_opening_is_in_the_time_of_the_call_that_waits_for_it_and_goes_on(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(settings)
    world.opened.clear()
    with limited(monkeypatch, "semantic_search", 0.05), pytest.raises(WinnowError, match="is still being opened"):
        await world.ask()
    world.opened.set()
    await world.kb.open()
    assert await world.ask() > 0
    await world.kb.aclose()


async def test_a_call_that_waits_for_its_place_waits_within_its_time() -> None:
    calls, go_on, begun = CallThreads(at_once=2, stuck=1), threading.Event(), threading.Semaphore(0)

    def block() -> None:
        begun.release()
        assert go_on.wait(LIMIT)

    busy = [asyncio.create_task(calls.run(deadline_after(LIMIT), block)) for _ in range(2)]
    for _ in busy:
        assert await asyncio.to_thread(partial(begun.acquire, timeout=LIMIT))
    with pytest.raises(TimeoutError):
        await calls.run(deadline_after(0.05), current_deadline)
    busy[0].cancel()
    assert (await calls.run(deadline_after(LIMIT), current_deadline)).remaining() > 0
    go_on.set()
    await asyncio.gather(*busy, return_exceptions=True)
    calls.close()


def test_the_deadline_that_comes_first_counts() -> None:
    check_deadline()
    with use_deadline(deadline_after(LIMIT)):
        inner = deadline_after(10 * LIMIT)
        assert inner.until == current_deadline().until
        assert inner.at_most(1.0) == 1.0
        check_deadline()
        with use_deadline(deadline_after(0.0)), pytest.raises(CallEnded):
            check_deadline()
    assert current_deadline().at_most(7.0) == 7.0
