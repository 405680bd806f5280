"""Authentication of HTTP requests by access keys or tokens, before any other code looks at them.

A request passes these checks in order; the first that fails answers it::

    address allowed and not denied, and a proxy where only proxies may connect      403
    a well-known route of OAuth: metadata with tokens, which keys do not have  200, 404
    a key in the URL, where logs and histories keep it                         400
    a probe: one of ``_PROBES`` without a key, which passes and reads no more
    one key, in Authorization or in X-API-Key                                  401, 400 for two
    the key: known from before, or its address may try and the key is right    429, 401, 503
    or the token, by its issuer's keys (``oidc/tokens.py``)                    429, 401, 403, 503
    the key or token reaches a project of this server                          403
    behind a proxy, the address has not too many requests in progress          503

Clients that see a bare 401 begin OAuth where its routes answer anything but 404, and fail. So where keys alone are
taken these routes are a 404, ``WWW-Authenticate`` names no metadata, and a 401 comes before a 405. Where tokens
are taken both lead to their issuer; even then, a text with the form of a key counts as a key.

A key or token that ends while its request is answered, as an event stream or a long call, takes the answer with
it; a call that became a task by then (extensions/long_calls.py) ends, too.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from winnow.server.errors import WinnowError
from winnow.server.runtime.logs import log
from winnow.server.runtime.sessions.identities import key_name
from winnow.server.storage.keys.records import AccessKey, KeyText, find_key
from winnow.server.text.printable import one_line
from winnow.server.transports.access.failed_attempts import FailedAttempts
from winnow.server.transports.access.http_access import HttpAccess
from winnow.server.transports.access.proxied_requests import ProxiedRequests, note_proxy
from winnow.server.transports.addresses import UNREAD, group_of, is_in, is_loopback, stated_client
from winnow.server.transports.extensions.server_card import CARD_PATH, CATALOG_PATH
from winnow.server.transports.oidc.protected_resource import ROUTES, challenge, describe_resource
from winnow.server.transports.oidc.records import TokenClient, TokenError
from winnow.server.transports.sessions import KEY_IS_ACTIVE, KEY_NAME

if TYPE_CHECKING:  # what verifies tokens is imported only where an issuer is named
    from winnow.server.transports.oidc.tokens import TokenVerifier

# How long an answer may go on after its key has ended.
CHECK_SECONDS = 1.0
# Paths that answer without a key -> the methods with which they do.
_PROBES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    dict.fromkeys(("/health/live", "/health/ready", CARD_PATH, CATALOG_PATH), ("GET", "HEAD"))
)
# Said to everybody; why it is so is in the log alone, because it names files.
KEYS_UNUSABLE = "the server cannot use its file of keys; its operator runs: winnow key list"
IS_PROBE = "winnow.probe"  # in a request's scope: it passed without the key that others need
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_CHALLENGE: Mapping[str, str] = MappingProxyType({"www-authenticate": "Bearer"})
_NAMES_IN_URLS = re.compile(rb"(?:^|[&;])(?:(?:x-)?api[-_]?key|access_token|authorization|key|token)=", re.I)
_BEARER = re.compile(r"bearer[ ]+(\S+)", re.I)
_TOKEN = re.compile(r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.")
_HOW = "send your key in the header 'Authorization: Bearer KEY' or 'X-API-Key: KEY'"
_ENDED = "this key or token has ended: it was revoked or rotated, or it expired; " + _HOW
_MANY_KEYS = "too many wrong keys from this address; stop the client that sends them, and try again later"
_HOW_TOKEN = "send a token of the server's issuer in the header 'Authorization: Bearer TOKEN'"
_NO_OAUTH = "this server takes keys, not OAuth tokens; " + _HOW
_NO_OAUTH_HERE = "this server is no issuer of tokens; the one that it takes them of is named by GET " + min(ROUTES)
# Subjects whose id was logged once; those of before are logged again.
_MAX_LOGGED = 10_000
# Peers with a header of proxies that are logged: anyone may send it.
_MAX_UNKNOWN_PROXIES = 20


class _Refusal(Exception):
    """An answer without the application."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] = _NO_HEADERS) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers


