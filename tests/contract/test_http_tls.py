"""Connections with TLS: bounded from their first byte on."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.certificates import make_certificate
from tests.serving import running
from winnow.server.transports.access.http_access import NO_CERTIFICATE
from winnow.server.transports.addresses import listen
from winnow.server.transports.connections import BoundedProtocol
from winnow.server.transports.http import web_server

pytestmark = pytest.mark.anyio

MINUTE = 60


class Few(BoundedProtocol):
    """Connections with a short deadline, of which an address may have few."""

    seconds: Mapping[str, float] = {"head": 1.0, "body": 1.0}
    max_connections = 3


async def hello(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers every request."""
    if scope["type"] == "lifespan":
        for step in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{step}.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": scope["scheme"].encode()})


@pytest.fixture
async def port(tmp_path: Path) -> AsyncIterator[int]:
    """The port of a server with the certificate in ``chain.pem``."""
    sockets = listen("127.0.0.1", 0)
    async with running(web_server(hello, Few, make_certificate(tmp_path)), sockets):
        yield sockets[0].getsockname()[1]


@pytest.fixture
async def http(port: int, tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    trusted = ssl.create_default_context(cafile=str(tmp_path / "chain.pem"))
    base = f"https://localhost:{port}"
    async with httpx2.AsyncClient(verify=trusted, base_url=base, timeout=MINUTE) as client:
        yield client


async def read_all(reader: asyncio.StreamReader) -> bytes:
    """What a connection says until its end."""
    with contextlib.suppress(ConnectionError):
        return await asyncio.wait_for(reader.read(), MINUTE)
    return b""


async def test_requests_on_one_connection_and_on_many_are_answered(http: httpx2.AsyncClient) -> None:
    for _ in range(5):
        assert (await http.get("/")).text == "https"
    many = await asyncio.gather(*(http.get("/", headers={"connection": "close"}) for _ in range(3)))
    assert [answer.text for answer in many] == ["https"] * 3
    assert (await http.post("/", content=b"a" * 1_000_000)).status_code == 200


async def test_connections_without_a_handshake_are_counted_and_end(http: httpx2.AsyncClient, port: int) -> None:
    silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(Few.max_connections)]
    with pytest.raises(httpx2.TransportError):
        await http.get("/")
    assert [await read_all(reader) for reader, _ in silent] == [b""] * 3
    assert (await http.get("/")).status_code == 200
    for _, writer in silent:
        writer.close()


class Two(BoundedProtocol):
    """Connections of which there may be two, whatever their addresses are."""

    most_connections = staticmethod(lambda: 2)


@pytest.mark.parametrize("has_tls", [False, True])
async def test_all_addresses_together_have_a_limit(tmp_path: Path, has_tls: bool) -> None:
    sockets = listen("127.0.0.1", 0)
    port = sockets[0].getsockname()[1]
    async with running(web_server(hello, Two, make_certificate(tmp_path) if has_tls else NO_CERTIFICATE), sockets):
        held = [
            await asyncio.open_connection("127.0.0.1", port, local_addr=(f"127.0.0.{number}", 0))
            for number in (2, 3)
        ]
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=("127.0.0.4", 0))
        assert await read_all(reader) == b""
        for _, open_one in (*held, (reader, writer)):
            open_one.close()


async def test_a_request_without_tls_is_not_answered(http: httpx2.AsyncClient, port: int) -> None:
    for _ in range(2 * Few.max_connections):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert b"200" not in await read_all(reader)
        writer.close()
    assert (await http.get("/")).status_code == 200


async def test_a_connection_with_tls_that_sends_no_request_ends(port: int, tmp_path: Path) -> None:
    trusted = ssl.create_default_context(cafile=str(tmp_path / "chain.pem"))
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusted, server_hostname="localhost")
    assert b"408" in await read_all(reader)
    writer.close()
