"""A vector store that is replaced while it is read, with another process that builds the replacement."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from winnow.server.backends.catalogue import Binding, Catalogue
from winnow.server.backends.vectors import index_build
from winnow.server.backends.vectors.current_store import CurrentVectors
from winnow.server.backends.vectors.edge import EdgeStore
from winnow.server.backends.vectors.index_build import build_in_subprocess
from winnow.server.ids import chunk_id
from winnow.server.models import Filters
from winnow.server.storage.base import PAGE, Point, SparseVector

MEMORY_MB = 64
NARROW = Binding("vectors", 4)
HERE = Filters("p")


def points(count: int, dimension: int) -> list[Point]:
    rows = np.random.default_rng(3).normal(size=(count, dimension)).astype(np.float32)
    return [
        Point(
            chunk_id("p", str(at), (), "", 0),
            SparseVector((at,), (1.0,)),
            row / np.linalg.norm(row),
            {"project": "p"},
        )
        for at, row in enumerate(rows)
    ]


def open_vectors(store: Path, catalogue: Catalogue, binding: Binding, **others: object) -> CurrentVectors:
    catalogue.bind(binding)
    return CurrentVectors(
        catalogue,
        binding,
        lambda bound: EdgeStore(store, bound.dimension, MEMORY_MB, vectors=bound.vectors, is_unlocked=True),
        **others,  # type: ignore[arg-type]
    )


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    made = Catalogue(tmp_path / "catalogue.sqlite3")
    yield made
    made.close()


def test_what_is_built_apart_takes_the_place_of_what_is_read_until_then(
    tmp_path: Path, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_build, "EXACT_KB", 0)  # as if these were many
    some = points(PAGE + 50, NARROW.dimension)
    gone: list[Binding] = []
    vectors = open_vectors(
        tmp_path,
        catalogue,
        NARROW,
        build_vectors=lambda binding, count: build_in_subprocess(tmp_path, binding, count, MEMORY_MB),
        build_every=len(some) + 1,
        discard=gone.append,
    )
    try:
        vectors.upsert(some)
        question = some[7].dense
        assert question is not None
        before = vectors.search_dense(question, HERE, 5)
        reading = vectors.points()
        read = [point.chunk_id for point in next(reading)]
        vectors.optimize()
        assert vectors.binding == catalogue.binding != NARROW
        assert gone == []
        read += [point.chunk_id for page in reading for point in page]
        assert gone == [NARROW]
        assert sorted(read) == sorted(vectors.ids("p")) == sorted(point.chunk_id for point in some)
        ((nearest, _),) = vectors.search_dense(question, HERE, 1, exact=True)
        assert nearest == before[0][0] == some[7].chunk_id
        assert vectors.search_sparse(SparseVector((9,), (1.0,)), HERE, 3)[0][0] == some[9].chunk_id
    finally:
        vectors.close()


def test_few_vectors_are_built_where_they_are(tmp_path: Path, catalogue: Catalogue) -> None:
    vectors = open_vectors(
        tmp_path,
        catalogue,
        NARROW,
        build_vectors=lambda binding, count: build_in_subprocess(tmp_path, binding, count, MEMORY_MB),
        build_every=10,
    )
    try:
        vectors.upsert(points(20, NARROW.dimension))
        vectors.optimize()
        assert (vectors.binding, catalogue.binding, vectors.count()) == (NARROW, NARROW, 20)
    finally:
        vectors.close()


def test_a_build_that_fails_leaves_nothing_and_is_done_in_place(
    tmp_path: Path, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_build, "EXACT_KB", 0)
    assert build_in_subprocess(tmp_path, Binding("no such vectors", 4), 20, MEMORY_MB) is None
    (tmp_path / "broken").mkdir()
    assert build_in_subprocess(tmp_path, Binding("broken", 4), 20, MEMORY_MB) is None
    assert sorted(path.name for path in tmp_path.glob("vectors*")) == []


def test_others_vectors_are_followed_once_and_what_does_not_open_is_left(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    gone: list[Binding] = []
    vectors = open_vectors(tmp_path, catalogue, NARROW, discard=gone.append)
    try:
        vectors.upsert(points(3, NARROW.dimension))
        assert vectors.is_current()
        (tmp_path / "vectors-broken").mkdir()
        catalogue.bind(Binding("vectors-broken", 4))
        assert (vectors.is_current(), vectors.open_current(), vectors.count()) == (False, False, 3)
        made = EdgeStore(tmp_path, 4, MEMORY_MB, vectors="vectors-next", is_unlocked=True)
        made.upsert(points(5, NARROW.dimension))
        made.close()
        catalogue.bind(Binding("vectors-next", 4))
        threads = [threading.Thread(target=vectors.open_current) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert (vectors.is_current(), vectors.count(), gone) == (True, 5, [NARROW])
    finally:
        vectors.close()


def test_a_copy_keeps_the_holes_of_what_it_is_made_of(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    with source.open("wb") as file:
        for at in (0, 3_000_000, 5_000_000):
            file.seek(at)
            file.write(b"some")
        file.truncate(6_000_000)
    index_build._copy_with_holes(str(source), str(target))
    assert target.read_bytes() == source.read_bytes()
    assert target.stat().st_blocks == source.stat().st_blocks
    (tmp_path / "empty").write_bytes(b"")
    index_build._copy_with_holes(str(tmp_path / "empty"), str(target))
    assert target.read_bytes() == b""
