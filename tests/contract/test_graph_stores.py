"""Every graph store returns the same rows, those of the reference implementation in ``graph_oracle``."""

from __future__ import annotations

import os
import secrets
import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract import graph_worlds as worlds
from tests.contract.graph_oracle import Oracle, oracle
from tests.neo4j.running import neo4j_server
from winnow.server.backends.graphs import cypher
from winnow.server.backends.graphs.neo4j import Neo4jGraph
from winnow.server.backends.graphs.sqlite_graph import SqliteGraph
from winnow.server.errors import WinnowError
from winnow.server.ids import chunk_id, document_id, entity_id
from winnow.server.retrieval.graph.base import Degree, GraphStore, NodeRank, RankQuery
from winnow.server.retrieval.graph.records import DocumentGraph, Edge, Node, group_by_document, normalise_name

# The first to need the server waits for its start, and then for it to plan every statement once.
pytestmark = [pytest.mark.timeout(300), pytest.mark.as_root]
# A server that already runs may hold other graphs.
P = f"winnow-test-{secrets.token_hex(4)}"
COPY = f"{P}-copy"


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphStore]:
    opened = SqliteGraph(tmp_path_factory.mktemp("graph") / "graph.sqlite3")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, str, str]]:
    """URL, user and password."""
    with neo4j_server() as url:
        yield url, os.environ.get("WINNOW_NEO4J_USER", ""), os.environ.get("WINNOW_NEO4J_PASSWORD", "")


@pytest.fixture(scope="module")
def neo4j(server: tuple[str, str, str]) -> Iterator[Neo4jGraph]:
    opened = Neo4jGraph(*server, query_seconds=30)
    yield opened
    for project in (P, COPY):
        opened.apply(project, (), sorted(opened.documents(project)))
    opened.close()


@pytest.fixture(params=["embedded", "neo4j"])
def store(request: pytest.FixtureRequest) -> GraphStore:
    opened: GraphStore = request.getfixturevalue(request.param)
    return opened


def fill(store: GraphStore, graphs: Sequence[DocumentGraph], project: str = P) -> None:
    """Replace the contents of the project with these graphs."""
    store.apply(project, graphs, sorted(store.documents(project)))
    store.derive(project)


# --- against the definitions -----------------------------------------------------------------------------------

lightly = settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
thoroughly = settings(lightly, max_examples=80)


@thoroughly
@given(st.data())
def test_every_answer_of_the_embedded_store_is_what_the_definitions_say(
    embedded: GraphStore, data: st.DataObject
) -> None:
    """Any graph, every operation, against the reference implementation."""
    _every_answer(embedded, data)


@lightly
@given(st.data())
def test_every_answer_of_neo4j_is_what_the_definitions_say(neo4j: GraphStore, data: st.DataObject) -> None:
    """The same on Neo4j: fewer graphs, because each costs some hundred statements."""
    _every_answer(neo4j, data)


def _every_answer(store: GraphStore, data: st.DataObject) -> None:
    graphs = data.draw(worlds.graphs())
    fill(store, graphs)
    for _ in range(2):
        scope = data.draw(worlds.scopes)
        expected = oracle(graphs, scope)
        assert store.nodes(P, worlds.IDS, scope) == expected.nodes
        assert store.counts(P, scope) == expected.counts()
        _answers_like(store, expected, scope, data)


def _answers_like(store: GraphStore, expected: Oracle, scope: Any, data: st.DataObject) -> None:
    ids, other = data.draw(worlds.ids), data.draw(worlds.ids)
    types, direction = data.draw(worlds.types), data.draw(worlds.directions)
    limit, hops = data.draw(st.sampled_from((1, 3, 50))), data.draw(st.integers(1, 4))
    offset = data.draw(st.integers(0, 3))
    name = data.draw(worlds.titles)[: data.draw(st.sampled_from((3, 40)))]
    kinds = data.draw(st.none() | st.frozensets(st.sampled_from((*worlds.KINDS, "markdown"))))
    assert [store.degrees(P, id, scope) for id in ids] == [expected.degrees(id) for id in ids]
    assert store.find(P, name, kinds, scope, limit) == expected.find(name, kinds, limit)
    asked = (ids, direction, types)
    assert store.neighbours(P, *asked, scope, limit, offset) == expected.neighbours(*asked, limit, offset)
    around = expected.expand(ids, hops, types, direction, limit)
    assert store.expand(P, ids, hops, types, direction, scope, limit) == around
    ways = expected.paths(ids, other, hops, types, limit)
    assert store.paths(P, ids, other, hops, types, scope, limit) == ways
    seeds = {id: 1.0 + at for at, id in enumerate(ids)}
    ranks = store.ranks(P, RankQuery(seeds, types, iterations=60), scope)
    found = dict.fromkeys(expected.nodes, 0.0) | dict(ranks)
    assert found == pytest.approx(expected.ranks(seeds, types, 0.5), abs=1e-4)
    assert ranks == sorted(ranks, key=lambda rank: (-rank[1], expected.nodes[rank[0]].title, rank[0]))
    first = [(expected.nodes[id], score) for id, score in ranks[:limit]]
    owned = [NodeRank(node.id, node.label, node.document_id, score) for node, score in first if node.document_id]
    assert store.owned_ranks(P, RankQuery(seeds, types, iterations=60, limit=limit), scope) == owned


