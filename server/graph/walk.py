"""Traversal of a graph in memory: one compressed row of edges for each node, strongest first. Pure.

Theory of operation. Nodes are numbered by id, so that the order of numbers is the order of ids. Every edge stands
in the rows of both its ends, marked with its direction. A row is sorted by (-weight, title, id) of what is at the
other end, then type, source, target, so that most answers are slices. Weights are compared by their rank among all
weights (0 is the heaviest) and titles by theirs: one integer orders a row, and nothing is ever rounded.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from server.graph.base import (
    MAX_EDGES,
    Counts,
    Degree,
    Direction,
    Neighbour,
    Neighbourhood,
    NodeMatch,
    NodePage,
    NodeRank,
    Path,
    Paths,
    ReachedNode,
    Types,
)
from server.graph.records import EDGE_TYPES, LABELS, TITLE_CHARS, Edge, Node, is_text, normalised
from server.runtime.deadlines import check

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Codes = NDArray[np.uint8]

# A step goes on from the nodes to which most came, as many as this or equal to the last of them, and from none to
# which less than this share of the whole came: where a walk of a search has spread to more, it says little.
_WIDEST = 200
_NEGLIGIBLE = 1e-5
_DIGITS = 9
# Choices of edge types whose steps are kept: searches walk over one.
_STEPS_KEPT = 2
# Nodes that a search for paths may step on: about a second where none of them leads anywhere.
_STEPS = 20_000
# So many of them take a few milliseconds: then it is seen whether anybody still waits.
_LOOK = 100
_CODES: Mapping[str, int] = {type: code for code, type in enumerate(EDGE_TYPES)}


@dataclass(frozen=True, slots=True)
class EdgeColumns:
    """Edges as parallel arrays. ``source`` and ``target`` are positions in a list of nodes.

    ``type`` indexes ``EDGE_TYPES``; ``owner`` indexes a list of document ids, -1 for none or several. The evidence
    of edge i is ``evidence[bounds[i]:bounds[i + 1]]``, positions of chunks.
    """

    source: Ints
    target: Ints
    type: Codes
    weight: Floats
    confidence: Floats
    owner: Ints
    evidence: Ints
    bounds: Ints


@dataclass(frozen=True)
class Graph:
    """``nodes`` by id, the edges among them (no two agree in source, target and type), and who says them."""

    nodes: Sequence[Node]
    edges: EdgeColumns
    documents: Sequence[str] = ()
    # further titles that find a node, with its position
    titles: Sequence[tuple[str, int]] = field(default=())

    @cached_property
    def positions(self) -> dict[str, int]:
        """Where each id is among the nodes."""
        return {node.id: at for at, node in enumerate(self.nodes)}

    @cached_property
    def title_rank(self) -> Ints:
        """The place of each node in the order of (title, id)."""
        titles = [node.title for node in self.nodes]
        rank = np.empty(len(titles), np.int64)
        rank[sorted(range(len(titles)), key=titles.__getitem__)] = np.arange(len(titles))
        return rank

    @cached_property
    def rows(self) -> EdgeRows:
        """The edges, row by row."""
        return _rows(self)

    @cached_property
    def names(self) -> list[tuple[str, int]]:
        """Every normalised title with its node, in order; chunks are not found by name."""
        own = [(node.title, at) for at, node in enumerate(self.nodes) if node.label != "Chunk"]
        return sorted({(normalised(title), at) for title, at in (*own, *self.titles)})

    @cached_property
    def node_types(self) -> tuple[list[str], Ints]:
        """The types of nodes that occur, and the place in that list of each node's."""
        types = sorted({node.type for node in self.nodes})
        place = {type: at for at, type in enumerate(types)}
        return types, np.fromiter((place[node.type] for node in self.nodes), np.int64, len(self.nodes))

    @cached_property
    def owned(self) -> Flags:
        """Which nodes a document owns: entities belong to all that name them."""
        return np.fromiter((bool(node.document_id) for node in self.nodes), np.bool_, len(self.nodes))

    def steps(self, types: Types) -> Transitions:
        """How a walk over edges of these types goes on."""
        known = self._steps.get(types)
        if known is None:
            known = self._steps[types] = _steps(self, types)
            while len(self._steps) > _STEPS_KEPT:
                self._steps.pop(next(iter(self._steps)), None)
        return known

    @cached_property
    def _steps(self) -> dict[Types, Transitions]:
        return {}

    def records(self, at: Ints) -> list[Edge]:
        """The edges at these positions, as records."""
        edges, nodes = self.edges, self.nodes
        start = edges.bounds[at]
        shown = (edges.bounds[at + 1] - start).tolist()
        chunks = iter(edges.evidence[slices(start, edges.bounds[at + 1] - start)].tolist())
        columns = (edges.source, edges.target, edges.type, edges.weight, edges.confidence, edges.owner)
        rows = zip(*(column[at].tolist() for column in columns), shown, strict=True)
        return [
            Edge(
                nodes[source].id,
                nodes[target].id,
                EDGE_TYPES[type],
                weight,
                confidence,
                tuple([nodes[chunk].id for chunk in islice(chunks, proofs)]),
                self.documents[owner] if owner >= 0 else "",
            )
            for source, target, type, weight, confidence, owner, proofs in rows
        ]

    def where(self, ids: Sequence[str]) -> Ints:
        """The positions of those of these ids that exist, each once, in the order of ids."""
        found = {at for id in ids if (at := self.positions.get(id)) is not None}
        return np.array(sorted(found), np.int64)


