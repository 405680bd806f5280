"""HTTP connections bounded in time, size and number: uvicorn's protocol with deadlines and caps.

uvicorn bounds how long a connection may be idle between two requests, and nothing else. A client that sends half
a request, or does not read its answer, would keep its connection forever. Each stage has a deadline here: the
head of a request, its body, and an answer that the client does not read. Producing an answer has no deadline:
event streams stay open.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from winnow.server.errors import WinnowError
from winnow.server.transports.addresses import Networks, group_of, is_in

# Seconds for each stage, from its beginning. A request takes a millisecond on loopback; four megabytes of body
# take some over a tunnel.
HEAD_SECONDS = 10.0
BODY_SECONDS = 30.0
# Seconds an answer waits for a client that does not read.
UNREAD_SECONDS = 60.0
# An MCP host keeps two to ten connections: one for events, one for each call in flight.
CONNECTIONS_PER_ADDRESS = 128
# What else a server has open: pipes to its engine, to scripts and to their runners.
_OTHER_FILES = 96
# At least one address must be able to have all its connections.
OPEN_FILES = CONNECTIONS_PER_ADDRESS + _OTHER_FILES
# Of all addresses, where the system allows so many open files: 32 addresses with all their connections.
_MOST_CONNECTIONS = 4_096
# A rejected connection closes when the client has read the reason, and after this time in any case.
_CLOSE_SECONDS = 1.0
# The line and the headers of a request: four times what browsers send with all their cookies.
MAX_HEAD_BYTES = 64 * 1024
_SEPARATORS = 4  # ": " and the line's end of each header
_STAGES: Mapping[str, float] = MappingProxyType({"head": HEAD_SECONDS, "body": BODY_SECONDS})


def _build_response(status: str, text: str, *headers: str) -> bytes:
    head = (f"HTTP/1.1 {status}", "connection: close", "content-type: text/plain; charset=utf-8", *headers)
    return "\r\n".join((*head, f"content-length: {len(text)}", "", text)).encode("ascii")


_TOO_SLOW = _build_response("408 Request Timeout", "The request took too long to arrive")
_TOO_MANY = _build_response("503 Service Unavailable", "Too many connections from this address", "retry-after: 1")


def allow_open_files() -> None:
    """Raise the process's limit of open files as far as connections need it and the system allows it.

    With a lower limit, every connection that cannot be accepted would be retried and logged without end.

    Raises:
        WinnowError: INVALID_REQUEST where the system does not allow ``OPEN_FILES``.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_CONNECTIONS + _OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    if hard != resource.RLIM_INFINITY and hard < OPEN_FILES:
        raise WinnowError(
            "INVALID_REQUEST",
            f"--http needs {OPEN_FILES} open files, the limit is {hard}; raise it (ulimit -n {OPEN_FILES}), or "
            "serve stdio",
        )
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard)
    )


def most_connections() -> int:
    """The number of connections that all addresses together may have, under the process's limit of open files."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else min(_MOST_CONNECTIONS, soft - _OTHER_FILES)


class _StrictConnection(h11.Connection):
    """h11's reading of requests, which refuses two kinds of them more.

    h11 bounds a head only while it is incomplete, so that one of any size passes which arrives at once. It takes
    Transfer-Encoding where Content-Length is there as well and goes on with the connection; a proxy in front may
    have read the other one, and what follows would be a request to this server that it never saw (RFC 9112, 6.3).
    """

    def next_event(self) -> Any:
        """The next event; raises ``h11.RemoteProtocolError``, upon which the connection is answered and closed."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = {name for name, _ in event.headers}
            size = sum(len(name) + len(value) + _SEPARATORS for name, value in event.headers)
            if len(event.method) + len(event.target) + size > MAX_HEAD_BYTES:
                raise h11.RemoteProtocolError(f"the head is larger than {MAX_HEAD_BYTES:,} bytes")
            if {b"content-length", b"transfer-encoding"} <= names:
                raise h11.RemoteProtocolError("Content-Length and Transfer-Encoding in one request")
        return event


class BoundedProtocol(H11Protocol):
    """uvicorn's connection with a deadline for each stage and caps on connections, per address and in all."""

    seconds: Mapping[str, float] = _STAGES
    unread_seconds = UNREAD_SECONDS
    max_connections = CONNECTIONS_PER_ADDRESS
    most_connections: Callable[[], int] = staticmethod(most_connections)
    # They speak for many clients, whose requests in progress are counted instead (``access/proxied_requests.py``).
    proxies: Networks = ()
    _address: str | None = None  # as limits count it; None while the connection is being made
    _stage = ""
    _is_refused = False
    _deadline: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Callback of asyncio: the connection was established."""
        super().connection_made(transport)
        self.conn = _StrictConnection(h11.SERVER, MAX_HEAD_BYTES)
        peer = self.client[0] if self.client else ""
        address, most = group_of(peer), self.most_of(peer)
        held = self.count_of(address)
        self._address = address
        is_full = len(self.connections) > self.most_connections()
        if held < most and not is_full:
            self._enter_stage("head")
        else:
            self._refuse(at_once=is_full or held >= 2 * most)

    def count_of(self, address: str) -> int:
        """The open connections of this address, without one that is being made."""
        return sum(isinstance(other, BoundedProtocol) and other._address == address for other in self.connections)

    def most_of(self, peer: str) -> int:
        """The number of connections that this address may have."""
        return self.most_connections() if is_in(peer, self.proxies) else self.max_connections

    def data_received(self, data: bytes) -> None:
        """Callback of asyncio: data arrived."""
        if self._is_refused:
            self.transport.close()
            return
        super().data_received(data)
        self._update_stage()

    def on_response_complete(self) -> None:
        """Callback of uvicorn: the answer was written."""
        self._enter_stage("head")
        super().on_response_complete()
        self._update_stage()

    def pause_writing(self) -> None:
        """Callback of asyncio: the client reads more slowly than the answer is written."""
        super().pause_writing()
        self._unread = self.loop.call_later(self.unread_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Callback of asyncio: the client reads again."""
        super().resume_writing()
        _cancel(self._unread)

    def connection_lost(self, exc: Exception | None) -> None:
        """Callback of asyncio: the connection was lost."""
        _cancel(self._deadline)
        super().connection_lost(exc)
        _cancel(self._unread)

    def _update_stage(self) -> None:
        """Enter the stage that the request has reached."""
        if self.cycle is None or self.cycle.response_complete:
            stage = "head"
        else:
            stage = "body" if self.cycle.more_body else "answer"
        if stage != self._stage:
            self._enter_stage(stage)

    def _enter_stage(self, stage: str) -> None:
        self._stage = stage
        _cancel(self._deadline)
        if stage in self.seconds:
            self._deadline = self.loop.call_later(self.seconds[stage], self._close_late)

    def _close_late(self) -> None:
        """Close a connection whose request is late, with a reason unless an answer has begun."""
        has_begun = self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete
        if not self.transport.is_closing() and not has_begun:
            self.transport.write(_TOO_SLOW)
        self.transport.close()
        self._deadline = self.loop.call_later(_CLOSE_SECONDS, self.transport.abort)

    def _refuse(self, *, at_once: bool) -> None:
        """Answer that there are too many connections and close; ``at_once`` closes without an answer."""
        self._is_refused = True
        if at_once:
            self.transport.abort()
            return
        self.transport.write(_TOO_MANY)
        self._deadline = self.loop.call_later(_CLOSE_SECONDS, self.transport.abort)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
