"""One call of a tool, from raw arguments to a bounded result: the same for every transport."""

from __future__ import annotations

import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from mcp_types import CallToolResult, TextContent, ToolAnnotations
from mcp_types import Tool as WireTool

from server import __version__
from server.contracts import flat_schema
from server.errors import WinnowError, internal_error
from server.logs import hushed, log
from server.settings import Settings
from server.tiers import dumps
from server.tokens import count_tokens, encoding_name
from server.tools import TOOLS, Context, Result, Tool
from server.transports.limits import RateLimit

_KIND_OF_LIMIT = {"execute_code": "script"}
_LOGGED_ARGUMENTS = ("query", "code")
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
        return [_on_the_wire(tool, self._spelled(tool.name), self._settings) for tool in self._offered()]

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
        except WinnowError as problem:
            error, result = problem, _failed(problem)
        except Exception:
            log("tool failed", exc_info=True, level=40, tool=tool.name, trace_id=trace_id)
            error = internal_error()
            result = _failed(error)
        duration_ms = round((time.perf_counter() - started) * _MS_PER_SECOND, 3)
        self._log(tool, arguments, trace_id, duration_ms, result, error)
        return self._sealed(tool, result, trace_id, duration_ms)

    def _offered(self) -> Sequence[Tool]:
        context = self._context("", _silent)
        return [tool for tool in TOOLS if tool.offered(context)]

    def _spelled(self, name: str) -> str:
        return name if self._settings.tool_names == "dotted" else _plain(name)

    def _sealed(self, tool: Tool, result: Result, trace_id: str, duration_ms: float) -> CallToolResult:
        text = dumps(result.payload)
        meta: dict[str, Any] = {
            "tool": tool.name,
            "version": __version__,
            "duration_ms": duration_ms,
            "trace_id": trace_id,
            "cache_hit": result.cache_hit,
            "warnings": list(result.warnings),
            "usage": {
                "tokens": count_tokens(text),
                "bytes": len(text.encode("utf-8", "replace")),
                "tokenizer": encoding_name(),
            },
        }
        shown = result.summary if self._settings.content == "summary" and not result.failed else result.text
        lines = [shown, *(f"warning: {warning}" for warning in result.warnings)]
        if result.failed:
            lines.append(f"trace: {trace_id}")
        return CallToolResult(
            content=[TextContent(type="text", text="\n".join(lines))],
            structured_content={**result.payload, "meta": meta},
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


def _failed(error: WinnowError) -> Result:
    envelope = error.envelope()
    text = f"{envelope['code']}/{error.reason}: {error.message}"
    if error.retry_after_s is not None:
        text += f" (retry after {error.retry_after_s} s)"
    return Result({"error": envelope}, text, summary=text, failed=True)


def _on_the_wire(tool: Tool, name: str, settings: Settings) -> WireTool:
    return WireTool(
        name=name,
        title=tool.title,
        description=tool.worded(tool.description, settings),
        input_schema=dict(flat_schema(tool.arguments)),
        output_schema=dict(flat_schema(tool.answer)),
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=tool.open_world,
        ),
    )
