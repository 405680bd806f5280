"""``graph.describe``: what nodes are, and how many relations of which types they have."""

from __future__ import annotations

from typing import Any

from server.contracts import DescribeAnswer, GraphDescribe
from server.tools.base import Tool
from server.tools.graph import MOST, RULES, counted, endings, node_lines, offered
from server.tools.kb import paged

DESCRIPTION = f"""\
What nodes are, and counts of their relations; without ids, of the graph.
{RULES}
Use when: you choose types for graph_expand.
Do not use when: you want nodes around.
Returns at most: 2,000 tokens.
If you need more, call: this with cursor.
Defaults: page_size 25. Max: 50 ids."""


def lines_of(payload: dict[str, Any]) -> list[str]:
    """Nodes with their counts, or the counts of the whole graph."""
    if "graph" in payload:
        parts = payload["graph"].items()
        return ["the whole graph", *(f"{name}: {counted(counts)}" for name, counts in parts)]
    headline = f"{len(payload['results'])} nodes{paged(payload)}"
    return [headline, *node_lines(payload["results"]), *endings(payload)]


TOOL = Tool(
    name="graph.describe",
    title="Describe nodes of the graph",
    description=DESCRIPTION,
    arguments=GraphDescribe,
    answer=DescribeAnswer,
    operation="graph.describe",
    lines=lines_of,
    most=MOST,
    offered=offered,
)
