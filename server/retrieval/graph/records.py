"""The records of the knowledge graph (nodes, edges, the graph of one document) and their validation.

A project's graph is the union of its documents' graphs. Documents, sections and chunks belong to one document.
An entity is shared by the documents that name it: its title comes from the first of them (by uri), its type is the
most specific that any of them gives (``ENTITY_TYPES``), and it exists as long as an edge touches it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Literal, get_args

from winnow.server.errors import WinnowError
from winnow.server.ids import is_chunk_id
from winnow.server.text.forms.normal_forms import normalize

DocumentLabel = Literal["Document", "Section", "Chunk", "Entity"]
# The last two are of a notebook of claims: they are read beside the graph and in no document's.
Label = Literal["Document", "Section", "Chunk", "Entity", "Entry", "Claim"]
DocumentEdgeType = Literal[
    "PART_OF",
    "NEXT",
    "LINKS_TO",
    "MENTIONS",
    "DEFINES",
    "TAGGED",
    "ABOUT",
    "IMPORTS",
    "CALLS",
    "ALIAS_OF",
    "EXPANDS_TO",
    "RELATED_TO",
    "CO_OCCURS",
]
NotebookEdgeType = Literal["SUPPORTS", "REFUTES", "SIMILAR", "CONTRADICTS"]
EdgeType = Literal[DocumentEdgeType, NotebookEdgeType]

# Those of documents, which stores keep.
LABELS: tuple[Label, ...] = get_args(DocumentLabel)
EDGE_TYPES: tuple[EdgeType, ...] = get_args(DocumentEdgeType)
NOTEBOOK_EDGE_TYPES: tuple[EdgeType, ...] = get_args(NotebookEdgeType)
# Computed by the store from the mentions of all documents; no document may contain it.
DERIVED: EdgeType = "CO_OCCURS"

# Where documents disagree about the type of an entity, the first of these wins. A type that is not listed was
# given by the user (entities.toml) and wins over all of them.
ENTITY_TYPES = (
    "vendor",
    "product",
    "person",
    "acronym",
    "class",
    "function",
    "module",
    "tag",
    "identifier",
    "term",
    "link",
)

TITLE_CHARS = 200
# A path below the ingested folder; file systems allow 4,096 bytes for a whole path.
ANCHOR_CHARS = 4096
TYPE_CHARS = 40
MAX_EVIDENCE = 8
_PRIORITY: Mapping[str, int] = MappingProxyType({type: rank for rank, type in enumerate(ENTITY_TYPES, 1)})
# Control characters, and lone surrogates, which UTF-8 cannot encode.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LARGEST_COUNT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Node:
    """A document, a section, a chunk or an entity; or an entry or a claim of a notebook.

    ``id`` is the catalogue's id for a document or a chunk, and comes from ``ids.section_id`` or ``ids.entity_id``
    otherwise. ``type`` is a document's type, "section", "chunk", or the type of an entity. ``title`` is the name
    to display, at most 200 characters. ``level`` is the depth of a section (1 for a top heading), ``tokens`` the
    size of a chunk, each 0 for other nodes. ``anchor`` is a document's uri or a section's fragment, "" for other
    nodes. ``document_id`` is "" for an entity.
    """

    id: str
    label: Label
    type: str
    title: str
    level: int = 0
    tokens: int = 0
    doc_tag: str = ""
    anchor: str = ""
    document_id: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """A directed edge. ``document_id`` is the document that states it ("" for a derived edge, or for several).

    ``weight`` (0 or more) is its strength, ``confidence`` (0 to 1) the probability that it is right, ``evidence``
    the ids of the chunks that show it, best first, at most 8.
    """

    source: str
    target: str
    type: EdgeType
    weight: float = 1.0
    confidence: float = 1.0
    evidence: tuple[str, ...] = ()
    document_id: str = ""


@dataclass(frozen=True, slots=True)
class DocumentGraph:
    """The nodes and edges that one document contributes, with the entities that its edges touch.

    An edge may point at a node of another document, which need not exist (yet): reads ignore the edge while an
    end is missing. Every entity that an edge touches must be among ``nodes``, or reads ignore the edge. Of two
    edges that agree in source, target and type, the heavier is kept.
    """

    document_id: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def normalise_name(name: str) -> str:
    r"""The form in which names are compared: NFKC, case-folded, with runs of spaces collapsed.

    >>> normalise_name("  Config\u00a0 Map ")
    'config map'
    """
    return " ".join(normalize("NFKC", name).casefold().split())


def entity_type_order(type: str) -> tuple[int, str]:
    """The sort key of entity types: of the types that documents give one entity, the least wins."""
    return _PRIORITY.get(type, 0), type


def edge_order(edge: Edge) -> tuple[str, str, int]:
    """The sort key of edges: source, target and type."""
    return edge.source, edge.target, EDGE_TYPES.index(edge.type)


def validate_graph(graph: DocumentGraph) -> None:
    """Raise ``WinnowError("INVALID_REQUEST")`` if a record breaks a rule of this module."""
    own = {node.document_id for node in graph.nodes if node.label != "Entity"}
    shared = {node.document_id for node in graph.nodes if node.label == "Entity"}
    _require("document_id of a graph", _is_id, {graph.document_id})
    _require("document_id of a node", {graph.document_id}.__contains__, own)
    _require("document_id of an entity", {""}.__contains__, shared)
    _require(
        "document_id of an edge", {graph.document_id}.__contains__, {edge.document_id for edge in graph.edges}
    )
    ends = {end for edge in graph.edges for end in (edge.source, edge.target, *edge.evidence)}
    _require("id of a node, an end or an evidence of an edge", _is_id, ends.union(node.id for node in graph.nodes))
    for name, rule in _NODE_RULES.items():
        _require(f"{name} of a node", rule, set(map(attrgetter(name), graph.nodes)))
    for name, rule in _EDGE_RULES.items():
        _require(f"{name} of an edge", rule, set(map(attrgetter(name), graph.edges)))


def group_by_document(nodes: Iterable[Node], edges: Iterable[Edge]) -> Iterator[DocumentGraph]:
    """Group a flat list of nodes and edges into graphs of documents, sorted by document id.

    Derived edges are left out: a store computes them itself.
    """
    entities: dict[str, Node] = {}
    own: dict[str, list[Node]] = {}
    stated: dict[str, list[Edge]] = {}
    for node in nodes:
        if node.label == "Entity":
            entities[node.id] = node
        else:
            own.setdefault(node.document_id, []).append(node)
    for edge in edges:
        if edge.document_id:
            stated.setdefault(edge.document_id, []).append(edge)
    for document_id in sorted(own.keys() | stated.keys()):
        document_edges = stated.get(document_id, [])
        touched = sorted({end for edge in document_edges for end in (edge.source, edge.target)} & entities.keys())
        document_nodes = (*own.get(document_id, ()), *(entities[id] for id in touched))
        yield DocumentGraph(document_id, document_nodes, tuple(document_edges))


def is_text(text: Any, most: int) -> bool:
    """Whether ``text`` is a string of at most ``most`` characters without control characters."""
    return isinstance(text, str) and len(text) <= most and not _UNPRINTABLE.search(text)


def _is_count(number: Any) -> bool:
    return isinstance(number, int) and 0 <= number <= _LARGEST_COUNT


def _is_id(id: Any) -> bool:
    return isinstance(id, str) and is_chunk_id(id)


# Each rule is called once for every distinct value of its field: an ingest validates a million records.
_NODE_RULES: Mapping[str, Callable[[Any], bool]] = MappingProxyType(
    {
        "label": lambda label: label in LABELS,
        "type": lambda type: is_text(type, TYPE_CHARS) and bool(type.strip()),
        "title": lambda title: is_text(title, TITLE_CHARS),
        "level": _is_count,
        "tokens": _is_count,
        "doc_tag": lambda tag: is_text(tag, ANCHOR_CHARS),
        "anchor": lambda anchor: is_text(anchor, ANCHOR_CHARS),
    }
)
_EDGE_RULES: Mapping[str, Callable[[Any], bool]] = MappingProxyType(
    {
        "type": lambda type: type in EDGE_TYPES and type != DERIVED,
        "weight": lambda weight: math.isfinite(weight) and weight >= 0,
        "confidence": lambda confidence: 0 <= confidence <= 1,
        "evidence": lambda ids: isinstance(ids, tuple) and len(ids) <= MAX_EVIDENCE,
    }
)


def _require(what: str, rule: Callable[[Any], bool], values: Iterable[Any]) -> None:
    for value in values:
        if not rule(value):
            printable = _UNPRINTABLE.sub("?", str(value)[:40])
            raise WinnowError("INVALID_REQUEST", f"{printable!r} cannot be the {what}; give the graph a valid one")
