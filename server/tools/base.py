"""What a tool is: a value. One file per tool in this folder, each with one ``TOOL``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from server.knowledge import Caller, Knowledge
from server.scripts.script_runs import Scripts
from server.sessions.passage_store import PassageLink
from server.settings import Settings
from server.text.framing import told
from server.tiers import Size


@dataclass(frozen=True, slots=True)
class Context:
    """What a handler may use while it answers one call.

    ``client`` is whoever calls: an HTTP session, or the one client of a pipe. ``progress`` takes seconds elapsed
    and a line for people; it does nothing where the client did not ask.
    """

    kb: Knowledge
    scripts: Scripts
    settings: Settings
    client: str
    progress: Callable[[float, str], Awaitable[None]]

    @property
    def caller(self) -> Caller:
        """Who asks the knowledge base: the session of this client."""
        return self.kb.caller(self.client)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a handler answers: the structured payload (without meta) and the same as one dense text.

    ``summary`` is its first line alone. ``links`` are passages to offer as resources. ``failed`` marks a
    payload that is itself an error the model can act on. ``counted``: tokens of the payload, where they are known.
    """

    payload: dict[str, Any]
    text: str
    summary: str
    warnings: tuple[str, ...] = ()
    cache_hit: bool = False
    links: tuple[PassageLink, ...] = ()
    failed: bool = False
    counted: int | None = None


# The few tools of a server that is used by scripts above all (setting tools), and one that they lead to.
CODE_TOOLS = frozenset({"execute_code", "kb.retrieve_evidence", "help", "read_result"})


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as a client sees it, and what answers a call of it: an operation or a handler.

    ``name`` is canonical (dots allowed); the wire lists underscores. ``most`` is the size of its largest payload.
    ``operation`` is a name in ``knowledge.OPERATIONS``, and ``lines`` renders its payload as text, the summary
    first. A tool that is not one operation has a ``handler`` instead. ``offered`` decides whether this server can
    serve the tool: a tool that cannot work is not listed. ``worded`` adapts the description to the settings;
    ``arguments_worded`` has the descriptions of arguments that depend on them. ``listed`` is False for a tool that
    is seldom needed: its description would cost tokens in every session. ``needs_scripts``: calls wait until the
    server knows whether scripts run here, and a call of a tool that was listed too early gets the reason.
    """

    name: str
    title: str
    description: str
    arguments: type[BaseModel]
    answer: type[BaseModel]
    most: Size
    operation: str = ""
    lines: Callable[[dict[str, Any]], list[str]] = lambda payload: [""]
    handler: Callable[[Context, dict[str, Any]], Awaitable[ToolResult]] | None = None
    read_only: bool = True
    open_world: bool = False
    idempotent: bool = True
    destructive: bool = False
    offered: Callable[[Context], bool] = lambda context: True
    worded: Callable[[str, Settings], str] = lambda description, settings: description
    arguments_worded: Callable[[Settings], Mapping[str, str]] = lambda settings: MappingProxyType({})
    listed: bool = True
    needs_scripts: bool = False

    async def call(self, context: Context, arguments: dict[str, Any]) -> ToolResult:
        """Answer one call."""
        if self.handler is not None:
            return await self.handler(context, arguments)
        answer = await context.kb.call(self.operation, arguments, context.caller)
        lines = told(self.lines(answer.payload), answer.payload)
        return ToolResult(
            answer.payload,
            "\n".join(lines),
            lines[0],
            warnings=answer.warnings,
            cache_hit=answer.cache_hit,
            links=answer.links,
            counted=answer.counted,
        )

    def is_callable(self, context: Context) -> bool:
        """Whether this server answers a call of it: what it lists, and what it listed before it knew better."""
        promised = self.needs_scripts and context.scripts.promised
        return self.stands(context) or (promised and self._is_wanted(context))

    def stands(self, context: Context) -> bool:
        """Whether this server serves it, and its settings want it."""
        return self._is_wanted(context) and self.offered(context)

    def _is_wanted(self, context: Context) -> bool:
        return context.settings.tools == "all" or self.name in CODE_TOOLS


def without_scripts(*phrases: str) -> Callable[[str, Settings], str]:
    """A description without these phrases where scripts are switched off: nobody is sent to a missing tool."""

    def worded(description: str, settings: Settings) -> str:
        for phrase in phrases if settings.execute_code == "off" else ():
            description = description.replace(phrase, "")
        return description

    return worded
