"""Projects are renamed and purged where a server has the vectors or the graph: nothing of a former name stays."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.ingesting import ingest_paths
from tests.tiny_models import write_model
from winnow.server.backends.opening import Backends, open_backends
from winnow.server.jobs.target import target_of
from winnow.server.projects.removal import delete_project, purge_projects
from winnow.server.projects.renaming import rename_project
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

PAGES = {
    "proxy.md": "# Proxy Rules\n\nproxy gateway proxy\n\n## Twice\n\nbackup policy\n",
    "policy.md": "# Backup Policy\n\nbackup policy gateway, as in the Proxy Rules ([proxy](proxy.md)).\n",
}
# Servers that tests may use, by the setting that names one; a graph of one server holds all stores.
SERVERS = {"qdrant_url": "WINNOW_TEST_QDRANT_URL", "neo4j_url": "WINNOW_NEO4J_URL"}
# A server that already runs may hold other projects.
P = f"test-{secrets.token_hex(4)}"
FORMER, NEW, OTHER = f"{P}/former", f"{P}/new", f"{P}/other"


@pytest.fixture(params=SERVERS)
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    url = os.environ.get(SERVERS[request.param], "")
    if not url:
        pytest.skip(f"{SERVERS[request.param]} names no server")
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, text in PAGES.items():
        (docs / name).write_text(text, "utf-8")
    chosen: dict[str, Any] = {request.param: url}  # its user and password are read from the environment
    model = f"onnx:{write_model(tmp_path / 'model')}"
    return load_settings(store=tmp_path / "store", project=FORMER, embedder=model, **chosen)


@pytest.fixture
def backends(settings: Settings) -> Iterator[Backends]:
    with closing(open_backends(settings, wait_for_model=True)) as opened:
        for name in (FORMER, OTHER):
            assert _ingest(settings, opened, name) == (len(PAGES), 0)
        yield opened
        for name in (FORMER, NEW, OTHER):
            if opened.catalogue.has_project(name):
                delete_project(opened.catalogue, name)
        purge_projects(settings, opened)
        store: Any = opened.store._current.store
        if settings.qdrant_url:
            store._client.delete_collection(store._name)


def _ingest(settings: Settings, opened: Backends, name: str) -> tuple[int, int]:
    """How many documents an ingest wrote and left unchanged."""
    own = settings.model_copy(update={"project": name})
    report = ingest_paths(target_of(own, opened, opened.embedder.ready()), [settings.store.parent / "docs"])
    assert report.failures == ()
    return report.documents, report.unchanged


def _held(opened: Backends) -> dict[str, tuple[int, int]]:
    """How many points and drawn documents each project has; the points are those of the catalogue."""
    assert opened.graph is not None
    held = {}
    for name in (FORMER, NEW, OTHER):
        ids = sorted(opened.store.ids(name))
        assert ids == opened.catalogue.chunk_ids(name)
        held[name] = (len(ids), len(opened.graph.documents(name)))
    return held


def test_a_project_is_renamed_and_purged_on_a_server(settings: Settings, backends: Backends) -> None:
    before = _held(backends)
    points = before[FORMER]
    assert (points[0] > 0, points[1], before[NEW]) == (True, len(PAGES), (0, 0))
    rename_project(settings, backends, FORMER, NEW, lambda *step: None, lambda: None)
    assert _held(backends) == {FORMER: (0, 0), NEW: points, OTHER: before[OTHER]}
    assert _ingest(settings, backends, NEW) == (0, len(PAGES))
    delete_project(backends.catalogue, NEW)
    assert purge_projects(settings, backends) == (NEW,)
    assert _held(backends) == {FORMER: (0, 0), NEW: (0, 0), OTHER: before[OTHER]}
    assert backends.store.count() == backends.catalogue.chunk_count()
    assert _ingest(settings, backends, FORMER) == (len(PAGES), 0)
