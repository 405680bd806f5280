"""The graph after an ingest equals a graph built at once, also after interruptions and errors."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tests.ingesting import ingest_paths
from winnow.server.backends.graphs.document_facts import SqliteFactStore
from winnow.server.backends.graphs.sqlite_graph import SqliteGraph
from winnow.server.backends.opening import Backends, open_backends
from winnow.server.errors import WinnowError
from winnow.server.ingest.graph_update import GraphReport, GraphUpdate
from winnow.server.ingest.pipeline import GraphTarget, Progress, Target
from winnow.server.jobs.target import target_of
from winnow.server.readers.extraction.document_extraction import DocumentExtraction
from winnow.server.readers.extraction.gazetteer import Gazetteer, GazetteerMatch
from winnow.server.retrieval.graph.records import DocumentGraph
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

PAGES = {
    "gateway.md": "# Alpha Gateway\n\nThe Alpha Gateway asks the [server](server.md#limits). Jane Doe built it.\n",
    "server.md": "# Beta Server\n\n## Limits\n\nThe Beta Server takes ten requests, says Jane Doe.\n",
    "people.md": "# Jane Doe\n\nShe works on the Alpha Gateway and reads Ada Lovelace.\n",
    "notes.md": "# Notes\n\nAda Lovelace wrote the first ones. See [[Beta Server]].\n",
}


class Stopped(BaseException):
    """Ends an ingest in a test, in place of a signal."""


class Stopping(SqliteGraph):
    """A store that ends its process at the call of this name."""

    dies_at = ""

    def apply(self, project: str, replaced: Sequence[DocumentGraph] = (), deleted: Sequence[str] = ()) -> None:
        super().apply(project, replaced, deleted)
        self._die("apply")

    def derive(self, project: str) -> None:
        self._die("derive")
        super().derive(project)

    def _die(self, at: str) -> None:
        if at == self.dies_at:
            raise Stopped


class Unwritten(SqliteFactStore):
    """A ledger whose process dies before it is written."""

    def apply(self, project: str, written: Mapping[str, tuple[str, bytes]], deleted: Sequence[str] = ()) -> None:
        raise Stopped


class Closed(SqliteGraph):
    """A store that refuses changes, like an unreachable server."""

    def apply(self, project: str, replaced: Sequence[DocumentGraph] = (), deleted: Sequence[str] = ()) -> None:
        raise WinnowError("INDEX_UNAVAILABLE", "the graph's server does not answer")


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_pages(tmp_path / "docs", PAGES)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One store for all, since opening one is most of a test's time; each test has a project of its own in it."""
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def backends(store: Path) -> Iterator[Backends]:
    opened = open_backends(load_settings(store=store, embedding="off"), wait_for_model=True)
    yield opened
    opened.close()


@pytest.fixture
def settings(store: Path, tmp_path: Path) -> Settings:
    return load_settings(store=store, project=tmp_path.name, embedding="off")


@pytest.fixture
def target(settings: Settings, backends: Backends) -> Target:
    return target_of(settings, backends, None)


def write_pages(folder: Path, pages: dict[str, str]) -> Path:
    folder.mkdir()
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def draw(target: Target, docs: Path) -> GraphReport | None:
    report = ingest_paths(target, [docs])
    assert (report.failures, report.warnings) == ((), ())
    return report.graph


def stored_graph(target: Target) -> list[DocumentGraph]:
    assert target.graph
    return list(target.graph.store.export(target.project))


def fresh(target: Target, tmp_path: Path) -> list[DocumentGraph]:
    """The graph of the same documents, built in a new store."""
    store = SqliteGraph(tmp_path / "fresh.sqlite3")
    graphing = GraphTarget(store, SqliteFactStore(tmp_path / "ledger.sqlite3", ""))
    GraphUpdate(target.project, target.catalogue, graphing).update()
    found = list(store.export(target.project))
    store.close()
    return found


def test_an_ingest_draws_every_document_and_counts_what_it_drew(target: Target, docs: Path) -> None:
    report = draw(target, docs)
    assert report
    assert (report.documents, report.deleted, report.nodes["Document"]) == (4, 0, 4)
    assert target.graph
    counts = target.graph.store.counts(target.project)
    assert (report.nodes, report.entities, report.edges) == (counts.labels, counts.entity_types, counts.edge_types)
    assert report.edges["LINKS_TO"] == 2
    assert [match.how for match in target.graph.store.find(target.project, "jane doe", frozenset({"term"}))] == [
        "name"
    ]


def test_a_run_that_changes_nothing_leaves_the_graph_alone(target: Target, docs: Path) -> None:
    draw(target, docs)
    assert target.graph
    generation = target.graph.store.generation(target.project)
    assert draw(target, docs) is None
    assert target.graph.store.generation(target.project) == generation


