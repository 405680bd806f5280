"""The merged graph of a project: documents' graphs as columns, joined, and restricted to a scope. Pure.

An id is 60 bits, so a column of ids is a column of integers. Types are stored by their index in ``EDGE_TYPES``:
new types go to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.server.ids import chunk_of_point, point_id
from winnow.server.retrieval.graph.base import Scope
from winnow.server.retrieval.graph.csr_graph import EdgeColumns, Flags, Floats, Graph, Ints, concatenate_ranges
from winnow.server.retrieval.graph.records import (
    EDGE_TYPES,
    MAX_EVIDENCE,
    DocumentGraph,
    Edge,
    Node,
    edge_order,
    entity_type_order,
)

# ``evidence_count`` is the number of evidence ids that belong to the edge; they follow in a column of their own.
EDGE_DTYPE = np.dtype(
    [
        ("source", "<i8"),
        ("target", "<i8"),
        ("weight", "<f8"),
        ("confidence", "<f8"),
        ("type", "u1"),
        ("evidence_count", "u1"),
    ]
)
_CODES = {type: code for code, type in enumerate(EDGE_TYPES)}
_NO_OWNER = -1


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """The graph of one document in columns: its own ``nodes``, the entities it names, its edges (``EDGE_DTYPE``).

    ``entity_ids``, ``titles`` and ``types`` are parallel: an entity's id as a number, and the title and the type
    that the document gives it.
    """

    document_id: str
    nodes: tuple[Node, ...]
    entity_ids: Ints
    titles: list[str]
    types: list[str]
    edges: NDArray[np.void]
    evidence: Ints


@dataclass(frozen=True, slots=True)
class MergedGraph:
    """The parts of all documents of a project, concatenated in the order of uris, and the derived edges last.

    ``node_owner``, ``entity_owner`` and ``edge_owner`` index ``documents``. ``entity_title`` and ``entity_type``
    index ``titles`` and ``types``; the type that wins where documents disagree comes first.
    """

    documents: tuple[str, ...]
    nodes: list[Node]
    node_ids: Ints
    node_owner: Ints
    entity_ids: Ints
    entity_owner: Ints
    titles: list[str]
    entity_title: Ints
    types: list[str]
    entity_type: Ints
    edges: NDArray[np.void]
    edge_owner: Ints
    evidence: Ints


def build_part(graph: DocumentGraph) -> DocumentPart:
    """Convert a graph to columns. Of edges that agree in source, target and type the heavier is kept."""
    edges: dict[tuple[str, str, str], Edge] = {}
    for edge in graph.edges:
        key = (edge.source, edge.target, edge.type)
        if key not in edges or edge.weight > edges[key].weight:
            edges[key] = edge
    numbers = _Numbers()
    rows = [
        (
            numbers[edge.source],
            numbers[edge.target],
            edge.weight,
            edge.confidence,
            _CODES[edge.type],
            len(edge.evidence),
        )
        for edge in edges.values()
    ]
    evidence = [numbers[chunk] for edge in edges.values() for chunk in edge.evidence]
    entities = [node for node in graph.nodes if node.label == "Entity"]
    return DocumentPart(
        graph.document_id,
        tuple([node for node in graph.nodes if node.label != "Entity"]),
        np.array([numbers[node.id] for node in entities], np.int64),
        [node.title for node in entities],
        [node.type for node in entities],
        np.array(rows, EDGE_DTYPE),
        np.array(evidence, np.int64),
    )


class _Numbers(dict[str, int]):
    """A cache from ids to numbers: a document's edges repeat the same few ids."""

    def __missing__(self, id: str) -> int:
        number = self[id] = point_id(id)
        return number


def edge_records(edges: NDArray[np.void], evidence: Ints, document_id: str = "") -> list[Edge]:
    """Columns of edges of one document (or derived edges) as records."""
    chunks = [chunk_of_point(number) for number in evidence.tolist()]
    records = []
    start = 0
    for source, target, weight, confidence, type, length in edges.tolist():
        ends = chunk_of_point(source), chunk_of_point(target)
        shown_by = tuple(chunks[start : start + length])
        records.append(Edge(*ends, EDGE_TYPES[type], weight, confidence, shown_by, document_id))
        start += length
    return records


def document_graph(part: DocumentPart) -> DocumentGraph:
    """The inverse of ``build_part``: nodes by id, edges by (source, target, type)."""
    named = zip(part.entity_ids.tolist(), part.types, part.titles, strict=True)
    entities = [Node(chunk_of_point(number), "Entity", type, title) for number, type, title in named]
    nodes = sorted((*part.nodes, *entities), key=lambda node: node.id)
    edges = sorted(edge_records(part.edges, part.evidence, part.document_id), key=edge_order)
    return DocumentGraph(part.document_id, tuple(nodes), tuple(edges))


