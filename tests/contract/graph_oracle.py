"""A reference implementation of a graph store's answers, with dictionaries, loops and networkx."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import log2
from typing import Any

import networkx as nx

from winnow.server.retrieval.graph.base import (
    Counts,
    Degree,
    Direction,
    Neighbour,
    Neighbourhood,
    NodeMatch,
    NodePage,
    Path,
    Paths,
    ReachedNode,
    Scope,
    Types,
)
from winnow.server.retrieval.graph.records import (
    EDGE_TYPES,
    LABELS,
    MAX_EVIDENCE,
    DocumentGraph,
    Edge,
    Node,
    entity_type_order,
    normalise_name,
)

Key = tuple[str, str, str]


@dataclass(frozen=True)
class Oracle:
    """A project's graph within a scope."""

    nodes: Mapping[str, Node]
    edges: Mapping[Key, Edge]
    titles: frozenset[tuple[str, str]]

    def degrees(self, id: str) -> list[Degree]:
        found = []
        for type in EDGE_TYPES:
            out = sum(edge.type == type and edge.source == id for edge in self.edges.values())
            into = sum(edge.type == type and edge.target == id for edge in self.edges.values())
            found += [Degree(type, "out", out)] * bool(out) + [Degree(type, "in", into)] * bool(into)
        return found

    def counts(self) -> Counts:
        labels = Counter(node.label for node in self.nodes.values())
        kinds = Counter(node.type for node in self.nodes.values() if node.label == "Entity")
        types = Counter(edge.type for edge in self.edges.values())
        return Counts(
            {label: labels[label] for label in LABELS if labels[label]},
            dict(sorted(kinds.items())),
            {type: types[type] for type in EDGE_TYPES if types[type]},
        )

    def find(self, name: str, types: Types, limit: int) -> list[NodeMatch]:
        wanted = normalise_name(name)
        if not wanted:
            return []
        named = {id: title for title, id in self.titles if title.startswith(wanted)}
        exact = {id for title, id in self.titles if title == wanted}
        aliased = {e.target for e in self.edges.values() if e.type == "ALIAS_OF" and e.source in exact} - exact
        prefix = named.keys() - exact - aliased
        kinds: Sequence[tuple[Any, Iterable[str]]] = (("name", exact), ("alias", aliased), ("prefix", prefix))
        matches = [NodeMatch(self.nodes[id], how) for how, ids in kinds for id in self._by_title(ids)]
        return [match for match in matches if types is None or match.node.type in types][:limit]

    def neighbours(
        self, ids: Sequence[str], direction: Direction, types: Types, limit: int, offset: int
    ) -> NodePage:
        rows = []
        for id in {id for id in ids if id in self.nodes}:
            for edge in self._touching(id, direction, types):
                other = edge.target if edge.source == id else edge.source
                rows.append(Neighbour(self.nodes[other], edge))
        rows.sort(
            key=lambda row: (
                -row.edge.weight,
                row.node.title,
                row.node.id,
                EDGE_TYPES.index(row.edge.type),
                row.edge.source,
                row.edge.target,
            )
        )
        return NodePage(tuple(rows[offset : offset + limit]), len(rows))

    def expand(
        self, ids: Sequence[str], hops: int, types: Types, direction: Direction, limit: int
    ) -> Neighbourhood:
        seeds = {id for id in ids if id in self.nodes}
        graph = self._networkx(direction, types)
        graph.add_node("start")
        graph.add_edges_from(("start", id) for id in seeds)
        distances = nx.single_source_shortest_path_length(graph, "start", hops + 1)
        reached = {id: distance - 1 for id, distance in distances.items() if id != "start"}
        found = [
            ReachedNode(self.nodes[id], at, self._weight(id, reached, direction, types))
            for id, at in reached.items()
        ]
        found.sort(key=lambda each: (each.distance, -each.weight, each.node.title, each.node.id))
        shown = {each.node.id for each in found[:limit]}
        among = [e for e in self.edges.values() if {e.source, e.target} <= shown and _is_of(e, types)]
        among.sort(key=lambda e: (-e.weight, EDGE_TYPES.index(e.type), e.source, e.target))
        kinds = Counter(each.node.type for each in found)
        return Neighbourhood(tuple(found[:limit]), tuple(among), len(found), dict(kinds), len(among))

    def paths(self, sources: Sequence[str], targets: Sequence[str], hops: int, types: Types, limit: int) -> Paths:
        starts = {id for id in sources if id in self.nodes}
        ends = {id for id in targets if id in self.nodes} - starts
        graph = nx.Graph(self._networkx("both", types))
        found: list[list[str]] = []
        for start in starts:
            usable = graph.copy()
            usable.remove_nodes_from(starts - {start})
            usable.add_node(start)
            for way in nx.all_simple_paths(usable, start, ends, cutoff=hops):
                if ends.isdisjoint(way[1:-1]) and len(way) > 1:
                    found.append(way)
        found.sort(key=lambda way: (len(way), *self._steps(way, types)))
        return Paths(tuple(self._path(way, types) for way in found[:limit]), len(found) <= limit)

    def ranks(self, seeds: Mapping[str, float], types: Types, damping: float) -> dict[str, float]:
        known = {id: share for id, share in seeds.items() if id in self.nodes}
        if not known:
            return dict.fromkeys(self.nodes, 0.0)
        graph = nx.DiGraph()
        graph.add_nodes_from(self.nodes)
        for edge in self.edges.values():
            if _is_of(edge, types) and edge.weight:
                for one, other in {(edge.source, edge.target), (edge.target, edge.source)}:
                    before = graph.edges[one, other]["weight"] if graph.has_edge(one, other) else 0.0
                    graph.add_edge(one, other, weight=before + edge.weight)
        scores: dict[str, float] = nx.pagerank(graph, damping, known, tol=1e-12, max_iter=1000)
        return scores

    def _touching(self, id: str, direction: Direction, types: Types) -> list[Edge]:
        return [
            edge
            for edge in self.edges.values()
            if _is_of(edge, types)
            and ((direction != "in" and edge.source == id) or (direction != "out" and edge.target == id))
        ]

    def _networkx(self, direction: Direction, types: Types) -> Any:
        graph = nx.DiGraph()
        graph.add_nodes_from(self.nodes)
        for edge in self.edges.values():
            if _is_of(edge, types):
                if direction != "in":
                    graph.add_edge(edge.source, edge.target)
                if direction != "out":
                    graph.add_edge(edge.target, edge.source)
        return graph

    def _weight(self, id: str, distances: Mapping[str, int], direction: Direction, types: Types) -> float:
        if not distances[id]:
            return 0.0
        towards: Mapping[Direction, Direction] = {"out": "in", "in": "out", "both": "both"}
        return max(
            edge.weight
            for edge in self._touching(id, towards[direction], types)
            if distances.get(edge.source if edge.target == id else edge.target) == distances[id] - 1
        )

    def _strongest(self, one: str, other: str, types: Types) -> Edge:
        between = [e for e in self._touching(one, "both", types) if {e.source, e.target} == {one, other}]
        return min(between, key=lambda e: (-e.weight, EDGE_TYPES.index(e.type), e.source != one))

    def _steps(self, way: Sequence[str], types: Types) -> list[tuple[float, str, str]]:
        first = self.nodes[way[0]]
        steps = [(0.0, first.title, first.id)]
        for one, other in pairwise(way):
            steps.append((-self._strongest(one, other, types).weight, self.nodes[other].title, other))
        return steps

    def _path(self, way: Sequence[str], types: Types) -> Path:
        edges = tuple(self._strongest(one, other, types) for one, other in pairwise(way))
        return Path(tuple(self.nodes[id] for id in way), edges)

    def _by_title(self, ids: Iterable[str]) -> list[str]:
        return sorted(ids, key=lambda id: (self.nodes[id].title, id))


