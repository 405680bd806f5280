"""Deadlines of calls, and their cancellation.

The knowledge base sets the deadline of a call for the thread that works on it (``call_threads``). Long-running
code checks it between two steps: at each page, batch, leg and hop. Requests to another machine use the remaining
time as their timeout. Work that belongs to no call, such as an ingest, has no deadline.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace


class CallEnded(BaseException):
    """The deadline of a call has passed, or its caller is gone.

    Not an ``Exception``, because a search that continues when one leg fails must not continue here.
    """


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Deadline:
    """The time by which a call must end, on the monotonic clock, and whether it was cancelled."""

    until: float = math.inf
    is_cancelled: Callable[[], bool] = _never

    def remaining(self) -> float:
        """The seconds left, at least 0."""
        return max(0.0, self.until - time.monotonic())

    def at_most(self, seconds: float) -> float:
        """The given seconds or the remaining ones, whichever is less."""
        return min(seconds, self.remaining())

    def check(self) -> None:
        """Raise ``CallEnded`` if the deadline has passed or the call was cancelled."""
        if self.is_cancelled() or time.monotonic() >= self.until:
            raise CallEnded


NEVER = Deadline()
_current: ContextVar[Deadline] = ContextVar("deadline", default=NEVER)


def current_deadline() -> Deadline:
    """The deadline of the call that this thread or task works on; ``NEVER`` outside calls."""
    return _current.get()


def check_deadline() -> None:
    """Raise ``CallEnded`` if the call that this thread or task works on should end."""
    _current.get().check()


def deadline_after(seconds: float) -> Deadline:
    """The deadline in so many seconds, or the current one if that is earlier."""
    now = _current.get()
    return replace(now, until=min(now.until, time.monotonic() + seconds))


@contextmanager
def use_deadline(deadline: Deadline) -> Iterator[None]:
    """Make this the current deadline."""
    token = _current.set(deadline)
    try:
        yield
    finally:
        _current.reset(token)
