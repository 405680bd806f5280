"""The engine's service: it owns the shared store, accepts clients and decides when the engine exits."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict
from typing import Any, Protocol

from pydantic import ValidationError

from winnow.server.engine import endpoint
from winnow.server.engine.client_connection import ClientConnection, Ingest, IngestJob
from winnow.server.engine.compatibility import (
    OWN_SETTINGS,
    SECRET_SETTINGS,
    build_id,
    describe_settings,
    find_conflicts,
    settings_to_json,
)
from winnow.server.engine.messages import Hello
from winnow.server.engine.wire import PROTOCOL, Message
from winnow.server.errors import WinnowError
from winnow.server.ingest.children.page_drawing import PageDrawing
from winnow.server.jobs.queue import JobQueue, JobRunner, RunJob
from winnow.server.jobs.records import Job, JobResult
from winnow.server.operations.knowledge import Store
from winnow.server.runtime.call_threads import AT_ONCE, CallThreads
from winnow.server.runtime.logs import log
from winnow.server.settings.settings import Settings
from winnow.server.text.sizes import count_of

_SECONDS_PER_MINUTE = 60
_PIDS_SHOWN = 5
# Each client has sessions, caches and a socket. A user runs a handful of hosts.
_MAX_CLIENTS = 64
_SHUTDOWN_SECONDS = 5.0
_FIRST_CLIENT_SECONDS = 10.0
# The loop must not delete the socket's file: ``endpoint.close_listener`` does.
_KEEP_SOCKET_FILE: Mapping[str, Any] = {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}


class _LazyStore:
    """The store, opened at its first use. If opening fails, the next use tries again."""

    def __init__(self, open_store: Callable[[], Store]) -> None:
        self._open_store = open_store
        self._lock = threading.Lock()
        self._store: Store | None = None

    def get(self) -> Store:
        """The open store. Blocks while it opens and raises what opening raises."""
        with self._lock:
            if self._store is None:
                self._store = self._open_store()
            return self._store

    def open_early(self) -> None:
        """Open the store before the first request; that request reports a failure."""
        with suppress(WinnowError):
            self.get()

    def waits(self) -> Message:
        """The times that readers waited for writers; empty before the store is open."""
        store = self._store
        return {name: asdict(summary) for name, summary in store.waits().items()} if store is not None else {}

    def close(self) -> None:
        with self._lock:
            if self._store is not None:
                self._store.close()


class StoreWatcher(Protocol):
    """Protocol of what watches the sources of a store (``server.jobs.watching``)."""

    def start(self) -> None:
        """Begin. Blocks, and raises ``WinnowError("INDEX_HELD")`` if another process watches the store."""

    def stop(self) -> bool:
        """End; blocks for seconds at most. False if an ingest has not ended."""

    def give_way(self) -> AbstractContextManager[None]:
        """A context for another ingest, in which those of the watcher wait."""


class EngineService:
    """Serves the clients of one store until a stop request, or until it has had no client for a while."""

    def __init__(
        self,
        settings: Settings,
        open_store: Callable[[], Store],
        ingest: Ingest,
        run_job: RunJob,
        make_watcher: Callable[[], StoreWatcher],
    ) -> None:
        self.settings = settings
        self.shared_store = _LazyStore(open_store)
        self.calls = CallThreads()
        self.page_drawing = PageDrawing(allows_weaker=settings.allow_weaker_reader)
        self.ingest = ingest
        self._run_job = run_job
        self.job_queue = JobQueue(settings.store, JobRunner(self.shared_store.get, self._run_before_watcher))
        self._make_watcher = make_watcher
        self._watcher: StoreWatcher | None = None
        self._watching_clients: set[ClientConnection] = set()
        self._watcher_turn = asyncio.Lock()
        self.clients: set[ClientConnection] = set()
        self.jobs: set[IngestJob] = set()
        self.requests: set[asyncio.Task[None]] = set()
        self._idle_seconds = settings.engine_idle_minutes * _SECONDS_PER_MINUTE
        self._started = time.monotonic()
        self._stopping = asyncio.Event()
        self._idle_timer: asyncio.TimerHandle | None = None

    async def serve(self, listener: endpoint.Listener) -> None:
        """Accept connections until it is time to stop, then remove the socket."""
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(AT_ONCE, thread_name_prefix="winnow-work"))
        server = await loop.create_unix_server(
            lambda: ClientConnection(self), sock=listener.socket, **_KEEP_SOCKET_FILE
        )
        loop.run_in_executor(None, self.shared_store.open_early)
        loop.run_in_executor(None, self.job_queue.wake)
        self._start_idle_timer(max(self._idle_seconds, _FIRST_CLIENT_SECONDS))
        await self._stopping.wait()
        endpoint.close_listener(self.settings.store, listener)
        server.close()

    def stop(self) -> None:
        """Make ``serve`` return."""
        self._stopping.set()

    async def close(self) -> None:
        """Stop running requests, disconnect all clients, close the store.

        Requests that do not end within seconds die with the process; the store survives that at any moment.
        """
        for job in self.jobs:
            job.stopped.set()
        has_ended = await self._stop_watcher()
        has_ended &= await asyncio.to_thread(self.job_queue.stop)
        if self.requests:
            await asyncio.wait(self.requests, timeout=_SHUTDOWN_SECONDS)
        if self.jobs or not has_ended:
            log("engine leaves in the middle of an ingest", level=30)
            os._exit(0)
        for client in list(self.clients):
            client.close()
        if not await self._end_calls():
            log("engine leaves in the middle of a call", level=30)
            os._exit(0)
        await asyncio.to_thread(self.shared_store.close)

    async def _end_calls(self) -> bool:
        for task in self.requests:
            task.cancel()
        closing = asyncio.get_running_loop().run_in_executor(None, self._close_threads)
        return bool((await asyncio.wait([closing], timeout=_SHUTDOWN_SECONDS))[0])

    def _close_threads(self) -> None:
        self.page_drawing.close()
        self.calls.close()

    def add_client(self, client: ClientConnection) -> None:
        """Register a client and stop the idle timer."""
        self.clients.add(client)
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def remove_client(self, client: ClientConnection) -> None:
        """Unregister a client; stop watching if no other client asked for it; start the idle timer."""
        self.clients.discard(client)
        if client in self._watching_clients:
            self._watching_clients.discard(client)
            task = asyncio.get_running_loop().create_task(self._end_unwanted_watching())
            self.requests.add(task)
            task.add_done_callback(self.requests.discard)
        if not self.clients:
            self._start_idle_timer(self._idle_seconds)

    async def watch(self, client: ClientConnection) -> None:
        """Watch the store's sources as long as this client, or another that asked, is connected.

        Raises ``WinnowError("INDEX_HELD")`` if another process watches them.
        """
        self._watching_clients.add(client)
        async with self._watcher_turn:
            if self._watcher is None:
                # Opened here, because the threads that opening starts would inherit the watcher's low priority.
                await asyncio.to_thread(self.shared_store.get)
                watcher = self._make_watcher()
                await asyncio.to_thread(watcher.start)
                self._watcher = watcher
        if client not in self.clients:
            self._watching_clients.discard(client)
            await self._end_unwanted_watching()

    def give_way(self) -> AbstractContextManager[None]:
        """Around an ingest of a client: the watcher's own waits."""
        return self._watcher.give_way() if self._watcher else nullcontext()

    def _run_before_watcher(self, job: Job, on_progress: Callable[[Any], None]) -> JobResult:
        with self.give_way():
            return self._run_job(job, on_progress)

    async def _end_unwanted_watching(self) -> None:
        if not self._watching_clients:
            await self._stop_watcher()

    async def _stop_watcher(self) -> bool:
        """Stop watching; False if an ingest of the watcher has not ended."""
        async with self._watcher_turn:
            watcher, self._watcher = self._watcher, None
            return await asyncio.to_thread(watcher.stop) if watcher else True

    def _start_idle_timer(self, seconds: float) -> None:
        self._idle_timer = asyncio.get_running_loop().call_later(seconds, self._leave_if_idle)

    def _leave_if_idle(self) -> None:
        """Leave, unless jobs are unfinished: they survive the servers that took them."""
        if self.job_queue.is_busy:
            self._start_idle_timer(self._idle_seconds)
        else:
            self.stop()

    def status(self) -> Message:
        """Facts for ``winnow engine status``, as JSON data."""
        now = time.monotonic()
        return {
            "pid": os.getpid(),
            "build": build_id(),
            "store": str(self.settings.store),
            "uptime_seconds": round(now - self._started, 1),
            "pss_mb": _pss_mb(),
            "idle_minutes": self.settings.engine_idle_minutes,
            "ingests": len(self.jobs) + self.job_queue.is_busy,
            "watching": self._watcher is not None,
            "waits": self.shared_store.waits(),
            "clients": [client.facts(now) for client in sorted(self.clients, key=lambda client: client.since)],
        }

    async def admit(self, hello: Hello) -> Settings:
        """Admit a client to the shared store; returns the settings that apply to it.

        Raises ``WinnowError`` for a client that cannot share this engine. If there is no other client, the engine
        leaves (``details.leaving``), so that this client can start one with its own build and settings.
        """
        if len(self.clients) >= _MAX_CLIENTS:
            raise WinnowError("QUEUE_FULL", f"{_MAX_CLIENTS} processes share this engine already", retryable=True)
        if (hello.protocol, hello.build) != (PROTOCOL, build_id()):
            raise self._refusal(f"runs another build of winnow ({build_id()}; this is {str(hello.build)[:80]})")
        ours = await asyncio.to_thread(describe_settings, self.settings)
        if conflicts := find_conflicts(ours, hello.settings):
            raise self._refusal(f"works under other settings ({', '.join(conflicts)})")
        own = {name: value for name, value in hello.settings.items() if name in OWN_SETTINGS}
        secrets = {name: getattr(self.settings, name) for name in SECRET_SETTINGS}
        try:
            return Settings(**{**settings_to_json(self.settings), **secrets, **own})
        except ValidationError as error:
            raise WinnowError("INVALID_REQUEST", f"settings: {error.error_count()} are invalid") from None

    def _refusal(self, why: str) -> WinnowError:
        is_alone = not self.clients
        if is_alone:
            self.stop()
        return WinnowError(
            "INDEX_HELD",
            f"the engine of {self.settings.store}, process {os.getpid()}, {why}; it {self._describe_clients()}",
            retryable=True,
            details={"pid": os.getpid(), "leaving": is_alone},
        )

    def _describe_clients(self) -> str:
        """The number of clients, their processes and work, and advice on ending them."""
        if not self.clients:
            return "has no other client and leaves now; try again"
        pids = sorted({client.facts(0.0)["pid"] for client in self.clients})
        named = f"{'process' if len(pids) == 1 else 'processes'} {', '.join(map(str, pids[:_PIDS_SHOWN]))}"
        watching = len(self._watching_clients)
        watches = f"; {watching:,} {'watches' if watching == 1 else 'watch'} files" if watching else ""
        return (
            f"has {count_of(len(self.clients), 'client')} ({named}{watches}): restart "
            f"{'it' if len(pids) == 1 else 'them'}, or end the engine with: winnow engine stop"
        )


def _pss_mb() -> float:
    """Proportional set size of this process in MB; 0 if the kernel does not tell."""
    try:
        with open("/proc/self/smaps_rollup", encoding="ascii") as file:
            kilobytes = next(line.split()[1] for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0.0
    return round(int(kilobytes) / 1024, 1)
