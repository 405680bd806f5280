"""Clients of one HTTP server share its sessions and connections: none can take the places of the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.server import Server
from starlette.types import Message, Receive, Scope, Send

from tests.serving import serve
from tests.two_projects import BLUE, RED, Client, make_client
from winnow.server.storage.keys.key_ring import KeyRing
from winnow.server.storage.keys.records import KeyText
from winnow.server.transports.access.authentication import Authentication
from winnow.server.transports.access.failed_attempts import FREE_ATTEMPTS
from winnow.server.transports.access.http_access import HttpAccess
from winnow.server.transports.access.open_sessions import OpenSessions
from winnow.server.transports.access.proxied_requests import PROXIED_FOR, ProxiedRequests
from winnow.server.transports.addresses import parse_networks
from winnow.server.transports.connections import CONNECTIONS_PER_ADDRESS, BoundedProtocol
from winnow.server.transports.http import PATH, proxied_protocol

pytestmark = pytest.mark.anyio

MOST = 4
PROXY = parse_networks("--trusted-proxy", ["127.0.0.1"])
REVISION = "2025-11-25"
INITIALIZE = {
    "protocolVersion": REVISION,
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


@pytest.fixture
def red(tmp_path: Path) -> Client:
    return make_client(tmp_path, "red", RED)


@pytest.fixture
def blue(tmp_path: Path) -> Client:
    return make_client(tmp_path, "blue", BLUE)


@asynccontextmanager
async def requests(access: HttpAccess) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of an empty server with room for ``MOST`` sessions."""
    async with (
        serve(Server[Any]("empty"), access=access, max_sessions=MOST) as (host, port),
        httpx2.AsyncClient(base_url=f"http://{host}:{port}", timeout=60) as http,
    ):
        yield http


async def post(
    http: httpx2.AsyncClient, client: Client, method: str, params: Mapping[str, Any], session: str = ""
) -> httpx2.Response:
    headers = {
        **client.headers,
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": REVISION,
        **({"mcp-session-id": session} if session else {}),
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": dict(params)}
    return await http.post(PATH, json=body, headers=headers)


async def begin(http: httpx2.AsyncClient, client: Client) -> str:
    """The id of a new session."""
    answer = await post(http, client, "initialize", INITIALIZE)
    assert answer.status_code == 200
    return str(answer.headers["mcp-session-id"])


async def is_open(http: httpx2.AsyncClient, client: Client, session: str) -> bool:
    status = (await post(http, client, "ping", {}, session)).status_code
    assert status in (200, 404)
    return status == 200


async def test_a_client_that_begins_many_sessions_ends_its_own(tmp_path: Path, red: Client, blue: Client) -> None:
    """Those of others stay, and others may begin further ones."""
    async with requests(HttpAccess(KeyRing(tmp_path), (RED, BLUE))) as http:
        first = await begin(http, blue)
        many = [await begin(http, red) for _ in range(2 * MOST)]
        second = await begin(http, blue)
        assert [await is_open(http, blue, session) for session in (first, second)] == [True, True]
        assert [await is_open(http, red, session) for session in many] == [False] * 6 + [True] * 2


async def test_a_session_in_use_outlasts_those_that_are_not(tmp_path: Path, red: Client) -> None:
    async with requests(HttpAccess(KeyRing(tmp_path), (RED,))) as http:
        first, second, *_ = [await begin(http, red) for _ in range(MOST)]
        assert await is_open(http, red, first)
        await begin(http, red)
        assert [await is_open(http, red, session) for session in (first, second)] == [True, False]


async def test_a_session_that_its_client_ended_takes_no_place(tmp_path: Path, red: Client) -> None:
    async with requests(HttpAccess(KeyRing(tmp_path), (RED,))) as http:
        first, second, *_ = [await begin(http, red) for _ in range(MOST)]
        ended = await http.delete(PATH, headers={**red.headers, "mcp-session-id": second})
        await begin(http, red)
        assert ended.status_code == 200
        assert await is_open(http, red, first)


async def test_the_session_of_another_client_is_neither_used_nor_ended(
    tmp_path: Path, red: Client, blue: Client
) -> None:
    async with requests(HttpAccess(KeyRing(tmp_path), (RED, BLUE))) as http:
        session = await begin(http, blue)
        assert not await is_open(http, red, session)
        ended = await http.delete(PATH, headers={**red.headers, "mcp-session-id": session})
        assert ended.status_code == 404
        assert await is_open(http, blue, session)


async def test_sessions_that_ended_by_their_silence_are_forgotten() -> None:
    """Otherwise a client would lose open sessions in their place."""
    ended, clock = [], 0.0

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "DELETE":
            ended.append(dict(scope["headers"])[b"mcp-session-id"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"mcp-session-id", scope["new"])]})
        await send({"type": "http.response.body", "body": b""})

    sessions = OpenSessions(application, PATH, 2, now=lambda: clock)
    for number in range(4):
        scope = {"type": "http", "method": "POST", "path": PATH, "headers": [], "client": ("127.0.0.1", 1)}
        await sessions({**scope, "new": b"%d" % number}, _receive, _send)
        clock += 1_000.0
    assert ended == []


