"""``asyncio`` as scripts get it: one thread, no sockets, no selectors; tasks take turns as in CPython.

SDK calls answer at once, so nothing here waits for the outside; what a script gains is that code written with
``await``, ``gather`` and semaphores runs as it stands. Order of execution is CPython's: first ready, first run.
"""

from __future__ import annotations

import heapq
import itertools
import time
import types
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator
from typing import Any

from sandbox.diagnosis import unawaited

FIRST_COMPLETED, FIRST_EXCEPTION, ALL_COMPLETED = "FIRST_COMPLETED", "FIRST_EXCEPTION", "ALL_COMPLETED"


class CancelledError(BaseException):
    """The task was cancelled."""


class InvalidStateError(Exception):
    """The future is not done, or is done already."""


class QueueEmpty(Exception):
    """get_nowait() on an empty queue."""


class QueueFull(Exception):
    """put_nowait() on a full queue."""


class NotRunning(RuntimeError):
    """No loop runs here. Uncaught, it is told as a call that was never awaited."""


# To the script it is what CPython raises.
NotRunning.__name__ = NotRunning.__qualname__ = "RuntimeError"
NotRunning.__module__ = "builtins"


class _Loop:
    """What is ready, and what will be."""

    def __init__(self) -> None:
        self.ready: deque[Callable[[], None]] = deque()
        self.tasks: dict[Task, None] = {}  # in the order in which they were made
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self.current: Task | None = None

    def at(self, when: float, callback: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (when, next(self._order), callback))

    def run_until(self, future: Future) -> Any:
        """Round by round, as CPython: what is ready when the future is done still has its turn."""
        stops: list[Future] = []
        future.add_done_callback(stops.append)
        while not stops:
            self._wait()
            for _ in range(len(self.ready)):
                self.ready.popleft()()
        return future.result()

    def _wait(self) -> None:
        """Until something is ready; and make ready what is due."""
        if not self.ready:
            if not self._timers:
                raise RuntimeError("every task waits for another one; nothing can go on")
            time.sleep(max(0.0, self._timers[0][0] - time.monotonic()))
        while self._timers and self._timers[0][0] <= time.monotonic():
            self.ready.append(heapq.heappop(self._timers)[2])


_running: list[_Loop] = []


def _loop() -> _Loop:
    if not _running:
        raise NotRunning("no running event loop")
    return _running[-1]


