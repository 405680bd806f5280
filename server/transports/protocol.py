"""The MCP server object: the SDK's low-level server, serving our tools, resources and prompts."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

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

from winnow import __version__
from winnow.server.errors import WinnowError, own_words
from winnow.server.runtime.logs import log
from winnow.server.runtime.reports.traces import continued, span
from winnow.server.runtime.sessions.host_words import error_for
from winnow.server.runtime.sessions.passage_store import URI_TEMPLATE, parse_uri
from winnow.server.runtime.sessions.result_store import parse_uri as parse_result
from winnow.server.runtime.sessions.rights import settings_for
from winnow.server.settings.settings import Settings
from winnow.server.text.printable import one_line, printable, shorten
from winnow.server.tools.reference.guides import instructions
from winnow.server.transports import prompts, resources, wire
from winnow.server.transports.dispatch import ApplicationServices, Dispatcher, read_prompts
from winnow.server.transports.extensions import skills
from winnow.server.transports.extensions.apps import app_extensions, apps_for
from winnow.server.transports.extensions.skills import GetSkillParams, skill_extensions
from winnow.server.transports.extensions.tasks import TaskParams, Tasks, UpdateTaskParams, task_extensions
from winnow.server.transports.sessions import (
    Connection,
    Tokens,
    address_of,
    client_of,
    connection_lifespan,
    is_handshake_era,
    note_wait,
)

# Seconds after an answer until loading begins. After a handshake it is longer: the client lists the tools next.
_HEAD_START_SECONDS = 0.02
_HANDSHAKE = frozenset({"initialize", "notifications/initialized", "server/discover", "ping"})
_INTRODUCING = frozenset({"initialize", "server/discover"})
_HEAD_START_OF_LISTING_SECONDS = 0.25
# The error code for "not found" in protocol revisions before 2026.
_NOT_FOUND_BEFORE_2026 = -32002
_MAX_URI_CHARS = 2_000
# Method -> the parameters that it takes, for the error about others; of the wrong ones a few are named.
_FORMS: Mapping[str, str] = MappingProxyType(
    {
        "tools/call": '{"name": TOOL, "arguments": {NAME: VALUE}}',
        "prompts/get": '{"name": PROMPT, "arguments": {NAME: TEXT}}',
        "resources/read": '{"uri": URI}',
        "tasks/get": '{"taskId": ID}',
        "tasks/update": '{"taskId": ID, "inputResponses": {KEY: ANSWER}}',
        "tasks/cancel": '{"taskId": ID}',
    }
)
_MOST_FIELDS, _FIELD_CHARS = 3, 60


def build_server(dispatcher: Dispatcher, application: ApplicationServices) -> Server[str]:
    """The MCP server of one process. It answers a handshake before anything has been loaded."""
    handlers = _Handlers(dispatcher, application)
    server: Server[str] = Server(
        "winnow",
        version=__version__,
        title="winnow",
        lifespan=connection_lifespan,
        on_list_tools=handlers.list_tools,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_resource_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        on_completion=handlers.complete,
        get_tool_input_schema=_no_declared_headers,
    )
    # The SDK's own argument for it knows no tasks as results.
    server.add_request_handler("tools/call", CallToolRequestParams, handlers.call_tool)
    server.add_request_handler("tasks/get", TaskParams, handlers.tasks.get)
    server.add_request_handler("tasks/update", UpdateTaskParams, handlers.tasks.update)
    server.add_request_handler("tasks/cancel", TaskParams, handlers.tasks.cancel)
    server.add_request_handler("skills/list", PaginatedRequestParams, handlers.list_skills)
    server.add_request_handler("skills/get", GetSkillParams, handlers.get_skill)
    # In place of the SDK's own tracing, which puts names and messages that a client chose into spans.
    server.middleware[:] = (
        trace_request,
        handlers.load_after_answer,
        hide_internal_errors,
        handlers.count_refusals,
        Tokens().hand_out,
        handlers.introduce,
    )
    return server


async def trace_request(ctx: Connection, call_next: CallNext) -> HandlerResult:
    """Middleware: a span around a request, which continues the trace that ``_meta`` of the request names."""
    with continued((ctx.params or {}).get("_meta")), span("request", "server", method=one_line(ctx.method, 40)):
        return await call_next(ctx)


async def hide_internal_errors(ctx: Connection, call_next: CallNext) -> HandlerResult:
    """Middleware: send a WinnowError with its envelope, and any other exception as a bare internal error.

    For one protocol era the SDK would send the exception's text.
    """
    try:
        return await call_next(ctx)
    except MCPError:
        raise
    except ValidationError as error:
        raise _malformed(error, ctx) from None
    except WinnowError as error:
        note_wait(ctx, error.retry_after_s)
        raise _build_mcp_error(error_for(error, client_of(ctx)), ctx) from None
    except Exception:
        log("request failed", exc_info=True, level=40, method=ctx.method)
        raise MCPError(INTERNAL_ERROR, "internal error") from None


class _Handlers:
    """One method for each MCP request. Those for resources and prompts may raise WinnowError."""

    def __init__(self, dispatcher: Dispatcher, application: ApplicationServices) -> None:
        self._dispatcher = dispatcher
        self._application = application
        self.tasks = Tasks(dispatcher, application.drain, self._count_read)
        self._extensions = {**app_extensions(dispatcher.settings), **skill_extensions(), **task_extensions()}
        self._announcing: set[asyncio.Task[None]] = set()

    async def load_after_answer(self, ctx: Connection, call_next: CallNext) -> HandlerResult:
        """Middleware: begin to load after the first answer, because both compete for one interpreter."""
        try:
            return await call_next(ctx)
        finally:
            seconds = _HEAD_START_OF_LISTING_SECONDS if ctx.method in _HANDSHAKE else _HEAD_START_SECONDS
            asyncio.get_running_loop().call_later(seconds, self._application.start)

    async def count_refusals(self, ctx: Connection, call_next: CallNext) -> HandlerResult:
        """Middleware: count errors of requests that are no calls of tools; the dispatcher counts those."""
        try:
            return await call_next(ctx)
        except WinnowError as error:
            self._application.kb.metrics.count_refusal("read", error.reason)
            raise

    async def introduce(self, ctx: Connection, call_next: CallNext) -> HandlerResult:
        """Middleware: add the instructions for this client, which name the projects that it reaches.

        And the extensions, which the SDK leaves out for revisions before 2026: clients look for them there, too.
        """
        result = await call_next(ctx)
        if ctx.method not in _INTRODUCING or not isinstance(result, dict):
            return result
        capabilities = {**result.get("capabilities", {}), "extensions": self._extensions}
        told = instructions(self._settings_for(client_of(ctx)))
        return {**result, "capabilities": capabilities, "instructions": told}

    async def list_tools(self, context: Connection, params: PaginatedRequestParams | None) -> ListToolsResult:
        _refuse_cursor(params)
        client = client_of(context)
        await self._application.refresh_tools()
        listed = self._dispatcher.list_tools(client)
        if is_handshake_era(context) and context.request is None and not self._application.is_settled:
            announcing = asyncio.create_task(self._announce(context, [tool.name for tool in listed]))
            self._announcing.add(announcing)
            announcing.add_done_callback(self._announcing.discard)
        settings = self._application.settings
        shown = apps_for(context)
        return ListToolsResult(tools=[wire.build_tool(tool, settings, shown) for tool in listed])

    async def _announce(self, context: Connection, listed: list[str]) -> None:
        """Notify the client if the list was made before the sandbox was checked and has changed."""
        await asyncio.sleep(_HEAD_START_SECONDS)
        await self._application.ready()
        if [tool.name for tool in self._dispatcher.list_tools()] != listed:
            await context.session.send_tool_list_changed()

    async def call_tool(
        self, context: Connection, params: CallToolRequestParams
    ) -> CallToolResult | dict[str, Any]:
        client = client_of(context)
        await self._application.refresh_tools()
        tool = await self._dispatcher.find_when_ready(params.name, self._application.ready)
        if tool is None:
            self._application.kb.metrics.count_refusal("call", "NOT_FOUND")
            raise _unknown_tool(self._dispatcher.explain_unknown(params.name, client))

        async def progress(seconds: float, message: str) -> None:
            await context.session.report_progress(seconds, message=message)

        result = await self.tasks.call(context, tool, params.arguments or {}, progress)
        if isinstance(result, CallToolResult):
            note_wait(context, _seconds_to_wait(result))
        return result

    async def list_resources(
        self, context: Connection, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        _refuse_cursor(params)
        client = client_of(context)
        listed = resources.list_pages(self._tool_names(client), self._settings_for(client))
        return ListResourcesResult(resources=listed)

    async def list_skills(self, context: Connection, params: PaginatedRequestParams) -> dict[str, Any]:
        _refuse_cursor(params)
        client = client_of(context)
        return await asyncio.to_thread(skills.list_skills, self._tool_names(client), self._settings_for(client))

    async def get_skill(self, context: Connection, params: GetSkillParams) -> dict[str, Any]:
        client = self._count_read(context)
        tools, settings = self._tool_names(client), self._settings_for(client)
        return await asyncio.to_thread(skills.get_skill, params.uri, tools, settings)

    async def list_resource_templates(
        self, context: Connection, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        _refuse_cursor(params)
        return ListResourceTemplatesResult(resource_templates=list(resources.TEMPLATES))

    async def read_resource(self, context: Connection, params: ReadResourceRequestParams) -> ReadResourceResult:
        client = self._count_read(context)
        tools, settings = self._tool_names(client), self._settings_for(client)
        parsed, kb = parse_uri(params.uri), self._application.kb
        result = kb.results.get(client, parse_result(params.uri) or "")
        session_id, passage = await kb.passage(client, parsed[1]) if parsed else ("", None)
        content = resources.ResourceContent(session_id, passage, result)
        # Cleaning text takes milliseconds, too long for the event loop.
        return await asyncio.to_thread(resources.read_resource, params.uri, content, tools, settings)

    async def list_prompts(self, context: Connection, params: PaginatedRequestParams | None) -> ListPromptsResult:
        _refuse_cursor(params)
        return ListPromptsResult(
            prompts=prompts.list_prompts(
                await read_prompts(self._application), self._tool_names(client_of(context))
            )
        )

    async def get_prompt(self, context: Connection, params: GetPromptRequestParams) -> GetPromptResult:
        client = self._count_read(context)
        tools = self._tool_names(client)
        library, settings = await read_prompts(self._application), self._settings_for(client)
        return prompts.get_prompt(library, params.name, params.arguments or {}, tools, settings)

    async def complete(self, context: Connection, params: CompleteRequestParams) -> CompleteResult:
        client = self._count_read(context)
        name, value = params.argument.name, params.argument.value
        if isinstance(params.ref, PromptReference):
            library = await read_prompts(self._application)
            prompt = library.find(params.ref.name, self._tool_names(client))
            values = library.complete(prompt, name, value)
            return CompleteResult(completion=Completion(values=list(values), has_more=False))
        if params.ref.uri == resources.RESULTS.uri_template:
            return CompleteResult(completion=Completion(values=[], has_more=False))  # errors name the id
        if params.ref.uri != URI_TEMPLATE:
            raise WinnowError("INVALID_REQUEST", f"only {URI_TEMPLATE} has placeholders to complete")
        given = (params.context.arguments if params.context else None) or {}
        session_id, ids = await self._application.kb.passage_ids(client, value, resources.MAX_COMPLETIONS + 1)
        return CompleteResult(completion=resources.complete_placeholder(name, value, given, session_id, ids))

    def _tool_names(self, client: str) -> Collection[str]:
        return {tool.name.replace(".", "_") for tool in self._dispatcher.list_tools(client)}

    def _settings_for(self, client: str) -> Settings:
        return settings_for(self._application.settings, client)

    def _count_read(self, context: Connection) -> str:
        client = client_of(context)
        self._dispatcher.limits.take(client, "read", address_of(context))
        return client


def _seconds_to_wait(result: CallToolResult) -> float | None:
    """When a refused call may be repeated; None for an answer, and for an error that does not tell."""
    error = (result.structured_content or {}).get("error") if result.is_error else None
    seconds: float | None = error["details"].get("retry_after_s") if error else None
    return seconds


def _refuse_cursor(params: PaginatedRequestParams | None) -> None:
    if params is not None and params.cursor is not None:
        raise MCPError(INVALID_PARAMS, "the whole list fits on one page; call again without cursor")


def _unknown_tool(message: str) -> MCPError:
    """The error for a call of an unknown tool, with a trace id as in every answer; the log has it, too."""
    trace_id = str(uuid.uuid4())
    log("unknown tool", trace_id=trace_id)
    error = WinnowError("NOT_FOUND", message)
    return MCPError(INVALID_PARAMS, message, {**error.envelope(), "trace_id": trace_id})


def _malformed(error: ValidationError, context: Connection) -> MCPError:
    """The error for a request whose parameters do not have the form of its method."""
    wrong = [
        f"{one_line('.'.join(map(str, item['loc'])), _FIELD_CHARS) or 'params'}: {own_words(item['msg'])}"
        for item in error.errors(include_url=False, include_input=False, include_context=False)[:_MOST_FIELDS]
    ]
    form = f"; it takes {_FORMS[context.method]}" if context.method in _FORMS else ""
    message = f"Invalid request parameters of {one_line(context.method, 40)}: {'; '.join(wrong)}{form}"
    refused = WinnowError("INVALID_REQUEST", message)
    return MCPError(INVALID_PARAMS, message, refused.envelope())


def _build_mcp_error(error: WinnowError, context: Connection) -> MCPError:
    data = error.envelope()
    if context.method == "resources/read":  # the protocol requires the URI in this error
        data["uri"] = shorten(printable(str((context.params or {}).get("uri", ""))), _MAX_URI_CHARS)
    return MCPError(_code_of(error, context), error.message, data)


def _code_of(error: WinnowError, context: Connection) -> int:
    if error.reason == "NOT_FOUND" and is_handshake_era(context) and not context.method.startswith("skills/"):
        return _NOT_FOUND_BEFORE_2026
    return INTERNAL_ERROR if error.retryable else INVALID_PARAMS


def _no_declared_headers(name: str) -> None:
    """The schema whose arguments a request repeats in headers, which the SDK compares: no tool declares any.

    With a schema the SDK looks through all of it at each call.
    """