@dataclass(frozen=True, slots=True)
class EdgeRows:
    """Row i is ``[start[i], start[i + 1])`` of the rest: i, the other end, the edge, does it leave i, how heavy.

    ``heavy`` is the rank of the edge's weight among ``weights``, heaviest first; ``key`` orders entries of any
    rows by (-weight, title, id).
    """

    weights: Floats
    start: Ints
    here: Ints
    other: Ints
    edge: Ints
    leaves: Flags
    type: Codes
    heavy: Ints
    key: Ints


def _rows(graph: Graph) -> EdgeRows:
    edges, size = graph.edges, len(graph.nodes)
    heaviest, rank = np.unique(-edges.weight, return_inverse=True)
    back = np.flatnonzero(edges.source != edges.target)  # a loop has one end
    edge = np.concatenate([np.arange(len(edges.source)), back])
    here = np.concatenate([edges.source, edges.target[back]])
    other = np.concatenate([edges.target, edges.source[back]])
    leaves = np.arange(len(edge)) < len(edges.source)
    key = rank[edge] * size + graph.title_rank[other]
    order = _ordered(
        here, key, np.where(leaves, 0, 1) + 2 * edges.type[edge].astype(np.int64), len(heaviest) * size
    )
    start = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(here, minlength=size), out=start[1:])
    edge = edge[order]
    return EdgeRows(
        -heaviest, start, here[order], other[order], edge, leaves[order], edges.type[edge], rank[edge], key[order]
    )


def _ordered(row: Ints, key: Ints, last: Ints, keys: int) -> Ints:
    """The order by (row, key, last), as one sort of one integer where they fit into it."""
    lasts = 2 * len(EDGE_TYPES)
    if (int(np.max(row, initial=0)) + 1) * max(keys, 1) * lasts < 2**62:
        return np.argsort((row * max(keys, 1) + key) * lasts + last, kind="stable")
    return np.lexsort((last, key, row))


@dataclass(frozen=True, slots=True)
class Transitions:
    """Where a walk goes from each node: from i to ``other[start[i]:start[i + 1]]``, with the chances ``share``."""

    start: Ints
    other: Ints
    share: Floats

    def onward(self, here: Ints, carried: Floats) -> Floats:
        """What comes to each node of what is carried ``here``; what has no way out goes nowhere."""
        length = self.start[here + 1] - self.start[here]
        entries = slices(self.start[here], length)
        weights = self.share[entries] * np.repeat(carried, length)
        moved = np.bincount(self.other[entries], weights, minlength=len(self.start) - 1)
        return moved.astype(np.float64, copy=False)


