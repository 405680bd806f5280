"""Whose call it is: by the connection, or by a token that the server handed out; never by what a caller claims.

A stdio pipe and an in-memory client enter the server's lifespan once each, which gives them a random name; a pipe
keeps it when ``initialize`` comes again. An HTTP application enters it once for all its requests. Its clients of
the handshake era are told apart by the session id that the SDK gave them and checks.

The 2026 protocol has no sessions over HTTP. A request without a token begins a session of its own there, and its
answer hands out the token of that session: as a cookie, which the clients of several SDKs return by themselves,
and in ``_meta`` of a tool's result, for a client that returns it in ``_meta`` of its next call. Tokens carry a
code under a secret of this process, so nothing is remembered of them, and nobody can choose one. ``identities.py``
says what holds for a client that returns none. An API key, once there is authentication, comes before all this.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp.server import Server
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from server.sessions.identities import proven, unproven
from server.transports.addresses import group_of

Connection = ServerRequestContext[str, Any]

TOKEN_META_KEY = "winnow/session"
COOKIE = "winnow-session"
_HEADER = "mcp-session-id"
_CLAIM = "winnow.claim"  # where a request's scope holds its claim
_KEY_BYTES = 16
_TOKEN = re.compile(r"([0-9a-f]{32})([0-9a-f]{32})")


@dataclass(frozen=True, slots=True)
class SessionClaim:
    """The name of a request's connection, and the token that leads to it again; "" where the client has that."""

    name: str
    new_token: str = ""


class Tokens:
    """Makes the tokens of one process, and recognises them."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)

    def new_claim(self) -> SessionClaim:
        """The claim of a request that returned no token of ours."""
        key = secrets.token_hex(_KEY_BYTES)
        return SessionClaim(unproven(key), key + self._code(key))

    def claim_of(self, token: object) -> SessionClaim | None:
        """The claim of a request that returned this; None where it is no token of this process."""
        match = _TOKEN.fullmatch(token) if isinstance(token, str) else None
        if match is None or not hmac.compare_digest(match[2], self._code(match[1])):
            return None
        return SessionClaim(proven(match[1]))

    def _code(self, key: str) -> str:
        return hmac.digest(self._secret, key.encode("ascii"), "sha256")[:_KEY_BYTES].hex()

    async def hand_out(self, ctx: Connection, call_next: CallNext) -> HandlerResult:
        """Middleware: decide whose request of the 2026 protocol over HTTP this is, and hand out a new token."""
        if ctx.request is None or is_handshake_era(ctx):
            return await call_next(ctx)
        claim = self._claim(ctx)
        ctx.request.scope[_CLAIM] = claim
        result = await call_next(ctx)
        if claim.new_token and ctx.method == "tools/call" and isinstance(result, dict):
            meta = result.get("_meta") or {}
            return {**result, "_meta": {**meta, TOKEN_META_KEY: claim.new_token}}
        return result

    def _claim(self, ctx: Connection) -> SessionClaim:
        meta = (ctx.params or {}).get("_meta")
        told = meta.get(TOKEN_META_KEY) if isinstance(meta, Mapping) else None
        for token in (told, ctx.request.cookies.get(COOKIE) if ctx.request else None):
            claim = self.claim_of(token)
            if claim is not None:
                return claim
        return self.new_claim()


def new_cookie(scope: Mapping[str, Any]) -> str | None:
    """The value of the ``Set-Cookie`` header for the answer to this request; None where it needs none."""
    claim: SessionClaim | None = scope.get(_CLAIM)
    if claim is None or not claim.new_token:
        return None
    return f"{COOKIE}={claim.new_token}; Path=/mcp; HttpOnly; SameSite=Strict"


@asynccontextmanager
async def name_of_connection(server: Server[str]) -> AsyncIterator[str]:
    """The lifespan of a connection, or of an HTTP application: its name."""
    yield secrets.token_hex(16)


def client_of(context: Connection) -> str:
    """Who is calling: the same text for all calls of one client, for sessions and for rate limits."""
    if context.request is None:
        return context.lifespan_context
    if is_handshake_era(context):
        return str(context.request.headers.get(_HEADER) or context.lifespan_context)
    # In the 2026 protocol nobody checks that header; a client could write another's into it.
    claim: SessionClaim = context.request.scope[_CLAIM]
    return claim.name


def address_of(context: Connection) -> str:
    """Where an HTTP client calls from, as limits count it; "" for a pipe."""
    peer = context.request.client if context.request is not None else None
    return group_of(peer.host) if peer is not None else ""


def is_handshake_era(context: Connection) -> bool:
    """Whether the client speaks a revision from before 2026."""
    return context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
