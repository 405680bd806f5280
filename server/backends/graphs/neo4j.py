"""The graph store on a Neo4j server: the same answers in the same order as ``sqlite_graph``.

What is stored::

    (:Winnow:Document|Section|Chunk|Entity)     a node; without the second label it is only a target of edges
    (:Winnow)-[:PART_OF|NEXT|...]->(:Winnow)    an edge, once for each document that contributes it
    (:WinnowSource)-[:NAMES]->(:Winnow:Entity)  the name and type that a document gives an entity
    (:WinnowProject)                            locked by the writer of the project until its change is written
    (:WinnowGate)                               how many changes were begun, and how many of them are done

Theory of operation. Statements are constants, values are parameters, and the names of labels and relations come
from closed lists (``retrieval.graph.records``). ``cypher`` has the statements, ``neo4j_reads`` what runs in one
read, ``neo4j_writes`` what runs in one change; this module has the connection, the transactions and the gate.

Neo4j isolates neither reads nor commits: a statement sees what is committed when it runs, and of a transaction
that is being committed some records and not yet others. So a change is one transaction between two small ones. It
locks the project and does its work, invisible to readers; then "begun" is counted up, the work committed, and
"done" set to "begun". A read in one transaction counts if the gate was open (both numbers equal) when it started
and had not moved when it ended; otherwise it is repeated. A writer that died in between leaves the gate shut: the
next process that gets the lock of the project knows that nobody commits, and opens it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import numpy as np
from neo4j import READ_ACCESS, WRITE_ACCESS, GraphDatabase, ManagedTransaction, Session, unit_of_work
from neo4j.exceptions import DriverError, Neo4jError

from winnow.server.backends.graphs import cypher
from winnow.server.backends.graphs.neo4j_reads import (
    BATCH_ROWS,
    Gate,
    GraphReader,
    ReadScope,
    count_graph,
    expand,
    find_nodes,
    find_paths,
    rank_nodes,
    rank_owned_nodes,
    read_document,
    type_list,
    valid_ids,
)
from winnow.server.backends.graphs.neo4j_writes import GraphWriter
from winnow.server.errors import WinnowError
from winnow.server.ids import point_id
from winnow.server.retrieval.graph.base import (
    PAGE_SIZE,
    Counts,
    Degree,
    Direction,
    Neighbour,
    Neighbourhood,
    NodeMatch,
    NodePage,
    NodeRank,
    Paths,
    RankQuery,
    Scope,
    Types,
    check_limits,
)
from winnow.server.retrieval.graph.cooccurrence import derive_edges
from winnow.server.retrieval.graph.merged_graph import edge_records
from winnow.server.retrieval.graph.records import (
    DERIVED,
    EDGE_TYPES,
    TITLE_CHARS,
    DocumentGraph,
    Node,
    is_text,
    normalise_name,
    validate_graph,
)
from winnow.server.runtime import deadlines
from winnow.server.runtime.remote import remote_backend
from winnow.server.settings.addresses import Address

CONNECT_SECONDS = 1.5
QUERY_SECONDS = 2.0
# Replacing one document takes milliseconds; the derived edges of a large project take longest.
_WRITE_SECONDS = 120.0
# Pause before a read that met a change is repeated; a commit of some thousand records takes tens of milliseconds.
_PAUSE_SECONDS = 0.01
# A gate that is shut for longer may have been left by a writer that died.
_ABANDONED_SECONDS = 0.5
# A connection that was idle for longer is tested before use: the server may have been restarted.
_IDLE_SECONDS = 10.0

T = TypeVar("T")


class Neo4jGraph:
    """The ``GraphStore`` on the server at ``url``; the first change creates the indexes.

    Stores that share a server need a ``space`` each, which keeps their projects apart.

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
        self._remote = remote_backend("neo4j", f"the graph at {self._address}", "INDEX_UNAVAILABLE")
        self._database = database
        self._space = space
        self._query_seconds = query_seconds
        self._has_indexes = False
        with self._map_errors():
            self._driver = GraphDatabase.driver(
                url,
                auth=(user, password) if user else None,
                connection_timeout=connect_seconds,
                connection_acquisition_timeout=2 * connect_seconds,
                # No retries: the caller gets the error at once and may repeat the call.
                max_transaction_retry_time=0,
                liveness_check_timeout=_IDLE_SECONDS,
                notifications_min_severity="OFF",
                user_agent="winnow",
            )

    def apply(self, project: str, replaced: Sequence[DocumentGraph] = (), deleted: Sequence[str] = ()) -> None:
        """See ``GraphStore.apply``."""
        for graph in replaced:
            validate_graph(graph)
        self._create_indexes()
        graphs = list({graph.document_id: graph for graph in replaced}.values())
        removed = valid_ids({*deleted, *(graph.document_id for graph in graphs)})

        def change(writer: GraphWriter) -> None:
            touched = writer.delete(removed)
            writer.write(graphs)
            touched |= {node.id for graph in graphs for node in graph.nodes if node.label == "Entity"}
            writer.update_entities(sorted(touched))

        self._write(project, change)

    def derive(self, project: str) -> None:
        """See ``GraphStore.derive``."""
        self._create_indexes()

        def change(writer: GraphWriter) -> None:
            mentions = writer.run(cypher.MENTIONS)
            ((chunks,),) = writer.run(cypher.COUNT_CHUNKS)
            edges = edge_records(
                *derive_edges(
                    np.array([point_id(chunk) for chunk, _, _ in mentions], np.int64),
                    np.array([point_id(entity) for _, entity, _ in mentions], np.int64),
                    np.array([weight for _, _, weight in mentions], np.float64),
                    chunks,
                )
            )
            ((ends,),) = writer.run(cypher.DELETE_EDGES[DERIVED], ids=[""])
            writer.write_edges((edge, "") for edge in edges)
            writer.update_entities(ends)

        self._write(project, change)

    def generation(self, project: str) -> int:
        """Grows with every change; 0 before the first."""
        return self._read(project, None, lambda reader: reader.gate()[1])

    def documents(self, project: str) -> frozenset[str]:
        """The ids of the documents whose graphs are stored."""
        return self._read(
            project, None, lambda reader: frozenset(id for (id,) in reader.rows(cypher.DOCUMENT_IDS))
        )

    def load(self, project: str, types: Types) -> None:
        """See ``GraphStore.load``; here it opens the connection."""
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
        return (
            self._read(project, scope, lambda reader: find_nodes(reader, wanted, types, limit)) if wanted else []
        )

    def counts(self, project: str, scope: Scope = None) -> Counts:
        """See ``GraphStore.counts``."""
        return self._read(project, scope, count_graph)

    def degrees(self, project: str, id: str, scope: Scope = None) -> list[Degree]:
        """See ``GraphStore.degrees``."""

        def count(reader: GraphReader) -> list[Degree]:
            out = dict(reader.rows(reader.statements.degrees["out"], ids=valid_ids([id]), types=EDGE_TYPES))
            into = dict(reader.rows(reader.statements.degrees["in"], ids=valid_ids([id]), types=EDGE_TYPES))
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

        def page(reader: GraphReader) -> NodePage:
            asked = {"ids": valid_ids(ids), "types": type_list(types)}
            ((total,),) = reader.rows(reader.statements.row_count[direction], **asked)
            rows = reader.rows(
                reader.statements.rows[direction], **asked, order=cypher.ORDER, offset=offset, limit=limit
            )
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
        return self._read(project, scope, lambda reader: expand(reader, ids, hops, types, direction, limit))

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
            project, scope, lambda reader: find_paths(reader, sources, targets, max_hops, types, limit)
        )

    def ranks(self, project: str, query: RankQuery, scope: Scope = None) -> list[tuple[str, float]]:
        """See ``GraphStore.ranks``."""
        return self._read(project, scope, lambda reader: rank_nodes(reader, query))

    def owned_ranks(self, project: str, query: RankQuery, scope: Scope = None) -> list[NodeRank]:
        """See ``GraphStore.owned_ranks``."""
        return self._read(project, scope, lambda reader: rank_owned_nodes(reader, query))

    def export(self, project: str) -> Iterator[DocumentGraph]:
        """See ``GraphStore.export``."""
        for (id,) in self._read(project, None, lambda reader: reader.rows(cypher.DOCUMENT_IDS)):
            yield self._read(project, None, lambda reader, id=id: read_document(reader, id))  # type: ignore[misc]

    def close(self) -> None:
        """Close all connections."""
        self._driver.close()

    def _create_indexes(self) -> None:
        if self._has_indexes:
            return
        with self._remote.call(), self._map_errors(), self._driver.session(database=self._database) as session:
            for statement in cypher.INDEXES:
                session.run(statement).consume()
            session.run("CALL db.awaitIndexes(60)").consume()
        self._has_indexes = True

    def _write(self, project: str, change: Callable[[GraphWriter], None]) -> None:
        with (
            self._remote.call(),
            self._map_errors(),
            self._session(WRITE_ACCESS) as session,
            session.begin_transaction(timeout=_WRITE_SECONDS) as transaction,
        ):
            writer = GraphWriter(transaction, self._space + project)
            writer.run(cypher.LOCK_PROJECT)
            change(writer)
            self._run(project, cypher.BEGIN_CHANGE)
            try:
                transaction.commit()
            finally:
                self._open_gate(project)

    def _open_gate(self, project: str, seconds: float = _WRITE_SECONDS) -> None:
        """Open the gate as soon as no process is committing a change."""
        self._run(project, cypher.LOCK_PROJECT, cypher.END_CHANGES, seconds=seconds)

    def _run(self, project: str, *statements: str, seconds: float = _WRITE_SECONDS) -> None:
        with (
            self._session(WRITE_ACCESS) as session,
            session.begin_transaction(timeout=seconds) as transaction,
        ):
            for statement in statements:
                transaction.run(statement, project=self._space + project).consume()
            transaction.commit()

    def _read(self, project: str, scope: Scope, work: Callable[[GraphReader], T]) -> T:
        admitted = None if scope is None else valid_ids(scope)
        began, is_abandoned = time.monotonic(), False
        while (waited := time.monotonic() - began) <= self._query_seconds:
            deadlines.check_deadline()
            with self._remote.call(), self._map_errors(), self._session(READ_ACCESS) as session:
                answers = self._attempt(session, ReadScope(self._space + project, admitted), work)
            if answers:
                return answers[0]
            if waited > _ABANDONED_SECONDS and not is_abandoned:
                is_abandoned = True
                with suppress(DriverError, Neo4jError):  # a read-only user waits for one that may write
                    self._open_gate(project, self._query_seconds)
            time.sleep(_PAUSE_SECONDS)
        raise WinnowError(
            "INDEX_UNAVAILABLE", "the graph is being written; repeat the call in a moment", retryable=True
        )

    def _attempt(self, session: Session, asked: ReadScope, work: Callable[[GraphReader], T]) -> list[T]:
        """The answer in a list, or an empty list where a change was being written meanwhile."""
        gates: list[Gate] = []

        # a timeout of 0 would mean no limit
        @unit_of_work(timeout=max(_PAUSE_SECONDS, deadlines.current_deadline().at_most(self._query_seconds)))
        def attempt(transaction: ManagedTransaction) -> list[T]:
            reader = GraphReader(transaction, asked)
            gates.append(reader.gate())
            if gates[0][0] != gates[0][1]:
                return []
            answer = work(reader)
            return [answer] if reader.gate() == gates[0] else []

        try:
            return session.execute_read(attempt)
        except (LookupError, TypeError, ValueError, Neo4jError):
            # During a commit nodes may vanish between two statements, or lack their fields.
            if not gates or session.execute_read(lambda again: GraphReader(again, asked).gate()) == gates[0]:
                raise
            return []

    def _session(self, access: str) -> Any:
        return self._driver.session(database=self._database, default_access_mode=access, fetch_size=BATCH_ROWS)

    @contextmanager
    def _map_errors(self) -> Iterator[None]:
        try:
            yield
        except Neo4jError as error:
            if "TimedOut" in (error.code or ""):
                message = f"the graph took longer than {self._query_seconds} s; ask for fewer hops or types"
                raise WinnowError("TIMEOUT", message) from error
            message = f"the graph at {self._address} answered {error.code}; see the log of the Neo4j server"
            raise WinnowError("INDEX_UNAVAILABLE", message) from error
        except (DriverError, ValueError) as error:
            is_away = isinstance(error, DriverError)
            raise _unavailable(self._address, type(error).__name__, is_retryable=is_away) from error


def _unavailable(address: Address, why: str, *, is_retryable: bool) -> WinnowError:
    return WinnowError(
        "INDEX_UNAVAILABLE",
        f"the graph at {address} cannot be used ({why}); check that Neo4j runs there and the setting neo4j_url",
        retryable=is_retryable,
    )
