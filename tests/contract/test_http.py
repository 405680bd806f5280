"""HTTP on loopback: access, sessions, and the bounds of connections in time and number."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from tests.serving import serve
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.transports.connections import BoundedProtocol
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.http import PATH
from winnow.server.transports.protocol import build_server
from winnow.server.transports.sessions import TOKEN_META_KEY, Tokens

pytestmark = pytest.mark.anyio

MODERN = "2026-07-28"
MINUTE = 60
SEARCH = {"query": "how are backups encrypted"}
LARGE = "return ['row %d' % number for number in range(6_000)]"


@pytest.fixture(scope="module")
async def application(store: Path) -> AsyncIterator[Application]:
    async with open_application(load_settings(store=store, project="handbook"), wait_for_model=True) as app:
        yield app


@pytest.fixture
def server(application: Application) -> Server[str]:
    return build_server(Dispatcher(application.context, application.settings), application)


@pytest.fixture
async def url(server: Server[str]) -> AsyncIterator[str]:
    async with serve(server) as (host, port):
        yield f"http://{host}:{port}{PATH}"


# --- raw requests of the 2026 protocol: a client that keeps no cookies and returns no token -------------------


async def ask(
    http: httpx2.AsyncClient, url: str, method: str, params: dict[str, Any], *, token: str = ""
) -> dict[str, Any]:
    """The answer to one request of a client without a session."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        **({TOKEN_META_KEY: token} if token else {}),
    }
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": MODERN,
        "mcp-method": method,
        **({"mcp-name": params["name"]} if "name" in params else {}),
        **({"mcp-name": params["uri"]} if "uri" in params else {}),
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    http.cookies.clear()
    response = await http.post(url, json=body, headers=headers)
    if response.headers["content-type"].startswith("text/event-stream"):
        return dict(json.loads(response.text.partition("\ndata: ")[2]))
    return dict(response.json())


async def call(
    http: httpx2.AsyncClient, url: str, tool: str, token: str = "", **arguments: Any
) -> tuple[dict[str, Any], str]:
    """The structured answer of a tool, and the token that came with it."""
    answer = await ask(http, url, "tools/call", {"name": tool, "arguments": arguments}, token=token)
    result = answer["result"]
    return result["structuredContent"], result.get("_meta", {}).get(TOKEN_META_KEY, "")


async def test_a_client_without_sessions_reads_on_in_its_own_answers(url: str) -> None:
    async with httpx2.AsyncClient() as http:
        first, _ = await call(http, url, "kb_search", **SEARCH)
        second, _ = await call(http, url, "kb_search", query="late payment of invoices")
        assert first["session_id"] != second["session_id"]
        ids = [first["results"][0]["passage_id"], second["results"][0]["passage_id"]]
        excerpt, _ = await call(http, url, "kb_read_excerpt", passage_id=ids[0])
        assert "AES-256" in json.dumps(excerpt)
        quoted, _ = await call(http, url, "kb_extract_evidence", question=SEARCH["query"], passage_ids=ids)
        assert "AES-256" in json.dumps(quoted)
        read = await ask(http, url, "resources/read", {"uri": first["results"][0]["scratch_uri"]})
        assert "AES-256" in read["result"]["contents"][0]["text"]
        asked = {"query": "who reads this page first", "top_k": 100, "response_mode": "full"}
        page, _ = await call(http, url, "semantic_search", **asked)
        following, _ = await call(http, url, "semantic_search", **asked, cursor=page["next_cursor"])
        assert page["results"][0]["id"] not in [row["id"] for row in following["results"]]


@pytest.mark.walls
async def test_a_client_without_sessions_reads_on_in_a_large_result(url: str) -> None:
    async with httpx2.AsyncClient(timeout=MINUTE) as http:
        failed, _ = await call(http, url, "execute_code", code=LARGE)
        details = failed["error"]["details"]
        portion, _ = await call(http, url, "read_result", execution_id=details["execution_id"])
        assert portion["text"].startswith('["row 0"')
        read = await ask(http, url, "resources/read", {"uri": details["result_uri"]})
        assert "row 5999" in read["result"]["contents"][0]["text"]
        invented, _ = await call(http, url, "read_result", execution_id="0" * 16)
        assert invented["error"]["details"]["reason"] == "NOT_FOUND"


