"""``graph.children``: the sections and passages of a document or section."""

from __future__ import annotations

from winnow.server.contracts import ReachedAnswer
from winnow.server.operations.graph.walks import GRAPH_CHILDREN
from winnow.server.tools.base import Tool
from winnow.server.tools.graph import MAX_SIZE, RULES, is_offered, render_reached

DESCRIPTION = f"""\
Sections and passages of a document or section.
{RULES}
Use when: you ask what is in it.
Do not use when: you look for something (kb_search).
Returns at most: page_size rows, 8,000 tokens.
If you need more, call: this with cursor.
Defaults: hops 1. Max: 5."""


TOOL = Tool(
    operation=GRAPH_CHILDREN,
    title="Go down a document",
    description=DESCRIPTION,
    answer=ReachedAnswer,
    lines=render_reached,
    max_size=MAX_SIZE,
    is_offered=is_offered,
    listed=False,  # graph_expand reaches the same along PART_OF
)