def _steps(graph: Graph, types: Types) -> Transitions:
    rows, size = graph.rows, len(graph.nodes)
    entries = _entries(graph, np.arange(size), "both", types)
    here, weight = rows.here[entries], rows.weights[rows.heavy[entries]]
    start = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(here, minlength=size), out=start[1:])
    out = np.bincount(here, weights=weight, minlength=size)[here]
    share = np.divide(weight, out, out=np.zeros(len(out)), where=out > 0)
    return Transitions(start, rows.other[entries], share)


def load(graph: Graph, types: Types) -> None:
    """See ``GraphStore.load``: everything that is worked out once."""
    for each in (graph.positions, graph.title_rank, graph.rows, graph.names, graph.node_types, graph.owned):
        assert each is not None
    graph.steps(types)


def neighbours(
    graph: Graph, ids: Sequence[str], direction: Direction, types: Types, limit: int, offset: int
) -> NodePage:
    """See ``GraphStore.neighbours``."""
    at = graph.where(ids)
    if not len(at):
        return NodePage((), 0)
    entries = _entries(graph, at, direction, types)
    rows = graph.rows
    if len(at) > 1:
        edge = rows.edge[entries]
        source, target = graph.edges.source[edge], graph.edges.target[edge]
        entries = entries[np.lexsort((target, source, rows.type[entries], rows.key[entries]))]
    shown = entries[offset : offset + limit]
    ends = zip(rows.other[shown].tolist(), graph.records(rows.edge[shown]), strict=True)
    return NodePage(tuple([Neighbour(graph.nodes[other], edge) for other, edge in ends]), len(entries))


def expand(
    graph: Graph, ids: Sequence[str], hops: int, types: Types, direction: Direction, limit: int
) -> Neighbourhood:
    """See ``GraphStore.expand``."""
    rows = graph.rows
    seeds = graph.where(ids)
    seen = np.zeros(len(graph.nodes), np.bool_)
    seen[seeds] = True
    levels = [(seeds, np.full(len(seeds), -1))]
    for _ in range(hops):
        check()
        entries = _entries(graph, levels[-1][0], direction, types)
        entries = entries[~seen[rows.other[entries]]]
        if not len(entries):
            break
        levels.append(_strongest(rows.other[entries], rows.heavy[entries]))
        seen[levels[-1][0]] = True
    shown = _first(graph, levels, limit)
    among, edges_total = _edges_among(graph, np.array([at for at, _, _ in shown], np.int64), types)
    names, codes = graph.node_types
    reached = np.concatenate([nodes for nodes, _ in levels])
    found = np.bincount(codes[reached], minlength=len(names))
    return Neighbourhood(
        tuple(ReachedNode(graph.nodes[at], distance, weight) for at, distance, weight in shown),
        among,
        len(reached),
        {name: int(count) for name, count in zip(names, found, strict=True) if count},
        edges_total,
    )


def _strongest(nodes: Ints, heavy: Ints) -> tuple[Ints, Ints]:
    """Each of ``nodes`` once, with the least rank of weight that comes with it."""
    order = np.argsort(nodes, kind="stable")
    nodes = nodes[order]
    first = np.flatnonzero(np.diff(nodes, prepend=-1))
    return nodes[first], np.minimum.reduceat(heavy[order], first)


def _first(graph: Graph, levels: Sequence[tuple[Ints, Ints]], limit: int) -> list[tuple[int, int, float]]:
    """The first ``limit`` of (node, distance, weight): nearest, then heaviest, then by title and id."""
    shown: list[tuple[int, int, float]] = []
    for distance, (nodes, heavy) in enumerate(levels):
        room = limit - len(shown)
        if room <= 0:
            break
        key = heavy * len(graph.nodes) + graph.title_rank[nodes]
        best = np.argpartition(key, room - 1)[:room] if len(key) > room else np.arange(len(key))
        best = best[np.argsort(key[best])]
        shown += [
            (int(nodes[i]), distance, float(graph.rows.weights[heavy[i]]) if distance else 0.0) for i in best
        ]
    return shown


