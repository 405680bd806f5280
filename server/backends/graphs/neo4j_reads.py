"""Reads of the graph on Neo4j, inside one transaction: rows, searches, walks and whole documents.

``GraphReader`` runs statements for one scope. Rows and counts are computed by the server. Walks (paths, ranks)
fetch the edges around the nodes that they reached, hop by hop, into a ``FetchedGraph`` and leave the rest to
``server.retrieval.graph``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from winnow.server.backends.graphs import cypher
from winnow.server.ids import is_chunk_id
from winnow.server.retrieval.graph import page_rank, path_search
from winnow.server.retrieval.graph.base import (
    MAX_EDGES,
    Counts,
    Direction,
    MatchKind,
    Neighbourhood,
    NodeMatch,
    NodeRank,
    Path,
    Paths,
    RankQuery,
    ReachedNode,
    Types,
)
from winnow.server.retrieval.graph.csr_graph import EdgeColumns, Graph
from winnow.server.retrieval.graph.records import (
    EDGE_TYPES,
    LABELS,
    MAX_EVIDENCE,
    TYPE_CHARS,
    DocumentGraph,
    Edge,
    Label,
    Node,
    edge_order,
    is_text,
)
from winnow.server.runtime import deadlines

# Records in one statement; Neo4j advises thousands.
BATCH_ROWS = 5000
# Edges that one walk may fetch: about half of the two seconds. Beyond, paths say that they are not complete.
_MOST_EDGES = 100_000

Key = tuple[str, str, str]
# The state of the gate: changes begun, changes done.
Gate = tuple[int, int]
T = TypeVar("T")


class Transaction(Protocol):
    """A transaction of the driver, which only ``neo4j.py`` imports."""

    def run(self, query: str, parameters: dict[str, Any] | None = None, **values: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class ReadScope:
    """The project to read, and the ids of the documents in scope (None for all)."""

    project: str
    documents: list[str] | None


@dataclass(frozen=True, slots=True)
class GraphReader:
    """One read transaction over one scope."""

    transaction: Transaction
    scope: ReadScope

    @property
    def statements(self) -> cypher.Reads:
        """The statements for this scope."""
        return cypher.WHOLE if self.scope.documents is None else cypher.SCOPED

    def rows(self, statement: str, **values: Any) -> list[Any]:
        """The rows that the statement returns."""
        deadlines.check_deadline()
        scope = self.scope
        rows = self.transaction.run(statement, project=scope.project, scope=scope.documents, **values).values()
        return list(rows)

    def gate(self) -> Gate:
        """The number of changes of the project that were begun, and of those that are done."""
        rows = self.rows(cypher.READ_GATE)
        return (rows[0][0], rows[0][1]) if rows else (0, 0)

    def nodes(self, ids: Sequence[str]) -> dict[str, Node]:
        """The nodes with these ids that exist, by id, in the order given."""
        nodes = {}
        for batch in batches(valid_ids(ids)):
            for *fields, document_id in self.rows(self.statements.nodes, ids=batch):
                nodes[fields[0]] = Node(*(*fields, document_id or ""))
        return {id: nodes[id] for id in ids if id in nodes}

    def edges(self, keys: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], Edge]:
        """The edges with these sources, targets and types; edges of several documents are merged."""
        parallel: dict[tuple[str, ...], list[Edge]] = {}
        for batch in batches(sorted(set(keys))):
            for row in self.rows(self.statements.edges, keys=[list(key) for key in batch]):
                parallel.setdefault(tuple(row[:3]), []).append(edge_of(row))
        evidence = sorted({chunk for edges in parallel.values() for edge in edges for chunk in edge.evidence})
        visible = {id for batch in batches(evidence) for (id,) in self.rows(self.statements.evidence, ids=batch)}
        return {key: _merge_edges(edges, visible) for key, edges in parallel.items()}


@dataclass(slots=True)
class FetchedGraph:
    """The part of a graph that a walk has fetched, with edges of these types.

    ``complete`` holds the nodes whose edges are all fetched; ``is_full``: the limit of edges was reached.
    """

    reader: GraphReader
    types: Types
    titles: dict[str, str] = field(default_factory=dict)
    edges: dict[Key, float] = field(default_factory=dict)
    ends: dict[str, set[str]] = field(default_factory=dict)
    complete: set[str] = field(default_factory=set)
    is_full: bool = False

    def start(self, ids: Sequence[str]) -> list[str]:
        """Add those of these nodes that exist; returns their ids."""
        nodes = self.reader.nodes(ids)
        self.titles |= {id: node.title for id, node in nodes.items()}
        return list(nodes)

    def fetch(self, ids: Iterable[str]) -> None:
        """Fetch the edges of these nodes."""
        for batch in batches(sorted(set(ids) - self.complete)):
            self._add(self.reader.statements.fetch, batch)
            self.complete |= set(batch)

    def fetch_between(self, ids: Iterable[str], ends: Iterable[str]) -> None:
        """Fetch only the edges between ``ids`` and ``ends``."""
        for batch in batches(sorted(set(ids) - self.complete)):
            self._add(self.reader.statements.between, batch, ends=sorted(set(ends)))

    def cost(self, ids: Iterable[str]) -> int:
        """About how many edges ``fetch`` would add."""
        rows = [
            self.reader.rows(cypher.COUNT_EDGES, ids=batch) for batch in batches(sorted(set(ids) - self.complete))
        ]
        return sum(count for ((count,),) in rows)

    def neighbours(self, ids: Iterable[str]) -> set[str]:
        """The neighbours of these nodes, fetched."""
        self.fetch(ids)
        return {end for id in ids for end in self.ends.get(id, ())}

    def _add(self, statement: str, ids: Sequence[str], **values: Any) -> None:
        room = max(_MOST_EDGES - len(self.edges), 0)
        rows = self.reader.rows(statement, ids=ids, types=type_list(self.types), limit=room + 1, **values)
        self.is_full = self.is_full or len(rows) > room
        for source, target, type, weight, id, title in rows:
            self.edges[source, target, type] = weight
            self.titles[id] = title
            self.ends.setdefault(source, set()).add(target)
            self.ends.setdefault(target, set()).add(source)

    def graph(self) -> Graph:
        """The part that is fetched so far as a graph, without evidence."""
        nodes = [Node(id, "Entity", "", title) for id, title in sorted(self.titles.items())]
        place = {node.id: at for at, node in enumerate(nodes)}
        size = len(self.edges)
        ends = [(place[source], place[target], cypher.ORDER[type]) for source, target, type in self.edges]
        columns = np.array(ends, np.int64).reshape(size, 3)
        none = np.zeros(size + 1, np.int64)
        return Graph(
            nodes,
            EdgeColumns(
                columns[:, 0],
                columns[:, 1],
                columns[:, 2].astype(np.uint8),
                np.array(list(self.edges.values()), np.float64),
                np.zeros(size),
                none[:size] - 1,
                none[:0],
                none,
            ),
        )


def rank_nodes(reader: GraphReader, query: RankQuery) -> list[tuple[str, float]]:
    """Fetch and compute until the computation reads only what is fetched."""
    part = FetchedGraph(reader, query.types)
    part.start(list(query.seeds))
    over_part = replace(query, types=None)  # edges of other types are not fetched
    while True:
        graph = part.graph()
        _, read = page_rank.compute_scores(graph, over_part)
        wanted = {graph.nodes[at].id for at in np.flatnonzero(read).tolist()} - part.complete
        if not wanted or part.is_full:
            return page_rank.ranks(graph, over_part)
        part.fetch(wanted)


def rank_owned_nodes(reader: GraphReader, query: RankQuery) -> list[NodeRank]:
    """The ranks of nodes that belong to a document."""
    ranks = dict(rank_nodes(reader, query))
    nodes = reader.nodes(list(ranks)).values()
    return [NodeRank(node.id, node.label, node.document_id, ranks[node.id]) for node in nodes if node.document_id]


def expand(
    reader: GraphReader, ids: Sequence[str], hops: int, types: Types, direction: Direction, limit: int
) -> Neighbourhood:
    seeds = reader.nodes(ids)
    found = [(0, 0.0, node.title, id, node.type) for id, node in seeds.items()]
    frontier, seen = list(seeds), set(seeds)
    for distance in range(1, hops + 1):
        level: dict[str, tuple[int, float, str, str, str]] = {}
        for batch in batches(frontier):
            for id, title, type, weight in reader.rows(
                reader.statements.level[direction], ids=batch, types=type_list(types)
            ):
                if id not in seen:
                    row = (distance, -weight, title, id, type)
                    level[id] = min(row, level.get(id, row))
        found += level.values()
        frontier = list(level)
        seen |= level.keys()
    found.sort()
    shown = [id for _, _, _, id, _ in found[:limit]]
    among = reader.rows(reader.statements.among, ids=shown, types=type_list(types), order=cypher.ORDER)
    nodes = reader.nodes(shown)
    edges = reader.edges([tuple(key) for key in among[:MAX_EDGES]])
    by_type: dict[str, int] = {}
    for *_, type in found:
        by_type[type] = by_type.get(type, 0) + 1
    return Neighbourhood(
        tuple(ReachedNode(nodes[id], distance, abs(weight)) for distance, weight, _, id, _ in found[:limit]),
        tuple(edges[tuple(key)] for key in among[:MAX_EDGES]),
        len(found),
        dict(sorted(by_type.items())),
        len(among),
    )


def find_paths(
    reader: GraphReader, sources: Sequence[str], targets: Sequence[str], max_hops: int, types: Types, limit: int
) -> Paths:
    part = FetchedGraph(reader, types)
    starts = part.start(sources)
    ends = [id for id in part.start(targets) if id not in starts]
    frontiers, balls = [set(starts), set(ends)], [set(starts), set(ends)]
    for hops in range(1, max_hops + 1):
        if not all(frontiers):
            break  # one side has reached all that it can reach
        costs = [part.cost(frontier) for frontier in frontiers]
        near = costs.index(min(costs))
        if hops == max_hops:
            part.fetch_between(frontiers[near], frontiers[1 - near])
            break  # the last hop joins the two sides; all other edges are fetched
        frontiers[near] = part.neighbours(frontiers[near]) - balls[near]
        balls[near] |= frontiers[near]
        frontiers[near] -= balls[1 - near] & set((ends, starts)[near])
        found = path_search.paths(part.graph(), starts, ends, hops, None, limit)
        if not found.complete or part.is_full:
            return _load_paths(reader, found, False)
    found = path_search.paths(part.graph(), starts, ends, max_hops, None, limit)
    return _load_paths(reader, found, found.complete and not part.is_full)


def _load_paths(reader: GraphReader, found: Paths, complete: bool) -> Paths:
    """The paths with complete records in place of the walk's bare ones."""
    nodes = reader.nodes([node.id for path in found.paths for node in path.nodes])
    edges = reader.edges([_key_of(edge) for path in found.paths for edge in path.edges])
    return Paths(
        tuple(
            Path(tuple(nodes[node.id] for node in path.nodes), tuple(edges[_key_of(edge)] for edge in path.edges))
            for path in found.paths
        ),
        complete,
    )


