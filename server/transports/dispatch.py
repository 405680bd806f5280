"""One call of a tool, from raw arguments to a bounded result: the same for every transport."""

from __future__ import annotations

import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from mcp_types import Annotations, CallToolResult, ResourceLink, TextContent, ToolAnnotations
from mcp_types import Tool as WireTool

from server import __version__
from server.contracts import answer_schema, empty_answer, wire_schema
from server.errors import WinnowError, internal_error
from server.knowledge import Knowledge
from server.reference.guides import spelled
from server.runtime.audit import fingerprint, opened
from server.runtime.logs import hushed, log
from server.sessions.passage_store import PassageLink
from server.settings import Settings
from server.text.printable import one_line
from server.tiers import Size, dumps
from server.tools import EARLIER_NAMES, TOOLS, Context, Tool, ToolResult
from server.transports.limits import RateLimit

_KIND_OF_LIMIT = {"execute_code": "script"}
_LOGGED_ARGUMENTS = ("query", "question", "code")
# Words around an answer are bounded, too: they are in nobody's budget.
_WARNINGS, _WARNING_CHARS, _ERROR_CHARS = 8, 300, 2_000
# What ``meta``, warnings and links may take beside both channels.
_BESIDE = Size(tokens=2_500, bytes=8 * 1024)
_MS_PER_SECOND = 1000