class Future:
    """A value that will be there."""

    __slots__ = ("_callbacks", "_error", "_retrieved", "_state", "_value")

    def __init__(self) -> None:
        self._state = "pending"
        self._retrieved = False  # whether anybody looked at how it ended
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future], Any]] = []

    def done(self) -> bool:
        """Whether it has a result, an exception, or was cancelled."""
        return self._state != "pending"

    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self._state == "cancelled"

    def result(self) -> Any:
        """The value; raises what went wrong."""
        self._retrieved = True
        if self._state == "pending":
            raise InvalidStateError("Result is not set.")
        if self._state == "cancelled":
            raise CancelledError
        if self._error is not None:
            raise self._error
        return self._value

    def exception(self) -> BaseException | None:
        """What went wrong, or None."""
        self._retrieved = True
        if self._state == "pending":
            raise InvalidStateError("Exception is not set.")
        if self._state == "cancelled":
            raise CancelledError
        return self._error

    def set_result(self, value: Any) -> None:
        """It is there."""
        self._finish("done", value, None)

    def set_exception(self, error: Any) -> None:
        """It went wrong."""
        self._finish("done", None, error() if isinstance(error, type) else error)

    def cancel(self, msg: Any = None) -> bool:
        """Nobody wants it any more."""
        if self.done():
            return False
        self._finish("cancelled", None, None)
        return True

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Call this with the future when it is done."""
        if self.done():
            _loop().ready.append(lambda: callback(self))
        else:
            self._callbacks.append(callback)

    def _finish(self, state: str, value: Any, error: BaseException | None) -> None:
        if self.done():
            raise InvalidStateError("invalid state")
        self._state, self._value, self._error = state, value, error
        callbacks, self._callbacks = self._callbacks, []
        ready = _loop().ready
        for callback in callbacks:
            ready.append(lambda callback=callback: callback(self))  # type: ignore[misc]

    def __await__(self) -> Generator[Any, None, Any]:
        if not self.done():
            yield self
        return self.result()


class Task(Future):
    """A coroutine that takes its turns."""

    __slots__ = ("_cancelling", "_coroutine", "_name", "_waits_for")
    _names = itertools.count(1)

    def __init__(self, coroutine: Any, name: str | None = None) -> None:
        super().__init__()
        self._coroutine = coroutine
        self._name = name or f"Task-{next(Task._names)}"
        self._waits_for: Future | None = None
        self._cancelling = False
        loop = _loop()
        loop.tasks[self] = None
        loop.ready.append(self._step)

    def leave(self) -> None:
        """The loop ends."""
        if not self.done():
            if not self._cancelling:
                unawaited.left_by_loop(self._coroutine, started=self._coroutine.cr_suspended)
            self.cancel()
        elif self._error is not None and not self._retrieved:
            unawaited.failed_unseen(self._error)

    def _finish(self, state: str, value: Any, error: BaseException | None) -> None:
        super()._finish(state, value, error)
        if error is None:
            _loop().tasks.pop(self, None)

    def get_name(self) -> str:
        """The task's name."""
        return self._name

    def set_name(self, name: object) -> None:
        """Name the task."""
        self._name = str(name)

    def cancel(self, msg: Any = None) -> bool:
        """Throw CancelledError into it at its next turn."""
        if self.done():
            return False
        self._cancelling = True
        if self._waits_for is not None:
            self._waits_for.cancel()
        return True

    def _step(self) -> None:
        if self.done():
            return
        loop = _loop()
        before, loop.current = loop.current, self
        self._waits_for = None
        try:
            if self._cancelling:
                self._cancelling = False
                yielded = self._coroutine.throw(CancelledError())
            else:
                yielded = self._coroutine.send(None)
        except StopIteration as stop:
            self.set_result(stop.value)
        except CancelledError:
            super().cancel()
        except Exception as error:
            self.set_exception(error)
        else:
            self._wait_for(yielded)
        finally:
            loop.current = before

    def _wait_for(self, yielded: Any) -> None:
        if yielded is None:
            _loop().ready.append(self._step)
        elif isinstance(yielded, Future):
            self._waits_for = yielded
            yielded.add_done_callback(lambda _: self._step())
        else:
            self._coroutine.throw(RuntimeError(f"Task got bad yield: {yielded!r}"))


def iscoroutine(value: object) -> bool:
    """Whether this is what calling an async function gives."""
    return isinstance(value, types.CoroutineType)


def iscoroutinefunction(value: object) -> bool:
    """Whether this is an async function."""
    return isinstance(value, types.FunctionType) and bool(value.__code__.co_flags & 0x80)


async def _awaiting(awaitable: Any) -> Any:
    return await awaitable


def ensure_future(awaitable: Any) -> Future:
    """A future of anything that can be awaited."""
    if isinstance(awaitable, Future):
        return awaitable
    if iscoroutine(awaitable):
        return Task(awaitable)
    if not hasattr(awaitable, "__await__"):
        raise TypeError("An asyncio.Future, a coroutine or an awaitable is required")
    return Task(_awaiting(awaitable))


def create_task(coroutine: Any, *, name: str | None = None, context: Any = None) -> Task:
    """Let a coroutine take its turns from now on."""
    if iscoroutine(coroutine):
        return Task(coroutine, name)
    if hasattr(coroutine, "__await__"):  # an SDK call: its answer is there already
        return Task(_awaiting(coroutine), name)
    raise TypeError(f"a coroutine was expected, got {coroutine!r}")


def current_task() -> Task | None:
    """The task whose turn it is."""
    return _loop().current


def all_tasks() -> set[Task]:
    """The tasks that are not done."""
    return {task for task in _loop().tasks if not task.done()}


