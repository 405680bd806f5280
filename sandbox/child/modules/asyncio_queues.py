"""Queues between tasks."""

from __future__ import annotations

import heapq
from collections import deque
from typing import Any

from .asyncio_loop import Future


class QueueEmpty(Exception):
    """get_nowait() on an empty queue."""


class QueueFull(Exception):
    """put_nowait() on a full queue."""


class Queue:
    """A first-in, first-out queue."""

    def __init__(self, maxsize: int = 0) -> None:
        self.maxsize = maxsize
        self._items: Any = self._store()
        self._change: list[Future] = []
        self._unfinished = 0

    def _store(self) -> Any:
        return deque()

    def _add(self, item: Any) -> None:
        self._items.append(item)

    def _take(self) -> Any:
        return self._items.popleft()

    def qsize(self) -> int:
        """The number of items."""
        return len(self._items)

    def empty(self) -> bool:
        """Whether it has no items."""
        return not self._items

    def full(self) -> bool:
        """Whether it holds ``maxsize`` items."""
        return 0 < self.maxsize <= len(self._items)

    def put_nowait(self, item: Any) -> None:
        """Add an item; QueueFull if there is no room."""
        if self.full():
            raise QueueFull
        self._add(item)
        self._unfinished += 1
        self._changed()

    def get_nowait(self) -> Any:
        """Take an item; QueueEmpty if there is none."""
        if not self._items:
            raise QueueEmpty
        item = self._take()
        self._changed()
        return item

    async def put(self, item: Any) -> None:
        """Add an item; wait while the queue is full."""
        while self.full():
            await self._until_change()
        self.put_nowait(item)

    async def get(self) -> Any:
        """Take an item; wait while the queue is empty."""
        while not self._items:
            await self._until_change()
        return self.get_nowait()

    def task_done(self) -> None:
        """Mark a taken item as processed."""
        if self._unfinished <= 0:
            raise ValueError("task_done() called too many times")
        self._unfinished -= 1
        self._changed()

    async def join(self) -> None:
        """Wait until every added item was processed."""
        while self._unfinished:
            await self._until_change()

    def _changed(self) -> None:
        waiters, self._change = self._change, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def _until_change(self) -> None:
        waiter = Future()
        self._change.append(waiter)
        await waiter


class LifoQueue(Queue):
    """A last-in, first-out queue."""

    def _store(self) -> Any:
        return []

    def _take(self) -> Any:
        return self._items.pop()


class PriorityQueue(Queue):
    """A queue that returns the least item first."""

    def _store(self) -> Any:
        return []

    def _add(self, item: Any) -> None:
        heapq.heappush(self._items, item)

    def _take(self) -> Any:
        return heapq.heappop(self._items)
