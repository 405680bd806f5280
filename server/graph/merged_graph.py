"""Documents' graphs as compact columns, and what a caller sees of all of them as one graph in memory. Pure.

An id is 60 bits, so a column of ids is a column of integers. Types are stored by their place in ``EDGE_TYPES``:
new ones go to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from server.graph.base import Scope
from server.graph.csr_graph import EdgeColumns, Flags, Floats, Graph, Ints, concatenate_ranges
from server.graph.records import EDGE_TYPES, MAX_EVIDENCE, DocumentGraph, Edge, Node, edge_order, entity_type_order
from server.ids import chunk_of_point, point_id

# ``shown`` is how many of the evidence numbers that follow belong to the edge.
EDGE_DTYPE = np.dtype(
    [
        ("source", "<i8"),
        ("target", "<i8"),
        ("weight", "<f8"),
        ("confidence", "<f8"),
        ("type", "u1"),
        ("shown", "u1"),
    ]
)
_CODES = {type: code for code, type in enumerate(EDGE_TYPES)}
_NO_OWNER = -1


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """The graph of one document in columns: its own ``nodes``, the entities it names, its edges (``EDGE_DTYPE``).

    ``names``, ``titles`` and ``types`` are parallel: an entity's id as a number, and the title and the type that
    the document gives it.
    """

    document_id: str
    nodes: tuple[Node, ...]
    names: Ints
    titles: list[str]
    types: list[str]
    edges: NDArray[np.void]
    evidence: Ints


@dataclass(frozen=True, slots=True)
class MergedGraph:
    """All parts of a project, by uri, one after the other, and the derived edges (which no document says) last.

    ``node_of``, ``name_of`` and ``edge_of`` say whose a row is, by place in ``documents``. ``title`` and ``kind``
    are what a name is called and taken for, by place in ``titles`` and ``kinds``, the most telling kind first.
    """

    documents: tuple[str, ...]
    nodes: list[Node]
    numbers: Ints
    node_of: Ints
    names: Ints
    name_of: Ints
    titles: list[str]
    title: Ints
    kinds: list[str]
    kind: Ints
    edges: NDArray[np.void]
    edge_of: Ints
    evidence: Ints


def build_part(graph: DocumentGraph) -> DocumentPart:
    """The graph in columns. Of edges that agree in source, target and type the heavier stays."""
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
    """Ids as numbers, each worked out once: a document's edges name the same few again and again."""

    def __missing__(self, id: str) -> int:
        number = self[id] = point_id(id)
        return number


def edge_records(edges: NDArray[np.void], evidence: Ints, document_id: str = "") -> list[Edge]:
    """Columns of edges, all said by one document (or derived), as records."""
    chunks = [chunk_of_point(number) for number in evidence.tolist()]
    records = []
    at = 0
    for source, target, weight, confidence, type, shown in edges.tolist():
        ends = chunk_of_point(source), chunk_of_point(target)
        proof = tuple(chunks[at : at + shown])
        records.append(Edge(*ends, EDGE_TYPES[type], weight, confidence, proof, document_id))
        at += shown
    return records


def document_graph(part: DocumentPart) -> DocumentGraph:
    """The inverse of ``build_part``: nodes by id, edges by (source, target, type)."""
    named = zip(part.names.tolist(), part.types, part.titles, strict=True)
    entities = [Node(chunk_of_point(number), "Entity", type, title) for number, type, title in named]
    nodes = sorted((*part.nodes, *entities), key=lambda node: node.id)
    edges = sorted(edge_records(part.edges, part.evidence, part.document_id), key=edge_order)
    return DocumentGraph(part.document_id, tuple(nodes), tuple(edges))


def merge_parts(parts: Sequence[DocumentPart], derived: NDArray[np.void], evidence: Ints) -> MergedGraph:
    """Join the parts of a project, which come by uri."""
    nodes = [node for part in parts for node in part.nodes]
    titles, title = _encode([title for part in parts for title in part.titles])
    kinds, kind = _encode([type for part in parts for type in part.types], entity_type_order)
    return MergedGraph(
        tuple(part.document_id for part in parts),
        nodes,
        np.array([point_id(node.id) for node in nodes], np.int64),
        _repeat_index([len(part.nodes) for part in parts]),
        np.concatenate([np.zeros(0, np.int64), *(part.names for part in parts)]),
        _repeat_index([len(part.names) for part in parts]),
        titles,
        title,
        kinds,
        kind,
        np.concatenate([*(part.edges for part in parts), derived]),
        np.append(_repeat_index([len(part.edges) for part in parts]), np.full(len(derived), _NO_OWNER)),
        np.concatenate([*(part.evidence for part in parts), evidence]),
    )


