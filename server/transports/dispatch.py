"""The dispatcher of tool calls, from raw arguments to a bounded result, for every transport."""

from __future__ import annotations

import asyncio
import math
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from winnow import __version__
from winnow.server.contracts import answer_schema, empty_answer, wire_schema
from winnow.server.contracts.schema import MOST_SHORTENED
from winnow.server.errors import WinnowError, internal_error
from winnow.server.operations.answers.budget import Size, bound_warnings, dumps
from winnow.server.operations.knowledge import Knowledge
from winnow.server.runtime.audit import fingerprint, open_audit_log, trace_of_call
from winnow.server.runtime.caches import Cache
from winnow.server.runtime.draining import Drain
from winnow.server.runtime.logs import log, redact_text
from winnow.server.runtime.reports.traces import span
from winnow.server.runtime.sessions.host_words import error_for, warnings_for
from winnow.server.runtime.sessions.identities import describe_client, identity_of
from winnow.server.runtime.sessions.rights import settings_for
from winnow.server.settings.settings import Settings
from winnow.server.text.printable import one_line
from winnow.server.tools.reference.guides import spell_tool_names
from winnow.server.tools.reference.sdk import list_functions
from winnow.server.tools.scripts.opt_in import tell_agent
from winnow.server.tools.table import EARLIER_NAMES, TOOLS, WITHOUT_KB, Context, Tool, ToolResult
from winnow.server.transports.access.harvest import HarvestAlert, HarvestGuard
from winnow.server.transports.call_results import CallResult, ListedTool, Wrapper
from winnow.server.transports.rate_limits import RateLimit

if TYPE_CHECKING:
    from winnow.server.tools.prompts.library import PromptLibrary

# The verdict of a call whose client went away or cancelled it, whose key ended, or that the server's end gave up.
_CANCELLED = "cancelled"
_LIMIT_KINDS = {"execute_code": "script"}
_LOGGED_ARGUMENTS = ("query", "question", "code")
# Errors are bounded separately: they are in no budget.
_ERROR_CHARS = 2_000
# The maximum size of ``meta``, warnings and links, beside payload and text.
_MAX_REST = Size(tokens=2_500, bytes=8 * 1024)
_MS_PER_SECOND = 1000
_CORPUS_SECONDS = 60.0  # between two looks at the size of the corpus
_CACHED_WRAPPERS = 256  # one is about 400 bytes, with warnings up to 3 KiB
# Stand in for the trace id and the time of a call while the tokens of its wrapper are counted. Most trace ids have
# three tokens more. Text and wrapper, counted apart, have three more than together, so that the sum is right.
_USUAL_TRACE, _USUAL_MS = "015c33b2-df14-41aa-b8eb-18b900745130", 12.345


class ApplicationServices(Protocol):
    """The parts of the application, beside its tools, that a transport needs."""

    @property
    def settings(self) -> Settings:
        """The settings in force."""

    @property
    def kb(self) -> Knowledge:
        """The knowledge base, with the passages and results of sessions."""

    @property
    def prompts(self) -> PromptLibrary:
        """The prompts, of which those are offered whose tools are listed."""

    @property
    def drain(self) -> Drain:
        """The requests in progress of the process, and its end."""

    def start(self) -> None:
        """Begin to load; returns at once. Called once the first request has been answered."""

    @property
    def is_settled(self) -> bool:
        """Whether it is known which tools can be offered; until then the list is an estimate."""

    async def ready(self) -> None:
        """Wait until it is known which tools can be offered."""

    async def refresh_tools(self) -> None:
        """Read the tools of the operator, if there are any and a file of theirs may have changed."""


async def read_prompts(application: ApplicationServices) -> PromptLibrary:
    """The prompts of the application; at their first use their files are read, outside the event loop."""
    return await asyncio.to_thread(lambda: application.prompts)


@dataclass(frozen=True, slots=True)
class _Ending:
    """The end of a call, for the logs. ``tokens`` are those of all that was sent."""

    trace_id: str
    verdict: str
    ms: float
    rows: int = 0
    tokens: int = 0
    alert: HarvestAlert | None = None


