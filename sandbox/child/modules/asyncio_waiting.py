"""Waiting for several tasks, and timeouts: the rest of ``asyncio`` around tasks."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

from .asyncio_loop import CancelledError, Future, Task, create_task, ensure_future, running_loop
from .asyncio_queues import Queue

FIRST_COMPLETED, FIRST_EXCEPTION, ALL_COMPLETED = "FIRST_COMPLETED", "FIRST_EXCEPTION", "ALL_COMPLETED"


async def wait(
    futures: Iterable[Any], *, timeout: float | None = None, return_when: str = ALL_COMPLETED
) -> tuple[set[Future], set[Future]]:
    """Wait for several; return the sets of those done and those pending."""
    several = [ensure_future(future) for future in futures]
    deadline = None if timeout is None else time.monotonic() + timeout
    while not _is_wait_over(several, return_when) and (deadline is None or time.monotonic() < deadline):
        change = Future()
        for future in several:
            if not future.done():
                future.add_done_callback(lambda _, change=change: change.done() or change.set_result(None))  # type: ignore[misc]
        if deadline is not None:
            running_loop().call_at(deadline, lambda change=change: change.done() or change.set_result(None))  # type: ignore[misc]
        await change
    done = {future for future in several if future.done()}
    return done, set(several) - done


def _is_wait_over(futures: list[Future], return_when: str) -> bool:
    done = [future for future in futures if future.done()]
    if return_when == FIRST_COMPLETED and done:
        return True
    if return_when == FIRST_EXCEPTION and any(future._error is not None for future in done):
        return True
    return len(done) == len(futures)


async def wait_for(awaitable: Any, timeout: float | None) -> Any:
    """Wait for at most that many seconds; raises TimeoutError."""
    future = ensure_future(awaitable)
    if timeout is None:
        return await future
    await wait([future], timeout=timeout)
    if not future.done():
        future.cancel()
        raise TimeoutError
    return future.result()


def as_completed(awaitables: Iterable[Any], *, timeout: float | None = None) -> Iterator[Awaitable[Any]]:
    """Awaitables of the results, in the order in which they finish."""
    futures = [ensure_future(awaitable) for awaitable in awaitables]
    arrived: Queue = Queue()
    for future in futures:
        future.add_done_callback(arrived.put_nowait)

    async def next_one() -> Any:
        return (await wait_for(arrived.get(), timeout)).result()

    for _ in futures:
        yield next_one()


async def to_thread(function: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> Any:
    """Call the function; there is only one thread."""
    return function(*arguments, **keywords)


def shield(awaitable: Any) -> Future:
    """A future that may be cancelled without cancelling the awaitable."""
    inner, outer = ensure_future(awaitable), Future()

    def done(future: Future) -> None:
        if outer.done():
            return
        if future.cancelled():
            outer.cancel()
        elif (error := future.exception()) is not None:
            outer.set_exception(error)
        else:
            outer.set_result(future.result())

    inner.add_done_callback(done)
    return outer


class timeout:
    """``async with timeout(seconds):`` cancels its body and raises TimeoutError."""

    def __init__(self, delay: float | None) -> None:
        self._delay = delay
        self._expired = False
        self._left = False

    async def __aenter__(self) -> timeout:
        task = running_loop().current
        if self._delay is not None and task is not None:
            running_loop().call_at(time.monotonic() + self._delay, lambda: self._expire(task))
        return self

    def _expire(self, task: Task) -> None:
        if not self._left:
            self._expired = True
            task.cancel()

    def expired(self) -> bool:
        """Whether the time has run out."""
        return self._expired

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._left = True
        if self._expired and kind is not None and issubclass(kind, CancelledError):
            raise TimeoutError


class TaskGroup:
    """``async with TaskGroup() as group:`` waits for all tasks made with ``group.create_task``."""

    def __init__(self) -> None:
        self._tasks: list[Task] = []

    async def __aenter__(self) -> TaskGroup:
        return self

    def create_task(self, coroutine: Any, *, name: str | None = None, context: Any = None) -> Task:
        """A task that the group waits for."""
        task = create_task(coroutine, name=name)
        self._tasks.append(task)
        return task

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        if error is not None:
            self._cancel()
        while any(not task.done() for task in self._tasks):
            await wait([task for task in self._tasks if not task.done()], return_when=FIRST_EXCEPTION)
            if any(task.done() and not task.cancelled() and task.exception() for task in self._tasks):
                self._cancel()
        failed = [task.exception() for task in self._tasks if not task.cancelled()]
        errors = [each for each in failed if isinstance(each, Exception)]
        if isinstance(error, Exception):
            errors.insert(0, error)
        if errors:
            raise ExceptionGroup("unhandled errors in a TaskGroup", errors)

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()
