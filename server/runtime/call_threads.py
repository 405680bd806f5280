"""The thread pool for calls: a slot is freed as soon as nobody waits for its call.

A call that has timed out or was cancelled frees its slot at once. Its thread stops at its next check of the
deadline; until then it occupies one of the ``stuck`` threads. When all of those are busy too, calls wait for a
thread until they time out.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from typing import TypeVar

from winnow.server.runtime.deadlines import CallEnded, Deadline, use_deadline

T = TypeVar("T")

# Calls spend much of their time without the interpreter lock or waiting for another machine.
AT_ONCE, STUCK = 16, 48


class CallThreads:
    """Runs the calls of one process in threads, from one event loop."""

    def __init__(self, at_once: int = AT_ONCE, stuck: int = STUCK) -> None:
        self._slots = asyncio.Semaphore(at_once)
        self._threads = ThreadPoolExecutor(at_once + stuck, thread_name_prefix="winnow-call")

    async def run(self, deadline: Deadline, work: Callable[[], T]) -> T:
        """Run ``work`` in a thread under this deadline; returns its result.

        Raises ``TimeoutError`` when the deadline has passed, also while waiting for a slot. Cancelling this
        coroutine ends the work as well.
        """
        abandoned = threading.Event()
        cancellable = replace(deadline, is_cancelled=lambda: abandoned.is_set() or deadline.is_cancelled())
        try:
            async with asyncio.timeout(deadline.remaining()), self._slots:
                return await asyncio.wrap_future(
                    self._threads.submit(copy_context().run, _run_under, cancellable, work)
                )
        except CallEnded:
            raise TimeoutError from None
        finally:
            abandoned.set()

    def close(self) -> None:
        """Wait for the running calls; no call may follow."""
        self._threads.shutdown(wait=True, cancel_futures=True)


def _run_under(deadline: Deadline, work: Callable[[], T]) -> T:
    with use_deadline(deadline):
        deadline.check()
        return work()