def _edges_among(graph: Graph, nodes: Ints, types: Types) -> tuple[tuple[Edge, ...], int]:
    rows = graph.rows
    inside = np.zeros(len(graph.nodes), np.bool_)
    inside[nodes] = True
    entries = _entries(graph, nodes, "out", types)
    entries = entries[inside[rows.other[entries]]]
    edge, edges = rows.edge[entries], graph.edges
    order = np.lexsort((edges.target[edge], edges.source[edge], rows.type[entries], rows.heavy[entries]))
    return tuple(graph.records(edge[order[:MAX_EDGES]])), len(entries)


def paths(
    graph: Graph, sources: Sequence[str], targets: Sequence[str], max_hops: int, types: Types, limit: int
) -> Paths:
    """See ``GraphStore.paths``."""
    starts = graph.where(sources)
    ends = np.setdiff1d(graph.where(targets), starts)
    if not len(starts) or not len(ends):
        return Paths((), True)
    search = _Search(graph, starts, ends, types)
    found = list(islice((way for hops in range(1, max_hops + 1) for way in search.ways(hops)), limit + 1))
    whole = len(found) <= limit and search.steps < _STEPS
    return Paths(tuple(search.path(way) for way in found[:limit]), whole)


class _Search:
    """Ways between two sets of nodes, by length. Balls grow around both, the cheaper one first."""

    def __init__(self, graph: Graph, starts: Ints, ends: Ints, types: Types) -> None:
        self.steps = 0
        self._met = False
        self._graph = graph
        self._types = types
        self._starts = starts[np.argsort(graph.title_rank[starts])]
        self._forward = _Ball(graph, starts, ends, types)
        self._backward = _Ball(graph, ends, starts, types)

    def ways(self, hops: int) -> Iterator[list[int]]:
        """All ways of this many hops, in the order that ``GraphStore.paths`` promises."""
        while self._forward.radius + self._backward.radius < hops:
            near, far = sorted((self._forward, self._backward), key=lambda ball: ball.cost)
            self._met |= bool(np.any(far.distance[near.grow()] >= 0))
        if not self._met:
            return
        left = self._remaining(hops)
        for start in self._starts.tolist():
            if 0 <= left[start] <= hops:
                yield from self._onward([start], hops, left)

    def path(self, way: Sequence[int]) -> Path:
        """The records along a way."""
        steps = [self._strongest(here, there) for here, there in pairwise(way)]
        nodes = [self._graph.nodes[at] for at in way]
        return Path(tuple(nodes), tuple(self._graph.records(np.array(steps, np.int64))))

    def _remaining(self, hops: int) -> NDArray[np.int8]:
        """Hops from each node to an end: right wherever a way of ``hops`` may pass, -1 or too far elsewhere."""
        near, left = self._forward.distance, self._backward.distance.copy()
        level = self._backward.radius
        frontier = np.flatnonzero(left == level)
        while level < hops and len(frontier):
            level += 1
            other = self._graph.rows.other[_entries(self._graph, frontier, "both", self._types)]
            other = other[(left[other] < 0) & (near[other] >= 0) & (near[other] <= hops - level)]
            frontier = np.unique(other)
            left[frontier] = level
        return left

    def _onward(self, way: list[int], hops: int, left: NDArray[np.int8]) -> Iterator[list[int]]:
        if hops == 0:
            yield way
            return
        if self.steps >= _STEPS:
            return
        if self.steps % _LOOK == 0:
            check()
        self.steps += 1
        here = way[-1]
        rows = self._graph.rows
        entries = _entries(self._graph, np.array([here]), "both", self._types)
        other = rows.other[entries]
        far = left[other]
        # an end is only where a way ends, a start only where it starts
        fits = far == 0 if hops == 1 else (far > 0) & (far < hops)
        fits &= self._forward.distance[other] != 0
        for there in dict.fromkeys(other[fits].tolist()):
            if there not in way:
                yield from self._onward([*way, there], hops - 1, left)

    def _strongest(self, here: int, there: int) -> int:
        """The position of the strongest edge between two nodes."""
        rows = self._graph.rows
        entries = _entries(self._graph, np.array([here]), "both", self._types)
        return int(rows.edge[entries[np.argmax(rows.other[entries] == there)]])


