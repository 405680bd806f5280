"""Calls of backends that may be away: a circuit breaker and a bounded number of calls at a time, for each.

Theory of operation. A circuit is closed while its backend answers. After three failures in a row it opens: calls
are refused at once, with the time until the next try, so that none waits for its timeout. After a pause it is half
open: one call tries the backend, the others are refused. If that call is answered the circuit closes; if it fails
the pause is twice as long, up to a minute. Pauses are spread, so that several servers do not come back together.

Only an unreachable backend is a failure: a refused connection, a lost one, an answer that does not come. A backend
that refuses a request is alive. A call that ran out of its own time is a failure of the backend if it had
waited for two seconds.

A backend is called at most twenty times at once by one process. Further calls wait for a place, as long as their
time allows, five seconds at most.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from winnow.server.errors import WinnowError
from winnow.server.runtime.deadlines import CallEnded, current_deadline
from winnow.server.runtime.logs import log

FAILURES = 3
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 5.0, 60.0
PLACES = 20
_QUEUE_SECONDS = 5.0
# A call that ran out of its own time after a shorter wait says nothing about the backend.
_SILENT_SECONDS = 2.0
CircuitState = Literal["closed", "open", "half-open"]


def spread(seconds: float) -> float:
    """A pause up to a fifth longer."""
    return seconds * random.uniform(1.0, 1.2)


class Circuit:
    """The state of one circuit. Thread-safe. ``now``: a clock in seconds. ``spread``: the pause for a length."""

    def __init__(
        self, now: Callable[[], float] = time.monotonic, spread: Callable[[float], float] = spread
    ) -> None:
        self._now = now
        self._spread = spread
        self._lock = threading.Lock()
        self._failures = 0
        self._pause = 0.0  # the latest one, without its spread
        self._until = 0.0
        self._is_open = self._is_tried = False
        self.why = ""
        self.opened = self.refused = 0

    @property
    def state(self) -> CircuitState:
        """The state that the next call meets: half-open if it, or another call, would try the backend."""
        with self._lock:
            if not self._is_open:
                return "closed"
            return "half-open" if self._is_tried or self._now() >= self._until else "open"

    def admit(self) -> float:
        """0 if a call may be made now, which must end with one of the methods below; else the seconds to wait."""
        with self._lock:
            if not self._is_open:
                return 0.0
            wait = self._until - self._now()
            if wait <= 0 and not self._is_tried:
                self._is_tried = True
                return 0.0
            self.refused += 1
            return max(wait, 1.0)

    def succeed(self) -> None:
        """The backend answered."""
        with self._lock:
            self._failures, self._pause, self._is_open, self._is_tried = 0, 0.0, False, False

    def fail(self, why: str) -> bool:
        """The backend is away. Returns whether this opened the circuit, or kept it open."""
        with self._lock:
            self._failures += 1
            self.why = why
            if self._is_open and not self._is_tried:
                return False  # a call from before; the pause is running
            if not self._is_open and self._failures < FAILURES:
                return False
            self._pause = min(2 * self._pause or FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
            self._until = self._now() + self._spread(self._pause)
            self.opened += not self._is_open
            self._is_open, self._is_tried = True, False
            return True

    def leave(self) -> None:
        """The call ended and says nothing about the backend."""
        with self._lock:
            self._is_tried = False


class RemoteBackend:
    """One backend as this process calls it. ``name`` is for figures; ``subject`` begins messages.

    ``reason``: that of the errors which mean that it is away, if they are retryable.
    """

    def __init__(
        self, name: str, subject: str, reason: str, *, circuit: Circuit | None = None, places: int = PLACES
    ) -> None:
        self.name = name
        self._subject = subject
        self._reason = reason
        self.circuit = circuit or Circuit()
        self._places = threading.BoundedSemaphore(places)
        self._counted = threading.Lock()
        self._running = self._waiting = self._queued = 0

    @contextmanager
    def call(self) -> Iterator[None]:
        """The time of one call of the backend, which raises a retryable error of ``reason`` where it is away.

        Raises ``WinnowError`` of that reason, with ``retry_after_s``, while the circuit is open, and
        ``WinnowError("QUEUE_FULL")`` where no place became free in time.
        """
        with self._place():
            if wait := self.circuit.admit():
                raise self._refusal(wait)
            began = time.monotonic()
            try:
                yield
            except WinnowError as error:
                if error.reason == self._reason and error.retryable:
                    self._fail(error.message)
                else:
                    self.circuit.succeed()
                raise
            except CallEnded:
                if time.monotonic() - began >= _SILENT_SECONDS:
                    self._fail("no answer in the time of a call")
                else:
                    self.circuit.leave()
                raise
            except BaseException:
                self.circuit.leave()
                raise
            self.circuit.succeed()

    def figures(self) -> dict[str, Any]:
        """The state as JSON data: the circuit, and calls that run and wait."""
        circuit = self.circuit
        return {
            "state": circuit.state,
            "opened": circuit.opened,
            "refused": circuit.refused,
            "running": self._running,
            "waiting": self._waiting,
            "queued": self._queued,
            "places": PLACES,
        }

    @contextmanager
    def _place(self) -> Iterator[None]:
        if not self._places.acquire(blocking=False):
            self._wait()
        try:
            with self._counted:
                self._running += 1
            yield
        finally:
            with self._counted:
                self._running -= 1
            self._places.release()

    def _wait(self) -> None:
        deadline = current_deadline()
        with self._counted:
            self._waiting += 1
            self._queued += 1
        try:
            is_free = self._places.acquire(timeout=deadline.at_most(_QUEUE_SECONDS))
        finally:
            with self._counted:
                self._waiting -= 1
        if not is_free:
            deadline.check()
            message = f"{self._subject} is called too often at once; try again in a moment"
            raise WinnowError("QUEUE_FULL", message, retryable=True, retry_after_s=1.0)

    def _fail(self, why: str) -> None:
        if self.circuit.fail(why):
            log("a backend is not called for a while", level=30, backend=self.name, why=why)

    def _refusal(self, wait: float) -> WinnowError:
        wait = round(wait, 1)
        return WinnowError(
            self._reason,
            f"{self._subject} did not answer, and is asked again in {wait} s; at last: {self.circuit.why}",
            retryable=True,
            retry_after_s=wait,
        )


_BACKENDS: dict[str, RemoteBackend] = {}
_guard = threading.Lock()


def remote_backend(name: str, subject: str, reason: str) -> RemoteBackend:
    """The backend of this process with this subject, which names its address: all its clients share one circuit.

    Otherwise a store that cannot be opened would be tried by each call anew.
    """
    with _guard:
        return _BACKENDS.setdefault(subject, RemoteBackend(name, subject, reason))


def backend_figures() -> Mapping[str, Mapping[str, Any]]:
    """The figures of the backends that this process calls, by name. Of several with one name the one
    in the worst state is shown.
    """
    with _guard:
        known = list(_BACKENDS.values())
    known.sort(key=lambda backend: _ORDER.index(backend.circuit.state))
    return {backend.name: backend.figures() for backend in known}


_ORDER: tuple[CircuitState, ...] = ("closed", "half-open", "open")
