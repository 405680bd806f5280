"""``find_vendor_info``: documents and entities around a vendor, with the relations that connect them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from server import intake, tiers
from server.contracts.graph import DEFAULT_VENDOR_ROWS, FindVendorInfo
from server.errors import WinnowError
from server.graph.records import Edge, Node
from server.operations.base import Answer, RequestContext
from server.operations.graph.nodes import (
    GraphView,
    add_places,
    most_frequent,
    passages_of,
    render_node,
    resolve_nodes,
    select_evidence,
    shorten,
    size_limit,
    texts_of,
    view_of,
)
from server.operations.graph.walks import links_towards_seeds
from server.operations.paging import AnswerPage, Cursor, build_page, fingerprint, resume

# The relations that connect an entity with a vendor: stated, by co-occurrence, or through the vendor's documents.
_ENTITY_RELATIONS = frozenset(
    {
        "ABOUT",
        "TAGGED",
        "ALIAS_OF",
        "EXPANDS_TO",
        "RELATED_TO",
        "LINKS_TO",
        "DEFINES",
        "IMPORTS",
        "CALLS",
        "CO_OCCURS",
    }
)
_DOCUMENT_RELATIONS = frozenset({"ABOUT", "TAGGED"})
_MAX_RELATIONS = 4  # of one entity
_LABELS = frozenset({"Document", "Entity"})
# Types that are evidence of entities, not entities.
_PLACES = frozenset({"chunk", "section"})


@dataclass(frozen=True, slots=True)
class _VendorEntity:
    """An entity around the vendor, its distance, and the relations that lead to it, strongest first."""

    node: Node
    distance: int
    edges: tuple[Edge, ...]


def find_vendor_info(context: RequestContext, request: FindVendorInfo) -> Answer:
    """Documents and entities around a vendor, nearest first and the most strongly related among them."""
    cursor = resume(request.cursor, request)
    view = view_of(context, request.scope)
    vendor, warnings = _find_vendor(view, request.vendor_name)
    entities_found, counts = _find_entities(view, vendor, frozenset(request.entity_types))
    listed = entities_found[: request.max_results]
    facts = {
        "vendor": shorten(vendor.title),
        "vendor_id": vendor.id,
        "mode": "full" if request.include_content else "metadata",
        "counts": most_frequent(counts),
        "total": len(listed),
        "cut": sum(counts.values()) - len(listed),
    }
    here = Cursor(cursor.offset, fingerprint(request), view.store.generation(view.project), "")
    page = _build_page(view, request, listed[cursor.offset :], facts, here)
    entities = [row["entity"] for row in page.rows if isinstance(row, dict)]
    relations = [edge for row in page.rows if isinstance(row, dict) for edge in row["relationships"]]
    counted = {"entity_count": len(entities), "entities": entities, "relationships": relations}
    ending = {"estimated_tokens": page.tokens, "next_cursor": page.next_cursor, **page.ending}
    payload = {**facts, **counted, **ending}
    if context.caller.budget.is_direct:
        payload["estimated_tokens"] = tiers.estimate_tokens(payload)
    return Answer(
        payload,
        "full" if request.include_content else "metadata",
        len(entities),
        page.tokens,
        (*cursor.moved(here.generation, ""), *warnings),
        noted={"cursors": int(request.cursor is not None)},
        taken=intake.total(
            intake.whole(entity["section_ids"][0], entity["content"]) for entity in entities if "content" in entity
        ),
    )


def _find_vendor(view: GraphView, name: str) -> tuple[Node, tuple[str, ...]]:
    """The vendor with this name; otherwise any entity with it.

    Raises:
        WinnowError: NOT_FOUND if no entity has this name.
    """
    vendors = view.store.find(view.project, name, frozenset({"vendor"}), view.scope)
    exact = next((match.node for match in vendors if match.how != "prefix"), None)
    if exact is not None:
        return exact, ()
    named = resolve_nodes(view, [name])
    entity = next((node for node in named.nodes if node.label == "Entity"), None)
    if entity is None:
        raise WinnowError(
            "NOT_FOUND",
            f"no vendor {shorten(name)!r} in the graph; graph_describe says what there is of this name",
        )
    if entity.type == "vendor":
        return entity, named.warnings
    return entity, (*named.warnings, f"{shorten(name)!r} is not known as a vendor; it is of type {entity.type}")


def _find_entities(
    view: GraphView, vendor: Node, types: frozenset[str]
) -> tuple[list[_VendorEntity], dict[str, int]]:
    """The entities of these types around the vendor, and counts by type that include those the store cut."""
    close = view.around([vendor.id], 1, _ENTITY_RELATIONS, "both")
    of_documents = view.around([vendor.id], 2, _DOCUMENT_RELATIONS, "both")
    entities: dict[str, _VendorEntity] = {}
    for part in (close, of_documents):
        links = links_towards_seeds(part, "both")
        for reached in part.nodes:
            if reached.distance and reached.node.label in _LABELS and (not types or reached.node.type in types):
                edges = tuple(links.get(reached.node.id, ()))
                entities.setdefault(reached.node.id, _VendorEntity(reached.node, reached.distance, edges))
    counts = Counter(reached.node.type for reached in entities.values())
    for part in (close, of_documents):
        by_type = Counter(part.by_type)
        by_type[vendor.type] -= 1
        counts |= Counter({type: count for type, count in by_type.items() if _is_wanted(type, types)})
    return sorted(entities.values(), key=_sort_key), dict(counts)


def _is_wanted(type: str, types: frozenset[str]) -> bool:
    return type not in _PLACES and (not types or type in types)


def _sort_key(entity: _VendorEntity) -> tuple[int, float, str, str]:
    weight = entity.edges[0].weight if entity.edges else 0.0
    return entity.distance, -weight, entity.node.title, entity.node.id


def _build_page(
    view: GraphView,
    request: FindVendorInfo,
    listed: Sequence[_VendorEntity],
    facts: Mapping[str, Any],
    here: Cursor,
) -> AnswerPage:
    """As many entities as fit, each with its relations."""
    rows = [_build_row(view, entity) for entity in listed]
    entities = add_places(view, [row["entity"] for row in rows])
    rows = [{**row, "entity": entity} for row, entity in zip(rows, entities, strict=True)]
    allowed = size_limit(view.context, request.max_results, DEFAULT_VENDOR_ROWS)
    if request.include_content:
        texts = texts_of(view, entities)
        rows = [_add_content(row, texts) for row in rows]
        allowed = tiers.Size(max(allowed.tokens, tiers.MOST_GRAPH_TOKENS), allowed.bytes)
    empty = {"entity_count": 100, "entities": [], "relationships": []}
    return build_page(rows, {**facts, **empty}, allowed, here, more=False)


def _build_row(view: GraphView, entity: _VendorEntity) -> dict[str, Any]:
    section_ids = select_evidence((edge, entity.node) for edge in entity.edges) or passages_of(view, entity.node)
    relations = [
        {
            "source_id": edge.source,
            "target_id": edge.target,
            "relationship_type": edge.type,
            "confidence": round(edge.confidence, 3),
        }
        for edge in entity.edges[:_MAX_RELATIONS]
    ]
    return {
        "entity": {**render_node(entity.node), "distance": entity.distance, "section_ids": section_ids},
        "relationships": relations,
    }


def _add_content(row: dict[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    content = texts.get(next(iter(row["entity"]["section_ids"]), ""))
    return {**row, "entity": {**row["entity"], "content": content}} if content else row
