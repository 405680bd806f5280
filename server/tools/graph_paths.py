"""``graph.paths``: paths between two nodes, with the passages behind every step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from winnow.server.contracts import PathsAnswer
from winnow.server.operations.graph.walks import GRAPH_PATHS
from winnow.server.tools.base import Tool
from winnow.server.tools.graph import MAX_SIZE, RULES, is_offered, render_ending, render_sections
from winnow.server.tools.kb import partial_note

DESCRIPTION = f"""\
Shortest paths between things, with the passages behind each step.
{RULES}
Use when: the question joins two things.
Do not use when: one is known (graph_expand).
Returns at most: limit paths, 8,000 tokens.
If you need more, call: this with cursor.
Defaults: max_hops 3. Max: 6."""


def render_paths(payload: dict[str, Any]) -> list[str]:
    """Paths, one line for each node and each step."""
    others = "no others" if payload["complete"] else "there may be others"
    lines = [
        f"{len(payload['results'])} of {payload['total']} paths{partial_note(payload, 'limit')}; "
        f"{others} within max_hops"
    ]
    for number, path in enumerate(payload["results"], start=1):
        lines.append(f"{number}. {path['hops']} hops")
        lines.extend(f"   {line}" for line in _render_path(path))
    return [*lines, *render_ending(payload)]


def _render_path(path: dict[str, Any]) -> Iterator[str]:
    for node, edge in zip(path["nodes"], [*path["edges"], None], strict=True):
        yield f"[{node['id']}] {node['title']} ({node['label']} {node['type']})"
        if edge:
            facts = f"weight {edge['weight']}, confidence {edge['confidence']:.3f}"
            yield f"  {edge['relation']} {edge.get('direction', '')}, {facts} | {render_sections(edge)}"


TOOL = Tool(
    operation=GRAPH_PATHS,
    title="Find how things are connected",
    description=DESCRIPTION,
    answer=PathsAnswer,
    lines=render_paths,
    max_size=MAX_SIZE,
    is_offered=is_offered,
)
