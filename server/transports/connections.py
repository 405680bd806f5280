"""HTTP connections that are bounded in time and number: uvicorn's protocol with deadlines and a cap per address.

uvicorn bounds how long a connection may be idle between two requests, and nothing else. A client that sends half
a request, or does not read its answer, would keep its connection for ever. Each stage has a deadline here: the
head of a request, its body, and an answer that the client does not read. An answer itself may take as long as it
takes: streams of events stay open.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Mapping
from types import MappingProxyType

from uvicorn.protocols.http.h11_impl import H11Protocol

from server.errors import WinnowError
from server.transports.addresses import group_of

# Seconds for a stage, from its beginning. A request takes a millisecond on loopback; four megabytes of body take
# some over a tunnel.
HEAD_SECONDS = 10.0
BODY_SECONDS = 30.0
# How long an answer may wait for a client that does not read.
UNREAD_SECONDS = 60.0
# A host keeps two to ten connections: one for events, one for each call in flight.
CONNECTIONS_PER_ADDRESS = 128
# So many, and what a server has open beside them: pipes to its engine, to scripts and to what runs them.
OPEN_FILES = CONNECTIONS_PER_ADDRESS + 96
# A connection that is given up closes when the client has read why, and after this time in any case.
_FAREWELL_SECONDS = 1.0
_STAGES: Mapping[str, float] = MappingProxyType({"head": HEAD_SECONDS, "body": BODY_SECONDS})


def _answer(status: str, words: str, *headers: str) -> bytes:
    head = (f"HTTP/1.1 {status}", "connection: close", "content-type: text/plain; charset=utf-8", *headers)
    return "\r\n".join((*head, f"content-length: {len(words)}", "", words)).encode("ascii")


_TOO_SLOW = _answer("408 Request Timeout", "The request took too long to arrive")
_TOO_MANY = _answer("503 Service Unavailable", "Too many connections from this address", "retry-after: 1")


def allow_open_files() -> None:
    """Let this process have as many files open as one address may have connections, and its own.

    With fewer every connection that cannot be accepted would be tried, and logged, without end. Raises
    ``WinnowError("INVALID_REQUEST")`` where the system does not allow as many.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= OPEN_FILES:
        return
    if hard != resource.RLIM_INFINITY and hard < OPEN_FILES:
        raise WinnowError(
            "INVALID_REQUEST",
            f"--http needs {OPEN_FILES} open files, the limit is {hard}; raise it (ulimit -n {OPEN_FILES}), or "
            "serve stdio",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, hard))


class BoundedProtocol(H11Protocol):
    """One connection: uvicorn's own, with a deadline for each stage and a cap on connections per address."""

    seconds: Mapping[str, float] = _STAGES
    unread_seconds = UNREAD_SECONDS
    most = CONNECTIONS_PER_ADDRESS
    _stage = ""
    _is_refused = False
    _deadline: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """asyncio's: the connection stands."""
        super().connection_made(transport)
        self._address = group_of(self.client[0] if self.client else "")
        others = [one for one in self.connections if isinstance(one, BoundedProtocol) and one is not self]
        held = sum(one._address == self._address for one in others)
        if held < self.most:
            self._enter("head")
        else:
            self._refuse(at_once=held >= 2 * self.most)

    def data_received(self, data: bytes) -> None:
        """asyncio's: some bytes."""
        if self._is_refused:
            self.transport.close()
            return
        super().data_received(data)
        self._follow()

    def on_response_complete(self) -> None:
        """uvicorn's: the answer is written."""
        self._enter("head")
        super().on_response_complete()
        self._follow()

    def pause_writing(self) -> None:
        """asyncio's: the client does not read as fast as it is answered."""
        super().pause_writing()
        self._unread = self.loop.call_later(self.unread_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """asyncio's: it reads again."""
        super().resume_writing()
        _cancel(self._unread)

    def connection_lost(self, exc: Exception | None) -> None:
        """asyncio's: the end."""
        _cancel(self._deadline)
        super().connection_lost(exc)
        _cancel(self._unread)

    def _follow(self) -> None:
        """Enter the stage that the request has reached."""
        if self.cycle is None or self.cycle.response_complete:
            stage = "head"
        else:
            stage = "body" if self.cycle.more_body else "answer"
        if stage != self._stage:
            self._enter(stage)

    def _enter(self, stage: str) -> None:
        self._stage = stage
        _cancel(self._deadline)
        if stage in self.seconds:
            self._deadline = self.loop.call_later(self.seconds[stage], self._give_up)

    def _give_up(self) -> None:
        """Close a connection whose request is late, and say why where the client can still be told."""
        has_begun = self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete
        if not self.transport.is_closing() and not has_begun:
            self.transport.write(_TOO_SLOW)
        self.transport.close()
        self._deadline = self.loop.call_later(_FAREWELL_SECONDS, self.transport.abort)

    def _refuse(self, *, at_once: bool) -> None:
        """Say that there are too many, and close when the client has read it. ``at_once``: say nothing."""
        self._is_refused = True
        if at_once:
            self.transport.abort()
            return
        self.transport.write(_TOO_MANY)
        self._deadline = self.loop.call_later(_FAREWELL_SECONDS, self.transport.abort)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