@dataclass(frozen=True, slots=True)
class _Client:
    """A client with a valid key or token: its id, the name of its connections, and whether that is still so."""

    id: str
    name: str
    projects: tuple[str, ...]
    is_active: Callable[[], bool]


class Authentication:
    """ASGI middleware that lets a request pass with a valid key, or without one where none is needed.

    ``body_of`` builds the JSON body of a refusal from the path, the status and the message.
    """

    def __init__(self, app: ASGIApp, access: HttpAccess, body_of: Callable[[str, int, str], Any]) -> None:
        self._app = app
        self._access = access
        self._body_of = body_of
        self.failures = FailedAttempts()
        self._in_urls = FailedAttempts()
        self._proxied = ProxiedRequests()
        self._logged: set[str] = set()
        self._unknown_proxies: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            if await self._describe(scope, receive, send):
                return
            client = await self._authenticate(scope)
            if self._proxied.is_full(scope):
                raise _Refusal(503, "too many requests of this address are in progress", _retry_after(1.0))
        except _Refusal as refusal:
            body = self._body_of(scope["path"], refusal.status, refusal.message)
            # Closed, because the body of the request has not been read.
            headers = {"connection": "close", **refusal.headers}
            await JSONResponse(body, refusal.status, headers)(scope, receive, send)
            return
        with self._proxied.request(scope):
            if client is None:
                await self._app(scope, receive, send)
                return
            # The SDK answers in a session only to the user who began it.
            scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=client.id, scopes=[]))
            scope[KEY_NAME], scope[KEY_IS_ACTIVE] = client.name, client.is_active
            await self._serve(client, scope, receive, send)

    async def _describe(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Answer where clients get tokens, if that was asked. Raises ``_Refusal`` as for any request."""
        tokens = self._access.tokens
        if tokens is None or scope["path"] not in ROUTES:
            return False
        self._find_address(scope)
        if scope["method"] not in ("GET", "HEAD"):
            raise _Refusal(405, "this route is read with GET", {"allow": "GET, HEAD"})
        facts = describe_resource(tokens.options, scope, has_tls=self._has_tls)
        await JSONResponse(facts)(scope, receive, send)
        return True

    @property
    def _has_tls(self) -> bool:
        """Whether clients reach this server over TLS that a proxy ends."""
        return bool(self._access.proxies)

    async def _authenticate(self, scope: Scope) -> _Client | None:
        """The client of a request; None where none is needed. Raises ``_Refusal``."""
        address = self._find_address(scope)
        tokens = self._access.tokens
        if not self._access.needs_keys:
            return None
        if "/.well-known/" in scope["path"] and scope["path"] not in _PROBES:
            raise _Refusal(404, _NO_OAUTH if tokens is None else _NO_OAUTH_HERE)
        if _has_key_in_url(scope):
            raise self._refuse_url(scope, address)
        if _is_probe(scope):
            scope[IS_PROBE] = True
            return None
        if self._access.keys.problem:
            raise _Refusal(503, KEYS_UNUSABLE)
        try:
            name, text = _find_text(scope["headers"])
            if tokens is None or name == b"x-api-key" or KeyText.parse(text):
                client = await self._admit_key(text, address)
            else:
                client = await self._admit_token(tokens, text, address)
        except TokenError as error:
            raise self._refuse_token(error, address, scope) from None
        except _Refusal as refusal:
            if refusal.status == _UNAUTHORIZED and tokens is not None:
                refusal.message += f", or {_HOW_TOKEN}"
                refusal.headers = challenge(tokens.options, scope, has_tls=self._has_tls)
            raise
        if client.projects and not set(client.projects).intersection(self._access.reachable):
            served = list(self._access.reachable)
            reaches = list(client.projects)
            log("a client reaches no project served", level=30, key=client.id, reaches=reaches, served=served)
            raise _Refusal(403, "this key or token reaches none of the projects of this server")
        return client

    async def _admit_key(self, text: str, address: str) -> _Client:
        """The client with this key. Raises ``_Refusal``."""
        key = await self._verify(KeyText.parse(text), address)
        name = key_name(key.id, key.projects, is_read_only=key.read_only, calls_per_minute=key.calls_per_minute)
        return _Client(key.id, name, key.projects, lambda: self._access.keys.is_active(key))

    async def _admit_token(self, tokens: TokenVerifier, text: str, address: str) -> _Client:
        """The client with this token. Raises ``_Refusal`` and ``TokenError``.

        A valid one passes also from an address that has to wait: it costs no more to verify than to refuse.
        """
        try:
            client = await tokens.verify(text)
        except WinnowError as error:
            raise _Refusal(503, error.message, _retry_after(error.retry_after_s or 1.0)) from None
        self._log_subject(client)
        return _Client(client.id, client.name, client.projects, lambda: tokens.is_active(client))

    def _refuse_url(self, scope: Scope, address: str) -> _Refusal:
        """The refusal of a key in the URL. Lines in the log become rarer: anyone may send such requests.

        They name the key, which its operator replaces; whether it is a right one was not looked at.
        """
        if not self._in_urls.wait(address):
            self._in_urls.add(address)
            text = find_key(_url_of(scope))
            id, tail = (text.id, text.tail) if text else ("", "")
            log("a key was sent in a URL", level=30, address=address, key=id, ends_with=tail)
        return _Refusal(
            400,
            "a key must not be in the URL, where logs and histories keep it; replace it (winnow key rotate NAME) "
            f"and {_HOW}",
        )

    def _refuse_token(self, error: TokenError, address: str, scope: Scope) -> _Refusal:
        """The refusal of a token; of one that was never valid as that of a wrong key."""
        assert self._access.tokens is not None
        if error.is_attempt:
            if wait := self.failures.refuse(address):
                return _Refusal(429, "too many wrong tokens from this address", _retry_after(wait))
            wait = self.failures.add(address)
            log("a token was refused", level=30, address=address, blocked_seconds=wait, why=error.message)
        options = self._access.tokens.options
        headers = challenge(options, scope, error.error, error.message, has_tls=self._has_tls)
        status = 403 if error.error == "insufficient_scope" else _UNAUTHORIZED
        return _Refusal(status, f"{error.message}; {_HOW_TOKEN}", headers)

    def _log_subject(self, client: TokenClient) -> None:
        """Log once whose id this is, because the audit log has the id alone."""
        if client.id in self._logged:
            return
        if len(self._logged) >= _MAX_LOGGED:
            self._logged.clear()
        self._logged.add(client.id)
        log("a client with a token", key=client.id, subject=one_line(client.subject, 255))

    def _find_address(self, scope: Scope) -> str:
        """The address that limits count, which is also put into the scope. Raises ``_Refusal``."""
        peer = scope["client"][0] if scope["client"] else ""
        if self._access.is_plain and not (is_loopback(peer) or is_in(peer, self._access.proxies)):
            raise _Refusal(403, "this server is reached through its proxy only")
        client = peer
        if is_in(peer, self._access.proxies):
            client = stated_client(peer, scope["headers"], self._access.proxies)
            note_proxy(scope, client)
        elif any(name == b"x-forwarded-for" for name, _ in scope["headers"]):
            self._warn_of_proxy(peer)
        is_unread = client == UNREAD and bool(self._access.denied)
        is_denied = is_unread or is_in(client, self._access.denied) or is_in(peer, self._access.denied)
        if is_denied or (self._access.allowed and not is_in(client, self._access.allowed)):
            raise _Refusal(403, "this address is not allowed; ask the operator of the server")
        return group_of(client)

    def _warn_of_proxy(self, peer: str) -> None:
        """Log once that this peer speaks for clients and is no known proxy: limits count it as one client."""
        if peer not in self._unknown_proxies and len(self._unknown_proxies) < _MAX_UNKNOWN_PROXIES:
            self._unknown_proxies.add(peer)
            advice = "if it is a proxy of yours, name it with --trusted-proxy; otherwise nothing is wrong"
            log("X-Forwarded-For of an unknown proxy is not used", level=30, address=peer, advice=advice)

    async def _verify(self, text: KeyText | None, address: str) -> AccessKey:
        """The valid key of a text. Raises ``_Refusal``."""
        known = self._access.keys.recall(text) if text else None
        if known is not None:
            return known
        keys = self._access.keys
        if text and keys.recall_ended(text):
            raise _Refusal(_UNAUTHORIZED, _ENDED, _CHALLENGE)
        if wait := self.failures.refuse(address):
            raise _Refusal(429, _MANY_KEYS, _retry_after(wait))
        try:
            key = await keys.verify(text) if text else None
            # A client that goes on with its former key is no guess: it would lock out the new one at its address.
            has_ended = key is None and text is not None and await keys.has_ended(text)
        except WinnowError as error:
            raise _Refusal(503, error.message, _retry_after(error.retry_after_s or 1.0)) from None
        if key is None and has_ended:
            log("a key that has ended was refused", level=30, address=address, key=text.id if text else "")
            raise _Refusal(_UNAUTHORIZED, _ENDED, _CHALLENGE)
        if key is None:
            wait = self.failures.add(address)
            id, tail = (text.id, text.tail) if text else ("", "")
            log("a key was refused", level=30, address=address, blocked_seconds=wait, key=id, ends_with=tail)
            message = f"this key is not valid: it is wrong, revoked or expired; {_HOW}"
            raise _Refusal(_UNAUTHORIZED, message, _CHALLENGE)
        return key

    async def _serve(self, client: _Client, scope: Scope, receive: Receive, send: Send) -> None:
        """Have the application answer, as long as the key or token is valid."""
        answer = _Answer(send)
        serving = asyncio.ensure_future(self._app(scope, receive, answer.send))
        try:
            while not serving.done() and client.is_active():
                await asyncio.wait((serving,), timeout=CHECK_SECONDS)
            if serving.done():
                serving.result()
                return
        finally:
            serving.cancel()  # does nothing to an answer that is complete
            await asyncio.gather(serving, return_exceptions=True)
        log("an answer was ended: its key or token is no longer valid", key=client.id)
        if answer.has_begun:
            await answer.end()
            return
        body = self._body_of(scope["path"], _UNAUTHORIZED, _ENDED)
        await JSONResponse(body, _UNAUTHORIZED, {"connection": "close", **_CHALLENGE})(scope, receive, send)


class _Answer:
    """The part of an answer that the application has sent."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = self._has_ended = False

    async def send(self, message: Message) -> None:
        """Send a part of the answer."""
        self.has_begun = True
        self._has_ended = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)

    async def end(self) -> None:
        """End an answer that the application left unfinished."""
        if not self._has_ended:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _is_probe(scope: Scope) -> bool:
    """Whether a request without a key may pass: it learns whether and where the server runs, and nothing else."""
    has_key = any(name in _HEADERS for name, _ in scope["headers"])
    return scope["method"] in _PROBES.get(scope["path"], ()) and not has_key