class Dispatcher:
    """Lists and calls the tools of one server."""

    def __init__(
        self, context: Callable[[str, Callable[[float, str], Awaitable[None]]], Context], settings: Settings
    ) -> None:
        self._context = context
        self._settings = settings
        self._limits = RateLimit(settings)
        self._audit = opened(settings, "calls")

    def listed(self) -> list[WireTool]:
        """The tools this server can serve now, in fixed order."""
        context = self._context("", _silent)
        listed = (tool for tool in TOOLS if tool.listed and tool.is_available(context))
        return [_on_the_wire(tool, self._spelled(tool.name), self._settings) for tool in listed]

    def find(self, name: str) -> Tool | None:
        """The tool of this name; dots and underscores are the same."""
        context = self._context("", _silent)
        by_name = {_plain(tool.name): tool for tool in TOOLS if tool.is_callable(context)}
        earlier = EARLIER_NAMES.get(_plain(name), "") if self._settings.legacy_tools else ""
        return by_name.get(_plain(name)) or by_name.get(_plain(earlier))

    def unknown(self, name: str) -> str:
        """What to say of a tool that this server does not serve."""
        known = ", ".join(listed.name for listed in self.listed())
        told = f"unknown tool {name[:100]!r}; "
        new = self.find(EARLIER_NAMES.get(_plain(name), ""))
        if new is not None and not self._settings.legacy_tools:
            told += f"call {self._spelled(new.name)} instead, or start the server with --legacy; "
        return f"{told}this server has: {known}"

    async def call(
        self,
        tool: Tool,
        arguments: Mapping[str, Any],
        client: str,
        progress: Callable[[float, str], Awaitable[None]],
        address: str = "",
    ) -> CallToolResult:
        """Answer one call of this client from this address ("" on a pipe).

        Never raises for anything but cancellation: errors are results too.
        """
        started, trace_id = time.perf_counter(), str(uuid.uuid4())
        error: WinnowError | None = None
        try:
            self._limits.take(client, _KIND_OF_LIMIT.get(tool.name, "direct"), address)
            result = await tool.call(self._context(client, progress), dict(arguments))
            size = await self._size(result)
            _hold(tool, result, size)
            duration_ms = _ms_since(started)
            sealed, sent = await self._sealed(tool, result, size, trace_id, duration_ms)
            _hold_both(tool, sent)
        except WinnowError as problem:
            error = problem
        except Exception:
            log("tool failed", exc_info=True, level=40, tool=tool.name, trace_id=trace_id)
            error = internal_error()
        if error is not None:
            result = _failed(tool, error)
            size, duration_ms = await self._size(result), _ms_since(started)
            sealed, sent = await self._sealed(tool, result, size, trace_id, duration_ms)
        self._kb.metrics.answered(tool.name, sent.tokens, sent.bytes, failed=result.failed)
        self._log(tool, arguments, client, trace_id, duration_ms, result, error, sent)
        return sealed

    @property
    def _kb(self) -> Knowledge:
        return self._context("", _silent).kb

    async def _size(self, result: ToolResult) -> Size:
        """Of the payload alone."""
        text = dumps(result.payload)
        tokens = await self._kb.count_tokens(text) if result.payload_tokens is None else result.payload_tokens
        return Size(tokens, len(text.encode("utf-8", "replace")))

    def _spelled(self, name: str) -> str:
        return name if self._settings.tool_names == "dotted" else _plain(name)

    async def _sealed(
        self, tool: Tool, result: ToolResult, size: Size, trace_id: str, duration_ms: float
    ) -> tuple[CallToolResult, Size]:
        """What is sent, and what it takes in both channels. ``size``: of the payload alone."""
        meta: dict[str, Any] = {
            "tool": tool.name,
            "version": __version__,
            "duration_ms": duration_ms,
            "trace_id": trace_id,
            "cache_hit": result.cache_hit,
            "warnings": [one_line(warning, _WARNING_CHARS) for warning in result.warnings[:_WARNINGS]],
        }
        blocks = self._blocks(result, meta["warnings"], trace_id)
        size += await self._size_beside(meta, blocks)
        meta["usage"] = {"tokens": size.tokens, "bytes": size.bytes, "tokenizer": self._kb.tokenizer}
        payload = {**result.payload, "meta": meta}
        if not self._settings.structured_output_enabled:
            return CallToolResult(content=[_text(dumps(payload))], is_error=result.failed), size
        return CallToolResult(content=[*blocks], structured_content=payload, is_error=result.failed), size

    def _blocks(
        self, result: ToolResult, warnings: Sequence[str], trace_id: str
    ) -> list[TextContent | ResourceLink]:
        """What stands beside the structure; nothing where that is sent as text."""
        if not self._settings.structured_output_enabled:
            return []
        shown = result.summary if self._settings.content == "summary" and not result.failed else result.text
        lines = [shown, *(f"warning: {warning}" for warning in warnings)]
        if result.failed:
            lines.append(f"trace: {trace_id}")
        links = result.links if self._settings.resource_links == "on" else ()
        return [_text("\n".join(lines)), *map(_link, links)]

    async def _size_beside(self, meta: Mapping[str, Any], blocks: Sequence[TextContent | ResourceLink]) -> Size:
        """Of all that is sent beside the payload, as it is sent: one count for both."""
        sent = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in blocks]
        text = dumps({"content": sent, "meta": {**meta, "usage": _SOME_USAGE}, "isError": False})
        return Size(await self._kb.count_tokens(text), len(text.encode("utf-8", "replace")))

    def _log(
        self,
        tool: Tool,
        arguments: Mapping[str, Any],
        client: str,
        trace_id: str,
        duration_ms: float,
        result: ToolResult,
        error: WinnowError | None,
        size: Size,
    ) -> None:
        plain = self._settings.log_queries
        asked = {key: hushed(str(arguments[key]), plain=plain) for key in _LOGGED_ARGUMENTS if key in arguments}
        verdict = error.reason if error else result.payload.get("status", "ok")
        self._kb.metrics.called(tool.name, verdict, duration_ms / _MS_PER_SECOND)
        log("call", tool=tool.name, trace_id=trace_id, duration_ms=duration_ms, verdict=verdict, asked=asked)
        if self._audit is None:
            return
        scope = {"scope": fingerprint(arguments["scope"])} if arguments.get("scope") else {}
        record = {
            "tool": tool.name,
            "trace_id": trace_id,
            "client": fingerprint(client),
            "asked": asked,
            "arguments": fingerprint(arguments),
            **scope,
            "verdict": verdict,
            "ms": duration_ms,
            "rows": 0 if result.failed else _rows(result.payload),
            "tokens": size.tokens,
        }
        # Here and not in a thread: a line takes less than handing it to one.
        self._audit.write(record)


