"""Threads for calls: so many at once, and none of the places is held by a call that nobody waits for.

A call whose time is up, or whose caller is gone, gives its place back at once. Its thread stops at its next look
at the deadline; until then it counts as one of ``stuck``. Where all of those are busy as well, calls wait for a
thread until their own time is up.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from server.runtime.deadlines import CallEnded, Deadline, use_deadline

T = TypeVar("T")

# Calls spend much of their time in code without the interpreter's lock, or wait for another machine.
AT_ONCE, STUCK = 16, 48


class CallThreads:
    """Runs the calls of one process, from one event loop."""

    def __init__(self, at_once: int = AT_ONCE, stuck: int = STUCK) -> None:
        self._places = asyncio.Semaphore(at_once)
        self._threads = ThreadPoolExecutor(at_once + stuck, thread_name_prefix="winnow-call")

    async def run(self, deadline: Deadline, work: Callable[[], T]) -> T:
        """What ``work`` returns, in a thread whose current deadline this is.

        Raises ``TimeoutError`` where that has passed, also while the call waited for its place. Who cancels this
        ends the work as well.
        """
        gone = threading.Event()
        known = replace(deadline, is_cancelled=lambda: gone.is_set() or deadline.is_cancelled())
        try:
            async with asyncio.timeout(deadline.remaining()), self._places:
                return await asyncio.wrap_future(self._threads.submit(_under, known, work))
        except CallEnded:
            raise TimeoutError from None
        finally:
            gone.set()

    def close(self) -> None:
        """Return once no call is under way; there must be no further one."""
        self._threads.shutdown(wait=True, cancel_futures=True)


def _under(deadline: Deadline, work: Callable[[], T]) -> T:
    with use_deadline(deadline):
        deadline.check()
        return work()