class Dispatcher:
    """Lists and calls the tools of one server."""

    def __init__(
        self, context: Callable[[str, Callable[[float, str], Awaitable[None]]], Context], settings: Settings
    ) -> None:
        self._context = context
        self._settings = settings
        self._limits = RateLimit(settings)
        self._harvest = HarvestGuard(settings)
        self._corpus, self._corpus_read = 0, -math.inf
        self._audit = open_audit_log(settings, "calls", lambda: self._kb.metrics.count_unaudited("calls"))
        self._tokens_around: Cache[int] = Cache(_CACHED_WRAPPERS)

    @property
    def settings(self) -> Settings:
        """The settings in force; a key narrows them for its clients."""
        return self._settings

    @property
    def limits(self) -> RateLimit:
        """The rate limits of all calls and reads of this server."""
        return self._limits

    def list_tools(self, client: str = "") -> list[ListedTool]:
        """The tools that this server can serve this client now, in fixed order."""
        context = self._context_of(client)
        may_write = not identity_of(client).is_read_only
        listed = (tool for tool in _tools_of(context) if tool.listed and tool.is_available(context))
        return [
            _describe(tool, self._spell_name(tool.name), context.settings)
            for tool in listed
            if tool.read_only or may_write
        ]

    def rates(self) -> Mapping[str, Any]:
        """By kind of call, how near the busiest client is to its limit (see ``RateLimit.rates``)."""
        return self._limits.rates()

    def find(self, name: str) -> Tool | None:
        """The tool with this name, also for a client that may not call it; dots and underscores are equivalent."""
        context = self._context_of("")
        earlier = EARLIER_NAMES.get(_normalize(name), "") if self._settings.legacy_tools else ""
        for asked in (_normalize(name), _normalize(earlier)):
            named = (tool for tool in _tools_of(context) if _normalize(tool.name) == asked)
            if found := next((tool for tool in named if tool.is_callable(context)), None):
                return found
        return None

    def find_in_any_pack(self, name: str) -> Tool | None:
        """The tool with exactly this name if this server can serve it, also of a pack that it does not list."""
        context = self._context_of("")
        return next((tool for tool in TOOLS if tool.name == name and tool.can_work(context)), None)

    async def find_when_ready(self, name: str, ready: Callable[[], Awaitable[None]]) -> Tool | None:
        """The tool with this name, once it is known whether scripts run here, if that matters for it."""
        tool = self.find(name)
        if tool is None or tool.needs_scripts or tool.waits_for_scripts:
            await ready()
            tool = self.find(name)
        return tool

    def explain_unknown(self, name: str, client: str = "") -> str:
        """The error message for a tool that this server does not serve."""
        known = ", ".join(tool.name for tool in self.list_tools(client))
        tool = next((tool for tool in TOOLS if _normalize(tool.name) == _normalize(name)), None)
        if tool and tool.needs_scripts and (why_not := self._context_of("").scripts.brief_why_not):
            return f"{tell_agent(self._spell_name(tool.name), why_not)}; this server has: {known}"
        message = f"unknown tool {name[:100]!r}; "
        successor = self.find(EARLIER_NAMES.get(_normalize(name), ""))
        if successor is not None and not self._settings.legacy_tools:
            message += f"call {self._spell_name(successor.name)} instead, or start the server with --legacy; "
        elif tool and (off := self._explain_switched_off(tool)):
            message += off
        elif self.find("execute_code") is not None and (function := _find_function(name, self._settings)):
            message += f"{function} is a function of scripts: write it in the code of execute_code; "
        if tool and (flags := tool.missing_flags(self._context_of(""))):
            message += f"it is a tool of the pack {tool.pack}: start the server with {flags}; "
        return f"{message}this server has: {known}"

    def _explain_switched_off(self, tool: Tool) -> str:
        """The setting that keeps this tool from being offered, and what to call instead; "" if there is none."""
        if (
            self._settings.graph == "off"
            and tool.operation
            and tool.operation.name.startswith(("graph.", "find_vendor_info"))
        ):
            known = (name for name in ("kb.search", "semantic_search") if self.find(name) is not None)
            instead = self._spell_name(next(known, "kb.retrieve_evidence"))
            return f"graphs are switched off here (setting graph): call {instead} instead; "
        if not self._settings.kb_v2_enabled and tool.name.startswith("kb."):
            instead = self._spell_name(WITHOUT_KB.get(tool.name, "semantic_search"))
            return (
                f"the kb tools are switched off here (setting kb_v2_enabled): call {instead} instead, or start "
                "the server without --no-kb-v2-enabled; "
            )
        return ""

    async def call(
        self,
        tool: Tool,
        arguments: Mapping[str, Any],
        client: str,
        progress: Callable[[float, str], Awaitable[None]],
        address: str = "",
        *,
        wrapper: Wrapper,
        is_fresh: bool = False,
    ) -> CallResult:
        """Answer one call of this client from this address ("" on a pipe).

        ``wrapper`` renders what the transport sends besides the payload: bounded, and counted as usage.
        ``is_fresh``: the answer is from no cache.

        Raises only when cancelled: errors are results too. A call that is cancelled has its line in the logs, too.
        """
        started, trace_id = time.perf_counter(), str(uuid.uuid4())
        trace_of_call.set(trace_id)
        try:
            return await self._answer(tool, arguments, client, progress, address, wrapper, is_fresh, started)
        except asyncio.CancelledError:
            self._log_call(tool, arguments, client, _Ending(trace_id, _CANCELLED, _ms_since(started)))
            raise

    async def _answer(
        self,
        tool: Tool,
        arguments: Mapping[str, Any],
        client: str,
        progress: Callable[[float, str], Awaitable[None]],
        address: str,
        wrapper: Wrapper,
        is_fresh: bool,
        started: float,
    ) -> CallResult:
        trace_id = trace_of_call.get()
        error: WinnowError | None = None
        alert: HarvestAlert | None = None
        try:
            self._limits.take(client, _LIMIT_KINDS.get(tool.name, "direct"), address)
            self._harvest.check(client, address, tool.name)
            _check_rights(tool, client)
            with span("call", tool=tool.name, trace_id=trace_id, **self._redact(arguments)):
                is_local = not address and not identity_of(client).access_key
                context = replace(self._context_of(client, progress), is_fresh=is_fresh, is_local=is_local)
                result = await tool.call(context, dict(arguments))
            result = replace(result, warnings=warnings_for(result.warnings, client))
            size = await self._measure_payload(result)
            _check_payload(tool, result, size)
            duration_ms = _ms_since(started)
            answer, sent = await self._measure(
                _build_result(tool, result, trace_id, duration_ms), result, size, wrapper
            )
            _check_total(tool, sent)
            alert = await self._watch_listing(tool, result, client, address)
        except WinnowError as raised:
            error = error_for(raised, client)
        except Exception:
            log("tool failed", exc_info=True, level=40, tool=tool.name, trace_id=trace_id)
            error = internal_error()
        if error is not None:
            result = _error_result(tool, error)
            size, duration_ms = await self._measure_payload(result), _ms_since(started)
            answer, sent = await self._measure(
                _build_result(tool, result, trace_id, duration_ms), result, size, wrapper
            )
        self._kb.metrics.count_answer(tool.name, sent.tokens, sent.bytes, failed=result.failed)
        if result.failed:
            self._kb.metrics.count_refusal("call", result.payload["error"]["details"]["reason"])
        verdict = error.reason if error else result.payload.get("status", "ok")
        self._log_call(
            tool, arguments, client, _Ending(trace_id, verdict, duration_ms, result.rows, sent.tokens, alert)
        )
        return answer

    async def _watch_listing(
        self, tool: Tool, result: ToolResult, client: str, address: str
    ) -> HarvestAlert | None:
        """Count what an answer over HTTP names; returns the alert that this raises."""
        if not self._harvest.is_counted(address):
            return None
        alert = self._harvest.note(client, address, tool.name, dumps(result.payload), await self._count_corpus())
        if alert is not None:
            self._kb.metrics.note({"harvest_alerts": 1})
            log("much is listed and hardly any read", level=30, client=describe_client(client), **asdict(alert))
        return alert

    async def _count_corpus(self) -> int:
        """The passages of the projects in reach, as of a minute ago at most."""
        if time.monotonic() - self._corpus_read > _CORPUS_SECONDS:
            self._corpus_read = time.monotonic()
            with suppress(WinnowError):
                store = (await self._kb.counters()).store
                self._corpus = sum(project.passages for project in store.projects) if store else 0
        return self._corpus

    def _redact(self, arguments: Mapping[str, Any], *, plain: bool = False) -> dict[str, str]:
        """The texts that a client asks with, as hash and length or, if ``plain``, as they are."""
        return {
            key: redact_text(str(arguments[key]), plain=plain) for key in _LOGGED_ARGUMENTS if key in arguments
        }

    @property
    def _kb(self) -> Knowledge:
        return self._context_of("").kb

    def _context_of(self, client: str, progress: Callable[[float, str], Awaitable[None]] | None = None) -> Context:
        """The context of a client's call, with the settings as they apply to that client."""
        context = self._context(client, progress or ignore_progress)
        return replace(context, settings=settings_for(context.settings, client))

    async def _measure_payload(self, result: ToolResult) -> Size:
        """The size of the payload alone."""
        return await self._count(dumps(result.payload)) if result.sizes is None else result.sizes[0]

    async def _count(self, text: str) -> Size:
        return Size(await self._kb.count_tokens(text), len(text.encode("utf-8", "replace")))

    def _spell_name(self, name: str) -> str:
        return name if self._settings.tool_names == "dotted" else _normalize(name)

    async def _measure(
        self, draft: CallResult, result: ToolResult, size: Size, wrapper: Wrapper
    ) -> tuple[CallResult, Size]:
        """The result with its usage, and the size of all that is sent. ``size`` is that of the payload alone."""
        if result.sizes is None:
            sent = size + await self._count(wrapper.render(draft))
        else:
            around = await self._measure_around(replace(draft, text=""), wrapper)
            sent = size + around + (result.sizes[1] if wrapper.has_text else Size(0, 0))
        usage = {"tokens": sent.tokens, "bytes": sent.bytes, "tokenizer": self._kb.tokenizer}
        return replace(draft, usage=usage), sent

    async def _measure_around(self, draft: CallResult, wrapper: Wrapper) -> Size:
        """The size of what is sent beside payload and text.

        It is nearly the same for all calls of a tool, so tokens are kept by what it is with another trace id and
        time: otherwise the process that has the tokenizer would be asked once more for each call.
        """
        usual = wrapper.render(replace(draft, trace_id=_USUAL_TRACE, duration_ms=_USUAL_MS))
        tokens = self._tokens_around.get(usual)
        if tokens is None:
            tokens = await self._kb.count_tokens(usual)
            self._tokens_around.put(usual, tokens)
        return Size(tokens, len(wrapper.render(draft).encode("utf-8", "replace")))

    def _log_call(self, tool: Tool, arguments: Mapping[str, Any], client: str, ending: _Ending) -> None:
        """Count a call and write its line to the log and to the audit log. Waits for nothing."""
        asked = self._redact(arguments, plain=self._settings.log_queries)
        trace_id, verdict, ms = ending.trace_id, ending.verdict, ending.ms
        self._kb.metrics.count_call(tool.name, verdict, ms / _MS_PER_SECOND)
        log("call", tool=tool.name, trace_id=trace_id, duration_ms=ms, verdict=verdict, asked=asked)
        if self._audit is None:
            return
        scope = {"scope": fingerprint(arguments["scope"])} if arguments.get("scope") else {}
        record = {
            "tool": tool.name,
            "trace_id": trace_id,
            **describe_client(client),
            "asked": asked,
            "arguments": fingerprint(arguments),
            **scope,
            "verdict": verdict,
            "ms": ms,
            "rows": ending.rows,
            "tokens": ending.tokens,
            **({"alert": {"harvest": asdict(ending.alert)}} if ending.alert else {}),
        }
        # Not in a thread: writing one line takes less time than handing it over.
        self._audit.write(record)


