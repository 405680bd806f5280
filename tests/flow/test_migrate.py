"""``winnow migrate``: to a second store and back, interrupted, with surplus points; rankings stay the same."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.plain_store import copy_store
from winnow.server.backends.opening import open_backends
from winnow.server.backends.vectors import migration
from winnow.server.backends.vectors.edge import EdgeStore
from winnow.server.backends.vectors.qdrant import MEMORY, QdrantStore
from winnow.server.commands.migrate import app
from winnow.server.errors import WinnowError
from winnow.server.ids import chunk_id, document_id
from winnow.server.models import Document, Filters
from winnow.server.retrieval.lexical import build_document_vector
from winnow.server.settings.loading import load_settings
from winnow.server.storage.base import Point, VectorStore, payload_of
from winnow.server.storage.keys.key_file import add_key, new_key

QUERIES = (
    "how are backups encrypted",
    "gateway port",
    "late payment",
    "mentor of a new colleague",
    "who writes the incident report",
    "billing rule 7",
)
DIMENSION = 8


Ranked = list[tuple[tuple[str, ...], tuple[float, ...]]]


def rankings(store: Path) -> Ranked:
    """For each query the ids in their order, and their scores."""
    settings = load_settings(store=store, project="handbook")
    with closing(open_backends(settings, wait_for_model=True)) as backends:
        search = backends.retriever.search
        found = [search(query, Filters("handbook"), 20, walk="auto").hits for query in QUERIES]
    return [(tuple(hit.chunk_id for hit in hits), tuple(hit.score for hit in hits)) for hits in found]


def are_equal(some: Ranked, others: Ranked) -> bool:
    """The same ids in the same order, and scores to five digits."""
    same_ids = [ids for ids, _ in some] == [ids for ids, _ in others]
    return same_ids and all(
        scores == pytest.approx(theirs, abs=1e-5) for (_, scores), (_, theirs) in zip(some, others, strict=True)
    )


def migrate(source: Path, to: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["--to", to, "--store", str(source), "--json"])
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.fixture(scope="module")
def source(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of this module's own, with a graph."""
    return copy_store(store, tmp_path_factory.mktemp("source") / "store")


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"holder", "writer"}


def test_there_and_back_nothing_is_ranked_otherwise(source: Path, tmp_path: Path) -> None:
    before = rankings(source)
    there, back = tmp_path / "there", tmp_path / "back"
    told = [migrate(source, str(there)), migrate(there, str(back))]
    assert [one["identical"] == one["compared"] > 0 for one in told] == [True, True]
    assert [are_equal(rankings(store), before) for store in (source, there, back)] == [True, True, True]
    assert [migration.CATALOGUE in files(store) for store in (there, back)] == [True, True]
    assert not any(name.startswith("moving") for store in (source, there, back) for name in files(store))


SERVER = os.environ.get("WINNOW_TEST_QDRANT_URL", "")


