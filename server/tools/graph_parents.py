"""``graph.parents``: the sections and the document around a passage."""

from __future__ import annotations

from server.contracts import GraphParents, ReachedAnswer
from server.tools.base import Tool
from server.tools.graph import MOST, RULES, offered, reached_lines

DESCRIPTION = f"""\
Sections and document that hold a passage.
{RULES}
Use when: you ask what it is part of.
Do not use when: you want its text (kb_expand_excerpt).
Returns at most: 2,000 tokens.
If you need more, call: graph_children with an id.
Defaults: hops 5. Max: 5."""


TOOL = Tool(
    name="graph.parents",
    title="Go up a document",
    description=DESCRIPTION,
    arguments=GraphParents,
    answer=ReachedAnswer,
    operation="graph.parents",
    lines=reached_lines,
    most=MOST,
    offered=offered,
)
