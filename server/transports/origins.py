"""Checks of Host and Origin headers: a web page in a browser must not reach a server.

A page of another site can make a browser send requests to loopback, and can make its own host name resolve to it.
Both show in these headers: the page's name is in Host, its origin in Origin. So on every route, Host must name
this machine, and Origin must be a page of this machine or absent. A server for other machines has further names.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from winnow.server.runtime.logs import log
from winnow.server.text.printable import one_line
from winnow.server.transports.addresses import is_loopback

_LARGEST_PORT = 65_535
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::([0-9]{1,5}))?")
_PAGE_SCHEMES = ("http", "https")
# They name no value of the request: a page of another site could choose it.
_UNKNOWN_HOST = (
    "Invalid Host header: this server does not know itself by that name; its operator names it: --host-name NAME"
)
_UNKNOWN_PAGE = (
    "Invalid Origin header: pages of that host may not call this server; its operator names the host of pages "
    "that may: --host-name NAME"
)
_SECONDS_BETWEEN_LINES = 60.0  # of the log, about refused requests
_LOGGED_CHARS = 100


def is_local(authority: str) -> bool:
    """Whether ``HOST`` or ``HOST:PORT``, as in a header, names this machine.

    >>> [is_local(name) for name in ("127.0.0.2:8765", "[::1]", "localhost.:80", "a@localhost", "evil.example")]
    [True, True, True, False, False]
    """
    match = _AUTHORITY.fullmatch(authority)
    if match is None or int(match[2] or 0) > _LARGEST_PORT:
        return False
    is_bracketed, host = match[1].startswith("["), match[1].strip("[]")
    return is_bracketed == (":" in host) and is_loopback(host)


def stated_origin(scope: Scope, *, has_tls: bool) -> str:
    """The scheme and the host by which a client reached this server, of a request that may pass.

    ``has_tls``: a proxy ends the TLS of its clients.
    """
    host = next(value.decode("latin-1") for name, value in scope["headers"] if name == b"host")
    return f"{'https' if has_tls else scope['scheme']}://{host}"


def find_refusal(
    target: str, headers: Iterable[tuple[bytes, bytes]], names: Collection[str] = ()
) -> tuple[int, str] | None:
    """The status and message with which to refuse a request; None if it may pass.

    ``names``: further names and addresses of this server, in lower case.
    """
    sent: dict[bytes, list[str]] = {b"host": [], b"origin": []}
    for name, value in headers:
        if (lower := name.lower()) in sent:
            sent[lower].append(value.decode("latin-1"))
    if not target.startswith("/"):
        return 400, "The request target must be a path"
    if len(sent[b"host"]) != 1:
        return 400, "Exactly one Host header is needed"
    if not (is_local(sent[b"host"][0]) or _is_named(sent[b"host"][0], names)):
        return 421, _UNKNOWN_HOST
    if sent[b"origin"] and not (len(sent[b"origin"]) == 1 and _is_own_page(sent[b"origin"][0], names)):
        return 403, _UNKNOWN_PAGE
    return None


def _is_named(authority: str, names: Collection[str]) -> bool:
    match = _AUTHORITY.fullmatch(authority)
    return match is not None and match[1].strip("[]").lower().removesuffix(".") in names


def _is_own_page(origin: str, names: Collection[str]) -> bool:
    scheme, separator, authority = origin.partition("://")
    if not separator or scheme.lower() not in _PAGE_SCHEMES:
        return False
    return (scheme.lower() == "http" and is_local(authority)) or _is_named(authority, names)


class KnownHosts:
    """ASGI middleware that refuses requests for other hosts and from pages of other hosts, before any other code.

    ``names`` as in ``find_refusal``. ``own_address``: the address at which a request arrived is a name as well;
    for a server that other machines may reach.
    """

    def __init__(self, app: ASGIApp, names: frozenset[str] = frozenset(), *, own_address: bool = False) -> None:
        self._app = app
        self._names = names
        self._own_address = own_address
        self._logged = -_SECONDS_BETWEEN_LINES

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it. Websockets are not supported."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif (refusal := find_refusal(scope["path"], scope["headers"], self._names_at(scope))) is not None:
            status, message = refusal
            self._log(scope["headers"], status, message)
            await PlainTextResponse(message, status)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _log(self, headers: Iterable[tuple[bytes, bytes]], status: int, message: str) -> None:
        """Log a refusal, at most one in a minute: clients that send others are many, or none of ours."""
        if time.monotonic() - self._logged < _SECONDS_BETWEEN_LINES:
            return
        self._logged = time.monotonic()
        sent = {
            name.decode("latin-1").lower(): one_line(value.decode("latin-1"), _LOGGED_CHARS)
            for name, value in headers
            if name.lower() in (b"host", b"origin")
        }
        log(
            "a request was refused",
            level=30,
            status=status,
            why=message,
            host=sent.get("host", ""),
            origin=sent.get("origin", ""),
        )

    def _names_at(self, scope: Scope) -> Collection[str]:
        own = scope["server"][0].lower() if self._own_address and scope["server"] else ""
        return self._names | {own} if own else self._names
