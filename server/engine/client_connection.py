"""One client's connection to the engine, and the requests that it may send.

A client's frame is as hostile as a script's frame: its shape is checked here, its values are validated where
direct calls are, and a request that is not in the table ``_HANDLERS`` ends the connection.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any, Protocol

from winnow.server.engine import endpoint
from winnow.server.engine.messages import (
    CallRequest,
    Hello,
    Welcome,
    answer_to_json,
    error_to_json,
    ingest_request_of,
    read_field,
    read_seconds,
)
from winnow.server.engine.wire import REPLIES, REQUESTS, Connection, Message, WireError
from winnow.server.errors import WinnowError
from winnow.server.ingest.children.page_drawing import PageDrawing
from winnow.server.ingest.selection.request import IngestRequest
from winnow.server.jobs.queue import JobQueue
from winnow.server.operations.knowledge import DIRECT, SCRIPT, KnowledgeBase, Store
from winnow.server.runtime.call_threads import CallThreads
from winnow.server.runtime.deadlines import deadline_after, use_deadline
from winnow.server.runtime.logs import log
from winnow.server.runtime.priority import lower_priority
from winnow.server.runtime.reports.traces import continued
from winnow.server.settings.settings import Settings

# A well-behaved client has at most ten requests running.
_MAX_REQUESTS = 256


class WorkCancelled(Exception):
    """The client has stopped this ingest or has disconnected."""


@dataclass(frozen=True, slots=True, eq=False)
class IngestJob:
    """An ingest that runs for a client; ``stopped`` is set when it should end."""

    request: IngestRequest
    stopped: threading.Event = field(default_factory=threading.Event)

    def raise_if_stopped(self) -> None:
        """Raise ``WorkCancelled`` if the ingest should end."""
        if self.stopped.is_set():
            raise WorkCancelled


# Runs an ingest into the open store under these settings; returns its report as JSON data. Called in a thread.
Ingest = Callable[[Settings, IngestJob, Callable[[Any], None]], dict[str, Any]]


class SharedStore(Protocol):
    """Protocol of the store that all clients of an engine share, opened at its first use."""

    def get(self) -> Store:
        """The open store. Blocks while it opens and raises what opening raises."""


class Service(Protocol):
    """Protocol of the engine (service.py), as far as a connection needs it."""

    settings: Settings
    calls: CallThreads
    ingest: Ingest
    clients: set[ClientConnection]
    jobs: set[IngestJob]
    job_queue: JobQueue
    page_drawing: PageDrawing
    requests: set[asyncio.Task[None]]

    @property
    def shared_store(self) -> SharedStore:
        """The store that all clients share."""

    async def admit(self, hello: Hello) -> Settings:
        """The settings of a client that may use this engine; raises WinnowError for another one."""

    def add_client(self, client: ClientConnection) -> None:
        """Register a client."""

    def remove_client(self, client: ClientConnection) -> None:
        """Forget a client."""

    async def watch(self, client: ClientConnection) -> None:
        """Watch the sources of the store as long as this client, or another that asked, is connected."""

    def give_way(self) -> AbstractContextManager[None]:
        """Around an ingest of a client: the watcher's own waits."""

    def status(self) -> Message:
        """The engine's process, memory, clients and waits."""

    def stop(self) -> None:
        """End the engine."""


