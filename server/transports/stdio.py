"""MCP on stdin and stdout, for clients of every era.

The SDK's own loop decides a pipe's era by its first request and then refuses the other one. Some hosts ask
``server/discover`` first and then shake hands the old way on the same pipe. Here an ``initialize`` always
begins a new connection on the same pipe, so both work.
"""

from __future__ import annotations

import asyncio
from typing import Any

from mcp.server import Server
from mcp.server.runner import serve_dual_era_loop
from mcp.server.stdio import stdio_server
from mcp.shared._context_streams import ContextSendStream, create_context_streams
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

_Incoming = SessionMessage | Exception


async def serve_stdio(server: Server[Any]) -> None:
    """Serve until the client closes stdin."""
    async with stdio_server() as (read_stream, write_stream), server.lifespan(server) as state:
        await serve_pipe(server, state, read_stream, write_stream)


async def serve_pipe(server: Server[Any], state: Any, read_stream: Any, write_stream: Any) -> None:
    """Relay a pipe's messages to one SDK connection at a time; ``initialize`` begins the next one."""
    connection: _Connection | None = None
    async with write_stream, asyncio.TaskGroup() as tasks:
        async for message in read_stream:
            if connection is None or (connection.used and _is_initialize(message)):
                if connection is not None:
                    await connection.end()
                connection = _Connection(server, state, write_stream, tasks)
            await connection.take(message)
        if connection is not None:
            await connection.end()


def _is_initialize(message: _Incoming) -> bool:
    request = message.message if isinstance(message, SessionMessage) else None
    return isinstance(request, JSONRPCRequest) and request.method == "initialize"


class _Connection:
    """One run of the SDK's loop over streams of its own."""

    def __init__(self, server: Server[Any], state: Any, write_stream: Any, tasks: asyncio.TaskGroup) -> None:
        self.used = False
        self._input, incoming = create_context_streams[_Incoming](0)
        outgoing, self._output = create_context_streams[SessionMessage](0)
        self._relay = tasks.create_task(self._forward(write_stream))
        self._loop = tasks.create_task(
            serve_dual_era_loop(
                server,
                incoming,
                outgoing,
                lifespan_state=state,
                init_options=server.create_initialization_options(),
            )
        )

    async def take(self, message: _Incoming) -> None:
        """Hand one message to the loop."""
        self.used = self.used or not isinstance(message, Exception)
        await self._input.send(message)

    async def end(self) -> None:
        """No more input: the loop finishes, and all that it wrote is forwarded."""
        await self._input.aclose()
        await asyncio.gather(self._loop, self._relay)

    async def _forward(self, write_stream: ContextSendStream[SessionMessage]) -> None:
        async for message in self._output:
            await write_stream.send(message)
