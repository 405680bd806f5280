"""The contract of vector stores: the same tests against each backend that is reachable."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import qdrant_edge
from httpx import Headers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from winnow.server.backends.vectors import edge, edge_files
from winnow.server.backends.vectors.edge import EdgeStore
from winnow.server.backends.vectors.qdrant import MEMORY, CollectionLayout, QdrantStore, _retry_wait
from winnow.server.errors import WinnowError
from winnow.server.ids import chunk_id, document_id
from winnow.server.models import Document, DocumentType, Filters
from winnow.server.retrieval.lexical import build_document_vector, build_query_vector
from winnow.server.storage.base import PAYLOAD_KEYS, Point, SparseVector, Vector, VectorStore, admits, payload_of

DIMENSION, GROWN_DIMENSION = 8, 1_024
Opener = Callable[[Path], VectorStore]


BACKENDS: dict[str, Opener] = {
    "edge": lambda folder: EdgeStore(folder, DIMENSION),
    "qdrant-local": lambda _: QdrantStore(MEMORY, DIMENSION),
}
if SERVER := os.environ.get("WINNOW_TEST_QDRANT_URL", ""):
    BACKENDS["qdrant-server"] = lambda _: QdrantStore(
        SERVER, DIMENSION, collection=f"winnow-test-{secrets.token_hex(4)}"
    )


@pytest.fixture(params=BACKENDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorStore]:
    opened = BACKENDS[request.param](tmp_path)
    yield opened
    opened.close()


def vector(seed: int) -> Vector:
    values = np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)
    return np.asarray(values / np.linalg.norm(values), dtype=np.float32)


def point(
    uri: str,
    text: str,
    *,
    project: str = "p",
    seed: int | None = 0,
    tags: tuple[str, ...] = (),
    doc_tag: str = "",
    type: DocumentType = "markdown",
    vendor: str = "",
    created: str = "",
    environment: str = "",
    repository: str = "",
) -> Point:
    document = Document(
        document_id(project, uri),
        project,
        uri,
        "/docs",
        "",
        type,
        "",
        vendor=vendor,
        doc_tag=doc_tag,
        tags=tags,
        created=created,
        environment=environment,
        repository=repository,
    )
    id = chunk_id(project, uri, (), text, 0)
    dense = None if seed is None else vector(seed)
    return Point(id, build_document_vector("", text), dense, payload_of(document))


POINTS = (
    point(
        "guide/net/a.md",
        "proxy forwards traffic",
        seed=1,
        tags=("net", "core"),
        doc_tag="v1",
        vendor="acme",
        environment="prod",
        repository="acme/app",
    ),
    point(
        "guide/net/b.md",
        "proxy gateway proxy",
        seed=2,
        tags=("net",),
        doc_tag="v2",
        created="2026-03-01",
        environment="production",
        repository="acme",
    ),
    point(
        "guide/network.md",
        "gateway port",
        seed=3,
        type="text",
        created="2025-01-01T12:00:00+02:00",
        environment="dev",
        repository="acme/app",
    ),
    point("notes.md", "backup policy", seed=None, vendor="acme"),
    point("guide/net/a.md", "proxy of another project", project="q", seed=4),
)


def names(store: VectorStore, filters: Filters) -> set[str]:
    """The uris that pass the filters, by both legs."""
    uris = {one.chunk_id: str(one.payload["paths"][-1]) for one in POINTS}  # type: ignore[index]
    lexical = store.search_sparse(build_query_vector("proxy gateway backup port"), filters, 10)
    dense = store.search_dense(vector(1), filters, 10)
    with_vector = {one.chunk_id for one in POINTS if one.dense is not None}
    assert {chunk for chunk, _ in dense} == {chunk for chunk, _ in lexical} & with_vector
    return {uris[chunk] for chunk, _ in lexical}


def test_a_filter_of_as_many_paths_as_a_search_takes_is_answered(store: VectorStore) -> None:
    store.upsert(POINTS)
    others = tuple(
        f"section/a document with a long name that is not there {number}.md" for number in range(19_998)
    )
    paths = ("guide/net/a.md", *others, "notes.md")
    assert names(store, Filters("p", within=paths)) == {"guide/net/a.md", "notes.md"}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters("p"), {"guide/net/a.md", "guide/net/b.md", "guide/network.md", "notes.md"}),
        (Filters("q"), {"guide/net/a.md"}),
        (Filters("nowhere"), set()),
        (Filters("p", tags=("net",)), {"guide/net/a.md", "guide/net/b.md"}),
        (Filters("p", tags=("net", "core")), {"guide/net/a.md"}),
        (Filters("p", doc_tags=("v1", "v2")), {"guide/net/a.md", "guide/net/b.md"}),
        (Filters("p", types=("text",)), {"guide/network.md"}),
        (Filters("p", vendor="acme"), {"guide/net/a.md", "notes.md"}),
        (Filters("p", path_prefix="guide/net"), {"guide/net/a.md", "guide/net/b.md"}),
        (Filters("p", path_prefix="/guide/"), {"guide/net/a.md", "guide/net/b.md", "guide/network.md"}),
        (Filters("p", path_prefix="notes.md"), {"notes.md"}),
        (Filters("p", updated_after="2025-01-01T10:00:00Z"), {"guide/net/b.md", "guide/network.md"}),
        (Filters("p", updated_after="2025-01-02"), {"guide/net/b.md"}),
        (Filters("p", updated_before="2025-01-02"), {"guide/network.md"}),
        (Filters("p", vendor="acme", path_prefix="guide"), {"guide/net/a.md"}),
        (Filters("p", environment="prod"), {"guide/net/a.md"}),
        (Filters("p", environment="scratch"), set()),
        (Filters("q", environment="prod"), set()),
        (Filters("p", repositories=("acme/app",)), {"guide/net/a.md", "guide/network.md"}),
        (Filters("p", repositories=("acme", "other")), {"guide/net/b.md"}),
        (Filters("p", repositories=("ACME",)), set()),
        (Filters("p", environment="dev", repositories=("acme/app",)), {"guide/network.md"}),
    ],
)
def test_filters_hold_inside_the_index(store: VectorStore, filters: Filters, expected: set[str]) -> None:
    store.upsert(POINTS)
    assert names(store, filters) == expected


def test_a_point_with_another_label_keeps_its_vectors_and_others_keep_theirs(store: VectorStore) -> None:
    """As exactly as an upsert with the same vectors, and without a point that is not there."""
    store.upsert(POINTS)
    first, second, *_ = POINTS
    before = {one.chunk_id: one for page in store.points() for one in page}
    payload = {
        **{key: first.payload[key] for key in ("project", "paths", "type", "tags", "vendor")},
        "doc_tag": "v3",
    }
    store.relabel([first.chunk_id, "0" * 12], payload)
    store.relabel([], payload)
    after = {one.chunk_id: one for page in store.points() for one in page}
    assert after.keys() == before.keys()
    changed = after[first.chunk_id]
    assert (changed.payload, changed.sparse) == (payload, before[first.chunk_id].sparse)
    assert np.array_equal(np.asarray(changed.dense), np.asarray(before[first.chunk_id].dense))
    assert after[second.chunk_id].payload == second.payload
    assert names(store, Filters("p", doc_tags=("v3",))) == {"guide/net/a.md"}
    assert names(store, Filters("p", environment="prod")) == names(store, Filters("p", doc_tags=("v1",))) == set()


LABELS = st.fixed_dictionaries(
    {
        "environment": st.sampled_from(("", "dev", "prod", "scratch", "Dev", "dev ", "production")),
        "repository": st.sampled_from(("", "acme", "acme/app", "acme/app2", "ACME", "\u00e9"))
        | st.text(max_size=3),
        "doc_tag": st.sampled_from(("", "a", "b")),
    }
)
SCOPES = st.builds(
    Filters,
    project=st.just("p"),
    environment=st.sampled_from(("", "dev", "prod", "scratch")),
    repositories=st.lists(st.sampled_from(("acme", "acme/app", "\u00e9")), unique=True).map(tuple),
    doc_tags=st.lists(st.sampled_from(("a", "b", "c")), unique=True).map(tuple),
)


@given(corpus=st.lists(LABELS, max_size=8), scope=SCOPES)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)
def test_a_search_returns_what_is_in_scope_and_never_anything_else(
    store: VectorStore, corpus: list[dict[str, str]], scope: Filters
) -> None:
    scope = replace(scope, project=secrets.token_hex(4))  # the store holds what earlier examples put in
    points = [
        point(f"{number}.md", "proxy", project=scope.project, seed=number, **labels)  # type: ignore[arg-type]
        for number, labels in enumerate(corpus)
    ]
    store.upsert(points)
    expected = {
        one.chunk_id
        for one, labels in zip(points, corpus, strict=True)
        if (not scope.environment or labels["environment"] == scope.environment)
        and (not scope.repositories or labels["repository"] in scope.repositories)
        and (not scope.doc_tags or labels["doc_tag"] in scope.doc_tags)
    }
    assert {chunk for chunk, _ in store.search_sparse(build_query_vector("proxy"), scope, 100)} == expected
    assert {chunk for chunk, _ in store.search_dense(vector(1), scope, 100)} == expected


@pytest.mark.parametrize(
    "scope", [Filters("p", environment="dev"), Filters("p", repositories=("r",)), Filters("p", doc_tags=("t",))]
)
def test_a_document_without_labels_is_in_no_scope_that_names_one(store: VectorStore, scope: Filters) -> None:
    store.upsert([point("a.md", "proxy")])
    assert store.search_sparse(build_query_vector("proxy"), scope, 10) == []
    assert store.search_dense(vector(1), scope, 10) == []


def test_another_label_takes_a_point_out_of_its_former_scope(store: VectorStore) -> None:
    for environment in ("prod", "dev", ""):
        store.upsert([point("a.md", "proxy", environment=environment)])
    found = [
        store.search_sparse(build_query_vector("proxy"), Filters("p", environment=one), 10)
        for one in ("prod", "dev")
    ]
    assert found == [[], []]


@given(labels=LABELS, scope=SCOPES, project=st.sampled_from(("p", "q")))
def test_a_document_reached_by_its_id_is_judged_as_the_index_does(
    labels: dict[str, str], scope: Filters, project: str
) -> None:
    document = Document("id", project, "a.md", "/docs", "", "markdown", "", **labels)  # type: ignore[arg-type]
    assert admits(scope, document) == (
        project == scope.project
        and scope.environment in ("", labels["environment"])
        and (not scope.repositories or labels["repository"] in scope.repositories)
        and (not scope.doc_tags or labels["doc_tag"] in scope.doc_tags)
    )


@pytest.mark.parametrize(
    ("narrower", "expected"),
    [
        ({}, True),
        ({"tags": ("net",)}, True),
        ({"tags": ("net", "core")}, False),
        ({"types": ("text", "markdown")}, True),
        ({"types": ("text",)}, False),
        ({"vendor": "acme"}, True),
        ({"vendor": "other"}, False),
        ({"path_prefix": "a"}, True),
        ({"path_prefix": "a/b"}, False),
        ({"updated_after": "2026-01-01"}, True),
        ({"updated_after": "2026-06-01"}, False),
        ({"updated_before": "2026-06-01"}, True),
        ({"updated_before": "2026-01-01"}, False),
    ],
)
def test_every_other_filter_judges_a_document_too(narrower: dict[str, Any], expected: bool) -> None:
    document = Document(
        "id", "p", "a/b.md", "/docs", "", "markdown", "", vendor="acme", tags=("net",), created="2026-03-01"
    )
    assert admits(Filters("p", **narrower), document) is expected
    undated = replace(document, created="")
    assert not admits(Filters("p", updated_after="2020-01-01"), undated)


def test_a_date_that_is_none_is_refused(store: VectorStore) -> None:
    with pytest.raises(WinnowError, match="ISO date"):
        store.search_dense(vector(1), Filters("p", updated_after="yesterday"), 1)


def test_the_dense_score_is_the_cosine(store: VectorStore) -> None:
    store.upsert(POINTS)
    expected = {one.chunk_id: float(one.dense @ vector(9)) for one in POINTS[:3] if one.dense is not None}
    found = store.search_dense(vector(9), Filters("p"), 10)
    assert dict(found) == pytest.approx(expected, abs=1e-5)
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


def test_the_sparse_score_is_bm25_with_the_collections_own_document_frequencies(store: VectorStore) -> None:
    store.upsert(POINTS)
    query = build_query_vector("proxy")
    (number,) = query.indices
    tf = {one.chunk_id: dict(zip(one.sparse.indices, one.sparse.values, strict=True)) for one in POINTS}
    idf = np.log(1 + (len(POINTS) - 3 + 0.5) / (3 + 0.5))
    expected = {one.chunk_id: tf[one.chunk_id][number] * idf for one in POINTS[:2]}
    assert dict(store.search_sparse(query, Filters("p"), 10)) == pytest.approx(expected, rel=1e-5)


def test_missing_scores_can_be_filled_in_and_equal_those_of_a_search(store: VectorStore) -> None:
    store.upsert(POINTS)
    query, wanted = build_query_vector("proxy gateway"), [one.chunk_id for one in POINTS[:4]]
    searched = dict(store.search_sparse(query, Filters("p"), 10))
    assert store.score_sparse(query, wanted) == pytest.approx(searched)
    dense = dict(store.search_dense(vector(7), Filters("p"), 10))
    assert store.score_dense(vector(7), wanted) == pytest.approx(dense, abs=1e-6)
    assert (store.score_sparse(query, []), store.score_dense(vector(7), [])) == ({}, {})


def test_a_query_without_terms_finds_nothing(store: VectorStore) -> None:
    store.upsert(POINTS)
    assert store.search_sparse(SparseVector((), ()), Filters("p"), 10) == []
    assert store.score_sparse(SparseVector((), ()), [POINTS[0].chunk_id]) == {}


def test_an_id_again_replaces_the_point(store: VectorStore) -> None:
    store.upsert(POINTS)
    changed = Point(POINTS[0].chunk_id, build_document_vector("", "backup"), None, {"project": "p"})
    store.upsert([changed])
    assert store.count() == len(POINTS)
    assert POINTS[0].chunk_id not in dict(store.search_sparse(build_query_vector("proxy"), Filters("p"), 10))
    assert store.score_dense(vector(1), [POINTS[0].chunk_id]) == {}


def test_deleted_points_are_gone_and_deleting_the_unknown_is_no_error(store: VectorStore) -> None:
    store.upsert(POINTS)
    store.delete([POINTS[0].chunk_id, "0" * 12])
    store.delete([])
    assert sorted(store.ids("p")) == sorted(one.chunk_id for one in POINTS[1:4])


def test_ids_come_in_pages_and_none_is_missed(store: VectorStore) -> None:
    many = [point(f"{n}.md", "words") for n in range(2300)]
    store.upsert(many)
    assert set(store.ids("p")) == {one.chunk_id for one in many}
    assert store.count() == 2300


def test_optimizing_changes_no_ranking(store: VectorStore) -> None:
    store.upsert([point(f"{n}.md", f"word{n % 7} proxy", seed=n) for n in range(500)])
    before = store.search_dense(vector(1000), Filters("p"), 20)
    store.flush()
    store.optimize()
    after = store.search_dense(vector(1000), Filters("p"), 20)
    assert [chunk for chunk, _ in after] == [chunk for chunk, _ in before]


def test_all_stores_rank_alike(tmp_path: Path) -> None:
    words = ("proxy", "gateway", "port", "backup", "policy", "cluster", "node", "pod", "volume", "secret")
    generator = np.random.default_rng(5)
    points = [
        point(f"{n % 9}/{n}.md", " ".join(generator.choice(words, 12)), seed=n, tags=(words[n % 3],))
        for n in range(400)
    ]
    stores: list[VectorStore] = [EdgeStore(tmp_path, DIMENSION), QdrantStore(MEMORY, DIMENSION)]
    for store in stores:
        store.upsert(points)
        store.optimize()
    for number in range(40):
        filters = Filters("p", tags=(words[number % 3],)) if number % 2 else Filters("p")
        query = build_query_vector(" ".join(generator.choice(words, 3)))
        one, other = (dict(store.search_dense(vector(-number % 97), filters, 10)) for store in stores)
        assert one == pytest.approx(other, abs=1e-5)
        one, other = (dict(store.search_sparse(query, filters, 400)) for store in stores)
        assert one == pytest.approx(other, rel=1e-5)
    for store in stores:
        store.close()


def test_what_was_flushed_is_there_after_opening_again(tmp_path: Path) -> None:
    for count in (0, len(POINTS)):
        store = EdgeStore(tmp_path, DIMENSION)
        assert store.count() == count
        store.upsert(POINTS)
        store.flush()
        store.close()


def test_another_project_is_kept_out_from_its_first_point_on(tmp_path: Path) -> None:
    def found(project: str) -> list[set[str]]:
        legs = (
            store.search_dense(vector(1), Filters(project), 500),
            store.search_sparse(build_query_vector("proxy"), Filters(project), 500),
        )
        return [{chunk for chunk, _ in leg} for leg in legs]

    mine = [point(f"{n}.md", "proxy gateway", seed=n) for n in range(300)]
    theirs = point("theirs.md", "proxy gateway", project="q", seed=1)
    store = EdgeStore(tmp_path, DIMENSION)
    store.upsert(mine)
    assert (found("p"), found("q")) == ([{one.chunk_id for one in mine}] * 2, [set()] * 2)
    store.upsert([theirs])
    for _ in range(2):
        assert (found("p"), found("q")) == ([{one.chunk_id for one in mine}] * 2, [{theirs.chunk_id}] * 2)
        store.close()
        store = EdgeStore(tmp_path, DIMENSION)
    store.close()


class Overtaken(EdgeStore):
    """A point of another project is added during a search."""

    def _search(self, *asked: Any) -> list[tuple[str, float]]:
        self.upsert([point("theirs.md", "proxy gateway", project="q", seed=7)])
        return super()._search(*asked)


@pytest.mark.parametrize("leg", ["dense", "sparse"])
def test_another_project_is_kept_out_of_a_search_that_its_first_point_overtakes(tmp_path: Path, leg: str) -> None:
    store = Overtaken(tmp_path, DIMENSION)
    mine = point("mine.md", "proxy gateway", seed=7)
    store.upsert([mine])
    found = (
        store.search_dense(vector(7), Filters("p"), 10)
        if leg == "dense"
        else store.search_sparse(build_query_vector("proxy"), Filters("p"), 10)
    )
    assert ([chunk for chunk, _ in found], store.count()) == ([mine.chunk_id], 2)
    store.close()


def test_a_shard_from_before_a_filter_gets_its_index_and_answers_by_it(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path, DIMENSION)
    store.upsert(POINTS)
    for key in ("environment", "repository"):
        store._shard.update(qdrant_edge.UpdateOperation.delete_field_index(key))
    assert set(store._shard.info().payload_schema) == PAYLOAD_KEYS.keys() - {"environment", "repository"}
    store.close()
    again = EdgeStore(tmp_path, DIMENSION)
    assert set(again._shard.info().payload_schema) == set(PAYLOAD_KEYS)
    assert names(again, Filters("p", environment="prod")) == {"guide/net/a.md"}
    again.close()


@pytest.mark.skipif(not SERVER, reason="WINNOW_TEST_QDRANT_URL names no server")
def test_a_collection_from_before_a_filter_gets_its_index(tmp_path: Path) -> None:
    name = f"winnow-test-{secrets.token_hex(4)}"
    store = QdrantStore(SERVER, DIMENSION, collection=name)
    store._client.delete_payload_index(name, "environment", wait=True)
    store.close()
    again = QdrantStore(SERVER, DIMENSION, collection=name)
    assert set(again._client.get_collection(name).payload_schema) == set(PAYLOAD_KEYS)
    again.close()


@pytest.mark.skipif(not SERVER, reason="WINNOW_TEST_QDRANT_URL names no server")
def test_a_new_collection_is_laid_out_as_the_settings_say() -> None:
    name = f"winnow-test-{secrets.token_hex(4)}"
    store = QdrantStore(
        SERVER, DIMENSION, collection=name, layout=CollectionLayout(shards=2, replicas=1, on_disk=False)
    )
    config = store._client.get_collection(name).config
    store.close()
    assert (config.params.shard_number, config.params.replication_factor) == (2, 1)
    assert config.quantization_config is not None


BUSY = UnexpectedResponse(503, "busy", b"", Headers())


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (BUSY, 0.5),
        (UnexpectedResponse(429, "slower", b"", Headers()), 0.5),
        (ResourceExhaustedResponse("slower", 3), 3.0),
        (ResourceExhaustedResponse("slower", 3600), 4.0),
        (ResponseHandlingException(ConnectionError("reset")), 0.5),
        (UnexpectedResponse(400, "wrong", b"", Headers()), None),
        (UnexpectedResponse(401, "key", b"", Headers()), None),
        (ValueError("not to be encoded"), None),
    ],
)
def test_a_write_is_tried_again_only_where_it_may_come_to_another_end(
    error: Exception, expected: float | None
) -> None:
    assert _retry_wait(error, pause=0.5) == expected


def test_a_write_survives_a_server_that_is_away_for_a_moment_and_no_more_than_that() -> None:
    store = QdrantStore(MEMORY, DIMENSION)
    errors: list[Exception] = [BUSY, UnexpectedResponse(400, "wrong", b"", Headers())]

    def write() -> str:
        if errors:
            raise errors.pop()
        return "written"

    with pytest.raises(WinnowError, match="400"):
        store._write(write)
    assert (store._write(write), errors) == ("written", [])
    store.close()


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Vector, Vector]:
    """A store that is large enough for a graph over bytes, the vectors in it, and vectors to ask with.

    They stand in groups, as those of texts do. Without any, a graph is at its worst, and what it misses depends on
    which thread linked what first.
    """
    folder, generator = tmp_path_factory.mktemp("grown"), np.random.default_rng(1)
    topics = generator.normal(size=(60, GROWN_DIMENSION)).astype(np.float32)

    def drawn(number: int) -> Vector:
        near = topics[generator.integers(len(topics), size=number)]
        rows = near + generator.normal(size=near.shape).astype(np.float32)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)

    rows = drawn(6_000)
    empty, payload = SparseVector((1,), (1.0,)), {"project": "p"}
    points = [Point(f"{number:012d}", empty, row, payload) for number, row in enumerate(rows)]
    store = EdgeStore(folder, GROWN_DIMENSION, memory_mb=256)
    for start in range(0, len(points), 1_000):
        store.upsert(points[start : start + 1_000])
    store.optimize()
    assert store._shard.info().indexed_vectors_count >= len(points)
    store.close()
    return folder, rows, drawn(20)


def test_an_exact_search_finds_what_is_truly_nearest_above_the_size_that_is_scanned(
    grown: tuple[Path, Vector, Vector],
) -> None:
    """Scores are those of the full vectors, and almost no hit is missed."""
    folder, rows, queries = grown
    store, hits = EdgeStore(folder, GROWN_DIMENSION, memory_mb=256), 0
    for query in queries:
        cosines = rows @ query
        nearest = {f"{at:012d}": float(cosines[at]) for at in np.argsort(-cosines)[:10]}
        assert dict(store.search_dense(query, Filters("p"), 10, exact=True)) == pytest.approx(nearest, abs=1e-5)
        found = store.search_dense(query, Filters("p"), 200)[:10]
        assert all(score == pytest.approx(float(cosines[int(id)]), abs=1e-5) for id, score in found)
        hits += len(nearest.keys() & dict(found).keys())
    store.close()
    assert hits >= 0.95 * 200


def test_what_an_index_reads_ahead_is_what_the_engine_keeps_under_these_names(
    grown: tuple[Path, Vector, Vector],
) -> None:
    files = [file.relative_to(grown[0]).as_posix() for file in grown[0].rglob("*") if file.stat().st_size]
    for part in (*edge_files._READ_AT_OPENING, edge._FLOAT_VECTORS):
        assert any(part in file for file in files), part


@pytest.mark.parametrize(("memory_mb", "is_read"), [(256, True), (16, False)])
def test_whole_vectors_are_read_once_where_there_is_room_for_them(
    grown: tuple[Path, Vector, Vector], monkeypatch: pytest.MonkeyPatch, memory_mb: int, is_read: bool
) -> None:
    store, read = EdgeStore(grown[0], GROWN_DIMENSION, memory_mb), edge.read_file
    seen: list[str] = []

    def wait_for_file(file: Path, is_enough: Callable[[], bool]) -> None:
        read(file, is_enough)
        seen.append(file.name)

    monkeypatch.setattr(edge, "read_file", wait_for_file)
    for _ in range(2):
        store.warm()
        for thread in threading.enumerate():
            if thread.name == "winnow-warm":
                thread.join()
    store.close()
    assert len(seen) == len(set(seen))
    assert ("matrix.dat" in seen) is is_read


def test_a_second_process_is_told_who_holds_the_index(tmp_path: Path) -> None:
    first = EdgeStore(tmp_path, DIMENSION)
    with pytest.raises(WinnowError, match=f"held by process {os.getpid()}") as caught:
        EdgeStore(tmp_path, DIMENSION)
    first.close()
    assert (caught.value.reason, caught.value.details["pid"]) == ("INDEX_HELD", os.getpid())
    EdgeStore(tmp_path, DIMENSION).close()


def test_a_damaged_index_is_an_error_that_names_the_folder_and_lets_go_of_it(tmp_path: Path) -> None:
    (tmp_path / "vectors").mkdir()
    for _ in range(2):
        with pytest.raises(WinnowError, match="does not open") as caught:
            EdgeStore(tmp_path, DIMENSION)
        assert caught.value.reason == "INDEX_UNAVAILABLE"


def test_a_server_that_is_not_there_is_weather(unused_tcp_port: int) -> None:
    with pytest.raises(WinnowError, match="does not answer") as caught:
        QdrantStore(f"http://127.0.0.1:{unused_tcp_port}", DIMENSION)
    assert (caught.value.reason, caught.value.retryable) == ("INDEX_UNAVAILABLE", True)


@pytest.fixture
def unused_tcp_port() -> int:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
