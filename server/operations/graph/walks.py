"""``graph.*``: from nodes to what is connected with them, each with the passages that show it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from server import tiers
from server.contracts.graph import (
    DEFAULT_PATHS,
    EntitiesForSections,
    GraphChildren,
    GraphDescribe,
    GraphExpand,
    GraphParents,
    GraphPaths,
    SectionsForEntities,
)
from server.graph.base import MAX_HOPS, MAX_NODES, MAX_PATHS, Direction, Neighbourhood, Path, ReachedNode, Types
from server.graph.records import DERIVED, Edge, Node
from server.operations.base import Answer, RequestContext
from server.operations.graph.nodes import (
    GraphView,
    NamedNodes,
    build_page_answer,
    most_frequent,
    passages_of,
    render_node,
    render_type,
    resolve_nodes,
    select_evidence,
    shorten,
    view_of,
    weight_of,
)
from server.operations.paging import resume

# How documents, sections and chunks speak of entities.
MENTION_TYPES = frozenset({"MENTIONS", "DEFINES", "TAGGED", "ABOUT"})
_UP = frozenset({"PART_OF"})
_MAX_EDGES_READ = 2_000  # that are added up, the strongest: ten pages of a store
_SAME_ENDS = "from_ids and to_ids are the same nodes, so there is nothing between them"
_NO_PARENTS = (
    "entities are in no document's outline; graph_sections_for_entities leads to where they are mentioned"
)


def graph_describe(context: RequestContext, request: GraphDescribe) -> Answer:
    """Nodes with the number of their relations by type; without ids, how much there is of what."""
    view = view_of(context, request.scope)
    if not request.ids:
        resume(request.cursor, request)
        return _describe_graph(view)
    found = resolve_nodes(view, request.ids)

    def row(node: Node) -> dict[str, Any]:
        edges: dict[str, dict[str, int]] = {"out": {}, "in": {}}
        for degree in view.store.degrees(view.project, node.id, view.scope):
            edges[degree.direction][degree.type] = degree.count
        counted = {f"edges_{way}": counts for way, counts in edges.items() if counts}
        return {**render_node(node), **counted, "section_ids": passages_of(view, node)}

    return build_page_answer(view, request, request.page_size, found.nodes, row, found.facts, found.warnings)


def graph_expand(context: RequestContext, request: GraphExpand) -> Answer:
    """What is within some hops of nodes, nearest first and the most strongly related among them."""
    view = view_of(context, request.scope)
    return _answer_expansion(
        view, request, resolve_nodes(view, request.ids), frozenset(request.types) or None, request.direction
    )


def graph_parents(context: RequestContext, request: GraphParents) -> Answer:
    """The sections and the document around a passage or section, innermost first."""
    return _answer_outline(context, request, "out")


def graph_children(context: RequestContext, request: GraphChildren) -> Answer:
    """The sections and passages of a document or section."""
    return _answer_outline(context, request, "in")


def graph_entities_for_sections(context: RequestContext, request: EntitiesForSections) -> Answer:
    """What sections speak of, all of them together, most strongly first."""
    view = view_of(context, request.scope)
    found = resolve_nodes(view, request.section_ids)
    below = view.around(found.ids, MAX_HOPS, _UP, "in")
    sources = {one.node.id: one.node for one in below.nodes}
    cut = (f"{below.cut} of the passages below were not looked at; name smaller sections",) if below.cut else ()
    return _answer_related(view, request, found, sources, "out", cut)


def graph_sections_for_entities(context: RequestContext, request: SectionsForEntities) -> Answer:
    """Where entities are spoken of: first what speaks of most of them, then most strongly."""
    view = view_of(context, request.scope)
    found = resolve_nodes(view, request.entity_ids)
    return _answer_related(view, request, found, {node.id: node for node in found.nodes}, "in")


def graph_paths(context: RequestContext, request: GraphPaths) -> Answer:
    """How nodes are connected, shortest first, with the passages behind every step."""
    view = view_of(context, request.scope)
    sources, targets = resolve_nodes(view, request.from_ids), resolve_nodes(view, request.to_ids)
    types = frozenset(request.types) or None
    found = view.store.paths(
        view.project, sources.ids, targets.ids, request.max_hops, types, view.scope, request.limit
    )
    missing = NamedNodes((), (*sources.missing, *targets.missing)).facts
    facts = {"total": len(found.paths), "complete": found.complete, **missing}
    same = (_SAME_ENDS,) if set(targets.ids) <= set(sources.ids) else ()
    warnings = (*sources.warnings, *targets.warnings, *same)
    return build_page_answer(
        view, request, request.limit, found.paths, _build_path_row, facts, warnings, DEFAULT_PATHS
    )


def _answer_outline(
    context: RequestContext, request: GraphParents | GraphChildren, direction: Direction
) -> Answer:
    view = view_of(context, request.scope)
    found = resolve_nodes(view, request.ids)
    advice = (_NO_PARENTS,) if any(node.label == "Entity" for node in found.nodes) else ()
    return _answer_expansion(view, request, found, _UP, direction, advice)


def _describe_graph(view: GraphView) -> Answer:
    counts = view.store.counts(view.project, view.scope)
    payload: dict[str, Any] = {
        "graph": {
            "labels": dict(counts.labels),
            "entity_types": most_frequent(counts.entity_types),
            "relations": dict(counts.edge_types),
        },
        "results": [],
        "next_cursor": None,
        "partial": False,
        "limit_reason": "none",
    }
    return Answer(payload, "metadata", 1, tiers.measure(payload).tokens)


def _build_path_row(path: Path) -> dict[str, Any]:
    nodes = [
        {"id": node.id, "label": node.label, "title": shorten(node.title), "type": render_type(node)}
        for node in path.nodes
    ]
    steps = zip(pairwise(path.nodes), path.edges, strict=True)
    edges = [_build_step(here, there, edge) for (here, there), edge in steps]
    return {"hops": len(path.edges), "nodes": nodes, "edges": edges}


def _build_step(here: Node, there: Node, edge: Edge) -> dict[str, Any]:
    return {
        "relation": edge.type,
        **_direction_of(edge, is_out=edge.source == here.id),
        "weight": weight_of(edge.weight),
        "confidence": round(edge.confidence, 3),
        "section_ids": select_evidence([(edge, here), (edge, there)]),
    }


def _direction_of(edge: Edge, *, is_out: bool) -> dict[str, str]:
    """Which way a relation points; what is derived points neither way."""
    return {} if edge.type == DERIVED else {"direction": "out" if is_out else "in"}


# --- from nodes to others ---------------------------------------------------------------------------------------


def _answer_expansion(
    view: GraphView,
    request: GraphExpand | GraphParents | GraphChildren,
    found: NamedNodes,
    types: Types,
    direction: Direction,
    warnings: tuple[str, ...] = (),
) -> Answer:
    around = view.around(found.ids, request.hops, types, direction)
    links = links_towards_seeds(around, direction)

    def row(one: ReachedNode) -> dict[str, Any]:
        edges = links.get(one.node.id) or _find_links(view, around, one, types, direction)
        facts = {"distance": one.distance, **_link_facts(edges, one.node), "weight": weight_of(one.weight)}
        if len(found.nodes) == 1 and one.distance == 1:
            facts.pop("from_id", None)
        shown = select_evidence((edge, one.node) for edge in edges) or passages_of(view, one.node)
        return {**render_node(one.node), **facts, "section_ids": shown}

    others = [one for one in around.nodes if one.distance]
    facts = {**_count_others(around, found.nodes), "cut": around.cut, **found.facts}
    return build_page_answer(view, request, request.page_size, others, row, facts, (*found.warnings, *warnings))


def links_towards_seeds(around: Neighbourhood, direction: Direction) -> Mapping[str, Sequence[Edge]]:
    """For each node the relations through which it was reached, strongest first."""
    distances = {one.node.id: one.distance for one in around.nodes}
    links: dict[str, list[Edge]] = {}
    for edge in around.edges:
        step = distances[edge.target] - distances[edge.source]
        if step == 1 and direction != "in":
            links.setdefault(edge.target, []).append(edge)
        elif step == -1 and direction != "out":
            links.setdefault(edge.source, []).append(edge)
    return links


def _find_links(
    view: GraphView, around: Neighbourhood, one: ReachedNode, types: Types, direction: Direction
) -> list[Edge]:
    """The same for a node whose relations are not among the strongest of the neighbourhood."""
    nearer = [other.node.id for other in around.nodes if other.distance == one.distance - 1]
    found = view.store.paths(view.project, nearer, [one.node.id], 1, types, view.scope, MAX_PATHS)
    edges = [path.edges[0] for path in found.paths]
    points_here = {"out": (True,), "in": (False,), "both": (True, False)}[direction]
    return sorted(
        (edge for edge in edges if (edge.target == one.node.id) in points_here), key=lambda edge: -edge.weight
    )


def _link_facts(edges: Sequence[Edge], node: Node) -> dict[str, Any]:
    """The strongest of the relations through which a node was reached."""
    if not edges:
        return {}
    is_target = edges[0].target == node.id
    return {
        "relation": edges[0].type,
        **_direction_of(edges[0], is_out=is_target),
        "from_id": edges[0].source if is_target else edges[0].target,
        "confidence": round(edges[0].confidence, 3),
    }


def _count_others(around: Neighbourhood, seeds: Sequence[Node]) -> dict[str, Any]:
    """Of all that was reached, without the nodes that were asked about."""
    counts = dict(around.by_type)
    for node in seeds:
        counts[node.type] -= 1
    there = {type: count for type, count in counts.items() if count}
    return {"counts": most_frequent(there), "total": around.total - len(seeds)}


@dataclass(frozen=True, slots=True)
class _RelatedNode:
    """A node, and all its relations with the nodes that were asked about, strongest first."""

    node: Node
    edges: tuple[Edge, ...]

    @property
    def weight(self) -> float:
        """The relations added up."""
        return math.fsum(edge.weight for edge in self.edges)

    @property
    def targets(self) -> list[str]:
        """What the relations point at."""
        return sorted({edge.target for edge in self.edges})


def _answer_related(
    view: GraphView,
    request: EntitiesForSections | SectionsForEntities,
    found: NamedNodes,
    sources: Mapping[str, Node],
    direction: Direction,
    warnings: tuple[str, ...] = (),
) -> Answer:
    """The nodes at the other ends of what speaks of what, the relations of each added up."""
    related = _collect_related(view, list(sources), direction)
    has_several = direction == "in" and len(sources) > 1
    if has_several:
        related.sort(key=lambda one: -len(one.targets))

    def row(one: _RelatedNode) -> dict[str, Any]:
        shown = select_evidence((edge, sources.get(edge.source, one.node)) for edge in one.edges)
        facts = {"relation": one.edges[0].type, "weight": weight_of(one.weight)}
        asked = {"entity_ids": one.targets} if has_several else {}
        return {**render_node(one.node), **facts, **asked, "section_ids": shown or passages_of(view, one.node)}

    around = view.around(list(sources), 1, MENTION_TYPES, direction)
    counted = _count_others(around, list(sources.values()))
    kept = related[:MAX_NODES]
    facts = {**counted, "cut": counted["total"] - len(kept), **found.facts}
    return build_page_answer(view, request, request.page_size, kept, row, facts, (*found.warnings, *warnings))


def _collect_related(view: GraphView, sources: Sequence[str], direction: Direction) -> list[_RelatedNode]:
    """Who speaks of these or what these speak of, most strongly first, over the strongest relations."""
    nodes: dict[str, Node] = {}
    edges: dict[str, list[Edge]] = {}
    for offset in range(0, _MAX_EDGES_READ, MAX_NODES):
        part = view.store.neighbours(
            view.project, sources, direction, MENTION_TYPES, view.scope, MAX_NODES, offset
        )
        for row in part.rows:
            nodes[row.node.id] = row.node
            edges.setdefault(row.node.id, []).append(row.edge)
        if offset + MAX_NODES >= part.total:
            break
    asked = set(sources)
    related = [_RelatedNode(node, tuple(edges[id])) for id, node in nodes.items() if id not in asked]
    return sorted(related, key=lambda one: (-one.weight, one.node.title, one.node.id))
