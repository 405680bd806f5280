"""How long a call may take, and whether anybody still waits for it.

The seam makes the deadline of a call current for the thread that works on it (``calls``). Whatever takes long
looks at it between two steps: at each page, batch, leg and hop. What waits for another machine waits no longer
than the time that remains. Work that belongs to no call, such as an ingest, has all the time there is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace


class CallEnded(BaseException):
    """The time of a call is up, or its caller is gone.

    Not an ``Exception``: a search that goes on without a leg that failed must not go on here.
    """


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a call must have ended, on the monotonic clock, and whether its caller is gone already."""

    until: float = math.inf
    is_cancelled: Callable[[], bool] = _never

    def remaining(self) -> float:
        """Seconds that are left, 0 at least."""
        return max(0.0, self.until - time.monotonic())

    def at_most(self, seconds: float) -> float:
        """So many seconds, or what is left where that is less."""
        return min(seconds, self.remaining())

    def check(self) -> None:
        """Raise ``CallEnded`` where nobody waits any more."""
        if self.is_cancelled() or time.monotonic() >= self.until:
            raise CallEnded


NEVER = Deadline()
_current: ContextVar[Deadline] = ContextVar("deadline", default=NEVER)


def current_deadline() -> Deadline:
    """The deadline of the call that this thread or task works on; ``NEVER`` outside of calls."""
    return _current.get()


def check_deadline() -> None:
    """Raise ``CallEnded`` where nobody waits any more for what this thread or task works on."""
    _current.get().check()


def deadline_after(seconds: float) -> Deadline:
    """The current deadline, or the one in so many seconds where that comes first."""
    now = _current.get()
    return replace(now, until=min(now.until, time.monotonic() + seconds))


@contextmanager
def use_deadline(deadline: Deadline) -> Iterator[None]:
    """Make it the current one."""
    token = _current.set(deadline)
    try:
        yield
    finally:
        _current.reset(token)
