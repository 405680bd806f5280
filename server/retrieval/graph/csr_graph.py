"""A graph in memory in compressed sparse row (CSR) form: one row of edges for each node, strongest first. Pure.

Theory of operation. Nodes are numbered by id, so that the order of numbers is the order of ids. Every edge stands
in the rows of both its ends, marked with its direction. A row is sorted by (-weight, title, id) of the node at the
other end, then type, source, target, so that most answers are slices. Weights are compared by their rank among all
weights (0 is the heaviest) and titles by theirs: one integer orders a row, and nothing is ever rounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from winnow.server.retrieval.graph.base import Direction, Types
from winnow.server.retrieval.graph.records import EDGE_TYPES, Edge, Node, normalise_name

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Codes = NDArray[np.uint8]

# Sets of edge types whose transitions are cached: searches use one.
_TRANSITIONS_CACHED = 2
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
    """``nodes`` by id, the edges among them (unique by source, target and type), and the documents that own them.

    What is computed from these is computed once, at its first use.
    """

    nodes: Sequence[Node]
    edges: EdgeColumns
    documents: Sequence[str] = ()
    # further titles that find a node, with its position
    titles: Sequence[tuple[str, int]] = field(default=())

    @cached_property
    def positions(self) -> dict[str, int]:
        """The position of each id among the nodes."""
        return {node.id: position for position, node in enumerate(self.nodes)}

    @cached_property
    def title_rank(self) -> Ints:
        """The rank of each node in the order of (title, id)."""
        titles = [node.title for node in self.nodes]
        rank = np.empty(len(titles), np.int64)
        rank[sorted(range(len(titles)), key=titles.__getitem__)] = np.arange(len(titles))
        return rank

    @cached_property
    def rows(self) -> EdgeRows:
        """The edges, row by row."""
        return _build_rows(self)

    @cached_property
    def names(self) -> list[tuple[str, int]]:
        """Every normalised title with the position of its node, sorted; chunks are not found by name."""
        own = [(node.title, position) for position, node in enumerate(self.nodes) if node.label != "Chunk"]
        return sorted({(normalise_name(title), position) for title, position in (*own, *self.titles)})

    @cached_property
    def node_types(self) -> tuple[list[str], Ints]:
        """The types of nodes that occur, and the index in that list of each node's type."""
        types = sorted({node.type for node in self.nodes})
        index = {type: place for place, type in enumerate(types)}
        return types, np.fromiter((index[node.type] for node in self.nodes), np.int64, len(self.nodes))

    @cached_property
    def owned(self) -> Flags:
        """Which nodes belong to one document: entities belong to all documents that name them."""
        return np.fromiter((bool(node.document_id) for node in self.nodes), np.bool_, len(self.nodes))

    def transitions(self, types: Types) -> Transitions:
        """The transition probabilities of a random walk over edges of these types."""
        cached = self._transitions.get(types)
        if cached is None:
            cached = self._transitions[types] = _build_transitions(self, types)
            while len(self._transitions) > _TRANSITIONS_CACHED:
                self._transitions.pop(next(iter(self._transitions)), None)
        return cached

    @cached_property
    def _transitions(self) -> dict[Types, Transitions]:
        return {}

    def edge_records(self, positions: Ints) -> list[Edge]:
        """The edges at these positions, as records."""
        edges, nodes = self.edges, self.nodes
        start = edges.bounds[positions]
        length = edges.bounds[positions + 1] - start
        chunks = iter(edges.evidence[concatenate_ranges(start, length)].tolist())
        columns = (edges.source, edges.target, edges.type, edges.weight, edges.confidence, edges.owner)
        rows = zip(*(column[positions].tolist() for column in columns), length.tolist(), strict=True)
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

    def positions_of(self, ids: Sequence[str]) -> Ints:
        """The positions of the ids that exist, each once, in the order of ids."""
        known = {position for id in ids if (position := self.positions.get(id)) is not None}
        return np.array(sorted(known), np.int64)

    def select_entries(self, nodes: Ints, direction: Direction, types: Types) -> Ints:
        """The places in ``rows`` of these nodes' edges, row by row, of this direction and these types."""
        rows = self.rows
        entries = concatenate_ranges(rows.start[nodes], rows.start[nodes + 1] - rows.start[nodes])
        if direction != "both":
            entries = entries[rows.is_out[entries] if direction == "out" else self._is_in(entries)]
        if types is not None:
            wanted = np.zeros(len(EDGE_TYPES), np.bool_)
            wanted[[_CODES[type] for type in types if type in _CODES]] = True
            entries = entries[wanted[rows.type[entries]]]
        return entries

    def _is_in(self, entries: Ints) -> Flags:
        """Which entries reach the node of their row. A loop leaves and reaches the same node."""
        edge = self.rows.edge[entries]
        is_in: Flags = ~self.rows.is_out[entries] | (self.edges.source[edge] == self.edges.target[edge])
        return is_in

    def precompute(self, types: Types) -> None:
        """See ``GraphStore.load``: compute everything that is cached."""
        for value in (self.positions, self.title_rank, self.rows, self.names, self.node_types, self.owned):
            assert value is not None
        self.transitions(types)


