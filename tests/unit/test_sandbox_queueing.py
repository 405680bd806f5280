"""Places for scripts: bounded, in turn, fair between clients."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.parent.queue import ScriptQueue, ScriptQueueFull

_MOMENT = 0.0


async def _served(order: Sequence[str], places: int = 1) -> list[str]:
    """In which order clients get their places when all come at once, each holding one for a turn of the loop."""
    queue, got = ScriptQueue(places, room=1000, patience=5), []

    async def run(client: str) -> None:
        await queue.enter(client)
        got.append(client)
        await asyncio.sleep(_MOMENT)
        queue.leave(client, 0.0)

    await asyncio.gather(*(run(client) for client in order))
    assert (queue.running, queue.waiting) == (0, 0)
    return got


def test_one_client_is_served_in_the_order_it_came() -> None:
    async def numbered() -> list[int]:
        queue, got = ScriptQueue(1, room=10, patience=5), []

        async def run(number: int) -> None:
            await queue.enter("a")
            got.append(number)
            await asyncio.sleep(_MOMENT)
            queue.leave("a", 0.0)

        await asyncio.gather(*(run(number) for number in range(5)))
        return got

    assert asyncio.run(numbered()) == [0, 1, 2, 3, 4]


def test_a_client_with_one_script_waits_for_one_script_of_a_client_with_many() -> None:
    assert asyncio.run(_served("aaaaaab")) == ["a", "b", "a", "a", "a", "a", "a"]


def test_clients_take_turns() -> None:
    assert "".join(asyncio.run(_served("aaaabbbbcc"))) == "abcabcabab"


def test_a_free_place_goes_to_the_client_that_holds_fewest() -> None:
    async def holds() -> list[str]:
        queue = ScriptQueue(2, room=10, patience=5)
        await queue.enter("a")
        await queue.enter("a")
        got: list[str] = []

        async def run(client: str) -> None:
            await queue.enter(client)
            got.append(client)

        waiting = [asyncio.ensure_future(run(client)) for client in "aab"]
        await asyncio.sleep(_MOMENT)
        queue.leave("a", 0.0)
        await asyncio.sleep(_MOMENT)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return got

    assert asyncio.run(holds()) == ["b"]


def test_a_full_queue_refuses_the_client_that_fills_it_and_makes_room_for_another() -> None:
    async def crowd() -> tuple[list[str], str]:
        queue = ScriptQueue(1, room=2, patience=5)
        await queue.enter("a")
        first, second = (asyncio.ensure_future(queue.enter("a")) for _ in range(2))
        await asyncio.sleep(_MOMENT)
        with pytest.raises(ScriptQueueFull):
            await queue.enter("a")
        other = asyncio.ensure_future(queue.enter("b"))
        (displaced,) = await asyncio.gather(second, return_exceptions=True)
        queue.leave("a", 1.0)
        await other
        queue.leave("b", 1.0)
        await first
        return [name for name, task in (("first", first), ("other", other)) if task.done()], type(
            displaced
        ).__name__

    assert asyncio.run(crowd()) == (["first", "other"], "ScriptQueueFull")


def test_the_time_to_come_back_grows_with_the_queue_and_the_length_of_scripts() -> None:
    async def told(seconds: float, waiting: int) -> int:
        queue = ScriptQueue(2, room=waiting, patience=5)
        await queue.enter("a")
        queue.leave("a", seconds)
        await queue.enter("a")
        await queue.enter("a")
        waits = [asyncio.ensure_future(queue.enter("a")) for _ in range(waiting)]
        await asyncio.sleep(_MOMENT)
        with pytest.raises(ScriptQueueFull) as full:
            await queue.enter("a")
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
        return full.value.retry_after_s

    assert [asyncio.run(told(*case)) for case in ((0.001, 3), (2.0, 3), (2.0, 9), (30.0, 9))] == [1, 4, 10, 60]


def test_patience_ends() -> None:
    async def wait() -> tuple[int, int]:
        queue = ScriptQueue(1, room=2, patience=0.01)
        await queue.enter("a")
        with pytest.raises(ScriptQueueFull):
            await queue.enter("b")
        return queue.running, queue.waiting

    assert asyncio.run(wait()) == (1, 0)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=30),
    st.integers(min_value=1, max_value=4),
    st.integers(min_value=0, max_value=8),
)
def test_no_place_is_ever_lost_or_given_twice(crowd: list[tuple[str, bool]], places: int, room: int) -> None:
    """Whoever is cancelled, refused or served: never more run than there are places, and all come back."""

    async def run() -> tuple[int, int, int]:
        queue, most = ScriptQueue(places, room, patience=5), 0

        async def one(client: str) -> None:
            nonlocal most
            await queue.enter(client)
            most = max(most, queue.running)
            try:
                await asyncio.sleep(_MOMENT)
            finally:
                queue.leave(client, 0.0)

        tasks = []
        for client, cancelled in crowd:
            tasks.append(asyncio.ensure_future(one(client)))
            if cancelled:
                await asyncio.sleep(_MOMENT)
                tasks[len(tasks) // 2].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return most, queue.running, queue.waiting

    most, running, waiting = asyncio.run(run())
    assert (most <= places, running, waiting) == (True, 0, 0)
