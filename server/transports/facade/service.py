"""The façade: discovery, prompts and calls of tools for transports other than MCP.

A transport turns its requests into calls of ``FacadeService`` and renders what it returns. A call of a tool goes
through the dispatcher, as over MCP: the same limits, rights, contracts, audit and payload. A result that is
replayed goes through it, too, as the answer of a tool that has it already.
"""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from winnow import __version__
from winnow.server.errors import WinnowError, error_of, internal_error
from winnow.server.operations.answers.budget import dumps
from winnow.server.operations.knowledge import DIRECT
from winnow.server.runtime.logs import log
from winnow.server.runtime.sessions.host_words import error_for
from winnow.server.tools.reference.guides import spell_tool_names
from winnow.server.tools.table import Context, Tool, ToolResult
from winnow.server.transports.call_results import CallResult
from winnow.server.transports.dispatch import ApplicationServices, Dispatcher, ignore_progress, read_prompts
from winnow.server.transports.facade import discovery
from winnow.server.transports.facade.envelope import WRAPPER, Envelope, data_of, envelope_of, refuse
from winnow.server.transports.facade.problems import FacadeProblem, Refusal, problem_of_error, refusal
from winnow.server.transports.facade.replays import Replays, check_key, fingerprint_of


@dataclass(frozen=True, slots=True)
class FacadeClient:
    """A client: its connection (``runtime.sessions.identities``), and its address as limits count it."""

    connection: str
    address: str = ""


@dataclass(frozen=True, slots=True)
class Invocation:
    """A call of a tool. ``keys`` are the idempotency keys sent with it; ``is_fresh``: from no cache.

    ``from_any_pack``: also of a pack that this server does not list. ``max_bytes``: how large its input may be.
    """

    tool: str
    input: Any
    keys: tuple[str, ...] = ()
    is_fresh: bool = False
    from_any_pack: bool = False
    max_bytes: int = discovery.MAX_INPUT_BYTES


