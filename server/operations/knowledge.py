"""The single entry point to the knowledge base: every request goes through ``Knowledge.call``.

Direct tools and sandboxed scripts name an operation of the table ``OPERATIONS`` and pass JSON arguments. The same
models validate both, the same scope applies to both, the same code answers both. They differ only in their budget:
a direct answer goes into a model's context and must be short, an answer to a script does not.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel

from winnow.server.contracts import parse
from winnow.server.errors import WinnowError
from winnow.server.ingest.children.page_drawing import PageDrawing
from winnow.server.operations.base import (
    DIRECT,
    SCRIPT,
    Answer,
    Budget,
    Caller,
    RankingCaches,
    RequestContext,
    Store,
)
from winnow.server.operations.declaration import Operation, render_answer
from winnow.server.operations.table import OPERATIONS
from winnow.server.runtime.caches import CacheCounters
from winnow.server.runtime.call_threads import CallThreads
from winnow.server.runtime.deadlines import deadline_after
from winnow.server.runtime.metrics import Metrics
from winnow.server.runtime.remote import backend_figures
from winnow.server.runtime.reports.store_figures import StoreFigures
from winnow.server.runtime.reports.traces import annotate, span
from winnow.server.runtime.sessions.passage_store import PassageStore, PassageStoreCounters, StoredPassage
from winnow.server.runtime.sessions.result_store import ResultStore
from winnow.server.runtime.sessions.rights import settings_for
from winnow.server.runtime.sessions.saved_values import SavedValues
from winnow.server.settings.settings import MIB, Settings
from winnow.server.text.words.tokens import count_tokens, encoding_name, first_tokens, is_loaded

if TYPE_CHECKING:  # its records are built at import, which a handshake does not wait for
    from winnow.server.jobs.queue import JobQueue

__all__ = ["DIRECT", "OPERATIONS", "SCRIPT", "Answer", "Caller", "Knowledge", "KnowledgeBase", "Store"]

_SECONDS_PER_MINUTE = 60
# Counted without a thread: the hand-over takes as long as the usual text, and the worst of this length 1 ms.
_COUNTED_AT_ONCE_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class KnowledgeCounters:
    """Counters of the passage store and of the caches, and the figures of the store, None until it is open.

    ``backends``: the circuits and calls of those that may be away, by name (``server.runtime.remote``).
    """

    scratch: PassageStoreCounters
    caches: Mapping[str, CacheCounters]
    store: StoreFigures | None = None
    backends: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


class Knowledge(Protocol):
    """The knowledge base as tools, scripts and transports see it: a store in this process, or a shared engine.

    ``metrics`` counts the answers of this process. ``results`` stores script results that were too large to be
    sent, ``saved`` what scripts saved for the next ones. The name of a connection identifies its session.
    """

    @property
    def metrics(self) -> Metrics: ...

    @property
    def results(self) -> ResultStore: ...

    @property
    def saved(self) -> SavedValues: ...

    async def open(self) -> None:
        """Wait until the store is open; raises what opening raises.

        A call waits for it too, but only until its deadline. Callers that cannot retry should open first.
        """

    async def load(self) -> None:
        """Open the store and load graphs and tokenizer in advance; the first call reports errors.

        May be cancelled, before ``aclose`` at the latest.
        """

    def caller(self, connection: str, budget: Budget = DIRECT, run: str = "") -> Caller:
        """A caller on this connection; callers on one connection share a session."""

    async def call(self, operation: str, arguments: Mapping[str, Any], caller: Caller) -> Answer:
        """Validate and answer one operation. Raises ``WinnowError`` for errors that a caller can act on."""

    async def passage(self, connection: str, passage_id: str) -> tuple[str, StoredPassage | None]:
        """The id of the session that has this passage, and the passage.

        If the connection may not read it or it is not stored: the id of the connection's own session, and None.
        """

    async def passage_ids(self, connection: str, prefix: str, limit: int) -> tuple[str, list[str]]:
        """The id of the connection's session, and at most ``limit`` of its passage ids with this prefix."""

    async def counters(self) -> KnowledgeCounters:
        """The counters so far."""

    @property
    def tokenizer(self) -> str:
        """The name of the tokenizer."""

    async def count_tokens(self, text: str) -> int:
        """Count the tokens of a text; never fails."""

    async def first_tokens(self, text: str, n: int) -> str:
        """The longest prefix of at most ``n`` tokens (see ``server.text.words.tokens``); never fails."""

    async def aclose(self) -> None:
        """Release the store, if it was opened."""


