"""The Cypher statements of the graph on Neo4j: constants, with parameters for every value.

Names of labels and relations come from closed lists (``server.retrieval.graph.records``). Every statement has the
parameter ``$project``; reads within a scope have ``$scope`` too, the ids of admitted documents. Reads without a
scope have simpler statements, which the server plans in less time. ``r`` is an edge, ``n`` and
``m`` are its ends, ``k`` is the name that a document gives an entity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from winnow.server.retrieval.graph.base import Direction
from winnow.server.retrieval.graph.records import EDGE_TYPES, LABELS

ORDER: Mapping[str, int] = {type: at for at, type in enumerate(EDGE_TYPES)}
INDEXES = (
    "CREATE CONSTRAINT winnow_node IF NOT EXISTS FOR (n:Winnow) REQUIRE (n.project, n.id) IS UNIQUE",
    "CREATE CONSTRAINT winnow_source IF NOT EXISTS FOR (n:WinnowSource)"
    " REQUIRE (n.project, n.document_id) IS UNIQUE",
    "CREATE CONSTRAINT winnow_project IF NOT EXISTS FOR (n:WinnowProject) REQUIRE n.name IS UNIQUE",
    "CREATE CONSTRAINT winnow_gate IF NOT EXISTS FOR (n:WinnowGate) REQUIRE n.name IS UNIQUE",
    "CREATE INDEX winnow_owner IF NOT EXISTS FOR (n:Winnow) ON (n.project, n.document_id)",
    "CREATE INDEX winnow_name IF NOT EXISTS FOR (n:Winnow) ON (n.project, n.name)",
    "CREATE INDEX winnow_names IF NOT EXISTS FOR ()-[r:NAMES]-() ON (r.project, r.name)",
    *(
        f"CREATE INDEX winnow_{type.lower()} IF NOT EXISTS FOR ()-[r:{type}]-() ON (r.project, r.document_id)"
        for type in EDGE_TYPES
    ),
)
_PATTERNS: Mapping[Direction, str] = MappingProxyType(
    {
        "out": "(n)-[r]->(m:Winnow)",
        "in": "(n)<-[r]-(m:Winnow)",
        "both": "(n)-[r]-(m:Winnow)",
    }
)
READ_GATE = "MATCH (g:WinnowGate {name: $project}) RETURN g.begun, g.done"


@dataclass(frozen=True, slots=True)
class Reads:
    """The statements that read the graph for one kind of scope; by direction where there is one.

    ``nodes``, ``evidence``, ``among`` and all that are by direction take ``$ids``.
    """

    nodes: str
    evidence: str
    edges: str
    rows: Mapping[Direction, str]
    row_count: Mapping[Direction, str]
    level: Mapping[Direction, str]
    degrees: Mapping[Direction, str]
    among: str
    fetch: str
    between: str
    count_nodes: str
    count_edges: str
    exact: str
    prefixed: str
    aliased: str


@dataclass(frozen=True, slots=True)
class _View:
    """Conditions of one scope: that node m (n, o), edge r, chunk c and name k are visible; title and type of m."""

    node: str
    edge: str
    chunk: str
    name: str
    title: str
    type: str


_WHOLE = _View("{0}.label IS NOT NULL", "true", "true", "true", "m.title AS title", "m.type AS type")
# An entity is visible through the documents in scope that name it, a derived edge through its evidence.
_SCOPED = _View(
    "(CASE WHEN {0}:Entity THEN EXISTS {{ MATCH ({0})<-[k:NAMES]-() WHERE k.document_id IN $scope }}"
    " ELSE {0}.document_id IN $scope END)",
    "(CASE WHEN r.document_id = '' THEN EXISTS {"
    " MATCH (c:Winnow) WHERE c.project = $project AND c.id IN r.evidence AND c:Chunk AND c.document_id IN $scope }"
    " ELSE r.document_id IN $scope END)",
    "c.document_id IN $scope",
    "k.document_id IN $scope",
    "CASE WHEN m:Entity THEN COLLECT { MATCH (m)<-[k:NAMES]-() WHERE k.document_id IN $scope"
    " RETURN k.title ORDER BY k.uri, k.document_id LIMIT 1 }[0] ELSE m.title END AS title",
    "CASE WHEN m:Entity THEN substring(COLLECT { MATCH (m)<-[k:NAMES]-() WHERE k.document_id IN $scope"
    " RETURN k.told ORDER BY k.told LIMIT 1 }[0], 3) ELSE m.type END AS type",
)
_ENDS = "startNode(r).id AS source, endNode(r).id AS target, type(r) AS relation"


def _reads(view: _View) -> Reads:
    edge_visible = f"{view.node.format('n')} AND {view.node.format('m')} AND {view.edge}"
    node_visible = (
        f"m.project = $project AND {view.node.format('m')} AND (NOT m:Entity"
        f" OR EXISTS {{ MATCH (m)-[r]-(o:Winnow) WHERE {view.node.format('o')} AND {view.edge} }})"
    )
    # Parallel edges of several documents are merged later.
    around: Mapping[Direction, str] = {
        direction: f"UNWIND $ids AS from MATCH (n:Winnow {{project: $project, id: from}}) MATCH {pattern}"
        f" WHERE type(r) IN $types AND {edge_visible}"
        for direction, pattern in _PATTERNS.items()
    }
    weighted = _return_weighted(view)
    return Reads(
        nodes=f"MATCH (m:Winnow) WHERE m.id IN $ids AND {node_visible} RETURN m.id, m.label, {view.type},"
        f" {view.title}, m.level, m.tokens, m.doc_tag, m.anchor, m.document_id",
        evidence="MATCH (c:Winnow) WHERE c.project = $project AND c.id IN $ids AND c:Chunk"
        f" AND {view.chunk} RETURN c.id",
        # Grouped, so that both ends are found before any edge: then the server looks from the end that has fewer.
        edges="UNWIND $keys AS key MATCH (n:Winnow {project: $project, id: key[0]})"
        " MATCH (m:Winnow {project: $project, id: key[1]}) WITH n, m, collect(DISTINCT key[2]) AS relations"
        f" MATCH (n)-[r]->(m) WHERE type(r) IN relations AND {view.edge}"
        " RETURN n.id, m.id, type(r), r.weight, r.confidence, r.evidence, r.document_id"
        " ORDER BY r.weight DESC, r.uri, r.document_id",
        rows=_complete(
            around,
            f" WITH n, m, {_ENDS}, max(r.weight) AS weight"
            f" WITH m.id AS id, {view.title}, source, target, relation, weight"
            " ORDER BY weight DESC, title, id, $order[relation], source, target SKIP $offset LIMIT $limit"
            " RETURN id, source, target, relation",
        ),
        row_count=_complete(around, f" WITH DISTINCT n, m, {_ENDS} RETURN count(*)"),
        level=_complete(
            around, f" WITH m, max(r.weight) AS weight RETURN m.id, {view.title}, {view.type}, weight"
        ),
        degrees=_complete(around, " WITH DISTINCT m, type(r) AS relation RETURN relation, count(*)"),
        among=f"{around['out']} AND m.id IN $ids WITH n, m, type(r) AS relation, max(r.weight) AS weight"
        " ORDER BY weight DESC, $order[relation], n.id, m.id RETURN n.id, m.id, relation",
        fetch=around["both"] + weighted,
        between=f"{around['both']} AND m.id IN $ends{weighted}",
        count_nodes=f"MATCH (m:Winnow) WHERE {node_visible} WITH m.label AS label, {view.type}"
        " RETURN label, type, count(*)",
        count_edges=f"MATCH (n:Winnow)-[r]->(m:Winnow) WHERE n.project = $project AND {edge_visible}"
        " WITH DISTINCT n, m, type(r) AS relation RETURN relation, count(*)",
        exact=f"{_match_name('=', view, node_visible)} RETURN m.id",
        prefixed=f"{_match_name('STARTS WITH', view, node_visible)} WITH m.id AS id, {view.title}, {view.type}"
        " WHERE $kinds IS NULL OR type IN $kinds RETURN id ORDER BY title, id LIMIT $limit",
        aliased=f"{around['out']} RETURN DISTINCT m.id",
    )


def _return_weighted(view: _View) -> str:
    return (
        f" WITH DISTINCT m, {_ENDS}, r.weight AS weight WITH m, source, target, relation, max(weight) AS weight"
        f" RETURN source, target, relation, weight, m.id, {view.title} LIMIT $limit"
    )


def _complete(around: Mapping[Direction, str], rest: str) -> dict[Direction, str]:
    """A statement for each direction: the edges around some nodes, and what becomes of them."""
    return {direction: match + rest for direction, match in around.items()}


def _match_name(how: str, view: _View, node_visible: str) -> str:
    return (
        f"CALL {{ MATCH (m:Winnow) WHERE m.project = $project AND m.name {how} $name RETURN m"
        f" UNION MATCH ()-[k:NAMES]->(m:Winnow) WHERE k.project = $project AND k.name {how} $name AND {view.name}"
        f" RETURN m }} WITH m WHERE {node_visible}"
    )


WHOLE, SCOPED = _reads(_WHOLE), _reads(_SCOPED)

# MERGE waits for another transaction that created the node and has not committed; MATCH would not see it.
LOCK_PROJECT = "MERGE (p:WinnowProject {name: $project}) SET p.locked = coalesce(p.locked, 0) + 1"
BEGIN_CHANGE = (
    "MERGE (g:WinnowGate {name: $project})"
    " ON CREATE SET g.begun = 1, g.done = 0 ON MATCH SET g.begun = g.begun + 1"
)
END_CHANGES = "MATCH (g:WinnowGate {name: $project}) SET g.done = g.begun"
STORED_DOCUMENTS = (
    "UNWIND $ids AS id MATCH (s:WinnowSource {project: $project, document_id: id}) RETURN s.document_id"
)
DELETE_EDGES = {
    type: f"UNWIND $ids AS id MATCH ()-[r:{type} {{project: $project, document_id: id}}]->()"
    " WITH r, [startNode(r).id, endNode(r).id] AS ends DELETE r"
    " WITH ends UNWIND ends AS end RETURN collect(DISTINCT end)"
    for type in EDGE_TYPES
}
DELETE_NAMES = (
    "UNWIND $ids AS id MATCH (s:WinnowSource {project: $project, document_id: id})"
    " OPTIONAL MATCH (s)-[:NAMES]->(m) WITH s, m.id AS id DETACH DELETE s RETURN collect(DISTINCT id)"
)
# A node that other documents point at stays, without a label.
CLEAR_NODES = (
    "UNWIND $ids AS id MATCH (m:Winnow {project: $project, document_id: id}) WITH m, m.id AS id"
    " REMOVE m:Document:Section:Chunk SET m = {project: $project, id: id} RETURN collect(id)"
)
CREATE_SOURCES = "UNWIND $rows AS row CREATE (s:WinnowSource {project: $project}) SET s += row"
WRITE_NODES = {
    label: f"UNWIND $rows AS row MERGE (m:Winnow {{project: $project, id: row.id}}) SET m:{label}, m += row"
    for label in LABELS
    if label != "Entity"
}
WRITE_NAMES = (
    "UNWIND $rows AS row MATCH (s:WinnowSource {project: $project, document_id: row.document_id})"
    " MERGE (m:Winnow {project: $project, id: row.id}) CREATE (s)-[k:NAMES {project: $project}]->(m)"
    " SET k.document_id = row.document_id, k.uri = row.uri, k.title = row.title, k.name = row.name,"
    " k.told = row.told"
)
WRITE_EDGES: Mapping[str, str] = {
    type: "UNWIND $rows AS row MERGE (n:Winnow {project: $project, id: row.source})"
    f" MERGE (m:Winnow {{project: $project, id: row.target}}) CREATE (n)-[r:{type} {{project: $project}}]->(m)"
    " SET r += row.fields"
    for type in EDGE_TYPES
}
SET_ENTITY_FIELDS = (
    "UNWIND $ids AS id MATCH (m:Winnow {project: $project, id: id})<-[k:NAMES]-()"
    " WITH m, k ORDER BY k.uri, k.document_id WITH m, collect(k.title)[0] AS title, min(k.told) AS told"
    " SET m:Entity, m += {label: 'Entity', title: title, type: substring(told, 3), level: 0, tokens: 0,"
    " doc_tag: '', anchor: ''}"
)
CLEAR_ENTITIES = (
    "UNWIND $ids AS id MATCH (m:Winnow:Entity {project: $project, id: id}) WHERE NOT (m)<-[:NAMES]-()"
    " REMOVE m:Entity SET m = {project: $project, id: id}"
)
DELETE_ORPHANS = (
    "UNWIND $ids AS id MATCH (m:Winnow {project: $project, id: id}) WHERE m.label IS NULL AND NOT (m)--() DELETE m"
)
MENTIONS = "MATCH (n:Winnow:Chunk)-[r:MENTIONS]->(m:Winnow) WHERE n.project = $project RETURN n.id, m.id, r.weight"
COUNT_CHUNKS = "MATCH (m:Winnow:Chunk) WHERE m.project = $project RETURN count(m)"
COUNT_EDGES = "UNWIND $ids AS id MATCH (n:Winnow {project: $project, id: id}) RETURN sum(COUNT { (n)--() })"
DOCUMENT_IDS = (
    "MATCH (s:WinnowSource) WHERE s.project = $project RETURN s.document_id ORDER BY s.uri, s.document_id"
)
OWN_NODES = (
    "MATCH (m:Winnow {project: $project, document_id: $id}) RETURN m.id, m.label, m.type, m.title, m.level,"
    " m.tokens, m.doc_tag, m.anchor, m.document_id"
)
OWN_NAMES = (
    "MATCH (s:WinnowSource {project: $project, document_id: $id})-[k:NAMES]->(m)"
    " RETURN m.id, 'Entity', substring(k.told, 3), k.title"
)
OWN_EDGES = {
    type: f"MATCH (n)-[r:{type} {{project: $project, document_id: $id}}]->(m)"
    " RETURN n.id, m.id, type(r), r.weight, r.confidence, r.evidence, r.document_id"
    for type in EDGE_TYPES
}
