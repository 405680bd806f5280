"""The operations over the graph, each declared with its SDK function and its tool."""

from __future__ import annotations

from functools import partial

from winnow.server.contracts import (
    DescribeAnswer,
    EntitiesForSections,
    GraphChildren,
    GraphDescribe,
    GraphExpand,
    GraphParents,
    GraphPaths,
    PathsAnswer,
    ReachedAnswer,
    SectionsForEntities,
)
from winnow.server.operations.base import GRAPH_SECONDS
from winnow.server.operations.declaration import Operation, Script, ToolSpec, has_graph_tools
from winnow.server.operations.graph.rendering import (
    MAX_SIZE,
    RULES,
    render_description,
    render_paths,
    render_reached,
)
from winnow.server.operations.graph.walks import (
    graph_children,
    graph_describe,
    graph_entities_for_sections,
    graph_expand,
    graph_parents,
    graph_paths,
    graph_sections_for_entities,
)

_graph_tool = partial(ToolSpec, max_size=MAX_SIZE, is_repeatable=True, is_offered=has_graph_tools)
_GRAPH_DESCRIBE_DESCRIPTION = f"""\
What nodes are, and counts of their relations; without ids, of the graph.
{RULES}
Use when: you choose types for graph_expand.
Do not use when: you want nodes around.
Returns at most: page_size rows, 8,000 tokens.
If you need more, call: this with cursor.
Defaults: page_size 25. Max: 200."""
_GRAPH_DESCRIBE_DOC = """\
Nodes with the counts of their relations by type: row.edges_out, row.edges_in.

    counts = graph.describe()["graph"]
    print(counts["labels"], counts["entity_types"], counts["relations"])

ids: names, ids, rows of any call, or a page of them; none: counts of the whole graph. Unknown ones raise, here
and in all calls of the graph; missing="skip" lists them in `page.missing_ids`. Relations with entities count
recognised mentions only.
"""
GRAPH_DESCRIBE = Operation(
    "graph.describe",
    GraphDescribe,
    graph_describe,
    seconds=GRAPH_SECONDS,
    script=Script(
        "ids * include_snippet page_size missing scope cursor",
        _GRAPH_DESCRIBE_DOC,
        defaults={"ids": ()},
    ),
    tool=_graph_tool(
        title="Describe nodes of the graph",
        description=_GRAPH_DESCRIBE_DESCRIPTION,
        answer=DescribeAnswer,
        render=render_description,
    ),
)
_GRAPH_EXPAND_DESCRIPTION = f"""\
What is around passages, documents or entities; nearest and strongest first.
{RULES}
Use when: you ask what is related.
Do not use when: you join two (graph_paths).
Returns at most: page_size rows, 8,000 tokens.
If you need more, call: this with cursor.
Defaults: hops 1. Max: 5."""
_GRAPH_EXPAND_DOC = """\
The neighbours of nodes: the nearest and most strongly related first.

    for row in graph.expand(kb.search("retry policy"), types=["MENTIONS"]):
        print(row.title, row.type, row.relation, row.weight, row.section_ids)

ids: names, ids, rows of any call, or a page of them. hops: 1 to 5. direction: "out", "in" or "both". types:
relations to follow (MENTIONS, PART_OF, LINKS_TO, CO_OCCURS, ...), all by default. `page.counts` and
`page.total` count all nodes, `page.cut` those that no page shows (beyond 200 nodes). The passages that show a
row: fetch(row.section_ids). page_size: 1 to 200.
"""
GRAPH_EXPAND = Operation(
    "graph.expand",
    GraphExpand,
    graph_expand,
    seconds=GRAPH_SECONDS,
    script=Script(
        "ids hops * direction types include_snippet page_size missing scope cursor",
        _GRAPH_EXPAND_DOC,
    ),
    tool=_graph_tool(
        title="Go from nodes to what is related",
        description=_GRAPH_EXPAND_DESCRIPTION,
        answer=ReachedAnswer,
        render=render_reached,
    ),
)
_GRAPH_PATHS_DESCRIPTION = f"""\
Shortest paths between things, with the passages behind each step.
{RULES}
Use when: the question joins two things.
Do not use when: one is known (graph_expand).
Returns at most: limit paths, 8,000 tokens.
If you need more, call: this with cursor.
Defaults: max_hops 3. Max: 6."""
_GRAPH_PATHS_DOC = """\
The paths between nodes, shortest first; relations are followed both ways.

    pages = kb.search("backups", top_k=2)
    for path in graph.paths(pages[:1], pages[1:], max_hops=4):
        print(" > ".join(node.title for node in path.nodes), [edge.relation for edge in path.edges])

from_ids, to_ids: as in graph.expand. max_hops: 1 to 6. limit: 1 to 50. `page.complete`: there are no others.
Where the server lists the tools of claims, an id may be "claim:ENTRY.N" or "entry:ENTRY".
path.edges[0].section_ids are the passages that show a step.
"""
GRAPH_PATHS = Operation(
    "graph.paths",
    GraphPaths,
    graph_paths,
    seconds=GRAPH_SECONDS,
    script=Script(
        "from_ids to_ids max_hops * types limit missing scope cursor",
        _GRAPH_PATHS_DOC,
    ),
    tool=_graph_tool(
        title="Find how things are connected",
        description=_GRAPH_PATHS_DESCRIPTION,
        answer=PathsAnswer,
        render=render_paths,
    ),
)
_GRAPH_PARENTS_DESCRIPTION = f"""\
Sections and document that hold a passage.
{RULES}
Use when: you ask what it is part of.
Do not use when: you want its text (kb_expand_excerpt).
Returns at most: page_size rows, 8,000 tokens.
If you need more, call: graph_children with an id.
Defaults: hops 5. Max: 5."""
_GRAPH_PARENTS_DOC = """\
The sections and the document that contain passages or sections, innermost first.

    for row in graph.parents(kb.search("retry policy")[0]):
        print(row.label, row.title, row.get("level"))

ids: as in graph.expand. hops: 1 to 5.
"""
GRAPH_PARENTS = Operation(
    "graph.parents",
    GraphParents,
    graph_parents,
    seconds=GRAPH_SECONDS,
    script=Script(
        "ids hops * include_snippet page_size missing scope cursor",
        _GRAPH_PARENTS_DOC,
    ),
    tool=_graph_tool(
        title="Go up a document",
        description=_GRAPH_PARENTS_DESCRIPTION,
        answer=ReachedAnswer,
        render=render_reached,
        listed=False,  # graph_expand reaches the same along PART_OF
    ),
)
_GRAPH_CHILDREN_DESCRIPTION = f"""\
Sections and passages of a document or section.
{RULES}
Use when: you ask what is in it.
Do not use when: you look for something (kb_search).
Returns at most: page_size rows, 8,000 tokens.
If you need more, call: this with cursor.
Defaults: hops 1. Max: 5."""
_GRAPH_CHILDREN_DOC = """\
The sections and passages of documents or sections.

    row = semantic_search("retry policy", response_mode="preview")[0]
    print([child.title for child in graph.children(row.document_id, hops=5)])

ids: as in graph.expand. hops: 1 to 5.
"""
GRAPH_CHILDREN = Operation(
    "graph.children",
    GraphChildren,
    graph_children,
    seconds=GRAPH_SECONDS,
    script=Script(
        "ids hops * include_snippet page_size missing scope cursor",
        _GRAPH_CHILDREN_DOC,
    ),
    tool=_graph_tool(
        title="Go down a document",
        description=_GRAPH_CHILDREN_DESCRIPTION,
        answer=ReachedAnswer,
        render=render_reached,
        listed=False,  # graph_expand reaches the same along PART_OF
    ),
)
_GRAPH_ENTITIES_FOR_SECTIONS_DESCRIPTION = f"""\
What sections mention, strongest first.
{RULES}
Use when: you ask what they are about.
Do not use when: you have a name (graph_sections_for_entities).
Returns at most: page_size rows, 8,000 tokens.
If you need more, call: this with cursor.
Defaults: page_size 25. Max: 200."""
_GRAPH_ENTITIES_FOR_SECTIONS_DOC = """\
The entities that passages, sections or documents mention, taken together, strongest first.

    for row in graph.entities_for_sections(kb.search("retry policy")):
        print(row.title, row.type, row.weight)

section_ids: ids, rows, or a page of them, up to 50.
"""
GRAPH_ENTITIES_FOR_SECTIONS = Operation(
    "graph.entities_for_sections",
    EntitiesForSections,
    graph_entities_for_sections,
    seconds=GRAPH_SECONDS,
    script=Script(
        "section_ids * page_size missing scope cursor",
        _GRAPH_ENTITIES_FOR_SECTIONS_DOC,
    ),
    tool=_graph_tool(
        title="What sections mention",
        description=_GRAPH_ENTITIES_FOR_SECTIONS_DESCRIPTION,
        answer=ReachedAnswer,
        render=render_reached,
    ),
)
_GRAPH_SECTIONS_FOR_ENTITIES_DESCRIPTION = f"""\
Where entities are mentioned.
{RULES}
Use when: you have names.
Do not use when: you have a question (kb_retrieve_evidence).
Returns at most: page_size rows, 8,000 tokens.
If you need more, call: this with cursor.
Defaults: page_size 25. Max: 200."""
_GRAPH_SECTIONS_FOR_ENTITIES_DOC = """\
The sections that mention entities: first those that mention most of them, then by strength.

    entities = graph.entities_for_sections(kb.search("retry policy"))
    if entities:
        for row in graph.sections_for_entities(entities[:2], include_snippet=True):
            print(row.id, row.title, row.get("snippet"))

entity_ids: names, ids, rows, or a page of them, up to 50.
"""
GRAPH_SECTIONS_FOR_ENTITIES = Operation(
    "graph.sections_for_entities",
    SectionsForEntities,
    graph_sections_for_entities,
    seconds=GRAPH_SECONDS,
    script=Script(
        "entity_ids * include_snippet page_size missing scope cursor",
        _GRAPH_SECTIONS_FOR_ENTITIES_DOC,
    ),
    tool=_graph_tool(
        title="Where entities are mentioned",
        description=_GRAPH_SECTIONS_FOR_ENTITIES_DESCRIPTION,
        answer=ReachedAnswer,
        render=render_reached,
    ),
)
OF_GRAPH = (
    GRAPH_DESCRIBE,
    GRAPH_EXPAND,
    GRAPH_PATHS,
    GRAPH_PARENTS,
    GRAPH_CHILDREN,
    GRAPH_ENTITIES_FOR_SECTIONS,
    GRAPH_SECTIONS_FOR_ENTITIES,
)
