"""``graph.sections_for_entities``: the sections that mention entities."""

from __future__ import annotations

from winnow.server.contracts import ReachedAnswer
from winnow.server.operations.graph.walks import GRAPH_SECTIONS_FOR_ENTITIES
from winnow.server.tools.base import Tool
from winnow.server.tools.graph import MAX_SIZE, RULES, is_offered, render_reached

DESCRIPTION = f"""\
Where entities are mentioned.
{RULES}
Use when: you have names.
Do not use when: you have a question (kb_retrieve_evidence).
Returns at most: page_size rows, 8,000 tokens.
If you need more, call: this with cursor.
Defaults: page_size 25. Max: 200."""


TOOL = Tool(
    operation=GRAPH_SECTIONS_FOR_ENTITIES,
    title="Where entities are mentioned",
    description=DESCRIPTION,
    answer=ReachedAnswer,
    lines=render_reached,
    max_size=MAX_SIZE,
    is_offered=is_offered,
)