@pytest.mark.walls
async def test_what_a_proven_session_holds_is_nobody_else_s_even_by_its_id(url: str) -> None:
    async with httpx2.AsyncClient(timeout=MINUTE) as http:
        shown, token = await call(http, url, "kb_search", **SEARCH)
        assert len(token) == 64
        passage_id, uri = (shown["results"][0][name] for name in ("passage_id", "scratch_uri"))
        again, none = await call(http, url, "kb_search", token, **SEARCH)
        assert (again["session_id"], none) == (shown["session_id"], "")
        failed, _ = await call(http, url, "execute_code", token, code=LARGE)
        execution_id = failed["error"]["details"]["execution_id"]

        mine, _ = await call(http, url, "kb_read_excerpt", token, passage_id=passage_id)
        assert "AES-256" in json.dumps(mine)
        portion, _ = await call(http, url, "read_result", token, execution_id=execution_id)
        assert portion["total_chars"] > 50_000
        _, stranger = await call(http, url, "kb_search", query="late payment")
        for token_of_other in ("", stranger, "0" * 64, token[:-1] + ("1" if token[-1] == "0" else "0")):
            refused, _ = await call(http, url, "kb_read_excerpt", token_of_other, passage_id=passage_id)
            assert refused["error"]["details"]["reason"] == "NOT_FOUND"
            refused, _ = await call(http, url, "read_result", token_of_other, execution_id=execution_id)
            assert refused["error"]["details"]["reason"] == "NOT_FOUND"
            read = await ask(http, url, "resources/read", {"uri": uri}, token=token_of_other)
            assert read["error"]["data"]["code"] == "SCOPE_VIOLATION"


async def test_nothing_of_another_client_is_completed_or_listed(url: str) -> None:
    async with httpx2.AsyncClient() as http:
        shown, _ = await call(http, url, "kb_search", **SEARCH)
        for name in ("session_id", "passage_id"):
            asked = {
                "ref": {"type": "ref/resource", "uri": "winnow://scratch/{session_id}/{passage_id}"},
                "argument": {"name": name, "value": ""},
                "context": {"arguments": {"session_id": shown["session_id"]}},
            }
            values = (await ask(http, url, "completion/complete", asked))["result"]["completion"]["values"]
            assert (name, shown["session_id"] in values) == (name, False)
            assert not {row["passage_id"] for row in shown["results"]} & set(values)


async def test_clients_that_keep_cookies_have_a_session_each_without_knowing_it(url: str) -> None:
    """The SDK's client returns the cookie, because its HTTP library does."""
    async with Client(url, mode=MODERN) as a, Client(url, mode=MODERN) as b:
        of_a, of_b = (
            [await a.call_tool("kb_search", SEARCH) for _ in range(2)],
            await b.call_tool("kb_search", SEARCH),
        )
        first, again = (answer.structured_content for answer in of_a)
        assert first["session_id"] == again["session_id"] != of_b.structured_content["session_id"]
        row = first["results"][0]
        excerpt = await a.call_tool("kb_read_excerpt", {"passage_id": row["passage_id"]})
        assert not excerpt.is_error
        stolen = await b.call_tool("kb_read_excerpt", {"passage_id": row["passage_id"]})
        assert stolen.structured_content["error"]["details"]["reason"] == "NOT_FOUND"
        with pytest.raises(MCPError) as caught:
            await b.read_resource(row["scratch_uri"])
        assert caught.value.data["code"] == "SCOPE_VIOLATION"


def test_a_token_of_another_process_or_one_that_a_client_chose_is_none() -> None:
    tokens, others = Tokens(), Tokens()
    token = tokens.new_claim().new_token
    assert tokens.claim_of(token) is not None
    assert [others.claim_of(token), tokens.claim_of(token.upper()), tokens.claim_of("é" * 64)] == [None] * 3
    assert [tokens.claim_of(odd) for odd in ("", token + "\n", None, 5, [token])] == [None] * 5