def find_nodes(reader: GraphReader, wanted: str, types: Types, limit: int) -> list[NodeMatch]:
    exact = [id for (id,) in reader.rows(reader.statements.exact, name=wanted)]
    wanted_types = None if types is None else [type for type in types if is_text(type, TYPE_CHARS)]
    prefixed = [
        id for (id,) in reader.rows(reader.statements.prefixed, name=wanted, kinds=wanted_types, limit=limit)
    ]
    aliased = [id for (id,) in reader.rows(reader.statements.aliased, ids=exact, types=["ALIAS_OF"])]
    kinds: Sequence[tuple[MatchKind, Iterable[str]]] = (("name", exact), ("alias", aliased), ("prefix", prefixed))
    nodes = reader.nodes([id for _, ids in kinds for id in ids])
    matches: dict[str, NodeMatch] = {}
    for how, ids in kinds:
        for node in sorted((nodes[id] for id in ids), key=lambda node: (node.title, node.id)):
            if types is None or node.type in types:
                matches.setdefault(node.id, NodeMatch(node, how))
    return list(matches.values())[:limit]


def count_graph(reader: GraphReader) -> Counts:
    labels: dict[Label, int] = dict.fromkeys(LABELS, 0)
    entity_types: dict[str, int] = {}
    for label, type, count in reader.rows(reader.statements.count_nodes):
        labels[label] += count
        if label == "Entity":
            entity_types[type] = count
    edges = dict(reader.rows(reader.statements.count_edges))
    return Counts(
        {label: count for label, count in labels.items() if count},
        dict(sorted(entity_types.items())),
        {type: edges[type] for type in EDGE_TYPES if type in edges},
    )


