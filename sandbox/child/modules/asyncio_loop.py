"""The event loop behind ``asyncio`` in scripts: loops, futures and tasks.

There is one thread, no socket and no selector. Tasks take turns in CPython's order: first ready, first run.
"""

from __future__ import annotations

import heapq
import itertools
import time
import types
from collections import deque
from collections.abc import Callable, Generator
from typing import Any

from winnow.sandbox.child.diagnosis import unawaited


class CancelledError(BaseException):
    """The task was cancelled."""


class InvalidStateError(Exception):
    """The future is not done yet, or done already."""


class NotRunning(RuntimeError):
    """There is no running loop. Uncaught, it is reported as a call that was never awaited."""


# Scripts see the class that CPython raises.
NotRunning.__name__ = NotRunning.__qualname__ = "RuntimeError"
NotRunning.__module__ = "builtins"


class _Loop:
    """The callbacks that are ready, and those that are due later."""

    def __init__(self) -> None:
        self.ready: deque[Callable[[], None]] = deque()
        self.tasks: dict[Task, None] = {}  # in the order in which they were made
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self.current: Task | None = None

    def call_at(self, when: float, callback: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (when, next(self._order), callback))

    def run_until(self, future: Future) -> Any:
        """Run in rounds, as CPython does: callbacks that are ready when the future is done still run."""
        stops: list[Future] = []
        future.add_done_callback(stops.append)
        while not stops:
            self._wait()
            for _ in range(len(self.ready)):
                self.ready.popleft()()
        return future.result()

    def _wait(self) -> None:
        """Sleep until a callback is ready. Callbacks whose time has come become ready."""
        if not self.ready:
            if not self._timers:
                raise RuntimeError("every task waits for another one; nothing can go on")
            time.sleep(max(0.0, self._timers[0][0] - time.monotonic()))
        while self._timers and self._timers[0][0] <= time.monotonic():
            self.ready.append(heapq.heappop(self._timers)[2])


_running_loops: list[_Loop] = []


def running_loop() -> _Loop:
    if not _running_loops:
        raise NotRunning("no running event loop")
    return _running_loops[-1]


class Future:
    """A value that will be available later."""

    __slots__ = ("_callbacks", "_error", "_retrieved", "_state", "_value")

    def __init__(self) -> None:
        self._state = "pending"
        self._retrieved = False  # whether its result or exception was read
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
        """The value; raises the exception if it failed."""
        self._retrieved = True
        if self._state == "pending":
            raise InvalidStateError("Result is not set.")
        if self._state == "cancelled":
            raise CancelledError
        if self._error is not None:
            raise self._error
        return self._value

    def exception(self) -> BaseException | None:
        """The exception that it failed with, or None."""
        self._retrieved = True
        if self._state == "pending":
            raise InvalidStateError("Exception is not set.")
        if self._state == "cancelled":
            raise CancelledError
        return self._error

    def set_result(self, value: Any) -> None:
        """Finish with a value."""
        self._finish("done", value, None)

    def set_exception(self, error: Any) -> None:
        """Finish with an exception."""
        self._finish("done", None, error() if isinstance(error, type) else error)

    def cancel(self, msg: Any = None) -> bool:
        """Finish as cancelled; False if it is done already."""
        if self.done():
            return False
        self._finish("cancelled", None, None)
        return True

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Call this function with the future when it is done."""
        if self.done():
            running_loop().ready.append(lambda: callback(self))
        else:
            self._callbacks.append(callback)

    def _finish(self, state: str, value: Any, error: BaseException | None) -> None:
        if self.done():
            raise InvalidStateError("invalid state")
        self._state, self._value, self._error = state, value, error
        callbacks, self._callbacks = self._callbacks, []
        ready = running_loop().ready
        for callback in callbacks:
            ready.append(lambda callback=callback: callback(self))  # type: ignore[misc]

    def __await__(self) -> Generator[Any, None, Any]:
        if not self.done():
            yield self
        return self.result()


class Task(Future):
    """A coroutine that the loop runs step by step."""

    __slots__ = ("_cancelling", "_coroutine", "_name", "_waits_for")
    _names = itertools.count(1)

    def __init__(self, coroutine: Any, name: str | None = None) -> None:
        super().__init__()
        self._coroutine = coroutine
        self._name = name or f"Task-{next(Task._names)}"
        self._waits_for: Future | None = None
        self._cancelling = False
        loop = running_loop()
        loop.tasks[self] = None
        loop.ready.append(self._step)

    def end_with_loop(self) -> None:
        """Cancel the task at the end of its loop, and record what was lost."""
        if not self.done():
            if not self._cancelling:
                unawaited.record_unfinished_task(self._coroutine, started=self._coroutine.cr_suspended)
            self.cancel()
        elif self._error is not None and not self._retrieved:
            unawaited.record_unseen_failure(self._error)

    def _finish(self, state: str, value: Any, error: BaseException | None) -> None:
        super()._finish(state, value, error)
        if error is None:
            running_loop().tasks.pop(self, None)

    def get_name(self) -> str:
        """The task's name."""
        return self._name

    def set_name(self, name: object) -> None:
        """Name the task."""
        self._name = str(name)

    def cancel(self, msg: Any = None) -> bool:
        """Raise CancelledError in the coroutine at its next step."""
        if self.done():
            return False
        self._cancelling = True
        if self._waits_for is not None:
            self._waits_for.cancel()
        return True

    def _step(self) -> None:
        if self.done():
            return
        loop = running_loop()
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
            running_loop().ready.append(self._step)
        elif isinstance(yielded, Future):
            self._waits_for = yielded
            yielded.add_done_callback(lambda _: self._step())
        else:
            self._coroutine.throw(RuntimeError(f"Task got bad yield: {yielded!r}"))


