"""MCP over streamable HTTP, with pages for health and metrics."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import uvicorn
from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server import __version__
from server.runtime.openmetrics import CONTENT_TYPE, format_open_metrics
from server.sessions.identities import identity_of
from server.transports.access.authentication import Authentication
from server.transports.access.http_access import NO_CERTIFICATE, Certificate, HttpAccess
from server.transports.access.tls import tls_protocol
from server.transports.connections import BoundedProtocol
from server.transports.origins import KnownHosts
from server.transports.sessions import KEY_NAME, new_cookie, retry_after

PATH = "/mcp"
# Seconds that answers in progress may take at shutdown: event streams would never end by themselves.
_SHUTDOWN_SECONDS = 3
# Sessions of the handshake era open at once. Each is a task of its own; an idle one ends after half an hour.
_MAX_SESSIONS = 1_000


async def serve_http(
    server: Server[Any],
    sockets: Sequence[socket.socket],
    health: Callable[[], Awaitable[dict[str, Any]]],
    access: HttpAccess,
    certificate: Certificate = NO_CERTIFICATE,
) -> None:
    """Serve ``/mcp``, ``/health`` and ``/metrics`` on these sockets until interrupted."""
    application = http_application(server, health, access)
    await web_server(application, certificate=certificate).serve(list(sockets))


def web_server(
    application: ASGIApp,
    protocol: type[BoundedProtocol] = BoundedProtocol,
    certificate: Certificate = NO_CERTIFICATE,
) -> uvicorn.Server:
    """The web server for an application. ``protocol`` sets the bounds of its connections."""
    if certificate.file is not None:
        protocol = tls_protocol(protocol, certificate.file, certificate.key_file)
    return uvicorn.Server(
        uvicorn.Config(
            application,
            http=protocol,
            ws="none",
            log_config=None,
            access_log=False,
            lifespan="on",
            # Otherwise a client could claim an address that is not its own, and limits are per address: only
            # Authentication reads such headers, of known proxies.
            proxy_headers=False,
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )
    )


def http_application(
    server: Server[Any], health: Callable[[], Awaitable[dict[str, Any]]], access: HttpAccess
) -> ASGIApp:
    """``/mcp``, ``/health`` and ``/metrics`` as an ASGI application that refuses requests against the rules.

    The counters of a server are of all its clients, so a key for some projects does not read them.
    """

    async def show_health(request: Request) -> JSONResponse:
        counters = {} if _is_confined(request) else await health()
        return JSONResponse({"status": "ok", "version": __version__, **counters})

    async def show_metrics(request: Request) -> Response:
        if _is_confined(request):
            message = "a key for some projects does not read the metrics of all; use a key without --projects"
            return JSONResponse({"error": {"status": 403, "message": message}}, 403)
        return Response(format_open_metrics(await health()), media_type=CONTENT_TYPE)

    application = server.streamable_http_app(
        streamable_http_path=PATH,
        custom_starlette_routes=[Route("/health", show_health), Route("/metrics", show_metrics)],
        max_sessions=_MAX_SESSIONS,
        # The SDK knows three spellings of loopback and only its own route; KnownHosts protects every route.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    authenticated = Authentication(_add_headers(application), access)
    return KnownHosts(authenticated, access.host_names, own_address=access.always_needs_keys)


def _is_confined(request: Request) -> bool:
    return bool(identity_of(request.scope.get(KEY_NAME, "")).projects)


def _add_headers(application: ASGIApp) -> ASGIApp:
    """The application with a cookie on answers that begin a session, and ``Retry-After`` on refused calls.

    The head of an event stream that answers a request waits for its first event, which tells what to add.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        held: list[Message] = []

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                held.append(message)
                if scope["method"] == "POST" and _is_event_stream(message):
                    return
            elif not held:
                await send(message)
                return
            begin = held.pop()
            headers = {"set-cookie": new_cookie(scope), "retry-after": retry_after(scope)}
            for name, value in headers.items():
                if value is not None:
                    MutableHeaders(scope=begin).append(name, value)
            await send(begin)
            if begin is not message:
                await send(message)

        await application(scope, receive, send_with_headers)

    return answer


def _is_event_stream(head: Message) -> bool:
    return any(
        name == b"content-type" and value.startswith(b"text/event-stream") for name, value in head["headers"]
    )
