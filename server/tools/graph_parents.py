"""``graph.parents``: the sections and the document around a passage."""

from __future__ import annotations

from typing import Any

from server.contracts import GraphParents, ReachedAnswer
from server.tools.base import Context, Tool, ToolResult, ask
from server.tools.graph import MOST, RULES, offered, reached_lines

DESCRIPTION = f"""\
Sections and document that hold a passage.
{RULES}
Use when: you ask what it is part of.
Do not use when: you want its text (kb_expand_excerpt).
Returns at most: 2,000 tokens.
If you need more, call: graph_children with an id.
Defaults: hops 5. Max: 5."""


async def _handle(context: Context, arguments: dict[str, Any]) -> ToolResult:
    return await ask(context, "graph.parents", arguments, reached_lines)


TOOL = Tool(
    name="graph.parents",
    title="Go up a document",
    description=DESCRIPTION,
    arguments=GraphParents,
    answer=ReachedAnswer,
    handler=_handle,
    most=MOST,
    offered=offered,
)
