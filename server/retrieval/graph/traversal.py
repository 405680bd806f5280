"""Lookups in a graph in memory, as ``GraphStore`` describes them: neighbours, expansion, names, counts. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import islice
from typing import Literal

import numpy as np

from winnow.server.retrieval.graph.base import (
    MAX_EDGES,
    Counts,
    Degree,
    Direction,
    Neighbour,
    Neighbourhood,
    NodeMatch,
    NodePage,
    ReachedNode,
    Types,
)
from winnow.server.retrieval.graph.csr_graph import Graph, Ints
from winnow.server.retrieval.graph.records import EDGE_TYPES, LABELS, TITLE_CHARS, Edge, is_text, normalise_name
from winnow.server.runtime.deadlines import check_deadline


def neighbours(
    graph: Graph, ids: Sequence[str], direction: Direction, types: Types, limit: int, offset: int
) -> NodePage:
    """See ``GraphStore.neighbours``."""
    positions = graph.positions_of(ids)
    if not len(positions):
        return NodePage((), 0)
    entries = graph.select_entries(positions, direction, types)
    rows = graph.rows
    if len(positions) > 1:
        edge = rows.edge[entries]
        source, target = graph.edges.source[edge], graph.edges.target[edge]
        entries = entries[np.lexsort((target, source, rows.type[entries], rows.sort_key[entries]))]
    page = entries[offset : offset + limit]
    ends = zip(rows.neighbour[page].tolist(), graph.edge_records(rows.edge[page]), strict=True)
    return NodePage(tuple([Neighbour(graph.nodes[end], edge) for end, edge in ends]), len(entries))


def expand(
    graph: Graph, ids: Sequence[str], hops: int, types: Types, direction: Direction, limit: int
) -> Neighbourhood:
    """See ``GraphStore.expand``: breadth-first search."""
    rows = graph.rows
    seeds = graph.positions_of(ids)
    is_reached = np.zeros(len(graph.nodes), np.bool_)
    is_reached[seeds] = True
    levels = [(seeds, np.full(len(seeds), -1))]
    for _ in range(hops):
        check_deadline()
        entries = graph.select_entries(levels[-1][0], direction, types)
        entries = entries[~is_reached[rows.neighbour[entries]]]
        if not len(entries):
            break
        levels.append(_strongest(rows.neighbour[entries], rows.weight_rank[entries]))
        is_reached[levels[-1][0]] = True
    first = _first_nodes(graph, levels, limit)
    among, edges_total = _edges_among(graph, np.array([node for node, _, _ in first], np.int64), types)
    names, codes = graph.node_types
    reached = np.concatenate([nodes for nodes, _ in levels])
    counts = np.bincount(codes[reached], minlength=len(names))
    return Neighbourhood(
        tuple(ReachedNode(graph.nodes[node], distance, weight) for node, distance, weight in first),
        among,
        len(reached),
        {name: int(count) for name, count in zip(names, counts, strict=True) if count},
        edges_total,
    )


def _strongest(nodes: Ints, weight_rank: Ints) -> tuple[Ints, Ints]:
    """Each of ``nodes`` once, with the least rank of weight that comes with it."""
    order = np.argsort(nodes, kind="stable")
    nodes = nodes[order]
    first = np.flatnonzero(np.diff(nodes, prepend=-1))
    return nodes[first], np.minimum.reduceat(weight_rank[order], first)


def _first_nodes(graph: Graph, levels: Sequence[tuple[Ints, Ints]], limit: int) -> list[tuple[int, int, float]]:
    """The first ``limit`` of (node, distance, weight): nearest, then heaviest, then by title and id."""
    first: list[tuple[int, int, float]] = []
    for distance, (nodes, weight_rank) in enumerate(levels):
        room = limit - len(first)
        if room <= 0:
            break
        key = weight_rank * len(graph.nodes) + graph.title_rank[nodes]
        best = np.argpartition(key, room - 1)[:room] if len(key) > room else np.arange(len(key))
        best = best[np.argsort(key[best])]
        first += [
            (int(nodes[i]), distance, float(graph.rows.weights[weight_rank[i]]) if distance else 0.0) for i in best
        ]
    return first


def _edges_among(graph: Graph, nodes: Ints, types: Types) -> tuple[tuple[Edge, ...], int]:
    rows = graph.rows
    is_inside = np.zeros(len(graph.nodes), np.bool_)
    is_inside[nodes] = True
    entries = graph.select_entries(nodes, "out", types)
    entries = entries[is_inside[rows.neighbour[entries]]]
    edge, edges = rows.edge[entries], graph.edges
    order = np.lexsort((edges.target[edge], edges.source[edge], rows.type[entries], rows.weight_rank[entries]))
    return tuple(graph.edge_records(edge[order[:MAX_EDGES]])), len(entries)


def find(graph: Graph, name: str, types: Types, limit: int) -> list[NodeMatch]:
    """See ``GraphStore.find``."""
    wanted = normalise_name(name) if is_text(name, TITLE_CHARS) else ""
    if not wanted:
        return []
    prefixed = _names_with_prefix(graph, wanted)
    exact = [position for title, position in prefixed if title == wanted]
    entries = graph.select_entries(np.unique(np.array(exact, np.int64)), "out", frozenset({"ALIAS_OF"}))
    kinds: Sequence[tuple[Literal["name", "alias", "prefix"], list[int]]] = (
        ("name", exact),
        ("alias", graph.rows.neighbour[entries].tolist()),
        ("prefix", [position for _, position in prefixed]),
    )
    matches: dict[int, NodeMatch] = {}
    for kind, positions in kinds:
        for position in sorted(positions, key=graph.title_rank.__getitem__):
            if types is None or graph.nodes[position].type in types:
                matches.setdefault(position, NodeMatch(graph.nodes[position], kind))
    return list(islice(matches.values(), limit))


def _names_with_prefix(graph: Graph, prefix: str) -> list[tuple[str, int]]:
    names = []
    for title, position in islice(graph.names, bisect_left(graph.names, (prefix, -1)), None):
        if not title.startswith(prefix):
            break
        names.append((title, position))
    return names


def counts(graph: Graph) -> Counts:
    """See ``GraphStore.counts``."""
    labels = dict.fromkeys(LABELS, 0)
    entity_types: dict[str, int] = {}
    for node in graph.nodes:
        labels[node.label] += 1
        if node.label == "Entity":
            entity_types[node.type] = entity_types.get(node.type, 0) + 1
    edges = np.bincount(graph.edges.type, minlength=len(EDGE_TYPES)).tolist()
    return Counts(
        {label: count for label, count in labels.items() if count},
        dict(sorted(entity_types.items())),
        {type: count for type, count in zip(EDGE_TYPES, edges, strict=True) if count},
    )


def degrees(graph: Graph, id: str) -> list[Degree]:
    """See ``GraphStore.degrees``."""
    position = graph.positions_of([id])
    directions: Sequence[Literal["out", "in"]] = ("out", "in")
    by_direction = {}
    for direction in directions:
        codes = (
            graph.rows.type[graph.select_entries(position, direction, None)]
            if len(position)
            else np.zeros(0, np.uint8)
        )
        by_direction[direction] = np.bincount(codes, minlength=len(EDGE_TYPES)).tolist()
    return [
        Degree(type, direction, count)
        for code, type in enumerate(EDGE_TYPES)
        for direction in directions
        if (count := by_direction[direction][code])
    ]
