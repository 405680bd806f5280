"""Repeated ingests of Zotero, through either door: they end with the index that a fresh run would write."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.zotero_api import ZoteroApi, serve_api
from tests.zotero_database import write_database
from tests.zotero_library import Library, Zotero, add_annotation, make_zotero, sample_pdf
from winnow.server.backends.opening import open_backends
from winnow.server.bibliographies.zotero.choice import ZoteroChoice
from winnow.server.commands.zotero import app
from winnow.server.ingest import pipeline
from winnow.server.ingest.pipeline import Target
from winnow.server.ingest.report import IngestReport, OnProgress, Progress
from winnow.server.ingest.selection.request import IngestRequest
from winnow.server.ingest.zotero import ingesting
from winnow.server.settings.loading import load_settings

WORKS = 24


def ingest_zotero(
    target: Target, choice: ZoteroChoice, store: Path, progress: OnProgress | None = None, **how: Any
) -> IngestReport:
    return ingesting.ingest_zotero(target, IngestRequest(zotero=choice, **how), store, progress)


@pytest.fixture
def zotero(tmp_path: Path) -> Zotero:
    made = make_zotero(tmp_path / "zotero", WORKS)
    write_database(made)
    return made


@pytest.fixture
def api(zotero: Zotero) -> Iterator[ZoteroApi]:
    with serve_api(zotero) as served:
        yield served


@pytest.fixture
def make_target(tmp_path: Path) -> Iterator[Callable[[str], Target]]:
    with ExitStack() as stack:

        def make(name: str) -> Target:
            backends = open_backends(load_settings(store=tmp_path / name, embedding="off"), wait_for_model=False)
            stack.callback(backends.close)
            return Target("p", backends.catalogue, backends.store, None)

        yield make


def through_database(zotero: Zotero) -> ZoteroChoice:
    return ZoteroChoice(data_folder=str(zotero.folder), uses_api=False)


def through_api(zotero: Zotero, api: ZoteroApi) -> ZoteroChoice:
    return ZoteroChoice(data_folder=str(zotero.folder), api=api.url)


def held(target: Target) -> dict[str, Any]:
    """All that the index holds of each document, and what searches have of it."""
    points = set(target.store.ids("p"))
    chunks = {each.uri: target.catalogue.chunks(each.id, "p") for each in target.catalogue.documents("p")}
    assert points == {chunk.id for each in chunks.values() for chunk in each}
    return {
        each.uri: (each, chunks[each.uri], target.catalogue.text(each.id, "p"), target.catalogue.places(each.id))
        for each in target.catalogue.documents("p")
    }


def counts(report: IngestReport) -> tuple[int, int, int]:
    return report.documents, report.unchanged, report.deleted


def change_something(zotero: Zotero, library: Library, chance: random.Random, number: int) -> None:
    """One of the things that a user does."""
    works = [each for each in library.listed() if "abstractNote" in each.data]
    files = library.of_type("attachment")
    stored = [each for each in files if each.data.get("linkMode") == "imported_file"]
    notes, work = library.of_type("note"), chance.choice(works)
    # Few works are left alone, so that there is something to change.
    match chance.randrange(11 if len(works) > 3 else 4):
        case 0:
            added = library.add(
                "book", title=f"Added {number}", abstractNote="", tags=[], creators=[], collections=[]
            )
            zotero.attach(library, added, f"added {number}.pdf", sample_pdf(f"Added {number}"))
        case 1:
            library.change(work.key, title=f"Another title {number}", language="fr")
        case 2:
            library.move(work.key, chance.choice(list(library.collections)))
        case 3:
            library.rename_collection(chance.choice(list(library.collections)), f"Renamed {number}")
        case 4:
            library.trash(work.key)
        case 5:
            library.delete(work.key)
        case 6:
            zotero.stored_path(chance.choice(stored)).unlink(missing_ok=True)
        case 7:
            path = zotero.stored_path(chance.choice(stored))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(sample_pdf(f"Replaced {number}", 1))
        case 8:
            add_annotation(library, chance.choice(stored), number)
        case 9:
            library.change(chance.choice(notes).key, note=f"<p>Changed note {number}</p>")
        case 10:
            library.rename_tag("law", f"tag {number}")


def test_runs_after_changes_end_with_the_index_of_a_fresh_run(
    zotero: Zotero, api: ZoteroApi, make_target: Callable[[str], Target], tmp_path: Path
) -> None:
    target, chance = make_target("increments"), random.Random(5)
    choices = (through_api(zotero, api), through_api(zotero, api), through_database(zotero))
    ingest_zotero(target, choices[0], tmp_path / "increments", allow_deletions=True)
    for turn in range(6):
        for number in range(7):
            change_something(zotero, chance.choice(zotero.libraries), chance, turn * 10 + number)
        write_database(zotero)
        ingest_zotero(target, choices[turn % 3], tmp_path / "increments", allow_deletions=True)
    fresh = make_target("fresh")
    ingest_zotero(fresh, through_database(zotero), tmp_path / "fresh")
    assert held(target) == held(fresh)
    again = ingest_zotero(target, choices[0], tmp_path / "increments")
    assert (again.documents, again.deleted) == (0, 0)


def test_both_doors_give_the_same_index_and_changing_doors_writes_nothing(
    zotero: Zotero, api: ZoteroApi, make_target: Callable[[str], Target], tmp_path: Path
) -> None:
    by_api, by_database = make_target("api"), make_target("database")
    first = ingest_zotero(by_api, through_api(zotero, api), tmp_path / "api")
    ingest_zotero(by_database, through_database(zotero), tmp_path / "database")
    assert held(by_api) == held(by_database)
    assert {document.source for document, *_ in held(by_api).values()} == {"zotero:library", "zotero:groups/123"}
    second = ingest_zotero(by_api, through_database(zotero), tmp_path / "api")
    assert counts(second) == (0, first.documents, 0)


def test_a_library_that_fails_half_way_loses_nothing_and_others_go_on(
    zotero: Zotero, api: ZoteroApi, make_target: Callable[[str], Target], tmp_path: Path
) -> None:
    target = make_target("store")
    ingest_zotero(target, through_api(zotero, api), tmp_path / "store")
    before = held(target)
    own, group = zotero.libraries
    added = own.add("book", title="A new book", tags=[], creators=[], collections=[])
    for work in group.of_type("book", "journalArticle"):
        group.delete(work.key)
    api.answers["/api/groups/123/items"] = 200, {"Total-Results": "40"}, b'[{"key": "AAAAAAAA"'
    report = ingest_zotero(target, through_api(zotero, api), tmp_path / "store", allow_deletions=True)
    assert counts(report)[::2] == (1, 0)
    assert held(target).keys() - before.keys() == {f"zotero/{added.key}/item"}
    (failure,) = (each for each in report.failures if "documents were kept" in each.reason)
    assert failure.name == "Electricity Group"
    api.answers.clear()
    assert ingest_zotero(target, through_api(zotero, api), tmp_path / "store", allow_deletions=True).deleted > 0


def test_a_run_that_is_interrupted_is_completed_by_the_next(
    zotero: Zotero, make_target: Callable[[str], Target], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "_BATCH_CHUNKS", 4)
    target, fresh = make_target("interrupted"), make_target("fresh")

    def interrupt(progress: Progress) -> None:
        if progress.documents >= 8:
            raise KeyboardInterrupt

    choice = through_database(zotero)
    with pytest.raises(KeyboardInterrupt):
        ingest_zotero(target, choice, tmp_path / "interrupted", progress=interrupt)
    written = len(held(target))
    report = ingest_zotero(target, choice, tmp_path / "interrupted")
    ingest_zotero(fresh, choice, tmp_path / "fresh")
    assert 8 <= written < len(held(fresh))
    assert held(target) == held(fresh)
    assert report.unchanged == written


def test_the_commands_list_libraries_and_ingest_them(zotero: Zotero, tmp_path: Path) -> None:
    def run(*arguments: str) -> Any:
        usual = ("--data-folder", str(zotero.folder), "--store", str(tmp_path / "store"), "--json")
        done = CliRunner().invoke(app, [*arguments, *usual], env={"WINNOW_EMBEDDING": "off"})
        return done.exit_code, json.loads(done.stdout)

    code, listed = run("libraries")
    assert (code, listed["by"]) == (0, "database")
    assert [(row["id"], row["name"]) for row in listed["libraries"]] == [
        ("library", "My Library"),
        ("groups/123", "Electricity Group"),
    ]
    assert "Thesis/Chapter 2" in listed["libraries"][0]["collections"]
    code, report = run("ingest", "--library", "electricity group")
    assert (code, report["documents"] > 0, report["deleted"]) == (0, True, 0)
    code, error = run("ingest", "--collection", "Thesiz")
    assert (code != 0, "the nearest are: Thesis" in error["error"]["message"]) == (True, True)
    code, error = run("ingest", "--library", "Other")
    assert (code != 0, "My Library (library)" in error["error"]["message"]) == (True, True)