def oracle(graphs: Sequence[DocumentGraph], scope: Scope) -> Oracle:
    """The graph built by the rules of ``server.retrieval.graph.base``, derived edges included."""
    in_scope = sorted((g for g in graphs if scope is None or g.document_id in scope), key=_place)
    given: dict[str, list[Node]] = {}
    for graph in in_scope:
        for node in graph.nodes:
            given.setdefault(node.id, []).append(node)
    chunks = {id for id, nodes in given.items() if nodes[0].label == "Chunk"}
    said = [edge for graph in in_scope for edge in _heaviest(graph.edges)]
    said += [edge for edge in derive_edges(graphs) if scope is None or not chunks.isdisjoint(edge.evidence)]
    merged: dict[Key, list[Edge]] = {}
    for edge in said:
        if edge.source in given and edge.target in given:
            merged.setdefault((edge.source, edge.target, edge.type), []).append(edge)
    edges = {key: _merge(same, chunks) for key, same in merged.items()}
    touched = {end for source, target, _ in edges for end in (source, target)}
    nodes = {id: _resolve(those) for id, those in given.items() if those[0].label != "Entity" or id in touched}
    titles = {(normalise_name(n.title), n.id) for id in nodes for n in given[id] if n.label != "Chunk"}
    return Oracle(nodes, edges, frozenset(titles))


