"""One script among many: its conversation leaves the event loop to others, and large calls are paid for."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Mapping
from typing import Any

import pytest

from winnow.sandbox import Limits, Reply
from winnow.sandbox.parent.execution import CallHandler, Execution
from winnow.sandbox.protocol import frames
from winnow.sandbox.runners.fork_server import ForkedChild
from winnow.sandbox.runners.turns import TURN_SECONDS

pytestmark = pytest.mark.both_users

CALLS = 40
LIMITS = Limits(sdk_calls=100)


async def _work(method: str, params: Mapping[str, Any]) -> Reply:
    """An answer that takes a whole turn and never waits."""
    until = time.perf_counter() + TURN_SECONDS
    while time.perf_counter() < until:
        pass
    return Reply("answer")


async def _answer_at_once(method: str, params: Mapping[str, Any]) -> Reply:
    return Reply("answer")


async def _turns_of_others(sent: bytes, host: CallHandler) -> int:
    """How often another task runs while a child that has sent all this at once is served."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    with theirs:
        child = ForkedChild(ours, asyncio.get_running_loop())
        theirs.sendall(sent)
        other = asyncio.create_task(count())
        try:
            ending = await Execution(child, LIMITS, host, time.monotonic())._converse("")
        finally:
            other.cancel()
            child.kill()
    assert ending == frames.ResultFrame(1, "1")
    return turns


def _call(params: Mapping[str, Any], **more: Any) -> bytes:
    return json.dumps({"call": "search", "params": params, **more}, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    "calls", [[_call({})] * CALLS, [_call({}, each=[{}] * CALLS)]], ids=["one by one", "in a batch"]
)
def test_others_run_after_every_call_that_took_a_turn(calls: list[bytes]) -> None:
    sent = b"".join(map(frames.pack, [*calls, b'{"result":1}']))
    host = CallHandler(_work, LIMITS, time.monotonic())
    assert asyncio.run(_turns_of_others(sent, host)) >= CALLS


def _calls_until_refused(body: bytes) -> int:
    """How many such calls a script of 100 calls can make."""

    async def make() -> int:
        host = CallHandler(_answer_at_once, LIMITS, time.monotonic())
        for made in range(LIMITS.sdk_calls + 1):
            request = frames.decode(body, LIMITS)
            assert isinstance(request, frames.CallFrame)
            reply = frames.decode_from_parent((await host.answer(request))[frames.HEADER.size :])
            if "error" in reply:
                assert (reply["error"]["type"], host.calls) == ("CallLimit", LIMITS.sdk_calls)
                return made
        raise AssertionError("no call was refused")

    return asyncio.run(make())


@pytest.mark.parametrize(
    ("params", "made"),
    [
        pytest.param({"query": "how long are backups kept?"}, 100, id="a question"),
        pytest.param({"filter_ids": [f"{number:040}" for number in range(100)]}, 100, id="a hundred ids"),
        pytest.param({"text": "x" * 16_000}, 100, id="a text"),
        pytest.param({"text": "x" * 60_000}, 25, id="a long text"),
        pytest.param({"filters": [[]] * 20_000}, 3, id="a wide filter"),
        pytest.param({"filters": [json.loads("[" * 60 + "]" * 60)] * 500}, 2, id="deep lists"),
    ],
)
def test_a_call_counts_by_its_values_and_bytes(params: Mapping[str, Any], made: int) -> None:
    assert _calls_until_refused(_call(params)) == made


def test_the_calls_of_a_batch_count_once_each() -> None:
    async def make() -> int:
        host = CallHandler(_answer_at_once, LIMITS, time.monotonic())
        request = frames.decode(_call({}, each=[{"query": "x" * 200}] * 50), LIMITS)
        assert isinstance(request, frames.CallFrame)
        await host.answer(request)
        return host.calls

    assert asyncio.run(make()) == 50