def merge_parts(parts: Sequence[DocumentPart], derived: NDArray[np.void], evidence: Ints) -> MergedGraph:
    """Join the parts of a project; ``parts`` are sorted by uri."""
    nodes = [node for part in parts for node in part.nodes]
    titles, entity_title = _encode([title for part in parts for title in part.titles])
    types, entity_type = _encode([type for part in parts for type in part.types], entity_type_order)
    return MergedGraph(
        tuple(part.document_id for part in parts),
        nodes,
        np.array([point_id(node.id) for node in nodes], np.int64),
        _repeat_index([len(part.nodes) for part in parts]),
        np.concatenate([np.zeros(0, np.int64), *(part.entity_ids for part in parts)]),
        _repeat_index([len(part.entity_ids) for part in parts]),
        titles,
        entity_title,
        types,
        entity_type,
        np.concatenate([*(part.edges for part in parts), derived]),
        np.append(_repeat_index([len(part.edges) for part in parts]), np.full(len(derived), _NO_OWNER)),
        np.concatenate([*(part.evidence for part in parts), evidence]),
    )


def replace_derived_edges(merged: MergedGraph, edges: NDArray[np.void], evidence: Ints) -> MergedGraph:
    """A copy with other derived edges."""
    stated = np.count_nonzero(merged.edge_owner != _NO_OWNER)
    stated_evidence = int(merged.edges["evidence_count"][:stated].sum(dtype=np.int64))
    return replace(
        merged,
        edges=np.concatenate([merged.edges[:stated], edges]),
        edge_owner=np.append(merged.edge_owner[:stated], np.full(len(edges), _NO_OWNER)),
        evidence=np.concatenate([merged.evidence[:stated_evidence], evidence]),
    )


def build_view(merged: MergedGraph, scope: Scope) -> Graph:
    """Build the graph that a caller with this scope sees; ``server.retrieval.graph.base`` has the rules."""
    visible = np.array([scope is None or id in scope for id in merged.documents], np.bool_)
    scope_nodes = _select_nodes(merged, visible)
    edges = _select_edges(merged, visible, scope_nodes, is_unscoped=scope is None)
    exists = ~scope_nodes.is_entity
    exists[edges.source] = exists[edges.target] = True
    renumbered = np.cumsum(exists) - 1
    return Graph(
        _build_nodes(merged, scope_nodes, exists),
        replace(
            edges,
            source=renumbered[edges.source],
            target=renumbered[edges.target],
            evidence=renumbered[edges.evidence],
        ),
        merged.documents,
        _find_other_titles(merged, scope_nodes, exists, renumbered),
    )


@dataclass(frozen=True, slots=True)
class _ScopeNodes:
    """The nodes of the documents in scope: rows ``own`` of the nodes, rows ``named`` of the entities.

    ``ids`` are their distinct ids, sorted. ``place`` is the index in ``ids`` of each row, own rows before named
    rows; ``first`` is the first row of each id; ``is_entity`` and ``is_chunk`` say what each id is.
    """

    own: Ints
    named: Ints
    ids: Ints
    place: Ints
    first: Ints
    is_entity: Flags
    is_chunk: Flags


def _select_nodes(merged: MergedGraph, visible: Flags) -> _ScopeNodes:
    own = _select_rows(visible, merged.node_owner)
    named = _select_rows(visible, merged.entity_owner)
    rows = np.concatenate([merged.node_ids[own], merged.entity_ids[named]])
    ids, first, place = np.unique(rows, return_index=True, return_inverse=True)
    is_chunk = np.zeros(len(ids), np.bool_)
    is_chunk[place[: len(own)]] = [merged.nodes[row].label == "Chunk" for row in own.tolist()]
    return _ScopeNodes(own, named, ids, place, first, first >= len(own), is_chunk)


def _build_nodes(merged: MergedGraph, scope_nodes: _ScopeNodes, exists: Flags) -> list[Node]:
    """Build the nodes that exist; an entity has the title of its first document, and the type that wins."""
    types = np.full(len(scope_nodes.ids), len(merged.types))
    np.minimum.at(types, scope_nodes.place[len(scope_nodes.own) :], merged.entity_type[scope_nodes.named])
    nodes = []
    for place in np.flatnonzero(exists).tolist():
        row = int(scope_nodes.first[place])
        if scope_nodes.is_entity[place]:
            title = merged.titles[merged.entity_title[scope_nodes.named[row - len(scope_nodes.own)]]]
            nodes.append(
                Node(chunk_of_point(int(scope_nodes.ids[place])), "Entity", merged.types[types[place]], title)
            )
        else:
            nodes.append(merged.nodes[scope_nodes.own[row]])
    return nodes


def _find_other_titles(
    merged: MergedGraph, scope_nodes: _ScopeNodes, exists: Flags, renumbered: Ints
) -> list[tuple[str, int]]:
    """Find the titles that later documents give entities, with the positions of the entities."""
    place = scope_nodes.place[len(scope_nodes.own) :]
    title = merged.entity_title[scope_nodes.named]
    first = np.where(scope_nodes.is_entity, scope_nodes.first - len(scope_nodes.own), 0)
    other = np.flatnonzero(exists[place] & scope_nodes.is_entity[place] & (title != title[first[place]]))
    return [(merged.titles[title[row]], int(renumbered[place[row]])) for row in other.tolist()]