async def test_keys_in_urls_do_not_fill_the_log(
    tmp_path: Path, red: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """Each such request is refused as the first was; who has no key can send any number of them."""
    guarded = Authentication(_no_application, HttpAccess(KeyRing(tmp_path), (RED,)), lambda *refusal: refusal[2])
    statuses: list[int] = []

    async def send(message: Message) -> None:
        statuses.extend([message["status"]] if message["type"] == "http.response.start" else ())

    key = KeyText.create()
    query = b"a=1&key=winnow%5F" + str(key).removeprefix("winnow_").encode()
    scope = {"type": "http", "method": "GET", "path": "/health", "query_string": query, "headers": []}
    for _ in range(50):
        await guarded({**scope, "client": ("192.0.2.7", 1)}, _receive, send)
    assert statuses == [400] * 50
    lines = [vars(record)["fields"] for record in caplog.records if "in a URL" in record.message]
    # Its id tells the operator which key to replace.
    assert lines == [{"address": "192.0.2.7", "key": key.id, "ends_with": key.tail}] * len(lines)
    assert FREE_ATTEMPTS < len(lines) < 25  # one more for each doubling of the wait, however slow this machine is


# --- proxies ----------------------------------------------------------------------------------------------------


async def test_the_connections_of_a_proxy_do_not_count_as_one_client(tmp_path: Path, red: Client) -> None:
    class Few(BoundedProtocol):
        max_connections = 2

    access = HttpAccess(KeyRing(tmp_path), (RED,), proxies=PROXY)
    protocol = proxied_protocol(Few, access.proxies)
    async with serve(Server[Any]("empty"), access=access, protocol=protocol) as (host, port):
        held = [await asyncio.open_connection(host, port) for _ in range(5)]
        async with httpx2.AsyncClient(base_url=f"http://{host}:{port}", timeout=60) as http:
            headers = {**red.headers, "x-forwarded-for": "203.0.113.9"}
            assert (await http.get("/health", headers=headers)).status_code == 200
        for _, writer in held:
            writer.close()


def test_without_proxies_the_protocol_stays_as_it_is() -> None:
    assert proxied_protocol(BoundedProtocol, ()) is BoundedProtocol


async def test_a_client_behind_a_proxy_keeps_only_so_many_requests_in_progress(
    tmp_path: Path, red: Client
) -> None:
    """Event streams, above all: further requests of its address are a 503, those of other addresses go on."""
    waiting, release = 0, asyncio.Event()

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal waiting
        waiting += 1
        await release.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    access = HttpAccess(KeyRing(tmp_path), (RED,), proxies=PROXY)
    guarded = Authentication(application, access, lambda path, status, message: message)

    async def status_for(address: str) -> int:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        headers = [
            (b"authorization", red.headers["authorization"].encode()),
            (b"x-forwarded-for", address.encode()),
        ]
        scope = {"type": "http", "method": "GET", "path": PATH, "query_string": b"", "headers": headers}
        await guarded({**scope, "client": ("127.0.0.1", 1)}, _receive, send)
        return int(sent[0]["status"])

    release.set()
    assert await status_for("198.51.100.7") == 200  # from here on the key is known
    release.clear()
    running = [asyncio.create_task(status_for("198.51.100.7")) for _ in range(CONNECTIONS_PER_ADDRESS)]
    other = asyncio.create_task(status_for("203.0.113.9"))
    while waiting < CONNECTIONS_PER_ADDRESS + 2:
        await asyncio.sleep(0.01)
    assert await status_for("198.51.100.7") == 503
    release.set()
    assert set(await asyncio.gather(*running, other)) == {200}
    assert await status_for("198.51.100.7") == 200


def test_requests_without_a_proxy_are_not_counted() -> None:
    proxied = ProxiedRequests(1)
    with proxied.request({}), proxied.request({}):
        assert not proxied.is_full({})
    with proxied.request({PROXIED_FOR: "a"}):
        assert proxied.is_full({PROXIED_FOR: "a"})
        assert not proxied.is_full({PROXIED_FOR: "b"})
    assert not proxied.is_full({PROXIED_FOR: "a"})


async def _no_application(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("it was let in")


async def _receive() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _send(message: Message) -> None:
    """No client reads this."""
