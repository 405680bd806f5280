"""What the rest of the server expects of a graph store. The stores live in ``server.backends``.

Order: everything that is ranked comes by (distance, -weight, title, id), titles by code point, so that the same
graph gives the same rows in the same order whatever holds it.

Scope: every read takes the documents that the caller may see, or None for all. What another document says does
not exist for the caller: neither its nodes, nor its edges, nor a title or a type that only it gives an entity.
An entity is there as far as an edge in scope touches it. In a scope, a derived edge is there if one of its
evidence chunks is; its weight is a figure of the whole project, as word frequencies of the lexical index are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol

from server.errors import WinnowError
from server.graph.records import DocumentGraph, Edge, Label, Node

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
# Among the nodes of one answer; the strongest are kept.
MAX_EDGES = 1000
PAGE_SIZE = 25
# What may be asked for, and its bounds.
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


def check_limits(**asked: float) -> None:
    """Raise ``WinnowError("INVALID_REQUEST")`` where what is asked for is beyond its bounds."""
    for name, value in asked.items():
        least, most = _LIMITS[name]
        if not least <= value <= most:
            raise WinnowError("INVALID_REQUEST", f"{name} must be from {least} to {most}")


@dataclass(frozen=True, slots=True)
class NodeMatch:
    """A node found by name, and how: it has the name, the name is an alias of it, or it begins with the name."""

    node: Node
    how: MatchKind


@dataclass(frozen=True, slots=True)
class Counts:
    """How much there is: nodes by label, entities by type, edges by type. What there is none of is left out."""

    labels: Mapping[str, int]
    entity_types: Mapping[str, int]
    edge_types: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Degree:
    """How many edges of one type leave ("out") or reach ("in") a node."""

    type: str
    direction: Literal["out", "in"]
    count: int


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One edge of a node that was asked about, and the node at its other end."""

    node: Node
    edge: Edge


@dataclass(frozen=True, slots=True)
class NodePage:
    """Some rows of ``total``."""

    rows: tuple[Neighbour, ...]
    total: int


@dataclass(frozen=True, slots=True)
class ReachedNode:
    """A node at ``distance`` hops; ``weight`` is that of the strongest edge from the nodes one hop nearer."""

    node: Node
    distance: int
    weight: float


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """What lies around some nodes: these first (distance 0), then nearest and strongest first.

    ``total`` counts what was reached and ``by_type`` the same by node type, both before the cut to the limit;
    ``edges`` are those among the nodes that are left, strongest first, of ``edges_total``.
    """

    nodes: tuple[ReachedNode, ...]
    edges: tuple[Edge, ...]
    total: int
    by_type: Mapping[str, int]
    edges_total: int

    @property
    def cut(self) -> int:
        """How many of the nodes that were reached are not shown."""
        return self.total - len(self.nodes)


@dataclass(frozen=True, slots=True)
class Path:
    """A way from a source to a target without a node twice; ``edges[i]`` is the strongest between its ends."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Paths:
    """Paths, shortest first; ``complete`` says that there are no others within the hops asked for."""

    paths: tuple[Path, ...]
    complete: bool


class NodeRank(NamedTuple):
    """Where a walk is likely to be: a node that a document owns, and how likely. A tuple: a walk has hundreds."""

    id: str
    label: Label
    document_id: str
    score: float


class GraphStore(Protocol):
    """The graphs of all documents of all projects.

    Implementers guarantee: ``apply`` is atomic and durable once it has returned; a read sees whole changes only;
    unknown ids, names and types are nothing found, never an error; edges that agree in source, target and type
    are one in every answer (the heaviest's weight, the highest confidence, evidence of the heavier first).
    Methods are blocking and safe to call from several threads. They raise ``WinnowError``: "INVALID_REQUEST" for
    records or limits that break the rules, "INDEX_UNAVAILABLE" where the store does not answer, "TIMEOUT" where
    it takes too long.
    """

    def apply(self, project: str, replaced: Sequence[DocumentGraph] = (), deleted: Sequence[str] = ()) -> None:
        """Put these documents' graphs in the place of what they were, and take those of ``deleted`` out.

        The generation grows. Derived edges are as they were until ``derive``.
        """

    def derive(self, project: str) -> None:
        """Work out the derived edges from the mentions as they are now: once, at the end of an ingest."""

    def generation(self, project: str) -> int:
        """Grows with every change of the project's graph; 0 where there never was one."""

    def documents(self, project: str) -> frozenset[str]:
        """The ids of the documents whose graphs are held."""

    def load(self, project: str, types: Types) -> None:
        """Have at hand what reads of the whole project take, and walks over edges of these types.

        The first read would do it, too, and take longer. Where there is no graph, there is nothing to do.
        """

    def nodes(self, project: str, ids: Sequence[str], scope: Scope = None) -> dict[str, Node]:
        """Those of these nodes that exist, by id, in the order asked for."""

    def find(
        self, project: str, name: str, types: Types = None, scope: Scope = None, limit: int = PAGE_SIZE
    ) -> list[NodeMatch]:
        """Nodes by name: those that have it, those it is an alias of, those that begin with it.

        Names are compared as ``records.normalised`` has them; a node is found under every title that a document
        in scope gives it. Chunks are not found by name. ``types`` are node types. Within a kind of match by
        title and id.
        """

    def counts(self, project: str, scope: Scope = None) -> Counts: ...

    def degrees(self, project: str, id: str, scope: Scope = None) -> list[Degree]:
        """The edges of a node, counted by type and direction, in the order of types, "out" first."""

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
        """The edges of these nodes with the nodes at their other ends, by (-weight, title, id, type, source).

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
        """What is within ``hops`` (1 to 5) of these nodes, of which ``limit`` (at most 200) are shown."""

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
        """Ways from any source to any other target, whichever way the edges point, at most ``limit`` (50).

        Of at most ``max_hops`` (6), shortest first; among equals, step by step from the source, by (-weight,
        title, id). A path has no source but its first node and no target but its last; what is both is a source.
        """

    def ranks(
        self,
        project: str,
        seeds: Mapping[str, float],
        types: Types = None,
        scope: Scope = None,
        damping: float = 0.5,
        iterations: int = 12,
        limit: int = 1000,
    ) -> list[tuple[str, float]]:
        """Personalised PageRank: where a walk that starts at the seeds, by their weights, is likely to be.

        The walk follows edges whichever way they point, by weight, with probability ``damping``, and starts
        again otherwise, as it does at a node without edges. Best first, scores to nine decimals, at most
        ``limit``.
        """

    def owned_ranks(
        self,
        project: str,
        seeds: Mapping[str, float],
        types: Types = None,
        scope: Scope = None,
        damping: float = 0.5,
        iterations: int = 12,
        limit: int = 1000,
    ) -> list[NodeRank]:
        """Those of the ``ranks`` that a document owns (documents, sections, chunks), in their order.

        ``limit`` counts what is ranked, entities included. This is what a search asks: one question, few rows.
        """

    def export(self, project: str) -> Iterator[DocumentGraph]:
        """Every document's graph, by uri, its nodes by id, its edges by (source, target, type).

        ``apply`` and ``derive`` make the same graph of them.
        """

    def close(self) -> None: ...
