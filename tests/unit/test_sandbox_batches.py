"""Batches of calls: concurrent calls with the answers and counts of sequential ones."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.sandbox import CallError, Limits, Reply
from winnow.sandbox.parent import execution
from winnow.sandbox.parent.execution import CallHandler
from winnow.sandbox.protocol import frames

pytestmark = pytest.mark.as_root


@dataclass
class Store:
    """A host with a row budget; a query states the turns that its answer takes, its size and its rows."""

    rows: int
    asked: list[str] = field(default_factory=list)
    charged: list[str] = field(default_factory=list)
    under_way: int = 0
    most: int = 0

    async def call(self, method: str, params: Mapping[str, Any]) -> Reply:
        query, turns, size, rows = params["query"]
        self.asked.append(query)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            for _ in range(turns):
                await asyncio.sleep(0)
        finally:
            self.under_way -= 1
        if rows < 0:
            raise CallError("INVALID_REQUEST", f"no such query {query}")
        return Reply([query, "x" * size], rows=rows, tokens=size, charge=lambda: self.charge(query, rows))

    def charge(self, query: str, rows: int) -> None:
        self.charged.append(query)
        if rows > self.rows:
            raise CallError("SDK_ROWS", f"{self.rows} are left", limit=True)
        self.rows -= rows


QUERIES = st.lists(
    st.tuples(
        st.text("abc", max_size=3),
        st.integers(0, 4),
        st.sampled_from([0, 10, 900, 2_000, 5_000]),
        st.integers(-1, 4),
    ),
    max_size=14,
)


def _host(store: Store, limits: Limits) -> CallHandler:
    return CallHandler(store.call, limits, time.monotonic())


async def _one_by_one(host: CallHandler, queries: list[Any]) -> list[Any]:
    asked = (frames.CallFrame("semantic_search", {"query": query}) for query in queries)
    return [_read(await host.answer(call)) for call in asked]


async def _together(host: CallHandler, queries: list[Any]) -> list[Any]:
    """As the script's end of the channel does: calls that did not fit a frame are sent again."""
    replies: list[Any] = []
    while len(replies) < len(queries):
        rest = tuple({"query": query} for query in queries[len(replies) :])
        replies += map(
            frames.decode_from_parent, _read(await host.answer(frames.CallFrame("semantic_search", {}, rest)))
        )
    return replies


def _read(frame: bytes) -> Any:
    return frames.decode_from_parent(frame[frames.HEADER.size :])


@given(
    queries=QUERIES,
    calls=st.integers(0, 12),
    rows=st.integers(0, 20),
    frame=st.sampled_from([1_000, 3_000, 100_000]),
    total=st.sampled_from([4_000, 1_000_000]),
)
@settings(max_examples=120, deadline=None)
def test_a_batch_is_answered_and_counted_as_its_calls_one_by_one(
    queries: list[Any], calls: int, rows: int, frame: int, total: int
) -> None:
    limits = Limits(sdk_calls=calls, reply_bytes=frame, reply_total_bytes=total)
    alone, together = Store(rows), Store(rows)
    first, second = _host(alone, limits), _host(together, limits)
    assert asyncio.run(_together(second, queries)) == asyncio.run(_one_by_one(first, queries))
    assert (second.calls, second.rows, second.tokens, second.refusals) == (
        first.calls,
        first.rows,
        first.tokens,
        first.refusals,
    )
    assert (together.charged, together.rows) == (alone.charged, alone.rows)
    assert together.most <= 1 + execution._PREFETCH
    assert CallHandler._prefetched == 0


def test_no_more_calls_begin_than_the_script_may_make() -> None:
    store = Store(rows=100)
    queries = [(str(n), 3, 10, 1) for n in range(9)]
    asyncio.run(_together(_host(store, Limits(sdk_calls=5)), queries))
    assert store.asked == ["0", "1", "2", "3", "4"]


def test_several_calls_of_a_batch_are_under_way_at_once() -> None:
    store = Store(rows=100)
    asyncio.run(_together(_host(store, Limits()), [(str(n), 3, 10, 1) for n in range(9)]))
    assert store.most == 1 + execution._PREFETCH


def test_the_batches_of_several_scripts_share_what_may_be_under_way_before_its_turn() -> None:
    async def main() -> int:
        store = Store(rows=100)
        batches = (_together(_host(store, Limits()), [(str(n), 3, 10, 1) for n in range(9)]) for _ in range(4))
        await asyncio.gather(*batches)
        return store.most

    assert asyncio.run(main()) == 4 + execution._PREFETCH


def test_cancelling_a_batch_leaves_no_call_running() -> None:
    async def main() -> int:
        store = Store(rows=100)
        queries = tuple({"query": (str(n), 1_000_000, 10, 1)} for n in range(9))
        call = frames.CallFrame("semantic_search", {}, queries)
        waiting = asyncio.ensure_future(_host(store, Limits()).answer(call))
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.wait([waiting])
        return len(asyncio.all_tasks() - {asyncio.current_task()})

    assert asyncio.run(main()) == 0
