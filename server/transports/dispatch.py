"""One call of a tool, from raw arguments to a bounded result: the same for every transport."""

from __future__ import annotations

import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from mcp_types import Annotations, CallToolResult, ResourceLink, TextContent, ToolAnnotations
from mcp_types import Tool as WireTool

from server import __version__
from server.contracts import answer_schema, wire_schema
from server.errors import WinnowError, internal_error
from server.knowledge import Knowledge
from server.logs import hushed, log
from server.reference.guides import spelled
from server.scratch import Link
from server.settings import Settings
from server.tiers import Size, clip, dumps
from server.tools import TOOLS, Context, Result, Tool
from server.transports.limits import RateLimit

_KIND_OF_LIMIT = {"execute_code": "script"}
_LOGGED_ARGUMENTS = ("query", "question", "code")
# Words around an answer are bounded, too: they are in nobody's budget.
_WARNINGS, _WARNING_CHARS, _ERROR_CHARS = 8, 300, 2_000
_MS_PER_SECOND = 1000


class Dispatcher:
    """Lists and calls the tools of one server."""

    def __init__(
        self, context: Callable[[str, Callable[[float, str], Awaitable[None]]], Context], settings: Settings
    ) -> None:
        self._context = context
        self._settings = settings
        self._limits = RateLimit()

    def listed(self) -> list[WireTool]:
        """The tools this server can serve now, in fixed order."""
        listed = (tool for tool in self._offered() if tool.listed)
        return [_on_the_wire(tool, self._spelled(tool.name), self._settings) for tool in listed]

    def find(self, name: str) -> Tool | None:
        """The tool of this name; dots and underscores are the same."""
        return next((tool for tool in self._offered() if _plain(tool.name) == _plain(name)), None)

    async def call(
        self,
        tool: Tool,
        arguments: Mapping[str, Any],
        client: str,
        progress: Callable[[float, str], Awaitable[None]],
    ) -> CallToolResult:
        """Answer one call. Never raises for anything but cancellation: errors are results too."""
        started, trace_id = time.perf_counter(), str(uuid.uuid4())
        error: WinnowError | None = None
        try:
            self._limits.take(client, _KIND_OF_LIMIT.get(tool.name, "direct"))
            result = await tool.handler(self._context(client, progress), dict(arguments))
            size = await self._size(result)
            _hold(tool, result, size)
        except WinnowError as problem:
            error = problem
        except Exception:
            log("tool failed", exc_info=True, level=40, tool=tool.name, trace_id=trace_id)
            error = internal_error()
        if error is not None:
            result = _failed(error)
            size = await self._size(result)
        duration_ms = round((time.perf_counter() - started) * _MS_PER_SECOND, 3)
        self._log(tool, arguments, trace_id, duration_ms, result, error)
        return self._sealed(tool, result, size, trace_id, duration_ms)

    def _offered(self) -> Sequence[Tool]:
        context = self._context("", _silent)
        return [tool for tool in TOOLS if tool.stands(context)]

    @property
    def _kb(self) -> Knowledge:
        return self._context("", _silent).kb

    async def _size(self, result: Result) -> Size:
        """Of the payload as it is sent."""
        text = dumps(result.payload)
        tokens = await self._kb.count_tokens(text) if result.counted is None else result.counted
        return Size(tokens, len(text.encode("utf-8", "replace")))

    def _spelled(self, name: str) -> str:
        return name if self._settings.tool_names == "dotted" else _plain(name)

    def _sealed(self, tool: Tool, result: Result, size: Size, trace_id: str, duration_ms: float) -> CallToolResult:
        warnings = [clip(warning, _WARNING_CHARS) for warning in result.warnings[:_WARNINGS]]
        payload = {
            **result.payload,
            "meta": {
                "tool": tool.name,
                "version": __version__,
                "duration_ms": duration_ms,
                "trace_id": trace_id,
                "cache_hit": result.cache_hit,
                "warnings": warnings,
                "usage": {"tokens": size.tokens, "bytes": size.bytes, "tokenizer": self._kb.tokenizer},
            },
        }
        self._kb.figures.answered(tool.name, size.tokens, size.bytes, failed=result.failed)
        if not self._settings.structured_output_enabled:
            return CallToolResult(content=[_text(dumps(payload))], is_error=result.failed)
        shown = result.summary if self._settings.content == "summary" and not result.failed else result.text
        lines = [shown, *(f"warning: {warning}" for warning in warnings)]
        if result.failed:
            lines.append(f"trace: {trace_id}")
        links = result.links if self._settings.resource_links == "on" else ()
        return CallToolResult(
            content=[_text("\n".join(lines)), *map(_link, links)],
            structured_content=payload,
            is_error=result.failed,
        )

    def _log(
        self,
        tool: Tool,
        arguments: Mapping[str, Any],
        trace_id: str,
        duration_ms: float,
        result: Result,
        error: WinnowError | None,
    ) -> None:
        plain = self._settings.log_queries
        asked = {key: hushed(str(arguments[key]), plain=plain) for key in _LOGGED_ARGUMENTS if key in arguments}
        verdict = error.reason if error else result.payload.get("status", "ok")
        log("call", tool=tool.name, trace_id=trace_id, duration_ms=duration_ms, verdict=verdict, asked=asked)


async def _silent(seconds: float, message: str) -> None:
    """Progress nobody asked for."""


def _plain(name: str) -> str:
    return name.replace(".", "_")


def _hold(tool: Tool, result: Result, size: Size) -> None:
    """Hold a result to the shape and the size that its tool promises: handlers see to both.

    Raises:
        WinnowError: OUTPUT_BYTES for an answer that is too large. pydantic's error for another shape is our fault.
    """
    if size.tokens > tool.most.tokens or size.bytes > tool.most.bytes:
        raise WinnowError(
            "OUTPUT_BYTES",
            f"the answer has {size.tokens:,} tokens and {size.bytes:,} bytes, more than {tool.name} may send; ask "
            "for fewer results or a lower response mode",
            details={"tokens": size.tokens, "bytes": size.bytes},
        )
    tool.answer.model_validate({**result.payload, "meta": _SOME_META})


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


def _link(link: Link) -> ResourceLink:
    """Where a host finds the passage, should it want it: meant for the model, and not for every context."""
    return ResourceLink(
        type="resource_link",
        name=link.passage_id,
        title=clip(link.title, _WARNING_CHARS) or None,
        uri=link.uri,
        mime_type="text/plain",
        size=link.size_bytes,
        annotations=Annotations(audience=["assistant"], priority=0.1, last_modified=link.created_at),
    )


def _failed(error: WinnowError) -> Result:
    envelope = error.envelope()
    text = f"{envelope['code']}/{error.reason}: {error.message}"
    if error.retry_after_s is not None:
        text += f" (retry after {error.retry_after_s} s)"
    text = clip(text, _ERROR_CHARS)
    return Result({"error": {**envelope, "message": clip(error.message, _ERROR_CHARS)}}, text, text, failed=True)


def _on_the_wire(tool: Tool, name: str, settings: Settings) -> WireTool:
    return WireTool(
        name=name,
        title=tool.title,
        description=spelled(tool.worded(tool.description, settings), settings),
        input_schema=dict(wire_schema(tool.arguments)),
        output_schema=dict(answer_schema(tool.answer)) if settings.structured_output_enabled else None,
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=tool.open_world,
        ),
    )
