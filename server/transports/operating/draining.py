"""The end of an HTTP server on SIGTERM: it stops taking calls, answers those in progress, and exits with 0.

While it ends it still accepts connections, so that ``/health/ready`` can say so and clients are told when to come
back. Event streams are no calls: they are closed at the end.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import uvicorn
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from winnow.server.errors import WinnowError, ending_error
from winnow.server.runtime.draining import Drain
from winnow.server.runtime.metrics import Metrics

# Routes that a server answers to its end: what operators look at.
_OPERATORS_ROUTES = frozenset({"/health", "/health/live", "/health/ready", "/metrics"})
# The header of a request that stays open for events, in the protocol of 2026.
_LISTENS = (b"mcp-method", b"subscriptions/listen")
# In a request's scope: the reason of its refusal, where its route states one. A status has several of them.
REFUSAL = "winnow.refusal"
# The reason of a refusal by its status, where no route stated one.
_REASONS = {
    400: "malformed",
    401: "unauthorized",
    403: "forbidden",
    404: "not found",
    405: "method",
    406: "not acceptable",
    413: "too large",
    421: "wrong host",
    429: "too many wrong keys",
    503: "unavailable",
}


class CountedRequests:
    """ASGI middleware that counts requests in progress and refusals, and refuses calls while the server ends.

    Refused are calls that come then, and those in progress that the end gives up. A GET of ``stream_path`` stays
    open for events. ``body_of`` builds the JSON body of a refusal from the path and the error.
    """

    def __init__(
        self,
        app: ASGIApp,
        drain: Drain,
        metrics: Metrics,
        body_of: Callable[[str, WinnowError], Any],
        *,
        stream_path: str,
    ) -> None:
        self._app = app
        self._drain = drain
        self._metrics = metrics
        self._body_of = body_of
        self._stream_path = stream_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        sent: list[Message] = []

        async def count_and_send(message: Message) -> None:
            sent[:] = [message]
            if message["type"] == "http.response.start":
                self._count(scope.get(REFUSAL, ""), message["status"])
            await send(message)

        try:
            if scope["path"] in _OPERATORS_ROUTES or self._is_stream(scope):
                await self._app(scope, receive, count_and_send)
            elif self._drain.is_draining:
                await self._refuse(scope["path"])(scope, receive, count_and_send)
            else:
                with self._drain.request():
                    await self._app(scope, receive, count_and_send)
        except asyncio.CancelledError:
            if not self._drain.is_draining:
                raise
            await self._give_up(scope, receive, count_and_send, sent)

    async def _give_up(self, scope: Scope, receive: Receive, send: Send, sent: Sequence[Message]) -> None:
        """Complete an answer that the server's end cut off; where nothing was ``sent``, say why.

        uvicorn would send a 500 without a word about the end, or log an error about what is none.
        """
        if not sent:
            await self._refuse(scope["path"])(scope, receive, send)
        elif sent[-1]["type"] == "http.response.start" or sent[-1].get("more_body"):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _is_stream(self, scope: Scope) -> bool:
        return (scope["method"], scope["path"]) == ("GET", self._stream_path) or _LISTENS in scope["headers"]

    def _refuse(self, path: str) -> JSONResponse:
        error = ending_error()
        # Closed, because the body of the request has not been read.
        headers = {"retry-after": f"{error.retry_after_s:.0f}", "connection": "close"}
        return JSONResponse(self._body_of(path, error), 503, headers)

    def _count(self, stated: str, status: int) -> None:
        if status >= 400:
            self._metrics.count_refusal("http", stated or _REASONS.get(status, "other"))


class DrainingServer(uvicorn.Server):
    """uvicorn's server, which drains on SIGTERM; a second signal, and Ctrl-C, give up what is in progress."""

    def __init__(self, config: uvicorn.Config, drain: Drain, drain_seconds: float) -> None:
        super().__init__(config)
        self._drain = drain
        self._drain_seconds = drain_seconds
        self._ending: asyncio.Task[None] | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Callback of uvicorn: a signal arrived."""
        if sig != signal.SIGTERM or self._drain.is_draining:
            super().handle_exit(sig, frame)
            return
        # At once, though the loop may be busy: a second signal must find it. Not passed on: the exit code is 0.
        self._drain.begin()
        self._loop.call_soon_threadsafe(self._begin_to_end)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Callback of uvicorn: it begins to accept connections."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Callback of uvicorn: it ends. What is left by now ends at once; uvicorn would wait, and log an error."""
        self._drain.begin()
        for request in list(self.server_state.tasks):
            request.cancel()
        await super().shutdown(sockets)

    def _begin_to_end(self) -> None:
        self._ending = self._loop.create_task(self._end())

    async def _end(self) -> None:
        await self._drain.finish(self._drain_seconds)
        self.should_exit = True
