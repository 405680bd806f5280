"""The composition root: settings to backends to knowledge base to sandbox. Only commands import it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

from server.engine import endpoint
from server.engine.client import EngineKnowledge
from server.errors import WinnowError
from server.knowledge import DIRECT, Caller, Knowledge, KnowledgeBase, Library
from server.scripts.script_runs import Scripts
from server.settings import Settings
from server.tools import Context


class Application:
    """A winnow: what answers, what runs scripts, and the moment when both begin to load.

    Nothing heavy happens until ``start``: a host's handshake is answered first.
    """

    def __init__(self, settings: Settings, kb: Knowledge) -> None:
        self.settings = settings
        self.kb = kb
        self.scripts = Scripts(kb, settings)
        self._loading: list[asyncio.Task[Any]] = []
        self.started = asyncio.Event()  # it has begun to load
        self._closed = False

    def start(self) -> None:
        """Begin to open the store, to load the model and to raise the sandbox; returns at once, works once.

        Does nothing after ``close``: a client may leave between its first answer and the moment of loading.
        """
        if not self._loading and not self._closed:
            self.started.set()
            self._loading = [
                asyncio.create_task(self.scripts.start()),
                asyncio.create_task(self.kb.load()),
            ]

    @property
    def is_settled(self) -> bool:
        """Whether it is settled which tools can be offered."""
        return bool(self._loading) and self._loading[0].done()

    async def ready(self) -> None:
        """Wait until it is settled which tools can be offered."""
        self.start()
        if self._loading:  # there is nothing to wait for after ``close``
            await asyncio.shield(self._loading[0])

    def context(self, client: str, progress: Callable[[float, str], Awaitable[None]]) -> Context:
        """What one tool call may use."""
        return Context(self.kb, self.scripts, self.settings, client, progress)

    def caller(self, connection: str) -> Caller:
        """Who asks directly over this connection."""
        return self.kb.caller(connection, DIRECT)

    async def health(self) -> dict[str, Any]:
        """What an operator wants to see at a glance."""
        await self.ready()
        try:
            counted = asdict(await self.kb.counters())
        except WinnowError as error:
            counted = {"scratch": error.envelope(), "caches": {}}
        return {
            "execute_code": "on" if self.scripts.available else self.scripts.why_not,
            **counted,
            **self.kb.metrics.snapshot(),
            "queue": self.scripts.queue,
        }

    async def close(self) -> None:
        """Take everything down, in the order in which things depend on each other."""
        self._closed = True
        for task in self._loading[1:]:  # nobody will ask; the sandbox is raised to its end, to be taken down
            task.cancel()
        await asyncio.gather(*self._loading, return_exceptions=True)
        await self.scripts.close()
        await self.kb.aclose()


def make_knowledge_base(settings: Settings, *, wait_for_model: bool) -> KnowledgeBase:
    """The knowledge base of these settings, still closed."""

    def open_library() -> Library:
        # Engines and model runtimes take half a second to import: they load here, in the opener's thread.
        from server.opening import open_backends

        return open_backends(settings, wait_for_model=wait_for_model)

    return KnowledgeBase(open_library, settings)


def shares_engine(settings: Settings) -> bool:
    """Whether these settings are for work through an engine, on a system that can."""
    return settings.daemon == "on" and endpoint.is_supported()


def has_engine(settings: Settings) -> bool:
    """Whether these settings are for work through an engine, and one runs: who finds none works alone."""
    return shares_engine(settings) and endpoint.is_listening(settings.store)


def open_knowledge(settings: Settings, *, wait_for_model: bool, starts_engine: bool = False) -> Knowledge:
    """What answers under these settings: the store's engine if it runs (or ``starts_engine``), or this process."""
    if shares_engine(settings) if starts_engine else has_engine(settings):
        return EngineKnowledge(settings, waits_for_model=wait_for_model)
    return make_knowledge_base(settings, wait_for_model=wait_for_model)


@asynccontextmanager
async def open_application(
    settings: Settings, *, wait_for_model: bool, starts_engine: bool = False
) -> AsyncIterator[Application]:
    """An application that is closed at the end; it loads when it is first used, or on ``start``.

    ``wait_for_model``: whether a search waits for the embedding model (a command) or answers lexically until it
    is loaded (a server). ``starts_engine``: see ``open_knowledge``.
    """
    kb = open_knowledge(settings, wait_for_model=wait_for_model, starts_engine=starts_engine)
    application = Application(settings, kb)
    try:
        yield application
    finally:
        await application.close()
