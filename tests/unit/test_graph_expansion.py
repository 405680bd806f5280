"""Graph expansion in the retriever: results of a walk, filters, and warnings where there is no graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.backends.graphs.sqlite_graph import SqliteGraph
from winnow.server.backends.vectors.edge import EdgeStore
from winnow.server.errors import WinnowError
from winnow.server.ids import chunk_id, document_id, entity_id
from winnow.server.models import Document, Filters, Ranking
from winnow.server.retrieval.graph.base import GraphStore, Scope, Types
from winnow.server.retrieval.graph.records import DocumentGraph, Edge, Node
from winnow.server.retrieval.graph_expansion import Walk, WalkResult, combine_scores
from winnow.server.retrieval.hybrid import Retriever
from winnow.server.retrieval.lexical import build_document_vector
from winnow.server.storage.base import Embedder, ModelState, Point, payload_of

TEXTS = {
    "film.md": "The film The Silent Gate was directed in 1957.",
    "director.md": "Jane Doe grew up in a harbour town.",
    "town.md": "Ships anchor there in winter.",
    "secret.md": "Nobody is to read of this.",
    "cook.md": "A soup takes an hour.",
}
# Links between pages, and the names that each page mentions.
LINKS = [("film.md", "director.md"), ("director.md", "town.md"), ("film.md", "secret.md")]
QUERY = "the silent gate"
DOCUMENTS = {uri: document_id("p", uri) for uri in TEXTS}
CHUNKS = {uri: chunk_id("p", uri, (), text, 0) for uri, text in TEXTS.items()}
URIS = {id: uri for uri, id in CHUNKS.items()}
WALKS: tuple[Walk, ...] = ("hybrid_local", "multi_hop")


@dataclass
class NoModel:
    """No embedding model, so that only the lexical leg ranks."""

    state: ModelState = "off"
    why: str = "switched off"

    def ready(self) -> Embedder | None:
        return None

    def wait(self) -> Embedder | None:
        return None


class Down(SqliteGraph):
    """A graph store whose server is unreachable; ``asked`` counts the attempts."""

    asked = 0

    def load(self, project: str, types: Types) -> None:
        self.generation(project)

    def generation(self, project: str) -> int:
        self.asked += 1
        raise WinnowError("INDEX_UNAVAILABLE", "the server does not answer")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EdgeStore]:
    opened = EdgeStore(tmp_path_factory.mktemp("vectors"), 8)
    documents = {uri: Document(DOCUMENTS[uri], "p", uri, "/docs", "", "markdown", "") for uri in TEXTS}
    opened.upsert(
        [
            Point(CHUNKS[uri], build_document_vector("", text), None, payload_of(documents[uri]))
            for uri, text in TEXTS.items()
        ]
    )
    yield opened
    opened.close()


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[SqliteGraph]:
    opened = SqliteGraph(tmp_path / "graph.sqlite3")
    opened.apply("p", [draw(uri) for uri in TEXTS])
    yield opened
    opened.close()


def draw(uri: str) -> DocumentGraph:
    """The graph of a page: one chunk, its links, and a name that all pages but one mention."""
    page, chunk, name = DOCUMENTS[uri], CHUNKS[uri], entity_id("p", "name")
    nodes = [
        Node(page, "Document", "markdown", uri, anchor=uri, document_id=page),
        Node(chunk, "Chunk", "chunk", uri, tokens=9, document_id=page),
    ]
    edges = [Edge(chunk, page, "PART_OF", document_id=page)]
    edges += [Edge(page, DOCUMENTS[to], "LINKS_TO", document_id=page) for here, to in LINKS if here == uri]
    if uri == "town.md":
        nodes.append(Node(name, "Entity", "term", "Name"))
        edges.append(Edge(chunk, name, "MENTIONS", document_id=page))
    return DocumentGraph(page, tuple(nodes), tuple(edges))


def retriever(store: EdgeStore, graph: GraphStore | None, visible: Sequence[str] | None = None) -> Retriever:
    """``visible``: the pages of the graph that pass the filters."""
    scope: Scope = None if visible is None else frozenset(DOCUMENTS[uri] for uri in visible)
    return Retriever(store, NoModel(), lambda _: "", graph=graph, admitted=lambda _: scope)


def sources_of(ranking: Ranking) -> list[tuple[str, bool]]:
    """The results, best first, and whether only the graph found them."""
    return [(URIS[hit.chunk_id], hit.is_expanded) for hit in ranking.hits]


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_brings_what_the_words_do_not_find_nearest_first(
    store: EdgeStore, graph: SqliteGraph, walk: Walk
) -> None:
    found = retriever(store, graph).search(QUERY, Filters("p"), 10, walk=walk)
    assert found.walked
    assert sources_of(found)[0] == ("film.md", False)
    assert sorted(sources_of(found)[1:3]) == [("director.md", True), ("secret.md", True)]
    assert sources_of(found)[3:] == [("town.md", True)]
    assert all(0 <= hit.score <= 1 for hit in found.hits)
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)


def test_without_a_walk_the_ranking_is_that_of_the_legs(store: EdgeStore, graph: SqliteGraph) -> None:
    walked = retriever(store, graph).search(QUERY, Filters("p"), 10)
    assert walked == retriever(store, None).search(QUERY, Filters("p"), 10)
    assert sources_of(walked) == [("film.md", False)]


def test_what_the_legs_said_of_a_hit_is_kept_beside_the_joint_score(store: EdgeStore, graph: SqliteGraph) -> None:
    plain = retriever(store, None).search(QUERY, Filters("p"), 10)
    walked = retriever(store, graph).search(QUERY, Filters("p"), 10, walk="multi_hop")
    before = {hit.chunk_id: hit.before for hit in walked.hits if not hit.is_expanded}
    assert before == {hit.chunk_id: hit.score for hit in plain.hits}
    assert {hit.before for hit in plain.hits} == {None}


def test_loading_ahead_changes_no_answer_and_a_graph_that_is_down_is_not_asked_twice(
    store: EdgeStore, graph: SqliteGraph, tmp_path: Path
) -> None:
    loaded, fresh = retriever(store, graph), retriever(store, graph)
    loaded.load("p")
    loaded.load("nowhere")
    assert loaded.search(QUERY, Filters("p"), 10, walk="auto") == fresh.search(
        QUERY, Filters("p"), 10, walk="auto"
    )
    down = Down(tmp_path / "down.sqlite3")
    asking = retriever(store, down)
    with pytest.raises(WinnowError, match="does not answer"):
        asking.load("p")
    assert asking.search(QUERY, Filters("p"), 10, walk="auto").warnings[-1].startswith("the graph is down")
    assert down.asked == 1
    down.close()


def test_auto_walks_where_there_is_a_graph(store: EdgeStore, graph: SqliteGraph) -> None:
    search = retriever(store, graph).search
    assert search(QUERY, Filters("p"), 10, walk="auto") == search(QUERY, Filters("p"), 10, walk="hybrid_local")


@pytest.mark.parametrize("walk", WALKS)
def test_what_the_filters_leave_out_is_neither_brought_nor_passed_through(
    store: EdgeStore, graph: SqliteGraph, walk: Walk
) -> None:
    search = retriever(store, graph, ["film.md", "town.md", "cook.md"]).search
    assert sources_of(search(QUERY, Filters("p", types=("markdown",)), 10, walk=walk)) == [("film.md", False)]


@pytest.mark.parametrize("walk", WALKS)
def test_the_same_question_has_the_same_answer_and_a_limit_cuts_its_end(
    store: EdgeStore, graph: SqliteGraph, walk: Walk
) -> None:
    search = retriever(store, graph).search
    whole = search(QUERY, Filters("p"), 10, walk=walk)
    assert search(QUERY, Filters("p"), 10, walk=walk) == whole
    assert search(QUERY, Filters("p"), 2, walk=walk).hits == whole.hits[:2]


@pytest.mark.parametrize("walk", WALKS)
def test_switched_off_or_not_drawn_yet_the_legs_answer_and_say_so(
    store: EdgeStore, tmp_path: Path, walk: Walk
) -> None:
    empty = SqliteGraph(tmp_path / "empty.sqlite3")
    plain = retriever(store, None).search(QUERY, Filters("p"), 10)
    for graph, said in ((None, "the graph is switched off"), (empty, "project 'p' has no graph yet")):
        found = retriever(store, graph).search(QUERY, Filters("p"), 10, walk=walk)
        assert (found.hits, found.walked) == (plain.hits, False)
        assert said in found.warnings[-1]
        quiet = retriever(store, graph).search(QUERY, Filters("p"), 10, walk="auto")
        assert quiet == plain
    empty.close()


def test_a_graph_that_is_down_is_said_and_left_alone_for_a_while(store: EdgeStore, tmp_path: Path) -> None:
    down = Down(tmp_path / "graph.sqlite3")
    asking = retriever(store, down)
    for walk in ("auto", "hybrid_local", "multi_hop"):
        found = asking.search(QUERY, Filters("p"), 10, walk=walk)
        assert (sources_of(found), found.walked) == ([("film.md", False)], False)
        assert found.warnings[-1] == (
            "the graph is down, so this is ranked without it: the server does not answer"
        )
    assert (asking.generation("p"), down.asked) == (0, 1)
    down.close()


def test_a_question_that_finds_nothing_walks_nowhere(store: EdgeStore, graph: SqliteGraph) -> None:
    found = retriever(store, graph).search("zyxwvut", Filters("p"), 10, walk="multi_hop")
    assert (found.hits, found.walked) == ((), False)


def test_a_page_that_is_reached_as_a_whole_counts_with_its_best_chunk() -> None:
    found = WalkResult({"a": 0.1, "b": 0.1, "c": 0.05}, {"page": 0.3}, {"a": "page", "b": "page", "c": "other"})
    assert found.graph_scores({"a": 0.2, "b": 0.7, "c": 0.9}) == pytest.approx({"a": 0.25, "b": 1.0, "c": 0.125})


def test_the_hits_down_to_the_last_seed_are_worth_as_much_as_the_best_of_the_other_documents() -> None:
    found = WalkResult(
        {"seed": 0.8, "beside": 0.3, "near": 0.2, "far": 0.05},
        {},
        {"seed": "page", "beside": "page", "near": "one", "far": "other"},
        first=frozenset({"seed", "unknown to the graph"}),
        seeds=frozenset({"page"}),
    )
    fused = {"seed": 0.9, "unknown to the graph": 0.8, "beside": 0.5, "near": 0.4, "far": 0.1}
    assert found.graph_scores(fused) == pytest.approx(
        {"seed": 1.0, "unknown to the graph": 1.0, "beside": 1.0, "near": 1.0, "far": 0.25}
    )


def test_of_one_document_three_chunks_are_brought_at_most_the_best_document_first() -> None:
    chunks = {f"{document}{n}": 0.1 + n / 100 for document in "ab" for n in range(5)}
    found = WalkResult(chunks, {"b": 0.5}, {chunk: chunk[0] for chunk in chunks})
    assert found.candidates(["b4"]) == ["b3", "b2", "b1", "a4", "a3", "a2"]


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.sampled_from([0.3, 0.5, 4.0]))
def test_the_joint_score_lies_between_0_and_1_and_grows_with_both(
    fused: float, worth: float, more: float, weight: float
) -> None:
    score = combine_scores(fused, worth, weight)
    assert 0 <= score <= 1
    assert combine_scores(max(fused, more), worth, weight) >= score
    assert combine_scores(fused, max(worth, more), weight) >= score
