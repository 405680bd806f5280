"""``graph.*``: expansion, outline, mentions and paths of nodes, each row with passages as evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from winnow.server.contracts.graph import (
    DEFAULT_PATHS,
    EntitiesForSections,
    GraphChildren,
    GraphDescribe,
    GraphExpand,
    GraphParents,
    GraphPaths,
    SectionsForEntities,
)
from winnow.server.operations.answers import budget
from winnow.server.operations.answers.paging import resume
from winnow.server.operations.base import Answer, RequestContext
from winnow.server.operations.graph.nodes import (
    MENTIONS_ONLY,
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
from winnow.server.retrieval.graph.base import (
    MAX_HOPS,
    MAX_NODES,
    MAX_PATHS,
    Direction,
    Neighbourhood,
    Path,
    ReachedNode,
    Types,
)
from winnow.server.retrieval.graph.records import DERIVED, Edge, Node

# The relations from documents, sections and chunks to the entities they mention.
MENTION_TYPES = frozenset({"MENTIONS", "DEFINES", "TAGGED", "ABOUT"})
_UP = frozenset({"PART_OF"})
_UNDIRECTED = frozenset({DERIVED, "SIMILAR", "CONTRADICTS"})
_MAX_EDGES_READ = 2_000  # the strongest edges, whose weights are added up: ten pages of a store
_SAME_ENDS = "from_ids and to_ids are the same nodes, so there is nothing between them"
_NO_PARENTS = (
    "entities are in no document's outline; graph_sections_for_entities leads to where they are mentioned"
)


def graph_describe(context: RequestContext, request: GraphDescribe) -> Answer:
    """Nodes with the number of their relations by type; without ids, counts for the whole graph."""
    view = view_of(context, request.scope, with_claims=True)
    if not request.ids:
        resume(request.cursor, request)
        return _describe_graph(view)
    named = resolve_nodes(view, request.ids)

    def row(node: Node) -> dict[str, Any]:
        counted = {f"edges_{direction}": counts for direction, counts in view.degrees(node).items() if counts}
        return {**render_node(node), **counted, "section_ids": passages_of(view, node)}

    warnings = (*named.warnings, *_mention_warnings(named.nodes, None))
    return build_page_answer(view, request, request.page_size, named.nodes, row, named.facts, warnings)


def graph_expand(context: RequestContext, request: GraphExpand) -> Answer:
    """The nodes within some hops of the given ones, by distance, then by weight."""
    view = view_of(context, request.scope, with_claims=True)
    named, types = resolve_nodes(view, request.ids), frozenset(request.types) or None
    return _answer_expansion(view, request, named, types, request.direction, _mention_warnings(named.nodes, types))


def graph_parents(context: RequestContext, request: GraphParents) -> Answer:
    """The sections and the document around a passage or section, innermost first."""
    return _answer_outline(context, request, "out")


def graph_children(context: RequestContext, request: GraphChildren) -> Answer:
    """The sections and passages of a document or section."""
    return _answer_outline(context, request, "in")


def graph_entities_for_sections(context: RequestContext, request: EntitiesForSections) -> Answer:
    """The entities that these sections mention, taken together, by weight."""
    view = view_of(context, request.scope)
    named = resolve_nodes(view, request.section_ids)
    below = view.around(named.ids, MAX_HOPS, _UP, "in")
    sources = {reached.node.id: reached.node for reached in below.nodes}
    cut = (f"{below.cut} of the passages below were not looked at; name smaller sections",) if below.cut else ()
    return _answer_related(view, request, named, sources, "out", cut)


def graph_sections_for_entities(context: RequestContext, request: SectionsForEntities) -> Answer:
    """The sections that mention these entities, by the number of entities, then by weight."""
    view = view_of(context, request.scope)
    named = resolve_nodes(view, request.entity_ids)
    return _answer_related(view, request, named, {node.id: node for node in named.nodes}, "in")


def graph_paths(context: RequestContext, request: GraphPaths) -> Answer:
    """The paths between nodes, shortest first, with evidence for every step."""
    view = view_of(context, request.scope, with_claims=True)
    sources, targets = resolve_nodes(view, request.from_ids), resolve_nodes(view, request.to_ids)
    types = frozenset(request.types) or None
    result = view.paths(sources.nodes, targets.nodes, request.max_hops, types, request.limit)
    missing = NamedNodes((), (*sources.missing, *targets.missing)).facts
    facts = {"total": len(result.paths), "complete": result.complete, **missing}
    same_ends = (_SAME_ENDS,) if set(targets.ids) <= set(sources.ids) else ()
    warnings = (*sources.warnings, *targets.warnings, *same_ends)
    return build_page_answer(
        view, request, request.limit, result.paths, _build_path_row, facts, warnings, DEFAULT_PATHS
    )


def _answer_outline(
    context: RequestContext, request: GraphParents | GraphChildren, direction: Direction
) -> Answer:
    view = view_of(context, request.scope, with_claims=True)
    named = resolve_nodes(view, request.ids)
    advice = (_NO_PARENTS,) if any(node.label == "Entity" for node in named.nodes) else ()
    return _answer_expansion(view, request, named, _UP, direction, advice)


def _describe_graph(view: GraphView) -> Answer:
    counts = view.store.counts(view.project, view.scope)
    payload: dict[str, Any] = {
        "graph": {
            "labels": {**counts.labels, **view.count_claims()},
            "entity_types": most_frequent(counts.entity_types),
            "relations": dict(counts.edge_types),
        },
        "results": [],
        "next_cursor": None,
        "partial": False,
        "limit_reason": "none",
    }
    has_mentions = bool(MENTION_TYPES & counts.edge_types.keys())
    warnings = (MENTIONS_ONLY,) if has_mentions else ()
    return Answer(payload, "metadata", 1, budget.measure(payload).tokens, warnings)


def _mention_warnings(nodes: Sequence[Node], types: Types) -> tuple[str, ...]:
    """The warning of an answer that counts where entities are mentioned."""
    has_entities = any(node.label == "Entity" for node in nodes)
    return (MENTIONS_ONLY,) if has_entities and (types is None or types & MENTION_TYPES) else ()


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
    """The direction of a relation; empty for those that have none."""
    return {} if edge.type in _UNDIRECTED else {"direction": "out" if is_out else "in"}


# --- from nodes to others ---------------------------------------------------------------------------------------


def _answer_expansion(
    view: GraphView,
    request: GraphExpand | GraphParents | GraphChildren,
    named: NamedNodes,
    types: Types,
    direction: Direction,
    warnings: tuple[str, ...] = (),
) -> Answer:
    around = view.around(named.ids, request.hops, types, direction)
    links = links_towards_seeds(around, direction)

    def row(reached: ReachedNode) -> dict[str, Any]:
        edges = links.get(reached.node.id) or _find_links(view, around, reached, types, direction)
        facts = {
            "distance": reached.distance,
            **_link_facts(edges, reached.node),
            "weight": weight_of(reached.weight),
        }
        if len(named.nodes) == 1 and reached.distance == 1:
            facts.pop("from_id", None)
        evidence = select_evidence((edge, reached.node) for edge in edges) or passages_of(view, reached.node)
        return {**render_node(reached.node), **facts, "section_ids": evidence}

    others = [reached for reached in around.nodes if reached.distance]
    facts = {**_count_others(around, named.nodes), "cut": around.cut, **named.facts}
    return build_page_answer(view, request, request.page_size, others, row, facts, (*named.warnings, *warnings))


def links_towards_seeds(around: Neighbourhood, direction: Direction) -> Mapping[str, Sequence[Edge]]:
    """For each node, the relations through which it was reached, strongest first."""
    distances = {reached.node.id: reached.distance for reached in around.nodes}
    links: dict[str, list[Edge]] = {}
    for edge in around.edges:
        step = distances[edge.target] - distances[edge.source]
        if step == 1 and direction != "in":
            links.setdefault(edge.target, []).append(edge)
        elif step == -1 and direction != "out":
            links.setdefault(edge.source, []).append(edge)
    return links


def _find_links(
    view: GraphView, around: Neighbourhood, reached: ReachedNode, types: Types, direction: Direction
) -> list[Edge]:
    """The links of a node whose relations are not among the strongest of the neighbourhood."""
    nearer = [other.node for other in around.nodes if other.distance == reached.distance - 1]
    result = view.paths(nearer, [reached.node], 1, types, MAX_PATHS)
    edges = [path.edges[0] for path in result.paths]
    points_here = {"out": (True,), "in": (False,), "both": (True, False)}[direction]
    return sorted(
        (edge for edge in edges if (edge.target == reached.node.id) in points_here), key=lambda edge: -edge.weight
    )


def _link_facts(edges: Sequence[Edge], node: Node) -> dict[str, Any]:
    """The fields of a row about the strongest relation through which a node was reached."""
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
    """The counts by type and the total of the reached nodes, without the seeds."""
    counts = dict(around.by_type)
    for node in seeds:
        counts[node.type] -= 1
    remaining = {type: count for type, count in counts.items() if count}
    return {"counts": most_frequent(remaining), "total": around.total - len(seeds)}


@dataclass(frozen=True, slots=True)
class _RelatedNode:
    """A node, and all its relations with the given nodes, strongest first."""

    node: Node
    edges: tuple[Edge, ...]

    @property
    def weight(self) -> float:
        """The sum of the relations' weights."""
        return math.fsum(edge.weight for edge in self.edges)

    @property
    def targets(self) -> list[str]:
        """The ids of the nodes that the relations point at."""
        return sorted({edge.target for edge in self.edges})


