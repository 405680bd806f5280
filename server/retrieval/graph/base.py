"""The protocol of graph stores, and the records they return. The stores live in ``server.backends.graphs``.

Order: ranked rows are sorted by (distance, -weight, title, id), titles by code point, so that every store returns
the same rows in the same order for the same graph.

Scope: every read takes the ids of the documents that the caller may see, or None for all. Other documents do not
exist for the caller: neither their nodes, nor their edges, nor a title or a type that only they give an entity.
An entity exists in a scope if an edge in scope touches it. A derived edge exists in a scope if one of its evidence
chunks does; its weight is computed over the whole project, as word frequencies of the lexical index are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol

from winnow.server.errors import WinnowError
from winnow.server.retrieval.graph.records import DocumentGraph, Edge, Label, Node

Scope = frozenset[str] | None
Types = frozenset[str] | None
Direction = Literal["out", "in", "both"]
MatchKind = Literal["name", "alias", "prefix"]

MAX_HOPS = 5
MAX_PATH_HOPS = 6
MAX_NODES = 200
MAX_PATHS = 50
MAX_RANKS = 10_000
MAX_OFFSET = 1_000_000
# Edges among the nodes of one result; the strongest are kept.
MAX_EDGES = 1000
PAGE_SIZE = 25
# Argument -> its least and greatest value.
_LIMITS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "hops": (1, MAX_HOPS),
        "max_hops": (1, MAX_PATH_HOPS),
        "ids": (0, MAX_NODES),
        "rows": (1, MAX_NODES),
        "nodes": (1, MAX_NODES),
        "paths": (1, MAX_PATHS),
        "ranks": (1, MAX_RANKS),
        "offset": (0, MAX_OFFSET),
        "damping": (0, 1),
        "iterations": (1, 100),
    }
)


def check_limits(**arguments: float) -> None:
    """Raise ``WinnowError("INVALID_REQUEST")`` for an argument that is out of bounds."""
    for name, value in arguments.items():
        least, most = _LIMITS[name]
        if not least <= value <= most:
            raise WinnowError("INVALID_REQUEST", f"{name} must be from {least} to {most}")


@dataclass(frozen=True, slots=True)
class NodeMatch:
    """A node found by name: by its title ("name"), by an alias, or by the beginning of its title ("prefix")."""

    node: Node
    how: MatchKind


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of nodes by label, of entities by type, and of edges by type; zeros are left out."""

    labels: Mapping[str, int]
    entity_types: Mapping[str, int]
    edge_types: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Degree:
    """The number of edges of one type that leave ("out") or reach ("in") a node."""

    type: str
    direction: Literal["out", "in"]
    count: int


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One edge of a requested node, and the node at its other end."""

    node: Node
    edge: Edge


@dataclass(frozen=True, slots=True)
class NodePage:
    """One page of a node's neighbours; ``total`` counts the rows of all pages."""

    rows: tuple[Neighbour, ...]
    total: int


