"""Simple paths between two sets of nodes: breadth-first search from both, then depth-first enumeration. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

from winnow.server.retrieval.graph.base import Path, Paths, Types
from winnow.server.retrieval.graph.csr_graph import Graph, Ints
from winnow.server.runtime.deadlines import check_deadline

# Nodes that a search may step on: about a second where no step leads to a target.
_MAX_STEPS = 20_000
# Steps between two looks at the deadline: a few milliseconds.
_STEPS_PER_CHECK = 100


def paths(
    graph: Graph, sources: Sequence[str], targets: Sequence[str], max_hops: int, types: Types, limit: int
) -> Paths:
    """See ``GraphStore.paths``."""
    starts = graph.positions_of(sources)
    ends = np.setdiff1d(graph.positions_of(targets), starts)
    if not len(starts) or not len(ends):
        return Paths((), True)
    search = _PathSearch(graph, starts, ends, types)
    by_length = (path for hops in range(1, max_hops + 1) for path in search.paths_of_length(hops))
    first = list(islice(by_length, limit + 1))
    is_complete = len(first) <= limit and search.steps < _MAX_STEPS
    return Paths(tuple(search.path_record(path) for path in first[:limit]), is_complete)


class _PathSearch:
    """Paths between two sets of nodes, by length. A search grows from either set, the cheaper one first."""

    def __init__(self, graph: Graph, starts: Ints, ends: Ints, types: Types) -> None:
        self.steps = 0
        self._have_met = False
        self._graph = graph
        self._types = types
        self._starts = starts[np.argsort(graph.title_rank[starts])]
        self._forward = _BreadthFirst(graph, starts, ends, types)
        self._backward = _BreadthFirst(graph, ends, starts, types)

    def paths_of_length(self, hops: int) -> Iterator[list[int]]:
        """All paths of this many hops, in the order that ``GraphStore.paths`` promises."""
        while self._forward.radius + self._backward.radius < hops:
            cheaper, other = sorted((self._forward, self._backward), key=lambda search: search.cost)
            self._have_met |= bool(np.any(other.distance[cheaper.grow()] >= 0))
        if not self._have_met:
            return
        remaining = self._remaining_hops(hops)
        for start in self._starts.tolist():
            if 0 <= remaining[start] <= hops:
                yield from self._extend([start], hops, remaining)

    def path_record(self, path: Sequence[int]) -> Path:
        """The nodes and the strongest edges along a path."""
        edges = [self._strongest_edge(node, following) for node, following in pairwise(path)]
        nodes = [self._graph.nodes[node] for node in path]
        return Path(tuple(nodes), tuple(self._graph.edge_records(np.array(edges, np.int64))))

    def _remaining_hops(self, hops: int) -> NDArray[np.int8]:
        """Hops from each node to an end: exact wherever a path of ``hops`` may pass, -1 or too far elsewhere."""
        from_start, remaining = self._forward.distance, self._backward.distance.copy()
        level = self._backward.radius
        frontier = np.flatnonzero(remaining == level)
        while level < hops and len(frontier):
            level += 1
            nodes = self._graph.rows.neighbour[self._graph.select_entries(frontier, "both", self._types)]
            is_new, is_near = remaining[nodes] < 0, (from_start[nodes] >= 0) & (from_start[nodes] <= hops - level)
            frontier = np.unique(nodes[is_new & is_near])
            remaining[frontier] = level
        return remaining

    def _extend(self, path: list[int], hops: int, remaining: NDArray[np.int8]) -> Iterator[list[int]]:
        if hops == 0:
            yield path
            return
        if self.steps >= _MAX_STEPS:
            return
        if self.steps % _STEPS_PER_CHECK == 0:
            check_deadline()
        self.steps += 1
        entries = self._graph.select_entries(np.array([path[-1]]), "both", self._types)
        nodes = self._graph.rows.neighbour[entries]
        left = remaining[nodes]
        # an end is only where a path ends, a start only where it starts
        fits = left == 0 if hops == 1 else (left > 0) & (left < hops)
        fits &= self._forward.distance[nodes] != 0
        for node in dict.fromkeys(nodes[fits].tolist()):
            if node not in path:
                yield from self._extend([*path, node], hops - 1, remaining)

    def _strongest_edge(self, node: int, following: int) -> int:
        """The position of the strongest edge between two nodes."""
        rows = self._graph.rows
        entries = self._graph.select_entries(np.array([node]), "both", self._types)
        return int(rows.edge[entries[np.argmax(rows.neighbour[entries] == following)]])


class _BreadthFirst:
    """Distances from ``centre``, as far as they are known. The search does not pass through ``barrier``."""

    def __init__(self, graph: Graph, centre: Ints, barrier: Ints, types: Types) -> None:
        self.distance = np.full(len(graph.nodes), -1, np.int8)
        self.distance[centre] = 0
        self.radius = 0
        self._graph = graph
        self._types = types
        self._barrier = barrier
        self._frontier = centre

    @property
    def cost(self) -> int:
        """The number of entries that the next ``grow`` reads."""
        start = self._graph.rows.start
        return int((start[self._frontier + 1] - start[self._frontier]).sum())

    def grow(self) -> Ints:
        """Grow by one hop; returns the nodes reached."""
        check_deadline()
        self.radius += 1
        nodes = self._graph.rows.neighbour[self._graph.select_entries(self._frontier, "both", self._types)]
        reached = np.unique(nodes[self.distance[nodes] < 0])
        self.distance[reached] = self.radius
        self._frontier = reached[~np.isin(reached, self._barrier)]
        return reached