@pytest.mark.parametrize(
    "change",
    [
        {"people.md": "# Somebody else\n\nNobody of note.\n"},
        {"notes.md": None},
        {"server.md": None, "later.md": "# Beta Server\n\nAn Alpha Gateway without limits.\n"},
        {"later.md": "# Ada Lovelace\n\nJane Doe wrote about her.\n"},
        {"gateway.md": "# Alpha Gateway\n\nSee [the people](people.md).\n", "people.md": None},
    ],
    ids=["changed", "deleted", "replaced", "added", "a link to what goes"],
)
def test_a_change_ends_where_a_fresh_ingest_would(
    target: Target, docs: Path, tmp_path: Path, change: dict[str, str | None]
) -> None:
    draw(target, docs)
    for name, text in change.items():
        if text is None:
            (docs / name).unlink()
        else:
            (docs / name).write_text(text, encoding="utf-8")
    assert draw(target, docs)
    assert stored_graph(target) == fresh(target, tmp_path)


def test_a_change_that_concerns_nobody_else_draws_one_document(target: Target, docs: Path) -> None:
    draw(target, docs)
    (docs / "notes.md").write_text(f"{PAGES['notes.md']}\nNothing more.\n", encoding="utf-8")
    report = draw(target, docs)
    assert report
    assert (report.documents, report.deleted) == (1, 0)


@pytest.mark.parametrize("dies_at", ["apply", "derive", "ledger"])
def test_a_run_that_dies_while_it_draws_is_put_right_by_the_next(
    settings: Settings, target: Target, docs: Path, tmp_path: Path, dies_at: str
) -> None:
    draw(target, docs)
    (docs / "people.md").write_text("# Somebody else\n\nThe Alpha Gateway is hers.\n", encoding="utf-8")
    (docs / "notes.md").unlink()
    assert target.graph
    stopping = Stopping(settings.store / "graph.sqlite3")
    stopping.dies_at = dies_at
    torn = replace(target.graph, store=stopping)
    if dies_at == "ledger":
        torn = replace(torn, facts=Unwritten(settings.store / "ledger.sqlite3", ""))
    with pytest.raises(Stopped):
        ingest_paths(replace(target, graph=torn), [docs])
    stopping.close()
    assert draw(target, docs)
    assert stored_graph(target) == fresh(target, tmp_path)


def test_a_graph_that_takes_no_change_is_said_and_drawn_by_the_next_run(
    settings: Settings, target: Target, docs: Path, tmp_path: Path
) -> None:
    assert target.graph
    closed = Closed(settings.store / "graph.sqlite3")
    report = ingest_paths(replace(target, graph=replace(target.graph, store=closed)), [docs])
    closed.close()
    assert (report.documents, report.graph) == (4, None)
    assert report.warnings == (
        "the graph is not up to date, the next ingest tries again: the graph's server does not answer",
    )
    assert len(target.catalogue.documents(target.project)) == 4
    assert draw(target, docs)
    assert stored_graph(target) == fresh(target, tmp_path)


def test_an_index_without_a_graph_gets_one_from_the_catalogue(target: Target, docs: Path, tmp_path: Path) -> None:
    ingest_paths(replace(target, graph=None), [docs])
    report = ingest_paths(target, [docs])
    assert (report.documents, report.unchanged) == (0, 4)
    assert stored_graph(target) == fresh(target, tmp_path)


def test_documents_whose_extraction_the_disk_did_not_keep_are_taken_from_the_catalogue(
    target: Target, docs: Path, tmp_path: Path
) -> None:
    assert target.graph
    draw(replace(target, graph=replace(target.graph, folder=tmp_path / "missing")), docs)
    assert stored_graph(target) == fresh(target, tmp_path)


def test_an_ingest_holds_the_extraction_of_one_document_in_memory(target: Target, tmp_path: Path) -> None:
    """Counted at each extraction and each change of the graph; one more may have ended just before."""
    held: list[int] = []

    class CountingGazetteer(Gazetteer):
        def find(self, text: str) -> tuple[list[GazetteerMatch], list[str]]:
            held.append(count_extractions())
            return super().find(text)

    class CountingGraph(SqliteGraph):
        def apply(self, project: str, replaced: Sequence[DocumentGraph] = (), deleted: Sequence[str] = ()) -> None:
            held.append(count_extractions())
            super().apply(project, replaced, deleted)

    pages = {
        f"{n}.md": f"# Page {n}\n\nThe Alpha Gateway follows [the last](page{n - 1}.md).\n" for n in range(30)
    }
    folder = write_pages(tmp_path / "pages", pages)
    store = CountingGraph(tmp_path / "graph.sqlite3")
    facts = SqliteFactStore(tmp_path / "counted.sqlite3", "")
    graphing = GraphTarget(store, facts, CountingGazetteer(), folder=tmp_path)
    before = count_extractions()
    report = draw(replace(target, graph=graphing), folder)
    assert report
    assert (report.documents, len(held)) == (30, 31)
    assert max(held) - before <= 2
    assert list(store.export(target.project)) == fresh(target, tmp_path)
    store.close()