@pytest.mark.skipif(not SERVER, reason="WINNOW_TEST_QDRANT_URL names no server")
def test_to_a_server_and_back_nothing_is_ranked_otherwise(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, back = rankings(source), tmp_path / "back"
    migrate(source, SERVER)
    monkeypatch.setenv("WINNOW_QDRANT_URL", SERVER)
    there = rankings(source)
    migrate(source, str(back))
    monkeypatch.delenv("WINNOW_QDRANT_URL")
    assert [are_equal(there, before), are_equal(rankings(back), before)] == [True, True]


def test_a_store_is_not_moved_onto_itself_nor_onto_another_one(source: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    migrate(source, str(other))
    wrong = [migrate(source, str(source)), migrate(source, str(other)), migrate(tmp_path / "none", str(other))]
    assert [one["error"]["details"]["reason"] for one in wrong] == [
        "INVALID_REQUEST",
        "INVALID_REQUEST",
        "NOT_FOUND",
    ]


def test_what_is_not_moved_is_named_and_a_folder_that_cannot_be_made_is_one_line(
    source: Path, tmp_path: Path
) -> None:
    """A server of the new folder would have no claims and ask for no key."""
    store = copy_store(source, tmp_path / "copy")
    add_key(store, new_key("ann", 1_000)[0], 1_000)
    (warning,) = migrate(store, str(tmp_path / "new"))["warnings"]
    assert warning.startswith("not moved: 1 key, which the former folder has; run: winnow backup FILE")
    (tmp_path / "file").touch()
    refused = migrate(store, str(tmp_path / "file" / "new"))
    assert refused["error"]["details"]["reason"] == "INDEX_UNAVAILABLE"


def test_a_target_that_is_not_finished_does_not_open_and_the_source_does(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    migration.begin(target, "", "whatever")
    with pytest.raises(WinnowError, match=r"not finished; run winnow migrate --to") as caught:
        open_backends(load_settings(store=target), wait_for_model=False)
    assert caught.value.reason == "INDEX_UNAVAILABLE"
    assert migrate(source, str(target))["points"] > 0
    assert are_equal(rankings(target), rankings(source))


# --- the vectors alone, many and small


class CutOff(Exception):
    """Stands for a kill."""


class Fragile:
    """A store that fails after so many pages."""

    def __init__(self, store: VectorStore, pages: int) -> None:
        self._store, self._left = store, pages

    def upsert(self, points: Sequence[Point]) -> None:
        if not self._left:
            raise CutOff
        self._left -= 1
        self._store.upsert(points)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def points(count: int) -> list[Point]:
    generator = np.random.default_rng(3)
    rows = generator.normal(size=(count, DIMENSION)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    made = []
    for number, row in enumerate(rows):
        document = Document(
            document_id("p", f"{number}.md"),
            "p",
            f"a/{number}.md",
            "/",
            "",
            "markdown",
            "",
            tags=(f"t{number % 3}", "x"),
            created="2026-01-02",
            environment="prod",
        )
        id = chunk_id("p", f"{number}.md", (), "", 0)
        group = "".join("abcdefghij"[int(digit)] for digit in f"{number // 5:04d}")
        rest = " ".join(f"{group}{number % 5 * 'y'}{each * 'z'}" for each in range(number % 5))
        words = build_document_vector("", f"{group}q {group}q {rest}")
        made.append(Point(id, words, None if number % 50 == 0 else row, payload_of(document)))
    return made


MANY, FEW = 2_100, 120


@pytest.fixture(scope="module")
def filled_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EdgeStore]:
    """A store with more than two pages; tests only read it."""
    with closing(EdgeStore(tmp_path_factory.mktemp("filled"), DIMENSION)) as store:
        store.upsert(points(MANY))
        yield store


def show_nothing(name: str, done: int, of: int) -> None:
    """Ignore progress."""


def points_by_id(store: VectorStore) -> dict[str, Point]:
    return {one.chunk_id: one for page in store.points() for one in page}


def move(source: VectorStore, target: VectorStore, folder: Path, origin: str = "one") -> migration.MoveReport:
    mark = migration.begin(folder, "", origin)
    return migration.move_vectors(source, target, folder, mark, show_nothing)


def test_a_store_gives_back_what_was_put_in(filled_store: EdgeStore) -> None:
    expected = {one.chunk_id: one for one in points(MANY)}
    found = points_by_id(filled_store)
    assert found.keys() == expected.keys()
    assert [found[id].payload for id in expected] == [one.payload for one in expected.values()]
    assert [found[id].sparse.indices for id in expected] == [one.sparse.indices for one in expected.values()]
    with_vector = [id for id, one in expected.items() if one.dense is not None]
    assert {id for id, one in found.items() if one.dense is not None} == {*with_vector}
    apart = max(float(np.abs(found[id].dense - expected[id].dense).max()) for id in with_vector)  # type: ignore[operator]
    assert apart < 1e-6


def test_pages_begin_where_they_are_told_to(filled_store: EdgeStore) -> None:
    ids = [one.chunk_id for page in filled_store.points() for one in page]
    assert ids == sorted(ids)
    assert [one.chunk_id for page in filled_store.points(ids[1_234]) for one in page] == ids[1_234:]


def test_a_move_that_was_cut_off_goes_on_where_it_was(filled_store: EdgeStore, tmp_path: Path) -> None:
    folder = tmp_path / "target"
    with closing(EdgeStore(folder, DIMENSION)) as target:
        with pytest.raises(CutOff):
            move(filled_store, Fragile(target, pages=2), folder)
        assert (target.count(), migration.read_mark(folder, "") is not None) == (2_000, True)
        assert migration.begin(folder, "", "one").first == sorted(points_by_id(filled_store))[1_999]
        done = move(filled_store, target, folder)
        assert (done.points, done.streamed < 1_000, done.identical) == (MANY, True, done.compared)
        assert points_by_id(target).keys() == points_by_id(filled_store).keys()


def test_a_source_that_changed_meanwhile_is_moved_from_its_beginning(
    filled_store: EdgeStore, tmp_path: Path
) -> None:
    folder = tmp_path / "target"
    with closing(EdgeStore(folder, DIMENSION)) as target:
        with pytest.raises(CutOff):
            move(filled_store, Fragile(target, pages=1), folder, origin="before")
        target.upsert([replace(one, chunk_id=f"{number:012d}") for number, one in enumerate(points(7))])
        done = move(filled_store, target, folder, origin="after")
        assert (done.points, done.streamed, done.removed) == (MANY, MANY, 7)


def test_stores_of_two_kinds_agree_and_give_back_the_same(tmp_path: Path) -> None:
    with (
        closing(EdgeStore(tmp_path / "a", DIMENSION)) as source,
        closing(QdrantStore(MEMORY, DIMENSION)) as server,
        closing(EdgeStore(tmp_path / "b", DIMENSION)) as back,
    ):
        source.upsert(points(FEW))
        there = move(source, server, tmp_path / "mark")
        again = move(server, back, tmp_path / "b")
    assert [(one.points, one.identical) for one in (there, again)] == [(FEW, there.compared)] * 2


def test_words_of_another_weight_are_told_and_rank_alike_all_the_same(tmp_path: Path) -> None:
    """The engine counts deleted chunks in its document frequencies for a while; a fresh target cannot."""
    with (
        closing(EdgeStore(tmp_path / "a", DIMENSION)) as source,
        closing(EdgeStore(tmp_path / "b", DIMENSION)) as new,
    ):
        source.upsert(points(2 * FEW))
        source.delete([one.chunk_id for one in points(2 * FEW)[FEW:]])
        done = move(source, new, tmp_path / "b")
    assert (done.points, done.identical, done.reweighted > 0) == (FEW, done.compared, True)


def test_a_target_that_ranks_otherwise_is_never_called_equal(filled_store: EdgeStore, tmp_path: Path) -> None:
    """The id is there, but not with its vector."""

    class Careless(Fragile):
        def upsert(self, points: Sequence[Point]) -> None:
            self._store.upsert([replace(one, dense=points[0].dense, sparse=points[0].sparse) for one in points])

    folder = tmp_path / "target"
    with closing(EdgeStore(folder, DIMENSION)) as target, pytest.raises(WinnowError, match="rank differently"):
        move(filled_store, Careless(target, 0), folder)
    assert migration.read_mark(folder, "") is not None
