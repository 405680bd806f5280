"""MCP over stdin and stdout, for clients of every protocol era.

The SDK's own loop decides a pipe's era by its first request and then refuses the other era. Some hosts send
``server/discover`` first and then an old-style handshake on the same pipe. Here an ``initialize`` always begins a
new connection on the same pipe, so both work.

The SDK's own transport drops a line that it cannot read, and the client waits in vain. Here this module reads the
lines: they are bounded, and each unreadable one is answered (lines.py). When the client closes its end, nothing
more is written: some clients treat an answer after that as a fault.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, BinaryIO

from mcp.server import NotificationOptions, Server
from mcp.server.runner import serve_dual_era_loop
from mcp.shared._context_streams import create_context_streams
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from winnow.server.errors import ending_error
from winnow.server.runtime.draining import Drain
from winnow.server.runtime.logs import log
from winnow.server.runtime.standard_streams import take_standard_streams
from winnow.server.transports.lines import END_BYTES, MAX_LINE_BYTES, UnreadableLine, long_line_error, message_of

# Requests that the SDK answers by itself. The next line is read only after the answer, so that a client which
# sends its requests and closes its end gets these answers.
_AT_ONCE = frozenset({"initialize", "server/discover", "ping"})
_AT_ONCE_SECONDS = 5.0
# The tools are listed before the sandbox is ready; if it then cannot run, the list changes.
_CHANGES = NotificationOptions(tools_changed=True)
_LISTEN = "subscriptions/listen"  # stays open for events, and is not waited for
_NEWLINE = b"\n"


async def serve_stdio(server: Server[Any], drain: Drain) -> None:
    """Serve until the client closes stdin. ``drain`` learns which requests are in progress."""
    with take_standard_streams() as (incoming, outgoing):
        async with server.lifespan(server) as state:
            pipe = Pipe(incoming, outgoing, drain)
            try:
                await serve_pipe(server, state, pipe)
            finally:
                pipe.close()


class Pipe:
    """Messages over two binary files, one JSON object per line. While ``drain`` drains, requests are refused."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO, drain: Drain) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._drain = drain
        self._in_progress: set[RequestId] = set()
        # Separate threads: the shared ones may all be busy with searches.
        self._reader, self._writer = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._is_open = True

    async def receive(self) -> JSONRPCMessage | None:
        """The next message; None at the end of input. Unreadable lines are answered here."""
        loop = asyncio.get_running_loop()
        while (line := await loop.run_in_executor(self._reader, self._read_line)) is not None:
            try:
                if isinstance(line, UnreadableLine):
                    raise line
                message = message_of(line) if line.strip() else None
            except UnreadableLine as unreadable:
                await self.send(unreadable.answer)
                continue
            if isinstance(message, JSONRPCRequest) and self._drain.is_draining:
                await self.send(_refusal(message.id))
            elif message is not None:
                self._note_begun(message)
                return message
        self._is_open = False
        return None

    async def send(self, message: JSONRPCMessage) -> None:
        """Write a message, unless the client has closed its end."""
        line = _encode(message) + _NEWLINE
        await asyncio.get_running_loop().run_in_executor(self._writer, self._write, line)
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._note_ended(message.id)

    def close(self) -> None:
        """Release the threads."""
        self._is_open = False
        for pool in (self._reader, self._writer):
            pool.shutdown(wait=False)

    def _note_begun(self, message: JSONRPCMessage) -> None:
        """Note a request, and one that its client has cancelled: it gets no answer."""
        if isinstance(message, JSONRPCRequest):
            if message.method != _LISTEN and message.id not in self._in_progress:
                self._in_progress.add(message.id)
                self._drain.begin_request()
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._note_ended((message.params or {}).get("requestId"))

    def _note_ended(self, request_id: object) -> None:
        if isinstance(request_id, str | int) and request_id in self._in_progress:
            self._in_progress.discard(request_id)
            self._drain.end_request()

    def _write(self, line: bytes) -> None:
        if not self._is_open:
            return
        try:
            self._outgoing.write(line)
            self._outgoing.flush()
        except OSError as error:  # the client has stopped reading and will close its other end too
            self._is_open = False
            log("the client does not read its answers", error=type(error).__name__)

    def _read_line(self) -> bytes | UnreadableLine | None:
        """One line; an error for a line that is too long; None at the end."""
        line = self._incoming.readline(MAX_LINE_BYTES + 1)
        if not line:
            return None
        if len(line) <= MAX_LINE_BYTES or line.endswith(_NEWLINE):
            return line
        head, tail = line[:END_BYTES], line[-END_BYTES:]
        while line and not line.endswith(_NEWLINE):
            line = self._incoming.readline(END_BYTES)
            tail = (tail + line)[-END_BYTES:]
        return long_line_error(head, tail)


