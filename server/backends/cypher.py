"""The statements of the graph on Neo4j: constants all of them, with parameters for every value.

Names of labels and relations come from the closed lists of ``server.graph.records``. Every statement has the
parameter ``$project``; those that read what a caller sees have ``$scope`` too, the ids of the admitted documents,
or null for all. ``r`` is an edge, ``n`` and ``m`` are its ends, ``k`` is what a document calls an entity.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from server.graph.base import Direction
from server.graph.records import EDGE_TYPES, LABELS

ORDER: Mapping[str, int] = {type: at for at, type in enumerate(EDGE_TYPES)}
INDEXES = (
    "CREATE CONSTRAINT winnow_node IF NOT EXISTS FOR (n:Winnow) REQUIRE (n.project, n.id) IS UNIQUE",
    "CREATE CONSTRAINT winnow_source IF NOT EXISTS FOR (n:WinnowSource)"
    " REQUIRE (n.project, n.document_id) IS UNIQUE",
    "CREATE CONSTRAINT winnow_project IF NOT EXISTS FOR (n:WinnowProject) REQUIRE n.name IS UNIQUE",
    "CREATE INDEX winnow_owner IF NOT EXISTS FOR (n:Winnow) ON (n.project, n.document_id)",
    "CREATE INDEX winnow_name IF NOT EXISTS FOR (n:Winnow) ON (n.project, n.name)",
    "CREATE INDEX winnow_names IF NOT EXISTS FOR ()-[r:NAMES]-() ON (r.project, r.name)",
    *(
        f"CREATE INDEX winnow_{type.lower()} IF NOT EXISTS FOR ()-[r:{type}]-() ON (r.project, r.document_id)"
        for type in EDGE_TYPES
    ),
)
PATTERNS: Mapping[Direction, str] = MappingProxyType(
    {
        "out": "(n:Winnow)-[r]->(m:Winnow)",
        "in": "(n:Winnow)<-[r]-(m:Winnow)",
        "both": "(n:Winnow)-[r]-(m:Winnow)",
    }
)
GENERATION = "MATCH (p:WinnowProject {name: $project}) RETURN p.generation"


def there(node: str) -> str:
    """Whether a document in scope contributes the node."""
    return (
        f"(CASE WHEN {node}:Entity"
        f" THEN $scope IS NULL OR EXISTS {{ MATCH ({node})<-[k:NAMES]-() WHERE k.document_id IN $scope }}"
        f" ELSE {node}.document_id IS NOT NULL AND ($scope IS NULL OR {node}.document_id IN $scope) END)"
    )


CHUNK_THERE = (
    "(c:Winnow) WHERE c.project = $project AND c.id IN {ids} AND c:Chunk"
    " AND ($scope IS NULL OR c.document_id IN $scope)"
)
# Whether a document in scope says the edge r; a derived one has nothing but its evidence.
SAID = (
    "(CASE WHEN r.document_id = '' THEN EXISTS { MATCH " + CHUNK_THERE.format(ids="r.evidence") + " }"
    " ELSE $scope IS NULL OR r.document_id IN $scope END)"
)
TITLE = (
    "CASE WHEN $scope IS NULL OR NOT m:Entity THEN m.title ELSE COLLECT { MATCH (m)<-[k:NAMES]-()"
    " WHERE k.document_id IN $scope RETURN k.title ORDER BY k.uri, k.document_id LIMIT 1 }[0] END AS title"
)
TYPE = (
    "CASE WHEN $scope IS NULL OR NOT m:Entity THEN m.type ELSE substring(COLLECT { MATCH (m)<-[k:NAMES]-()"
    " WHERE k.document_id IN $scope RETURN min(k.told) }[0], 3) END AS type"
)
NODE_SEEN = (
    f"m.project = $project AND {there('m')} AND (NOT m:Entity"
    f" OR EXISTS {{ MATCH (m)-[r]-(o:Winnow) WHERE {SAID} AND {there('o')} }})"
)
FIELDS = f"m.id, m.label, {TYPE}, {TITLE}, m.level, m.tokens, m.doc_tag, m.anchor, m.document_id"
NODES = f"MATCH (m:Winnow) WHERE m.id IN $ids AND {NODE_SEEN} RETURN {FIELDS}"
EVIDENCE_SEEN = f"MATCH {CHUNK_THERE.format(ids='$ids')} RETURN c.id"
EDGES = (
    "UNWIND $keys AS key MATCH (n:Winnow {project: $project, id: key[0]})-[r]->(m:Winnow {project: $project,"
    f" id: key[1]}}) WHERE type(r) = key[2] AND {SAID} RETURN n.id, m.id, type(r), r.weight, r.confidence,"
    " r.evidence, r.document_id ORDER BY r.weight DESC, r.uri, r.document_id"
)


def around(direction: Direction) -> str:
    """The edges n-r-m of the nodes $ids; edges that agree in both ends and type are not yet one."""
    return (
        f"MATCH {PATTERNS[direction]} WHERE n.project = $project AND n.id IN $ids AND type(r) IN $types"
        f" AND {there('n')} AND {there('m')} AND {SAID}"
    )


ENDS = "startNode(r).id AS source, endNode(r).id AS target, type(r) AS relation"
ROWS = {
    direction: f"{around(direction)} WITH n, m, {ENDS}, max(r.weight) AS weight"
    f" WITH m.id AS id, {TITLE}, source, target, relation, weight"
    " ORDER BY weight DESC, title, id, $order[relation], source, target SKIP $offset LIMIT $limit"
    " RETURN id, source, target, relation"
    for direction in PATTERNS
}
ROW_COUNT = {
    direction: f"{around(direction)} WITH DISTINCT n, m, {ENDS} RETURN count(*)" for direction in PATTERNS
}
LEVEL = {
    direction: f"{around(direction)} AND NOT m.id IN $seen WITH m, max(r.weight) AS weight"
    f" RETURN m.id, {TITLE}, {TYPE}, weight"
    for direction in PATTERNS
}
AMONG = (
    f"{around('out')} AND m.id IN $ids WITH n, m, type(r) AS relation, max(r.weight) AS weight"
    " ORDER BY weight DESC, $order[relation], n.id, m.id RETURN n.id, m.id, relation"
)
FETCH = (
    f"{around('both')} WITH DISTINCT m, {ENDS}, r.weight AS weight WITH m, source, target, relation,"
    f" max(weight) AS weight RETURN source, target, relation, weight, m.id, {TITLE} LIMIT $limit"
)
DEGREES = {
    direction: f"{around(direction)} WITH DISTINCT m, type(r) AS relation RETURN relation, count(*)"
    for direction in PATTERNS
}
COUNT_NODES = f"MATCH (m:Winnow) WHERE {NODE_SEEN} RETURN m.label, {TYPE}, count(*)"
COUNT_EDGES = (
    f"MATCH (n:Winnow)-[r]->(m:Winnow) WHERE n.project = $project AND {there('n')} AND {there('m')} AND {SAID}"
    " WITH DISTINCT n, m, type(r) AS relation RETURN relation, count(*)"
)
NAMED = (
    "CALL { MATCH (m:Winnow) WHERE m.project = $project AND m.name STARTS WITH $name RETURN m, m.name AS name"
    " UNION MATCH ()-[k:NAMES]->(m:Winnow) WHERE k.project = $project AND k.name STARTS WITH $name"
    " AND ($scope IS NULL OR k.document_id IN $scope) RETURN m, k.name AS name }"
    f" WITH m, name WHERE {NODE_SEEN} RETURN m.id, max(name = $name)"
)

ALIASED = f"{around('out')} RETURN DISTINCT m.id"

BEGUN = "MERGE (p:WinnowProject {name: $project}) SET p.generation = coalesce(p.generation, 0) + 1"
UNSAID = {
    type: f"UNWIND $ids AS id MATCH ()-[r:{type} {{project: $project, document_id: id}}]->()"
    " WITH r, [startNode(r).id, endNode(r).id] AS ends DELETE r"
    " WITH ends UNWIND ends AS end RETURN collect(DISTINCT end)"
    for type in EDGE_TYPES
}
UNNAMED = (
    "UNWIND $ids AS id MATCH (s:WinnowSource {project: $project, document_id: id})"
    " OPTIONAL MATCH (s)-[:NAMES]->(m) WITH s, m.id AS id DETACH DELETE s RETURN collect(DISTINCT id)"
)
# What other documents point at stays as a node without a label.
DISOWNED = (
    "UNWIND $ids AS id MATCH (m:Winnow {project: $project, document_id: id}) WITH m, m.id AS id"
    " REMOVE m:Document:Section:Chunk SET m = {project: $project, id: id} RETURN collect(id)"
)
SOURCES = "UNWIND $rows AS row CREATE (s:WinnowSource {project: $project}) SET s += row"
OWNED = {
    label: f"UNWIND $rows AS row MERGE (m:Winnow {{project: $project, id: row.id}}) SET m:{label}, m += row"
    for label in LABELS
    if label != "Entity"
}
NAMING = (
    "UNWIND $rows AS row MATCH (s:WinnowSource {project: $project, document_id: row.document_id})"
    " MERGE (m:Winnow {project: $project, id: row.id}) CREATE (s)-[k:NAMES {project: $project}]->(m)"
    " SET k.document_id = row.document_id, k.uri = row.uri, k.title = row.title, k.name = row.name,"
    " k.told = row.told"
)
SAYING: Mapping[str, str] = {
    type: "UNWIND $rows AS row MERGE (n:Winnow {project: $project, id: row.source})"
    f" MERGE (m:Winnow {{project: $project, id: row.target}}) CREATE (n)-[r:{type} {{project: $project}}]->(m)"
    " SET r += row.fields"
    for type in EDGE_TYPES
}
RESOLVED = (
    "UNWIND $ids AS id MATCH (m:Winnow {project: $project, id: id})<-[k:NAMES]-()"
    " WITH m, k ORDER BY k.uri, k.document_id WITH m, collect(k.title)[0] AS title, min(k.told) AS told"
    " SET m:Entity, m += {label: 'Entity', title: title, type: substring(told, 3), level: 0, tokens: 0,"
    " doc_tag: '', anchor: ''}"
)
UNRESOLVED = (
    "UNWIND $ids AS id MATCH (m:Winnow:Entity {project: $project, id: id}) WHERE NOT (m)<-[:NAMES]-()"
    " REMOVE m:Entity SET m = {project: $project, id: id}"
)
SWEPT = (
    "UNWIND $ids AS id MATCH (m:Winnow {project: $project, id: id}) WHERE m.label IS NULL AND NOT (m)--() DELETE m"
)
MENTIONS = "MATCH (n:Winnow:Chunk)-[r:MENTIONS]->(m:Winnow) WHERE n.project = $project RETURN n.id, m.id, r.weight"
CHUNKS = "MATCH (m:Winnow:Chunk) WHERE m.project = $project RETURN count(m)"
DOCUMENTS = "MATCH (s:WinnowSource) WHERE s.project = $project RETURN s.document_id ORDER BY s.uri, s.document_id"
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
