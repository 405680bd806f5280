"""Relationships in rows of ``semantic_search``: the entities that the passage and its document mention."""

from __future__ import annotations

from winnow.server.contracts.base import Mode, Scope
from winnow.server.errors import WinnowError
from winnow.server.models import Passage
from winnow.server.operations.answers import budget
from winnow.server.operations.base import RequestContext
from winnow.server.operations.graph.nodes import GraphView, shorten, view_of
from winnow.server.operations.graph.walks import MENTION_TYPES

MAX_RELATIONSHIPS = 10  # of one row
_NONE = "include_relationships: there are no relationships: {why}"
_TOO_SMALL = "include_relationships: rows have relationships with response_mode preview or full"

Rendered = tuple[list[budget.Row], tuple[str, ...]]


def add_relationships(
    context: RequestContext, scope: Scope | None, mode: Mode, passages: list[Passage], rows: list[budget.Row]
) -> Rendered:
    """Add at most ten relationships to each row; if there are none, the rows unchanged and a warning."""
    try:
        view = view_of(context, scope)
        if mode not in ("preview", "full"):
            return rows, (_TOO_SMALL,)
        return [_add_to_row(row, view, passage) for row, passage in zip(rows, passages, strict=True)], ()
    except WinnowError as error:
        return rows, (_NONE.format(why=error.message),)


def _add_to_row(row: budget.Row, view: GraphView, passage: Passage) -> budget.Row:
    if not isinstance(row, dict):
        return row
    ids = [passage.chunk.id, passage.document.id]
    neighbours = view.store.neighbours(
        view.project, ids, "out", MENTION_TYPES, view.scope, 2 * MAX_RELATIONSHIPS
    ).rows
    related = {
        (neighbour.node.id, neighbour.edge.type): {
            "entity_id": neighbour.node.id,
            "entity_name": shorten(neighbour.node.title) or neighbour.node.id,
            "relationship_type": neighbour.edge.type,
            "confidence": round(neighbour.edge.confidence, 3),
        }
        for neighbour in neighbours
        if neighbour.node.label == "Entity"
    }
    return {**row, "relationships": [*related.values()][:MAX_RELATIONSHIPS]}