def replace_derived_edges(all: MergedGraph, edges: NDArray[np.void], evidence: Ints) -> MergedGraph:
    """The same with these derived edges in the place of those that were there."""
    said = np.count_nonzero(all.edge_of != _NO_OWNER)
    shown = int(all.edges["shown"][:said].sum(dtype=np.int64))
    return replace(
        all,
        edges=np.concatenate([all.edges[:said], edges]),
        edge_of=np.append(all.edge_of[:said], np.full(len(edges), _NO_OWNER)),
        evidence=np.concatenate([all.evidence[:shown], evidence]),
    )


def build_view(all: MergedGraph, scope: Scope) -> Graph:
    """The graph as a caller with this scope sees it: see ``server.graph.base`` for the rules."""
    admitted = np.array([scope is None or id in scope for id in all.documents], np.bool_)
    given = _select_contributed(all, admitted)
    edges = _select_edges(all, admitted, given, scope is None)
    there = ~given.entity
    there[edges.source] = there[edges.target] = True
    renumbered = np.cumsum(there) - 1
    return Graph(
        _build_nodes(all, given, there),
        replace(
            edges,
            source=renumbered[edges.source],
            target=renumbered[edges.target],
            evidence=renumbered[edges.evidence],
        ),
        all.documents,
        _find_other_titles(all, given, there, renumbered),
    )


@dataclass(frozen=True, slots=True)
class _Contributed:
    """The nodes that documents in scope contribute: rows ``own`` of the nodes, rows ``named`` of the names.

    ``numbers`` are their ids, sorted, each once; ``place`` where each row's is among them, own rows before named
    ones; ``first`` the row that comes first for each, ``entity`` and ``chunk`` what it is.
    """

    own: Ints
    named: Ints
    numbers: Ints
    place: Ints
    first: Ints
    entity: Flags
    chunk: Flags


def _select_contributed(all: MergedGraph, admitted: Flags) -> _Contributed:
    own, named = _select_rows(admitted, all.node_of), _select_rows(admitted, all.name_of)
    rows = np.concatenate([all.numbers[own], all.names[named]])
    numbers, first, place = np.unique(rows, return_index=True, return_inverse=True)
    chunk = np.zeros(len(numbers), np.bool_)
    chunk[place[: len(own)]] = [all.nodes[at].label == "Chunk" for at in own.tolist()]
    return _Contributed(own, named, numbers, place, first, first >= len(own), chunk)


def _build_nodes(all: MergedGraph, given: _Contributed, there: Flags) -> list[Node]:
    """Every node that is there; an entity as the first document calls it, and of the most telling kind of all."""
    kind = np.full(len(given.numbers), len(all.kinds))
    np.minimum.at(kind, given.place[len(given.own) :], all.kind[given.named])
    nodes = []
    for at in np.flatnonzero(there).tolist():
        row = int(given.first[at])
        if given.entity[at]:
            title = all.titles[all.title[given.named[row - len(given.own)]]]
            nodes.append(Node(chunk_of_point(int(given.numbers[at])), "Entity", all.kinds[kind[at]], title))
        else:
            nodes.append(all.nodes[given.own[row]])
    return nodes


def _find_other_titles(
    all: MergedGraph, given: _Contributed, there: Flags, renumbered: Ints
) -> list[tuple[str, int]]:
    """What entities are called by documents that come later, with their positions."""
    place = given.place[len(given.own) :]
    title = all.title[given.named]
    first = np.where(given.entity, given.first - len(given.own), 0)
    other = np.flatnonzero(there[place] & given.entity[place] & (title != title[first[place]]))
    return [(all.titles[title[row]], int(renumbered[place[row]])) for row in other.tolist()]