steps = st.lists(
    st.tuples(st.sampled_from(worlds.URIS), st.booleans()).flatmap(
        lambda step: st.tuples(st.just(step[0]), worlds.graph(step[0]) if step[1] else st.none())
    ),
    min_size=2,
    max_size=6,
)


@lightly
@given(steps, worlds.scopes)
def test_changed_document_by_document_a_graph_ends_where_it_would_have_been_at_once(
    embedded: GraphStore, neo4j: GraphStore, changes: list[tuple[str, DocumentGraph | None]], scope: Any
) -> None:
    """Replacing a document replaces exactly its facts, and removing it leaves none of them."""
    held: dict[str, DocumentGraph] = {}
    for store in (embedded, neo4j):
        fill(store, ())
        for uri, graph in changes:
            id = document_id(worlds.PROJECT, uri)
            store.apply(P, [graph] if graph else [], [] if graph else [id])
            held = {key: value for key, value in held.items() if key != id} | ({id: graph} if graph else {})
        store.derive(P)
        expected = oracle(list(held.values()), scope)
        assert store.documents(P) == held.keys()
        assert store.nodes(P, worlds.IDS, scope) == expected.nodes
        assert store.neighbours(P, worlds.IDS, scope=scope, limit=200) == expected.neighbours(
            worlds.IDS, "both", None, 200, 0
        )
    assert list(embedded.export(P)) == list(neo4j.export(P))


@lightly
@given(worlds.graphs())
def test_what_one_store_exports_the_other_takes_for_the_same_graph(
    embedded: GraphStore, neo4j: GraphStore, graphs: list[DocumentGraph]
) -> None:
    """Export from one store and import into the other, by document or as flat lists of nodes and edges."""
    fill(embedded, graphs)
    exported = list(embedded.export(P))
    fill(neo4j, exported, COPY)
    assert list(neo4j.export(COPY)) == exported
    assert neo4j.counts(COPY) == embedded.counts(P)
    everything = {node.id: node for graph in graphs for node in graph.nodes}.values()
    flat = group_by_document(everything, [edge for graph in graphs for edge in graph.edges])
    assert {graph.document_id: graph.edges for graph in flat} == {
        graph.document_id: graph.edges for graph in graphs
    }


# --- small worlds, by hand -------------------------------------------------------------------------------------


def document(uri: str, *parts: Node | Edge) -> DocumentGraph:
    """A document with these entities and edges; its chunks are those that its edges name as 1, 2, 3."""
    id = document_id(P, uri)
    own = (
        Node(id, "Document", "markdown", uri, anchor=uri, document_id=id),
        *(Node(chunk(uri, at), "Chunk", "chunk", f"{uri} {at}", document_id=id) for at in range(1, 4)),
    )
    edges = tuple(replace(part, document_id=id) for part in parts if isinstance(part, Edge))
    return DocumentGraph(id, (*own, *(part for part in parts if isinstance(part, Node))), edges)


def chunk(uri: str, number: int) -> str:
    return chunk_id(P, uri, (), "", number)


def entity(title: str, type: str = "term") -> Node:
    return Node(entity_id(P, normalise_name(title)), "Entity", type, title)


def mention(uri: str, number: int, what: Node, weight: float = 1.0) -> Edge:
    return Edge(chunk(uri, number), what.id, "MENTIONS", weight, 0.5, (chunk(uri, number),))


def test_a_scope_hides_what_only_others_say_of_an_entity(store: GraphStore) -> None:
    """Nothing remains of removed documents: titles, types, edges."""
    secret, spoken = entity("ACME", "vendor"), entity("Acme")
    fill(
        store,
        [
            document("a.md", secret, mention("a.md", 1, secret)),
            document("b.md", spoken, mention("b.md", 1, spoken)),
        ],
    )
    alone = frozenset({document_id(P, "b.md")})
    assert [store.nodes(P, [spoken.id], scope)[spoken.id] for scope in (None, alone)] == [secret, spoken]
    assert store.degrees(P, spoken.id, alone) == [Degree("MENTIONS", "in", 1)]
    assert store.find(P, "acme", frozenset({"vendor"}), alone) == []
    assert store.nodes(P, [spoken.id], frozenset()) == {}


