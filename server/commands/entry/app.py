"""The composition root: builds the application from the settings. Only commands import it."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from winnow import __version__
from winnow.server.commands.entry.knowledge import open_knowledge
from winnow.server.errors import WinnowError
from winnow.server.jobs.watching.ingest_lag import measure_lag
from winnow.server.operations.knowledge import DIRECT, Caller, Knowledge, KnowledgeBase
from winnow.server.runtime.draining import Drain
from winnow.server.runtime.logs import log
from winnow.server.runtime.priority import SWITCH_SECONDS
from winnow.server.runtime.reports.capacities import Alerts
from winnow.server.runtime.reports.readiness import Readiness
from winnow.server.runtime.reports.traces import shut_down_traces
from winnow.server.settings.settings import Settings
from winnow.server.storage.files.disk_use import measure_disk
from winnow.server.tools.scripts.script_runs import Scripts
from winnow.server.tools.table import Context

if TYPE_CHECKING:
    from winnow.server.backends.opening import Backends
    from winnow.server.jobs.watching.watcher import Watcher
    from winnow.server.tools.operator_tools import OperatorTools
    from winnow.server.tools.prompts.library import PromptLibrary


class Application:
    """A server's knowledge base and its scripts, and the start of both.

    Nothing large is loaded before ``start``, so that a client's handshake is answered first. ``watches``: watch
    the sources of the store, if ``kb`` has the store open itself; otherwise its engine does.
    """

    def __init__(self, settings: Settings, kb: Knowledge, *, watches: bool = False) -> None:
        self.settings = settings
        self.kb = kb
        self.scripts = Scripts(kb, settings)
        self._loading: list[asyncio.Task[Any]] = []
        self.started = asyncio.Event()  # set when loading begins
        self._closed = False
        self._watches = watches
        self._watcher: Watcher | None = None
        self.drain = Drain()
        # Name -> figures that a transport adds to those at ``health``.
        self.figures: dict[str, Callable[[], Mapping[str, Any]]] = {}
        self._alerts = Alerts()
        self._began = time.monotonic()
        self.readiness = Readiness(self._open, self.drain)

    def start(self) -> None:
        """Start opening the store, loading the model and starting the sandbox, in the background and once only.

        Does nothing after ``close``: a client may leave between its first answer and this call.
        """
        if not self._loading and not self._closed:
            self.started.set()
            self._loading = [
                asyncio.create_task(self.scripts.start()),
                asyncio.create_task(self.kb.load()),
                *([asyncio.create_task(self._watch(self.kb))] if isinstance(self.kb, KnowledgeBase) else ()),
            ]

    async def _watch(self, kb: KnowledgeBase) -> None:
        if not self._watches:
            return
        from winnow.server.jobs.watching.store_watcher import watcher_of

        sys.setswitchinterval(SWITCH_SECONDS)
        try:
            library = cast("Backends", await kb.opened())
            self._watcher = watcher_of(self.settings, lambda: library)
            await asyncio.to_thread(self._watcher.start)
        except WinnowError as error:
            log("the sources are not watched", level=30, why=error.message)

    @property
    def is_settled(self) -> bool:
        """Whether it is known which tools can be offered."""
        return bool(self._loading) and self._loading[0].done()

    @cached_property
    def prompts(self) -> PromptLibrary:
        """The prompts, read at their first use."""
        from winnow.server.tools.prompts.library import load_prompts

        library = load_prompts(self.settings.prompt_packs)
        for each in library.left_out:
            log("a prompt is not offered", level=30, what=each.what, why=each.why)
        return library

    async def ready(self) -> None:
        """Wait until it is known which tools can be offered."""
        self.start()
        await self.refresh_tools()
        if self._loading:  # empty after ``close``
            await asyncio.shield(self._loading[0])

    def context(self, client: str, progress: Callable[[float, str], Awaitable[None]]) -> Context:
        """The context of one tool call."""
        tools = self._operator_tools.tools if self._operator_tools else ()
        return Context(self.kb, self.scripts, self.settings, client, progress, tools)

    @cached_property
    def _operator_tools(self) -> OperatorTools | None:
        if not self.settings.tool_packs:
            return None
        from winnow.server.tools.operator_tools import OperatorTools

        return OperatorTools(self.settings)

    async def refresh_tools(self) -> None:
        """Read the tools of the operator, if there are any and a file of theirs may have changed."""
        if self._operator_tools and self._operator_tools.is_due:
            await asyncio.to_thread(self._operator_tools.refresh)

    def caller(self, connection: str) -> Caller:
        """The caller of direct calls on this connection."""
        return self.kb.caller(connection, DIRECT)

    async def health(self) -> dict[str, Any]:
        """The state and the counters of the server, for operators."""
        await self.ready()
        try:
            counters = asdict(await self.kb.counters())
        except WinnowError as error:
            counters = {"scratch": error.envelope(), "caches": {}, "store": None}
        figures = {
            "version": __version__,
            "uptime_seconds": round(time.monotonic() - self._began),
            "draining": self.drain.is_draining,
            "ready": not await self.readiness.reasons(),
            "execute_code": "on" if self.scripts.available else self.scripts.why_not,
            "sandbox_available": self.scripts.available,
            **counters,
            **self.kb.metrics.snapshot(),
            "queue": self.scripts.queue,
            **await asyncio.to_thread(self._read_store_files),
            **{name: read() for name, read in self.figures.items()},
        }
        return figures | self._alerts.update(figures)

    def _read_store_files(self) -> dict[str, Any]:
        store = self.settings.store
        return {"disk": asdict(measure_disk(store)), "ingest": measure_lag(store)}

    async def _open(self) -> None:
        """Begin to load, and wait until the store is open. Raises ``WinnowError``."""
        self.start()
        await self.kb.open()

    async def close(self) -> None:
        """Stop everything, in the order of dependencies."""
        self._closed = True
        await self.drain.give_up()
        for task in self._loading[1:]:  # the sandbox must finish starting before it can stop
            task.cancel()
        await asyncio.gather(*self._loading, return_exceptions=True)
        if self._watcher:
            await asyncio.to_thread(self._watcher.stop)
        await self.scripts.close()
        await self.kb.aclose()
        await asyncio.to_thread(shut_down_traces)


@asynccontextmanager
async def open_application(
    settings: Settings, *, wait_for_model: bool, starts_engine: bool = False
) -> AsyncIterator[Application]:
    """An application that is closed on exit; it loads at its first use or on ``start``.

    ``wait_for_model``: whether a search waits for the embedding model (a command) or answers lexically until it
    is loaded (a server). ``starts_engine``: see ``open_knowledge``.
    """
    kb = open_knowledge(settings, wait_for_model=wait_for_model, starts_engine=starts_engine)
    application = Application(settings, kb, watches=starts_engine and settings.watch == "on")
    try:
        yield application
    finally:
        await application.close()