def iscoroutine(value: object) -> bool:
    """Whether this is a coroutine: the result of calling an async function."""
    return isinstance(value, types.CoroutineType)


def iscoroutinefunction(value: object) -> bool:
    """Whether this is an async function."""
    return isinstance(value, types.FunctionType) and bool(value.__code__.co_flags & 0x80)


async def _await_value(awaitable: Any) -> Any:
    return await awaitable


def ensure_future(awaitable: Any) -> Future:
    """A future for anything that can be awaited."""
    if isinstance(awaitable, Future):
        return awaitable
    if iscoroutine(awaitable):
        return Task(awaitable)
    if not hasattr(awaitable, "__await__"):
        raise TypeError("An asyncio.Future, a coroutine or an awaitable is required")
    return Task(_await_value(awaitable))


def create_task(coroutine: Any, *, name: str | None = None, context: Any = None) -> Task:
    """Run a coroutine as a task."""
    if iscoroutine(coroutine):
        return Task(coroutine, name)
    if hasattr(coroutine, "__await__"):  # an SDK call, whose answer is available already
        return Task(_await_value(coroutine), name)
    raise TypeError(f"a coroutine was expected, got {coroutine!r}")


def current_task() -> Task | None:
    """The task that runs now."""
    return running_loop().current


def all_tasks() -> set[Task]:
    """The tasks that are not done."""
    return {task for task in running_loop().tasks if not task.done()}


def isfuture(value: object) -> bool:
    """Whether this is a future, or a task."""
    return isinstance(value, Future)


class EventLoop:
    """The result of ``asyncio.get_event_loop()``, for scripts in the older style."""

    __slots__ = ()

    def run_until_complete(self, main: Any) -> Any:
        """asyncio.run."""
        return run(main)

    def create_task(self, coroutine: Any, *, name: str | None = None) -> Task:
        """asyncio.create_task."""
        return create_task(coroutine, name=name)

    def create_future(self) -> Future:
        """A new future."""
        return Future()

    def time(self) -> float:
        """The loop's clock, in seconds."""
        return time.monotonic()

    def is_running(self) -> bool:
        """Whether a loop is running."""
        return bool(_running_loops)

    def is_closed(self) -> bool:
        """False: loops are never closed."""
        return False

    def close(self) -> None:
        """Do nothing."""


def get_event_loop() -> EventLoop:
    """An event loop; all are alike."""
    return EventLoop()


new_event_loop = get_event_loop


def set_event_loop(loop: Any) -> None:
    """Do nothing: all loops are alike."""


def get_running_loop() -> EventLoop:
    """The running loop; RuntimeError if there is none."""
    running_loop()
    return EventLoop()


def run(main: Any, *, debug: Any = None) -> Any:
    """Run a coroutine to its end and return its result."""
    loop = _Loop()
    _running_loops.append(loop)
    try:
        return loop.run_until(ensure_future(main))
    finally:
        _cancel_unfinished_tasks(loop)
        _running_loops.pop()


def _cancel_unfinished_tasks(loop: _Loop) -> None:
    """Cancel the tasks that are not done when the loop ends, as CPython does, and let them clean up."""
    rest = list(loop.tasks)
    for task in rest:
        task.end_with_loop()
    if rest:
        loop.run_until(gather(*rest, return_exceptions=True))


async def sleep(delay: float, result: Any = None) -> Any:
    """Let other tasks run, for at least that many seconds."""
    future = Future()
    if delay <= 0:
        await _Turn()
        return result
    running_loop().call_at(time.monotonic() + delay, lambda: None if future.done() else future.set_result(None))
    await future
    return result


class _Turn:
    """An awaitable that lets the other tasks run once."""

    def __await__(self) -> Generator[None, None, None]:
        yield


def gather(*awaitables: Any, return_exceptions: bool = False) -> Future:
    """Run several at once; a list of their results, in the order given."""
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
            outer.set_result([_result_or_error(child) for child in children])

    for child in children:
        child.add_done_callback(one_done)
    return outer


class _Gathering(Future):
    """The future of gather(): cancelling it cancels its children."""

    __slots__ = ("_children",)

    def __init__(self, children: list[Future]) -> None:
        super().__init__()
        self._children = children

    def cancel(self, msg: Any = None) -> bool:
        """Cancel all children."""
        return not self.done() and bool([child for child in self._children if child.cancel()])


_Gathering.__name__ = _Gathering.__qualname__ = "_GatheringFuture"  # as CPython calls it


def _result_or_error(future: Future) -> Any:
    if future.cancelled():
        return CancelledError()
    return future.exception() or future.result()