def test_an_entity_goes_with_the_last_edge_that_touches_it(store: GraphStore) -> None:
    """An entity without edges is not in the graph."""
    kept, lost = entity("Kept"), entity("Lost")
    fill(store, [document("a.md", kept, lost, mention("a.md", 1, kept), mention("a.md", 2, lost))])
    assert list(store.nodes(P, [kept.id, lost.id])) == [kept.id, lost.id]
    store.apply(P, [document("a.md", kept, lost, mention("a.md", 1, kept))])
    assert list(store.nodes(P, [kept.id, lost.id])) == [kept.id]
    store.apply(P, (), [document_id(P, "a.md")])
    assert store.nodes(P, [kept.id, lost.id]) == {}


def test_what_is_named_together_twice_is_tied_by_mutual_information(store: GraphStore) -> None:
    """Three chunks, two of them name both: log2(3 * 2 / (2 * 2)) bits times 2/3 and 2/3, shown by the two."""
    one, other, rare = entity("One"), entity("Other"), entity("Rare")
    said = [mention("a.md", at, what) for at in (1, 2) for what in (one, other)]
    fill(store, [document("a.md", one, other, rare, *said, mention("a.md", 1, rare))])
    ends = sorted((one.id, other.id))
    proof = tuple(sorted((chunk("a.md", 1), chunk("a.md", 2))))
    (row,) = store.neighbours(P, [one.id], types=frozenset({"CO_OCCURS"})).rows
    assert row.edge == Edge(*ends, "CO_OCCURS", 0.26, 1.0, proof)
    assert store.neighbours(P, [rare.id], types=frozenset({"CO_OCCURS"})).total == 0


# Each neighbour costs a server two relations; 5,000 of them take more than a minute there beside other tests.
HUBS = {"embedded": 50_000, "neo4j": 1_000}


@pytest.mark.parametrize("name", HUBS)
def test_a_hub_answers_in_pages_however_many_its_neighbours(name: str, request: pytest.FixtureRequest) -> None:
    """Counts cover everything; there are never more rows than requested."""
    store, size = request.getfixturevalue(name), HUBS[name]
    hub = entity("Hub")
    around = [entity(f"n{at:05}", "function") for at in range(size)]
    fill(store, [document("hub.md", hub, *around, *(Edge(hub.id, other.id, "CALLS") for other in around))])
    page = store.neighbours(P, [hub.id], offset=size - 10)
    assert (page.total, [row.node for row in page.rows]) == (size, around[-10:])
    found = store.expand(P, [hub.id], 2, limit=200)
    assert (found.total, found.by_type, found.cut) == (size + 1, {"function": size, "term": 1}, size - 199)
    assert ([each.node for each in found.nodes], found.edges_total) == ([hub, *around[:199]], 199)
    (way,) = store.paths(P, [around[7].id], [around[-1].id]).paths
    assert way.nodes == (around[7], hub, around[-1])
    assert [match.node for match in store.find(P, "n", limit=200)] == around[:200]
    fill(store, ())


# --- what is hostile -------------------------------------------------------------------------------------------

ID, NAME = document_id(P, "a.md"), entity("Name")
EDGE = mention("a.md", 1, NAME)
MEGABYTE = "x" * 1_000_000
REFUSED: dict[str, tuple[Node | Edge, ...]] = {
    "an id that is Cypher": (replace(NAME, id="n) DETACH DELETE n //"),),
    "an id of a megabyte": (replace(NAME, id=MEGABYTE),),
    "a label that is Cypher": (replace(NAME, label="Entity) DETACH DELETE (n"),),  # type: ignore[arg-type]
    "a label that is ours but no node's": (replace(NAME, label="WinnowProject"),),  # type: ignore[arg-type]
    "a type of a megabyte": (replace(NAME, type=MEGABYTE),),
    "a type that is empty": (replace(NAME, type=" "),),
    "a title of a megabyte": (replace(NAME, title=MEGABYTE),),
    "a title with a control character": (replace(NAME, title="a\x1b[31mb"),),
    "a title with a NUL": (replace(NAME, title="a\0b"),),
    "a title that UTF-8 cannot hold": (replace(NAME, title="\ud800"),),
    "a level below 0": (replace(NAME, level=-1),),
    "tokens beyond 32 bits": (replace(NAME, tokens=2**31),),
    "an entity that a document owns": (replace(NAME, document_id=ID),),
    "a chunk of another document": (Node(chunk("b.md", 1), "Chunk", "chunk", "", document_id="0" * 12),),
    "a relation that is Cypher": (replace(EDGE, type="X]->() DELETE r //"),),  # type: ignore[arg-type]
    "a relation that only a store may derive": (replace(EDGE, type="CO_OCCURS"),),
    "a source that is no id": (replace(EDGE, source="' OR 1=1"),),
    "a target that is no id": (replace(EDGE, target=""),),
    "a weight that is no number": (replace(EDGE, weight=float("nan")),),
    "a weight below 0": (replace(EDGE, weight=-0.1),),
    "a confidence above 1": (replace(EDGE, confidence=1.1),),
    "evidence that is no id": (replace(EDGE, evidence=("$project",)),),
    "nine pieces of evidence": (replace(EDGE, evidence=(chunk("a.md", 1),) * 9),),
}


