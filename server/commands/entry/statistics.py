"""Statistics of a running server, for ``winnow stats`` and for its log.

Each server of a store, whatever its transport, listens on a socket of its own beside the engine's, in a folder
that only its owner may enter; the kernel reports the user at the other end. A connection gets the statistics as
one JSON document; no request is read. Where such a socket is not possible, the server runs without it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winnow.server.engine import endpoint
from winnow.server.errors import WinnowError
from winnow.server.runtime.logs import log

if TYPE_CHECKING:
    from winnow.server.commands.entry.app import Application

_EVERY_SECONDS = 600.0
# How often capacities are looked at where nobody reads the metrics.
_ALERT_SECONDS = 15.0
# The event loop would remove the socket's file by a name that only this process knows; ``endpoint`` removes it.
_FILE_IS_OURS: Mapping[str, Any] = {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}
_ASK_SECONDS = 3.0
_MAX_BYTES = 4 * 1024 * 1024


class StatisticsSocket:
    """A server's statistics socket and its periodic log lines, from entering the context until ``close``."""

    def __init__(self, application: Application, transport: str, every: float = _EVERY_SECONDS) -> None:
        self._application = application
        self._transport = transport
        self._every = every
        self._store = application.settings.store
        self._listener: endpoint.Listener | None = None
        self._server: asyncio.Server | None = None
        self._task: asyncio.Task[None] | None = None
        self._last_logged: Mapping[str, Any] = {}

    async def __aenter__(self) -> StatisticsSocket:
        # The socket opens only after the host's handshake has been answered.
        self._task = asyncio.get_running_loop().create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the socket and write the last log line."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._task = None
        if self._listener is not None:
            await asyncio.to_thread(
                endpoint.close_listener, self._store, self._listener, endpoint.server_socket_name(os.getpid())
            )
            self._listener = None
        if self._server is not None:
            self._server.close()
        self._log_changes("stats at the end")

    async def collect(self) -> dict[str, Any]:
        """The statistics of this server."""
        return {
            "pid": os.getpid(),
            "transport": self._transport,
            "project": self._application.settings.project,
            "projects": [*self._application.settings.reachable],
            **await self._application.health(),
        }

    async def _watch(self) -> None:
        await self._application.started.wait()
        await self._application.ready()
        await self._listen()
        until = time.monotonic() + self._every
        while True:
            await asyncio.sleep(min(self._every, _ALERT_SECONDS))
            await self._application.health()  # logs what is nearly used up
            if time.monotonic() >= until:
                self._log_changes("stats")
                until = time.monotonic() + self._every

    async def _listen(self) -> None:
        if not endpoint.is_supported() or not self._store.is_dir():
            return
        try:
            self._listener = await asyncio.to_thread(
                endpoint.open_listener, self._store, endpoint.server_socket_name(os.getpid())
            )
            self._server = await asyncio.start_unix_server(
                self._answer, sock=self._listener.socket, **_FILE_IS_OURS
            )
        except (WinnowError, OSError) as error:
            log("winnow stats cannot ask this server", level=logging.WARNING, why=str(error))

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(_ASK_SECONDS):
                if endpoint.is_same_user(writer.get_extra_info("socket")):
                    writer.write(json.dumps(await self.collect(), default=str).encode())
                    await writer.drain()
        writer.close()

    def _log_changes(self, message: str) -> None:
        """Log the counts so far, if they changed since the last log line."""
        summary = summarize_metrics(self._application.kb.metrics.snapshot())
        if summary != self._last_logged:
            self._last_logged = summary
            log(message, **summary)


def summarize_metrics(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """The sums of a process's metrics, for one log line."""
    answers, scripts = metrics["answers"].values(), metrics["scripts"]
    verdicts: dict[str, int] = {}
    for calls in metrics["calls"].values():
        for verdict, count in calls["verdicts"].items():
            verdicts[verdict] = verdicts.get(verdict, 0) + count
    return {
        "calls": sum(answer["calls"] for answer in answers),
        "verdicts": dict(sorted(verdicts.items())),
        "tokens": sum(answer["tokens"] for answer in answers),
        "largest_tokens": max((answer["largest_tokens"] for answer in answers), default=0),
        "scripts": scripts["executions"],
        "sdk_calls": scripts["sdk_calls"],
        "tokens_kept_out": scripts["tokens_kept_out"],
        "queue_waits": metrics["queue_waits"]["waits"],
        "queue_seconds": metrics["queue_waits"]["seconds"],
    }


def ask_servers(store: Path) -> list[dict[str, Any]]:
    """The statistics of all running servers of a store; a server that does not answer is left out."""
    if not endpoint.is_supported():
        return []
    answers = (_ask_server(store, name) for name in endpoint.list_server_sockets(store))
    return sorted(filter(None, answers), key=lambda answer: int(answer.get("pid", 0)))


def _ask_server(store: Path, name: str) -> dict[str, Any] | None:
    with contextlib.suppress(OSError, ValueError, WinnowError):
        connection = endpoint.connect(store, name)
        if connection is None:
            endpoint.remove_socket(store, name)
        else:
            with connection:
                answer = json.loads(_read_all(connection))
                return answer if isinstance(answer, dict) else None
    return None


def _read_all(connection: socket.socket) -> bytes:
    """Read until the other end closes. Raises OSError for too much data or if it takes too long."""
    data, until = bytearray(), time.monotonic() + _ASK_SECONDS
    while len(data) < _MAX_BYTES:
        connection.settimeout(max(0.01, until - time.monotonic()))
        part = connection.recv(65_536)
        if not part:
            return bytes(data)
        data += part
    raise OSError("the answer is too long")
