"""Results of the dispatcher: tools as they are listed, and results of calls. Every transport renders these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from winnow.server.operations.base import Image
from winnow.server.runtime.sessions.passage_store import PassageLink
from winnow.server.tools.table import Tool


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as one client sees it: its name as spelled here, its text, and its JSON schemas.

    ``input_schema`` is the short one that tools list; ``output_schema`` is of the payload with its ``meta``.
    """

    tool: Tool
    name: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of one call, of success or failure, before a transport renders it.

    ``payload`` is the structured answer without ``meta``; ``text`` is the same content for a model to read, and
    ``summary`` its first line. ``failed``: the payload has an ``error``. ``usage`` counts what is sent, in tokens
    and bytes; ``images`` are not in it. ``rows`` are those of the payload, for the audit.
    """

    tool: Tool
    payload: Mapping[str, Any]
    text: str
    summary: str
    trace_id: str
    duration_ms: float
    warnings: tuple[str, ...]
    cache_hit: bool
    links: tuple[PassageLink, ...]
    failed: bool
    usage: Mapping[str, Any]
    rows: int = 0
    images: tuple[Image, ...] = ()

    @property
    def meta(self) -> dict[str, Any]:
        """The facts of the call that are sent beside its payload."""
        return {
            "tool": self.tool.name,
            "version": self.tool.version,
            "duration_ms": self.duration_ms,
            "trace_id": self.trace_id,
            "cache_hit": self.cache_hit,
            "warnings": [*self.warnings],
            "usage": dict(self.usage),
        }

    @property
    def error(self) -> Mapping[str, Any] | None:
        """The error as ``WinnowError.envelope`` has it: code, message, and details with the reason."""
        error: Mapping[str, Any] | None = self.payload.get("error") if self.failed else None
        return error


@dataclass(frozen=True, slots=True)
class Wrapper:
    """The part of a result that a transport sends besides its payload; it counts as usage, too.

    ``has_text``: whether the text is part of it.
    """

    render: Callable[[CallResult], str]
    has_text: bool
