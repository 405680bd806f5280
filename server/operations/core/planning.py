"""``planner.multi_perspective``: the perspectives of a question, an outline, and a graph of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from winnow.server.contracts.core.planning import PlanAnswer, PlanPerspectives
from winnow.server.operations.base import DIRECT, SEARCH_SECONDS, Answer, RequestContext
from winnow.server.operations.core.perspectives import Suggestion, suggest_perspectives
from winnow.server.operations.declaration import Operation, ToolSpec
from winnow.server.operations.graph.nodes import shorten
from winnow.server.operations.ranking.scope import filters_of
from winnow.server.text.framing import frame_text
from winnow.server.text.sizes import count_of

# What this server does not do, since no model writes here.
_PLAN_FOR_A_WRITER = (
    "perspectives that no document suggests, such as history, methods or other points of view",
    "queries in other words, where those here repeat the words of the documents",
    "the order and the headings of the final outline",
)


def plan_perspectives(context: RequestContext, request: PlanPerspectives) -> Answer:
    """Answer with the perspectives of a question."""
    filters = filters_of(context, request.scope, request.filters)
    suggestions, ranking = suggest_perspectives(context, request.question, filters, request.max_perspectives)
    rows = [build_perspective(number, each) for number, each in enumerate(suggestions, start=1)]
    payload: dict[str, Any] = {
        "perspectives": rows,
        "outline": [{"heading": row["name"], "perspective": row["id"]} for row in rows],
        "graph": _build_graph(rows),
        "for_a_writer": list(_PLAN_FOR_A_WRITER),
        "count": len(rows),
    }
    return Answer(payload, "metadata", len(rows), 0, ranking.warnings, cache_hit=ranking.cache_hit)


def build_perspective(number: int, suggestion: Suggestion) -> dict[str, Any]:
    """The row of a perspective."""
    return {
        "id": f"p{number}",
        "kind": suggestion.kind,
        "name": suggestion.name,
        "query": suggestion.query,
        "reason": suggestion.reason,
        "section_ids": list(suggestion.section_ids),
    }


def _build_graph(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    question = {"id": "q0", "kind": "question", "label": rows[0]["name"]}
    perspectives = [{"id": row["id"], "kind": "perspective", "label": row["name"]} for row in rows]
    queries = [{"id": f"q{row['id'][1:]}", "kind": "query", "label": shorten(row["query"])} for row in rows]
    seen = [{"source": "q0", "target": row["id"], "relation": "seen_as"} for row in rows]
    asked = [{"source": row["id"], "target": f"q{row['id'][1:]}", "relation": "asked_by"} for row in rows]
    return {"nodes": [question, *perspectives, *queries], "edges": [*seen, *asked]}


def render_perspectives(payload: dict[str, Any]) -> list[str]:
    """Each perspective on a line, its query below, as the documents' words are in both."""
    lines = []
    for row in payload["perspectives"]:
        judged = (
            f" {row['verdict']} {row['confidence']:.3f}, {count_of(row['quotes'], 'quote')}"
            if "verdict" in row
            else ""
        )
        sections = f" | sections {' '.join(row['section_ids'])}" if row.get("section_ids") else ""
        lines.append(f"{row['id']}. {row['kind']}:{judged} {row['name']} | {row['reason']}{sections}")
        lines += frame_text(row["query"])
    return lines


def render_plan(payload: dict[str, Any]) -> list[str]:
    """The perspectives, their outline and how they hang together."""
    edges = payload["graph"]["edges"]
    return [
        f"{payload['count']} perspectives, each with its query",
        *render_perspectives(payload),
        f"outline: {'; '.join(part['perspective'] for part in payload['outline'])}",
        f"graph: {' '.join('-'.join((edge['source'], edge['target'])) for edge in edges)}",
        *(f"for a writer: {line}" for line in payload["for_a_writer"]),
    ]


_PLANNER_MULTI_PERSPECTIVE_DESCRIPTION = """\
Plan research on a question: perspectives from its words, the graph and sections, each with a query and a reason.
Use when: a question has several sides, before you search for each.
Do not use when: a few sentences may answer (kb_retrieve_evidence).
Returns at most: max_perspectives perspectives, 8,000 tokens.
If you need more, call: research_execute, which searches for all of them.
Defaults: max_perspectives 6. Max: 10.
No model writes here: for_a_writer says what is left to you."""
PLANNER_MULTI_PERSPECTIVE = Operation(
    "planner.multi_perspective",
    PlanPerspectives,
    plan_perspectives,
    in_scripts=False,
    seconds=SEARCH_SECONDS,
    tool=ToolSpec(
        title="Plan research",
        description=_PLANNER_MULTI_PERSPECTIVE_DESCRIPTION,
        answer=PlanAnswer,
        render=render_plan,
        max_size=DIRECT.of("metadata"),
        is_repeatable=True,
        pack="core",
    ),
)