@pytest.mark.parametrize("parts", REFUSED.values(), ids=REFUSED)
def test_a_hostile_record_is_refused_and_changes_nothing(
    store: GraphStore, parts: tuple[Node | Edge, ...]
) -> None:
    """A failed import changes neither the graph, nor its documents, nor the generation."""
    fill(store, [document("a.md", NAME, EDGE)])
    before = store.generation(P), list(store.export(P))
    with pytest.raises(WinnowError) as refused:
        store.apply(P, [document("b.md"), document("a.md", *parts)])
    assert refused.value.reason == "INVALID_REQUEST"
    assert len(refused.value.message) < 300
    assert (store.generation(P), list(store.export(P))) == before


HOSTILE = ("n) DETACH DELETE n //", "' OR 1=1 --", "`", "\0", "\x1b[2J", "\ud800", "$project", "", MEGABYTE)


def test_a_hostile_question_finds_nothing_and_changes_nothing(store: GraphStore) -> None:
    """Ids, names and types are treated as data, never as query text."""
    fill(store, [document("a.md", NAME, EDGE)])
    before = store.generation(P), list(store.export(P))
    types = frozenset(HOSTILE)
    for text in HOSTILE:
        assert store.nodes(P, [text]) == {}
        assert store.find(P, text) == []
        assert store.find(P, "name", types) == []
        assert store.degrees(P, text) == []
        assert store.neighbours(P, [text]).total == 0
        assert store.expand(P, [text]).total == 0
        assert store.paths(P, [text], [NAME.id]).paths == ()
        assert store.ranks(P, RankQuery({text: 1.0})) == []
        assert store.nodes(P, [NAME.id], frozenset({text})) == {}
    assert store.neighbours(P, [NAME.id], types=types).total == 0
    assert (store.generation(P), list(store.export(P))) == before


BEYOND: dict[str, Any] = {
    "no hops": lambda store: store.expand(P, [ID], 0),
    "six hops": lambda store: store.expand(P, [ID], 6),
    "201 nodes": lambda store: store.expand(P, [ID], limit=201),
    "201 ids": lambda store: store.neighbours(P, [ID] * 201),
    "a page of 201": lambda store: store.neighbours(P, [ID], limit=201),
    "an offset below 0": lambda store: store.neighbours(P, [ID], offset=-1),
    "seven hops of a path": lambda store: store.paths(P, [ID], [ID], 7),
    "51 paths": lambda store: store.paths(P, [ID], [ID], limit=51),
    "no match": lambda store: store.find(P, "name", limit=0),
    "a damping above 1": lambda store: store.ranks(P, RankQuery({ID: 1.0}, damping=1.5)),
}


@pytest.mark.parametrize("ask", BEYOND.values(), ids=BEYOND)
def test_what_is_beyond_the_limits_is_refused_with_the_limits(store: GraphStore, ask: Any) -> None:
    """An error names the mismatch; nothing is cut silently."""
    with pytest.raises(WinnowError, match=r"must be from \d+ to \d+") as refused:
        ask(store)
    assert refused.value.reason == "INVALID_REQUEST"


# --- who else is there -----------------------------------------------------------------------------------------