def _answer_related(
    view: GraphView,
    request: EntitiesForSections | SectionsForEntities,
    named: NamedNodes,
    sources: Mapping[str, Node],
    direction: Direction,
    warnings: tuple[str, ...] = (),
) -> Answer:
    """Answer with the nodes at the other end of the mentions of ``sources``, by the sum of weights."""
    related = _collect_related(view, list(sources), direction)
    has_several = direction == "in" and len(sources) > 1
    if has_several:
        related.sort(key=lambda item: -len(item.targets))

    def row(item: _RelatedNode) -> dict[str, Any]:
        evidence = select_evidence((edge, sources.get(edge.source, item.node)) for edge in item.edges)
        facts = {"relation": item.edges[0].type, "weight": weight_of(item.weight)}
        asked = {"entity_ids": item.targets} if has_several else {}
        return {
            **render_node(item.node),
            **facts,
            **asked,
            "section_ids": evidence or passages_of(view, item.node),
        }

    around = view.around(list(sources), 1, MENTION_TYPES, direction)
    counted = _count_others(around, list(sources.values()))
    kept = related[:MAX_NODES]
    facts = {**counted, "cut": counted["total"] - len(kept), **named.facts}
    all_warnings = (*named.warnings, *warnings, MENTIONS_ONLY)
    return build_page_answer(view, request, request.page_size, kept, row, facts, all_warnings)


def _collect_related(view: GraphView, sources: Sequence[str], direction: Direction) -> list[_RelatedNode]:
    """The nodes that mention ``sources``, or that they mention, by weight, over the strongest relations."""
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
    return sorted(related, key=lambda item: (-item.weight, item.node.title, item.node.id))
