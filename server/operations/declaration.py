"""Declarations of operations: the SDK function and the tool of each follow from one value beside its function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import BaseModel

from winnow.server.operations.answers.budget import AROUND_TOKENS, Size, dumps, estimate_warning_tokens, measure
from winnow.server.operations.base import OTHER_SECONDS, Answer, AnswerText, RequestContext
from winnow.server.settings.settings import Settings
from winnow.server.settings.value_types import ToolPack
from winnow.server.text.framing import frame_answer

# A text is sent within quotes that are counted with what stands around it.
_WITHOUT_QUOTES = Size(0, -2)


@dataclass(frozen=True, slots=True)
class Script:
    """The SDK function of an operation, from which ``docs/generate.py`` writes ``client_sdk``.

    ``parameters``: their names in order, ``*`` before those that are given by name only. Types and defaults are
    those of the operation's arguments, but for the ones in ``types`` and ``defaults``. Not sent as arguments:
    ``missing``, and the parameters that the operation takes within ``options`` (``client_sdk.requests``).
    ``doc``: the docstring. ``name``: as scripts write it; the operation's if empty. ``name="count_words"`` makes
    ``count_words`` a global name of scripts and a method of ``kb``, written to ``client_sdk.corpus_calls``.
    ``is_row``: the answer is one row, not a page.
    """

    parameters: str
    doc: str
    name: str = ""
    is_row: bool = False
    types: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as a client sees it: its name, texts, answer, limits and hints.

    ``name`` is canonical (with dots; on the wire dots become underscores); where it is empty, the operation's.
    ``render`` gives the lines of a payload's text, the summary first. ``max_size`` bounds the payload.
    ``is_offered`` decides whether a server with these settings can serve the tool; a tool that cannot work is not
    listed. ``is_repeatable``: the same call has the same answer until the index changes. ``fit_description``
    adapts the description to the settings. ``listed`` is False for a tool that is seldom needed: its description
    would cost tokens in every session. ``needs_scripts``: the tool is listed only if scripts run; a call waits
    until the server knows whether they do, and always gets an answer. ``pack``: the pack of tools that the
    setting ``tools`` must name, "" for a tool of the usual list.
    """

    title: str
    description: str
    answer: type[BaseModel]
    max_size: Size
    name: str = ""
    render: Callable[[dict[str, Any]], list[str]] = lambda payload: [""]
    read_only: bool = True
    open_world: bool = False
    idempotent: bool = True
    destructive: bool = False
    is_repeatable: bool = False
    is_offered: Callable[[Settings], bool] = lambda settings: True
    fit_description: Callable[[str, Settings], str] = lambda description, settings: description
    listed: bool = True
    needs_scripts: bool = False
    pack: ToolPack | Literal[""] = ""

    def text_of(self, payload: dict[str, Any]) -> str:
        """The text of a payload, with what stands in documents marked; the first line is the summary."""
        return "\n".join(frame_answer(self.render(payload), payload))


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation, declared beside the function that answers: its name, the model of its arguments and ``run``.

    ``in_scripts``: whether scripts may call it. They call none that writes or shows pictures, and none of the
    legacy tools and of the packs ``core`` and ``research``, which have the contracts of other systems.
    ``seconds``: its time limit.
    ``script``: the function of the SDK that calls it, None where the SDK has none or one that does more. ``tool``:
    the tool that calls it, None where only scripts do.
    """

    name: str
    arguments: type[BaseModel]
    run: Callable[[RequestContext, Any], Answer]
    in_scripts: bool = True
    seconds: float = OTHER_SECONDS
    script: Script | None = None
    tool: ToolSpec | None = None


def render_answer(context: RequestContext, answer: Answer, tool: ToolSpec | None) -> Answer:
    """The answer of a direct call with its text and both sizes; as it is if no tool sends it, or it has them."""
    if tool is None or answer.rendered is not None or not context.caller.budget.is_direct:
        return answer
    rendered = _render(answer, tool)
    if "estimated_tokens" not in answer.payload:
        return replace(answer, rendered=rendered)
    payload = {**answer.payload, "estimated_tokens": _estimate(answer, rendered)}
    return replace(answer, payload=payload, rendered=_with_payload(rendered, answer.payload, payload, tool))


def _render(answer: Answer, tool: ToolSpec) -> AnswerText:
    """The text of an answer and both sizes."""
    text = tool.text_of(answer.payload)
    return AnswerText(text, _measure_payload(answer), measure(text) + _WITHOUT_QUOTES)


def _measure_payload(answer: Answer) -> Size:
    """The size of a payload. Rows that were counted when they were fitted into it are not counted again."""
    if not answer.row_field:
        return measure(answer.payload)
    rest, rows = measure({**answer.payload, answer.row_field: []}), dumps(answer.payload[answer.row_field])
    return Size(rest.tokens + answer.tokens, rest.bytes + len(rows.encode("utf-8", "replace")) - len("[]"))


def _estimate(answer: Answer, rendered: AnswerText) -> int:
    """An estimate of the tokens of all that is sent of an answer."""
    both = rendered.payload_size.tokens + rendered.text_size.tokens
    return both + AROUND_TOKENS + estimate_warning_tokens(answer.warnings)


def _with_payload(
    rendered: AnswerText, before: dict[str, Any], payload: dict[str, Any], tool: ToolSpec
) -> AnswerText:
    """The text of a payload that differs from the rendered one by its estimate alone, without counting again."""
    text = tool.text_of(payload)
    more = len(str(payload["estimated_tokens"])) - len(str(before["estimated_tokens"]))
    return AnswerText(
        text,
        rendered.payload_size + Size(0, more),
        rendered.text_size + Size(0, len(text) - len(rendered.text)),
    )


def has_kb_tools(settings: Settings) -> bool:
    """Whether a server lists the ``kb.*`` tools; the setting switches back to the earlier tools."""
    return settings.kb_v2_enabled


def has_graph_tools(settings: Settings) -> bool:
    """Whether a server lists the graph tools: together with the ``kb.*`` tools, which take their ids.

    They are listed even before there is a graph: an ingest may build it later, and hosts list tools once.
    """
    return settings.graph != "off" and settings.kb_v2_enabled


def may_write(settings: Settings) -> bool:
    """Whether the operator has switched on tools that write."""
    return settings.enable_writes


def omit_without_scripts(*phrases: str) -> Callable[[str, Settings], str]:
    """A ``fit_description`` that removes these phrases, which name ``execute_code``, where scripts are off."""

    def fit_description(description: str, settings: Settings) -> str:
        for phrase in phrases if settings.execute_code == "off" else ():
            description = description.replace(phrase, "")
        return description

    return fit_description