def _has_key_in_url(scope: Scope) -> bool:
    """Whether the URL has a key or a token, or a parameter that is meant for one."""
    url = _url_of(scope)
    return bool(_NAMES_IN_URLS.search(scope["query_string"]) or find_key(url) or _TOKEN.search(url))


def _url_of(scope: Scope) -> str:
    """The target of a request, without escapes."""
    return unquote_to_bytes(scope["query_string"]).decode("latin-1") + str(scope["path"])


def _find_text(headers: Iterable[tuple[bytes, bytes]]) -> tuple[bytes, str]:
    """The header with the key or token, and its text. Raises ``_Refusal`` for none and for several."""
    sent = [(name, value.decode("latin-1").strip()) for name, value in headers if name in _HEADERS]
    if not sent:
        raise _Refusal(_UNAUTHORIZED, f"this server needs a key; {_HOW}", _CHALLENGE)
    if len(sent) > 1:
        raise _Refusal(400, "send one key, either in Authorization or in X-API-Key")
    name, value = sent[0]
    if name == b"x-api-key":
        return name, value
    match = _BEARER.fullmatch(value)
    if match is None:
        raise _Refusal(_UNAUTHORIZED, f"the header Authorization takes 'Bearer KEY'; {_HOW}", _CHALLENGE)
    return name, match[1]


_UNAUTHORIZED = 401
_HEADERS = (b"authorization", b"x-api-key")


def _retry_after(seconds: float) -> Mapping[str, str]:
    return {"retry-after": str(math.ceil(seconds))}
