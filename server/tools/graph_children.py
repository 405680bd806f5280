"""``graph.children``: the sections and passages of a document or section."""

from __future__ import annotations

from typing import Any

from server.contracts import GraphChildren, ReachedAnswer
from server.tools.base import Context, Tool, ToolResult, ask
from server.tools.graph import MOST, RULES, offered, reached_lines

DESCRIPTION = f"""\
Sections and passages of a document or section.
{RULES}
Use when: you ask what is in it.
Do not use when: you look for something (kb_search).
Returns at most: 2,000 tokens.
If you need more, call: this with cursor.
Defaults: hops 1. Max: 5."""


async def _handle(context: Context, arguments: dict[str, Any]) -> ToolResult:
    return await ask(context, "graph.children", arguments, reached_lines)


TOOL = Tool(
    name="graph.children",
    title="Go down a document",
    description=DESCRIPTION,
    arguments=GraphChildren,
    answer=ReachedAnswer,
    handler=_handle,
    most=MOST,
    offered=offered,
)