def _tools_of(context: Context) -> tuple[Tool, ...]:
    """All tools of a server: those of winnow, then those of its operator."""
    return (*TOOLS, *context.operator_tools)


def _check_rights(tool: Tool, client: str) -> None:
    """Raises ``WinnowError("SCOPE_VIOLATION")`` if the client's key may not call the tool."""
    if identity_of(client).is_read_only and not tool.read_only:
        raise WinnowError(
            "SCOPE_VIOLATION",
            f"this key may only read, and {tool.name} may change something; ask the operator for a key without "
            "--read-only",
        )


async def ignore_progress(seconds: float, message: str) -> None:
    """A progress callback that does nothing: for callers that wait for the answer alone."""


def _normalize(name: str) -> str:
    return name.replace(".", "_")


def _find_function(name: str, settings: Settings) -> str | None:
    """The SDK function that this name of a tool means, as a script writes it."""
    asked = _normalize(name).removeprefix("kb_")
    return next((known for known in list_functions(settings.sandbox) if _normalize(known) == asked), None)


def _check_payload(tool: Tool, result: ToolResult, size: Size) -> None:
    """Check a result against its tool's answer model and maximum size.

    Raises:
        WinnowError: OUTPUT_BYTES for an answer that is too large.
        ValidationError: for an answer that does not fit the model, which is a bug of ours.
    """
    _check_size(tool, size, tool.max_size)
    tool.answer.model_validate({**result.payload, "meta": _PLACEHOLDER_META})