def isfuture(value: object) -> bool:
    """Whether this is a future, or a task."""
    return isinstance(value, Future)


class EventLoop:
    """What ``asyncio.get_event_loop()`` gives, for scripts in the older style."""

    __slots__ = ()

    def run_until_complete(self, main: Any) -> Any:
        """asyncio.run."""
        return run(main)

    def create_task(self, coroutine: Any, *, name: str | None = None) -> Task:
        """asyncio.create_task."""
        return create_task(coroutine, name=name)

    def create_future(self) -> Future:
        """A future that somebody else finishes."""
        return Future()

    def time(self) -> float:
        """The loop's clock, in seconds."""
        return time.monotonic()

    def is_running(self) -> bool:
        """Whether this is asked from within it."""
        return bool(_running)

    def is_closed(self) -> bool:
        """Never: it costs nothing."""
        return False

    def close(self) -> None:
        """There is nothing to close."""


def get_event_loop() -> EventLoop:
    """The loop; there is one kind of it."""
    return EventLoop()


new_event_loop = get_event_loop


def set_event_loop(loop: Any) -> None:
    """Every loop is the same."""


def get_running_loop() -> EventLoop:
    """The loop, from within it."""
    _loop()
    return EventLoop()


def run(main: Any, *, debug: Any = None) -> Any:
    """Run a coroutine to its end and give what it returns."""
    loop = _Loop()
    _running.append(loop)
    try:
        return loop.run_until(ensure_future(main))
    finally:
        _cancel_rest(loop)
        _running.pop()


def _cancel_rest(loop: _Loop) -> None:
    """As CPython does: what is not done when the loop ends is cancelled, and may clean up."""
    rest = list(loop.tasks)
    for task in rest:
        task.leave()
    if rest:
        loop.run_until(gather(*rest, return_exceptions=True))


async def sleep(delay: float, result: Any = None) -> Any:
    """Let others take their turns, for that many seconds at least."""
    future = Future()
    if delay <= 0:
        await _Turn()
        return result
    _loop().at(time.monotonic() + delay, lambda: None if future.done() else future.set_result(None))
    await future
    return result


class _Turn:
    """Awaiting it gives way once."""

    def __await__(self) -> Generator[None, None, None]:
        yield


def gather(*awaitables: Any, return_exceptions: bool = False) -> Future:
    """Run several at once; a list of what they return, in the order given."""
    children = [ensure_future(awaitable) for awaitable in awaitables]
    outer = _Gathering(children)
    left = len(children)
    if not children:
        outer.set_result([])

    def one_done(child: Future) -> None:
        nonlocal left
        left -= 1
        if outer.done():
            child._retrieved = True
            return
        if not return_exceptions:
            if child.cancelled():
                outer.set_exception(CancelledError())
                return
            error = child.exception()
            if error is not None:
                outer.set_exception(error)
                return
        if left == 0:
            outer.set_result([_outcome(child) for child in children])

    for child in children:
        child.add_done_callback(one_done)
    return outer


class _Gathering(Future):
    """Cancelling it cancels those it waits for."""

    __slots__ = ("_children",)

    def __init__(self, children: list[Future]) -> None:
        super().__init__()
        self._children = children

    def cancel(self, msg: Any = None) -> bool:
        """Cancel all."""
        return not self.done() and bool([child for child in self._children if child.cancel()])


_Gathering.__name__ = _Gathering.__qualname__ = "_GatheringFuture"  # as CPython calls it


def _outcome(future: Future) -> Any:
    if future.cancelled():
        return CancelledError()
    return future.exception() or future.result()


async def wait(
    futures: Iterable[Any], *, timeout: float | None = None, return_when: str = ALL_COMPLETED
) -> tuple[set[Future], set[Future]]:
    """Wait for several; the set of those done, and of those pending."""
    several = [ensure_future(future) for future in futures]
    deadline = None if timeout is None else time.monotonic() + timeout
    while not _enough(several, return_when) and (deadline is None or time.monotonic() < deadline):
        change = Future()
        for future in several:
            if not future.done():
                future.add_done_callback(lambda _, change=change: change.done() or change.set_result(None))  # type: ignore[misc]
        if deadline is not None:
            _loop().at(deadline, lambda change=change: change.done() or change.set_result(None))  # type: ignore[misc]
        await change
    done = {future for future in several if future.done()}
    return done, set(several) - done


