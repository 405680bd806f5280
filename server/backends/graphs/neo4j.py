"""The graph on a Neo4j server, by URL: the same answers in the same order as ``graph_sqlite``.

What is stored::

    (:Winnow:Document|Section|Chunk|Entity)     a node; without the second label it is only pointed at
    (:Winnow)-[:PART_OF|NEXT|...]->(:Winnow)    an edge, once for each document that says so
    (:WinnowSource)-[:NAMES]->(:Winnow:Entity)  what a document calls an entity, and what it takes it for
    (:WinnowProject)                            locked by whoever changes the project, until all of it is written
    (:WinnowGate)                               how many changes were begun, and how many of them are done

Theory of operation. Statements are constants, values are parameters, and the names of labels and relations come
from the closed lists of ``server.graph.records``. Rows and counts are worked out by the server; what is a walk
(expansion, paths, ranks) fetches hop by hop the edges around what it has reached and leaves the rest to
``server.graph.csr_graph``.

Neo4j isolates neither reads nor commits: a statement sees what is committed when it runs, and of a transaction
that is being committed some records and not yet others. So a change is one transaction between two small ones. It
locks the project and does its work, unseen; then "begun" is counted up, the work committed, and "done" set to
"begun". A read in one transaction counts if the gate was open (both the same) when it started and had not moved
when it ended; otherwise it is done again. A writer that died in between left the gate shut: who gets the lock of
the project knows that nobody commits, and opens it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from neo4j import READ_ACCESS, WRITE_ACCESS, GraphDatabase, ManagedTransaction, Session, Transaction, unit_of_work
from neo4j.exceptions import DriverError, Neo4jError

from server.backends.graphs import cypher
from server.configuration.addresses import Address
from server.errors import WinnowError
from server.graph import page_rank, path_search
from server.graph.base import (
    MAX_EDGES,
    PAGE_SIZE,
    Counts,
    Degree,
    Direction,
    MatchKind,
    Neighbour,
    Neighbourhood,
    NodeMatch,
    NodePage,
    NodeRank,
    Path,
    Paths,
    ReachedNode,
    Scope,
    Types,
    check_limits,
)
from server.graph.cooccurrence import derive_edges
from server.graph.csr_graph import EdgeColumns, Graph
from server.graph.merged_graph import build_part, document_graph, edge_records
from server.graph.records import (
    DERIVED,
    EDGE_TYPES,
    LABELS,
    MAX_EVIDENCE,
    TITLE_CHARS,
    TYPE_CHARS,
    DocumentGraph,
    Edge,
    Label,
    Node,
    edge_order,
    entity_type_order,
    is_text,
    normalise_name,
    validate_graph,
)
from server.ids import is_chunk_id, point_id
from server.runtime import deadlines

CONNECT_SECONDS = 1.5
QUERY_SECONDS = 2.0
# One document replaced is milliseconds; the derived edges of a large project are the longest.
_WRITE_SECONDS = 120.0
# Records in one statement; Neo4j advises thousands.
_AT_ONCE = 5000
# Edges that one walk may fetch: about half of the two seconds. Beyond, paths say that they are not complete.
_MOST_EDGES = 100_000
# Until a read that met a change is done again; a commit of some thousand records takes tens of milliseconds.
_PAUSE_SECONDS = 0.01
# A gate that is shut for longer may be one that a dead writer left.
_ABANDONED_SECONDS = 0.5
# A connection that was idle for longer is tried before it is used: the server may have been restarted.
_IDLE_SECONDS = 10.0

Key = tuple[str, str, str]
# What the gate says: changes begun, changes done.
Gate = tuple[int, int]
T = TypeVar("T")


class Neo4jGraph:
    """The ``GraphStore`` on the server at ``url``; indexes are made with the first change.

    Those who share a server need a ``space`` each, which tells their projects apart.

    Every method raises ``WinnowError``: "INDEX_UNAVAILABLE" where the server does not answer within
    ``connect_seconds``, "TIMEOUT" where it works on a read for longer than ``query_seconds``.
    """

    def __init__(
        self,
        url: str,
        user: str = "",
        password: str = "",
        *,
        database: str | None = None,
        space: str = "",
        connect_seconds: float = CONNECT_SECONDS,
        query_seconds: float = QUERY_SECONDS,
    ) -> None:
        self._address = Address(url)
        self._database = database
        self._space = space
        self._query_seconds = query_seconds
        self._prepared = False
        with self._mapped():
            self._driver = GraphDatabase.driver(
                url,
                auth=(user, password) if user else None,
                connection_timeout=connect_seconds,
                connection_acquisition_timeout=2 * connect_seconds,
                # Who waits is an agent: it is told at once and asks again if it likes.
                max_transaction_retry_time=0,
                liveness_check_timeout=_IDLE_SECONDS,
                notifications_min_severity="OFF",
                user_agent="winnow",
            )

    def apply(self, project: str, replaced: Sequence[DocumentGraph] = (), deleted: Sequence[str] = ()) -> None:
        """See ``GraphStore.apply``."""
        for graph in replaced:
            validate_graph(graph)
        self._prepare()
        graphs = list({graph.document_id: graph for graph in replaced}.values())
        gone = _ids({*deleted, *(graph.document_id for graph in graphs)})

        def change(writer: _Writer) -> None:
            touched = writer.take_out(gone)
            writer.put_in(graphs)
            touched |= {node.id for graph in graphs for node in graph.nodes if node.label == "Entity"}
            writer.settle(sorted(touched))

        self._write(project, change)

    def derive(self, project: str) -> None:
        """See ``GraphStore.derive``."""
        self._prepare()

        def change(writer: _Writer) -> None:
            said = writer.run(cypher.MENTIONS)
            ((chunks,),) = writer.run(cypher.CHUNKS)
            edges = edge_records(
                *derive_edges(
                    np.array([point_id(chunk) for chunk, _, _ in said], np.int64),
                    np.array([point_id(entity) for _, entity, _ in said], np.int64),
                    np.array([weight for _, _, weight in said], np.float64),
                    chunks,
                )
            )
            ((untied,),) = writer.run(cypher.UNSAID[DERIVED], ids=[""])
            writer.say((edge, "") for edge in edges)
            writer.settle(untied)

        self._write(project, change)

    def generation(self, project: str) -> int:
        """Grows with every change; 0 where there never was one."""
        return self._read(project, None, lambda reader: reader.gate()[1])

    def documents(self, project: str) -> frozenset[str]:
        """The ids of the documents whose graphs are held."""
        return self._read(project, None, lambda reader: frozenset(id for (id,) in reader.rows(cypher.DOCUMENTS)))

    def load(self, project: str, types: Types) -> None:
        """See ``GraphStore.load``: here it is the connection."""
        self.generation(project)

    def nodes(self, project: str, ids: Sequence[str], scope: Scope = None) -> dict[str, Node]:
        """See ``GraphStore.nodes``."""
        return self._read(project, scope, lambda reader: reader.nodes(ids))

    def find(
        self, project: str, name: str, types: Types = None, scope: Scope = None, limit: int = PAGE_SIZE
    ) -> list[NodeMatch]:
        """See ``GraphStore.find``."""
        check_limits(rows=limit)
        wanted = normalise_name(name) if is_text(name, TITLE_CHARS) else ""
        return self._read(project, scope, lambda reader: _found(reader, wanted, types, limit)) if wanted else []

    def counts(self, project: str, scope: Scope = None) -> Counts:
        """See ``GraphStore.counts``."""
        return self._read(project, scope, _counted)

    def degrees(self, project: str, id: str, scope: Scope = None) -> list[Degree]:
        """See ``GraphStore.degrees``."""

        def count(reader: _Reader) -> list[Degree]:
            out = dict(reader.rows(reader.see.degrees["out"], ids=_ids([id]), types=EDGE_TYPES))
            into = dict(reader.rows(reader.see.degrees["in"], ids=_ids([id]), types=EDGE_TYPES))
            both = [(Degree(t, "out", out.get(t, 0)), Degree(t, "in", into.get(t, 0))) for t in EDGE_TYPES]
            return [degree for pair in both for degree in pair if degree.count]

        return self._read(project, scope, count)

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
        """See ``GraphStore.neighbours``."""
        check_limits(ids=len(ids), rows=limit, offset=offset)

        def page(reader: _Reader) -> NodePage:
            asked = {"ids": _ids(ids), "types": _listed(types)}
            ((total,),) = reader.rows(reader.see.row_count[direction], **asked)
            rows = reader.rows(reader.see.rows[direction], **asked, order=cypher.ORDER, offset=offset, limit=limit)
            nodes = reader.nodes([id for id, *_ in rows])
            edges = reader.edges([tuple(key) for _, *key in rows])
            return NodePage(tuple(Neighbour(nodes[id], edges[*key]) for id, *key in rows), total)

        return self._read(project, scope, page)

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
        """See ``GraphStore.expand``."""
        check_limits(ids=len(ids), hops=hops, nodes=limit)
        return self._read(project, scope, lambda reader: _expanded(reader, ids, hops, types, direction, limit))

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
        """See ``GraphStore.paths``."""
        check_limits(ids=max(len(sources), len(targets)), max_hops=max_hops, paths=limit)
        return self._read(
            project, scope, lambda reader: _connected(reader, sources, targets, max_hops, types, limit)
        )

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
        """See ``GraphStore.ranks``."""
        check_limits(ids=len(seeds), damping=damping, iterations=iterations, ranks=limit)
        walked = _Walk(seeds, types, damping, iterations, limit)
        return self._read(project, scope, walked.ranks)

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
        """See ``GraphStore.owned_ranks``."""
        check_limits(ids=len(seeds), damping=damping, iterations=iterations, ranks=limit)
        walked = _Walk(seeds, types, damping, iterations, limit)
        return self._read(project, scope, walked.owned)

    def export(self, project: str) -> Iterator[DocumentGraph]:
        """See ``GraphStore.export``."""
        for (id,) in self._read(project, None, lambda reader: reader.rows(cypher.DOCUMENTS)):
            yield self._read(project, None, lambda reader, id=id: _document(reader, id))  # type: ignore[misc]

    def close(self) -> None:
        """Close all connections."""
        self._driver.close()

    def _prepare(self) -> None:
        if self._prepared:
            return
        with self._mapped(), self._driver.session(database=self._database) as session:
            for statement in cypher.INDEXES:
                session.run(statement).consume()
            session.run("CALL db.awaitIndexes(60)").consume()
        self._prepared = True

    def _write(self, project: str, change: Callable[[_Writer], None]) -> None:
        with (
            self._mapped(),
            self._session(WRITE_ACCESS) as session,
            session.begin_transaction(timeout=_WRITE_SECONDS) as transaction,
        ):
            writer = _Writer(transaction, self._space + project)
            writer.run(cypher.LOCKED)
            change(writer)
            self._run(project, cypher.BEGUN)
            try:
                transaction.commit()
            finally:
                self._open_gate(project)

    def _open_gate(self, project: str, seconds: float = _WRITE_SECONDS) -> None:
        """Once nobody is committing a change."""
        self._run(project, cypher.LOCKED, cypher.DONE, seconds=seconds)

    def _run(self, project: str, *statements: str, seconds: float = _WRITE_SECONDS) -> None:
        with (
            self._session(WRITE_ACCESS) as session,
            session.begin_transaction(timeout=seconds) as transaction,
        ):
            for statement in statements:
                transaction.run(statement, project=self._space + project).consume()
            transaction.commit()

    def _read(self, project: str, scope: Scope, work: Callable[[_Reader], T]) -> T:
        admitted = None if scope is None else _ids(scope)
        began, is_abandoned = time.monotonic(), False
        while (waited := time.monotonic() - began) <= self._query_seconds:
            deadlines.check()
            with self._mapped(), self._session(READ_ACCESS) as session:
                answers = self._attempt(session, _Asked(self._space + project, admitted), work)
            if answers:
                return answers[0]
            if waited > _ABANDONED_SECONDS and not is_abandoned:
                is_abandoned = True
                with suppress(DriverError, Neo4jError):  # who may only read waits for somebody who may write
                    self._open_gate(project, self._query_seconds)
            time.sleep(_PAUSE_SECONDS)
        raise WinnowError("INDEX_UNAVAILABLE", "the graph is being written; ask again in a moment", retryable=True)

    def _attempt(self, session: Session, asked: _Asked, work: Callable[[_Reader], T]) -> list[T]:
        """The answer, or nothing where a change was being written meanwhile."""
        gates: list[Gate] = []

        # 0 would be no limit
        @unit_of_work(timeout=max(_PAUSE_SECONDS, deadlines.current().at_most(self._query_seconds)))
        def attempt(transaction: ManagedTransaction) -> list[T]:
            reader = _Reader(transaction, asked)
            gates.append(reader.gate())
            if gates[0][0] != gates[0][1]:
                return []
            answer = work(reader)
            return [answer] if reader.gate() == gates[0] else []

        try:
            return session.execute_read(attempt)
        except (LookupError, TypeError, ValueError, Neo4jError):
            # half a change is nodes that are gone between two statements, or bare of their fields
            if not gates or session.execute_read(lambda again: _Reader(again, asked).gate()) == gates[0]:
                raise
            return []

    def _session(self, access: str) -> Any:
        return self._driver.session(database=self._database, default_access_mode=access, fetch_size=_AT_ONCE)

    @contextmanager
    def _mapped(self) -> Iterator[None]:
        try:
            yield
        except Neo4jError as error:
            if "TimedOut" in (error.code or ""):
                message = f"the graph took longer than {self._query_seconds} s; ask for fewer hops or types"
                raise WinnowError("TIMEOUT", message) from error
            message = f"the graph at {self._address} answered {error.code}; its log says more"
            raise WinnowError("INDEX_UNAVAILABLE", message) from error
        except (DriverError, ValueError) as error:
            raise _unusable(self._address, type(error).__name__) from error


@dataclass(frozen=True, slots=True)
class _Asked:
    """Whose graph is read, and of it what ``scope`` (document ids, None for all) admits."""

    project: str
    scope: list[str] | None


@dataclass(frozen=True, slots=True)
class _Reader:
    """One read: statements see what is asked for and nothing else."""

    transaction: ManagedTransaction
    asked: _Asked

    @property
    def see(self) -> cypher.Reads:
        """The statements that read what the caller sees."""
        return cypher.WHOLE if self.asked.scope is None else cypher.SCOPED

    def rows(self, statement: str, **values: Any) -> list[Any]:
        """What the statement returns, row by row."""
        deadlines.check()
        asked = self.asked
        return self.transaction.run(statement, project=asked.project, scope=asked.scope, **values).values()

    def gate(self) -> Gate:
        """How many changes of the project were begun and how many are done."""
        found = self.rows(cypher.GATE)
        return (found[0][0], found[0][1]) if found else (0, 0)

    def nodes(self, ids: Sequence[str]) -> dict[str, Node]:
        """Those of these nodes that exist, by id, in the order asked for."""
        found = {}
        for some in _portions(_ids(ids)):
            for *fields, document_id in self.rows(self.see.nodes, ids=some):
                found[fields[0]] = Node(*(*fields, document_id or ""))
        return {id: found[id] for id in ids if id in found}

    def edges(self, keys: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], Edge]:
        """The edges with these sources, targets and types; what several documents say as one."""
        same: dict[tuple[str, ...], list[Edge]] = {}
        for some in _portions(sorted(set(keys))):
            for row in self.rows(self.see.edges, keys=[list(key) for key in some]):
                same.setdefault(tuple(row[:3]), []).append(_edge(row))
        evidence = sorted({chunk for edges in same.values() for edge in edges for chunk in edge.evidence})
        shown = {id for some in _portions(evidence) for (id,) in self.rows(self.see.evidence, ids=some)}
        return {key: _merged(edges, shown) for key, edges in same.items()}


@dataclass(frozen=True, slots=True)
class _Writer:
    """One change of a project."""

    transaction: Transaction
    project: str

    def run(self, statement: str, **values: Any) -> list[Any]:
        """What the statement returns, row by row."""
        return self.transaction.run(statement, project=self.project, **values).values()

    def take_out(self, ids: Sequence[str]) -> set[str]:
        """All that these documents contribute; returns the ids of the nodes that may have lost their reason."""
        if not (ids := [id for (id,) in self.run(cypher.KNOWN, ids=ids)]):
            return set()
        statements = [*cypher.UNSAID.values(), cypher.UNNAMED, cypher.DISOWNED]
        return {id for each in statements for (those,) in self.run(each, ids=ids) for id in those}

    def put_in(self, graphs: Sequence[DocumentGraph]) -> None:
        """All that these documents contribute."""
        uris = {graph.document_id: _uri(graph) for graph in graphs}
        self._many(cypher.SOURCES, [{"document_id": id, "uri": uri} for id, uri in uris.items()])
        nodes = [node for graph in graphs for node in graph.nodes]
        for label, statement in cypher.OWNED.items():
            self._many(statement, [_properties(node) for node in nodes if node.label == label])
        self._many(
            cypher.NAMING,
            [
                _naming(node, graph.document_id, uris[graph.document_id])
                for graph in graphs
                for node in graph.nodes
                if node.label == "Entity"
            ],
        )
        self.say(
            (edge, uris[graph.document_id]) for graph in graphs for edge in document_graph(build_part(graph)).edges
        )

    def say(self, edges: Iterable[tuple[Edge, str]]) -> None:
        """Edges, each with the uri of its document, no two of which agree in all of document, ends and type."""
        rows: dict[str, list[dict[str, Any]]] = {}
        for edge, uri in edges:
            rows.setdefault(edge.type, []).append(_relation(edge, uri))
        for type, those in rows.items():
            self._many(cypher.SAYING[type], those)

    def settle(self, ids: Sequence[str]) -> None:
        """Give entities their titles and types; drop nodes that nobody contributes and nothing points at."""
        for some in _portions(ids):
            for statement in (cypher.RESOLVED, cypher.UNRESOLVED, cypher.SWEPT):
                self.run(statement, ids=some)

    def _many(self, statement: str, rows: Sequence[Any]) -> None:
        for some in _portions(rows):
            self.run(statement, rows=some)


@dataclass(slots=True)
class _Fetched:
    """The part of a graph that a walk has come to, with edges of these types.

    ``complete`` has the nodes whose edges are all there; ``full`` says that the walk was not let fetch them all.
    """

    reader: _Reader
    types: Types
    titles: dict[str, str] = field(default_factory=dict)
    edges: dict[Key, float] = field(default_factory=dict)
    ends: dict[str, set[str]] = field(default_factory=dict)
    complete: set[str] = field(default_factory=set)
    full: bool = False

    def start(self, ids: Sequence[str]) -> list[str]:
        """Begin at those of these nodes that exist."""
        nodes = self.reader.nodes(ids)
        self.titles |= {id: node.title for id, node in nodes.items()}
        return list(nodes)

    def fetch(self, ids: Iterable[str]) -> None:
        """The edges of these nodes."""
        for some in _portions(sorted(set(ids) - self.complete)):
            self._add(self.reader.see.fetch, some)
            self.complete |= set(some)

    def connect(self, ids: Iterable[str], ends: Iterable[str]) -> None:
        """The edges between these and those nodes alone."""
        for some in _portions(sorted(set(ids) - self.complete)):
            self._add(self.reader.see.between, some, ends=sorted(set(ends)))

    def cost(self, ids: Iterable[str]) -> int:
        """About how many edges ``fetch`` would bring."""
        rows = [self.reader.rows(cypher.COST, ids=some) for some in _portions(sorted(set(ids) - self.complete))]
        return sum(count for ((count,),) in rows)

    def around(self, ids: Iterable[str]) -> set[str]:
        """What is next to any of these nodes."""
        self.fetch(ids)
        return {end for id in ids for end in self.ends.get(id, ())}

    def _add(self, statement: str, ids: Sequence[str], **values: Any) -> None:
        room = max(_MOST_EDGES - len(self.edges), 0)
        rows = self.reader.rows(statement, ids=ids, types=_listed(self.types), limit=room + 1, **values)
        self.full = self.full or len(rows) > room
        for source, target, type, weight, id, title in rows:
            self.edges[source, target, type] = weight
            self.titles[id] = title
            self.ends.setdefault(source, set()).add(target)
            self.ends.setdefault(target, set()).add(source)

    def graph(self) -> Graph:
        """What is there so far, without evidence."""
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


@dataclass(frozen=True, slots=True)
class _Walk:
    """What ``GraphStore.ranks`` was asked."""

    seeds: Mapping[str, float]
    types: Types
    damping: float
    iterations: int
    limit: int

    def ranks(self, reader: _Reader) -> list[tuple[str, float]]:
        """Fetched and walked until the walk reads nothing that was not fetched."""
        part = _Fetched(reader, self.types)
        part.start(list(self.seeds))
        while True:
            graph = part.graph()
            _, read = page_rank.compute_scores(graph, self.seeds, None, self.damping, self.iterations)
            wanted = {graph.nodes[at].id for at in np.flatnonzero(read).tolist()} - part.complete
            if not wanted or part.full:
                return page_rank.ranks(graph, self.seeds, None, self.damping, self.iterations, self.limit)
            part.fetch(wanted)

    def owned(self, reader: _Reader) -> list[NodeRank]:
        """The ranks, and then whose they are."""
        ranks = dict(self.ranks(reader))
        nodes = reader.nodes(list(ranks)).values()
        return [
            NodeRank(node.id, node.label, node.document_id, ranks[node.id]) for node in nodes if node.document_id
        ]


def _expanded(
    reader: _Reader, ids: Sequence[str], hops: int, types: Types, direction: Direction, limit: int
) -> Neighbourhood:
    seeds = reader.nodes(ids)
    found = [(0, 0.0, node.title, id, node.type) for id, node in seeds.items()]
    frontier, seen = list(seeds), set(seeds)
    for distance in range(1, hops + 1):
        level: dict[str, tuple[int, float, str, str, str]] = {}
        for some in _portions(frontier):
            for id, title, type, weight in reader.rows(
                reader.see.level[direction], ids=some, types=_listed(types)
            ):
                if id not in seen:
                    row = (distance, -weight, title, id, type)
                    level[id] = min(row, level.get(id, row))
        found += level.values()
        frontier = list(level)
        seen |= level.keys()
    found.sort()
    shown = [id for _, _, _, id, _ in found[:limit]]
    among = reader.rows(reader.see.among, ids=shown, types=_listed(types), order=cypher.ORDER)
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


def _connected(
    reader: _Reader, sources: Sequence[str], targets: Sequence[str], max_hops: int, types: Types, limit: int
) -> Paths:
    part = _Fetched(reader, types)
    starts = part.start(sources)
    ends = [id for id in part.start(targets) if id not in starts]
    frontiers, balls = [set(starts), set(ends)], [set(starts), set(ends)]
    for hops in range(1, max_hops + 1):
        if not all(frontiers):
            break  # all that one side can reach is known
        costs = [part.cost(frontier) for frontier in frontiers]
        near = costs.index(min(costs))
        if hops == max_hops:
            part.connect(frontiers[near], frontiers[1 - near])
            break  # a way's middle edge joins the two; its others are known
        frontiers[near] = part.around(frontiers[near]) - balls[near]
        balls[near] |= frontiers[near]
        frontiers[near] -= balls[1 - near] & set((ends, starts)[near])
        found = path_search.paths(part.graph(), starts, ends, hops, None, limit)
        if not found.complete or part.full:
            return _told(reader, found, False)
    found = path_search.paths(part.graph(), starts, ends, max_hops, None, limit)
    return _told(reader, found, found.complete and not part.full)


def _told(reader: _Reader, found: Paths, complete: bool) -> Paths:
    """The paths with whole records in the place of what a walk needs of them."""
    nodes = reader.nodes([node.id for path in found.paths for node in path.nodes])
    edges = reader.edges([_key(edge) for path in found.paths for edge in path.edges])
    return Paths(
        tuple(
            Path(tuple(nodes[node.id] for node in path.nodes), tuple(edges[_key(edge)] for edge in path.edges))
            for path in found.paths
        ),
        complete,
    )


def _found(reader: _Reader, wanted: str, types: Types, limit: int) -> list[NodeMatch]:
    exact = [id for (id,) in reader.rows(reader.see.exact, name=wanted)]
    wanted_types = None if types is None else [type for type in types if is_text(type, TYPE_CHARS)]
    prefixed = [id for (id,) in reader.rows(reader.see.prefixed, name=wanted, kinds=wanted_types, limit=limit)]
    aliased = [id for (id,) in reader.rows(reader.see.aliased, ids=exact, types=["ALIAS_OF"])]
    kinds: Sequence[tuple[MatchKind, Iterable[str]]] = (("name", exact), ("alias", aliased), ("prefix", prefixed))
    nodes = reader.nodes([id for _, ids in kinds for id in ids])
    matches: dict[str, NodeMatch] = {}
    for how, ids in kinds:
        for node in sorted((nodes[id] for id in ids), key=lambda node: (node.title, node.id)):
            if types is None or node.type in types:
                matches.setdefault(node.id, NodeMatch(node, how))
    return list(matches.values())[:limit]


def _counted(reader: _Reader) -> Counts:
    labels: dict[Label, int] = dict.fromkeys(LABELS, 0)
    entity_types: dict[str, int] = {}
    for label, type, count in reader.rows(reader.see.count_nodes):
        labels[label] += count
        if label == "Entity":
            entity_types[type] = count
    edges = dict(reader.rows(reader.see.count_edges))
    return Counts(
        {label: count for label, count in labels.items() if count},
        dict(sorted(entity_types.items())),
        {type: edges[type] for type in EDGE_TYPES if type in edges},
    )


def _document(reader: _Reader, id: str) -> DocumentGraph:
    own = [Node(*row) for row in reader.rows(cypher.OWN_NODES, id=id)]
    named = [Node(*row) for row in reader.rows(cypher.OWN_NAMES, id=id)]
    edges = [_edge(row) for statement in cypher.OWN_EDGES.values() for row in reader.rows(statement, id=id)]
    nodes = sorted((*own, *named), key=lambda node: node.id)
    return DocumentGraph(id, tuple(nodes), tuple(sorted(edges, key=edge_order)))


def _edge(row: Sequence[Any]) -> Edge:
    source, target, type, weight, confidence, evidence, document_id = row
    return Edge(source, target, type, weight, confidence, tuple(evidence), document_id)


def _merged(same: Sequence[Edge], shown: set[str]) -> Edge:
    """Edges that agree in ends and type, heavier first, as one, with the evidence that is ``shown``."""
    evidence = [chunk for edge in same for chunk in edge.evidence if chunk in shown]
    return replace(
        same[0],
        confidence=max(edge.confidence for edge in same),
        evidence=tuple(evidence[:MAX_EVIDENCE]),
        document_id=same[0].document_id if len(same) == 1 else "",
    )


def _key(edge: Edge) -> tuple[str, ...]:
    return edge.source, edge.target, edge.type


def _uri(graph: DocumentGraph) -> str:
    return next((node.anchor for node in graph.nodes if node.id == graph.document_id), "")


def _properties(node: Node) -> dict[str, str | int]:
    names = {} if node.label == "Chunk" else {"name": normalise_name(node.title)}
    return asdict(node) | names


def _naming(node: Node, document_id: str, uri: str) -> dict[str, str]:
    place, type = entity_type_order(node.type)
    return {
        "id": node.id,
        "document_id": document_id,
        "uri": uri,
        "title": node.title,
        "name": normalise_name(node.title),
        "told": f"{place:02} {type}",
    }


def _relation(edge: Edge, uri: str) -> dict[str, Any]:
    fields = {
        "document_id": edge.document_id,
        "uri": uri,
        "weight": float(edge.weight),
        "confidence": float(edge.confidence),
        "evidence": list(edge.evidence),
    }
    return {"source": edge.source, "target": edge.target, "fields": fields}


def _ids(ids: Iterable[str]) -> list[str]:
    """Those that can be ids, each once: nothing else is sent, because not everything can be."""
    return sorted({id for id in ids if is_chunk_id(id)})


def _listed(types: Types) -> list[str]:
    return [type for type in EDGE_TYPES if types is None or type in types]


def _portions(values: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]


def _unusable(address: Address, why: str) -> WinnowError:
    return WinnowError(
        "INDEX_UNAVAILABLE", f"the graph at {address} cannot be used ({why}); is Neo4j running there?"
    )
