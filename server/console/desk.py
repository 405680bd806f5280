"""The application that pages ask: opened for a page, and closed again when no page asked for a while.

An open application keeps the engine of its store alive, or holds the store itself. A console may be left open for
days, so it gives both back.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Protocol

from mcp_types import CallToolResult
from mcp_types import Tool as WireTool

from winnow.server.errors import WinnowError
from winnow.server.operations.base import Budget
from winnow.server.operations.knowledge import DIRECT, Answer
from winnow.server.settings.settings import Settings
from winnow.server.tools.base import Context
from winnow.server.tools.reference.guides import instructions
from winnow.server.transports import wire
from winnow.server.transports.dispatch import ApplicationServices, Dispatcher, ignore_progress

# Names the console in the audit, as a hash, and its session.
CLIENT = "console"
# From the last page to the next click of somebody who reads. Opening again takes an engine a few milliseconds.
IDLE_SECONDS = 20.0


class ConsoleApplication(ApplicationServices, Protocol):
    """An application as the console uses it."""

    def context(self, client: str, progress: Callable[[float, str], Awaitable[None]]) -> Context:
        """The context of one tool call."""


OpenApplication = Callable[[], AbstractAsyncContextManager[ConsoleApplication]]


class OpenDesk:
    """An open application, asked as an agent without rights to write asks."""

    def __init__(self, application: ConsoleApplication) -> None:
        self._application = application
        self._dispatcher = Dispatcher(application.context, application.settings)
        self._loading: asyncio.Task[None] | None = None

    async def load(self) -> None:
        """Wait until the store is open, and begin to load its graphs. Raises what opening raises."""
        await self._application.kb.open()
        self._loading = asyncio.create_task(self._application.kb.load())

    async def stop_loading(self) -> None:
        """End the loading of graphs: before the application is closed."""
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.gather(self._loading, return_exceptions=True)

    async def call(self, operation: str, arguments: Mapping[str, Any], budget: Budget = DIRECT) -> Answer:
        """The answer of an operation. Raises ``WinnowError``."""
        kb = self._application.kb
        return await kb.call(operation, arguments, kb.caller(CLIENT, budget))

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """The result of a tool that only reads, as MCP sends it. Raises ``WinnowError`` for any other name."""
        tool = self._dispatcher.find(name)
        if tool is None or not tool.read_only:
            raise WinnowError("INVALID_REQUEST", self._dispatcher.explain_unknown(name, CLIENT))
        return await wire.call_tool(self._dispatcher, tool, arguments, CLIENT, ignore_progress)

    async def list_tools(self) -> list[WireTool]:
        """The tools as MCP lists them, once it is known whether scripts run here."""
        await self._application.ready()
        settings = self._application.settings
        return [wire.build_tool(listed, settings, {}) for listed in self._dispatcher.list_tools(CLIENT)]

    def instructions(self) -> str:
        """The instructions that a client gets beside the tools."""
        return instructions(self._application.settings)

    async def count_tokens(self, text: str) -> int:
        """The number of tokens of a text."""
        return await self._application.kb.count_tokens(text)

    @property
    def tokenizer(self) -> str:
        """The name of the tokenizer."""
        return self._application.kb.tokenizer


class Desk:
    """Opens the application at the first use, and closes it when it was not used for ``idle_seconds``."""

    def __init__(
        self, settings: Settings, open_application: OpenApplication, idle_seconds: float = IDLE_SECONDS
    ) -> None:
        self.settings = settings
        self._open_application = open_application
        self._idle_seconds = idle_seconds
        self._turn = asyncio.Lock()
        self._users = 0
        self._opened: OpenDesk | None = None
        self._stack = AsyncExitStack()
        self._timer: asyncio.TimerHandle | None = None
        self._closing: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether an application is open."""
        return self._opened is not None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[OpenDesk]:
        """The open application, for one page."""
        self._users += 1
        try:
            yield await self._open()
        finally:
            self._users -= 1
            self._start_timer()

    async def _open(self) -> OpenDesk:
        async with self._turn:
            if self._opened is None:
                self._opened = await self._open_once()
            return self._opened

    async def _open_once(self) -> OpenDesk:
        async with AsyncExitStack() as stack:
            opened = OpenDesk(await stack.enter_async_context(self._open_application()))
            stack.push_async_callback(opened.stop_loading)
            await opened.load()
            self._stack = stack.pop_all()
        return opened

    def _start_timer(self) -> None:
        loop = asyncio.get_running_loop()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_later(self._idle_seconds, self._start_closing)

    def _start_closing(self) -> None:
        self._closing = asyncio.get_running_loop().create_task(self._close(only_if_idle=True))

    async def _close(self, *, only_if_idle: bool) -> None:
        async with self._turn:
            if self._opened is not None and not (only_if_idle and self._users):
                self._opened = None
                await self._stack.aclose()

    async def aclose(self) -> None:
        """Close the application, if it is open."""
        if self._timer is not None:
            self._timer.cancel()
        await self._close(only_if_idle=False)