def _check_total(tool: Tool, sent: Size) -> None:
    """Check everything that is sent, payload and text, against twice the maximum size of the payload.

    Raises:
        WinnowError: OUTPUT_BYTES for a text that is much longer than its payload.
    """
    _check_size(tool, sent, tool.max_size + tool.max_size + _MAX_REST)


def _check_size(tool: Tool, size: Size, max_size: Size) -> None:
    if size.is_above(max_size):
        raise WinnowError(
            "OUTPUT_BYTES",
            f"the answer has {size.tokens:,} tokens and {size.bytes:,} bytes; {tool.name} may send "
            f"{max_size.tokens:,} and {max_size.bytes:,}; ask for fewer results or a lower response mode",
            details=size.details(max_size),
        )


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * _MS_PER_SECOND, 3)


# Stands in for the usage while it is counted, and is as long.
_PLACEHOLDER_USAGE = {"tokens": 1000, "bytes": 1000, "tokenizer": "o200k_base"}
# Stands in for the meta while a payload is validated.
_PLACEHOLDER_META = {
    "tool": "",
    "version": __version__,
    "duration_ms": 0,
    "trace_id": "",
    "usage": {"tokens": 0, "bytes": 0, "tokenizer": ""},
}


def _build_result(tool: Tool, result: ToolResult, trace_id: str, duration_ms: float) -> CallResult:
    """The result of a call, before its usage is counted."""
    return CallResult(
        tool=tool,
        payload=result.payload,
        text=result.text,
        summary=result.summary,
        trace_id=trace_id,
        duration_ms=duration_ms,
        warnings=bound_warnings(result.warnings),
        cache_hit=result.cache_hit,
        links=result.links,
        failed=result.failed,
        usage=_PLACEHOLDER_USAGE,
        rows=result.rows,
        images=result.images,
    )


