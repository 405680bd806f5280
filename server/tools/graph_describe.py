"""``graph.describe``: the facts of nodes and the counts of their relations, by type."""

from __future__ import annotations

from typing import Any

from winnow.server.contracts import DescribeAnswer
from winnow.server.operations.graph.walks import GRAPH_DESCRIBE
from winnow.server.tools.base import Tool
from winnow.server.tools.graph import MAX_SIZE, RULES, format_counts, is_offered, render_ending, render_nodes
from winnow.server.tools.kb import partial_note

DESCRIPTION = f"""\
What nodes are, and counts of their relations; without ids, of the graph.
{RULES}
Use when: you choose types for graph_expand.
Do not use when: you want nodes around.
Returns at most: page_size rows, 8,000 tokens.
If you need more, call: this with cursor.
Defaults: page_size 25. Max: 200."""


def render_description(payload: dict[str, Any]) -> list[str]:
    """Nodes with their counts, or the counts of the whole graph."""
    if "graph" in payload:
        parts = payload["graph"].items()
        return ["the whole graph", *(f"{name}: {format_counts(counts)}" for name, counts in parts)]
    headline = f"{len(payload['results'])} nodes{partial_note(payload)}"
    return [headline, *render_nodes(payload["results"]), *render_ending(payload)]


TOOL = Tool(
    operation=GRAPH_DESCRIBE,
    title="Describe nodes of the graph",
    description=DESCRIPTION,
    answer=DescribeAnswer,
    lines=render_description,
    max_size=MAX_SIZE,
    is_offered=is_offered,
)
