"""``graph.expand``: the neighbours of nodes, counts first."""

from __future__ import annotations

from winnow.server.contracts import ReachedAnswer
from winnow.server.operations.graph.walks import GRAPH_EXPAND
from winnow.server.tools.base import Tool
from winnow.server.tools.graph import MAX_SIZE, RULES, is_offered, render_reached

DESCRIPTION = f"""\
What is around passages, documents or entities; nearest and strongest first.
{RULES}
Use when: you ask what is related.
Do not use when: you join two (graph_paths).
Returns at most: page_size rows, 8,000 tokens.
If you need more, call: this with cursor.
Defaults: hops 1. Max: 5."""


TOOL = Tool(
    operation=GRAPH_EXPAND,
    title="Go from nodes to what is related",
    description=DESCRIPTION,
    answer=ReachedAnswer,
    lines=render_reached,
    max_size=MAX_SIZE,
    is_offered=is_offered,
)