# --- rates ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["legacy", MODERN])
@pytest.mark.walls
async def test_a_new_session_from_the_same_address_has_no_new_allowance(url: str, mode: Any) -> None:
    """The limit of thirty scripts a minute applies to the address, over all its sessions and spellings."""
    endings: list[str] = []
    for number in range(3):
        headers = {"x-forwarded-for": f"203.0.113.{number}", "forwarded": f"for=203.0.113.{number}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=MINUTE) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            for _ in range(Settings().scripts_per_minute // 3 + 2):
                result = await client.call_tool("execute_code", {"code": "return 1"})
                payload = result.structured_content
                endings.append(payload["error"]["details"]["reason"] if result.is_error else payload["status"])
    assert endings == ["ok"] * 30 + ["RATE_LIMIT"] * 6


# --- who may ask ------------------------------------------------------------------------------------------------


async def answer_to(port: int, head: bytes, *, at: str = "127.0.0.1") -> tuple[int, str]:
    """The status and the body with which one raw request is answered."""
    reader, writer = await asyncio.open_connection(at, port)
    try:
        async with asyncio.timeout(MINUTE):
            writer.write(head)
            answer = (await reader.read()).decode("latin-1")
    finally:
        writer.close()
    return int(answer.split()[1]), answer.partition("\r\n\r\n")[2]


async def is_refused(
    port: int, *lines: str, path: str = "/health", method: str = "GET", at: str = "127.0.0.1"
) -> bool:
    """Whether a request with exactly these header lines is refused for its Host or Origin."""
    head = "\r\n".join((f"{method} {path} HTTP/1.1", *lines, "connection: close", "", ""))
    status, body = await answer_to(port, head.encode("latin-1"), at=at)
    assert status in (200, 400, 403, 404, 405, 406, 421), body
    return body.partition(":")[0] in REFUSALS


REFUSALS = (
    "Invalid Host header",
    "Invalid Origin header",
    "Exactly one Host header is needed",
    "The request target must be a path",
    "Invalid HTTP request received.",  # uvicorn's: two Host headers, or none, in HTTP/1.1
)
ROUTES = ("/mcp", "/health", "/nowhere", "/")
HOSTS_OF_THIS_MACHINE = (
    *("127.0.0.1", "127.0.0.1:80", "127.0.0.2:8765", "127.255.255.254", "localhost", "LocalHost:1", "localhost."),
    *("[::1]", "[::1]:8765", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]:80", "[::FFFF:7f00:1]"),
)
OTHER_HOSTS = (
    *("evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.evil.example", "evil.localhost"),
    *("127.0.0.1@evil.example", "user:pw@127.0.0.1", "localhost:80:80", "localhost:x", "localhost:99999"),
    *("localhost:", "0.0.0.0", "127.1", "0x7f.0.0.1", "2130706433", "127.0.0.01", "[127.0.0.1]", "::1"),
    *("[::]", "[::1%lo]", "[::1]evil", "[::ffff:10.0.0.1]", "10.0.0.1", "", "localhost/evil", "localhost,evil"),
    *("localhost..", "127.0.0.1.", "\xb2127.0.0.1", "localhost evil"),
)
PAGES_OF_THIS_MACHINE = ("http://localhost:6274", "http://127.0.0.1", "http://127.0.0.3:1", "http://[::1]:80")
OTHER_PAGES = (
    *("http://evil.example", "https://evil.example", "null", "", "http://localhost.evil.example", "file://"),
    *("http://localhost:80/", "http://user@localhost", "localhost", "chrome-extension://localhost", "http://"),
    *("http://evil.example, http://localhost", "http://localhost http://evil.example", "https://localhost"),
)


@pytest.fixture
async def port(server: Server[str]) -> AsyncIterator[int]:
    async with serve(server) as (_, number):
        yield number


@pytest.mark.parametrize("path", ROUTES)
async def test_every_route_takes_every_spelling_of_this_machine_and_no_other_host(port: int, path: str) -> None:
    refused = [host for host in HOSTS_OF_THIS_MACHINE if await is_refused(port, f"host: {host}", path=path)]
    taken = [host for host in OTHER_HOSTS if not await is_refused(port, f"host: {host}", path=path)]
    assert (refused, taken) == ([], [])


@pytest.mark.parametrize("path", ROUTES)
async def test_every_route_answers_pages_of_this_machine_and_no_others(port: int, path: str) -> None:
    async def refuses(origin: str) -> bool:
        return await is_refused(port, "host: localhost", f"origin: {origin}", path=path)

    refused = [origin for origin in PAGES_OF_THIS_MACHINE if await refuses(origin)]
    taken = [origin for origin in OTHER_PAGES if not await refuses(origin)]
    assert (refused, taken) == ([], [])


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS", "HEAD", "TRACE"])
async def test_no_method_and_no_protocol_version_is_exempt(port: int, method: str) -> None:
    for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN, "2099-01-01"):
        lines = ("host: evil.example", f"mcp-protocol-version: {version}", "content-type: application/json")
        head = "\r\n".join((f"{method} /mcp HTTP/1.1", *lines, "connection: close", "", ""))
        assert (await answer_to(port, head.encode()))[0] == 421


async def test_a_request_names_exactly_one_host_and_a_path(port: int) -> None:
    assert await is_refused(port)
    assert await is_refused(port, "host: localhost", "host: evil.example")
    assert await is_refused(port, "host: localhost", "host: localhost")
    assert await is_refused(port, "host: localhost", "origin: http://localhost", "origin: http://evil.example")
    assert await is_refused(port, "host: localhost", path="http://evil.example/health")
    assert (await answer_to(port, b"GET /health HTTP/1.0\r\n\r\n"))[0] == 400
    assert (await answer_to(port, b"GET /health HTTP/1.0\r\nhost: localhost\r\n\r\n"))[0] == 200


@pytest.mark.parametrize("bind", ["127.0.0.2", "localhost", "::1"])
async def test_it_does_not_matter_which_loopback_address_is_bound(server: Server[str], bind: str) -> None:
    async with serve(server, bind) as (host, number):
        for path in ROUTES:
            assert await is_refused(number, "host: evil.example", path=path, at=host)
            assert not await is_refused(number, f"host: 127.0.0.2:{number}", path=path, at=host)


