"""The functions of ``graph``.

Written by docs/generate.py from the operations that these functions call. Change it there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from .requests import Scope, request_page
from .rows import Results


def describe(
    ids: Any = (),
    *,
    include_snippet: bool = False,
    page_size: int = 25,
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
    return request_page("graph.describe", locals())


def expand(
    ids: Any,
    hops: int = 1,
    *,
    direction: str = "both",
    types: Iterable[str] | None = None,
    include_snippet: bool = False,
    page_size: int = 25,
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
    return request_page("graph.expand", locals())


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
    return request_page("graph.paths", locals())


def parents(
    ids: Any,
    hops: int = 5,
    *,
    include_snippet: bool = False,
    page_size: int = 25,
    missing: str = "raise",
    scope: Scope | None = None,
    cursor: str | None = None,
) -> Results:
    """The sections and the document that contain passages or sections, innermost first.

        for row in graph.parents(kb.search("retry policy")[0]):
            print(row.label, row.title, row.get("level"))

    ids: as in graph.expand. hops: 1 to 5.
    """
    return request_page("graph.parents", locals())


def children(
    ids: Any,
    hops: int = 1,
    *,
    include_snippet: bool = False,
    page_size: int = 25,
    missing: str = "raise",
    scope: Scope | None = None,
    cursor: str | None = None,
) -> Results:
    """The sections and passages of documents or sections.

        row = semantic_search("retry policy", response_mode="preview")[0]
        print([child.title for child in graph.children(row.document_id, hops=5)])

    ids: as in graph.expand. hops: 1 to 5.
    """
    return request_page("graph.children", locals())


def entities_for_sections(
    section_ids: Any,
    *,
    page_size: int = 25,
    missing: str = "raise",
    scope: Scope | None = None,
    cursor: str | None = None,
) -> Results:
    """The entities that passages, sections or documents mention, taken together, strongest first.

        for row in graph.entities_for_sections(kb.search("retry policy")):
            print(row.title, row.type, row.weight)

    section_ids: ids, rows, or a page of them, up to 50.
    """
    return request_page("graph.entities_for_sections", locals())


def sections_for_entities(
    entity_ids: Any,
    *,
    include_snippet: bool = False,
    page_size: int = 25,
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
    return request_page("graph.sections_for_entities", locals())


FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
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


class GraphFunctions:
    """These functions as methods."""

    __slots__ = ()

    describe = staticmethod(describe)
    expand = staticmethod(expand)
    paths = staticmethod(paths)
    parents = staticmethod(parents)
    children = staticmethod(children)
    entities_for_sections = staticmethod(entities_for_sections)
    sections_for_entities = staticmethod(sections_for_entities)
