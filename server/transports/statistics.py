"""How a server tells how it is doing while it runs: to ``winnow stats``, and to its log.

Each server of a store, whatever its transport, listens on a socket of its own beside the engine's, in a folder
that only its owner may enter; the kernel says who is at the other end. A connection gets the figures as one JSON
document and nothing else: no request is read. Where there can be no such socket the server runs without.
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

from server import __version__
from server.engine import endpoint
from server.errors import WinnowError
from server.runtime.logs import log

if TYPE_CHECKING:
    from server.app import Application

_EVERY_SECONDS = 600.0
# The loop would take the file of the socket away by a name that only this process knows; ``place.shut`` does that.
_FILE_IS_OURS: Mapping[str, Any] = {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}
_ASK_SECONDS = 3.0
_MOST_BYTES = 4 * 1024 * 1024


class StatisticsSocket:
    """One server's socket and its lines in the log, while it is entered or until ``close``."""

    def __init__(self, application: Application, transport: str, every: float = _EVERY_SECONDS) -> None:
        self._application = application
        self._transport = transport
        self._every = every
        self._started = time.monotonic()
        self._store = application.settings.store
        self._door: endpoint.Listener | None = None
        self._server: asyncio.Server | None = None
        self._task: asyncio.Task[None] | None = None
        self._told: Mapping[str, Any] = {}

    async def __aenter__(self) -> StatisticsSocket:
        # Nothing is opened before the server has something to tell: a host's handshake is answered first.
        self._task = asyncio.get_running_loop().create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """The last line, and no socket any more."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._task = None
        if self._door is not None:
            await asyncio.to_thread(
                endpoint.close_listener, self._store, self._door, endpoint.server_socket_name(os.getpid())
            )
            self._door = None
        if self._server is not None:
            self._server.close()
        self._tell("stats at the end")

    async def figures(self) -> dict[str, Any]:
        """What is told of this server."""
        return {
            "pid": os.getpid(),
            "version": __version__,
            "transport": self._transport,
            "project": self._application.settings.project,
            "uptime_seconds": round(time.monotonic() - self._started),
            **await self._application.health(),
        }

    async def _watch(self) -> None:
        await self._application.started.wait()
        await self._application.ready()
        await self._listen()
        while True:
            await asyncio.sleep(self._every)
            self._tell("stats")

    async def _listen(self) -> None:
        if not endpoint.is_supported() or not self._store.is_dir():
            return
        try:
            self._door = await asyncio.to_thread(
                endpoint.open_listener, self._store, endpoint.server_socket_name(os.getpid())
            )
            self._server = await asyncio.start_unix_server(self._answer, sock=self._door.socket, **_FILE_IS_OURS)
        except (WinnowError, OSError) as error:
            log("winnow stats cannot ask this server", level=logging.WARNING, why=str(error))

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(_ASK_SECONDS):
                if endpoint.is_same_user(writer.get_extra_info("socket")):
                    writer.write(json.dumps(await self.figures(), default=str).encode())
                    await writer.drain()
        writer.close()

    def _tell(self, message: str) -> None:
        """A line with what was counted so far, if that is more than at the last one."""
        told = brief(self._application.kb.metrics.snapshot())
        if told != self._told:
            self._told = told
            log(message, **told)


def brief(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The sums of a process's figures, for a line of a log."""
    answers, scripts = figures["answers"].values(), figures["scripts"]
    verdicts: dict[str, int] = {}
    for calls in figures["calls"].values():
        for verdict, count in calls["verdicts"].items():
            verdicts[verdict] = verdicts.get(verdict, 0) + count
    return {
        "calls": sum(one["calls"] for one in answers),
        "verdicts": dict(sorted(verdicts.items())),
        "tokens": sum(one["tokens"] for one in answers),
        "largest_tokens": max((one["largest_tokens"] for one in answers), default=0),
        "scripts": scripts["executions"],
        "sdk_calls": scripts["sdk_calls"],
        "tokens_kept_out": scripts["tokens_kept_out"],
        "queue_waits": figures["queue_waits"]["waits"],
        "queue_seconds": figures["queue_waits"]["seconds"],
    }


def asked(store: Path) -> list[dict[str, Any]]:
    """What the servers of a store tell of themselves; one that does not answer is left out."""
    if not endpoint.is_supported():
        return []
    found = (_told_by(store, name) for name in endpoint.list_server_sockets(store))
    return sorted(filter(None, found), key=lambda one: int(one.get("pid", 0)))


def _told_by(store: Path, name: str) -> dict[str, Any] | None:
    with contextlib.suppress(OSError, ValueError, WinnowError):
        connection = endpoint.connect(store, name)
        if connection is None:
            endpoint.remove_socket(store, name)
        else:
            with connection:
                told = json.loads(_received(connection))
                return told if isinstance(told, dict) else None
    return None


def _received(connection: socket.socket) -> bytes:
    """All that the other end says within the time. Raises OSError where it says too much, or takes too long."""
    data, until = bytearray(), time.monotonic() + _ASK_SECONDS
    while len(data) < _MOST_BYTES:
        connection.settimeout(max(0.01, until - time.monotonic()))
        part = connection.recv(65_536)
        if not part:
            return bytes(data)
        data += part
    raise OSError("too much")