def _refusal(request_id: RequestId) -> JSONRPCError:
    error = ending_error()
    told = ErrorData(code=INTERNAL_ERROR, message=error.message, data=error.envelope())
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=told)


def _encode(message: JSONRPCMessage) -> bytes:
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode("utf-8")
    except ValueError:  # half a surrogate pair, say: our bug must not end the server
        log("an answer cannot be written", exc_info=True, level=logging.ERROR)
        error = ErrorData(code=INTERNAL_ERROR, message="internal error")
        failed = JSONRPCError(jsonrpc="2.0", id=getattr(message, "id", None), error=error)
        return failed.model_dump_json(by_alias=True).encode("utf-8")


async def serve_pipe(server: Server[Any], state: Any, pipe: Pipe) -> None:
    """Relay a pipe's messages to one SDK connection at a time; ``initialize`` begins a new connection."""
    connection: _Connection | None = None
    async with asyncio.TaskGroup() as tasks:
        while (message := await pipe.receive()) is not None:
            if connection is None or _is_initialize(message):
                if connection is not None:
                    await connection.end()
                connection = _Connection(server, state, pipe, tasks)
            await connection.take(message)
        if connection is not None:
            await connection.end()


def _is_initialize(message: JSONRPCMessage) -> bool:
    return isinstance(message, JSONRPCRequest) and message.method == "initialize"


class _Connection:
    """One run of the SDK's loop, with its own streams."""

    def __init__(self, server: Server[Any], state: Any, pipe: Pipe, tasks: asyncio.TaskGroup) -> None:
        self._pipe = pipe
        self._awaited: tuple[RequestId, asyncio.Event] | None = None
        self._input, incoming = create_context_streams[SessionMessage | Exception](0)
        outgoing, self._output = create_context_streams[SessionMessage](0)
        self._relay = tasks.create_task(self._forward())
        self._loop = tasks.create_task(
            serve_dual_era_loop(
                server,
                incoming,
                outgoing,
                lifespan_state=state,
                init_options=server.create_initialization_options(_CHANGES),
            )
        )

    async def take(self, message: JSONRPCMessage) -> None:
        """Pass one message to the loop; for the requests in ``_AT_ONCE``, wait for the answer."""
        if not isinstance(message, JSONRPCRequest) or message.method not in _AT_ONCE:
            await self._input.send(SessionMessage(message))
            return
        answered = asyncio.Event()
        self._awaited = message.id, answered
        await self._input.send(SessionMessage(message))
        with suppress(TimeoutError):
            async with asyncio.timeout(_AT_ONCE_SECONDS):
                await answered.wait()

    async def end(self) -> None:
        """End the input; the loop finishes, and everything it wrote is forwarded."""
        await self._input.aclose()
        await asyncio.gather(self._loop, self._relay)
        await self._output.aclose()

    async def _forward(self) -> None:
        async for sent in self._output:
            message = sent.message
            await self._pipe.send(message)
            if self._awaited is not None and isinstance(message, JSONRPCResponse | JSONRPCError):
                request_id, answered = self._awaited
                if message.id == request_id:
                    answered.set()