async def test_a_refused_request_is_refused_before_its_body_is_read(port: int) -> None:
    head = b"POST /mcp HTTP/1.1\r\nhost: evil.example\r\ncontent-length: 1000000\r\nconnection: close\r\n\r\n"
    assert (await answer_to(port, head))[0] == 421


@pytest.mark.parametrize(("size", "status"), [(60_000, 200), (66_000, 400), (120_000, 400)])
async def test_a_head_has_a_bound_however_it_arrives(port: int, size: int, status: int) -> None:
    head = b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-long: " + b"a" * size
    assert (await answer_to(port, head + b"\r\n\r\n"))[0] == status


@pytest.mark.parametrize(
    "body", [b"[]", b'""', b'{"id": 3}', b'{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": ""}']
)
async def test_what_is_no_message_is_answered_in_words_of_this_server(port: int, body: bytes) -> None:
    lines = (
        b"host: localhost",
        b"connection: close",
        b"content-type: application/json",
        b"accept: application/json, text/event-stream",
    )
    head = b"\r\n".join((b"POST /mcp HTTP/1.1", *lines, b"content-length: %d" % len(body)))
    status, answer = await answer_to(port, head + b"\r\n\r\n" + body)
    error = json.loads(answer)["error"]
    assert (status, error["code"], error["message"].partition(";")[0]) == (
        400,
        -32600,
        "Invalid Request: not a JSON-RPC 2.0 message",
    )


async def test_two_lengths_of_a_body_end_the_connection(port: int) -> None:
    both = b"content-length: 0\r\ntransfer-encoding: chunked"
    hidden = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"
    for lengths in (both, b"\r\n".join(reversed(both.split(b"\r\n")))):
        head = b"GET /health HTTP/1.1\r\nhost: localhost\r\n" + lengths + b"\r\n\r\n0\r\n\r\n"
        status, rest = await answer_to(port, head + hidden)
        assert (status, "Invalid HTTP request" in rest, "HTTP/1.1 200" in rest) == (400, True, False)


# --- how long, and how many -------------------------------------------------------------------------------------


class Impatient(BoundedProtocol):
    """The same protocol with shorter deadlines."""

    seconds = {"head": 0.3, "body": 0.3}  # noqa: RUF012 - as its base has it
    unread_seconds = 0.3
    max_connections = 3


@pytest.fixture
async def impatient(server: Server[str]) -> AsyncIterator[int]:
    async with serve(server, protocol=Impatient) as (_, number):
        yield number


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /health HT",
        b"GET /health HTTP/1.1\r\nhost: localhost\r\nx-slow: ",
        b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{",
    ],
    ids=["nothing", "half a line", "half a head", "half a body"],
)
async def test_a_request_that_does_not_arrive_ends_its_connection_with_a_reason(
    impatient: int, sent: bytes
) -> None:
    status, body = await answer_to(impatient, sent)
    assert (status, body) == (408, "The request took too long to arrive")


async def test_one_byte_now_and_then_buys_no_time(impatient: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", impatient)

    async def drip() -> None:
        with contextlib.suppress(OSError):
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.05)

    dripping = asyncio.create_task(drip())
    async with asyncio.timeout(MINUTE):
        assert (await reader.read()).startswith(b"HTTP/1.1 408 ")
    dripping.cancel()
    writer.close()


async def test_an_answer_that_takes_long_is_not_cut_short(impatient: int) -> None:
    """The deadlines apply to requests, not to the answer of a running script."""
    url = f"http://127.0.0.1:{impatient}{PATH}"
    async with Client(url, mode=MODERN) as client:
        code = "from time import monotonic\nend = monotonic() + 1\nwhile monotonic() < end: pass\nreturn 'done'"
        result = await client.call_tool("execute_code", {"code": code})
    assert result.structured_content["result"] == "done"


async def test_more_connections_than_an_address_may_have_are_refused_and_the_others_go_on(
    server: Server[str],
) -> None:
    class Few(BoundedProtocol):
        max_connections = 3

    async with serve(server, protocol=Few) as (_, number):
        held = [await asyncio.open_connection("127.0.0.1", number) for _ in range(3)]
        for _ in range(2):
            status, body = await answer_to(number, b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert (status, body) == (503, "Too many connections from this address")
        reader, writer = held[0]
        writer.write(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        async with asyncio.timeout(MINUTE):
            assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
        for _, opened in held:
            opened.close()
        async with asyncio.timeout(MINUTE):
            while (
                await answer_to(number, b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            )[0] != 200:
                await asyncio.sleep(0.01)