class FacadeService:
    """Answers requests of any transport. One for each server: it keeps the results that may be replayed."""

    def __init__(self, dispatcher: Dispatcher, services: ApplicationServices) -> None:
        self._dispatcher = dispatcher
        self._services = services
        self._replays = Replays()

    async def discover(self, client: FacadeClient) -> dict[str, Any]:
        """The server, its tools and prompts, and its state. Raises ``WinnowError``."""
        self._count_read(client)
        await self._refresh()
        listed = self._dispatcher.list_tools(client.connection)
        return {
            "server": {"name": "winnow", "version": __version__},
            "tools": [discovery.describe_tool(each.tool, self._services.settings) for each in listed],
            "prompts": discovery.describe_prompts(await read_prompts(self._services), self._tool_names(client)),
            "health": discovery.describe_health(is_settled=self._services.is_settled),
        }

    async def prompt(
        self, client: FacadeClient, domain: str, name: str, major: int, arguments: Mapping[str, str]
    ) -> dict[str, Any]:
        """A version of a prompt, as ``{body, spec}``: with arguments its text, without any its template.

        Raises ``WinnowError`` and ``Refusal``.
        """
        self._count_read(client)
        await self._services.ready()
        library, tools = await read_prompts(self._services), self._tool_names(client)
        for prompt in library.offered(tools):
            if (prompt.domain, prompt.name, prompt.major) == (domain, name, major):
                described = discovery.describe_prompt(prompt)
                if arguments:
                    text = library.fill(prompt, arguments, tools)
                    described["body"] = spell_tool_names(text, self._services.settings)
                return described
        raise refusal("NOT_FOUND", "no such prompt, or none of this version; discovery lists them")

    async def schema(self, client: FacadeClient, name: str, version: str, kind: str) -> dict[str, Any]:
        """The JSON schema of a tool's input or output. Raises ``WinnowError`` and ``Refusal``."""
        # Not counted: discovery names two for each tool, which are more than a minute's reads.
        # A short route's tool answers also where it is not listed, and its answers name it.
        tool = await self._find(client, name, from_any_pack=name in discovery.SHORT_ROUTES.values())
        if version != tool.version or kind not in ("input", "output"):
            raise refusal("NOT_FOUND", f"there is {discovery.schema_path(tool, 'input')} and output.json")
        if kind == "input":
            return dict(discovery.input_schema(tool.arguments))
        return dict(discovery.data_schema(tool.answer))

    async def tools(self, client: FacadeClient) -> list[Tool]:
        """The tools that this client sees in lists. Raises ``WinnowError``."""
        self._count_read(client)
        await self._refresh()
        return [each.tool for each in self._dispatcher.list_tools(client.connection)]

    async def invoke(self, client: FacadeClient, invocation: Invocation) -> Envelope:
        """The envelope of a call. Raises only when cancelled."""
        return await self.answer(self._invoke(client, invocation), client, tool=invocation.tool[:100])

    async def answer(self, answering: Awaitable[Envelope], client: FacadeClient, tool: str = "") -> Envelope:
        """The envelope, or that of the error that was raised for it."""
        try:
            return await answering
        except Refusal as refused:
            return refuse(refused.problem, tool)
        except WinnowError as error:
            return refuse(problem_of_error(error_for(error, client.connection)), tool)
        except Exception:
            envelope = refuse(problem_of_error(internal_error()), tool)
            log("request failed", exc_info=True, level=40, trace_id=envelope.meta["traceId"])
            return envelope

    async def _invoke(self, client: FacadeClient, invocation: Invocation) -> Envelope:
        tool = await self._find(client, invocation.tool, from_any_pack=invocation.from_any_pack)
        key, arguments = check_key([*invocation.keys]), _check_input(invocation.input, invocation.max_bytes)
        content = fingerprint_of(tool.name, arguments)

        async def call() -> CallResult:
            return await self._call(client, tool, arguments, is_fresh=invocation.is_fresh)

        if key:
            result, is_replay = await self._replays.by_key(client.connection, key, content, call)
            return envelope_of(await self._replay(client, tool, arguments, result) if is_replay else result)
        if not tool.is_repeatable or not (state := await self._state(client)):
            return envelope_of(await call())
        content = fingerprint_of(tool.name, arguments, state)
        kept = None if invocation.is_fresh else self._replays.by_content(client.connection, content)
        if kept is not None:
            return envelope_of(await self._replay(client, tool, arguments, kept))
        result = await call()
        self._replays.keep(client.connection, content, result)
        return envelope_of(result)

    async def _call(
        self, client: FacadeClient, tool: Tool, arguments: Mapping[str, Any], *, is_fresh: bool = False
    ) -> CallResult:
        return await self._dispatcher.call(
            tool,
            arguments,
            client.connection,
            ignore_progress,
            client.address,
            wrapper=WRAPPER,
            is_fresh=is_fresh,
        )

    async def _replay(
        self, client: FacadeClient, tool: Tool, arguments: Mapping[str, Any], kept: CallResult
    ) -> CallResult:
        """The kept result as the answer of a new call, with a trace id of its own."""

        async def answer(context: Context, arguments: dict[str, Any]) -> ToolResult:
            if kept.error is not None and data_of(kept) is None:
                raise error_of(kept.error)
            return ToolResult(
                dict(kept.payload),
                kept.text,
                kept.summary,
                kept.warnings,
                cache_hit=True,
                links=kept.links,
                failed=kept.failed,
                rows=kept.rows,
                images=kept.images,
            )

        return await self._call(client, replace(tool, handler=answer), arguments)

    async def _state(self, client: FacadeClient) -> str:
        """The state of the index for this client; "" where it cannot be read, so that nothing is replayed."""
        kb = self._services.kb
        try:
            answer = await kb.call("index_state", {}, kb.caller(client.connection, DIRECT))
        except WinnowError:
            return ""
        return str(answer.payload["state"])

    async def _find(self, client: FacadeClient, name: str, *, from_any_pack: bool = False) -> Tool:
        self._services.start()
        await self._services.refresh_tools()
        if from_any_pack and (known := self._dispatcher.find_in_any_pack(name)) is not None:
            return known
        tool = await self._dispatcher.find_when_ready(name, self._services.ready)
        if tool is None:
            raise refusal("NOT_FOUND", self._dispatcher.explain_unknown(name, client.connection))
        return tool

    def _tool_names(self, client: FacadeClient) -> Collection[str]:
        return {each.tool.name.replace(".", "_") for each in self._dispatcher.list_tools(client.connection)}

    async def _refresh(self) -> None:
        await self._services.ready()
        await self._services.refresh_tools()

    def _count_read(self, client: FacadeClient) -> None:
        self._dispatcher.limits.take(client.connection, "read", client.address)


def _check_input(value: Any, max_bytes: int) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise WinnowError("INVALID_REQUEST", "the input of a tool is one JSON object, such as {}")
    size = len(dumps(value).encode("utf-8", "replace"))
    if size > max_bytes:
        raise Refusal(too_large(size, max_bytes))
    return value


def too_large(size: int, most: int) -> FacadeProblem:
    """The problem of an input that is larger than tools take."""
    message = f"the input has {size:,} bytes, at most {most:,} are taken; send less in one request"
    return refusal("INPUT_BYTES", message, size=size, max=most).problem
