"""A winnow over HTTP in this process, for tests: the real web server on a free port of loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server import Server

from server.transports.addresses import listen
from server.transports.connections import BoundedProtocol
from server.transports.http import http_application, web_server

_MINUTE = 60


@asynccontextmanager
async def serve(
    server: Server[str], host: str = "127.0.0.1", protocol: type[BoundedProtocol] = BoundedProtocol
) -> AsyncIterator[tuple[str, int]]:
    """Serve; yields the host and the port."""

    async def health() -> dict[str, Any]:
        return {}

    sockets = listen(host, 0)
    web = web_server(http_application(server, health), protocol)
    web.config.timeout_graceful_shutdown = 1
    serving = asyncio.create_task(web.serve(sockets))
    try:
        async with asyncio.timeout(_MINUTE):
            while not web.started:
                await asyncio.sleep(0.01)
        yield host, sockets[0].getsockname()[1]
    finally:
        web.should_exit = True
        await serving
