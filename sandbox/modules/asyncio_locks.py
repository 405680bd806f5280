"""Locks, semaphores, events and conditions between tasks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from .asyncio_loop import Future


class Semaphore:
    """At most so many at once."""

    def __init__(self, value: int = 1) -> None:
        if value < 0:
            raise ValueError("Semaphore initial value must be >= 0")
        self._value = value
        self._waiters: deque[Future] = deque()

    def locked(self) -> bool:
        """Whether the next to come must wait."""
        return self._value == 0

    async def acquire(self) -> bool:
        """Enter, or wait."""
        while self._value == 0:
            waiter = Future()
            self._waiters.append(waiter)
            await waiter
        self._value -= 1
        return True

    def release(self) -> None:
        """Leave."""
        self._value += 1
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(self, *error: object) -> None:
        self.release()


class BoundedSemaphore(Semaphore):
    """A semaphore that is not left more often than entered."""

    def __init__(self, value: int = 1) -> None:
        super().__init__(value)
        self._bound = value

    def release(self) -> None:
        """Leave."""
        if self._value >= self._bound:
            raise ValueError("BoundedSemaphore released too many times")
        super().release()


class Lock(Semaphore):
    """One at a time."""

    def __init__(self) -> None:
        super().__init__(1)

    def release(self) -> None:
        """Leave."""
        if self._value:
            raise RuntimeError("Lock is not acquired.")
        super().release()


class Event:
    """Something that others wait for."""

    def __init__(self) -> None:
        self._set = False
        self._waiters: list[Future] = []

    def is_set(self) -> bool:
        """Whether it happened."""
        return self._set

    def set(self) -> None:
        """It happened."""
        self._set = True
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(True)

    def clear(self) -> None:
        """It did not."""
        self._set = False

    async def wait(self) -> bool:
        """Until it happens."""
        if not self._set:
            waiter = Future()
            self._waiters.append(waiter)
            await waiter
        return True


class Condition:
    """A lock, and waiting until somebody says that something changed."""

    def __init__(self, lock: Lock | None = None) -> None:
        self._lock = lock or Lock()
        self._waiters: list[Future] = []

    def locked(self) -> bool:
        """Whether somebody holds it."""
        return self._lock.locked()

    async def acquire(self) -> bool:
        """Take the lock."""
        return await self._lock.acquire()

    def release(self) -> None:
        """Give the lock back."""
        self._lock.release()

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(self, *error: object) -> None:
        self.release()

    async def wait(self) -> bool:
        """Give the lock back until notified."""
        waiter = Future()
        self._waiters.append(waiter)
        self.release()
        try:
            await waiter
        finally:
            await self.acquire()
        return True

    async def wait_for(self, predicate: Callable[[], Any]) -> Any:
        """Wait until this holds."""
        while not (result := predicate()):
            await self.wait()
        return result

    def notify(self, n: int = 1) -> None:
        """Wake so many of those who wait."""
        if not self.locked():
            raise RuntimeError("cannot notify on un-acquired lock")
        woken, self._waiters = self._waiters[:n], self._waiters[n:]
        for waiter in woken:
            if not waiter.done():
                waiter.set_result(True)

    def notify_all(self) -> None:
        """Wake all."""
        self.notify(len(self._waiters))