def count_extractions() -> int:
    return sum(isinstance(each, DocumentExtraction) for each in gc.get_objects())


def test_a_run_that_dies_while_it_reads_is_put_right_by_the_next(
    target: Target, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was reported stays, and its part of the graph, whose extraction ended with the run, is built."""
    monkeypatch.setattr("winnow.server.ingest.pipeline._BATCH_CHUNKS", 1)

    def die_half_way(progress: Progress) -> None:
        if progress.documents == 2:
            raise Stopped

    with pytest.raises(Stopped):
        ingest_paths(target, [docs], progress=die_half_way)
    assert (len(target.catalogue.documents(target.project)), stored_graph(target)) == (2, [])
    report = ingest_paths(target, [docs])
    assert (report.documents, report.unchanged) == (2, 2)
    assert stored_graph(target) == fresh(target, tmp_path)


def test_a_rebuild_draws_all_of_it_again_and_ends_the_same(target: Target, docs: Path) -> None:
    draw(target, docs)
    before = stored_graph(target)
    assert target.graph
    run = GraphUpdate(target.project, target.catalogue, target.graph)
    run.reset()
    report = run.update()
    assert report
    assert (report.documents, stored_graph(target)) == (4, before)


def test_names_of_the_users_own_are_found_and_a_new_file_of_them_draws_all_again(
    settings: Settings, backends: Backends, docs: Path, tmp_path: Path
) -> None:
    own = tmp_path / "entities.toml"
    own.write_text('[[entity]]\nname = "Request"\ntype = "unit"\naliases = ["requests"]\n', encoding="utf-8")
    settings = settings.model_copy(update={"entities": own})
    draw(target_of(settings, backends, None), docs)
    assert backends.graph
    assert backends.graph.counts(settings.project).entity_types["unit"] == 1
    own.write_text('[[entity]]\nname = "Request"\ntype = "measure"\n', encoding="utf-8")
    report = draw(target_of(settings, backends, None), docs)
    assert report
    assert (report.documents, "unit" in report.entities) == (4, False)


@pytest.mark.parametrize("text", [None, "entity = 1"])
def test_a_file_of_names_that_cannot_be_used_ends_the_ingest_before_it_begins(
    settings: Settings, backends: Backends, tmp_path: Path, text: str | None
) -> None:
    if text is not None:
        (tmp_path / "entities.toml").write_text(text, encoding="utf-8")
    settings = settings.model_copy(update={"entities": tmp_path / "entities.toml"})
    with pytest.raises(WinnowError, match=r"entities"):
        target_of(settings, backends, None)


def test_what_one_graph_store_holds_says_nothing_of_another(
    store: Path, target: Target, docs: Path, tmp_path: Path
) -> None:
    """After a move to a server and back, each graph is unchanged and is then brought up to date."""
    draw(target, docs)
    assert target.graph
    other = GraphTarget(
        SqliteGraph(tmp_path / "other.sqlite3"), SqliteFactStore(store / "ledger.sqlite3", "bolt:")
    )
    report = draw(replace(target, graph=other), docs)
    assert report
    assert (report.documents, list(other.store.export(target.project))) == (4, stored_graph(target))
    other.store.close()


def test_a_report_is_told_as_json_data(target: Target, docs: Path) -> None:
    report = draw(target, docs)
    assert report
    assert set(asdict(report)) == {"documents", "deleted", "nodes", "entities", "edges", "seconds", "warnings"}


def test_a_disk_that_fills_while_the_graph_is_drawn_is_named_and_the_next_ingest_goes_on(tmp_path: Path) -> None:
    """Documents can be searched meanwhile. A limit on the pages of the file makes SQLite report a full disk."""
    settings = load_settings(store=tmp_path / "own", project="p", embedding="off")
    backends = open_backends(settings, wait_for_model=True)
    try:
        target = target_of(settings, backends, None)
        graph = backends.graph
        assert isinstance(graph, SqliteGraph)
        (pages,) = graph._database.rows("PRAGMA page_count")[0]
        graph._database.rows(f"PRAGMA max_page_count = {pages}")
        folder = write_pages(
            tmp_path / "pages", {f"{n}.md": PAGES["gateway.md"] + f"\n\n## Part {n}\n" for n in range(200)}
        )
        report = ingest_paths(target, [folder])
        assert (report.documents, report.failures, report.graph) == (200, (), None)
        (warning,) = report.warnings
        assert "the graph is not up to date, the next ingest tries again" in warning
        assert "the disk is full" in warning
        assert f"MB are free in {settings.store}" in warning
        assert "free some space, then run the same command again" in warning
        graph._database.rows("PRAGMA max_page_count = 1000000")
        again = ingest_paths(target, [folder])
        assert (again.documents, again.unchanged, again.warnings) == (0, 200, ())
        assert again.graph is not None
        assert again.graph.documents == 200
    finally:
        backends.close()
