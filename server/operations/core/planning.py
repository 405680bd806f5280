"""``planner.multi_perspective``: the perspectives of a question, an outline, and a graph of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from winnow.server.contracts.core.planning import PlanPerspectives
from winnow.server.operations.base import SEARCH_SECONDS, Answer, Operation, RequestContext
from winnow.server.operations.core.perspectives import Suggestion, suggest_perspectives
from winnow.server.operations.graph.nodes import shorten
from winnow.server.operations.ranking.scope import filters_of

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


PLANNER_MULTI_PERSPECTIVE = Operation(
    "planner.multi_perspective", PlanPerspectives, plan_perspectives, in_scripts=False, seconds=SEARCH_SECONDS
)
