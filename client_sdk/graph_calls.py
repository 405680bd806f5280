"""The functions of ``graph``, and ``find_vendor_info``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from .calls import Scope, request_known, request_page
from .rows import Results

_PAGE_SIZE = 25
# Parameters that take ids, or rows in their place.
_ID_PARAMETERS = frozenset({"ids", "from_ids", "to_ids", "section_ids", "entity_ids"})
# The parameter with the ids, where it is not ``ids``.
_FIRST_IDS: Mapping[str, str] = MappingProxyType(
    {"paths": "from_ids", "entities_for_sections": "section_ids", "sections_for_entities": "entity_ids"}
)


def describe(
    ids: Any = (),
    *,
    include_snippet: bool = False,
    page_size: int = _PAGE_SIZE,
    missing: str = "raise",
    scope: Scope | None = None,
    cursor: str | None = None,
) -> Results:
    """Nodes with the counts of their relations by type: row.edges_out, row.edges_in.

        counts = graph.describe()["graph"]
        print(counts["labels"], counts["entity_types"], counts["relations"])

    ids: names, ids, rows of any call, or a page of them; none: counts of the whole graph. Unknown ones raise, here
    and in all calls of the graph; missing="skip" lists them in `page.missing_ids`. Relations with entities count
    recognised mentions only.
    """
    given = {"ids": ids, "include_snippet": include_snippet, "page_size": page_size}
    paging = {"missing": missing, "scope": scope, "cursor": cursor}
    return _request_page("describe", {**given, **paging})


def expand(
    ids: Any,
    hops: int = 1,
    *,
    direction: str = "both",
    types: Iterable[str] | None = None,
    include_snippet: bool = False,
    page_size: int = _PAGE_SIZE,
    missing: str = "raise",
    scope: Scope | None = None,
    cursor: str | None = None,
) -> Results:
    """The neighbours of nodes: the nearest and most strongly related first.

        for row in graph.expand(kb.search("retry policy"), types=["MENTIONS"]):
            print(row.title, row.type, row.relation, row.weight, row.section_ids)

    ids: names, ids, rows of any call, or a page of them. hops: 1 to 5. direction: "out", "in" or "both". types:
    relations to follow (MENTIONS, PART_OF, LINKS_TO, CO_OCCURS, ...), all by default. `page.counts` and
    `page.total` count all nodes, `page.cut` those that no page shows (beyond 200 nodes). The passages that show a
    row: fetch(row.section_ids). page_size: 1 to 200.
    """
    given = {"ids": ids, "hops": hops, "direction": direction, "types": types, "include_snippet": include_snippet}
    paging = {"page_size": page_size, "missing": missing, "scope": scope, "cursor": cursor}
    return _request_page("expand", {**given, **paging})


def paths(
    from_ids: Any,
    to_ids: Any,
    max_hops: int = 3,
    *,
    types: Iterable[str] | None = None,
    limit: int = 10,
    missing: str = "raise",
    scope: Scope | None = None,
    cursor: str | None = None,
) -> Results:
    """The paths between nodes, shortest first; relations are followed both ways.

        pages = kb.search("backups", top_k=2)
        for path in graph.paths(pages[:1], pages[1:], max_hops=4):
            print(" > ".join(node.title for node in path.nodes), [edge.relation for edge in path.edges])

    from_ids, to_ids: as in graph.expand. max_hops: 1 to 6. limit: 1 to 50. `page.complete`: there are no others.
    Where the server lists the tools of claims, an id may be "claim:ENTRY.N" or "entry:ENTRY".
    path.edges[0].section_ids are the passages that show a step.
    """
    given = {"from_ids": from_ids, "to_ids": to_ids, "max_hops": max_hops, "types": types}
    paging = {"limit": limit, "missing": missing, "scope": scope, "cursor": cursor}
    return _request_page("paths", {**given, **paging})


def parents(
    ids: Any,
    hops: int = 5,
    *,
    include_snippet: bool = False,
    page_size: int = _PAGE_SIZE,
    missing: str = "raise",
    scope: Scope | None = None,
    cursor: str | None = None,
) -> Results:
    """The sections and the document that contain passages or sections, innermost first.

        for row in graph.parents(kb.search("retry policy")[0]):
            print(row.label, row.title, row.get("level"))

    ids: as in graph.expand. hops: 1 to 5.
    """
    given = {"ids": ids, "hops": hops, "include_snippet": include_snippet, "page_size": page_size}
    paging = {"missing": missing, "scope": scope, "cursor": cursor}
    return _request_page("parents", {**given, **paging})


def children(
    ids: Any,
    hops: int = 1,
    *,
    include_snippet: bool = False,
    page_size: int = _PAGE_SIZE,
    missing: str = "raise",
    scope: Scope | None = None,
    cursor: str | None = None,
) -> Results:
    """The sections and passages of documents or sections.

        row = semantic_search("retry policy", response_mode="preview")[0]
        print([child.title for child in graph.children(row.document_id, hops=5)])

    ids: as in graph.expand. hops: 1 to 5.
    """
    given = {"ids": ids, "hops": hops, "include_snippet": include_snippet, "page_size": page_size}
    paging = {"missing": missing, "scope": scope, "cursor": cursor}
    return _request_page("children", {**given, **paging})


def entities_for_sections(
    section_ids: Any,
    *,
    page_size: int = _PAGE_SIZE,
    missing: str = "raise",
    scope: Scope | None = None,
    cursor: str | None = None,
) -> Results:
    """The entities that passages, sections or documents mention, taken together, strongest first.

        for row in graph.entities_for_sections(kb.search("retry policy")):
            print(row.title, row.type, row.weight)

    section_ids: ids, rows, or a page of them, up to 50.
    """
    given = {"section_ids": section_ids, "page_size": page_size}
    return _request_page("entities_for_sections", {**given, "missing": missing, "scope": scope, "cursor": cursor})


def sections_for_entities(
    entity_ids: Any,
    *,
    include_snippet: bool = False,
    page_size: int = _PAGE_SIZE,
    missing: str = "raise",
    scope: Scope | None = None,
    cursor: str | None = None,
) -> Results:
    """The sections that mention entities: first those that mention most of them, then by strength.

        entities = graph.entities_for_sections(kb.search("retry policy"))
        if entities:
            for row in graph.sections_for_entities(entities[:2], include_snippet=True):
                print(row.id, row.title, row.get("snippet"))

    entity_ids: names, ids, rows, or a page of them, up to 50.
    """
    given = {"entity_ids": entity_ids, "include_snippet": include_snippet, "page_size": page_size}
    paging = {"missing": missing, "scope": scope, "cursor": cursor}
    return _request_page("sections_for_entities", {**given, **paging})


def find_vendor_info(
    vendor_name: str,
    include_content: bool = False,
    max_results: int = 50,
    entity_types: Iterable[str] | None = None,
    *,
    scope: Scope | None = None,
    cursor: str | None = None,
) -> Results:
    """Everything related to one vendor: documents, products, people, tags, and entities named with it.

        try:
            page = find_vendor_info("acme", entity_types=["product"])
            print(page.vendor, [row.title for row in page], page.relationships)
        except SDKError as error:
            print(error.message)

    include_content: also row.content, the passage that shows it best. max_results: 1 to 100. `page.relationships`
    has source_id, target_id, relationship_type and confidence.
    """
    given = {"vendor_name": vendor_name, "include_content": include_content, "max_results": max_results}
    more = {"entity_types": entity_types, "scope": scope, "cursor": cursor}
    return request_page("find_vendor_info", _build_params({**given, **more}))


FUNCTIONS: Mapping[str, Callable[..., Results]] = MappingProxyType(
    {
        "describe": describe,
        "expand": expand,
        "paths": paths,
        "parents": parents,
        "children": children,
        "entities_for_sections": entities_for_sections,
        "sections_for_entities": sections_for_entities,
    }
)
for _name, _function in FUNCTIONS.items():
    _function.__qualname__ = f"graph.{_name}"  # the name in Python's own messages


def call_by_name(name: str, arguments: Mapping[str, Any]) -> Results:
    """Call one of these functions with arguments as the tool or as the function takes them."""
    return _request_page(name, arguments)


def _request_page(name: str, given: Mapping[str, Any]) -> Results:
    params = _build_params({key: value for key, value in given.items() if key != "missing"})
    return request_known(f"graph.{name}", params, _FIRST_IDS.get(name, "ids"), given.get("missing", "raise"))


def _build_params(given: Mapping[str, Any]) -> dict[str, Any]:
    params = {name: value for name, value in given.items() if value is not None}
    for name in params.keys() & _ID_PARAMETERS:
        params[name] = _ids_of(params[name])
    for name in params.keys() & {"types", "entity_types"}:
        params[name] = [params[name]] if isinstance(params[name], str) else [*params[name]]
    return params


def _ids_of(nodes: Any) -> list[Any]:
    return [_id_of(node) for node in ([nodes] if isinstance(nodes, (str, Mapping)) else nodes)]


def _id_of(node: Any) -> Any:
    return node["id"] if isinstance(node, Mapping) else node
