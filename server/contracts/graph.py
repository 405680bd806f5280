"""``graph.*`` and ``find_vendor_info``: nodes, relations and paths, with the passages that show them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema

from winnow.server.contracts.base import (
    DESCRIBED,
    UNLISTED,
    Arguments,
    ChunkId,
    Cited,
    CursorText,
    Label,
    Limit,
    Meta,
    Payload,
    Scope,
)
from winnow.server.retrieval.graph.base import MAX_HOPS, MAX_NODES, MAX_PATH_HOPS, MAX_PATHS, PAGE_SIZE, Direction
from winnow.server.retrieval.graph.records import MAX_EVIDENCE, TITLE_CHARS, TYPE_CHARS, DocumentEdgeType, EdgeType
from winnow.server.retrieval.graph.records import Label as NodeLabel

MAX_NAMED = 50
MAX_VENDOR_ROWS = 100
DEFAULT_PATHS = 10
DEFAULT_VENDOR_ROWS = 50
SNIPPET_CHARS = 200
MAX_COUNT = 100_000_000
MAX_WEIGHT = 1_000_000_000.0


def _to_upper(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


NodeRef = Annotated[str, StringConstraints(min_length=1, max_length=TITLE_CHARS)]
# Relations of notebooks are taken, too; the list of tools, which has no room, names those of documents.
Relation = Annotated[
    EdgeType, BeforeValidator(_to_upper), WithJsonSchema({"type": "string", "enum": [*get_args(DocumentEdgeType)]})
]
Title = Annotated[str, StringConstraints(max_length=TITLE_CHARS)]
TypeName = Annotated[str, StringConstraints(max_length=TYPE_CHARS)]
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Weight = Annotated[float, Field(ge=0, le=MAX_WEIGHT)]
_IDS_OR_NAMES = "ids of any rows, or names"


class _Scoped(Arguments):
    cursor: CursorText | None = Field(
        default=None, description="next_cursor of the last answer, with the same other arguments"
    )
    scope: Scope | None = Field(default=None, description="narrow the server's scope")


class _Paged(_Scoped):
    page_size: int = Field(default=PAGE_SIZE, ge=1, le=MAX_NODES, description="rows in one answer")


class _Snippets(_Paged):
    include_snippet: bool = Field(
        default=False, description="add to each row the beginning of its first passage that fits its title"
    )


class _Typed(Arguments):
    types: list[Relation] = Field(
        default_factory=list, max_length=20, description="only relations of these types; empty: all"
    )


class GraphDescribe(_Snippets):
    """Arguments of ``graph.describe``."""

    ids: list[NodeRef] = Field(
        default_factory=list,
        max_length=MAX_NAMED,
        description=f"{_IDS_OR_NAMES}; empty: counts of the whole graph",
    )


class GraphExpand(_Snippets, _Typed):
    """Arguments of ``graph.expand``."""

    ids: list[NodeRef] = Field(
        min_length=1, max_length=MAX_NAMED, description=_IDS_OR_NAMES, json_schema_extra=DESCRIBED
    )
    hops: int = Field(default=1, ge=1, le=MAX_HOPS, description="how far to go")
    direction: Direction = Field(
        default="both", description="which way relations are followed; CO_OCCURS points neither way: ask for both"
    )


class GraphPaths(_Scoped, _Typed):
    """Arguments of ``graph.paths``."""

    types: list[Relation] = Field(
        default_factory=list,
        max_length=20,
        description="only relations of these types, as in graph_expand; empty: all",
        json_schema_extra=UNLISTED,
    )
    from_ids: list[NodeRef] = Field(min_length=1, max_length=MAX_NAMED, description=_IDS_OR_NAMES)
    to_ids: list[NodeRef] = Field(min_length=1, max_length=MAX_NAMED, description="the same, for the other end")
    max_hops: int = Field(default=3, ge=1, le=MAX_PATH_HOPS, description="length of a path at most")
    limit: int = Field(default=DEFAULT_PATHS, ge=1, le=MAX_PATHS, description="how many paths")


class GraphParents(_Snippets):
    """Arguments of ``graph.parents``."""

    ids: list[NodeRef] = Field(min_length=1, max_length=MAX_NAMED, description=_IDS_OR_NAMES)
    hops: int = Field(default=MAX_HOPS, ge=1, le=MAX_HOPS, description="how many levels up")


class GraphChildren(_Snippets):
    """Arguments of ``graph.children``."""

    ids: list[NodeRef] = Field(min_length=1, max_length=MAX_NAMED, description=_IDS_OR_NAMES)
    hops: int = Field(default=1, ge=1, le=MAX_HOPS, description="how many levels down")


class EntitiesForSections(_Paged):
    """Arguments of ``graph.entities_for_sections``."""

    section_ids: list[NodeRef] = Field(
        min_length=1,
        max_length=MAX_NAMED,
        description="ids of sections, passages or documents",
        json_schema_extra=DESCRIBED,
    )


class SectionsForEntities(_Snippets):
    """Arguments of ``graph.sections_for_entities``."""

    entity_ids: list[NodeRef] = Field(
        min_length=1, max_length=MAX_NAMED, description="ids or names", json_schema_extra=DESCRIBED
    )


class FindVendorInfo(_Scoped):
    """Arguments of ``find_vendor_info``."""

    vendor_name: NodeRef = Field(description="the vendor's name or an alias of it")
    include_content: bool = Field(
        default=False, description="add to each entity the text of the passage that shows it best"
    )
    max_results: int = Field(
        default=DEFAULT_VENDOR_ROWS, ge=1, le=MAX_VENDOR_ROWS, description="how many entities, over all pages"
    )
    entity_types: list[Label] = Field(
        default_factory=list,
        max_length=20,
        description="only these types, e.g. product, person, tag, markdown; empty: all",
    )


class NodeRow(Payload):
    """One node. ``level``, ``tokens``, ``doc_tag`` and ``anchor`` are present where the node has them."""

    id: ChunkId
    label: NodeLabel
    title: Title
    type: TypeName
    level: Count | None = None
    tokens: Count | None = None
    doc_tag: Title | None = None
    anchor: Annotated[str, StringConstraints(max_length=500)] | None = None


class _EvidencedRow(NodeRow, Cited):
    """A node with the passages that show it, best first, by ids that the ``kb.*`` tools take.

    The place in the file is that of the first of them, as is ``snippet``.
    """

    section_ids: list[ChunkId] = Field(max_length=MAX_EVIDENCE)
    snippet: Annotated[str, StringConstraints(max_length=SNIPPET_CHARS)] | None = None


class DescribedRow(_EvidencedRow):
    """A node with counts of its outgoing and incoming relations, by type."""

    edges_out: dict[str, Count] | None = None
    edges_in: dict[str, Count] | None = None


class ReachedRow(_EvidencedRow):
    """A node, and the strongest relation through which it was reached.

    ``direction`` is "out" where the relation points at this node; CO_OCCURS has none. ``from_id`` is the node at
    the other end, omitted where the request names only one. ``weight`` is that of the relation, or the sum over
    all requested sections or entities; ``entity_ids`` are the requested entities that the node is related to.
    """

    distance: Annotated[int, Field(ge=1, le=MAX_HOPS)] | None = None
    relation: EdgeType | None = None
    direction: Literal["out", "in"] | None = None
    from_id: ChunkId | None = None
    weight: Weight
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None
    entity_ids: list[ChunkId] | None = Field(default=None, max_length=MAX_NAMED)


class PathNode(Payload):
    """A node on a path."""

    id: ChunkId
    label: NodeLabel
    title: Title
    type: TypeName


class PathEdge(Cited):
    """A step of a path. ``direction`` is "out" where the relation points along the path.

    CO_OCCURS has none. The place in the file is that of the first of ``section_ids``.
    """

    relation: EdgeType
    direction: Literal["out", "in"] | None = None
    weight: Weight
    confidence: float = Field(ge=0, le=1)
    section_ids: list[ChunkId] = Field(max_length=MAX_EVIDENCE)


class PathRow(Payload):
    """A path: ``edges[i]`` leads from ``nodes[i]`` to ``nodes[i + 1]``."""

    hops: int = Field(ge=1, le=MAX_PATH_HOPS)
    nodes: list[PathNode] = Field(max_length=MAX_PATH_HOPS + 1)
    edges: list[PathEdge] = Field(max_length=MAX_PATH_HOPS)


class _Page(Payload):
    next_cursor: CursorText | None
    partial: bool
    limit_reason: Limit


class _NamedPage(_Page):
    missing_ids: list[NodeRef] | None = Field(default=None, max_length=2 * MAX_NAMED)
    meta: Meta


class WholeGraph(Payload):
    """Counts over the whole graph: the most frequent types of each kind."""

    labels: dict[str, Count]
    entity_types: dict[str, Count]
    relations: dict[str, Count]


class DescribeAnswer(_NamedPage):
    """Answer of ``graph.describe``."""

    graph: WholeGraph | None = None
    results: list[DescribedRow] = Field(max_length=MAX_NAMED)


class ReachedAnswer(_NamedPage):
    """Answer of the tools that go from nodes to others.

    ``counts`` are by node type, most frequent first, over all ``total`` nodes reached; ``cut`` is the number of
    nodes that no page shows.
    """

    counts: dict[str, Count]
    total: Count
    cut: Count
    results: list[ReachedRow] = Field(max_length=MAX_NODES)


class PathsAnswer(_NamedPage):
    """Answer of ``graph.paths``. ``complete``: there are no other paths within ``max_hops``."""

    total: int = Field(ge=0, le=MAX_PATHS)
    complete: bool
    results: list[PathRow] = Field(max_length=MAX_PATHS)


class VendorEntity(_EvidencedRow):
    """A node related to the vendor."""

    distance: int = Field(ge=1, le=MAX_HOPS)
    content: Annotated[str, StringConstraints(max_length=200_000)] | None = None


class VendorRelationship(Payload):
    """One relation between the vendor and an entity, or two entities of the answer, by their ids."""

    source_id: ChunkId
    target_id: ChunkId
    relationship_type: DocumentEdgeType
    confidence: float = Field(ge=0, le=1)


class VendorAnswer(_Page):
    """Answer of ``find_vendor_info``. ``total`` counts all entities, ``cut`` those that no page shows."""

    vendor: Title
    vendor_id: ChunkId
    mode: Literal["metadata", "full"]
    entity_count: int = Field(ge=0, le=MAX_VENDOR_ROWS)
    counts: dict[str, Count]
    total: Count
    cut: Count
    entities: list[VendorEntity] = Field(max_length=MAX_VENDOR_ROWS)
    relationships: list[VendorRelationship] = Field(max_length=4 * MAX_VENDOR_ROWS)
    estimated_tokens: int = Field(ge=0, le=10_000_000)
    meta: Meta
