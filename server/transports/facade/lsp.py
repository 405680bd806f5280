"""The façade over stdin and stdout: JSON-RPC 2.0 in frames of the Language Server Protocol.

One task reads frames and starts a task for each request, so that a slow call holds up no other and can be
cancelled. At the end of the input, answers that are being made are still written; then the server ends.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any, BinaryIO

from winnow.server.errors import WinnowError, ending_error, internal_error
from winnow.server.runtime.draining import Drain
from winnow.server.runtime.logs import log
from winnow.server.runtime.reports.traces import continued, span
from winnow.server.runtime.standard_streams import take_standard_streams
from winnow.server.transports.facade import lsp_frames
from winnow.server.transports.facade.lsp_frames import (
    BrokenStream,
    FrameDecoder,
    LspRequest,
    RequestId,
    UnreadableBody,
)
from winnow.server.transports.facade.problems import FacadeProblem, Refusal, problem_of_error, refusal
from winnow.server.transports.facade.service import FacadeClient, FacadeService, Invocation

# Answered at the same time. A call that waits for its turn is refused, so that cancelling is still read.
MAX_REQUESTS = 64
_CHUNK_BYTES = 64 * 1024

_Method = Callable[[FacadeClient, Mapping[str, Any]], Awaitable[Any]]


async def serve_lsp(facade: FacadeService, drain: Drain) -> None:
    """Serve until the client closes stdin. ``drain`` learns which requests are in progress."""
    with take_standard_streams() as (incoming, outgoing):
        await LspServer(facade, incoming, outgoing, drain).serve()


class LspServer:
    """Serves one client over two binary files. ``incoming`` is unbuffered, or returns what is there.

    While ``drain`` drains, requests are refused.
    """

    def __init__(
        self, facade: FacadeService, incoming: BinaryIO, outgoing: BinaryIO, drain: Drain | None = None
    ) -> None:
        self._facade = facade
        self._drain = drain or Drain()
        self._incoming = incoming
        self._outgoing = outgoing
        self._client = FacadeClient(secrets.token_hex(16))
        # Requests whose answer has not been made: their ids are taken, and they can be cancelled.
        self._open: dict[RequestId, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()  # of those, and of answers that are being written
        # Separate threads: the shared ones may all be busy with searches.
        self._reader, self._writer = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._methods: Mapping[str, _Method] = MappingProxyType(
            {
                "mcp.discover": self._discover,
                "mcp.prompt.get": self._get_prompt,
                "mcp.tool.invoke": self._invoke,
            }
        )

    async def serve(self) -> None:
        """Answer requests until the input ends or cannot be read on."""
        try:
            await self._read_all()
            await asyncio.gather(*self._tasks)
        finally:
            for pool in (self._reader, self._writer):
                pool.shutdown(wait=False)

    async def _read_all(self) -> None:
        loop, frames = asyncio.get_running_loop(), FrameDecoder()
        try:
            while data := await loop.run_in_executor(self._reader, self._read):
                for body in frames.feed(data):
                    await self._take(body)
            frames.end()
        except BrokenStream as broken:
            log("the stream is broken and is read no further", level=logging.WARNING, why=str(broken))
            await self._fail(None, lsp_frames.PARSE_ERROR, f"{broken}; the stream is read no further")

    def _read(self) -> bytes:
        read: Callable[[int], bytes] = getattr(self._incoming, "read1", self._incoming.read)
        return read(_CHUNK_BYTES)

    async def _take(self, body: bytes) -> None:
        try:
            request = lsp_frames.parse_request(body)
        except UnreadableBody as unreadable:
            await self._fail(unreadable.id, unreadable.code, str(unreadable))
            return
        if request is None:
            return
        if request.id is None:
            self._notice(request)
        elif self._drain.is_draining:
            await self._refuse(request.id, ending_error())
        elif request.id in self._open:
            await self._fail(request.id, lsp_frames.INVALID_REQUEST, "a request with this id is being answered")
        elif len(self._tasks) >= MAX_REQUESTS:
            busy = WinnowError("QUEUE_FULL", f"{MAX_REQUESTS} requests are being answered", retryable=True)
            await self._refuse(request.id, busy)
        else:
            await self._start(request.id, request)

    def _notice(self, notification: LspRequest) -> None:
        """Handle a notification; unknown ones are ignored, as the protocol says."""
        id = notification.params.get("id")
        if notification.method == "$/cancelRequest" and isinstance(id, str | int) and id in self._open:
            self._open[id].cancel()

    async def _start(self, id: RequestId, request: LspRequest) -> None:
        task = self._open[id] = asyncio.create_task(self._answer(id, request))
        self._tasks.add(task)
        self._drain.begin_request()
        task.add_done_callback(self._end)
        await asyncio.sleep(0)  # until it begins: a task that is cancelled before that never answers

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._drain.end_request()

    async def _answer(self, id: RequestId, request: LspRequest) -> None:
        try:
            answer = await self._answer_of(request)
        except asyncio.CancelledError:
            answer = _failure(lsp_frames.REQUEST_CANCELLED, "the request was cancelled")
        # Before the answer is written: a client may use the id again as soon as it has read it.
        del self._open[id]
        await self._send({"id": id, **answer})

    async def _answer_of(self, request: LspRequest) -> Mapping[str, Any]:
        """The result or the error of a request."""
        method = self._methods.get(request.method)
        if method is None:
            known = ", ".join(self._methods)
            return _failure(lsp_frames.METHOD_NOT_FOUND, f"unknown method; this server has: {known}")
        try:
            with continued(request.params.get("_meta")), span("request", "server", method=request.method):
                return {"result": await method(self._client, request.params)}
        except Refusal as refused:
            return _refusal(lsp_frames.INVALID_PARAMS, refused.problem)
        except WinnowError as error:
            return _refusal(lsp_frames.SERVER_ERROR, problem_of_error(error))
        except Exception:
            log("request failed", exc_info=True, level=logging.ERROR)
            return _refusal(lsp_frames.SERVER_ERROR, problem_of_error(internal_error()))

    async def _discover(self, client: FacadeClient, params: Mapping[str, Any]) -> Any:
        return await self._facade.discover(client)

    async def _get_prompt(self, client: FacadeClient, params: Mapping[str, Any]) -> Any:
        domain, name, major = (params.get(part) for part in ("domain", "name", "major"))
        arguments = params.get("arguments", {})
        if not (isinstance(domain, str) and isinstance(name, str) and type(major) is int):
            raise refusal("INVALID_REQUEST", "mcp.prompt.get takes domain, name, and major, a whole number")
        if not isinstance(arguments, dict) or not all(isinstance(value, str) for value in arguments.values()):
            raise refusal("INVALID_REQUEST", "arguments of a prompt are an object of texts")
        return await self._facade.prompt(client, domain, name, major, arguments)

    async def _invoke(self, client: FacadeClient, params: Mapping[str, Any]) -> Any:
        tool, key = params.get("tool"), params.get("idempotencyKey")
        if not isinstance(tool, str) or not isinstance(key, str | None):
            raise refusal("INVALID_REQUEST", "mcp.tool.invoke takes tool, input, and idempotencyKey, if any")
        keys = () if key is None else (key,)
        envelope = await self._facade.invoke(client, Invocation(tool, params.get("input", {}), keys))
        return envelope.as_json()

    async def _refuse(self, id: RequestId, error: WinnowError) -> None:
        await self._send({"id": id, **_refusal(lsp_frames.SERVER_ERROR, problem_of_error(error))})

    async def _fail(self, id: RequestId | None, code: int, message: str) -> None:
        await self._send({"id": id, **_failure(code, message)})

    async def _send(self, message: Mapping[str, Any]) -> None:
        frame = lsp_frames.encode_frame({"jsonrpc": "2.0", **message})
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._writer, self._write, frame))

    def _write(self, frame: bytes) -> None:
        try:
            self._outgoing.write(frame)
            self._outgoing.flush()
        except (OSError, ValueError) as error:  # the client has stopped reading and will close its other end too
            log("the client does not read its answers", error=type(error).__name__)


def _refusal(code: int, problem: FacadeProblem) -> Mapping[str, Any]:
    return {"error": {"code": code, "message": problem.message, "data": problem.as_json()}}


def _failure(code: int, message: str) -> Mapping[str, Any]:
    return {"error": {"code": code, "message": message}}
