"""The records that define a tool. Each tool is one file in this folder or its pack's, with one ``TOOL``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from pydantic import BaseModel

from winnow import __version__
from winnow.server.contracts import Arguments
from winnow.server.operations.answers.tiers import Size
from winnow.server.operations.base import Operation
from winnow.server.operations.knowledge import Caller, Knowledge
from winnow.server.runtime.sessions.passage_store import PassageLink
from winnow.server.settings.settings import Settings
from winnow.server.settings.value_types import ToolPack
from winnow.server.text.framing import frame_answer
from winnow.server.tools.scripts.script_runs import Scripts


@dataclass(frozen=True, slots=True)
class Context:
    """The context of one call of a tool.

    ``client`` identifies the caller: an HTTP session, or the one client of a pipe. ``progress`` takes the seconds
    elapsed and a message for people; it does nothing if the client did not ask for progress. ``operator_tools``:
    tools of the operator, listed after those of winnow. ``is_fresh``: the client wants no kept answer.
    """

    kb: Knowledge
    scripts: Scripts
    settings: Settings
    client: str
    progress: Callable[[float, str], Awaitable[None]]
    operator_tools: Sequence[Tool] = ()
    is_fresh: bool = False

    @property
    def caller(self) -> Caller:
        """The client as the knowledge base sees it, with its session."""
        return replace(self.kb.caller(self.client), is_fresh=self.is_fresh)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to one call: the structured payload (without meta) and the same content as compact text.

    ``summary`` is the first line of the text. ``links`` are passages to offer as resources. ``failed`` marks a
    payload that is an error the model can act on. ``payload_tokens`` is None where it was not counted yet.
    """

    payload: dict[str, Any]
    text: str
    summary: str
    warnings: tuple[str, ...] = ()
    cache_hit: bool = False
    links: tuple[PassageLink, ...] = ()
    failed: bool = False
    payload_tokens: int | None = None


# Tools of a server that is used mainly through scripts (setting tools), and read_result, which scripts lead to.
CODE_TOOLS = frozenset({"execute_code", "kb.retrieve_evidence", "help", "read_result"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as a client sees it, and what answers a call of it: an operation or a handler.

    ``operation`` answers it, and ``lines`` renders its payload as text, the summary first. A tool that is not one
    operation has a ``handler`` instead. ``name`` is canonical (with dots; on the wire dots become underscores):
    that of the operation where it has no other; ``arguments`` are those of the operation. ``max_size`` bounds its
    payload. ``is_offered`` decides whether this server can serve the tool; a tool that cannot work is not listed.
    ``fit_description`` adapts the description to the settings; ``describe_arguments`` returns the argument
    descriptions that depend on them. ``listed`` is False for a tool that is seldom needed: its description would
    cost tokens in every session. ``needs_scripts``: a call waits until the server knows whether scripts run here,
    and is then answered even if they do not. ``pack``: the pack of tools that the setting ``tools`` must name, ""
    for a tool of the usual list. ``is_operators``: the operator added it, so no setting but ``tool_packs`` decides
    whether it is listed. ``deterministic``: its operator says that the same input has the same answer.
    ``seconds``: how long a call may take, where no operation and no script says so. ``version``: that of winnow,
    or that which the operator gave to a tool of a pack. ``deprecated``: what to call instead, "" where it is
    current.
    """

    title: str
    description: str
    answer: type[BaseModel]
    max_size: Size
    operation: Operation | None = None
    name: str = ""
    arguments: type[BaseModel] = Arguments
    lines: Callable[[dict[str, Any]], list[str]] = lambda payload: [""]
    handler: Callable[[Context, dict[str, Any]], Awaitable[ToolResult]] | None = None
    read_only: bool = True
    open_world: bool = False
    idempotent: bool = True
    destructive: bool = False
    is_offered: Callable[[Context], bool] = lambda context: True
    fit_description: Callable[[str, Settings], str] = lambda description, settings: description
    describe_arguments: Callable[[Settings], Mapping[str, str]] = lambda settings: MappingProxyType({})
    listed: bool = True
    needs_scripts: bool = False
    pack: ToolPack | Literal[""] = ""
    is_operators: bool = False
    deterministic: bool = False
    seconds: float | None = None
    version: str = __version__
    deprecated: str = ""

    def __post_init__(self) -> None:
        if self.operation is not None:
            object.__setattr__(self, "name", self.name or self.operation.name)
            object.__setattr__(self, "arguments", self.operation.arguments)

    async def call(self, context: Context, arguments: dict[str, Any]) -> ToolResult:
        """Answer one call."""
        if self.handler is not None:
            return await self.handler(context, arguments)
        assert self.operation is not None
        answer = await context.kb.call(self.operation.name, arguments, context.caller)
        lines = frame_answer(self.lines(answer.payload), answer.payload)
        return ToolResult(
            answer.payload,
            "\n".join(lines),
            lines[0],
            warnings=answer.warnings,
            cache_hit=answer.cache_hit,
            links=answer.links,
            payload_tokens=answer.counted,
        )

    def is_callable(self, context: Context) -> bool:
        """Whether this server answers calls of the tool, including one that it listed too early."""
        was_listed = self.needs_scripts and context.scripts.promised
        return self.is_available(context) or (was_listed and self._is_enabled(context))

    def is_available(self, context: Context) -> bool:
        """Whether this server can serve the tool and its settings enable it."""
        return self._is_enabled(context) and self.is_offered(context)

    def missing_flags(self, context: Context) -> str:
        """The flags of ``serve`` with which this server would list the tool of a pack; "" where none would."""
        settings = context.settings
        flags = []
        if self.pack and self.pack not in settings.tools:
            flags.append(f"--tools {','.join((*settings.tools, self.pack))}")
        if self.pack and not settings.enable_writes and not self.is_offered(context):
            flags.append("--enable-writes")
        return " ".join(flags)

    def _is_enabled(self, context: Context) -> bool:
        if self.is_operators:
            return True
        if self.pack:
            return self.pack in context.settings.tools
        return not context.settings.is_code_only or self.name in CODE_TOOLS


def omit_without_scripts(*phrases: str) -> Callable[[str, Settings], str]:
    """A ``fit_description`` that removes these phrases, which name ``execute_code``, where scripts are off."""

    def fit_description(description: str, settings: Settings) -> str:
        for phrase in phrases if settings.execute_code == "off" else ():
            description = description.replace(phrase, "")
        return description

    return fit_description
