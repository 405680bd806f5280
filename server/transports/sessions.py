"""The session of a call: from its connection or a token of the server, never from what a caller claims.

A stdio pipe and an in-memory client enter the server's lifespan once each, which gives them a random name; a pipe
keeps it when ``initialize`` comes again. An HTTP application enters it once for all its requests; its clients of
the handshake era are identified by the session id that the SDK issued and checks.

The 2026 protocol has no sessions over HTTP. There, a request without a token begins a session, and its answer
carries the session's token: as a cookie, which the clients of several SDKs return by themselves, and in ``_meta``
of a tool's result, for a client that returns it in ``_meta`` of its next call. A token contains a code under a
secret of this process, so the server stores none and no client can choose one. ``identities.py`` has the rules for
a client that returns no token.

An access key takes precedence over all this: a client with one is that key, in whichever session it calls.
"""

from __future__ import annotations

import hmac
import math
import re
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp.server import Server
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from winnow.server.runtime.sessions.identities import proven_name, unproven_name
from winnow.server.transports.addresses import group_of

Connection = ServerRequestContext[str, Any]

TOKEN_META_KEY = "winnow/session"
COOKIE = "winnow-session"
KEY_NAME = "winnow.key"  # in a request's scope: the connection's name, for a client with an access key
KEY_IS_ACTIVE = "winnow.key-is-active"  # and a function that tells whether that key or token is still valid
_HEADER = "mcp-session-id"
_CLAIM = "winnow.claim"  # the key of a claim in a request's scope
_WAIT = "winnow.retry-after"  # and that of the seconds that a refused client has to wait
_KEY_BYTES = 16
_TOKEN = re.compile(r"([0-9a-f]{32})([0-9a-f]{32})")


@dataclass(frozen=True, slots=True)
class SessionClaim:
    """The name of a request's connection, and the token to hand out; "" where the client has one."""

    name: str
    new_token: str = ""


class Tokens:
    """Issues and verifies the session tokens of one process."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)

    def new_claim(self) -> SessionClaim:
        """The claim of a request without a valid token."""
        key = secrets.token_hex(_KEY_BYTES)
        return SessionClaim(unproven_name(key), key + self._code(key))

    def claim_of(self, token: object) -> SessionClaim | None:
        """The claim of a request with this token; None if this process did not issue it."""
        match = _TOKEN.fullmatch(token) if isinstance(token, str) else None
        if match is None or not hmac.compare_digest(match[2], self._code(match[1])):
            return None
        return SessionClaim(proven_name(match[1]))

    def _code(self, key: str) -> str:
        return hmac.digest(self._secret, key.encode("ascii"), "sha256")[:_KEY_BYTES].hex()

    async def hand_out(self, ctx: Connection, call_next: CallNext) -> HandlerResult:
        """Middleware: assign a session to a request of the 2026 protocol over HTTP, and hand out a new token."""
        if ctx.request is None or is_handshake_era(ctx) or KEY_NAME in ctx.request.scope:
            return await call_next(ctx)
        claim = self._find_claim(ctx)
        ctx.request.scope[_CLAIM] = claim
        result = await call_next(ctx)
        if claim.new_token and ctx.method == "tools/call" and isinstance(result, dict):
            meta = result.get("_meta") or {}
            return {**result, "_meta": {**meta, TOKEN_META_KEY: claim.new_token}}
        return result

    def _find_claim(self, ctx: Connection) -> SessionClaim:
        meta = (ctx.params or {}).get("_meta")
        from_meta = meta.get(TOKEN_META_KEY) if isinstance(meta, Mapping) else None
        for token in (from_meta, ctx.request.cookies.get(COOKIE) if ctx.request else None):
            claim = self.claim_of(token)
            if claim is not None:
                return claim
        return self.new_claim()


def new_cookie(scope: Mapping[str, Any]) -> str | None:
    """The value of the ``Set-Cookie`` header for the answer to this request; None if it needs none."""
    claim: SessionClaim | None = scope.get(_CLAIM)
    if claim is None or not claim.new_token:
        return None
    return f"{COOKIE}={claim.new_token}; Path=/mcp; HttpOnly; SameSite=Strict"


def note_wait(context: Connection, seconds: float | None) -> None:
    """State in the head of the answer, too, when a refused client may try again; None: nothing to state."""
    if context.request is not None and seconds is not None:
        context.request.scope[_WAIT] = seconds


def retry_after(scope: Mapping[str, Any]) -> str | None:
    """The value of the ``Retry-After`` header for the answer to this request, in whole seconds; None without."""
    seconds: float | None = scope.get(_WAIT)
    return None if seconds is None else str(max(1, math.ceil(seconds)))


@asynccontextmanager
async def connection_lifespan(server: Server[str]) -> AsyncIterator[str]:
    """The lifespan of a connection, or of an HTTP application; its state is a random name."""
    yield secrets.token_hex(16)


def client_of(context: Connection) -> str:
    """The client's identity: the same text for all its calls, for sessions and rate limits."""
    if context.request is None:
        return context.lifespan_context
    if KEY_NAME in context.request.scope:
        return str(context.request.scope[KEY_NAME])
    if is_handshake_era(context):
        return str(context.request.headers.get(_HEADER) or context.lifespan_context)
    # In the 2026 protocol that header is not checked: a client could send the id of another.
    claim: SessionClaim = context.request.scope[_CLAIM]
    return claim.name


def has_active_key(context: Connection) -> Callable[[], bool]:
    """A function that tells whether the key or token of a request is valid now; always where none is needed."""
    scope = context.request.scope if context.request is not None else {}
    is_active: Callable[[], bool] = scope.get(KEY_IS_ACTIVE, lambda: True)
    return is_active


def address_of(context: Connection) -> str:
    """The address of an HTTP client, as limits count it; "" for a pipe."""
    peer = context.request.client if context.request is not None else None
    return group_of(peer.host) if peer is not None else ""


def is_handshake_era(context: Connection) -> bool:
    """Whether the client uses a protocol revision from before 2026."""
    return context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
