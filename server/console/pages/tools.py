"""Tools as agents see them: what a client gets when it connects, and the tokens of each part.

A host shows a model the name, the description and the schema of the arguments. The rest of a tool is for the host.
"""

from __future__ import annotations

import json
from typing import Any

from mcp_types import Tool

from winnow.server.console.records import Asked, PageView


async def show_tools(asked: Asked) -> PageView:
    """The instructions and the tools that MCP lists, with their tokens."""
    async with asked.desk.opened() as desk:
        listed = await desk.list_tools()
        instructions = desk.instructions()
        rows: list[dict[str, Any]] = [
            {
                "name": tool.name,
                "title": tool.title,
                "description": tool.description,
                "input": tool.input_schema,
                "output": tool.output_schema,
                "read_only": bool(tool.annotations and tool.annotations.read_only_hint),
                "tokens": await desk.count_tokens(_shown_to_models(tool)),
                "sent_tokens": await desk.count_tokens(_sent(tool)),
            }
            for tool in listed
        ]
        values = {
            "tools": rows,
            "instructions": instructions,
            "instructions_tokens": await desk.count_tokens(instructions),
            "total": sum(row["tokens"] for row in rows),
            "sent_total": sum(row["sent_tokens"] for row in rows),
            "tokenizer": desk.tokenizer,
            "packs": asked.desk.settings.tools,
        }
    return PageView("tools.html", "Tools", values)


def _shown_to_models(tool: Tool) -> str:
    return "\n".join((tool.name, tool.description or "", json.dumps(tool.input_schema, separators=(",", ":"))))


def _sent(tool: Tool) -> str:
    return tool.model_dump_json(by_alias=True, exclude_none=True)
