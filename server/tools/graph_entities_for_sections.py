"""``graph.entities_for_sections``: the entities that sections mention."""

from __future__ import annotations

from winnow.server.contracts import ReachedAnswer
from winnow.server.operations.graph.walks import GRAPH_ENTITIES_FOR_SECTIONS
from winnow.server.tools.base import Tool
from winnow.server.tools.graph import MAX_SIZE, RULES, is_offered, render_reached

DESCRIPTION = f"""\
What sections mention, strongest first.
{RULES}
Use when: you ask what they are about.
Do not use when: you have a name (graph_sections_for_entities).
Returns at most: page_size rows, 8,000 tokens.
If you need more, call: this with cursor.
Defaults: page_size 25. Max: 200."""


TOOL = Tool(
    operation=GRAPH_ENTITIES_FOR_SECTIONS,
    title="What sections mention",
    description=DESCRIPTION,
    answer=ReachedAnswer,
    lines=render_reached,
    max_size=MAX_SIZE,
    is_offered=is_offered,
)
