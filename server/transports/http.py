"""MCP over streamable HTTP on loopback, with a health page for whoever watches the process."""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from mcp.server import Server
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from server import __version__
from server.errors import WinnowError

PATH = "/mcp"


def parse_address(address: str) -> tuple[str, int]:
    """``HOST:PORT`` of a loopback address.

    Raises:
        WinnowError: INVALID_REQUEST for anything else, and for a host that others could reach.
    """
    host, separator, port = address.rpartition(":")
    host = host.strip("[]")
    if not separator or not port.isdigit() or not 0 <= int(port) <= 65535:
        raise WinnowError("INVALID_REQUEST", f"--http takes HOST:PORT, e.g. 127.0.0.1:8765 (got {address!r})")
    if not _is_loopback(host):
        raise WinnowError(
            "INVALID_REQUEST", f"--http: {host!r} is not a loopback address, and there is no authentication yet"
        )
    return host, int(port)


async def serve_http(
    server: Server[Any], host: str, port: int, health: Callable[[], Awaitable[dict[str, Any]]]
) -> None:
    """Serve ``http://HOST:PORT/mcp`` and ``/health`` until interrupted."""
    app = http_application(server, host, health)
    config = uvicorn.Config(app, host=host, port=port, log_config=None, access_log=False, lifespan="on")
    await uvicorn.Server(config).serve()


def http_application(server: Server[Any], host: str, health: Callable[[], Awaitable[dict[str, Any]]]) -> Starlette:
    """``/mcp`` and ``/health`` as an ASGI application, which refuses requests for other hosts than ``host``."""

    async def show_health(request: Request) -> JSONResponse:
        return JSONResponse({"status": "ok", "version": __version__, **await health()})

    return server.streamable_http_app(
        streamable_http_path=PATH, host=host, custom_starlette_routes=[Route("/health", show_health)]
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False
