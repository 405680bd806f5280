"""The other end of the socket: what tools, scripts and commands ask, answered by the engine of a store."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from server.backends.files.lock import ENGINE, holder
from server.backends.files.store_folder import named
from server.contracts import parse
from server.contracts.scripts import ReadResult
from server.engine import endpoint
from server.engine.launch import failed, launch
from server.engine.wire import (
    PROTOCOL,
    REPLIES,
    REQUESTS,
    Connection,
    Message,
    build,
    introduction,
    to_answer,
    to_error,
    to_stored_passage,
)
from server.errors import WinnowError
from server.knowledge import DIRECT, OPERATIONS, SEARCH_SECONDS, Answer, Caller, KnowledgeCounters
from server.operations.base import Budget
from server.operations.results import portion
from server.runtime.caches import CacheCounters
from server.runtime.deadlines import NEVER, Deadline, after
from server.runtime.metrics import Metrics
from server.sessions.passage_store import PassageStoreCounters, StoredPassage
from server.sessions.result_store import ResultStore
from server.settings import Settings
from server.text.tokens import count_tokens, encoding_name, first_tokens

# How long a client looks for an engine: it may have to end one, start one, and wait for another one's start.
_CONNECT_SECONDS = 30.0
_AGAIN_SECONDS = 0.05
_MOST_LOSSES = 10  # of engines that died before they said a word
# A store that is opened, and a model that is waited for, before anybody asks.
_OPEN_SECONDS = 60.0
# The engine holds each call to its time, and says more of it; this is for an engine that says nothing.
_SILENCE_SECONDS = 0.5
_INTERRUPT_SECONDS = 10.0
_SHORT_SECONDS = 10.0
# A count is waited for as long as it takes to load what counts in this process.
_COUNT_SECONDS = 1.0
_SECONDS_PER_MINUTE = 60

OnProgress = Callable[[Message], None]


class ConnectionLost(Exception):
    """The connection ended before the answer."""


def _nothing() -> None:
    pass


class _Link:
    """One connection: requests out, answers back by their numbers. ``on_lost`` is called when it ends."""

    def __init__(self) -> None:
        self.channel = Connection(REPLIES, REQUESTS, self._received, self._gone)
        self.on_lost: Callable[[], None] = _nothing
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._progress: dict[int, OnProgress] = {}

    @classmethod
    async def to(cls, store: Path) -> _Link | None:
        """A connection to the engine of a store; None where there is none. Raises as ``place.connected`` does."""
        opened = await asyncio.to_thread(endpoint.connected, store)
        if opened is None:
            return None
        link = cls()
        await asyncio.get_running_loop().create_unix_connection(lambda: link.channel, sock=opened)
        return link

    async def ask(
        self, do: str, on_progress: OnProgress | None = None, deadline: Deadline = NEVER, **told: Any
    ) -> Any:
        """The answer to one request; the engine is told what time is left for it, where that is bounded.

        Raises ``ConnectionLost``, and the ``WinnowError`` that the engine answers with.
        """
        if not self.channel.is_open:
            raise ConnectionLost
        number = next(self._numbers)
        if on_progress is not None:
            self._progress[number] = on_progress
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self.channel.send({"id": number, "do": do, **_left(deadline), **told})
            return await waiting
        except asyncio.CancelledError:
            if do == "ingest":
                await self._interrupt(number)
            elif do == "call":
                self.channel.send({"id": next(self._numbers), "do": "interrupt", "of": number})
            raise
        finally:
            self._waiting.pop(number, None)
            self._progress.pop(number, None)

    def close(self) -> None:
        """No more questions."""
        self.channel.close()

    async def _interrupt(self, number: int) -> None:
        """Have the engine stop at the next safe point, and wait for that: the next run finds a quiet store."""
        ended = self._waiting[number] = asyncio.get_running_loop().create_future()
        with suppress(WinnowError, ConnectionLost, TimeoutError):
            async with asyncio.timeout(_INTERRUPT_SECONDS):
                await self.ask("interrupt", of=number)
                await ended

    def _received(self, message: Message) -> None:
        number = message["id"]
        if "progress" in message:
            if number in self._progress:
                self._progress[number](message["progress"])
            return
        waiting = self._waiting.get(number)
        if waiting is None or waiting.done():
            return
        if "ok" in message:
            waiting.set_result(message["ok"])
        else:
            waiting.set_exception(to_error(message["error"]))

    def _gone(self) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionLost())
        self.on_lost()


class EngineKnowledge:
    """``Knowledge`` that an engine keeps, which is started where none runs; this process opens nothing.

    What only reads is asked again, once, of the next engine when one dies with the answer. ``waits_for_model``:
    whether searches wait for the embedding model to be loaded, or are answered by words alone until it is.
    """

    def __init__(self, settings: Settings, *, waits_for_model: bool) -> None:
        self._settings = settings
        self._waits = waits_for_model
        self._link: _Link | None = None
        self._connecting: asyncio.Task[_Link] | None = None
        self._is_silent = False
        self._returning: asyncio.Task[None] | None = None
        self._is_closed = False
        self._tokenizer = ""
        self.results = ResultStore(settings.scratch_minutes * _SECONDS_PER_MINUTE)
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
        """See ``Knowledge.call``. Scripts run in this process, so their large results are read here."""
        if operation == "read_result":
            answer = await asyncio.to_thread(self._read_result, arguments, caller)
        else:
            answer = await self._told(operation, arguments, caller)
        self.metrics.note(answer.noted)
        return answer

    def _read_result(self, arguments: Mapping[str, Any], caller: Caller) -> Answer:
        request, warnings = parse(ReadResult, arguments)
        return replace(portion(self.results, caller, request), warnings=warnings)

    async def _told(self, operation: str, arguments: Mapping[str, Any], caller: Caller) -> Answer:
        known = OPERATIONS.get(operation)
        told = await self._ask(
            "call",
            known.seconds if known else SEARCH_SECONDS,
            operation=operation,
            arguments=dict(arguments),
            connection=caller.connection,
            script=not caller.budget.is_direct,
            run=caller.run,
        )
        return to_answer(told)

    async def passage(self, connection: str, passage_id: str) -> tuple[str, StoredPassage | None]:
        """See ``Knowledge.passage``."""
        told = await self._ask("passage", SEARCH_SECONDS, connection=connection, passage_id=passage_id)
        return told["session_id"], to_stored_passage(told["kept"])

    async def passage_ids(self, connection: str, prefix: str, limit: int) -> tuple[str, list[str]]:
        """See ``Knowledge.passage_ids``."""
        told = await self._ask("passage_ids", SEARCH_SECONDS, connection=connection, prefix=prefix, limit=limit)
        return told["session_id"], told["ids"]

    async def counters(self) -> KnowledgeCounters:
        """See ``Knowledge.counters``."""
        told = await self._ask("counters", _SHORT_SECONDS)
        caches = {name: CacheCounters(**one) for name, one in told["caches"].items()}
        return KnowledgeCounters(PassageStoreCounters(**told["scratch"]), caches)

    @property
    def tokenizer(self) -> str:
        """See ``Knowledge.tokenizer``."""
        return self._tokenizer or encoding_name()

    # A vocabulary takes 74 MB: the engine's is used while there is one.

    async def count_tokens(self, text: str) -> int:
        """See ``Knowledge.count_tokens``."""
        try:
            told = await self._counted("count_tokens", text=text)
        except WinnowError:
            return await asyncio.to_thread(count_tokens, text)
        return int(told["tokens"])

    async def first_tokens(self, text: str, n: int) -> str:
        """See ``Knowledge.first_tokens``."""
        try:
            told = await self._counted("first_tokens", text=text, n=n)
        except WinnowError:
            return await asyncio.to_thread(first_tokens, text, n)
        return text[: told["characters"]]

    async def _counted(self, do: str, **told: Any) -> Any:
        """What the engine counts, unless it has left the last question unanswered: nobody waits for it twice."""
        if self._is_silent:
            raise self._unanswered(0.0)
        return await self._ask(do, _COUNT_SECONDS, **told)

    async def ingest(
        self, paths: Sequence[Path], labels: Mapping[str, str], on_progress: OnProgress
    ) -> Mapping[str, Any]:
        """Have the engine ingest; the fields of its report. Cancelling it stops the ingest where it can go on.

        Raises:
            WinnowError: what an ingest raises, and INDEX_UNAVAILABLE where the engine dies meanwhile.
        """
        link = await self._connected()
        try:
            told = await link.ask(
                "ingest", on_progress, paths=[str(path.absolute()) for path in paths], labels=dict(labels)
            )
        except ConnectionLost:
            raise _went_away(
                "the ingest; what was reported done is kept, run the same command again to go on"
            ) from None
        if told["report"] is None:
            raise WinnowError("INDEX_UNAVAILABLE", "the ingest was stopped; run the same command again to go on")
        report: Mapping[str, Any] = told["report"]
        return report

    async def aclose(self) -> None:
        """Let go of the engine, which stays for the others."""
        self._is_closed = True
        for task in (self._returning, self._connecting):
            if task is not None:
                task.cancel()
        if self._link is not None:
            self._link.close()

    def _lost(self) -> None:
        if not self._is_closed:
            self._returning = asyncio.get_running_loop().create_task(self._return())

    async def _return(self) -> None:
        """Be there again, and have the graphs loaded, before anybody asks: who died has a successor at once.

        One that was told to leave has none, and is not started again for this.
        """
        with suppress(WinnowError):
            if await asyncio.to_thread(endpoint.is_listening, self._settings.store):
                await self.load()

    async def _ask(self, do: str, seconds: float, **told: Any) -> Any:
        deadline = after(seconds)
        left = deadline.remaining()
        try:
            async with asyncio.timeout(left + _SILENCE_SECONDS):
                try:
                    answer = await (await self._connected()).ask(do, deadline=deadline, **told)
                except ConnectionLost:
                    answer = await (await self._connected()).ask(do, deadline=deadline, **told)
        except ConnectionLost:
            raise _went_away("the call, twice; try again") from None
        except TimeoutError:
            self._is_silent = True
            raise self._unanswered(left) from None
        except (ValueError, RecursionError):
            raise WinnowError("INVALID_REQUEST", "arguments are JSON values, and numbers are finite") from None
        self._is_silent = False
        return answer

    def _unanswered(self, seconds: float) -> WinnowError:
        there = holder(self._settings.store, ENGINE)
        return WinnowError(
            "TIMEOUT",
            f"no answer within {seconds:.0f} s from the engine of {self._settings.store}"
            f"{f', {there}' if there else ''}; try again; if it stays like this, end that process",
            retryable=True,
        )

    async def _connected(self) -> _Link:
        """The connection. Who waits for it may give up: it is made all the same, for whoever asks next."""
        if self._link is not None and self._link.channel.is_open:
            return self._link
        if self._connecting is None or self._connecting.done():
            self._connecting = asyncio.get_running_loop().create_task(self._connect())
            self._connecting.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(self._connecting)

    async def _connect(self) -> _Link:
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                with named(self._settings.store):
                    link = await self._found_or_started()
        except TimeoutError:
            raise self._unanswered(_CONNECT_SECONDS) from None
        self._link, link.on_lost = link, self._lost
        return link

    async def _found_or_started(self) -> _Link:
        """Find an engine that takes us, or start one; two that start at once meet at the one that stays."""
        until, losses = time.monotonic() + _CONNECT_SECONDS, 0
        while time.monotonic() < until:
            try:
                link, is_new = await _Link.to(self._settings.store), False
                if link is None:
                    is_new = await asyncio.to_thread(launch, self._settings)
                    link = await _Link.to(self._settings.store)
                if link is not None and await self._is_welcome(link):
                    return link
                if link is not None and is_new:
                    raise WinnowError("INDEX_HELD", "winnow was changed while this process ran; restart it")
            except ConnectionLost:
                losses += 1
                if losses == _MOST_LOSSES:
                    raise failed(self._settings, "it dies as soon as it has started") from None
            await asyncio.sleep(_AGAIN_SECONDS)
        raise WinnowError(
            "INDEX_HELD",
            f"the engine of {self._settings.store} is leaving or busy, and no other one can start; try again",
            retryable=True,
            retry_after_s=5.0,
        )

    async def _is_welcome(self, link: _Link) -> bool:
        """Whether the engine takes this client; False where it leaves in favour of another one."""
        try:
            welcome = await link.ask(
                "hello",
                protocol=PROTOCOL,
                build=build(),
                settings=await asyncio.to_thread(introduction, self._settings),
                waits_for_model=self._waits,
            )
            self._tokenizer = welcome["tokenizer"]
        except asyncio.CancelledError:
            link.close()
            raise
        except WinnowError as error:
            link.close()
            if error.details.get("leaving"):
                return False
            raise
        return True


def _left(deadline: Deadline) -> Message:
    return {"seconds": deadline.remaining()} if deadline != NEVER else {}


async def told_by_engine(store: Path, do: str) -> Mapping[str, Any] | None:
    """What the engine of a store answers to "status" or "stop", of whatever build it is; None where none runs."""
    link = await _Link.to(store)
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


def _went_away(during: str) -> WinnowError:
    return WinnowError("INDEX_UNAVAILABLE", f"the engine went away during {during}", retryable=True)
