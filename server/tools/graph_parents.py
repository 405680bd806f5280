"""``graph.parents``: the sections and the document that contain a passage."""

from __future__ import annotations

from winnow.server.contracts import ReachedAnswer
from winnow.server.operations.graph.walks import GRAPH_PARENTS
from winnow.server.tools.base import Tool
from winnow.server.tools.graph import MAX_SIZE, RULES, is_offered, render_reached

DESCRIPTION = f"""\
Sections and document that hold a passage.
{RULES}
Use when: you ask what it is part of.
Do not use when: you want its text (kb_expand_excerpt).
Returns at most: page_size rows, 8,000 tokens.
If you need more, call: graph_children with an id.
Defaults: hops 5. Max: 5."""


TOOL = Tool(
    operation=GRAPH_PARENTS,
    title="Go up a document",
    description=DESCRIPTION,
    answer=ReachedAnswer,
    lines=render_reached,
    max_size=MAX_SIZE,
    is_offered=is_offered,
    listed=False,  # graph_expand reaches the same along PART_OF
)