def _encode(texts: Sequence[str], order: Callable[[str], Any] | None = None) -> tuple[list[str], Ints]:
    """The texts that occur, sorted, and the place of each of ``texts`` among them."""
    distinct = sorted(set(texts), key=order)
    place = {text: at for at, text in enumerate(distinct)}
    return distinct, np.array(list(map(place.__getitem__, texts)), np.int64)


def _repeat_index(lengths: Sequence[int]) -> Ints:
    return np.repeat(np.arange(len(lengths)), np.array(lengths, np.int64))


def _select_rows(admitted: Flags, owner: Ints) -> Ints:
    return np.flatnonzero(admitted[owner]) if len(owner) else np.zeros(0, np.int64)


def _select_edges(all: MergedGraph, admitted: Flags, given: _Contributed, everything: bool) -> EdgeColumns:
    """The edges in scope between nodes in scope, with the evidence that is; equal ones merged."""
    numbers = given.numbers
    shown = all.edges["shown"].astype(np.int64)
    chunks, known = _locate(numbers, all.evidence)
    if len(numbers):
        known &= given.chunk[chunks]
    known_before = np.append(0, np.cumsum(known))
    last = np.cumsum(shown)
    proven = known_before[last] - known_before[last - shown]
    source, source_known = _locate(numbers, all.edges["source"])
    target, target_known = _locate(numbers, all.edges["target"])
    by_all = all.edge_of == _NO_OWNER
    in_scope = np.append(admitted, False)[all.edge_of] | (by_all & (everything | (proven > 0)))
    kept = np.flatnonzero(in_scope & source_known & target_known)
    kept = kept[_edge_sort_order(source[kept], target[kept], all.edges[kept])]
    edges, owner = all.edges[kept], all.edge_of[kept]
    source, target, proven = source[kept], target[kept], proven[kept]
    start = known_before[last[kept] - shown[kept]]
    evidence = chunks[known][concatenate_ranges(start, proven)]
    return _merge_edges(edges, source, target, owner, evidence, proven)


def _edge_sort_order(source: Ints, target: Ints, edges: NDArray[np.void]) -> Ints:
    """The order by (source, target, type), the heavier first; among equals they stay in the order of documents."""
    size = int(max(np.max(source, initial=0), np.max(target, initial=0))) + 1
    key = (source * size + target) * len(EDGE_TYPES) + edges["type"]
    order = np.argsort(key, kind="stable")
    if np.any(np.diff(key[order]) == 0):
        order = np.lexsort((-edges["weight"], key))
    return order


def _merge_edges(
    edges: NDArray[np.void], source: Ints, target: Ints, owner: Ints, evidence: Ints, proven: Ints
) -> EdgeColumns:
    """Edges in order of (source, target, type, -weight), those that agree in the first three made one."""
    type = edges["type"]
    if not len(edges):
        empty = np.zeros(0, np.int64)
        return EdgeColumns(
            empty, empty, type, edges["weight"], edges["weight"], empty, empty, np.zeros(1, np.int64)
        )
    new = (np.diff(source, prepend=-1) != 0) | (np.diff(target, prepend=-1) != 0)
    new |= np.diff(type.astype(np.int64), prepend=-1) != 0
    first = np.flatnonzero(new)
    least, most = np.minimum.reduceat(owner, first), np.maximum.reduceat(owner, first)
    before = np.append(0, np.cumsum(proven))
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
    """Where each wanted number is among the sorted ``numbers`` (anywhere, if it is not), and whether it is."""
    place = np.searchsorted(numbers, wanted)
    if not len(numbers):
        return place, np.zeros(len(wanted), np.bool_)
    place[place == len(numbers)] = 0
    return place, numbers[place] == wanted


def read_mentions(all: MergedGraph) -> tuple[Ints, Ints, Floats, int]:
    """Every mention by a chunk, parallel: the chunk, the entity, the weight; and how many chunks there are."""
    chunks = np.unique(all.numbers[[node.label == "Chunk" for node in all.nodes]])
    said = all.edges[(all.edges["type"] == _CODES["MENTIONS"]) & np.isin(all.edges["source"], chunks)]
    return said["source"], said["target"], said["weight"], len(chunks)