@dataclass(frozen=True, slots=True)
class ReachedNode:
    """A node at ``distance`` hops; ``weight`` is the weight of the strongest edge from a node one hop nearer."""

    node: Node
    distance: int
    weight: float


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The nodes within some hops of the seeds: the seeds first (distance 0), then nearest and strongest first.

    ``total`` counts the nodes reached and ``by_type`` the same by node type, both before the cut to the limit;
    ``edges`` are the strongest edges among ``nodes``, of ``edges_total``.
    """

    nodes: tuple[ReachedNode, ...]
    edges: tuple[Edge, ...]
    total: int
    by_type: Mapping[str, int]
    edges_total: int

    @property
    def cut(self) -> int:
        """The number of nodes that were reached and cut off by the limit."""
        return self.total - len(self.nodes)


@dataclass(frozen=True, slots=True)
class Path:
    """A simple path from a source to a target; ``edges[i]`` is the strongest edge between its two nodes."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Paths:
    """Paths, shortest first; ``complete`` is True if there are no others within the requested hops."""

    paths: tuple[Path, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class RankQuery:
    """The basis of ``GraphStore.ranks``: a random walk from ``seeds`` (node id -> weight).

    The walk starts at the seeds, in proportion to their weights. It follows edges of these ``types`` (None: all)
    in both directions, by weight, with probability ``damping``, and restarts otherwise. ``limit`` is the greatest
    number of nodes in the answer. Raises ``WinnowError("INVALID_REQUEST")`` for a value that is out of bounds.
    """

    seeds: Mapping[str, float]
    types: Types = None
    damping: float = 0.5
    iterations: int = 12
    limit: int = 1000

    def __post_init__(self) -> None:
        check_limits(ids=len(self.seeds), damping=self.damping, iterations=self.iterations, ranks=self.limit)


class NodeRank(NamedTuple):
    """A node that a document owns, with its PageRank score. A tuple, because a search reads hundreds."""

    id: str
    label: Label
    document_id: str
    score: float


class GraphStore(Protocol):
    """The graphs of all documents of all projects.

    Implementers guarantee: ``apply`` is atomic and durable once it has returned; a read sees whole changes only;
    unknown ids, names and types give empty results, never an error; edges that agree in source, target and type
    are merged in every result (the greatest weight, the highest confidence, evidence of the heavier edge first).
    Methods are blocking and safe to call from several threads. They raise ``WinnowError``: "INVALID_REQUEST" for
    invalid records or limits, "INDEX_UNAVAILABLE" if the store does not answer, "TIMEOUT" if it takes too long.
    """

    def apply(self, project: str, replaced: Sequence[DocumentGraph] = (), deleted: Sequence[str] = ()) -> None:
        """Replace the graphs of some documents, and delete those of others.

        The generation grows. Derived edges do not change until ``derive``.
        """

    def derive(self, project: str) -> None:
        """Compute the derived edges from the current mentions: called once, at the end of an ingest."""

    def generation(self, project: str) -> int:
        """A number that grows with every change of the project's graph; 0 if there was never one."""

    def documents(self, project: str) -> frozenset[str]:
        """The ids of the documents whose graphs are stored."""

    def load(self, project: str, types: Types) -> None:
        """Load into memory what reads of the whole project use, and random walks over edges of these types.

        Otherwise the first read does this, and takes longer. Without a graph this does nothing.
        """

    def nodes(self, project: str, ids: Sequence[str], scope: Scope = None) -> dict[str, Node]:
        """The nodes that exist, by id, in the order of ``ids``."""

    def find(
        self, project: str, name: str, types: Types = None, scope: Scope = None, limit: int = PAGE_SIZE
    ) -> list[NodeMatch]:
        """Nodes by name: exact titles first, then nodes with this alias, then titles that begin with it.

        Names are compared in the form of ``records.normalise_name``; a node is found under every title that a
        document in scope gives it. Chunks are not found by name. ``types`` are node types. Matches of one kind
        are sorted by title and id.
        """

    def counts(self, project: str, scope: Scope = None) -> Counts:
        """The number of nodes, entities and edges."""

    def degrees(self, project: str, id: str, scope: Scope = None) -> list[Degree]:
        """The number of edges of a node by type and direction, in the order of ``EDGE_TYPES``, "out" first."""

    def neighbours(
        self,
        project: str,
        ids: Sequence[str],
        direction: Direction = "both",
        types: Types = None,
        scope: Scope = None,
        limit: int = PAGE_SIZE,
        offset: int = 0,
    ) -> NodePage:
        """The edges of these nodes and the nodes at their other ends, by (-weight, title, id, type, source).

        ``limit`` is at most 200. An edge between two of ``ids`` is a row for each end; a loop is one row.
        """

    def expand(
        self,
        project: str,
        ids: Sequence[str],
        hops: int = 1,
        types: Types = None,
        direction: Direction = "both",
        scope: Scope = None,
        limit: int = PAGE_SIZE,
    ) -> Neighbourhood:
        """The nodes within ``hops`` (1 to 5) of these nodes, at most ``limit`` (200) of them."""

    def paths(
        self,
        project: str,
        sources: Sequence[str],
        targets: Sequence[str],
        max_hops: int = 3,
        types: Types = None,
        scope: Scope = None,
        limit: int = PAGE_SIZE,
    ) -> Paths:
        """Simple paths from any source to any target, ignoring the direction of edges, at most ``limit`` (50).

        Paths of at most ``max_hops`` (6), shortest first; paths of equal length are compared step by step from
        the source, by (-weight, title, id). Only the first node of a path is a source and only the last a target;
        a node that is both is a source.
        """

    def ranks(self, project: str, query: RankQuery, scope: Scope = None) -> list[tuple[str, float]]:
        """Personalised PageRank (Haveliwala 2002): (id, score) of the nodes near the seeds.

        Best first, scores to nine decimals. Nodes without edges restart the walk.
        """

    def owned_ranks(self, project: str, query: RankQuery, scope: Scope = None) -> list[NodeRank]:
        """The ``ranks`` of documents, sections and chunks, in the same order; for searches.

        ``query.limit`` is applied before entities are left out.
        """

    def export(self, project: str) -> Iterator[DocumentGraph]:
        """Every document's graph, sorted by uri, its nodes by id, its edges by (source, target, type).

        ``apply`` and ``derive`` restore the same graph from them.
        """

    def close(self) -> None:
        """Release the store; idempotent."""