def derive_edges(graphs: Sequence[DocumentGraph]) -> list[Edge]:
    """Entities that share two chunks or more, by positive mutual information, discounted."""
    chunks = {node.id for graph in graphs for node in graph.nodes if node.label == "Chunk"}
    weights: dict[tuple[str, str], float] = {}
    for graph in graphs:
        for edge in _heaviest(graph.edges):
            if edge.type == "MENTIONS" and edge.source in chunks:
                key = edge.source, edge.target
                weights[key] = max(weights.get(key, 0.0), edge.weight)
    mentioned: dict[str, list[str]] = {}
    for chunk, entity in sorted(weights):
        mentioned.setdefault(chunk, []).append(entity)
    seen = Counter(entity for entities in mentioned.values() for entity in entities)
    shared: dict[tuple[str, str], list[str]] = {}
    for chunk, entities in mentioned.items():
        for pair in combinations(entities, 2):
            shared.setdefault(pair, []).append(chunk)
    found = []
    for (one, other), where in shared.items():
        least = min(seen[one], seen[other])
        discount = len(where) / (len(where) + 1) * (least / (least + 1))
        bits = round(log2(len(chunks) * len(where) / (seen[one] * seen[other])) * discount, 3)
        if len(where) > 1 and bits > 0:
            where.sort(
                key=lambda chunk, one=one, other=other: (-min(weights[chunk, one], weights[chunk, other]), chunk)
            )
            sure = round(len(where) / least, 3)
            found.append(Edge(one, other, "CO_OCCURS", bits, sure, tuple(where[:MAX_EVIDENCE])))
    return found


def _place(graph: DocumentGraph) -> tuple[str, str]:
    return next((n.anchor for n in graph.nodes if n.id == graph.document_id), ""), graph.document_id


def _heaviest(edges: Iterable[Edge]) -> list[Edge]:
    kept: dict[Key, Edge] = {}
    for edge in edges:
        key = edge.source, edge.target, edge.type
        if key not in kept or edge.weight > kept[key].weight:
            kept[key] = edge
    return list(kept.values())


def _merge(same: Sequence[Edge], chunks: set[str]) -> Edge:
    """The edges of several documents, by uri, as one."""
    heavier = sorted(same, key=lambda edge: -edge.weight)
    shown = [chunk for edge in heavier for chunk in edge.evidence if chunk in chunks]
    says = {edge.document_id for edge in same}
    return replace(
        heavier[0],
        confidence=max(edge.confidence for edge in same),
        evidence=tuple(shown[:MAX_EVIDENCE]),
        document_id=says.pop() if len(says) == 1 else "",
    )


def _resolve(given: Sequence[Node]) -> Node:
    return replace(given[0], type=min((node.type for node in given), key=entity_type_order))


def _is_of(edge: Edge, types: Types) -> bool:
    return types is None or edge.type in types