def _enough(futures: list[Future], return_when: str) -> bool:
    done = [future for future in futures if future.done()]
    if return_when == FIRST_COMPLETED and done:
        return True
    if return_when == FIRST_EXCEPTION and any(future._error is not None for future in done):
        return True
    return len(done) == len(futures)


async def wait_for(awaitable: Any, timeout: float | None) -> Any:
    """Wait, but not longer than that; raises TimeoutError."""
    future = ensure_future(awaitable)
    if timeout is None:
        return await future
    await wait([future], timeout=timeout)
    if not future.done():
        future.cancel()
        raise TimeoutError
    return future.result()


def as_completed(awaitables: Iterable[Any], *, timeout: float | None = None) -> Iterator[Awaitable[Any]]:
    """Awaitables of the results, in the order in which they come."""
    futures = [ensure_future(awaitable) for awaitable in awaitables]
    arrived: Queue = Queue()
    for future in futures:
        future.add_done_callback(arrived.put_nowait)

    async def next_one() -> Any:
        return (await wait_for(arrived.get(), timeout)).result()

    for _ in futures:
        yield next_one()


async def to_thread(function: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> Any:
    """There is one thread: the function is simply called."""
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
    """``async with timeout(seconds):`` cancels what is in it and raises TimeoutError."""

    def __init__(self, delay: float | None) -> None:
        self._delay = delay
        self._expired = False
        self._left = False

    async def __aenter__(self) -> timeout:
        task = _loop().current
        if self._delay is not None and task is not None:
            _loop().at(time.monotonic() + self._delay, lambda: self._expire(task))
        return self

    def _expire(self, task: Task) -> None:
        if not self._left:
            self._expired = True
            task.cancel()

    def expired(self) -> bool:
        """Whether the time ran out."""
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
        errors = [found for found in failed if isinstance(found, Exception)]
        if isinstance(error, Exception):
            errors.insert(0, error)
        if errors:
            raise ExceptionGroup("unhandled errors in a TaskGroup", errors)

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()


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


class Queue:
    """First in, first out, between tasks."""

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
        """How many are in it."""
        return len(self._items)

    def empty(self) -> bool:
        """Whether none are in it."""
        return not self._items

    def full(self) -> bool:
        """Whether no more fit."""
        return 0 < self.maxsize <= len(self._items)

    def put_nowait(self, item: Any) -> None:
        """Put one in, or QueueFull."""
        if self.full():
            raise QueueFull
        self._add(item)
        self._unfinished += 1
        self._changed()

    def get_nowait(self) -> Any:
        """Take one out, or QueueEmpty."""
        if not self._items:
            raise QueueEmpty
        item = self._take()
        self._changed()
        return item

    async def put(self, item: Any) -> None:
        """Put one in; wait while it is full."""
        while self.full():
            await self._until_change()
        self.put_nowait(item)

    async def get(self) -> Any:
        """Take one out; wait while it is empty."""
        while not self._items:
            await self._until_change()
        return self.get_nowait()

    def task_done(self) -> None:
        """What was taken out is done with."""
        if self._unfinished <= 0:
            raise ValueError("task_done() called too many times")
        self._unfinished -= 1
        self._changed()

    async def join(self) -> None:
        """Until all that was put in is done with."""
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
    """Last in, first out."""

    def _store(self) -> Any:
        return []

    def _take(self) -> Any:
        return self._items.pop()


class PriorityQueue(Queue):
    """The least comes out first."""

    def _store(self) -> Any:
        return []

    def _add(self, item: Any) -> None:
        heapq.heappush(self._items, item)

    def _take(self) -> Any:
        return heapq.heappop(self._items)


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
