"""Clients of every door of one application: MCP on a pipe and over HTTP, the façade over HTTP and LSP."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, BinaryIO, Protocol

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from tests.serving import OPEN, serve
from winnow.server.commands.entry.app import Application
from winnow.server.runtime.draining import Drain
from winnow.server.settings.settings import Settings
from winnow.server.transports.access.http_access import HttpAccess
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.facade.lsp import LspServer
from winnow.server.transports.facade.lsp_frames import FrameDecoder, encode_frame
from winnow.server.transports.facade.service import FacadeService
from winnow.server.transports.http import PATH
from winnow.server.transports.protocol import build_server
from winnow.server.transports.stdio import Pipe, serve_pipe

DOORS = ("stdio", "2025-11-25", "2026-07-28", "facade", "lsp")
HTTP_DOORS = DOORS[1:4]
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_REVISION = "2025-11-25"
_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Seen:
    """What a client sees of a call, whatever the door: data and warnings; reason, message, details of an error."""

    data: dict[str, Any] | None
    reason: str = ""
    message: str = ""
    details: Mapping[str, Any] | None = None
    warnings: tuple[str, ...] = ()


class Door(Protocol):
    """A client of one door."""

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Seen:
        """Call a tool."""


def _see_mcp(payload: Mapping[str, Any]) -> Seen:
    data = {name: value for name, value in payload.items() if name not in ("meta", "error")}
    error = payload.get("error")
    assert len(payload["meta"]["trace_id"]) == 36
    warnings = (*payload["meta"]["warnings"],)
    if error is None:
        return Seen(data, warnings=warnings)
    # The façade has what MCP has beside code and message among the details.
    beside = {name: value for name, value in error.items() if name not in ("code", "message", "details")}
    details = {**error["details"], **beside}
    return Seen(data, details["reason"], error["message"], details, warnings)


def _see_protocol_error(message: str, data: Any) -> Seen:
    return Seen(None, data["details"]["reason"], message, data["details"])


def _see_envelope(envelope: Mapping[str, Any]) -> Seen:
    assert set(envelope) == {"ok", "data", "meta", "errors"}
    assert len(envelope["meta"]["traceId"]) == 36
    assert envelope["ok"] is not bool(envelope["errors"])
    warnings = (*envelope["meta"]["warnings"],)
    if envelope["ok"]:
        return Seen(envelope["data"], warnings=warnings)
    (error,) = envelope["errors"]
    return Seen(envelope["data"], error["details"]["reason"], error["message"], error["details"], warnings)


class McpDoor:
    """MCP over HTTP."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Seen:
        try:
            result = await self._client.call_tool(tool, dict(arguments))
        except MCPError as error:
            return _see_protocol_error(error.error.message, error.error.data)
        assert result.structured_content is not None
        return _see_mcp(result.structured_content)