@dataclass(frozen=True, slots=True)
class EdgeRows:
    """Row i is the entries ``[start[i], start[i + 1])`` of the other arrays.

    Of each entry: the node i, its ``neighbour`` at the other end, the position of the edge, and whether the edge
    leaves i. ``weight_rank`` is the rank of the edge's weight among ``weights``, heaviest first; ``sort_key``
    orders entries of any rows by (-weight, title, id).
    """

    weights: Floats
    start: Ints
    node: Ints
    neighbour: Ints
    edge: Ints
    is_out: Flags
    type: Codes
    weight_rank: Ints
    sort_key: Ints


def _build_rows(graph: Graph) -> EdgeRows:
    edges, size = graph.edges, len(graph.nodes)
    heaviest, rank = np.unique(-edges.weight, return_inverse=True)
    back = np.flatnonzero(edges.source != edges.target)  # a loop has one end
    edge = np.concatenate([np.arange(len(edges.source)), back])
    node = np.concatenate([edges.source, edges.target[back]])
    neighbour = np.concatenate([edges.target, edges.source[back]])
    is_out = np.arange(len(edge)) < len(edges.source)
    sort_key = rank[edge] * size + graph.title_rank[neighbour]
    last = np.where(is_out, 0, 1) + 2 * edges.type[edge].astype(np.int64)
    order = _sort_order(node, sort_key, last, len(heaviest) * size)
    edge = edge[order]
    return EdgeRows(
        -heaviest,
        _row_starts(node, size),
        node[order],
        neighbour[order],
        edge,
        is_out[order],
        edges.type[edge],
        rank[edge],
        sort_key[order],
    )


def _sort_order(row: Ints, key: Ints, last: Ints, keys: int) -> Ints:
    """The order by (row, key, last), as one sort of one integer where they fit into it."""
    lasts = 2 * len(EDGE_TYPES)
    if (int(np.max(row, initial=0)) + 1) * max(keys, 1) * lasts < 2**62:
        return np.argsort((row * max(keys, 1) + key) * lasts + last, kind="stable")
    return np.lexsort((last, key, row))


def _row_starts(rows: Ints, size: int) -> Ints:
    start = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=size), out=start[1:])
    return start


@dataclass(frozen=True, slots=True)
class Transitions:
    """Transition probabilities: from i to ``target[start[i]:start[i + 1]]`` with ``probability``."""

    start: Ints
    target: Ints
    probability: Floats

    def step(self, nodes: Ints, mass: Floats) -> Floats:
        """The mass that each node receives from ``nodes``; the mass of a node without edges is lost."""
        length = self.start[nodes + 1] - self.start[nodes]
        entries = concatenate_ranges(self.start[nodes], length)
        weights = self.probability[entries] * np.repeat(mass, length)
        received = np.bincount(self.target[entries], weights, minlength=len(self.start) - 1)
        return received.astype(np.float64, copy=False)


def _build_transitions(graph: Graph, types: Types) -> Transitions:
    rows, size = graph.rows, len(graph.nodes)
    entries = graph.select_entries(np.arange(size), "both", types)
    node, weight = rows.node[entries], rows.weights[rows.weight_rank[entries]]
    total = np.bincount(node, weights=weight, minlength=size)[node]
    probability = np.divide(weight, total, out=np.zeros(len(total)), where=total > 0)
    return Transitions(_row_starts(node, size), rows.neighbour[entries], probability)


def concatenate_ranges(start: Ints, length: Ints) -> Ints:
    """The numbers of all ``range(start[i], start[i] + length[i])``, one after the other."""
    before = np.cumsum(length) - length
    numbers: Ints = np.arange(length.sum()) + np.repeat(start - before, length)
    return numbers
