"""The composition root: settings to backends to knowledge base to sandbox. Only commands import it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from server.knowledge import KnowledgeBase, Library
from server.scripts import Scripts
from server.settings import Settings
from server.tokens import count_tokens
from server.tools import Context


@dataclass(frozen=True, slots=True)
class Application:
    """A running winnow: what answers, what runs scripts, and when both are settled.

    ``settled`` is done once it is known whether scripts can run here. Searches need not wait for it.
    """

    settings: Settings
    kb: KnowledgeBase
    scripts: Scripts
    settled: asyncio.Task[None]

    def context(self, progress: Callable[[float, str], Awaitable[None]]) -> Context:
        """What one tool call may use."""
        return Context(self.kb, self.scripts, self.settings, progress)

    async def ready(self) -> None:
        """Wait until it is settled which tools can be offered."""
        await asyncio.shield(self.settled)

    async def health(self) -> dict[str, Any]:
        """What an operator wants to see at a glance."""
        await self.ready()
        return {"execute_code": "on" if self.scripts.available else self.scripts.why_not}


def knowledge_base(settings: Settings, *, wait_for_model: bool) -> KnowledgeBase:
    """The knowledge base of these settings, still closed."""

    def open_library() -> Library:
        # Engines and model runtimes take half a second to import: they load here, in the opener's thread.
        from server.backends.opening import open_backends

        return open_backends(settings, wait_for_model=wait_for_model)

    return KnowledgeBase(open_library, settings)


@asynccontextmanager
async def running(settings: Settings, *, wait_for_model: bool) -> AsyncIterator[Application]:
    """Everything up in the background, and down again in reverse order.

    ``wait_for_model``: whether a search waits for the embedding model (a command) or answers lexically until it
    is loaded (a server).
    """
    kb = knowledge_base(settings, wait_for_model=wait_for_model)
    scripts = Scripts(kb, settings)
    settled = asyncio.create_task(scripts.start())
    kb.start()
    vocabulary = asyncio.create_task(asyncio.to_thread(count_tokens, "warm"))
    try:
        yield Application(settings, kb, scripts, settled)
    finally:
        await asyncio.gather(settled, vocabulary, return_exceptions=True)
        await scripts.close()
        await asyncio.to_thread(kb.close)
