"""Checks of Host and Origin headers: a web page in a browser must not reach a server on loopback.

A page of another site can make a browser send requests to loopback, and can make its own host name resolve to it.
Both show in these headers: the page's name is in Host, its origin in Origin. So on every route, Host must name
this machine, and Origin must be a page of this machine or absent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from server.transports.addresses import is_loopback

_LARGEST_PORT = 65_535
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::([0-9]{1,5}))?")
_PAGE_SCHEME = "http://"


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


def find_refusal(target: str, headers: Iterable[tuple[bytes, bytes]]) -> tuple[int, str] | None:
    """The status and message with which to refuse a request; None if it may pass."""
    sent: dict[bytes, list[str]] = {b"host": [], b"origin": []}
    for name, value in headers:
        if (lower := name.lower()) in sent:
            sent[lower].append(value.decode("latin-1"))
    if not target.startswith("/"):
        return 400, "The request target must be a path"
    if len(sent[b"host"]) != 1:
        return 400, "Exactly one Host header is needed"
    if not is_local(sent[b"host"][0]):
        return 421, "Invalid Host header"
    if sent[b"origin"] and not (len(sent[b"origin"]) == 1 and _is_local_page(sent[b"origin"][0])):
        return 403, "Invalid Origin header"
    return None


def _is_local_page(origin: str) -> bool:
    return origin.lower().startswith(_PAGE_SCHEME) and is_local(origin[len(_PAGE_SCHEME) :])


class LocalOnly:
    """ASGI middleware that refuses requests that do not come from this machine, before any other code."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it. Websockets are not supported."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif (refusal := find_refusal(scope["path"], scope["headers"])) is not None:
            status, message = refusal
            await PlainTextResponse(message, status)(scope, receive, send)
        else:
            await self._app(scope, receive, send)