def _rows(payload: Mapping[str, Any]) -> int:
    """How many rows an answer has; 1 for an answer that is one piece of text."""
    found = next((payload[name] for name in _ROWS if name in payload), None)
    if isinstance(found, list):
        return len(found)
    return int("excerpt" in payload or "text" in payload)


_ROWS = ("results", "quotes", "ids", "entities")


async def _silent(seconds: float, message: str) -> None:
    """Progress nobody asked for."""


def _plain(name: str) -> str:
    return name.replace(".", "_")


def _hold(tool: Tool, result: ToolResult, size: Size) -> None:
    """Hold a result to the shape and the size that its tool promises: handlers see to both.

    Raises:
        WinnowError: OUTPUT_BYTES for an answer that is too large. pydantic's error for another shape is our fault.
    """
    _hold_size(tool, size, tool.max_size)
    tool.answer.model_validate({**result.payload, "meta": _SOME_META})


def _hold_both(tool: Tool, sent: Size) -> None:
    """Hold all that is sent, structure and text, to twice what the structure may take.

    Raises:
        WinnowError: OUTPUT_BYTES for a text that is much longer than its structure.
    """
    _hold_size(tool, sent, tool.max_size + tool.max_size + _BESIDE)


def _hold_size(tool: Tool, size: Size, most: Size) -> None:
    if size.tokens > most.tokens or size.bytes > most.bytes:
        raise WinnowError(
            "OUTPUT_BYTES",
            f"the answer has {size.tokens:,} tokens and {size.bytes:,} bytes, more than {tool.name} may send; ask "
            "for fewer results or a lower response mode",
            details={"tokens": size.tokens, "bytes": size.bytes},
        )


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * _MS_PER_SECOND, 3)


# As long as what stands there once it is counted.
_SOME_USAGE = {"tokens": 1000, "bytes": 1000, "tokenizer": "o200k_base"}
# Stands in for the meta that an answer gets when it is sealed.
_SOME_META = {
    "tool": "",
    "version": __version__,
    "duration_ms": 0,
    "trace_id": "",
    "usage": {"tokens": 0, "bytes": 0, "tokenizer": ""},
}


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)


def _link(link: PassageLink) -> ResourceLink:
    """Where a host finds the passage, should it want it: meant for the model, and not for every context."""
    return ResourceLink(
        type="resource_link",
        name=link.passage_id,
        title=one_line(link.title, _WARNING_CHARS) or None,
        uri=link.uri,
        mime_type="text/plain",
        size=link.size_bytes,
        annotations=Annotations(audience=["assistant"], priority=0.1, last_modified=link.created_at),
    )


def _failed(tool: Tool, error: WinnowError) -> ToolResult:
    """An error as an answer of its tool: beside it stands what such an answer always has, empty."""
    envelope = error.envelope()
    text = f"{envelope['code']}/{error.reason}: {error.message}"
    if error.retry_after_s is not None:
        text += f" (retry after {error.retry_after_s} s)"
    text = one_line(text, _ERROR_CHARS)
    payload = {
        "error": {**envelope, "message": one_line(error.message, _ERROR_CHARS)},
        **empty_answer(tool.answer),
    }
    return ToolResult(payload, text, text, failed=True)


def _input_schema(tool: Tool, settings: Settings) -> dict[str, Any]:
    schema = dict(wire_schema(tool.arguments, has_projects=len(settings.reachable) > 1))
    for name, text in tool.describe_arguments(settings).items():
        described = {**schema["properties"][name], "description": spelled(text, settings)}
        schema["properties"] = {**schema["properties"], name: described}
    return schema


def _on_the_wire(tool: Tool, name: str, settings: Settings) -> WireTool:
    return WireTool(
        name=name,
        title=tool.title,
        description=spelled(tool.fit_description(tool.description, settings), settings),
        input_schema=_input_schema(tool, settings),
        output_schema=dict(answer_schema(tool.answer)) if settings.structured_output_enabled else None,
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=tool.open_world,
        ),
    )
