"""``find_vendor_info``: documents and entities around a vendor, with the relations that connect them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from winnow.server.contracts import VendorAnswer
from winnow.server.contracts.graph import DEFAULT_VENDOR_ROWS, FindVendorInfo
from winnow.server.errors import WinnowError
from winnow.server.operations.answers import budget, text_charges
from winnow.server.operations.answers.paging import AnswerPage, Cursor, build_page, fingerprint, resume
from winnow.server.operations.answers.rendering import partial_note
from winnow.server.operations.base import GRAPH_SECONDS, Answer, RequestContext
from winnow.server.operations.declaration import Operation, Script, ToolSpec
from winnow.server.operations.graph.nodes import (
    GraphView,
    add_places,
    end_of_page,
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
from winnow.server.operations.graph.rendering import MAX_SIZE, format_counts, render_ending, render_nodes
from winnow.server.operations.graph.walks import links_towards_seeds
from winnow.server.operations.ranking.nearest import list_near
from winnow.server.retrieval.graph.records import Edge, Node
from winnow.server.settings.settings import Settings
from winnow.server.text.matching import find_spellings

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
# Types of entities that are certainly no vendor. A name of another type may be one, though no document says so.
_NO_VENDORS = frozenset({"identifier", "tag", "class", "function", "module", "link"})
_NAMED = 5


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
    everything = _find_entities(view, vendor)
    entities_found, counts = _select_types(everything, request.entity_types)
    unknown = _unknown_types(request.entity_types, vendor, everything[1])
    listed, total = entities_found[: request.max_results], sum(counts.values())
    cut = total - len(listed)
    facts = {
        "vendor": shorten(vendor.title),
        "vendor_id": vendor.id,
        "mode": "full" if request.include_content else "metadata",
        "counts": most_frequent(counts),
        "total": total,
        "cut": cut,
    }
    here = Cursor(cursor.offset, fingerprint(request), view.store.generation(view.project), "")
    page = _build_page(view, request, listed[cursor.offset :], facts, here)
    entities = [row["entity"] for row in page.rows if isinstance(row, dict)]
    relations = [edge for row in page.rows if isinstance(row, dict) for edge in row["relationships"]]
    counted = {"entity_count": len(entities), "entities": entities, "relationships": relations}
    ending = {"estimated_tokens": page.tokens, "next_cursor": page.next_cursor, **end_of_page(page, cut)}
    payload = {**facts, **counted, **ending}
    return Answer(
        payload,
        "full" if request.include_content else "metadata",
        len(entities),
        page.tokens,
        (*cursor.moved(here.generation, ""), *warnings, *unknown),
        noted={"cursors": int(request.cursor is not None)},
        charged_text=text_charges.total(
            text_charges.whole(entity["section_ids"][0], entity["content"])
            for entity in entities
            if "content" in entity
        ),
    )


def _find_vendor(view: GraphView, name: str) -> tuple[Node, tuple[str, ...]]:
    """The vendor with this name; otherwise any entity with it.

    Raises:
        WinnowError: NOT_FOUND if no entity has this name, or one that is no vendor.
    """
    vendors = view.store.find(view.project, name, frozenset({"vendor"}), view.scope)
    exact = next((match.node for match in vendors if match.how != "prefix"), None)
    if exact is not None:
        return exact, ()
    try:
        named = resolve_nodes(view, [name])
    except WinnowError as error:
        raise (_no_vendor_error(view, name, error.message) if error.reason == "NOT_FOUND" else error) from None
    node = next((node for node in named.nodes if node.label == "Entity"), named.nodes[0])
    if node.label != "Entity" or node.type in _NO_VENDORS:
        what = f"{shorten(name)!r} is no vendor: it is of type {shorten(node.type)}"
        raise _no_vendor_error(view, name, f"{what}; graph_expand shows what is around it")
    if node.type == "vendor":
        return node, named.warnings
    return node, (*named.warnings, f"{shorten(name)!r} is not known as a vendor; it is of type {node.type}")


def _no_vendor_error(view: GraphView, name: str, message: str) -> WinnowError:
    """The error for a name of no vendor, with the vendors near it."""
    known = sorted(view.context.index.labels(view.filters).values["vendor"])
    near = f"of vendors, {list_near(name, known)}" if known else "no document in reach states a vendor"
    return WinnowError("NOT_FOUND", f"{message}; {near}")


def _select_types(
    found: tuple[list[_VendorEntity], dict[str, int]], types: Sequence[str]
) -> tuple[list[_VendorEntity], dict[str, int]]:
    """The entities of these types, all if there are none, and their counts."""
    entities, counts = found
    wanted = {spelling for type in types for spelling in find_spellings(counts, type)}
    if not types:
        return found
    kept = [entity for entity in entities if entity.node.type in wanted]
    return kept, {type: count for type, count in counts.items() if type in wanted}


def _unknown_types(types: Sequence[str], vendor: Node, counts: Mapping[str, int]) -> tuple[str, ...]:
    """A warning for each of these types that nothing around the vendor has."""
    known = list(most_frequent(counts))
    unknown = [type for type in dict.fromkeys(types) if not find_spellings(counts, type)]
    return tuple(
        f"nothing around {shorten(vendor.title)} has the type {shorten(type)!r}; {list_near(type, known)}"
        for type in unknown[:_NAMED]
    )


def _find_entities(view: GraphView, vendor: Node) -> tuple[list[_VendorEntity], dict[str, int]]:
    """The entities around the vendor, and counts by type that include those the store cut."""
    close = view.around([vendor.id], 1, _ENTITY_RELATIONS, "both")
    of_documents = view.around([vendor.id], 2, _DOCUMENT_RELATIONS, "both")
    entities: dict[str, _VendorEntity] = {}
    for part in (close, of_documents):
        links = links_towards_seeds(part, "both")
        for reached in part.nodes:
            if reached.distance and reached.node.label in _LABELS:
                edges = tuple(links.get(reached.node.id, ()))
                entities.setdefault(reached.node.id, _VendorEntity(reached.node, reached.distance, edges))
    counts = Counter(reached.node.type for reached in entities.values())
    for part in (close, of_documents):
        by_type = Counter(part.by_type)
        by_type[vendor.type] -= 1
        counts |= Counter({type: count for type, count in by_type.items() if type not in _PLACES})
    return sorted(entities.values(), key=_sort_key), dict(counts)


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
        allowed = budget.Size(max(allowed.tokens, budget.MOST_GRAPH_TOKENS), allowed.bytes)
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


def _has_graph(settings: Settings) -> bool:
    """Whether graphs are switched on."""
    return settings.graph != "off"


def render_vendor(payload: dict[str, Any]) -> list[str]:
    """The entities, then the relations between them by id."""
    cut = f", {payload['cut']} cut" if payload["cut"] else ""
    lines = [
        f"{payload['vendor']} [{payload['vendor_id']}]: {payload['entity_count']} of {payload['total']} "
        f"entities{cut} ({payload['mode']}){partial_note(payload, 'max_results')}, "
        f"about {payload['estimated_tokens']} tokens"
    ]
    if payload["counts"]:
        lines.append(f"counts: {format_counts(payload['counts'])}")
    lines.extend(render_nodes(payload["entities"]))
    lines.extend(
        f"{row['source_id']} {row['relationship_type']} {row['target_id']} (confidence {row['confidence']:.3f})"
        for row in payload["relationships"]
    )
    return [*lines, *render_ending(payload)]


_FIND_VENDOR_INFO_DESCRIPTION = """\
Documents, products, people and tags around one vendor.
Use when: you ask about a vendor.
Do not use when: you want passages (semantic_search with vendor_filter).
Returns at most: max_results rows, 8,000 tokens.
If you need more, call: this with cursor.
Defaults: max_results 50. Max: 100."""
_FIND_VENDOR_INFO_DOC = """\
Everything related to one vendor: documents, products, people, tags, and entities named with it.

    try:
        page = find_vendor_info("acme", entity_types=["product"])
        print(page.vendor, [row.title for row in page], page.relationships)
    except SDKError as error:
        print(error.message)

include_content: also row.content, the passage that shows it best. max_results: 1 to 100. `page.relationships`
has source_id, target_id, relationship_type and confidence.
"""
FIND_VENDOR_INFO = Operation(
    "find_vendor_info",
    FindVendorInfo,
    find_vendor_info,
    seconds=GRAPH_SECONDS,
    script=Script(
        "vendor_name include_content max_results entity_types * scope cursor",
        _FIND_VENDOR_INFO_DOC,
    ),
    tool=ToolSpec(
        title="Find what is around a vendor",
        description=_FIND_VENDOR_INFO_DESCRIPTION,
        answer=VendorAnswer,
        render=render_vendor,
        max_size=MAX_SIZE,
        is_repeatable=True,
        is_offered=_has_graph,
    ),
)