class ClientConnection(Connection):
    """One connection. It counts as a client once its hello is accepted."""

    def __init__(self, service: Service) -> None:
        super().__init__(REQUESTS, REPLIES, self._on_request, self._on_disconnect)
        self.since = time.monotonic()
        self.kb: KnowledgeBase | None = None
        self.settings = service.settings
        self._service = service
        self._peer = endpoint.Peer(0, -1)
        self._call_count = self._running = 0
        self._is_greeted = False
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._jobs: dict[int, IngestJob] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Disconnect processes of other users."""
        super().connection_made(transport)
        self._peer = endpoint.peer_of(transport.get_extra_info("socket"))
        if self._peer.uid != os.geteuid():
            log("a process of another user was turned away", level=30, pid=self._peer.pid, uid=self._peer.uid)
            self.abort()

    def facts(self, now: float) -> Message:
        """The row of a client in ``winnow engine status``."""
        return {
            "pid": self._peer.pid,
            "project": self.settings.project,
            "seconds": round(now - self.since, 1),
            "calls": self._call_count,
        }

    def _on_request(self, message: Message) -> None:
        name = message.get("do")
        request = _HANDLERS.get(name) if isinstance(name, str) else None
        if request is None or (self.kb is None and name not in _BEFORE_HELLO):
            raise WireError("unknown request")
        self._running += 1
        task = asyncio.get_running_loop().create_task(self._answer(request, message))
        self._service.requests.add(task)
        task.add_done_callback(self._service.requests.discard)
        if name == _CALL:
            number = message["id"]
            self._calls[number] = task
            task.add_done_callback(lambda done: self._calls.pop(number, None))

    async def _answer(
        self, request: Callable[[ClientConnection, Message], Awaitable[Any]], message: Message
    ) -> None:
        number = message["id"]
        try:
            if not self.is_open:
                raise WireError("it left before its request began")
            if self._running > _MAX_REQUESTS:
                raise WinnowError("QUEUE_FULL", "too many calls at once; wait for some answers", retryable=True)
            reply = {"id": number, "ok": await request(self, message)}
        except WireError as error:
            log("a client is disconnected", level=30, pid=self._peer.pid, why=str(error))
            self.abort()
            return
        except Exception as error:
            if not isinstance(error, WinnowError):
                log("request failed", level=40, exc_info=True)
            reply = {"id": number, "error": error_to_json(error)}
        finally:
            self._running -= 1
        try:
            self.send(reply)
        except (WinnowError, TypeError, ValueError) as error:
            self.send({"id": number, "error": error_to_json(error)})

    def _on_disconnect(self) -> None:
        for job in self._jobs.values():
            job.stopped.set()
        for call in self._calls.values():
            call.cancel()
        if self.kb is not None:
            self._service.remove_client(self)
            # Closing may wait until the store is open, so it runs in a thread.
            asyncio.get_running_loop().run_in_executor(None, self.kb.close)
            log("client left", pid=self._peer.pid, calls=self._call_count)

    # --- requests: each takes the whole message and reads the fields that it uses

    async def hello(self, message: Message) -> Message:
        if self._is_greeted:
            raise WireError("hello twice")
        self._is_greeted = True
        hello = Hello.from_message(message)
        self.settings = await self._service.admit(hello)
        if not self.is_open:  # registered now, it would stay a client for ever
            raise WireError("it left before it was admitted")

        def get_store() -> Store:
            store = self._service.shared_store.get()
            if hello.waits_for_model:
                store.embedder.wait()
            return store

        self.kb = KnowledgeBase(
            get_store,
            self.settings,
            calls=self._service.calls,
            jobs=self._service.job_queue,
            page_drawing=self._service.page_drawing,
        )
        self._service.add_client(self)
        log("client came", pid=self._peer.pid, clients=len(self._service.clients))
        return asdict(Welcome(os.getpid(), self.kb.tokenizer))

    async def open(self, message: Message) -> Message:
        await self._kb.open()
        return {}

    async def load(self, message: Message) -> Message:
        await self._kb.load()
        return {}

    async def call(self, message: Message) -> Message:
        self._call_count += 1
        request = CallRequest.from_message(message)
        budget = SCRIPT if request.script else DIRECT
        caller = replace(self._kb.caller(request.connection, budget, request.run), is_fresh=request.fresh)
        with use_deadline(deadline_after(read_seconds(message))), continued(message.get("trace")):
            return answer_to_json(await self._kb.call(request.operation, request.arguments, caller))

    async def passage(self, message: Message) -> Message:
        session_id, stored = await self._kb.passage(
            read_field(message, "connection", str), read_field(message, "passage_id", str)
        )
        return {"session_id": session_id, "kept": asdict(stored) if stored else None}

    async def passage_ids(self, message: Message) -> Message:
        session_id, ids = await self._kb.passage_ids(
            read_field(message, "connection", str),
            read_field(message, "prefix", str),
            read_field(message, "limit", int),
        )
        return {"session_id": session_id, "ids": ids}

    async def counters(self, message: Message) -> Message:
        return asdict(await self._kb.counters())

    async def count_tokens(self, message: Message) -> Message:
        return {"tokens": await self._kb.count_tokens(read_field(message, "text", str))}

    async def first_tokens(self, message: Message) -> Message:
        text = await self._kb.first_tokens(read_field(message, "text", str), read_field(message, "n", int))
        return {"characters": len(text)}

    async def ingest(self, message: Message) -> Message:
        """Run an ingest; the answer has its report, or None if the client stopped it."""
        number, job = message["id"], IngestJob(ingest_request_of(message))
        loop = asyncio.get_running_loop()

        def on_progress(progress: Any) -> None:
            job.raise_if_stopped()
            loop.call_soon_threadsafe(self.send, {"id": number, "progress": asdict(progress)})

        def run() -> dict[str, Any] | None:
            try:
                job.raise_if_stopped()
                lower_priority()
                with self._service.give_way():
                    return self._service.ingest(self.settings, job, on_progress)
            except WorkCancelled:
                return None

        self._jobs[number] = job
        self._service.jobs.add(job)
        thread = ThreadPoolExecutor(1, thread_name_prefix="winnow-ingest")
        try:
            # Opened here, because the threads that opening starts would inherit the ingest's low priority.
            await asyncio.to_thread(self._service.shared_store.get)
            return {"report": await loop.run_in_executor(thread, run)}
        finally:
            thread.shutdown(wait=False)
            self._service.jobs.discard(job)
            del self._jobs[number]

    async def watch(self, message: Message) -> Message:
        """Watch the store's sources until this client disconnects."""
        await self._service.watch(self)
        return {}

    async def interrupt(self, message: Message) -> Message:
        """Stop an ingest where it can be resumed, and a call at its next check of the deadline."""
        number = read_field(message, "of", int)
        if number in self._jobs:
            self._jobs[number].stopped.set()
        if number in self._calls:
            self._calls[number].cancel()
        return {}

    async def status(self, message: Message) -> Message:
        return await asyncio.to_thread(self._service.status)

    async def stop(self, message: Message) -> Message:
        log("engine was told to leave", pid=self._peer.pid)
        asyncio.get_running_loop().call_soon(self._service.stop)
        return {"pid": os.getpid()}

    @property
    def _kb(self) -> KnowledgeBase:
        assert self.kb is not None  # checked in _on_request
        return self.kb


_CALL = "call"
_HANDLERS: Mapping[str, Callable[[ClientConnection, Message], Awaitable[Any]]] = MappingProxyType(
    {
        "hello": ClientConnection.hello,
        "status": ClientConnection.status,
        "stop": ClientConnection.stop,
        "open": ClientConnection.open,
        "load": ClientConnection.load,
        _CALL: ClientConnection.call,
        "passage": ClientConnection.passage,
        "passage_ids": ClientConnection.passage_ids,
        "counters": ClientConnection.counters,
        "count_tokens": ClientConnection.count_tokens,
        "first_tokens": ClientConnection.first_tokens,
        "ingest": ClientConnection.ingest,
        "watch": ClientConnection.watch,
        "interrupt": ClientConnection.interrupt,
    }
)
# Requests that an engine answers to clients of any build.
_BEFORE_HELLO = frozenset({"hello", "status", "stop"})
