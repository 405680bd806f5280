"""Locks, semaphores, events and conditions between tasks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from .asyncio_loop import Future


class Semaphore:
    """A counter that limits how many tasks enter at once."""

    def __init__(self, value: int = 1) -> None:
        if value < 0:
            raise ValueError("Semaphore initial value must be >= 0")
        self._value = value
        self._waiters: deque[Future] = deque()

    def locked(self) -> bool:
        """Whether acquire() would wait."""
        return self._value == 0

    async def acquire(self) -> bool:
        """Enter; wait while it is full."""
        while self._value == 0:
            waiter = Future()
            self._waiters.append(waiter)
            await waiter
        self._value -= 1
        return True

    def release(self) -> None:
        """Leave, and wake a waiting task."""
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
    """A semaphore that raises ValueError when it is released too often."""

    def __init__(self, value: int = 1) -> None:
        super().__init__(value)
        self._bound = value

    def release(self) -> None:
        """Leave, and wake a waiting task."""
        if self._value >= self._bound:
            raise ValueError("BoundedSemaphore released too many times")
        super().release()


class Lock(Semaphore):
    """A lock: one task at a time."""

    def __init__(self) -> None:
        super().__init__(1)

    def release(self) -> None:
        """Leave, and wake a waiting task."""
        if self._value:
            raise RuntimeError("Lock is not acquired.")
        super().release()


class Event:
    """A flag that tasks can wait for."""

    def __init__(self) -> None:
        self._set = False
        self._waiters: list[Future] = []

    def is_set(self) -> bool:
        """Whether the flag is set."""
        return self._set

    def set(self) -> None:
        """Set the flag and wake the waiting tasks."""
        self._set = True
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(True)

    def clear(self) -> None:
        """Clear the flag."""
        self._set = False

    async def wait(self) -> bool:
        """Wait until the flag is set."""
        if not self._set:
            waiter = Future()
            self._waiters.append(waiter)
            await waiter
        return True


class Condition:
    """A lock with notifications between the tasks that use it."""

    def __init__(self, lock: Lock | None = None) -> None:
        self._lock = lock or Lock()
        self._waiters: list[Future] = []

    def locked(self) -> bool:
        """Whether the lock is held."""
        return self._lock.locked()

    async def acquire(self) -> bool:
        """Acquire the lock."""
        return await self._lock.acquire()

    def release(self) -> None:
        """Release the lock."""
        self._lock.release()

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(self, *error: object) -> None:
        self.release()

    async def wait(self) -> bool:
        """Release the lock until notified."""
        waiter = Future()
        self._waiters.append(waiter)
        self.release()
        try:
            await waiter
        finally:
            await self.acquire()
        return True

    async def wait_for(self, predicate: Callable[[], Any]) -> Any:
        """Wait until the predicate holds."""
        while not (result := predicate()):
            await self.wait()
        return result

    def notify(self, n: int = 1) -> None:
        """Wake up to ``n`` waiting tasks."""
        if not self.locked():
            raise RuntimeError("cannot notify on un-acquired lock")
        woken, self._waiters = self._waiters[:n], self._waiters[n:]
        for waiter in woken:
            if not waiter.done():
                waiter.set_result(True)

    def notify_all(self) -> None:
        """Wake all waiting tasks."""
        self.notify(len(self._waiters))