def read_document(reader: GraphReader, id: str) -> DocumentGraph:
    own = [Node(*row) for row in reader.rows(cypher.OWN_NODES, id=id)]
    entities = [Node(*row) for row in reader.rows(cypher.OWN_NAMES, id=id)]
    edges = [edge_of(row) for statement in cypher.OWN_EDGES.values() for row in reader.rows(statement, id=id)]
    nodes = sorted((*own, *entities), key=lambda node: node.id)
    return DocumentGraph(id, tuple(nodes), tuple(sorted(edges, key=edge_order)))


def edge_of(row: Sequence[Any]) -> Edge:
    source, target, type, weight, confidence, evidence, document_id = row
    return Edge(source, target, type, weight, confidence, tuple(evidence), document_id)


def _merge_edges(edges: Sequence[Edge], visible: set[str]) -> Edge:
    """Edges with equal ends and type, heaviest first, as one edge with the visible evidence."""
    evidence = [chunk for edge in edges for chunk in edge.evidence if chunk in visible]
    return replace(
        edges[0],
        confidence=max(edge.confidence for edge in edges),
        evidence=tuple(evidence[:MAX_EVIDENCE]),
        document_id=edges[0].document_id if len(edges) == 1 else "",
    )


def _key_of(edge: Edge) -> tuple[str, ...]:
    return edge.source, edge.target, edge.type


def valid_ids(ids: Iterable[str]) -> list[str]:
    """The well-formed ids, each once: not every string can be sent to the server."""
    return sorted({id for id in ids if is_chunk_id(id)})


def type_list(types: Types) -> list[str]:
    return [type for type in EDGE_TYPES if types is None or type in types]


def batches(values: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), BATCH_ROWS):
        yield values[start : start + BATCH_ROWS]