class FacadeDoor:
    """The façade over HTTP."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Seen:
        answer = await self.http.post(f"/mcp/tool/{tool}", json=dict(arguments))
        assert answer.headers["content-type"] == "application/json"
        return _see_envelope(answer.json())


class Wire:
    """The client's end of two pipes to a server in this process; ``split`` takes bytes and returns messages."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO, split: Callable[[bytes], list[bytes]]) -> None:
        self._incoming, self._outgoing, self._split = incoming, outgoing, split
        self._messages: list[dict[str, Any]] = []
        self._ids = itertools.count(1)

    def write(self, data: bytes) -> None:
        self._outgoing.write(data)

    def close(self) -> None:
        """End the server's input."""
        self._outgoing.close()

    async def read(self) -> dict[str, Any] | None:
        """The next message; None at the end."""
        while not self._messages:
            data = await asyncio.to_thread(self._incoming.read, 65_536)
            if not data:
                return None
            self._messages += map(json.loads, self._split(data))
        return self._messages.pop(0)

    async def ask(self, encode: Callable[[dict[str, Any]], bytes], method: str, params: Any) -> dict[str, Any]:
        """The answer to a request; messages before it are left out."""
        id = next(self._ids)
        self.write(encode({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
        async with asyncio.timeout(_SECONDS):
            while (message := await self.read()) is not None:
                if message.get("id") == id:
                    return message
        raise AssertionError("the server left without an answer")


class StdioDoor:
    """MCP over lines on a pipe."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Seen:
        answer = await self.ask("tools/call", {"name": tool, "arguments": dict(arguments)})
        if "error" in answer:
            return _see_protocol_error(answer["error"]["message"], answer["error"]["data"])
        return _see_mcp(answer["result"]["structuredContent"])

    async def ask(self, method: str, params: Any) -> dict[str, Any]:
        return await self._wire.ask(encode_line, method, params)


class LspDoor:
    """The façade in frames of LSP on a pipe."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Seen:
        answer = await self.ask("mcp.tool.invoke", {"tool": tool, "input": dict(arguments)})
        return _see_envelope(answer["result"])

    async def ask(self, method: str, params: Any) -> dict[str, Any]:
        return await self.wire.ask(encode_frame, method, params)


def encode_line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


class Lines:
    """Splits bytes into lines."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        return lines


@asynccontextmanager
async def open_door(
    application: Application,
    name: str,
    access: HttpAccess = OPEN,
    headers: Mapping[str, str] = NO_HEADERS,
    settings: Settings | None = None,
) -> AsyncIterator[Any]:
    """A client of this door of the application; ``access`` and ``headers`` are of doors over HTTP.

    ``settings``: those of the door's limits, if not the application's.
    """
    dispatcher = Dispatcher(application.context, settings or application.settings)
    server = build_server(dispatcher, application)
    if name in ("stdio", "lsp"):
        async with _open_pipe(dispatcher, application, name) as door:
            yield door
        return
    async with (
        serve(server, access=access, facade=FacadeService(dispatcher, application)) as (host, port),
        httpx2.AsyncClient(base_url=f"http://{host}:{port}", headers=dict(headers), timeout=_SECONDS) as http,
    ):
        if name == "facade":
            yield FacadeDoor(http)
            return
        transport = streamable_http_client(f"{http.base_url}{PATH}", http_client=http)
        mode: Any = "legacy" if name == _REVISION else name
        async with Client(transport, mode=mode) as client:
            yield McpDoor(client)


@asynccontextmanager
async def _open_pipe(dispatcher: Dispatcher, application: Application, name: str) -> AsyncIterator[Any]:
    to_server, from_server = os.pipe(), os.pipe()
    server_in, client_in = (os.fdopen(pipe[0], "rb", buffering=0) for pipe in (to_server, from_server))
    client_out, server_out = (os.fdopen(pipe[1], "wb", buffering=0) for pipe in (to_server, from_server))
    if name == "lsp":
        serving = asyncio.create_task(
            LspServer(FacadeService(dispatcher, application), server_in, server_out).serve()
        )
        door: Any = LspDoor(Wire(client_in, client_out, FrameDecoder().feed))
    else:
        serving = asyncio.create_task(_serve_lines(dispatcher, application, server_in, server_out))
        wire = Wire(client_in, client_out, Lines().feed)
        hello = {"protocolVersion": _REVISION, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        await wire.ask(encode_line, "initialize", hello)
        wire.write(encode_line({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        door = StdioDoor(wire)
    try:
        yield door
    finally:
        client_out.close()
        await serving
        for end in (server_in, client_in, server_out):
            with suppress(OSError):
                end.close()


async def _serve_lines(
    dispatcher: Dispatcher, application: Application, incoming: BinaryIO, outgoing: BinaryIO
) -> None:
    server = build_server(dispatcher, application)
    async with server.lifespan(server) as state:
        pipe = Pipe(incoming, outgoing, Drain())
        try:
            await serve_pipe(server, state, pipe)
        finally:
            pipe.close()