class _Ball:
    """Distances from some nodes, as far as they are known. It does not grow through what is ``shut``."""

    def __init__(self, graph: Graph, centre: Ints, shut: Ints, types: Types) -> None:
        self.distance = np.full(len(graph.nodes), -1, np.int8)
        self.distance[centre] = 0
        self.radius = 0
        self._graph = graph
        self._types = types
        self._shut = shut
        self._frontier = centre

    @property
    def cost(self) -> int:
        """How many entries the next step reads."""
        start = self._graph.rows.start
        return int((start[self._frontier + 1] - start[self._frontier]).sum())

    def grow(self) -> Ints:
        """One hop more; returns what it reaches."""
        check()
        self.radius += 1
        other = self._graph.rows.other[_entries(self._graph, self._frontier, "both", self._types)]
        reached = np.unique(other[self.distance[other] < 0])
        self.distance[reached] = self.radius
        self._frontier = reached[~np.isin(reached, self._shut)]
        return reached


def ranks(
    graph: Graph, seeds: Mapping[str, float], types: Types, damping: float, iterations: int, limit: int
) -> list[tuple[str, float]]:
    """See ``GraphStore.ranks``."""
    best, scores = _ranked(graph, seeds, types, damping, iterations, limit)
    return [(graph.nodes[at].id, score) for at, score in zip(best.tolist(), scores.tolist(), strict=True)]


def owned_ranks(
    graph: Graph, seeds: Mapping[str, float], types: Types, damping: float, iterations: int, limit: int
) -> list[NodeRank]:
    """See ``GraphStore.owned_ranks``."""
    best, scores = _ranked(graph, seeds, types, damping, iterations, limit)
    owned = graph.owned[best]
    nodes = map(graph.nodes.__getitem__, best[owned].tolist())
    return [
        NodeRank(node.id, node.label, node.document_id, score)
        for node, score in zip(nodes, scores[owned].tolist(), strict=True)
    ]


def _ranked(
    graph: Graph, seeds: Mapping[str, float], types: Types, damping: float, iterations: int, limit: int
) -> tuple[Ints, Floats]:
    """The first ``limit`` positions by (-score, title, id), and their scores."""
    whole, _ = walked(graph, seeds, types, damping, iterations)
    found = np.flatnonzero(whole)
    scores = whole[found].round(_DIGITS)
    # What is below the score at the limit need not be sorted.
    least = np.partition(scores, -limit)[-limit] if len(scores) > limit else 0.0
    among = np.flatnonzero((scores >= least) & (scores > 0))
    order = among[np.lexsort((graph.title_rank[found[among]], -scores[among]))][:limit]
    return found[order], scores[order]


def walked(
    graph: Graph, seeds: Mapping[str, float], types: Types, damping: float, iterations: int
) -> tuple[Floats, Flags]:
    """Where the walk is likely to be, and the nodes whose rows it read to find out.

    The scores are a sum over the number of steps since the last start: each step carries on ``damping`` of what
    the one before carried, so that fewer nodes matter the longer it is. What goes nowhere starts again, which is
    as if every walk that came to an end were left out: the sum is made whole at the end.
    """
    read = np.zeros(len(graph.nodes), np.bool_)
    carried = np.zeros(len(graph.nodes))
    for id, share in seeds.items():
        if id in graph.positions and share > 0:
            carried[graph.positions[id]] = share
    if not carried.any():
        return carried, read
    carried /= carried.sum()
    scores = carried.copy()
    steps = graph.steps(types)
    for _ in range(iterations):
        check()
        here = _front(carried)
        if not len(here):
            break
        read[here] = True
        carried = damping * steps.onward(here, carried[here])
        scores += carried
    return scores / scores.sum(), read


