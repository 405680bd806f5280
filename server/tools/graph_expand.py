"""``graph.expand``: what lies around nodes, counts first."""

from __future__ import annotations

from typing import Any

from server.contracts import GraphExpand, ReachedAnswer
from server.tools.base import Context, Tool, ToolResult, ask
from server.tools.graph import MOST, RULES, offered, reached_lines

DESCRIPTION = f"""\
What is around passages, documents or entities; nearest and strongest first.
{RULES}
Use when: you ask what is related.
Do not use when: you join two (graph_paths).
Returns at most: 2,000 tokens.
If you need more, call: this with cursor, or fewer types.
Defaults: hops 1. Max: 5."""


async def _handle(context: Context, arguments: dict[str, Any]) -> ToolResult:
    return await ask(context, "graph.expand", arguments, reached_lines)


TOOL = Tool(
    name="graph.expand",
    title="Go from nodes to what is related",
    description=DESCRIPTION,
    arguments=GraphExpand,
    answer=ReachedAnswer,
    handler=_handle,
    most=MOST,
    offered=offered,
)