def _encode(texts: Sequence[str], order: Callable[[str], Any] | None = None) -> tuple[list[str], Ints]:
    """Encode texts as indices into the sorted list of the distinct texts."""
    distinct = sorted(set(texts), key=order)
    index = {text: place for place, text in enumerate(distinct)}
    return distinct, np.array(list(map(index.__getitem__, texts)), np.int64)


def _repeat_index(lengths: Sequence[int]) -> Ints:
    return np.repeat(np.arange(len(lengths)), np.array(lengths, np.int64))


def _select_rows(visible: Flags, owner: Ints) -> Ints:
    return np.flatnonzero(visible[owner]) if len(owner) else np.zeros(0, np.int64)


def _select_edges(
    merged: MergedGraph, visible: Flags, scope_nodes: _ScopeNodes, *, is_unscoped: bool
) -> EdgeColumns:
    """Select the edges in scope between nodes in scope, with the evidence in scope; equal edges are merged."""
    ids = scope_nodes.ids
    stated_count = merged.edges["evidence_count"].astype(np.int64)
    chunks, is_visible = _locate(ids, merged.evidence)
    if len(ids):
        is_visible &= scope_nodes.is_chunk[chunks]
    visible_before = np.append(0, np.cumsum(is_visible))
    last = np.cumsum(stated_count)
    visible_count = visible_before[last] - visible_before[last - stated_count]
    source, has_source = _locate(ids, merged.edges["source"])
    target, has_target = _locate(ids, merged.edges["target"])
    is_derived = merged.edge_owner == _NO_OWNER
    in_scope = np.append(visible, False)[merged.edge_owner] | (is_derived & (is_unscoped | (visible_count > 0)))
    kept = np.flatnonzero(in_scope & has_source & has_target)
    kept = kept[_edge_sort_order(source[kept], target[kept], merged.edges[kept])]
    edges, owner = merged.edges[kept], merged.edge_owner[kept]
    source, target, visible_count = source[kept], target[kept], visible_count[kept]
    start = visible_before[last[kept] - stated_count[kept]]
    evidence = chunks[is_visible][concatenate_ranges(start, visible_count)]
    return _merge_edges(edges, source, target, owner, evidence, visible_count)


def _edge_sort_order(source: Ints, target: Ints, edges: NDArray[np.void]) -> Ints:
    """The order by (source, target, type, -weight), then by document."""
    size = int(max(np.max(source, initial=0), np.max(target, initial=0))) + 1
    key = (source * size + target) * len(EDGE_TYPES) + edges["type"]
    order = np.argsort(key, kind="stable")
    if np.any(np.diff(key[order]) == 0):
        order = np.lexsort((-edges["weight"], key))
    return order


def _merge_edges(
    edges: NDArray[np.void], source: Ints, target: Ints, owner: Ints, evidence: Ints, evidence_count: Ints
) -> EdgeColumns:
    """Merge edges that agree in (source, target, type); they are sorted by that and -weight."""
    type = edges["type"]
    if not len(edges):
        empty = np.zeros(0, np.int64)
        return EdgeColumns(
            empty, empty, type, edges["weight"], edges["weight"], empty, empty, np.zeros(1, np.int64)
        )
    is_new = (np.diff(source, prepend=-1) != 0) | (np.diff(target, prepend=-1) != 0)
    is_new |= np.diff(type.astype(np.int64), prepend=-1) != 0
    first = np.flatnonzero(is_new)
    least, most = np.minimum.reduceat(owner, first), np.maximum.reduceat(owner, first)
    before = np.append(0, np.cumsum(evidence_count))
    start = before[first]
    length = np.minimum(before[np.append(first[1:], len(edges))] - start, MAX_EVIDENCE)
    return EdgeColumns(
        source[first],
        target[first],
        type[first],
        edges["weight"][first],
        np.maximum.reduceat(edges["confidence"], first),
        np.where(least == most, least, _NO_OWNER),
        evidence[concatenate_ranges(start, length)],
        np.append(0, np.cumsum(length)),
    )


def _locate(numbers: Ints, wanted: Ints) -> tuple[Ints, Flags]:
    """The index of each wanted number in the sorted ``numbers``, and whether it is there; if not, any index."""
    place = np.searchsorted(numbers, wanted)
    if not len(numbers):
        return place, np.zeros(len(wanted), np.bool_)
    place[place == len(numbers)] = 0
    return place, numbers[place] == wanted


def read_mentions(merged: MergedGraph) -> tuple[Ints, Ints, Floats, int]:
    """Read the mentions by chunks as parallel columns (chunk, entity, weight), and the number of chunks."""
    chunks = np.unique(merged.node_ids[[node.label == "Chunk" for node in merged.nodes]])
    mentions = merged.edges[(merged.edges["type"] == _CODES["MENTIONS"]) & np.isin(merged.edges["source"], chunks)]
    return mentions["source"], mentions["target"], mentions["weight"], len(chunks)
