"""The queue for scripts: bounded, first in, first out, fair between clients. No test depends on machine speed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.patience import LIMIT
from winnow.sandbox.parent.queue import ScriptQueue, ScriptQueueFull

pytestmark = pytest.mark.both_users


def _queue(places: int, room: int) -> ScriptQueue:
    return ScriptQueue(places, room, patience=LIMIT)


async def _turn() -> None:
    """Let every task that is ready run once."""
    await asyncio.sleep(0)


async def _until(condition: Callable[[], object]) -> None:
    """Let other tasks run until the condition holds."""
    async with asyncio.timeout(LIMIT):
        while not condition():
            await _turn()


async def _serve_all(order: Sequence[str]) -> list[tuple[str, int]]:
    """The clients and their script numbers, in the order in which they got the single place."""
    queue, served, all_wait = _queue(1, room=1000), list[tuple[str, int]](), asyncio.Event()

    async def run(client: str, number: int) -> None:
        await queue.enter(client)
        served.append((client, number))
        await all_wait.wait()
        queue.end_turn(client, 0.0)

    tasks = [asyncio.ensure_future(run(client, number)) for number, client in enumerate(order)]
    await _until(lambda: queue.waiting == len(order) - 1)
    all_wait.set()
    await asyncio.gather(*tasks)
    assert (queue.running, queue.waiting) == (0, 0)
    return served


def _order_of_clients(order: str) -> str:
    return "".join(client for client, _ in asyncio.run(_serve_all(order)))


def test_one_client_is_served_in_the_order_it_came() -> None:
    assert [number for _, number in asyncio.run(_serve_all("aaaaa"))] == [0, 1, 2, 3, 4]


def test_a_client_with_one_script_waits_for_one_script_of_a_client_with_many() -> None:
    assert _order_of_clients("aaaaaab") == "abaaaaa"


def test_clients_take_turns() -> None:
    assert _order_of_clients("aaaabbbbcc") == "abcabcabab"


def test_a_free_place_goes_to_the_client_that_holds_fewest() -> None:
    async def holds() -> list[str]:
        queue = _queue(2, room=10)
        await queue.enter("a")
        await queue.enter("a")
        served: list[str] = []

        async def run(client: str) -> None:
            await queue.enter(client)
            served.append(client)

        tasks = [asyncio.ensure_future(run(client)) for client in "aab"]
        await _until(lambda: queue.waiting == 3)
        queue.end_turn("a", 0.0)
        await _until(lambda: served)
        assert (queue.running, queue.waiting) == (2, 2)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return served

    assert asyncio.run(holds()) == ["b"]


def test_a_full_queue_refuses_the_client_that_fills_it_and_makes_room_for_another() -> None:
    async def crowd() -> tuple[list[str], type[object]]:
        queue = _queue(1, room=2)
        await queue.enter("a")
        first, second = (asyncio.ensure_future(queue.enter("a")) for _ in range(2))
        await _until(lambda: queue.waiting == 2)
        with pytest.raises(ScriptQueueFull):
            await queue.enter("a")
        other = asyncio.ensure_future(queue.enter("b"))
        (displaced,) = await asyncio.gather(second, return_exceptions=True)
        queue.end_turn("a", 1.0)
        await other
        queue.end_turn("b", 1.0)
        await first
        done = [name for name, task in (("first", first), ("other", other)) if task.done()]
        return done, type(displaced)

    assert asyncio.run(crowd()) == (["first", "other"], ScriptQueueFull)


def test_the_time_to_come_back_grows_with_the_queue_and_the_length_of_scripts() -> None:
    async def retry_after(seconds: float, waiting: int) -> int:
        queue = _queue(2, room=waiting)
        await queue.enter("a")
        queue.end_turn("a", seconds)
        await queue.enter("a")
        await queue.enter("a")
        tasks = [asyncio.ensure_future(queue.enter("a")) for _ in range(waiting)]
        await _until(lambda: queue.waiting == waiting)
        with pytest.raises(ScriptQueueFull) as full:
            await queue.enter("a")
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return full.value.retry_after_s

    cases = ((0.001, 3), (2.0, 3), (2.0, 9), (30.0, 9))
    assert [asyncio.run(retry_after(*case)) for case in cases] == [1, 4, 10, 60]


def test_before_the_first_script_has_ended_those_that_run_say_how_long_one_takes() -> None:
    async def crowd() -> tuple[int, int, int]:
        queue = _queue(1, room=0)
        await queue.enter("a")
        queue._begun[0] -= 7.0  # it has run for seven seconds
        with pytest.raises(ScriptQueueFull) as full:
            await queue.enter("b")
        return full.value.waiting, full.value.room, full.value.retry_after_s

    waiting, room, seconds = asyncio.run(crowd())
    assert (waiting, room) == (0, 0)
    assert 7 <= seconds <= 60


def test_waiting_ends_after_the_queue_timeout() -> None:
    async def wait() -> tuple[int, int]:
        queue = ScriptQueue(1, room=2, patience=0.01)  # no place becomes free, however late it ends
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
    """With cancelled, refused and finished scripts: places are never exceeded, and all are released."""

    async def run() -> tuple[int, int, int]:
        queue, most = _queue(places, room), 0

        async def run_script(client: str) -> None:
            nonlocal most
            await queue.enter(client)
            most = max(most, queue.running)
            try:
                await _turn()
            finally:
                queue.end_turn(client, 0.0)

        tasks = []
        for client, is_cancelled in crowd:
            tasks.append(asyncio.ensure_future(run_script(client)))
            if is_cancelled:
                await _turn()
                tasks[len(tasks) // 2].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return most, queue.running, queue.waiting

    most, running, waiting = asyncio.run(run())
    assert (most <= places, running, waiting) == (True, 0, 0)
