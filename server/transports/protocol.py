"""The MCP server object: the SDK's low-level server with our tables of tools, resources and prompts behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any, Protocol

from mcp.server import Server
from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    PromptReference,
    ReadResourceRequestParams,
    ReadResourceResult,
)
from pydantic import ValidationError

from server import __version__
from server.contracts import flat_schema
from server.errors import WinnowError
from server.knowledge import Knowledge
from server.reference.guides import instructions
from server.runtime.logs import log
from server.sessions.passage_store import URI_TEMPLATE, parse_uri
from server.sessions.result_store import parse_uri as parse_result
from server.settings import Settings
from server.text.printable import printable, shorten
from server.transports import prompts, resources
from server.transports.dispatch import Dispatcher
from server.transports.limits import RateLimit
from server.transports.sessions import (
    Connection,
    Tokens,
    address_of,
    client_of,
    is_handshake_era,
    name_of_connection,
)

# How long after an answer loading begins. A client that shakes hands asks for the tools next: that comes first.
_HEAD_START_SECONDS = 0.02
_HANDSHAKE = frozenset({"initialize", "notifications/initialized", "server/discover", "ping"})
_HEAD_START_OF_LISTING_SECONDS = 0.25
# What was not found had a code of its own until 2026.
_NOT_FOUND_BEFORE_2026 = -32002
_MAX_URI_CHARS = 2_000


class ApplicationServices(Protocol):
    """What the server needs of a winnow beside its tools."""

    @property
    def settings(self) -> Settings:
        """What is in force."""

    @property
    def kb(self) -> Knowledge:
        """What answers, and holds what sessions were shown in part or not at all."""

    def start(self) -> None:
        """Begin to load; returns at once. Called once the first request has been answered."""

    @property
    def is_settled(self) -> bool:
        """Whether it is settled which tools can be offered; until then a look at the host says so."""

    async def ready(self) -> None:
        """Wait until it is settled which tools can be offered."""


def build_server(dispatcher: Dispatcher, application: ApplicationServices) -> Server[str]:
    """The server of one process: it answers a handshake before anything has been loaded."""
    handlers = _Handlers(dispatcher, application)
    server: Server[str] = Server(
        "winnow",
        version=__version__,
        title="winnow",
        instructions=instructions(application.settings),
        lifespan=name_of_connection,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_resource_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        on_completion=handlers.complete,
        get_tool_input_schema=lambda name: _input_schema(dispatcher, name),
    )
    server.middleware.extend((handlers.load_after_answer, no_leaks, Tokens().hand_out))
    return server


async def no_leaks(ctx: Connection, call_next: CallNext) -> HandlerResult:
    """What we refuse leaves with its envelope; a bug of ours as a bare internal error.

    In one of its eras the SDK would send an exception's text.
    """
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except WinnowError as error:
        raise _on_the_wire(error, ctx) from None
    except Exception:
        log("request failed", exc_info=True, level=40, method=ctx.method)
        raise MCPError(INTERNAL_ERROR, "internal error") from None


class _Handlers:
    """One method for each request of the protocol. Those about resources and prompts may raise WinnowError."""

    def __init__(self, dispatcher: Dispatcher, application: ApplicationServices) -> None:
        self._dispatcher = dispatcher
        self._application = application
        self._reads = RateLimit(application.settings)
        self._announcing: set[asyncio.Task[None]] = set()

    async def load_after_answer(self, ctx: Connection, call_next: CallNext) -> HandlerResult:
        """Loading competes with answering for one interpreter: the first answer goes out before it begins."""
        try:
            return await call_next(ctx)
        finally:
            seconds = _HEAD_START_OF_LISTING_SECONDS if ctx.method in _HANDSHAKE else _HEAD_START_SECONDS
            asyncio.get_running_loop().call_later(seconds, self._application.start)

    async def list_tools(self, context: Connection, params: PaginatedRequestParams | None) -> ListToolsResult:
        _one_page(params)
        listed = self._dispatcher.listed()
        if is_handshake_era(context) and context.request is None and not self._application.is_settled:
            announcing = asyncio.create_task(self._announce(context, [tool.name for tool in listed]))
            self._announcing.add(announcing)
            announcing.add_done_callback(self._announcing.discard)
        return ListToolsResult(tools=listed)

    async def _announce(self, context: Connection, listed: list[str]) -> None:
        """Say that the list has changed, where it was made before all was known, and was wrong."""
        await asyncio.sleep(_HEAD_START_SECONDS)
        await self._application.ready()
        if [tool.name for tool in self._dispatcher.listed()] != listed:
            await context.session.send_tool_list_changed()

    async def call_tool(self, context: Connection, params: CallToolRequestParams) -> CallToolResult:
        tool = self._dispatcher.find(params.name)
        if tool is None or tool.needs_scripts:
            await self._application.ready()
            tool = self._dispatcher.find(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, self._dispatcher.unknown(params.name))

        async def progress(seconds: float, message: str) -> None:
            await context.session.report_progress(seconds, message=message)

        return await self._dispatcher.call(
            tool, params.arguments or {}, client_of(context), progress, address_of(context)
        )

    async def list_resources(
        self, context: Connection, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        _one_page(params)
        listed = resources.listed_pages(await self._tools(), self._application.settings)
        return ListResourcesResult(resources=listed)

    async def list_resource_templates(
        self, context: Connection, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        _one_page(params)
        return ListResourceTemplatesResult(resource_templates=list(resources.TEMPLATES))

    async def read_resource(self, context: Connection, params: ReadResourceRequestParams) -> ReadResourceResult:
        client = self._counted(context)
        tools = await self._tools()
        parsed, kb = parse_uri(params.uri), self._application.kb
        result = kb.results.get(client, parse_result(params.uri) or "")
        session_id, kept = await kb.passage(client, parsed[1]) if parsed else ("", None)
        held = resources.ResourceContent(session_id, kept, result)
        # Cleaning text takes milliseconds: not on the loop that answers everybody.
        return await asyncio.to_thread(resources.read, params.uri, held, tools, self._application.settings)

    async def list_prompts(self, context: Connection, params: PaginatedRequestParams | None) -> ListPromptsResult:
        _one_page(params)
        return ListPromptsResult(prompts=prompts.listed_prompts(await self._tools()))

    async def get_prompt(self, context: Connection, params: GetPromptRequestParams) -> GetPromptResult:
        self._counted(context)
        tools = await self._tools()
        prompt = prompts.find_prompt(params.name, tools)
        return prompts.filled(prompt, params.arguments or {}, tools, self._application.settings)

    async def complete(self, context: Connection, params: CompleteRequestParams) -> CompleteResult:
        client = self._counted(context)
        name, value = params.argument.name, params.argument.value
        if isinstance(params.ref, PromptReference):
            prompts.find_prompt(params.ref.name, await self._tools())
            return CompleteResult(completion=Completion(values=[], has_more=False))  # any words will do
        if params.ref.uri == resources.RESULTS.uri_template:
            return CompleteResult(completion=Completion(values=[], has_more=False))  # an error says which there is
        if params.ref.uri != URI_TEMPLATE:
            raise WinnowError("INVALID_REQUEST", f"only {URI_TEMPLATE} has placeholders")
        given = (params.context.arguments if params.context else None) or {}
        session_id, ids = await self._application.kb.passage_ids(client, value, resources.MOST_COMPLETIONS + 1)
        return CompleteResult(completion=resources.complete(name, value, given, session_id, ids))

    async def _tools(self) -> Collection[str]:
        return {listed.name.replace(".", "_") for listed in self._dispatcher.listed()}

    def _counted(self, context: Connection) -> str:
        client = client_of(context)
        self._reads.take(client, "read", address_of(context))
        return client


def _one_page(params: PaginatedRequestParams | None) -> None:
    if params is not None and params.cursor is not None:
        raise MCPError(INVALID_PARAMS, "everything fits one page; there is no cursor")


def _on_the_wire(error: WinnowError, context: Connection) -> MCPError:
    data = error.envelope()
    if context.method == "resources/read":  # the protocol wants to see there which one it was
        data["uri"] = shorten(printable(str((context.params or {}).get("uri", ""))), _MAX_URI_CHARS)
    return MCPError(_code_of(error, context), error.message, data)


def _code_of(error: WinnowError, context: Connection) -> int:
    if error.reason == "NOT_FOUND" and is_handshake_era(context):
        return _NOT_FOUND_BEFORE_2026
    return INTERNAL_ERROR if error.retryable else INVALID_PARAMS


def _input_schema(dispatcher: Dispatcher, name: str) -> dict[str, Any] | None:
    tool = dispatcher.find(name)
    return None if tool is None else dict(flat_schema(tool.arguments))
