"""Whose call it is: the connection's own name, never something a caller says.

A stdio pipe and an in-memory client enter the server's lifespan once each, which gives them a random name; a pipe
keeps it when ``initialize`` comes again. An HTTP application enters it once for all its requests: clients of the
handshake era are told apart by the session id that the SDK gave them and checks. The 2026 protocol has no sessions
over HTTP, so its requests share the application's name, and with it one session: on a loopback address with one
tenant, whoever may ask may ask everything.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

Connection = ServerRequestContext[str, Any]

_HEADER = "mcp-session-id"


@asynccontextmanager
async def name_of_connection(server: Server[str]) -> AsyncIterator[str]:
    """The lifespan of a connection, or of an HTTP application: its name."""
    yield secrets.token_hex(16)


def client_of(context: Connection) -> str:
    """Who is calling: the same text for all calls of one client, for sessions and for rate limits."""
    headers = getattr(context.request, "headers", None)
    # In the 2026 protocol nobody checks this header; a client could write another's into it.
    if headers is not None and context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
        return str(headers.get(_HEADER) or context.lifespan_context)
    return context.lifespan_context


def is_handshake_era(context: Connection) -> bool:
    """Whether the client speaks a revision from before 2026."""
    return context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
