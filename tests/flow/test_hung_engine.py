"""Engines that hang and calls that are cancelled, seen from the client."""

from __future__ import annotations

import asyncio
import os
import signal
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.contract.test_deadlines import ASKED, LIMIT, OTHER, World
from tests.flow.test_engine import _identity, client, own, search, settings_of, status
from winnow.server.commands.entry.app import Application
from winnow.server.engine import client as engine_client
from winnow.server.engine import endpoint
from winnow.server.engine.client import EngineKnowledge
from winnow.server.engine.service import EngineService
from winnow.server.errors import WinnowError
from winnow.server.operations.knowledge import OPERATIONS
from winnow.server.operations.state import IN_SESSION
from winnow.server.runtime.call_threads import AT_ONCE
from winnow.server.runtime.sessions.identities import key_name
from winnow.server.storage.files.lock import ENGINE, StoreLock
from winnow.server.text.words.tokens import count_tokens
from winnow.server.tools.table import TOOLS
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.wire import call_tool

__all__ = ["own"]

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not endpoint.is_supported(), reason="engines are not shared on this system"),
]

# The time limit of every operation here; clients used to wait a minute longer for an engine that hangs.
SECONDS, LONGEST = 0.2, 40


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Clients of an engine whose operations may take ``SECONDS``."""
    short = {name: replace(known, seconds=SECONDS) for name, known in OPERATIONS.items()}
    with monkeypatch.context() as patch:
        patch.setattr(engine_client, "OPERATIONS", short)
        patch.setattr(engine_client, "OTHER_SECONDS", SECONDS)
        yield


async def reason_of(kb: EngineKnowledge, operation: str) -> str:
    with pytest.raises(WinnowError) as caught:
        await kb.call(operation, {}, kb.caller("x"))
    assert "try again" in caught.value.message
    return caught.value.reason


async def every_call_times_out(kb: EngineKnowledge) -> None:
    async with asyncio.timeout(LONGEST):
        asked = [reason_of(kb, operation) for operation in OPERATIONS if operation not in IN_SESSION]
        assert set(await asyncio.gather(*asked)) == {"TIMEOUT"}
        with pytest.raises(WinnowError, match="no answer within"):
            await kb.passage("x", "p_1")
        assert await kb.count_tokens("what counts is in this process") == count_tokens(
            "what counts is in this process"
        )


async def test_an_engine_that_hangs_is_a_timeout_and_answers_when_it_goes_on(
    own: Path, request: pytest.FixtureRequest
) -> None:
    async with client(own) as kb:
        await search(kb)
        engine = (await status(own))["pid"]
        both = engine, _identity(Path("/proc", str(engine)))[1]
        for process in both:
            os.kill(process, signal.SIGSTOP)
        try:
            request.getfixturevalue("impatient")
            await every_call_times_out(kb)
            async with asyncio.timeout(LONGEST), client(own) as newcomer:  # it never gets a welcome
                assert await reason_of(newcomer, "semantic_search") == "TIMEOUT"
        finally:
            for process in both:
                os.kill(process, signal.SIGCONT)
        async with asyncio.timeout(LIMIT):
            while not await answers(kb):
                await asyncio.sleep(0.1)


async def answers(kb: EngineKnowledge) -> bool:
    with suppress(WinnowError):
        return bool((await search(kb))["results"])
    return False


@asynccontextmanager
async def silent_engine(store: Path) -> AsyncIterator[endpoint.Listener]:
    """A socket whose connections the kernel accepts and no process answers."""
    lock, listener = StoreLock(store, ENGINE), endpoint.open_listener(store)
    try:
        yield listener
    finally:
        endpoint.close_listener(store, listener)
        listener.socket.close()
        lock.release()


async def test_every_tool_times_out_where_no_engine_answers(tmp_path: Path, impatient: None) -> None:
    async with silent_engine(tmp_path), client(tmp_path) as kb:
        await every_call_times_out(kb)
        application = Application(settings_of(tmp_path), kb)
        dispatcher = Dispatcher(application.context, application.settings)
        async with asyncio.timeout(LONGEST):
            for tool in TOOLS:
                if tool.name in ("execute_code", "help", "list_projects", *IN_SESSION):
                    continue
                answer = await call_tool(dispatcher, tool, {}, "x", _silent)
                assert answer.structured_content is not None
                assert answer.structured_content["error"]["code"] == "TIMEOUT"


async def test_a_client_with_a_key_is_told_neither_the_folder_nor_the_process(
    tmp_path: Path, impatient: None
) -> None:
    keyed = key_name("1f0c9a2b", [], is_read_only=False, calls_per_minute=None)
    async with silent_engine(tmp_path), client(tmp_path) as kb:
        application = Application(settings_of(tmp_path), kb)
        dispatcher = Dispatcher(application.context, application.settings)
        async with asyncio.timeout(LONGEST):
            for name, arguments in (("semantic_search", {"query": "a"}), ("kb.read", {}), ("list_projects", {})):
                tool = next(tool for tool in TOOLS if tool.name == name)
                told = [
                    (await call_tool(dispatcher, tool, arguments, who, _silent)).model_dump_json()
                    for who in ("x", keyed)
                ]
                named = [str(tmp_path) in text or f"process {os.getpid()}" in text for text in told]
                assert (name, named, "TIMEOUT" in told[1]) == (name, [True, False], True)


async def test_a_queue_that_is_full_is_an_error_and_no_wait(tmp_path: Path, impatient: None) -> None:
    async with silent_engine(tmp_path) as listener:
        listener.socket.listen(0)
        first = endpoint.connect(tmp_path)
        assert first is not None
        with first, pytest.raises(WinnowError, match="accepts no connections"):
            endpoint.connect(tmp_path)


async def _silent(seconds: float, message: str) -> None:
    """Progress that is not asked for."""


@asynccontextmanager
async def serve_world(world: World) -> AsyncIterator[tuple[EngineService, EngineKnowledge]]:
    """An engine in this process over the library of ``world``, and a client of it."""
    store = world.settings.store
    lock, listener = StoreLock(store, ENGINE), endpoint.open_listener(store)
    host = EngineService(
        world.settings,
        world.library,
        lambda *_: {},
        lambda *_: pytest.fail("no job was asked for"),
        lambda: pytest.fail("nothing is watched"),
    )
    serving = asyncio.create_task(host.serve(listener))
    kb = EngineKnowledge(world.settings, waits_for_model=False)
    try:
        yield host, kb
    finally:
        world.pages.is_slow = True  # a further page would be counted
        world.pages.go_on.set()
        await kb.aclose()
        host.stop()
        await serving
        await host.close()
        listener.socket.close()
        lock.release()


@pytest.fixture
def world(own: Path) -> World:
    return World(settings_of(own))


async def ask(kb: EngineKnowledge) -> int:
    return (await kb.call("semantic_search", ASKED, kb.caller("x"))).rows


async def start_slow_call(world: World, kb: EngineKnowledge) -> asyncio.Task[int]:
    assert (await kb.call("semantic_search", OTHER, kb.caller("x"))).rows > 0
    world.pages.is_slow = True
    call = asyncio.create_task(ask(kb))
    assert await asyncio.to_thread(world.pages.first.wait, LIMIT)
    world.pages.is_slow = False
    return call


async def test_an_engine_stops_a_call_that_its_client_gave_up(world: World) -> None:
    async with serve_world(world) as (host, kb):
        call = await start_slow_call(world, kb)
        call.cancel()
        assert await ask(kb) > 0  # frames arrive in order, so the interrupt has arrived
        while len(host.requests) > 0:
            await asyncio.sleep(0.01)
    assert world.pages.begun == 1


async def test_an_engine_stops_the_calls_of_a_client_that_is_gone(world: World) -> None:
    async with serve_world(world) as (host, kb):
        call = await start_slow_call(world, kb)
        assert kb._link is not None
        kb._link.on_lost = _nothing
        kb._link.connection.abort()
        call.cancel()  # or it would be asked again
        while host.clients or host.requests:
            await asyncio.sleep(0.01)
    assert world.pages.begun == 1


def _nothing() -> None:
    """The client does not connect again."""


async def test_an_engine_holds_a_call_to_the_time_that_its_client_has(world: World, impatient: None) -> None:
    async with serve_world(world) as (_, kb):
        await kb.open()
        world.pages.is_slow = True
        calls = [asyncio.create_task(ask(kb)) for _ in range(2 * AT_ONCE)]
        for call in calls:
            with pytest.raises(WinnowError) as caught:
                await call
            assert caught.value.reason == "TIMEOUT"
    assert world.pages.begun <= len(calls)  # none of them had a second page


@pytest.mark.parametrize("seconds", ["NaN", "Infinity", "-1e400", '"1"', "1"])
async def test_a_time_that_is_none_ends_its_connection(world: World, seconds: str) -> None:
    async with serve_world(world) as (_, kb):
        await kb.open()
        assert kb._link is not None
        transport = kb._link.connection._transport
        assert transport is not None
        lost = asyncio.Event()
        kb._link.on_lost = lost.set
        body = (
            '{"id": 9, "do": "call", "script": false, "connection": "x", "run": "", "fresh": false, '
            f'"operation": "fetch", "arguments": {{}}, "seconds": {seconds}}}'
        ).encode()
        transport.write(struct.pack(">I", len(body)) + body)
        await asyncio.wait_for(lost.wait(), LIMIT)