def _error_result(tool: Tool, error: WinnowError) -> ToolResult:
    """An error as an answer of its tool, with the answer's required fields empty."""
    envelope = error.envelope()
    text = f"{error.reason}: {error.message}"  # a reason belongs to one code
    wait = "" if error.retry_after_s is None else f"{error.retry_after_s:g} s"
    text = one_line(text if wait in error.message else f"{text} (retry after {wait})", _ERROR_CHARS)
    payload = {
        "error": {**envelope, "message": one_line(error.message, _ERROR_CHARS)},
        **empty_answer(tool.answer),
    }
    return ToolResult(payload, text, text, failed=True)


def _input_schema(tool: Tool, settings: Settings) -> dict[str, Any]:
    schema = dict(wire_schema(tool.arguments, has_projects=len(settings.reachable) > 1))
    for name, text in tool.describe_arguments(settings).items():
        described = {**schema["properties"][name], "description": spell_tool_names(text, settings)}
        schema["properties"] = {**schema["properties"], name: described}
    return schema


def _describe(tool: Tool, name: str, settings: Settings) -> ListedTool:
    return ListedTool(
        tool,
        name,
        description=spell_tool_names(tool.fit_description(tool.description, settings), settings),
        input_schema=_input_schema(tool, settings),
        output_schema=answer_schema(tool.answer, min(len(settings.packs), MOST_SHORTENED)),
    )