def test_readers_see_whole_changes_while_one_writes(store: GraphStore) -> None:
    """Version n of the document names n entities with weight n each: never some of one and some of another."""
    hub = entity("Hub")

    def version(number: int) -> DocumentGraph:
        names = [entity(f"name {at}") for at in range(number)]
        calls = [Edge(hub.id, name.id, "CALLS", float(number)) for name in names]
        return document("a.md", hub, *names, *calls)

    fill(store, [version(1)])
    done, torn = threading.Event(), []

    def read() -> None:
        while not done.is_set():
            page = store.neighbours(P, [hub.id], limit=200)
            if {row.edge.weight for row in page.rows} != {float(page.total)} or len(page.rows) != page.total:
                torn.append(page)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(2, 12):
        store.apply(P, [version(number)])
    done.set()
    for reader in readers:
        reader.join()
    assert torn == []
    assert store.neighbours(P, [hub.id]).total == 11


def test_a_gate_that_a_dead_writer_left_shut_is_opened_by_the_next_reader(neo4j: Neo4jGraph) -> None:
    """A writer that dies between announcing a commit and the commit."""
    fill(neo4j, [document("a.md", NAME, EDGE)])
    before = neo4j.generation(P)
    neo4j._run(P, cypher.BEGIN_CHANGE)
    assert neo4j.nodes(P, [NAME.id]) == {NAME.id: NAME}
    assert neo4j.generation(P) == before + 1


def test_a_reader_never_opens_the_gate_of_a_writer_who_lives(
    neo4j: Neo4jGraph, server: tuple[str, str, str]
) -> None:
    """During a commit a reader gets a retryable error; afterwards it reads the whole change."""
    fill(neo4j, [document("a.md", NAME, EDGE)])
    told: list[WinnowError] = []
    hurried = Neo4jGraph(*server, query_seconds=1)

    def change(writer: Any) -> None:
        writer.delete([ID])
        neo4j._run(P, cypher.BEGIN_CHANGE)
        with pytest.raises(WinnowError) as refused:
            hurried.nodes(P, [NAME.id])
        told.append(refused.value)

    neo4j._write(P, change)
    assert [(error.reason, error.retryable) for error in told] == [("INDEX_UNAVAILABLE", True)]
    assert hurried.degrees(P, NAME.id) == []
    hurried.close()


def test_projects_do_not_see_each_other(store: GraphStore) -> None:
    """Projects are separate by id and by name, and a change of one does not change the other."""
    fill(store, [document("a.md", NAME, EDGE)])
    fill(store, (), COPY)
    before = store.generation(P)
    store.apply(COPY, (), [ID])
    assert store.nodes(COPY, [NAME.id]) == {}
    assert store.find(COPY, "name") == []
    assert (store.generation(P), store.documents(P)) == (before, {ID})
    assert store.generation("nowhere") == 0


def test_another_process_sees_what_was_applied(tmp_path: Path) -> None:
    """Two handles on one file: the generation tells the second that what it holds in memory is old."""
    one, other = (SqliteGraph(tmp_path / "graph.sqlite3") for _ in range(2))
    assert other.nodes(P, [NAME.id]) == {}
    one.apply(P, [document("a.md", NAME, EDGE)])
    assert other.nodes(P, [NAME.id]) == {NAME.id: NAME}
    one.close()
    other.close()


def test_a_file_that_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    """It is reported, not overwritten."""
    path = tmp_path / "graph.sqlite3"
    path.write_bytes(b"something else entirely, and longer than a header of a hundred bytes" * 4)
    before = path.read_bytes()
    with pytest.raises(WinnowError) as refused:
        SqliteGraph(path)
    assert (refused.value.reason, path.read_bytes()) == ("INDEX_UNAVAILABLE", before)


def test_no_server_and_a_silent_server_are_unavailable() -> None:
    """The error comes within the connection timeout, without user and password."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        quiet = f"bolt://127.0.0.1:{silent.getsockname()[1]}"
        for url in ("bolt://127.0.0.1:1", quiet, "bolt://user:secret@127.0.0.1:1", "nonsense"):
            with pytest.raises(WinnowError) as refused:
                _ask(url)
            assert refused.value.reason == "INDEX_UNAVAILABLE"
            assert "secret" not in refused.value.message


def _ask(url: str) -> int:
    store = Neo4jGraph(url, "somebody", "secret", connect_seconds=0.3, query_seconds=0.3)
    try:
        return store.generation(P)
    finally:
        store.close()


def test_a_read_that_takes_too_long_is_a_timeout(server: tuple[str, str, str]) -> None:
    """The server ends the statement; the message says how to change the request."""
    hurried = Neo4jGraph(*server, query_seconds=0.2)
    with pytest.raises(WinnowError) as refused:
        hurried._read(P, None, lambda reader: reader.rows("UNWIND range(1, 10000000000) AS n RETURN count(n)"))
    hurried.close()
    assert (refused.value.reason, "fewer hops" in refused.value.message) == ("TIMEOUT", True)
