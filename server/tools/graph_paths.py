"""``graph.paths``: how two things are connected, with the passages behind every step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from server.contracts import GraphPaths, PathsAnswer
from server.tools.base import Tool
from server.tools.graph import MOST, RULES, endings, offered
from server.tools.kb import paged

DESCRIPTION = f"""\
Shortest paths between things, with the passages behind each step.
{RULES}
Use when: the question joins two things.
Do not use when: one is known (graph_expand).
Returns at most: 2,000 tokens.
If you need more, call: this with cursor.
Defaults: max_hops 3. Max: 6."""


def lines_of(payload: dict[str, Any]) -> list[str]:
    """Paths, one line for each node and each step."""
    others = "no others" if payload["complete"] else "there may be others"
    lines = [f"{len(payload['results'])} of {payload['total']} paths{paged(payload)}; {others} within max_hops"]
    for number, path in enumerate(payload["results"], start=1):
        lines.append(f"{number}. {path['hops']} hops")
        lines.extend(f"   {line}" for line in _path_lines(path))
    return [*lines, *endings(payload)]


def _path_lines(path: dict[str, Any]) -> Iterator[str]:
    for node, edge in zip(path["nodes"], [*path["edges"], None], strict=True):
        yield f"[{node['id']}] {node['title']} ({node['label']} {node['type']})"
        if edge:
            sections = " ".join(edge["section_ids"]) or "none"
            facts = f"weight {edge['weight']}, confidence {edge['confidence']:.3f}"
            yield f"  {edge['relation']} {edge.get('direction', '')}, {facts} | sections {sections}"


TOOL = Tool(
    name="graph.paths",
    title="Find how things are connected",
    description=DESCRIPTION,
    arguments=GraphPaths,
    answer=PathsAnswer,
    operation="graph.paths",
    lines=lines_of,
    most=MOST,
    offered=offered,
)
