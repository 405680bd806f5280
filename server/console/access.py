"""Access to the console: hosts, origins, a token that works once, a cookie, and the headers of every answer.

A browser sends requests for any page that it shows, so a request proves nothing by reaching this port. It must
name this server as its host, must not come from another page, and must have the cookie. The cookie is for the one
browser that brought the token of the printed address; the token is worthless from then on.

A browser sends the cookies of a host to all its ports, where servers of other users of the machine may listen, and
takes cookies for that host from them. So all pages are under a secret path, which is the path of the cookie too:
the browser sends it nowhere else. A cookie that another server set beside it opens nothing and hinders nobody.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from winnow.server.console.records import PageView

ENTRANCE = "/enter"
STATIC = "/static/"
# Nothing is loaded but styles of this server, and the picture of a page, which is in the page itself.
POLICY = (
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_METHODS = ("GET", "HEAD")
_TOKEN_BYTES = 32
_USUAL_PORT = 80  # which browsers leave out of the name of a host
# Where a browser says that a request came from: the user, or a page of this server.
_OWN_SITES = ("none", "same-origin")
_ASK_AGAIN = "Run winnow console again, and open the address that it prints."

Render = Callable[[PageView], str]


def new_root() -> str:
    """A path that nobody knows yet."""
    return f"/{secrets.token_urlsafe(_TOKEN_BYTES)}"


class ConsoleAccess:
    """ASGI middleware that answers only the browser that brought the token. ``root``: the path of all pages."""

    def __init__(self, app: ASGIApp, port: int, root: str, render: Render) -> None:
        self._app = app
        self._render = render
        names = ("127.0.0.1", "localhost")
        self._hosts = (*(f"{name}:{port}" for name in names), *(names if port == _USUAL_PORT else ()))
        self._cookie_name = f"winnow_console_{port}"
        self.root = root
        self._token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._session = secrets.token_urlsafe(_TOKEN_BYTES)
        self.address = f"http://127.0.0.1:{port}{ENTRANCE}?token={self._token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it. Websockets are not supported."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._answer(scope, receive, _with_headers(send))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (refused := self._find_refusal(scope)) is not None:
            await self._respond("Refused", *refused)(scope, receive, send)
        elif scope["path"] == ENTRANCE:
            await self._let_in(scope)(scope, receive, send)
        elif scope["path"].startswith(STATIC):
            await self._app(scope, receive, send)
        elif self._is_under_root(scope) and self._has_cookie(scope):
            await self._app({**scope, "root_path": self.root}, receive, send)
        else:
            await self._respond("Refused", 401, f"This browser has no access. {_ASK_AGAIN}")(scope, receive, send)

    def _find_refusal(self, scope: Scope) -> tuple[int, str] | None:
        """The status and the message with which to refuse a request; None if it may pass."""
        hosts = _values(scope, b"host")
        if scope["method"] not in _METHODS:
            return 405, "The console only shows pages; it takes GET."
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, f"This server does not know itself by that name. {_ASK_AGAIN}"
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in _values(scope, b"origin")):
            return 403, "Pages of other servers may not call this one."
        # The printed address may be opened from anywhere: what counts there is the token.
        sites = _values(scope, b"sec-fetch-site")
        if scope["path"] != ENTRANCE and any(site not in _OWN_SITES for site in sites):
            return 403, "Pages of other servers may not lead into this one."
        return None

    def _let_in(self, scope: Scope) -> Response:
        """The answer to a request with the token, which sets the cookie; the token works once.

        A page that leads on, and no redirect: a browser sends a strict cookie only where a page of this server
        asked for the next one.
        """
        sent = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if scope["method"] != "GET" or len(sent) != 1 or not self._take_token(sent[0]):
            return self._respond("Refused", 401, f"This address was used already, or is wrong. {_ASK_AGAIN}")
        response = HTMLResponse(self._render(PageView("enter.html", "Welcome", refresh_seconds=0)))
        path = f"{self.root}/"
        response.set_cookie(self._cookie_name, self._session, path=path, httponly=True, samesite="strict")
        return response

    def _take_token(self, sent: str) -> bool:
        if not self._token or not secrets.compare_digest(sent.encode(), self._token.encode()):
            return False
        self._token = ""
        return True

    def _is_under_root(self, scope: Scope) -> bool:
        beginning = scope["path"][: len(self.root) + 1]
        return secrets.compare_digest(beginning.encode(), f"{self.root}/".encode())

    def _has_cookie(self, scope: Scope) -> bool:
        sent = [
            value for header in _values(scope, b"cookie") for value in _read_cookies(header, self._cookie_name)
        ]
        return any(secrets.compare_digest(value.encode(), self._session.encode()) for value in sent)

    def _respond(self, title: str, status: int, message: str) -> Response:
        return HTMLResponse(self._render(PageView("refused.html", title, {"message": message})), status)


def _values(scope: Scope, name: bytes) -> Sequence[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


def _read_cookies(header: str, name: str) -> Sequence[str]:
    """The values of the cookie with this name; of a header that is no list of cookies, none."""
    pairs = [pair.strip().partition("=") for pair in header.split(";")]
    return [value for key, _, value in pairs if key == name]


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
        await send(message)

    return send_with_headers
