"""MCP over streamable HTTP, with the façade, and pages for health and metrics."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import uvicorn
from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import INVALID_REQUEST
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from winnow.server.runtime.draining import Drain
from winnow.server.transports.access.authentication import KEYS_UNUSABLE, Authentication
from winnow.server.transports.access.http_access import NO_CERTIFICATE, Certificate, HttpAccess
from winnow.server.transports.access.open_sessions import OpenSessions
from winnow.server.transports.access.tls import tls_protocol
from winnow.server.transports.addresses import BACKLOG, Networks
from winnow.server.transports.connections import BoundedProtocol, most_connections
from winnow.server.transports.extensions.server_card import card_routes
from winnow.server.transports.facade.routes import answer_refused, describe_error, describe_refusal, facade_routes
from winnow.server.transports.facade.service import FacadeService
from winnow.server.transports.operating.draining import CountedRequests, DrainingServer
from winnow.server.transports.operating.pages import Operations, build_pages
from winnow.server.transports.origins import KnownHosts
from winnow.server.transports.sessions import new_cookie, retry_after

PATH = "/mcp"
# Seconds that answers in progress may take at shutdown: event streams would never end by themselves.
_SHUTDOWN_SECONDS = 3
# Sessions of the handshake era open at once. Each is a task of its own; an idle one ends after half an hour.
MAX_SESSIONS = 1_000
# Requests that may begin one, beside those: none of them is refused before ``OpenSessions`` has made room.
_BEGINNING_SESSIONS = 4_096
_BAD_REQUEST = 400


def _build_refusal(message: str) -> bytes:
    error = {"code": INVALID_REQUEST, "message": message}
    return json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()


# Words of the SDK in its refusals, and what is sent instead.
_REWORDED: Mapping[bytes, bytes] = MappingProxyType(
    {
        b'"message":"Validation error: ': _build_refusal(
            "Invalid Request: not a JSON-RPC 2.0 message; it takes one object with jsonrpc, id, method and "
            "params, which is an object"
        ),
        b'"message":"Bad Request: Missing session ID"': _build_refusal(
            "Bad Request: Missing session ID; call initialize first, and send the header Mcp-Session-Id of its "
            "answer with every further request. Without a session and without MCP: POST /mcp/tool/NAME, whose "
            "body is the tool's arguments"
        ),
    }
)


async def serve_http(
    server: Server[Any],
    sockets: Sequence[socket.socket],
    operations: Operations,
    access: HttpAccess,
    certificate: Certificate = NO_CERTIFICATE,
    drain_seconds: float = 0.0,
    facade: FacadeService | None = None,
) -> None:
    """Serve ``/mcp``, the façade and the pages for operators on these sockets until interrupted.

    On SIGTERM, calls in progress have ``drain_seconds``.
    """
    application = http_application(server, operations, access, facade)
    protocol = proxied_protocol(BoundedProtocol, access.proxies)
    web = web_server(application, protocol, certificate, operations.drain, drain_seconds)
    operations.figures["http"] = lambda: {
        "connections": len(web.server_state.connections),
        "capacity": most_connections(),
    }
    await web.serve(list(sockets))


def proxied_protocol(base: type[BoundedProtocol], proxies: Networks) -> type[BoundedProtocol]:
    """A protocol like ``base`` whose proxies may have as many connections as all addresses together."""
    return type("ProxiedProtocol", (base,), {"proxies": proxies}) if proxies else base


def web_server(
    application: ASGIApp,
    protocol: type[BoundedProtocol] = BoundedProtocol,
    certificate: Certificate = NO_CERTIFICATE,
    drain: Drain | None = None,
    drain_seconds: float = 0.0,
) -> uvicorn.Server:
    """The web server for an application. ``protocol`` sets the bounds of its connections."""
    if certificate.file is not None:
        protocol = tls_protocol(protocol, certificate.file, certificate.key_file)
    return DrainingServer(
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
            # So many connections are accepted before anything else gets its turn: with uvicorn's 2,048 a flood
            # of them makes all clients wait.
            backlog=BACKLOG,
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        ),
        drain or Drain(),
        drain_seconds,
    )


def http_application(
    server: Server[Any],
    operations: Operations,
    access: HttpAccess,
    facade: FacadeService | None = None,
    max_sessions: int = MAX_SESSIONS,
) -> ASGIApp:
    """``/mcp``, the façade and the pages for operators, behind the checks of hosts, addresses and keys."""
    application = server.streamable_http_app(
        streamable_http_path=PATH,
        custom_starlette_routes=[
            *build_pages(operations),
            *card_routes(lambda: access.needs_keys, has_tls=bool(access.proxies)),
            *(facade_routes(facade) if facade else ()),
        ],
        max_sessions=MAX_SESSIONS + _BEGINNING_SESSIONS,
        # The SDK knows three spellings of loopback and only its own route; KnownHosts protects every route.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    # A redirect from a path with another slash would name the scheme by which a proxy came: the client that
    # follows it sends its key and its question in clear. Each route has one spelling, and another is a 404.
    application.router.redirect_slashes = False
    for status in (404, 405):
        application.add_exception_handler(status, answer_refused)
    shared = OpenSessions(_add_headers(_reword_refusals(application)), PATH, max_sessions)
    authenticated = Authentication(shared, access, describe_refusal)
    operations.readiness.checks["keys"] = lambda: KEYS_UNUSABLE if access.keys.problem else ""
    operations.figures["access"] = lambda: {
        "rejected_keys": authenticated.failures.total,
        "blocked_addresses": authenticated.failures.count_waiting(),
    }
    known = KnownHosts(authenticated, access.host_names, own_address=access.always_needs_keys)
    return CountedRequests(known, operations.drain, operations.metrics, describe_error, stream_path=PATH)


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


def _reword_refusals(application: ASGIApp) -> ASGIApp:
    """The application with texts of our own in place of those of the SDK, which do not say what to do."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        held: list[Message] = []

        async def send_reworded(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == _BAD_REQUEST:
                held.append(message)
                return
            if held:
                begin = held.pop()
                body = message.get("body", b"")
                if own := next((text for words, text in _REWORDED.items() if words in body), b""):
                    message = {**message, "body": own}
                    MutableHeaders(scope=begin)["content-length"] = str(len(own))
                await send(begin)
            await send(message)

        await application(scope, receive, send_reworded)

    return answer


def _is_event_stream(head: Message) -> bool:
    return any(
        name == b"content-type" and value.startswith(b"text/event-stream") for name, value in head["headers"]
    )