class KnowledgeBase:
    """``Knowledge`` over a store in this process, which is opened in the background.

    ``open_store`` is called in a thread on ``load`` or on the first call. If it fails, for example because
    another process holds the index, that call gets the error and the next call tries again. ``calls``: the threads
    of an engine, which owns the store and closes both itself, and ``page_drawing`` what draws pages there.
    ``jobs``: the jobs of the store, if this process runs them.
    """

    def __init__(
        self,
        open_store: Callable[[], Store],
        settings: Settings,
        *,
        calls: CallThreads | None = None,
        jobs: JobQueue | None = None,
        page_drawing: PageDrawing | None = None,
    ) -> None:
        self._open_store = open_store
        self._settings = settings
        self._is_store_shared = calls is not None
        self._calls = calls or CallThreads()
        self._opener = ThreadPoolExecutor(1, thread_name_prefix="winnow-open")
        self._opening: Future[Store] | None = None
        self._opening_guard = threading.Lock()
        self._caches = RankingCaches()
        self.passages = PassageStore(settings.scratch_mb * MIB, settings.scratch_minutes * _SECONDS_PER_MINUTE)
        self.results = ResultStore(settings.scratch_minutes * _SECONDS_PER_MINUTE)
        self.saved = SavedValues(settings.scratch_minutes * _SECONDS_PER_MINUTE)
        self.metrics = Metrics()
        self._jobs = jobs
        self._page_drawing = page_drawing or PageDrawing(allows_weaker=settings.allow_weaker_reader)

    async def open(self) -> None:
        """See ``Knowledge.open``."""
        await self._open_store_once()

    async def opened(self) -> Store:
        """The open store. Raises as ``open`` does."""
        return await self._open_store_once()

    def store(self) -> Store:
        """The open store, for threads that may wait for it. Raises as ``open`` does."""
        return self._start_opening().result()

    async def load(self) -> None:
        """See ``Knowledge.load``. Jobs that an earlier process left behind go on.

        A search that comes earlier waits for its graph, up to its own limit: without the graph, the same question
        would get another answer a second later.
        """
        await asyncio.gather(self.count_tokens("warm"), self._load_graphs())
        if self._jobs is not None:
            await asyncio.to_thread(self._jobs.wake)

    async def _load_graphs(self) -> None:
        with suppress(WinnowError):
            store = await self._open_store_once()
            store.retriever.warm()
            for project in self._settings.reachable:
                # In the thread that ``close`` waits for: the graph must not be closed while it is read.
                await asyncio.wrap_future(self._opener.submit(store.retriever.load, project))

    def close(self) -> None:
        """Close the store, if it was opened; where a job does not end in time, the end of the process does."""
        has_ended = self._is_store_shared or self._jobs is None or self._jobs.stop()
        self._opener.shutdown(wait=True)
        if self._is_store_shared or not has_ended:
            return
        self._page_drawing.close()
        self._calls.close()
        if self._opening is not None and not self._opening.exception():
            self._opening.result().close()

    async def aclose(self) -> None:
        """Close the store without blocking the event loop."""
        await asyncio.to_thread(self.close)

    def caller(self, connection: str, budget: Budget = DIRECT, run: str = "") -> Caller:
        """See ``Knowledge.caller``."""
        return Caller(connection, budget, run)

    async def passage(self, connection: str, passage_id: str) -> tuple[str, StoredPassage | None]:
        """See ``Knowledge.passage``."""
        session = self.passages.session(connection)
        stored = session.get(passage_id)
        in_reach = settings_for(self._settings, connection).reachable
        if stored is not None and not (stored.project in in_reach and await self._has_project(stored.project)):
            return session.id, None
        return (stored.session_id if stored else session.id), stored

    async def passage_ids(self, connection: str, prefix: str, limit: int) -> tuple[str, list[str]]:
        """See ``Knowledge.passage_ids``."""
        session = self.passages.session(connection)
        return session.id, session.ids(prefix, limit)

    async def counters(self) -> KnowledgeCounters:
        """See ``Knowledge.counters``."""
        return KnowledgeCounters(
            self.passages.counters, self._caches.counters(), await self._figures(), backend_figures()
        )

    async def _figures(self) -> StoreFigures | None:
        opening = self._opening
        if opening is None or not opening.done() or opening.exception() is not None:
            return None
        return await asyncio.to_thread(opening.result().figures, self._settings.reachable)

    @property
    def tokenizer(self) -> str:
        """See ``Knowledge.tokenizer``."""
        return encoding_name()

    async def first_tokens(self, text: str, n: int) -> str:
        """See ``Knowledge.first_tokens``."""
        return await asyncio.to_thread(first_tokens, text, n)

    async def count_tokens(self, text: str) -> int:
        """See ``Knowledge.count_tokens``. The first call loads the tokenizer, which takes a third of a second."""
        if len(text) <= _COUNTED_AT_ONCE_CHARS and is_loaded():
            return count_tokens(text)
        return await asyncio.to_thread(count_tokens, text)

    async def call(self, operation: str, arguments: Mapping[str, Any], caller: Caller) -> Answer:
        """Validate and answer one operation of ``OPERATIONS``.

        Raises:
            WinnowError: for errors that a caller can act on; the message says how.
        """
        offered = {name: item for name, item in OPERATIONS.items() if caller.budget.is_direct or item.in_scripts}
        known = offered.get(operation)
        if known is None:
            raise WinnowError("INVALID_REQUEST", f"no operation {operation!r}; known: {', '.join(offered)}")
        request, warnings = parse(known.arguments, arguments)
        deadline = deadline_after(known.seconds)
        advice = "the store is still being opened; try again in a moment"
        try:
            async with asyncio.timeout(deadline.remaining()):
                store = await self._open_store_once()
            advice = "try again, or ask for less at once"
            context = RequestContext(
                store,
                settings_for(self._settings, caller.connection),
                caller,
                self.passages.session(caller.connection),
                self._caches.of(caller),
                self.results,
                self.saved,
                self._jobs,
                page_drawing=self._page_drawing,
            )
            with span("operation", name=operation):
                answer = await self._calls.run(
                    deadline, partial(_answer_and_render, known, context, request, warnings)
                )
                annotate(rows=answer.rows, tokens=answer.tokens)
        except TimeoutError:
            raise WinnowError(
                "TIMEOUT", f"no answer within {known.seconds:.0f} s; {advice}", retryable=True
            ) from None
        self.metrics.note(answer.noted)
        return answer

    async def _has_project(self, project: str) -> bool:
        """Whether the project has documents and is not hidden."""
        store = await self._open_store_once()
        return await asyncio.to_thread(store.catalogue.generation, project) > 0

    async def _open_store_once(self) -> Store:
        """The open store. If the caller is cancelled, opening goes on, and a later error is ignored."""
        opening = asyncio.wrap_future(self._start_opening())
        opening.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(opening)

    def _start_opening(self) -> Future[Store]:
        with self._opening_guard:
            failed = self._opening is not None and self._opening.done() and self._opening.exception() is not None
            if self._opening is None or failed:
                self._opening = self._opener.submit(self._open_store)
            return self._opening


def _answer_and_render(
    known: Operation, context: RequestContext, request: BaseModel, ignored: tuple[str, ...]
) -> Answer:
    """The answer with its warnings, first those about ignored arguments, and its text."""
    # Rendered and counted here: in a thread, in the process that has the tokenizer.
    try:
        answer = known.run(context, request)
    except WinnowError as error:
        if error.reason != "NOT_FOUND" or not context.warnings:
            raise
        # What is said of the request tells where else to look.
        message = "; ".join((error.message, *dict.fromkeys(context.warnings)))
        raise WinnowError(error.reason, message, details=error.details) from None
    warnings = (*ignored, *answer.warnings, *dict.fromkeys(context.warnings))
    if warnings:  # the estimate of what is sent counts them
        answer = replace(answer, warnings=warnings, rendered=None)
    return render_answer(context, answer, known.tool)
