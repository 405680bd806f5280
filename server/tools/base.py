"""Tools as a server has them: those of operations, and those with a handler of their own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from winnow import __version__
from winnow.server.operations.answers.budget import Size
from winnow.server.operations.base import Image
from winnow.server.operations.declaration import Operation, ToolSpec
from winnow.server.operations.knowledge import Answer, Caller, Knowledge
from winnow.server.runtime.sessions.passage_store import PassageLink
from winnow.server.settings.settings import Settings
from winnow.server.tools.scripts.script_runs import Scripts


@dataclass(frozen=True, slots=True)
class Context:
    """The context of one call of a tool.

    ``client`` identifies the caller: an HTTP session, or the one client of a pipe. ``progress`` takes the seconds
    elapsed and a message for people; it does nothing if the client did not ask for progress. ``operator_tools``:
    tools of the operator, listed after those of winnow. ``is_fresh``: the client wants no kept answer.
    ``is_local``: the client has this process on a pipe, so that paths of this machine mean something to it.
    """

    kb: Knowledge
    scripts: Scripts
    settings: Settings
    client: str
    progress: Callable[[float, str], Awaitable[None]]
    operator_tools: Sequence[Tool] = ()
    is_fresh: bool = False
    is_local: bool = False

    @property
    def caller(self) -> Caller:
        """The client as the knowledge base sees it, with its session."""
        return replace(self.kb.caller(self.client), is_fresh=self.is_fresh)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to one call: the structured payload (without meta) and the same content as compact text.

    ``summary`` is the first line of the text. ``links`` are passages to offer as resources. ``failed`` marks a
    payload that is an error the model can act on. ``rows`` are those of the payload, 1 for a text. ``sizes`` are
    those of payload and text as JSON, None where they were not measured yet. ``images`` are sent beside both.
    """

    payload: dict[str, Any]
    text: str
    summary: str
    warnings: tuple[str, ...] = ()
    cache_hit: bool = False
    links: tuple[PassageLink, ...] = ()
    failed: bool = False
    rows: int = 0
    sizes: tuple[Size, Size] | None = None
    images: tuple[Image, ...] = ()


# Tools of a server that is used mainly through scripts (setting tools), and read_result, which scripts lead to.
CODE_TOOLS = frozenset({"execute_code", "kb.retrieve_evidence", "help", "read_result"})


Handler = Callable[[Context, dict[str, Any]], Awaitable[ToolResult]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(ToolSpec):
    """A tool of a server, and what answers a call of it: an operation or a handler.

    A ``handler`` answers for a tool that is not one call of its ``operation``. ``describe_arguments`` returns the
    argument descriptions that depend on the settings. ``waits_for_scripts``: a call waits until the server knows
    whether scripts run here. ``is_operators``: the operator added it, so no setting but ``tool_packs`` decides
    whether it is listed. ``deterministic``: its operator says that the same input has the same answer.
    ``seconds``: how long a call may take, where no operation and no script says so. ``version``: that of winnow,
    or that which the operator gave to a tool of a pack. ``deprecated``: what to call instead, "" where it is
    current.
    """

    arguments: type[BaseModel]
    operation: Operation | None = None
    handler: Handler | None = None
    describe_arguments: Callable[[Settings], Mapping[str, str]] = lambda settings: MappingProxyType({})
    waits_for_scripts: bool = False
    is_operators: bool = False
    deterministic: bool = False
    seconds: float | None = None
    version: str = __version__
    deprecated: str = ""

    @classmethod
    def of(cls, operation: Operation, handler: Handler | None = None) -> Tool:
        """The tool that an operation declares; ``handler`` where a call is more than one call of the operation."""
        spec = operation.tool
        assert spec is not None
        declared = {each.name: getattr(spec, each.name) for each in fields(spec)}
        declared["name"] = spec.name or operation.name
        return cls(**declared, arguments=operation.arguments, operation=operation, handler=handler)

    async def call(self, context: Context, arguments: dict[str, Any]) -> ToolResult:
        """Answer one call."""
        if self.handler is not None:
            return await self.handler(context, arguments)
        assert self.operation is not None
        answer = await context.kb.call(self.operation.name, arguments, context.caller)
        if answer.file_url and context.is_local:
            answer = replace(answer, payload={**answer.payload, "url": answer.file_url}, rendered=None)
        return self.result_of(answer)

    def result_of(self, answer: Answer) -> ToolResult:
        """The result of a call that its operation answered so."""
        rendered = answer.rendered
        text = rendered.text if rendered else self.text_of(answer.payload)
        return ToolResult(
            answer.payload,
            text,
            text.partition("\n")[0],
            warnings=answer.warnings,
            cache_hit=answer.cache_hit,
            links=answer.links,
            rows=answer.rows,
            sizes=(rendered.payload_size, rendered.text_size) if rendered else None,
            images=answer.images,
        )

    def is_callable(self, context: Context) -> bool:
        """Whether this server answers calls of the tool, including one that it listed too early."""
        was_listed = self.needs_scripts and context.scripts.promised
        return self.is_available(context) or (was_listed and self._is_enabled(context))

    def is_available(self, context: Context) -> bool:
        """Whether this server can serve the tool and its settings enable it."""
        return self._is_enabled(context) and self.can_work(context)

    def can_work(self, context: Context) -> bool:
        """Whether this server can serve the tool, listed or not."""
        return self.is_offered(context.settings) and (context.scripts.available or not self.needs_scripts)

    def missing_flags(self, context: Context) -> str:
        """The flags of ``serve`` with which this server would list the tool of a pack; "" where none would."""
        settings = context.settings
        flags = []
        if self.pack and self.pack not in settings.tools:
            flags.append(f"--tools {','.join((*settings.tools, self.pack))}")
        if self.pack and not settings.enable_writes and not self.is_offered(settings):
            flags.append("--enable-writes")
        return " ".join(flags)

    def _is_enabled(self, context: Context) -> bool:
        if self.is_operators:
            return True
        if self.pack:
            return self.pack in context.settings.tools
        return not context.settings.is_code_only or self.name in CODE_TOOLS
