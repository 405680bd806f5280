"""A source of libraries of Zotero is kept in step: changes arrive, what is away or gone at once is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.patience import until
from tests.zotero_database import write_database
from tests.zotero_library import Zotero, make_zotero
from winnow.server.backends.opening import Backends, open_backends
from winnow.server.commands.watching.sources import app
from winnow.server.jobs.watching.sources import read_sources
from winnow.server.jobs.watching.status import PathStatus, read_status
from winnow.server.jobs.watching.store_watcher import watcher_of
from winnow.server.models import Document
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

POLL_SECONDS = 0.2


@pytest.fixture
def zotero(tmp_path: Path) -> Zotero:
    made = make_zotero(tmp_path / "zotero", 44)
    for library in made.libraries:
        for file in library.of_type("attachment"):  # without files an ingest is quick
            library.delete(file.key)
    write_database(made)
    return made


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(
        store=tmp_path / "store", embedding="off", graph="off", watch_poll_seconds=POLL_SECONDS, project="p"
    )


@pytest.fixture
def backends(settings: Settings) -> Iterator[Backends]:
    with closing(open_backends(settings, wait_for_model=False)) as opened:
        yield opened


def run(settings: Settings, *arguments: str) -> tuple[int, Any]:
    done = CliRunner().invoke(app, [*arguments, "--store", str(settings.store), "--json"])
    return done.exit_code, json.loads(done.stdout)


def add(settings: Settings, zotero: Zotero, *arguments: str) -> tuple[int, Any]:
    usual = ("--zotero", "--data-folder", str(zotero.folder), "--no-api", "--project", "p")
    return run(settings, "add", *usual, *arguments)


def documents(backends: Backends) -> dict[str, Document]:
    return {each.uri: each for each in backends.catalogue.documents("p")}


def status_of(settings: Settings) -> PathStatus:
    return next(iter(read_status(settings.store).paths), PathStatus("zotero", "", "p"))


def test_changes_in_zotero_arrive_and_what_is_away_or_gone_at_once_is_kept(
    zotero: Zotero, settings: Settings, backends: Backends
) -> None:
    code, added = add(settings, zotero)
    assert (code, added["sources"][0]["id"], added["sources"][0]["paths"]) == (
        0,
        "zotero",
        ["zotero:all libraries"],
    )
    own = zotero.libraries[0]
    works = [each for each in own.listed() if "abstractNote" in each.data]
    watcher = watcher_of(settings, lambda: backends)
    watcher.start()
    try:
        until(lambda: status_of(settings).scanned_at)
        whole = len(documents(backends))
        assert (status_of(settings).state, whole > 40) == ("polling", True)

        own.change(works[0].key, title="Another title")
        write_database(zotero)
        name = f"zotero/{works[0].key}/item"
        until(lambda: documents(backends)[name].title == "Another title")

        database = zotero.folder / "zotero.sqlite"
        database.rename(zotero.folder / "away")
        until(lambda: status_of(settings).state == "away")
        assert len(documents(backends)) == whole
        (zotero.folder / "away").rename(database)

        for work in works[1:]:
            own.trash(work.key)
        write_database(zotero)
        watcher.stop()
        watcher = watcher_of(settings, lambda: backends)
        watcher.start()
        until(lambda: status_of(settings).held >= 25)
        assert len(documents(backends)) == whole
        code, confirmed = run(settings, "confirm", "zotero")
        assert (code, confirmed["done"]) == (0, True)
        assert len(documents(backends)) == whole - confirmed["documents"]
    finally:
        watcher.stop()


def test_sources_of_zotero_are_checked_when_they_are_added(
    zotero: Zotero, settings: Settings, tmp_path: Path
) -> None:
    refused = {
        ("--library", "Other"): "it has: My Library (library)",
        ("--include", "*.pdf"): "--zotero takes neither paths",
        (str(tmp_path),): "--zotero takes neither paths",
    }
    for arguments, why in refused.items():
        code, error = add(settings, zotero, *arguments)
        assert (code != 0, why in error["error"]["message"]) == (True, True)
    code, error = run(settings, "add", str(tmp_path), "--collection", "Thesis")
    assert (code != 0, "need --zotero" in error["error"]["message"]) == (True, True)
    code, added = add(settings, zotero, "--library", "groups/123", "--collection", "Thesis")
    assert (code, added["sources"][0]["paths"]) == (0, ["zotero:groups/123, in Thesis"])
    code, error = add(settings, zotero, "--library", "groups/123", "--collection", "Thesis")
    assert (code != 0, "overlaps" in error["error"]["message"]) == (True, True)
    (source,) = read_sources(settings.store)
    assert source.request.zotero is not None
    assert (source.request.zotero.collections, source.request.zotero.uses_api) == (("Thesis",), False)
