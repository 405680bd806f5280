"""The engine's side of the socket: a library for all, and for each client a knowledge base of its own over it.

A frame of a client is as hostile as a frame of a sandbox: its shape is looked at, its values are validated where
direct calls are, and what is no request of the table ``_REQUESTS`` ends the connection.
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from server.engine import endpoint
from server.engine.wire import (
    OWN_SETTINGS,
    PROTOCOL,
    REPLIES,
    REQUESTS,
    SECRET_SETTINGS,
    Connection,
    Message,
    WireError,
    build,
    disagreement,
    from_answer,
    from_error,
    introduction,
    plain,
)
from server.errors import WinnowError
from server.knowledge import DIRECT, SCRIPT, KnowledgeBase, Library
from server.runtime.call_threads import AT_ONCE, CallThreads
from server.runtime.deadlines import after, within
from server.runtime.logs import log
from server.settings import Settings

_SECONDS_PER_MINUTE = 60
# Each has sessions, caches and a socket. A person's hosts are a handful.
_MOST_CLIENTS = 64
# One that means it well has ten calls under way.
_MOST_UNDER_WAY = 256
_STEPS_BACK = 10  # of niceness: a tenth of a processor that queries want, all of one that they do not
_LEAVE_SECONDS = 5.0
_FIRST_SECONDS = 10.0  # until whoever started this has come
_MOST_PATHS = 100_000
# The loop would take the file of the socket away, by a name that only the keeper knows; ``place.shut`` does that.
_FILE_IS_OURS: Mapping[str, Any] = {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}


class WorkCancelled(Exception):
    """Whoever wanted this work does not want it any more."""


@dataclass(frozen=True, slots=True, eq=False)
class IngestJob:
    """An ingest as a client asks for it: absolute paths, labels by name; ``stopped`` once it shall end."""

    paths: tuple[str, ...]
    labels: Mapping[str, str]
    stopped: threading.Event = field(default_factory=threading.Event)

    def go_on(self) -> None:
        """Raise ``WorkCancelled`` if it shall end."""
        if self.stopped.is_set():
            raise WorkCancelled


# Into the open library, under these settings: the report as JSON data. Called in a thread.
Ingest = Callable[[Settings, IngestJob, Callable[[Any], None]], dict[str, Any]]


class _Shared:
    """The library, opened by whoever needs it first; one that did not open is tried again by the next."""

    def __init__(self, open_library: Callable[[], Library]) -> None:
        self._open_library = open_library
        self._lock = threading.Lock()
        self._library: Library | None = None

    def get(self) -> Library:
        """The open library. Blocks while it opens; raises what opening raises."""
        with self._lock:
            if self._library is None:
                self._library = self._open_library()
            return self._library

    def open_early(self) -> None:
        """Open it for whoever is about to come; what fails is said to them."""
        with suppress(WinnowError):
            self.get()

    def waits(self) -> Message:
        """What its readers waited for writers; nothing before it is open."""
        library = self._library
        return {name: asdict(one) for name, one in library.waits().items()} if library is not None else {}

    def close(self) -> None:
        with self._lock:
            if self._library is not None:
                self._library.close()


class EngineService:
    """Serves the clients of one store until it is told to leave, or nobody has been there for a while."""

    def __init__(self, settings: Settings, open_library: Callable[[], Library], ingest: Ingest) -> None:
        self.settings = settings
        self.shared = _Shared(open_library)
        self.calls = CallThreads()
        self.ingest = ingest
        self.clients: set[ClientConnection] = set()
        self.works: set[IngestJob] = set()
        self.under_way: set[asyncio.Task[None]] = set()
        self._idle_seconds = settings.engine_idle_minutes * _SECONDS_PER_MINUTE
        self._since = time.monotonic()
        self._leaving = asyncio.Event()
        self._alone: asyncio.TimerHandle | None = None

    async def serve(self, door: endpoint.Listener) -> None:
        """Accept connections until it is time to leave; then nobody finds the socket any more."""
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(AT_ONCE, thread_name_prefix="winnow-work"))
        server = await loop.create_unix_server(lambda: ClientConnection(self), sock=door.socket, **_FILE_IS_OURS)
        loop.run_in_executor(None, self.shared.open_early)
        self._wait_for_clients(max(self._idle_seconds, _FIRST_SECONDS))
        await self._leaving.wait()
        endpoint.shut(self.settings.store, door)
        server.close()

    def leave(self) -> None:
        """It is time to leave."""
        self._leaving.set()

    async def close(self) -> None:
        """Stop what is under way, cut off who is still there, close the library.

        What does not end within seconds dies with the process: the store survives that at any moment.
        """
        for work in self.works:
            work.stopped.set()
        if self.under_way:
            await asyncio.wait(self.under_way, timeout=_LEAVE_SECONDS)
        if self.works:
            log("engine leaves in the middle of an ingest", level=30)
            os._exit(0)
        for client in list(self.clients):
            client.close()
        if not await self._calls_ended():
            log("engine leaves in the middle of a call", level=30)
            os._exit(0)
        await asyncio.to_thread(self.shared.close)

    async def _calls_ended(self) -> bool:
        for task in self.under_way:
            task.cancel()
        ended = asyncio.get_running_loop().run_in_executor(None, self.calls.close)
        return bool((await asyncio.wait([ended], timeout=_LEAVE_SECONDS))[0])

    def came(self, client: ClientConnection) -> None:
        """Somebody is there."""
        self.clients.add(client)
        if self._alone is not None:
            self._alone.cancel()
            self._alone = None

    def left(self, client: ClientConnection) -> None:
        """Somebody is gone; if that was the last one, the clock runs."""
        self.clients.discard(client)
        if not self.clients:
            self._wait_for_clients(self._idle_seconds)

    def _wait_for_clients(self, seconds: float) -> None:
        self._alone = asyncio.get_running_loop().call_later(seconds, self.leave)

    def status(self) -> Message:
        """What an operator wants to know."""
        now = time.monotonic()
        return {
            "pid": os.getpid(),
            "build": build(),
            "store": str(self.settings.store),
            "uptime_seconds": round(now - self._since, 1),
            "pss_mb": _pss_mb(),
            "idle_minutes": self.settings.engine_idle_minutes,
            "ingests": len(self.works),
            "waits": self.shared.waits(),
            "clients": [client.facts(now) for client in sorted(self.clients, key=lambda one: one.since)],
        }

    async def admit(self, speaks: tuple[Any, Any], told: Mapping[str, Any]) -> Settings:
        """The settings of a client that says hello: it speaks this protocol, of this build, and asks under these.

        Raises ``WinnowError`` for one that cannot share this engine. Where nobody else does, the engine leaves and
        says so (``details.leaving``): the next one is as that client wants it.
        """
        if len(self.clients) >= _MOST_CLIENTS:
            raise WinnowError("QUEUE_FULL", f"{_MOST_CLIENTS} processes share this engine already", retryable=True)
        if speaks != (PROTOCOL, build()):
            raise self._refusal(f"runs another build of winnow ({build()}; this is {str(speaks[1])[:80]})")
        ours = await asyncio.to_thread(introduction, self.settings)
        if differing := disagreement(ours, told):
            raise self._refusal(f"works under other settings ({', '.join(differing)})")
        own = {name: value for name, value in told.items() if name in OWN_SETTINGS}
        secrets = {name: getattr(self.settings, name) for name in SECRET_SETTINGS}
        try:
            return Settings(**{**plain(self.settings), **secrets, **own})
        except ValidationError as error:
            raise WinnowError("INVALID_REQUEST", f"settings: {error.error_count()} are wrong") from None

    def _refusal(self, why: str) -> WinnowError:
        is_alone = not self.clients
        if is_alone:
            self.leave()
        return WinnowError(
            "INDEX_HELD",
            f"the engine of {self.settings.store}, process {os.getpid()}, {why}; it has {len(self.clients)} "
            "clients: restart those hosts, or end it with: winnow engine stop",
            retryable=True,
            details={"pid": os.getpid(), "leaving": is_alone},
        )


class ClientConnection(Connection):
    """One connection. It is a client from its hello on."""

    def __init__(self, host: EngineService) -> None:
        super().__init__(REQUESTS, REPLIES, self._received, self._gone)
        self.since = time.monotonic()
        self.kb: KnowledgeBase | None = None
        self.settings = host.settings
        self._host = host
        self._peer = endpoint.Peer(0, -1)
        self._calls = self._under_way = 0
        self._is_greeted = False
        self._asked: dict[int, asyncio.Task[None]] = {}
        self._works: dict[int, IngestJob] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Who is not of this user is not listened to."""
        super().connection_made(transport)
        self._peer = endpoint.peer_of(transport.get_extra_info("socket"))
        if self._peer.uid != os.geteuid():
            log("a process of another user was turned away", level=30, pid=self._peer.pid, uid=self._peer.uid)
            self.cut()

    def facts(self, now: float) -> Message:
        """What an operator may see of a client."""
        return {
            "pid": self._peer.pid,
            "project": self.settings.project,
            "seconds": round(now - self.since, 1),
            "calls": self._calls,
        }

    def _received(self, message: Message) -> None:
        what = message.get("do")
        request = _REQUESTS.get(what) if isinstance(what, str) else None
        if request is None or (self.kb is None and what not in _BEFORE_HELLO):
            raise WireError("no such request")
        self._under_way += 1
        task = asyncio.get_running_loop().create_task(self._answer(request, message))
        self._host.under_way.add(task)
        task.add_done_callback(self._host.under_way.discard)
        if what == _CALL:
            number = message["id"]
            self._asked[number] = task
            task.add_done_callback(lambda done: self._asked.pop(number, None))

    async def _answer(
        self, request: Callable[[ClientConnection, Message], Awaitable[Any]], message: Message
    ) -> None:
        number = message["id"]
        try:
            if self._under_way > _MOST_UNDER_WAY:
                raise WinnowError("QUEUE_FULL", "too many calls at once; wait for some answers", retryable=True)
            reply = {"id": number, "ok": await request(self, message)}
        except WireError as error:
            log("a client is cut off", level=30, pid=self._peer.pid, why=str(error))
            self.cut()
            return
        except Exception as error:
            if not isinstance(error, WinnowError):
                log("request failed", level=40, exc_info=True)
            reply = {"id": number, "error": from_error(error)}
        finally:
            self._under_way -= 1
        try:
            self.send(reply)
        except (WinnowError, TypeError, ValueError) as error:
            self.send({"id": number, "error": from_error(error)})

    def _gone(self) -> None:
        for work in self._works.values():
            work.stopped.set()
        for call in self._asked.values():
            call.cancel()
        if self.kb is not None:
            self._host.left(self)
            # It may be opening the store: that is waited for elsewhere.
            asyncio.get_running_loop().run_in_executor(None, self.kb.close)
            log("client left", pid=self._peer.pid, calls=self._calls)

    # --- requests: each is given a whole message and looks at what it uses

    async def hello(self, message: Message) -> Message:
        if self._is_greeted:
            raise WireError("hello twice")
        self._is_greeted = True
        waits = _of(message, "waits_for_model", bool)
        self.settings = await self._host.admit(
            (message.get("protocol"), message.get("build")), _of(message, "settings", dict)
        )

        def library() -> Library:
            found = self._host.shared.get()
            if waits:
                found.embedder.wait()
            return found

        self.kb = KnowledgeBase(library, self.settings, calls=self._host.calls)
        self._host.came(self)
        log("client came", pid=self._peer.pid, clients=len(self._host.clients))
        return {"pid": os.getpid(), "tokenizer": self.kb.tokenizer}

    async def open(self, message: Message) -> Message:
        await self._kb.open()
        return {}

    async def load(self, message: Message) -> Message:
        await self._kb.load()
        return {}

    async def call(self, message: Message) -> Message:
        self._calls += 1
        budget = SCRIPT if _of(message, "script", bool) else DIRECT
        caller = self._kb.caller(_of(message, "connection", str), budget, _of(message, "run", str))
        operation, arguments = _of(message, "operation", str), _of(message, "arguments", dict)
        seconds = _of(message, "seconds", float)
        if not math.isfinite(seconds):
            raise WireError("seconds are finite")
        with within(after(seconds)):
            return from_answer(await self._kb.call(operation, arguments, caller))

    async def passage(self, message: Message) -> Message:
        session_id, stored = await self._kb.passage(
            _of(message, "connection", str), _of(message, "passage_id", str)
        )
        return {"session_id": session_id, "kept": asdict(stored) if stored else None}

    async def passage_ids(self, message: Message) -> Message:
        asked = _of(message, "connection", str), _of(message, "prefix", str), _of(message, "limit", int)
        session_id, ids = await self._kb.passage_ids(*asked)
        return {"session_id": session_id, "ids": ids}

    async def counters(self, message: Message) -> Message:
        return asdict(await self._kb.counters())

    async def count_tokens(self, message: Message) -> Message:
        return {"tokens": await self._kb.count_tokens(_of(message, "text", str))}

    async def first_tokens(self, message: Message) -> Message:
        text = await self._kb.first_tokens(_of(message, "text", str), _of(message, "n", int))
        return {"characters": len(text)}

    async def ingest(self, message: Message) -> Message:
        """The report, or None where the client stopped it."""
        paths, labels = _of(message, "paths", list), _of(message, "labels", dict)
        if len(paths) > _MOST_PATHS or not all(isinstance(one, str) for one in (*paths, *labels.values())):
            raise WireError("paths and labels are texts")
        number, work = message["id"], IngestJob(tuple(paths), labels)
        loop = asyncio.get_running_loop()

        def on_progress(progress: Any) -> None:
            work.go_on()
            loop.call_soon_threadsafe(self.send, {"id": number, "progress": asdict(progress)})

        def run() -> dict[str, Any] | None:
            try:
                work.go_on()
                _stand_back()
                return self._host.ingest(self.settings, work, on_progress)
            except WorkCancelled:
                return None

        self._works[number] = work
        self._host.works.add(work)
        thread = ThreadPoolExecutor(1, thread_name_prefix="winnow-ingest")
        try:
            # Before standing back: threads that serve everybody must not be started by one that does.
            await asyncio.to_thread(self._host.shared.get)
            return {"report": await loop.run_in_executor(thread, run)}
        finally:
            thread.shutdown(wait=False)
            self._host.works.discard(work)
            del self._works[number]

    async def interrupt(self, message: Message) -> Message:
        """Stop an ingest at the next place where it can go on, and a call at its next look at the deadline."""
        number = _of(message, "of", int)
        if number in self._works:
            self._works[number].stopped.set()
        if number in self._asked:
            self._asked[number].cancel()
        return {}

    async def status(self, message: Message) -> Message:
        return await asyncio.to_thread(self._host.status)

    async def stop(self, message: Message) -> Message:
        log("engine was told to leave", pid=self._peer.pid)
        asyncio.get_running_loop().call_soon(self._host.leave)
        return {"pid": os.getpid()}

    @property
    def _kb(self) -> KnowledgeBase:
        assert self.kb is not None  # seen to before the request was let through
        return self.kb


_CALL = "call"
_REQUESTS: Mapping[str, Callable[[ClientConnection, Message], Awaitable[Any]]] = MappingProxyType(
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
        "interrupt": ClientConnection.interrupt,
    }
)
# What every build answers every other one.
_BEFORE_HELLO = frozenset({"hello", "status", "stop"})


def _of(message: Message, name: str, kind: type) -> Any:
    value = message.get(name)
    if type(value) is not kind:
        raise WireError(f"{name} is no {kind.__name__}")
    return value


def _stand_back() -> None:
    """Let this thread, and those that it starts, have the processors after all others of this process.

    On Linux a priority is a thread's. It cannot be raised again, so the thread must not be used for anything else.
    """
    calmer = min(os.getpriority(os.PRIO_PROCESS, 0) + _STEPS_BACK, 19)
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), calmer)


def _pss_mb() -> float:
    """Memory of this process, shared pages by their part (MB); 0 where the kernel does not say."""
    try:
        with open("/proc/self/smaps_rollup", encoding="ascii") as file:
            kilobytes = next(line.split()[1] for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0.0
    return round(int(kilobytes) / 1024, 1)
