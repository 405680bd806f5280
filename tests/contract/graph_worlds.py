"""Hypothesis strategies for graphs: few documents, many conflicts, hostile names."""

from __future__ import annotations

from hypothesis import strategies as st

from winnow.server.ids import chunk_id, document_id, entity_id, section_id
from winnow.server.retrieval.graph.records import DERIVED, EDGE_TYPES, DocumentGraph, Edge, Node

PROJECT = "p"
URIS = ("a.md", "b/c.md", "d' OR 1=1 //.md", "é🙂.md")
HOSTILE = (
    "ConfigMap",
    "configmap",
    "CONFIGMAP",
    "Config Map",
    "n) DETACH DELETE (n",
    "`x`]->() RETURN 1 //",
    "$project {a: 1}",
    "'; DROP TABLE graphs; --",
    "\\u0000 \\",
    "\u00e9t\u00e9 \U0001f642",
    "\uffff after the astral in UTF-16",
    "ﬁle",
    "",
    "50% _ *",
)
KINDS = ("term", "vendor", "acronym", "a user's own", "`kind`")
NAMES = tuple(entity_id(PROJECT, f"entity {number}") for number in range(6))
CHUNKS = {uri: tuple(chunk_id(PROJECT, uri, (), "", number) for number in range(3)) for uri in URIS}
OWN = {uri: (document_id(PROJECT, uri), section_id(PROJECT, uri, ("One",)), *CHUNKS[uri]) for uri in URIS}
IDS = (*(id for ids in OWN.values() for id in ids), *NAMES)
SAID = tuple(type for type in EDGE_TYPES if type != DERIVED)

titles = st.sampled_from(HOSTILE)
types = st.none() | st.frozensets(st.sampled_from(EDGE_TYPES), min_size=1, max_size=9)
directions = st.sampled_from(("out", "in", "both"))
scopes = st.none() | st.frozensets(st.sampled_from([ids[0] for ids in OWN.values()]))
ids = st.lists(st.sampled_from((*IDS, "000000000000", "n) RETURN 1", "")), max_size=4)


@st.composite
def _edge(draw: st.DrawFn, uri: str) -> Edge:
    kind = draw(st.sampled_from((*SAID, "MENTIONS", "MENTIONS", "ALIAS_OF")))
    mention = kind == "MENTIONS"
    return Edge(
        draw(st.sampled_from(CHUNKS[uri] if mention else OWN[uri] + NAMES)),
        draw(st.sampled_from(NAMES[:3] if mention else IDS)),
        kind,
        draw(st.sampled_from((0.0, 0.1, 0.5, 1.0, 1 / 3, 7.5))),
        draw(st.sampled_from((0.0, 0.3, 1.0))),
        tuple(draw(st.lists(st.sampled_from((*CHUNKS[uri], "00000000000v")), max_size=3, unique=True))),
        OWN[uri][0],
    )


@st.composite
def graph(draw: st.DrawFn, uri: str) -> DocumentGraph:
    """The graph of the document ``uri``."""
    id, section, *chunks = OWN[uri]
    own = [Node(id, "Document", "markdown", draw(titles), 0, 0, "v1", uri, id)]
    if draw(st.booleans()):
        own.append(Node(section, "Section", "section", draw(titles), 1, 0, "v1", "one", id))
    own += [
        Node(chunk, "Chunk", "chunk", draw(titles), 0, 40, "v1", "", id)
        for chunk in chunks[: draw(st.integers(0, 3))]
    ]
    named = draw(st.frozensets(st.sampled_from(NAMES), min_size=3))
    entities = [Node(name, "Entity", draw(st.sampled_from(KINDS)), draw(titles)) for name in sorted(named)]
    edges = draw(st.lists(_edge(uri), max_size=14))
    return DocumentGraph(id, (*own, *entities), tuple(edges))


@st.composite
def graphs(draw: st.DrawFn) -> list[DocumentGraph]:
    """Graphs of some documents, each at most once, in any order."""
    uris = draw(st.lists(st.sampled_from(URIS), min_size=1, unique=True))
    return [draw(graph(uri)) for uri in uris]
