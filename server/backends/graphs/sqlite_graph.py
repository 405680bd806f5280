"""The graph store in one SQLite file, with compressed graphs in memory for traversal.

A row is the graph of one document, in columns; replacing a document replaces a row. The first read after a change
joins the rows of a project into one compressed graph (``retrieval.graph.csr_graph``) for each scope in use.
Each read asks for the generation first. See ``server.storage.sqlite`` for how several processes share the file.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from winnow.server.retrieval.graph import page_rank, path_search, traversal
from winnow.server.retrieval.graph.base import (
    PAGE_SIZE,
    Counts,
    Degree,
    Direction,
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
from winnow.server.retrieval.graph.csr_graph import Graph
from winnow.server.retrieval.graph.merged_graph import (
    EDGE_DTYPE,
    DocumentPart,
    MergedGraph,
    build_part,
    build_view,
    document_graph,
    merge_parts,
    read_mentions,
    replace_derived_edges,
)
from winnow.server.retrieval.graph.records import DocumentGraph, Node, validate_graph
from winnow.server.runtime.waits import WaitCounter
from winnow.server.storage.sqlite import Database, Layout

SCHEMA_VERSION = 1
# Scopes whose graphs are kept in memory: each costs about as much as the whole.
_MAX_SCOPES = 8

_SCHEMA = """
CREATE TABLE projects (name TEXT PRIMARY KEY, generation INTEGER NOT NULL);
CREATE TABLE graphs (
    project TEXT NOT NULL, document_id TEXT NOT NULL, uri TEXT NOT NULL,
    nodes TEXT NOT NULL, names BLOB NOT NULL, titles TEXT NOT NULL, edges BLOB NOT NULL, evidence BLOB NOT NULL
);
CREATE UNIQUE INDEX graphs_by_document ON graphs (project, document_id);
CREATE TABLE derived (project TEXT PRIMARY KEY, edges BLOB NOT NULL, evidence BLOB NOT NULL);
"""
_LAYOUT = Layout(SCHEMA_VERSION, _SCHEMA)
_GENERATION = "SELECT generation FROM projects WHERE name = ?"
_PARTS = (
    "SELECT document_id, nodes, names, titles, edges, evidence FROM graphs WHERE project = ?"
    " ORDER BY uri, document_id"
)


class SqliteGraph:
    """The ``GraphStore`` in one SQLite file, created where there is none.

    Raises ``WinnowError("INDEX_UNAVAILABLE")`` where the file is no graph or of a later layout.
    """

    def __init__(self, path: Path) -> None:
        self._guard = threading.Lock()
        self._building = threading.Lock()
        self.waits = WaitCounter()
        self._graphs: OrderedDict[tuple[str, Scope], tuple[int, Graph]] = OrderedDict()
        self._wholes: dict[str, tuple[int, MergedGraph]] = {}
        self._database = Database(path, _LAYOUT.prepare)

    def apply(self, project: str, replaced: Sequence[DocumentGraph] = (), deleted: Sequence[str] = ()) -> None:
        """See ``GraphStore.apply``."""
        for graph in replaced:
            validate_graph(graph)
        rows = [_row(project, build_part(graph)) for graph in replaced]
        gone = [(project, id) for id in (*deleted, *(graph.document_id for graph in replaced))]
        with self._database.transaction() as connection:
            connection.executemany("DELETE FROM graphs WHERE project = ? AND document_id = ?", gone)
            connection.executemany("INSERT INTO graphs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
            _grow(connection, project)

    def derive(self, project: str) -> None:
        """See ``GraphStore.derive``."""
        with self._database.transaction() as connection:
            with self._database.decoding():
                all = _read(connection, project)
            edges, evidence = derive_edges(*read_mentions(all))
            connection.execute(
                "INSERT OR REPLACE INTO derived VALUES (?, ?, ?)", (project, edges.tobytes(), evidence.tobytes())
            )
            _grow(connection, project)
            generation = _generation(connection, project)
        # what was read is what the next read would read again
        self._wholes[project] = generation, replace_derived_edges(all, edges, evidence)

    def generation(self, project: str) -> int:
        """Grows with every change; 0 before the first."""
        rows = self._database.rows(_GENERATION, project)
        return int(rows[0][0]) if rows else 0

    def documents(self, project: str) -> frozenset[str]:
        """The ids of the documents whose graphs are stored."""
        rows = self._database.rows("SELECT document_id FROM graphs WHERE project = ?", project)
        return frozenset(id for (id,) in rows)

    def load(self, project: str, types: Types) -> None:
        """See ``GraphStore.load``."""
        self._graph(project, None).precompute(types)

    def nodes(self, project: str, ids: Sequence[str], scope: Scope = None) -> dict[str, Node]:
        """See ``GraphStore.nodes``."""
        graph = self._graph(project, scope)
        return {id: graph.nodes[graph.positions[id]] for id in ids if id in graph.positions}

    def find(
        self, project: str, name: str, types: Types = None, scope: Scope = None, limit: int = PAGE_SIZE
    ) -> list[NodeMatch]:
        """See ``GraphStore.find``."""
        check_limits(rows=limit)
        return traversal.find(self._graph(project, scope), name, types, limit)

    def counts(self, project: str, scope: Scope = None) -> Counts:
        """See ``GraphStore.counts``."""
        return traversal.counts(self._graph(project, scope))

    def degrees(self, project: str, id: str, scope: Scope = None) -> list[Degree]:
        """See ``GraphStore.degrees``."""
        return traversal.degrees(self._graph(project, scope), id)

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
        return traversal.neighbours(self._graph(project, scope), ids, direction, types, limit, offset)

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
        return traversal.expand(self._graph(project, scope), ids, hops, types, direction, limit)

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
        return path_search.paths(self._graph(project, scope), sources, targets, max_hops, types, limit)

    def ranks(self, project: str, query: RankQuery, scope: Scope = None) -> list[tuple[str, float]]:
        """See ``GraphStore.ranks``."""
        return page_rank.ranks(self._graph(project, scope), query)

    def owned_ranks(self, project: str, query: RankQuery, scope: Scope = None) -> list[NodeRank]:
        """See ``GraphStore.owned_ranks``."""
        return page_rank.owned_ranks(self._graph(project, scope), query)

    def export(self, project: str) -> Iterator[DocumentGraph]:
        """See ``GraphStore.export``."""
        with self._database.decoding():
            for row in self._database.iterate_rows(_PARTS, project):
                yield document_graph(_part(row))

    def close(self) -> None:
        """Close the connections of all threads."""
        self._database.close()

    def _graph(self, project: str, scope: Scope) -> Graph:
        known = self._kept(project, scope, self.generation(project))
        if known is not None:
            self.waits.note(0.0)
            return known
        began = time.perf_counter()
        with self._building:
            self.waits.note(time.perf_counter() - began)
            generation, all = self._whole(project)
            graph = self._kept(project, scope, generation) or build_view(all, scope)
            with self._guard:
                self._graphs[project, scope] = generation, graph
                self._graphs.move_to_end((project, scope))
                while len(self._graphs) > _MAX_SCOPES:
                    self._graphs.popitem(last=False)
            return graph

    def _kept(self, project: str, scope: Scope, generation: int) -> Graph | None:
        with self._guard:
            known = self._graphs.get((project, scope))
            if known is None or known[0] != generation:
                return None
            self._graphs.move_to_end((project, scope))
            return known[1]

    def _whole(self, project: str) -> tuple[int, MergedGraph]:
        known = self._wholes.get(project)
        with self._database.snapshot() as connection, self._database.decoding():
            generation = _generation(connection, project)
            if known is None or known[0] != generation:
                known = self._wholes[project] = generation, _read(connection, project)
        return known


def _generation(connection: sqlite3.Connection, project: str) -> int:
    row = connection.execute(_GENERATION, (project,)).fetchone()
    return int(row[0]) if row else 0


def _grow(connection: sqlite3.Connection, project: str) -> None:
    connection.execute(
        "INSERT INTO projects VALUES (?, 1) ON CONFLICT DO UPDATE SET generation = generation + 1", (project,)
    )


def _row(project: str, part: DocumentPart) -> tuple[Any, ...]:
    uri = next((node.anchor for node in part.nodes if node.id == part.document_id), "")
    titles = _json([part.titles, part.types])
    columns = (part.entity_ids.tobytes(), titles, part.edges.tobytes(), part.evidence.tobytes())
    return project, part.document_id, uri, _json([_fields(node) for node in part.nodes]), *columns


def _fields(node: Node) -> list[str | int]:
    return [node.id, node.label, node.type, node.title, node.level, node.tokens, node.doc_tag, node.anchor]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _part(row: Sequence[Any]) -> DocumentPart:
    id, nodes, names, titles, edges, evidence = row
    named: tuple[list[str], list[str]] = json.loads(titles)
    return DocumentPart(
        id,
        tuple([Node(*(*fields, id)) for fields in json.loads(nodes)]),
        np.frombuffer(names, np.int64),
        *named,
        edges=np.frombuffer(edges, EDGE_DTYPE),
        evidence=np.frombuffer(evidence, np.int64),
    )


def _read(connection: sqlite3.Connection, project: str) -> MergedGraph:
    row = connection.execute("SELECT edges, evidence FROM derived WHERE project = ?", (project,)).fetchone()
    edges, evidence = row or (b"", b"")
    parts = [_part(row) for row in connection.execute(_PARTS, (project,))]
    return merge_parts(parts, np.frombuffer(edges, EDGE_DTYPE), np.frombuffer(evidence, np.int64))
