"""A winnow over HTTP in this process, for tests: the real web server on a free port of loopback."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn
from mcp.server import Server

from winnow.server.storage.keys.key_ring import KeyRing
from winnow.server.transports.access.http_access import NO_CERTIFICATE, Certificate, HttpAccess
from winnow.server.transports.addresses import listen
from winnow.server.transports.connections import BoundedProtocol
from winnow.server.transports.facade.service import FacadeService
from winnow.server.transports.http import MAX_SESSIONS, http_application, web_server
from winnow.server.transports.operating.pages import Operations

_MINUTE = 60
OPEN = HttpAccess(KeyRing(Path("no-store")), ("default",))


@asynccontextmanager
async def serve(
    server: Server[str],
    host: str = "127.0.0.1",
    protocol: type[BoundedProtocol] = BoundedProtocol,
    access: HttpAccess = OPEN,
    certificate: Certificate = NO_CERTIFICATE,
    operations: Operations | None = None,
    facade: FacadeService | None = None,
    max_sessions: int = MAX_SESSIONS,
) -> AsyncIterator[tuple[str, int]]:
    """Serve; yields the host and the port. ``access``: by default that of a store without keys."""
    sockets = listen(host, 0)
    operations = operations or Operations()
    application = http_application(server, operations, access, facade, max_sessions)
    web = web_server(application, protocol, certificate, operations.drain)
    async with running(web, sockets):
        yield host, sockets[0].getsockname()[1]


@asynccontextmanager
async def running(web: uvicorn.Server, sockets: list[socket.socket]) -> AsyncIterator[None]:
    """A web server that runs."""
    web.config.timeout_graceful_shutdown = 1
    serving = asyncio.create_task(web.serve(sockets))
    try:
        async with asyncio.timeout(_MINUTE):
            while not web.started:
                await asyncio.sleep(0.01)
        yield
    finally:
        web.should_exit = True
        await serving
