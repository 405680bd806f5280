"""Descriptions of the façade as data: discovery, the schemas of tools, and prompts."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from winnow.server.contracts import flat_schema
from winnow.server.settings.settings import Settings
from winnow.server.tools.scripts.script_runs import LONGEST_SECONDS
from winnow.server.tools.table import Tool

if TYPE_CHECKING:
    from winnow.server.tools.prompts.library import PromptLibrary
    from winnow.server.tools.prompts.records import Prompt

MAX_INPUT_BYTES = 64 * 1024
MAX_OUTPUT_BYTES = 256 * 1024
_DEFAULT_SECONDS = 30.0
_MS = 1000
_STARTED = time.monotonic()

# The last part of a route under /v1 -> the tool that answers it.
SHORT_ROUTES: Mapping[str, str] = MappingProxyType(
    {
        "search": "vector.query.search",
        "plan": "planner.multi_perspective",
        "research": "research.execute",
    }
)


def describe_tool(tool: Tool, settings: Settings) -> dict[str, Any]:
    """A tool as discovery lists it."""
    return {
        "name": tool.name,
        "version": tool.version,
        "title": tool.title,
        "inputSchemaRef": schema_path(tool, "input"),
        "outputSchemaRef": schema_path(tool, "output"),
        "deterministic": tool.deterministic or tool.is_repeatable,
        "caps": {
            "timeoutMs": round(_seconds(tool, settings) * _MS),
            "maxInputBytes": MAX_INPUT_BYTES,
            "maxOutputBytes": min(tool.max_size.bytes, MAX_OUTPUT_BYTES),
            "network": ["https"] if tool.open_world else [],
        },
        **({"deprecated": tool.deprecated} if tool.deprecated else {}),
    }


def schema_path(tool: Tool, kind: str) -> str:
    """The path of a tool's schema; ``kind`` is "input" or "output"."""
    return f"/mcp/schema/{tool.name}/{tool.version}/{kind}.json"


def _seconds(tool: Tool, settings: Settings) -> float:
    if tool.seconds is not None:
        return tool.seconds
    if tool.needs_scripts:
        return LONGEST_SECONDS + settings.queue_seconds
    return tool.operation.seconds if tool.operation else _DEFAULT_SECONDS


@cache
def input_schema(model: type[BaseModel]) -> Mapping[str, Any]:
    """The JSON schema of a tool's input. Unknown arguments are not errors: they are ignored with a warning."""
    return MappingProxyType(_open(flat_schema(model)))


@cache
def data_schema(model: type[BaseModel]) -> Mapping[str, Any]:
    """The JSON schema of ``data``: the payload of a tool without its ``meta`` and ``error``."""
    whole = flat_schema(model)
    unlisted = ("meta", "error")
    properties = {name: value for name, value in whole["properties"].items() if name not in unlisted}
    required = [name for name in whole.get("required", ()) if name not in unlisted]
    return MappingProxyType({**whole, "properties": properties, "required": required})


def _open(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name != "additionalProperties"}


def describe_prompts(library: PromptLibrary, tools: Collection[str]) -> list[dict[str, Any]]:
    """The prompts that a server with these tools offers, each with its versions."""
    versions: dict[str, list[dict[str, Any]]] = {}
    for prompt in library.offered(tools):
        row: dict[str, Any] = {
            "major": prompt.major,
            "description": prompt.description,
            "specRef": f"/mcp/prompt/{prompt.id}/{prompt.major}",
        }
        versions.setdefault(prompt.id, []).append(row | _deprecation(prompt))
    return [{"id": id, "versions": rows} for id, rows in versions.items()]


def describe_prompt(prompt: Prompt) -> dict[str, Any]:
    """A version of a prompt: its template, and what it takes. ``parts`` are the texts that it includes."""
    spec = {
        "id": prompt.id,
        "major": prompt.major,
        "uri": prompt.uri,
        "title": prompt.title,
        "description": prompt.description,
        "inputSchema": prompt.input_schema(),
        "needs": [*prompt.needs],
        "parts": {name: text for name, text in prompt.parts.items() if _includes(prompt, name)},
    }
    return {"body": prompt.body, "spec": spec | _deprecation(prompt)}


def _includes(prompt: Prompt, part: str) -> bool:
    return any(part in text for text in (prompt.body, *prompt.parts.values()))


def _deprecation(prompt: Prompt) -> dict[str, str]:
    return {"deprecated": prompt.deprecated} if prompt.deprecated else {}


def describe_health(*, is_settled: bool) -> dict[str, Any]:
    """Whether the server has finished to start, and how long it runs."""
    return {"status": "ok" if is_settled else "starting", "uptimeSec": round(time.monotonic() - _STARTED, 1)}
