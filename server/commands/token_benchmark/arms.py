"""Plays a transcript to a server: makes its calls, counts their tokens and keeps the answers."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from mcp.types import CallToolResult

from winnow.server.commands.token_benchmark.counting import Cost, cost_of, text_of
from winnow.server.commands.token_benchmark.task import Read, Step, fill_placeholders

_MOST_READS = 50  # pages of chosen full texts; a listing has the limit of its step


class ToolCaller(Protocol):
    """The part of an MCP client that a transcript needs."""

    async def call_tool(self, name: str, arguments: dict[str, Any] | None = None, /) -> CallToolResult:
        """Call a tool."""


@dataclass(slots=True)
class PlayedTranscript:
    """The result of a transcript: its cost, all answers, and the error that stopped it, if any."""

    cost: Cost = field(default_factory=Cost)
    seconds: float = 0.0
    texts: list[str] = field(default_factory=list)
    structured: list[Mapping[str, Any]] = field(default_factory=list)
    trouble: str = ""

    @property
    def result(self) -> Any:
        """Result and output of each script."""
        return [(answer.get("result"), answer.get("stdout")) for answer in self.structured]

    def files(self) -> Iterator[list[str]]:
        """The distinct files of each answer that has texts."""
        for answer in self.structured:
            rows = answer.get("results", [])
            yield list(dict.fromkeys(row["metadata"]["file"] for row in rows if "metadata" in row))


class _Stopped(Exception):
    """The transcript cannot continue; the argument is the reason."""


async def play(client: ToolCaller, steps: Sequence[Step], question: str) -> PlayedTranscript:
    """Make the calls of a transcript one after the other. An error ends it."""
    played = PlayedTranscript()
    kept = {"question": json.dumps(question, ensure_ascii=False) if _is_script(steps) else question}
    started = time.perf_counter()
    try:
        for step in steps:
            await _play_step(client, step, kept, played)
    except _Stopped as stop:
        played.trouble = str(stop)
    played.seconds = time.perf_counter() - started
    return played


async def _play_step(client: ToolCaller, step: Step, kept: dict[str, str], played: PlayedTranscript) -> None:
    before = len(played.texts)
    rows = await _read_pages(client, step.tool, fill_placeholders(step.arguments, kept), step.pages, played)
    if step.read is not None:
        chosen = [row["id"] for row in rows if _is_chosen(row, step.read)][: step.read.first]
        if chosen:
            arguments = {"filter_ids": chosen, "top_k": len(chosen), "response_mode": "full"}
            await _read_pages(client, "semantic_search", arguments, _MOST_READS, played)
    text = "\n".join(played.texts[before:])
    for name, pattern in step.keep.items():
        match = re.search(pattern, text, re.MULTILINE)
        if match is None:
            raise _Stopped(f"nothing in the answer matches {pattern!r}")
        kept[name] = match[match.lastindex or 0].strip()


async def _read_pages(
    client: ToolCaller, tool: str, arguments: dict[str, Any], most: int, played: PlayedTranscript
) -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = []
    cursor: dict[str, str] = {}
    for _ in range(most):
        answer = await _call(client, tool, {**arguments, **cursor}, played)
        rows += answer.get("results", [])
        if not answer.get("next_cursor"):
            break
        cursor = {"cursor": answer["next_cursor"]}
    return rows


async def _call(
    client: ToolCaller, tool: str, arguments: dict[str, Any], played: PlayedTranscript
) -> Mapping[str, Any]:
    reply = await client.call_tool(tool, arguments)
    text = text_of(reply)
    played.cost += cost_of(tool, arguments, reply)
    played.texts.append(text)
    answer: Mapping[str, Any] = reply.structured_content or {}
    played.structured.append(answer)
    if reply.is_error:
        raise _Stopped(text[:500])
    return answer


def _is_chosen(row: Mapping[str, Any], read: Read) -> bool:
    fields = " | ".join(str(row.get(name, "")) for name in ("title", "section", "file"))
    return re.search(read.matching, fields) is not None


def _is_script(steps: Sequence[Step]) -> bool:
    return any("code" in step.arguments for step in steps)
