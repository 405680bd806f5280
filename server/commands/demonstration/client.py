"""The two arms of the demonstration, run by the SDK's own MCP client against a real ``winnow serve`` child."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CallToolResult, TextContent

from winnow.server.commands.demonstration.task import SCRIPT, SEARCHES, TOP_K, TaskAnswer, extract_answer
from winnow.server.commands.terminal.console_script import find_console_script
from winnow.server.errors import WinnowError
from winnow.server.text.words.tokens import count_tokens

MODEL_SECONDS = 30.0  # how long to wait for the model
# Settings, folders, and the import path of this code.
_INHERITED = ("WINNOW_", "XDG_", "PYTHONPATH")


@dataclass(slots=True)
class Arm:
    """One way of doing the task: its answer and its tokens in the model's context.

    ``tokens`` counts what the model writes (the call with its arguments) and what it reads (the answer's text).
    ``tokens_structured`` is the same for hosts that pass the structured answer instead of the text.
    """

    calls: int = 0
    seconds: float = 0.0
    tokens: int = 0
    tokens_structured: int = 0
    answer: TaskAnswer = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)


def inherited_environment() -> dict[str, str]:
    """The variables that a server inherits from this process."""
    return {name: value for name, value in os.environ.items() if name.startswith(_INHERITED)}


@asynccontextmanager
async def connect_server(
    store: Path, project: str, log: Path, options: Sequence[str] = ("--no-daemon",)
) -> AsyncIterator[Client]:
    """A client of a ``winnow serve`` process on this store, whose log goes to a file.

    By default it starts no engine, which would outlive it.
    """
    server = StdioServerParameters(
        command=str(find_console_script()),
        args=["serve", "--store", str(store), "--project", project, *options],
        env=inherited_environment(),
    )
    with log.open("w", encoding="utf-8") as errors:
        async with Client(stdio_client(server, errlog=errors)) as client:
            yield client


async def offers_scripts(client: Client) -> bool:
    """Whether this server lists ``execute_code``; it does so only if scripts can run."""
    return any(tool.name == "execute_code" for tool in (await client.list_tools()).tools)


async def wait_for_model(client: Client) -> None:
    """Wait until searches use the model, so that both arms get the same rankings."""
    deadline = time.monotonic() + MODEL_SECONDS
    while time.monotonic() < deadline:
        reply = await client.call_tool("semantic_search", {"query": SEARCHES[0], "top_k": 1})
        if _structured(reply)["search_mode"] == "hybrid":
            return
        await asyncio.sleep(0.5)


async def run_direct(client: Client) -> Arm:
    """Every search with full texts, page after page, as an agent without scripts does it."""
    arm, rows = Arm(), []
    started = time.perf_counter()
    for query in SEARCHES:
        cursor: dict[str, str] = {}
        while True:
            arguments = {"query": query, "top_k": TOP_K, "response_mode": "full", **cursor}
            page = await _call(client, arm, "semantic_search", arguments)
            rows += page["results"]
            if not page.get("next_cursor"):
                break
            cursor = {"cursor": page["next_cursor"]}
    arm.seconds = time.perf_counter() - started
    arm.answer = extract_answer(rows)
    return arm


async def run_scripted(client: Client) -> Arm:
    """The same searches in one script; the text stays in the sandbox."""
    arm = Arm()
    started = time.perf_counter()
    outcome = await _call(client, arm, "execute_code", {"code": SCRIPT})
    arm.seconds = time.perf_counter() - started
    arm.answer = outcome["result"] if outcome["status"] == "ok" else {}
    arm.details = outcome
    return arm


async def _call(client: Client, arm: Arm, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    reply = await client.call_tool(tool, arguments)
    structured = _structured(reply)
    text = "\n".join(block.text for block in reply.content if isinstance(block, TextContent))
    written = count_tokens(_compact({"name": tool, "arguments": arguments}))
    arm.calls += 1
    arm.tokens += written + count_tokens(text)
    arm.tokens_structured += written + count_tokens(_compact(structured))
    return structured


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _structured(reply: CallToolResult) -> dict[str, Any]:
    if not isinstance(reply.structured_content, dict):
        raise WinnowError("INTERNAL", "the server's answer has no structured content")
    return reply.structured_content