def _front(carried: Floats) -> Ints:
    """The nodes that a step goes on from."""
    here = np.flatnonzero(carried >= _NEGLIGIBLE)
    if len(here) > _WIDEST:
        least = np.partition(carried[here], -_WIDEST)[-_WIDEST]
        here = here[carried[here] >= least]
    return here


def find(graph: Graph, name: str, types: Types, limit: int) -> list[NodeMatch]:
    """See ``GraphStore.find``."""
    wanted = normalised(name) if is_text(name, TITLE_CHARS) else ""
    if not wanted:
        return []
    named = _starting(graph, wanted)
    exact = [at for title, at in named if title == wanted]
    entries = _entries(graph, np.unique(np.array(exact, np.int64)), "out", frozenset({"ALIAS_OF"}))
    aliased = graph.rows.other[entries].tolist()
    matches: dict[int, NodeMatch] = {}
    kinds: Sequence[tuple[Literal["name", "alias", "prefix"], list[int]]] = (
        ("name", exact),
        ("alias", aliased),
        ("prefix", [at for _, at in named]),
    )
    for how, places in kinds:
        for at in sorted(places, key=graph.title_rank.__getitem__):
            if types is None or graph.nodes[at].type in types:
                matches.setdefault(at, NodeMatch(graph.nodes[at], how))
    return list(islice(matches.values(), limit))


def _starting(graph: Graph, wanted: str) -> list[tuple[str, int]]:
    first = bisect_left(graph.names, (wanted, -1))
    found = []
    for title, at in islice(graph.names, first, None):
        if not title.startswith(wanted):
            break
        found.append((title, at))
    return found


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
    at = graph.where([id])
    ways: Sequence[Literal["out", "in"]] = ("out", "in")
    found: dict[tuple[str, str], Any] = {}
    for direction in ways:
        codes = graph.rows.type[_entries(graph, at, direction, None)] if len(at) else np.zeros(0, np.uint8)
        for code, count in enumerate(np.bincount(codes, minlength=len(EDGE_TYPES)).tolist()):
            if count:
                found[EDGE_TYPES[code], direction] = Degree(EDGE_TYPES[code], direction, count)
    return [found[type, way] for type in EDGE_TYPES for way in ways if (type, way) in found]


def slices(start: Ints, length: Ints) -> Ints:
    """The numbers of all ``range(start[i], start[i] + length[i])``, one after the other."""
    before = np.cumsum(length) - length
    numbers: Ints = np.arange(length.sum()) + np.repeat(start - before, length)
    return numbers


def _entries(graph: Graph, nodes: Ints, direction: Direction, types: Types) -> Ints:
    """The places in ``graph.rows`` of these nodes' edges, row by row, of this direction and these types."""
    rows = graph.rows
    entries = slices(rows.start[nodes], rows.start[nodes + 1] - rows.start[nodes])
    if direction != "both":
        # a loop leaves and reaches the same node
        passes = rows.leaves[entries] if direction == "out" else _reaches(graph, entries)
        entries = entries[passes]
    if types is not None:
        wanted = np.zeros(len(EDGE_TYPES), np.bool_)
        wanted[[_CODES[type] for type in types if type in _CODES]] = True
        entries = entries[wanted[rows.type[entries]]]
    return entries


def _reaches(graph: Graph, entries: Ints) -> Flags:
    rows = graph.rows
    edge = rows.edge[entries]
    reaches: Flags = ~rows.leaves[entries] | (graph.edges.source[edge] == graph.edges.target[edge])
    return reaches
