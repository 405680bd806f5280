"""The client of an engine: ``Knowledge`` for tools, scripts and commands, answered over the engine's socket."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from winnow.server.contracts import parse
from winnow.server.engine import endpoint
from winnow.server.engine.compatibility import build_id, describe_settings
from winnow.server.engine.launch import launch, start_failure
from winnow.server.engine.messages import (
    CallRequest,
    Hello,
    answer_from_json,
    error_from_json,
    stored_passage_from_json,
)
from winnow.server.engine.wire import PROTOCOL, REPLIES, REQUESTS, Connection, Message
from winnow.server.errors import WinnowError
from winnow.server.ingest.selection.request import IngestRequest
from winnow.server.operations.base import OTHER_SECONDS, Budget
from winnow.server.operations.knowledge import DIRECT, OPERATIONS, Answer, Caller, KnowledgeCounters
from winnow.server.operations.state import IN_SESSION
from winnow.server.runtime.caches import CacheCounters
from winnow.server.runtime.deadlines import NEVER, Deadline, deadline_after
from winnow.server.runtime.logs import log
from winnow.server.runtime.metrics import Metrics
from winnow.server.runtime.reports.store_figures import store_figures_from_json
from winnow.server.runtime.reports.traces import span, trace_context
from winnow.server.runtime.sessions.passage_store import PassageStoreCounters, StoredPassage
from winnow.server.runtime.sessions.result_store import ResultStore
from winnow.server.runtime.sessions.saved_values import SavedValues
from winnow.server.settings.settings import Settings
from winnow.server.storage.files.lock import ENGINE, find_holder
from winnow.server.storage.files.store_folder import map_os_errors
from winnow.server.text.words.tokens import count_tokens, encoding_name, first_tokens

# Connecting may have to end one engine, start another, and wait for one that another client starts.
_CONNECT_SECONDS = 30.0
_RETRY_SECONDS = 0.05
_MAX_LOST_CONNECTIONS = 10  # to engines that died before they answered a hello
# For opening the store and loading the model before the first call.
_OPEN_SECONDS = 60.0
# Beyond a call's deadline. The engine enforces deadlines itself, with a better message; this is for a hung one.
_SILENCE_SECONDS = 0.5
_INTERRUPT_SECONDS = 10.0
_SHORT_SECONDS = 10.0
# After this time it is faster to load a tokenizer in this process.
_COUNT_SECONDS = 1.0
_SECONDS_PER_MINUTE = 60

OnProgressMessage = Callable[[Message], None]


class ConnectionLost(Exception):
    """The connection ended before the answer arrived."""


def _do_nothing() -> None:
    pass


class _Link:
    """One connection to an engine; matches answers to requests by number. ``on_lost`` is called when it ends."""

    def __init__(self) -> None:
        self.connection = Connection(REPLIES, REQUESTS, self._on_reply, self._on_disconnect)
        self.on_lost: Callable[[], None] = _do_nothing
        self._numbers = itertools.count(1)
        self._replies: dict[int, asyncio.Future[Any]] = {}
        self._progress: dict[int, OnProgressMessage] = {}

    @classmethod
    async def open(cls, store: Path) -> _Link | None:
        """Connect to the engine of a store; None if none listens. Raises as ``endpoint.connect`` does."""
        opened = await asyncio.to_thread(endpoint.connect, store)
        if opened is None:
            return None
        link = cls()
        await asyncio.get_running_loop().create_unix_connection(lambda: link.connection, sock=opened)
        return link

    async def ask(
        self, do: str, on_progress: OnProgressMessage | None = None, deadline: Deadline = NEVER, **fields: Any
    ) -> Any:
        """Send one request with these fields and the time left, if that is bounded; return the answer.

        Raises ``ConnectionLost``, and the ``WinnowError`` that the engine answers with.
        """
        if not self.connection.is_open:
            raise ConnectionLost
        number = next(self._numbers)
        if on_progress is not None:
            self._progress[number] = on_progress
        reply = self._replies[number] = asyncio.get_running_loop().create_future()
        try:
            self.connection.send({"id": number, "do": do, **_time_left(deadline), **fields})
            return await reply
        except asyncio.CancelledError:
            if do == "ingest":
                await self._interrupt(number)
            elif do == "call":
                self.connection.send({"id": next(self._numbers), "do": "interrupt", "of": number})
            raise
        finally:
            self._replies.pop(number, None)
            self._progress.pop(number, None)

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    async def _interrupt(self, number: int) -> None:
        """Have the engine stop an ingest, and wait until it has: the next run must not meet the old one."""
        ended = self._replies[number] = asyncio.get_running_loop().create_future()
        with suppress(WinnowError, ConnectionLost, TimeoutError):
            async with asyncio.timeout(_INTERRUPT_SECONDS):
                await self.ask("interrupt", of=number)
                await ended

    def _on_reply(self, message: Message) -> None:
        number = message["id"]
        if "progress" in message:
            if number in self._progress:
                self._progress[number](message["progress"])
            return
        reply = self._replies.get(number)
        if reply is None or reply.done():
            return
        if "ok" in message:
            reply.set_result(message["ok"])
        else:
            reply.set_exception(error_from_json(message["error"]))

    def _on_disconnect(self) -> None:
        for reply in self._replies.values():
            if not reply.done():
                reply.set_exception(ConnectionLost())
        self.on_lost()


class EngineKnowledge:
    """``Knowledge`` over an engine, which is started if none runs; this process does not open the store.

    A request that only reads is sent once more, to the next engine, if the engine dies before it answers.
    ``waits_for_model``: whether searches wait until the embedding model is loaded, or use the lexical leg alone.
    ``watches``: have each engine watch the sources of the store while this client is connected.
    """

    def __init__(self, settings: Settings, *, waits_for_model: bool, watches: bool = False) -> None:
        self._settings = settings
        self._watches = watches
        self._watching: asyncio.Task[None] | None = None
        self._waits_for_model = waits_for_model
        self._link: _Link | None = None
        self._connecting: asyncio.Task[_Link] | None = None
        self._is_silent = False
        self._reconnecting: asyncio.Task[None] | None = None
        self._is_closed = False
        self._tokenizer = ""
        self.results = ResultStore(settings.scratch_minutes * _SECONDS_PER_MINUTE)
        self.saved = SavedValues(settings.scratch_minutes * _SECONDS_PER_MINUTE)
        self.metrics = Metrics()

    async def open(self) -> None:
        """See ``Knowledge.open``."""
        await self._ask("open", _OPEN_SECONDS)

    async def load(self) -> None:
        """See ``Knowledge.load``."""
        with suppress(WinnowError):
            await self._ask("load", _OPEN_SECONDS)

    def caller(self, connection: str, budget: Budget = DIRECT, run: str = "") -> Caller:
        """See ``Knowledge.caller``."""
        return Caller(connection, budget, run)

    async def call(self, operation: str, arguments: Mapping[str, Any], caller: Caller) -> Answer:
        """See ``Knowledge.call``. Scripts run in this process, so what they left is read here."""
        if operation in IN_SESSION:
            answer = await asyncio.to_thread(self._call_in_session, operation, arguments, caller)
        else:
            answer = await self._call_engine(operation, arguments, caller)
        self.metrics.note(answer.noted)
        return answer

    def _call_in_session(self, operation: str, arguments: Mapping[str, Any], caller: Caller) -> Answer:
        model, answer_from = IN_SESSION[operation]
        request, warnings = parse(model, arguments)
        answer = answer_from(self, caller, request)
        return replace(answer, warnings=warnings + answer.warnings)

    async def _call_engine(self, operation: str, arguments: Mapping[str, Any], caller: Caller) -> Answer:
        known = OPERATIONS.get(operation)
        is_script = not caller.budget.is_direct
        request = CallRequest(operation, arguments, caller.connection, is_script, caller.run, caller.is_fresh)
        with span("engine"):
            seconds = known.seconds if known else OTHER_SECONDS
            answer = await self._ask("call", seconds, **request.to_fields(), trace=trace_context())
        return answer_from_json(answer)

    async def passage(self, connection: str, passage_id: str) -> tuple[str, StoredPassage | None]:
        """See ``Knowledge.passage``."""
        answer = await self._ask("passage", OTHER_SECONDS, connection=connection, passage_id=passage_id)
        return answer["session_id"], stored_passage_from_json(answer["kept"])

    async def passage_ids(self, connection: str, prefix: str, limit: int) -> tuple[str, list[str]]:
        """See ``Knowledge.passage_ids``."""
        answer = await self._ask("passage_ids", OTHER_SECONDS, connection=connection, prefix=prefix, limit=limit)
        return answer["session_id"], answer["ids"]

    async def counters(self) -> KnowledgeCounters:
        """See ``Knowledge.counters``."""
        if self._link is None or not self._link.connection.is_open:
            # Looking at figures starts no engine: one that was told to leave stays away until a call needs it.
            raise WinnowError("INDEX_UNAVAILABLE", "no engine is connected", retryable=True)
        answer = await self._ask("counters", _SHORT_SECONDS)
        caches = {name: CacheCounters(**counters) for name, counters in answer["caches"].items()}
        store = store_figures_from_json(answer["store"]) if answer["store"] else None
        return KnowledgeCounters(PassageStoreCounters(**answer["scratch"]), caches, store, answer["backends"])

    @property
    def tokenizer(self) -> str:
        """See ``Knowledge.tokenizer``."""
        return self._tokenizer or encoding_name()

    async def count_tokens(self, text: str) -> int:
        """See ``Knowledge.count_tokens``. A tokenizer takes 74 MB: the engine's is used as long as it answers."""
        try:
            answer = await self._ask_tokenizer("count_tokens", text=text)
        except WinnowError:
            return await asyncio.to_thread(count_tokens, text)
        return int(answer["tokens"])

    async def first_tokens(self, text: str, n: int) -> str:
        """See ``Knowledge.first_tokens``."""
        try:
            answer = await self._ask_tokenizer("first_tokens", text=text, n=n)
        except WinnowError:
            return await asyncio.to_thread(first_tokens, text, n)
        return text[: answer["characters"]]

    async def _ask_tokenizer(self, do: str, **fields: Any) -> Any:
        """Use the engine's tokenizer. Raises ``WinnowError`` at once if the engine's last answer timed out."""
        if self._is_silent:
            raise self._no_answer(0.0)
        return await self._ask(do, _COUNT_SECONDS, **fields)

    async def ingest(self, request: IngestRequest, on_progress: OnProgressMessage) -> Mapping[str, Any]:
        """Have the engine ingest; returns the fields of its report. Cancelling stops it where it can be resumed.

        Raises:
            WinnowError: as an ingest does, and INDEX_UNAVAILABLE if the engine dies meanwhile.
        """
        link = await self._connected()
        try:
            answer = await link.ask("ingest", on_progress, request=request.model_dump(mode="json"))
        except ConnectionLost:
            raise _engine_died(
                "the ingest; what was reported done is kept, run the same command again to go on"
            ) from None
        if answer["report"] is None:
            raise WinnowError("INDEX_UNAVAILABLE", "the ingest was stopped; run the same command again to go on")
        report: Mapping[str, Any] = answer["report"]
        return report

    async def watch(self) -> None:
        """Have the engine watch the sources of the store while this client is connected.

        Raises ``WinnowError``: "INDEX_HELD" if another process watches them.
        """
        await self._ask("watch", _OPEN_SECONDS)

    async def _ask_to_watch(self, link: _Link) -> None:
        with suppress(ConnectionLost):
            try:
                await link.ask("watch")
            except WinnowError as error:
                log("the sources are not watched", level=30, why=error.message)

    async def aclose(self) -> None:
        """Disconnect; the engine goes on for other clients."""
        self._is_closed = True
        for task in (self._reconnecting, self._connecting, self._watching):
            if task is not None:
                task.cancel()
        if self._link is not None:
            self._link.close()

    def _on_lost(self) -> None:
        if not self._is_closed:
            self._reconnecting = asyncio.get_running_loop().create_task(self._reconnect())

    async def _reconnect(self) -> None:
        """Reconnect and load the graphs before the next call: an engine that crashed has a successor at once.

        An engine that was told to leave has none, and none is started here.
        """
        with suppress(WinnowError):
            if await asyncio.to_thread(endpoint.is_listening, self._settings.store):
                await self.load()

    async def _ask(self, do: str, seconds: float, **fields: Any) -> Any:
        deadline = deadline_after(seconds)
        left = deadline.remaining()
        try:
            async with asyncio.timeout(left + _SILENCE_SECONDS):
                try:
                    answer = await (await self._connected()).ask(do, deadline=deadline, **fields)
                except ConnectionLost:
                    answer = await (await self._connected()).ask(do, deadline=deadline, **fields)
        except ConnectionLost:
            raise _engine_died("the call, twice; try again") from None
        except TimeoutError:
            self._is_silent = True
            raise self._no_answer(left) from None
        except (ValueError, RecursionError):
            raise WinnowError(
                "INVALID_REQUEST", "arguments must be JSON values, and numbers must be finite"
            ) from None
        self._is_silent = False
        return answer

    def _no_answer(self, seconds: float) -> WinnowError:
        process = find_holder(self._settings.store, ENGINE)
        return WinnowError(
            "TIMEOUT",
            f"no answer within {seconds:.0f} s from the engine of {self._settings.store}"
            f"{f', {process}' if process else ''}; try again; if this repeats, end that process",
            retryable=True,
        )

    async def _connected(self) -> _Link:
        """The connection. If the caller is cancelled, connecting goes on for the next one."""
        if self._link is not None and self._link.connection.is_open:
            return self._link
        if self._connecting is None or self._connecting.done():
            self._connecting = asyncio.get_running_loop().create_task(self._connect())
            self._connecting.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(self._connecting)

    async def _connect(self) -> _Link:
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                with map_os_errors(self._settings.store):
                    link = await self._find_or_start()
        except TimeoutError:
            raise self._no_answer(_CONNECT_SECONDS) from None
        self._link, link.on_lost = link, self._on_lost
        return link

    async def _find_or_start(self) -> _Link:
        """Connect to an engine that admits this client; start one if none listens."""
        until, losses = time.monotonic() + _CONNECT_SECONDS, 0
        while time.monotonic() < until:
            try:
                link, is_new = await _Link.open(self._settings.store), False
                if link is None:
                    is_new = await asyncio.to_thread(launch, self._settings)
                    link = await _Link.open(self._settings.store)
                if link is not None and await self._is_admitted(link):
                    return link
                if link is not None and is_new:
                    raise WinnowError("INDEX_HELD", "winnow was changed while this process ran; restart it")
            except ConnectionLost:
                losses += 1
                if losses == _MAX_LOST_CONNECTIONS:
                    raise start_failure(self._settings, "it dies as soon as it has started") from None
            await asyncio.sleep(_RETRY_SECONDS)
        raise WinnowError(
            "INDEX_HELD",
            f"the engine of {self._settings.store} is leaving or busy, and no other engine can start; try again",
            retryable=True,
            retry_after_s=5.0,
        )

    async def _is_admitted(self, link: _Link) -> bool:
        """Say hello. False if the engine leaves so that this client can start one with its own settings."""
        try:
            settings = await asyncio.to_thread(describe_settings, self._settings)
            hello = Hello(PROTOCOL, build_id(), settings, self._waits_for_model)
            welcome = await link.ask("hello", **hello.to_fields())
            self._tokenizer = welcome["tokenizer"]
            if self._watches:
                self._watching = asyncio.get_running_loop().create_task(self._ask_to_watch(link))
        except asyncio.CancelledError:
            link.close()
            raise
        except WinnowError as error:
            link.close()
            if error.details.get("leaving"):
                return False
            raise
        return True


def _time_left(deadline: Deadline) -> Message:
    return {"seconds": deadline.remaining()} if deadline != NEVER else {}


async def query_engine(store: Path, do: str) -> Mapping[str, Any] | None:
    """The answer of a store's engine, of any build, to "status" or "stop"; None if no engine runs."""
    link = await _Link.open(store)
    if link is None:
        return None
    try:
        async with asyncio.timeout(_SHORT_SECONDS):
            answer: Mapping[str, Any] = await link.ask(do)
            return answer
    except ConnectionLost:
        return None
    except TimeoutError:
        raise WinnowError(
            "TIMEOUT", f"the engine of {store} does not answer; end its process", retryable=True
        ) from None
    finally:
        link.close()


def _engine_died(during: str) -> WinnowError:
    return WinnowError("INDEX_UNAVAILABLE", f"the engine went away during {during}", retryable=True)
