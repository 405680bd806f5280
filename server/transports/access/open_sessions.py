"""Open sessions of the handshake era, shared among clients: none can take the places of the others.

The SDK keeps a session until its client ends it or is silent for half an hour, and refuses further ones once it
has as many as it may. One client that begins sessions and leaves them would lock out all others. So here, when a
server has one session more than it may, the client with the most of them loses the one that it used least
recently. That client gets a 404 for it, which tells it to begin another, as the protocol says.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp.server.streamable_http_manager import DEFAULT_SESSION_IDLE_TIMEOUT
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from winnow.server.runtime.sessions.identities import identity_of
from winnow.server.transports.addresses import group_of
from winnow.server.transports.sessions import KEY_NAME

_HEADER = b"mcp-session-id"
_REFUSED, _GONE = 400, 404
# Of the request in which a session is ended in place of its client.
_COPIED = ("type", "asgi", "http_version", "scheme", "server", "client", "root_path", "path", "raw_path")


@dataclass(slots=True)
class _Session:
    """A session: its client, the user that the SDK knows it by, requests in progress, and the end of the last."""

    client: str
    user: Any
    used: float
    requests: int = 0


class OpenSessions:
    """ASGI middleware that counts the sessions at ``path``, and ends one where there are more than ``most``.

    ``now``: a clock in seconds.
    """

    def __init__(self, app: ASGIApp, path: str, most: int, now: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._path = path
        self._most = most
        self._now = now
        self._sessions: dict[bytes, _Session] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and note what it does to a session."""
        if scope["type"] != "http" or scope["path"] != self._path:
            await self._app(scope, receive, send)
            return
        named = next((value for name, value in scope["headers"] if name == _HEADER), None)
        if named is None:
            await self._pass_first(scope, receive, send)
        else:
            await self._pass_further(named, scope, receive, send)

    async def _pass_first(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request that may begin a session."""
        begun: list[_Session] = []

        async def note_and_send(message: Message) -> None:
            id = _session_of(message)
            if id is not None:
                begun.append(self._sessions.setdefault(id, self._new_session(scope)))
                await self._make_room(scope)
            await send(message)

        try:
            await self._app(scope, receive, note_and_send)
        finally:
            for session in begun:
                self._end_request(session)

    async def _pass_further(self, id: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request within a session."""
        session = self._sessions.get(id)
        if session is None or session.client != _client_of(scope):
            await self._app(scope, receive, send)
            return

        async def note_and_send(message: Message) -> None:
            is_start = message["type"] == "http.response.start"
            if is_start and (message["status"] == _GONE or scope["method"] == "DELETE"):
                self._sessions.pop(id, None)
            await send(message)

        session.requests += 1
        try:
            await self._app(scope, receive, note_and_send)
        finally:
            self._end_request(session)

    def _new_session(self, scope: Scope) -> _Session:
        return _Session(_client_of(scope), scope.get("user"), self._now(), requests=1)

    def _end_request(self, session: _Session) -> None:
        session.requests -= 1
        session.used = self._now()

    async def _make_room(self, scope: Scope) -> None:
        """End a session where there are too many; those that the SDK has ended for their silence are forgotten."""
        silent = self._now() - DEFAULT_SESSION_IDLE_TIMEOUT
        for id in [id for id, each in self._sessions.items() if not each.requests and each.used < silent]:
            del self._sessions[id]
        if len(self._sessions) <= self._most:
            return
        held: dict[str, list[bytes]] = defaultdict(list)
        for id, session in self._sessions.items():
            held[session.client].append(id)
        largest = max(held, key=lambda client: len(held[client]))
        await self._end(min(held[largest], key=self._last_use), scope)

    def _last_use(self, id: bytes) -> tuple[bool, float]:
        """The order in which sessions of one client are ended: those without a request in progress first."""
        session = self._sessions[id]
        return session.requests > 0, session.used

    async def _end(self, id: bytes, scope: Scope) -> None:
        """End a session as its client would: by DELETE."""
        session = self._sessions.pop(id)
        user = {} if session.user is None else {"user": session.user}
        request = {name: scope[name] for name in _COPIED if name in scope}
        headers = [(_HEADER, id)]
        await self._app(
            {**request, **user, "method": "DELETE", "query_string": b"", "headers": headers}, _no_body, _no_answer
        )


def _session_of(message: Message) -> bytes | None:
    """The session that an answer begins; None for an answer that begins none."""
    if message["type"] != "http.response.start" or message["status"] >= _REFUSED:
        return None
    return next((value for name, value in message["headers"] if name == _HEADER), None)


def _client_of(scope: Scope) -> str:
    """The client of a request: its key or token, or else its address."""
    name = scope.get(KEY_NAME)
    if name is not None:
        return identity_of(str(name)).key
    return group_of(scope["client"][0]) if scope["client"] else ""


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _no_answer(message: Message) -> None:
    """The answer to a request of the server's own."""
