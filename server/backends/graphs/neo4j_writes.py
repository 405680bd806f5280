"""Writes of the graph on Neo4j, inside one transaction: adds or deletes what documents contribute."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from winnow.server.backends.graphs import cypher
from winnow.server.backends.graphs.neo4j_reads import Transaction, batches
from winnow.server.retrieval.graph.merged_graph import build_part, document_graph
from winnow.server.retrieval.graph.records import DocumentGraph, Edge, Node, entity_type_order, normalise_name


@dataclass(frozen=True, slots=True)
class GraphWriter:
    """One write transaction of a project."""

    transaction: Transaction
    project: str

    def run(self, statement: str, **values: Any) -> list[Any]:
        """The rows that the statement returns."""
        return list(self.transaction.run(statement, project=self.project, **values).values())

    def delete(self, ids: Sequence[str]) -> set[str]:
        """Delete all that these documents contribute; returns the ids of nodes that may be unused now."""
        if not (ids := [id for (id,) in self.run(cypher.STORED_DOCUMENTS, ids=ids)]):
            return set()
        statements = [*cypher.DELETE_EDGES.values(), cypher.DELETE_NAMES, cypher.CLEAR_NODES]
        return {id for each in statements for (changed,) in self.run(each, ids=ids) for id in changed}

    def write(self, graphs: Sequence[DocumentGraph]) -> None:
        """Add all that these documents contribute."""
        uris = {graph.document_id: _uri_of(graph) for graph in graphs}
        self._run_batches(cypher.CREATE_SOURCES, [{"document_id": id, "uri": uri} for id, uri in uris.items()])
        nodes = [node for graph in graphs for node in graph.nodes]
        for label, statement in cypher.WRITE_NODES.items():
            self._run_batches(statement, [_properties_of(node) for node in nodes if node.label == label])
        self._run_batches(
            cypher.WRITE_NAMES,
            [
                _name_row(node, graph.document_id, uris[graph.document_id])
                for graph in graphs
                for node in graph.nodes
                if node.label == "Entity"
            ],
        )
        self.write_edges(
            (edge, uris[graph.document_id]) for graph in graphs for edge in document_graph(build_part(graph)).edges
        )

    def write_edges(self, edges: Iterable[tuple[Edge, str]]) -> None:
        """Add edges, each with the uri of its document; no two have equal document, ends and type."""
        rows: dict[str, list[dict[str, Any]]] = {}
        for edge, uri in edges:
            rows.setdefault(edge.type, []).append(_edge_row(edge, uri))
        for type, edge_rows in rows.items():
            self._run_batches(cypher.WRITE_EDGES[type], edge_rows)

    def update_entities(self, ids: Sequence[str]) -> None:
        """Set titles and types of entities; delete nodes that no document contributes and no edge reaches."""
        for batch in batches(ids):
            for statement in (cypher.SET_ENTITY_FIELDS, cypher.CLEAR_ENTITIES, cypher.DELETE_ORPHANS):
                self.run(statement, ids=batch)

    def _run_batches(self, statement: str, rows: Sequence[Any]) -> None:
        for batch in batches(rows):
            self.run(statement, rows=batch)


def _uri_of(graph: DocumentGraph) -> str:
    return next((node.anchor for node in graph.nodes if node.id == graph.document_id), "")


def _properties_of(node: Node) -> dict[str, str | int]:
    names = {} if node.label == "Chunk" else {"name": normalise_name(node.title)}
    return asdict(node) | names


def _name_row(node: Node, document_id: str, uri: str) -> dict[str, str]:
    place, type = entity_type_order(node.type)
    return {
        "id": node.id,
        "document_id": document_id,
        "uri": uri,
        "title": node.title,
        "name": normalise_name(node.title),
        "told": f"{place:02} {type}",
    }


def _edge_row(edge: Edge, uri: str) -> dict[str, Any]:
    fields = {
        "document_id": edge.document_id,
        "uri": uri,
        "weight": float(edge.weight),
        "confidence": float(edge.confidence),
        "evidence": list(edge.evidence),
    }
    return {"source": edge.source, "target": edge.target, "fields": fields}
