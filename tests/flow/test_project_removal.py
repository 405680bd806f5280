"""Projects are deleted, restored, purged and renamed; killed at any step, a project is whole or gone."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.flow.test_commands import winnow
from tests.flow.test_projects import project
from tests.ingesting import ingest_paths
from tests.tiny_models import write_model
from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.opening import Backends, catalogue_path, open_backends
from winnow.server.claims.records import Claim, Entry, claim_id, new_entry_id
from winnow.server.claims.sqlite_store import SqliteClaimStore, claims_path
from winnow.server.claims.store import Notebook
from winnow.server.commands.entry.app import open_application
from winnow.server.commands.entry.knowledge import make_knowledge_base
from winnow.server.errors import WinnowError
from winnow.server.jobs.target import target_of
from winnow.server.jobs.watching.sources import WatchedSource, change_sources, read_sources
from winnow.server.operations.knowledge import KnowledgeBase
from winnow.server.projects.removal import delete_project, purge_projects, restore_project
from winnow.server.projects.renaming import rename_project
from winnow.server.settings.loading import load_settings
from winnow.server.settings.project_settings import ProjectSettings
from winnow.server.settings.settings import Settings
from winnow.server.storage.keys.key_file import add_key, new_key, read_keys
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

pytestmark = pytest.mark.anyio

PAGES = {
    "proxy.md": "---\nteam: edge\n---\n# Proxy Rules\n\nproxy gateway proxy\n\n## Twice\n\nbackup policy\n",
    "policy.md": "# Backup Policy\n\nbackup policy gateway, as in the Proxy Rules ([proxy](proxy.md)).\n",
    "twice.md": "# Twice\n\nsame words\n\n# Twice\n\nsame words\n",
}
IDS = re.compile(r"\b[0-9a-v]{12}\b")
# Kills itself before the n-th call of a method, or at the end of the work where that never comes.
DYING = """
import os, signal, sys
from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.graphs.document_facts import SqliteFactStore
from winnow.server.backends.graphs.sqlite_graph import SqliteGraph
from winnow.server.backends.vectors.current_store import CurrentVectors
from winnow.server.backends.opening import open_backends
from winnow.server.projects.removal import purge_projects
from winnow.server.projects.renaming import rename_project
from winnow.server.settings.loading import load_settings

store, work, owner, method = sys.argv[1:]
settings = load_settings(store=store, embedding="off")
backends = open_backends(settings, wait_for_model=False)
setattr(globals()[owner], method, lambda *given, **named: os.kill(os.getpid(), signal.SIGKILL))
if work == "purge":
    purge_projects(settings, backends)
else:
    rename_project(settings, backends, "a/b", "new/name", lambda *step: None, lambda: None)
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    model = f"onnx:{write_model(tmp_path / 'model')}"
    return load_settings(
        store=tmp_path / "store", project="a/b", projects=("a/b", "new/name", "other"), embedder=model
    )


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in PAGES.items():
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture
def indexed(settings: Settings, docs: Path) -> Settings:
    """A store with the projects "a/b" and "other" of the same documents, and a source of the first."""
    with closing(open_backends(settings, wait_for_model=True)) as opened:
        for name in ("a/b", "other"):
            assert ingest(settings, opened, name, docs) == (len(PAGES), 0)
        opened.catalogue.save_project_settings("a/b", ProjectSettings(top_k=9))
    source = WatchedSource(id="docs", paths=(str(docs),), project="a/b")
    change_sources(settings.store, lambda before: [*before, source])
    return settings


def ingest(settings: Settings, opened: Backends, name: str, docs: Path) -> tuple[int, int]:
    """How many documents an ingest wrote and left unchanged."""
    own = settings.model_copy(update={"project": name})
    report = ingest_paths(target_of(own, opened, opened.embedder.ready()), [docs])
    assert report.failures == ()
    return report.documents, report.unchanged


@pytest.fixture
def backends(indexed: Settings) -> Iterator[Backends]:
    with closing(open_backends(indexed, wait_for_model=True)) as opened:
        yield opened


async def answers(settings: Settings, name: str) -> list[str]:
    """What searches, lists and the graph of a project answer, without ids."""
    with closing(make_knowledge_base(settings, wait_for_model=True)) as kb:
        calls = (
            ("semantic_search", {"query": "backup policy", "response_mode": "preview", "top_k": 20}),
            ("kb.scan", {"pattern": "policy"}),
            ("kb.documents", {}),
            ("graph.describe", {"node": "Proxy Rules"}),
        )
        payloads = [await ask(kb, name, operation, arguments) for operation, arguments in calls]
    found = json.loads(IDS.sub("ID", json.dumps(payloads, sort_keys=True)).replace(json.dumps(name)[1:-1], "P"))
    return sorted(json.dumps(row) for payload in found for row in _rows(payload))


def _rows(payload: dict[str, Any]) -> list[Any]:
    lists = [value for value in payload.values() if isinstance(value, list)]
    return [row for rows in lists for row in rows]


async def ask(kb: KnowledgeBase, name: str, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
    scoped = {**arguments, "scope": {"project_id": name}}
    return (await kb.call(operation, scoped, kb.caller("test"))).payload


async def test_a_deleted_project_is_hidden_from_every_tool_of_a_running_server_and_comes_back_whole(
    indexed: Settings,
) -> None:
    scope = {"project_id": "a/b"}
    async with (
        open_application(indexed, wait_for_model=True) as application,
        Client(build_server(Dispatcher(application.context, indexed), application)) as client,
    ):
        found = await client.call_tool("kb_retrieve_evidence", {"question": "backup policy", "scope": scope})
        passage = found.structured_content["quotes"][0]["passage_id"]  # type: ignore[index]
        calls: list[tuple[str, dict[str, Any]]] = [
            ("semantic_search", {"query": "backup"}),
            ("kb_search", {"query": "backup"}),
            ("kb_scan", {"pattern": "backup"}),
            ("kb_documents", {}),
            ("kb_read", {"document": "proxy.md"}),
            ("kb_retrieve_evidence", {"question": "backup policy"}),
            ("graph_describe", {"node": "Proxy Rules"}),
            ("kb_read_excerpt", {"passage_id": passage}),
        ]
        for command in ("show", "delete", "restore"):
            project(indexed.store, command, "a/b", *(("--yes",) if command == "delete" else ()))
            for tool, arguments in calls:
                result = await client.call_tool(tool, {**arguments, "scope": scope})
                assert bool(result.is_error) is (command == "delete"), (tool, result)
                if result.is_error:
                    assert "INVALID_PROJECT" in result.model_dump_json()
                    assert "gateway" not in result.model_dump_json()
            other = await client.call_tool("kb_search", {"query": "backup", "scope": {"project_id": "other"}})
            assert not other.is_error


def test_delete_asks_says_until_when_it_can_be_undone_and_an_ingest_is_refused(
    indexed: Settings, docs: Path
) -> None:
    store = ("--store", str(indexed.store))
    asked = winnow("project", "delete", "a/b", *store)
    assert (asked.returncode, "delete project a/b with 3 documents" in asked.stderr) == (2, True)
    assert "--yes" in asked.stderr
    add_key(indexed.store, new_key("ci", 0, projects=("a/b",))[0], 0)
    done = winnow("project", "delete", "a/b", "--yes", *store)
    assert "keys that reach only this project, and would reach the next one of its name: ci" in done.stdout
    assert "until projects are purged or the store is reindexed: winnow project restore" in done.stdout
    listed = project(indexed.store, "list")
    assert [row["name"] for row in listed["projects"]] == ["other"]
    assert listed["hidden"] == [{"name": "a/b", "state": "deleted", "successor": "", "documents": 3}]
    for command in (
        ("project", "show", "a/b"),
        ("project", "set", "a/b", "--top-k", "1"),
        ("project", "create", "a/b"),
        ("project", "delete", "a/b", "--yes"),
        ("project", "rename", "other", "a/b"),
        ("ingest", str(docs), "--project", "a/b", "--embedder", str(indexed.embedder)),
        ("graph", "stats", "--project", "a/b"),
        ("search", "backup", "--project", "a/b"),
    ):
        refused = winnow(*command, *store)
        advice = f"winnow project restore --store {indexed.store} a/b"
        assert (refused.returncode, advice in refused.stderr) == (2, True), command
    assert "which was deleted" in winnow("sources", "list", *store).stdout
    assert "nothing to watch" in winnow("watch", "--once", *store).stderr
    assert project(indexed.store, "restore", "a/b")["settings"]["top_k"] == 9
    refused = project(indexed.store, "restore", "other", exit_code=2)["error"]
    assert (refused["details"]["reason"], refused["message"]) == (
        "INVALID_PROJECT",
        "project 'other' is not deleted",
    )
    assert "project create" not in project(indexed.store, "restore", "nothing", exit_code=2)["error"]["message"]


def test_a_purge_removes_what_was_deleted_and_nothing_else(indexed: Settings, docs: Path) -> None:
    with closing(SqliteClaimStore(claims_path(indexed.store))) as claims:
        for name in ("a/b", "other"):
            number = new_entry_id()
            text = Claim(id=claim_id(number, 1), text="Pages have 4 KiB.")
            claims.add(Notebook(name), Entry(id=number, project=name, topic="memory", claims=(text,)))
    with closing(Catalogue(catalogue_path(indexed))) as catalogue:
        delete_project(catalogue, "a/b")
    with closing(open_backends(indexed, wait_for_model=True)) as opened:
        size = catalogue_path(indexed).stat().st_size
        assert purge_projects(indexed, opened) == ("a/b",)
        assert purge_projects(indexed, opened) == ()
        assert catalogue_path(indexed).stat().st_size <= size
        assert_gone(indexed, opened)
        with pytest.raises(WinnowError, match="there is no project 'a/b'; projects: other"):
            restore_project(opened.catalogue, "a/b")
        with closing(SqliteClaimStore(claims_path(indexed.store))) as claims:
            assert claims.notebooks() == [Notebook("other")]
        # The name is free, and a fresh project of this name has nothing of the former one.
        assert ingest(indexed, opened, "a/b", docs) == (len(PAGES), 0)
        assert opened.catalogue.project_settings("a/b") == ProjectSettings()


def assert_gone(settings: Settings, opened: Backends) -> None:
    """Nothing of "a/b" is left, and "other" is whole."""
    assert [info.name for info in opened.catalogue.existing_projects()] == ["other"]
    assert opened.catalogue.hidden_projects() == {}
    assert (list(opened.store.ids("a/b")), opened.store.count()) == ([], opened.catalogue.chunk_count())
    assert sorted(opened.store.ids("other")) == opened.catalogue.chunk_ids("other")
    assert opened.graph is not None
    assert (opened.graph.documents("a/b"), len(opened.graph.documents("other"))) == (frozenset(), len(PAGES))
    assert read_sources(settings.store) == ()


def test_a_reindexing_removes_what_was_deleted(indexed: Settings) -> None:
    project(indexed.store, "delete", "a/b", "--yes")
    run = winnow("reindex", "--store", str(indexed.store), "--embedder", str(indexed.embedder))
    assert (run.returncode, run.stderr) == (0, run.stderr)
    with closing(open_backends(indexed, wait_for_model=True)) as opened:
        assert_gone(indexed, opened)


def die(settings: Settings, work: str, owner: str, method: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DYING, str(settings.store), work, owner, method], capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize(
    ("owner", "method"),
    [
        ("CurrentVectors", "delete"),
        ("SqliteGraph", "apply"),
        ("SqliteFactStore", "apply"),
        ("Catalogue", "forget_project"),
        ("CurrentVectors", "optimize"),
        ("Catalogue", "compact"),
    ],
)
async def test_a_purge_that_is_killed_is_completed_by_the_next(indexed: Settings, owner: str, method: str) -> None:
    with closing(Catalogue(catalogue_path(indexed))) as catalogue:
        delete_project(catalogue, "a/b")
    other = await answers(indexed, "other")
    die(indexed, "purge", owner, method)
    assert await answers(indexed, "other") == other
    with pytest.raises(WinnowError, match=r"has no documents|is being removed; complete that"):
        await answers(indexed, "a/b")
    with closing(open_backends(indexed, wait_for_model=True)) as opened:
        purge_projects(indexed, opened)
        assert_gone(indexed, opened)


async def test_a_renamed_project_answers_the_same_and_its_next_ingest_finds_nothing_to_do(
    indexed: Settings, docs: Path
) -> None:
    before = await answers(indexed, "a/b")
    assert len(before) > 5
    add_key(indexed.store, new_key("ci", 0, projects=("a/b",))[0], 0)
    renamed = project(indexed.store, "rename", "a/b", "new/name")
    assert (renamed["keys"], read_keys(indexed.store)[0].projects) == (["ci"], ("new/name",))
    assert (renamed["name"], renamed["documents"], renamed["settings"]["top_k"]) == ("new/name", len(PAGES), 9)
    assert await answers(indexed, "new/name") == before
    assert_renamed(indexed)
    with closing(open_backends(indexed, wait_for_model=True)) as opened:
        ids = opened.catalogue.chunk_ids("new/name")
        assert ingest(indexed, opened, "new/name", docs) == (0, len(PAGES))
        for path in docs.iterdir():
            path.touch()
        assert ingest(indexed, opened, "new/name", docs) == (0, len(PAGES))
        fresh = docs.rename(docs.with_name("again"))  # read anew from another place, under the name of now
        assert ingest(indexed, opened, "new/name", fresh)[0] == len(PAGES)
        assert opened.catalogue.chunk_ids("new/name") == ids


def assert_renamed(settings: Settings) -> None:
    """The project is called "new/name" alone, and "other" is whole."""
    with closing(open_backends(settings, wait_for_model=True)) as opened:
        assert [info.name for info in opened.catalogue.existing_projects()] == ["new/name", "other"]
        assert opened.catalogue.hidden_projects() == {}
        assert (list(opened.store.ids("a/b")), opened.store.count()) == ([], opened.catalogue.chunk_count())
        assert sorted(opened.store.ids("new/name")) == opened.catalogue.chunk_ids("new/name")
        assert opened.graph is not None
        assert [len(opened.graph.documents(name)) for name in ("a/b", "new/name", "other")] == [
            0,
            len(PAGES),
            len(PAGES),
        ]
    assert [one.project for one in read_sources(settings.store)] == ["new/name"]


@pytest.mark.parametrize(
    ("owner", "method", "is_moved"),
    [
        ("CurrentVectors", "upsert", False),
        ("CurrentVectors", "flush", False),
        ("Catalogue", "move_project", False),
        ("SqliteGraph", "apply", True),
        ("CurrentVectors", "delete", True),
        ("Catalogue", "forget_project", True),
    ],
)
async def test_a_renaming_that_is_killed_shows_one_name_and_is_completed_by_the_same_command(
    indexed: Settings, owner: str, method: str, is_moved: bool
) -> None:
    before = await answers(indexed, "a/b")
    die(indexed, "rename", owner, method)
    with closing(Catalogue(catalogue_path(indexed))) as catalogue:
        names = [info.name for info in catalogue.existing_projects()]
        assert names == (["new/name", "other"] if is_moved else ["a/b", "other"])
    if not is_moved:
        assert await answers(indexed, "a/b") == before
    with closing(open_backends(indexed, wait_for_model=True)) as opened:
        rename_project(indexed, opened, "a/b", "new/name", lambda *step: None, lambda: None)
    assert_renamed(indexed)
    assert await answers(indexed, "new/name") == before


def test_a_renaming_that_is_given_up_leaves_nothing_after_a_purge(indexed: Settings) -> None:
    die(indexed, "rename", "Catalogue", "move_project")
    with closing(open_backends(indexed, wait_for_model=True)) as opened:
        assert purge_projects(indexed, opened) == ("new/name",)
        assert [info.name for info in opened.catalogue.existing_projects()] == ["a/b", "other"]
        assert opened.store.count() == opened.catalogue.chunk_count()
    assert [one.project for one in read_sources(indexed.store)] == ["a/b"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("nowhere", "new/name", "there is no project 'nowhere'; projects: a/b, other"),
        ("a/b", "other", "project 'other' exists already"),
        ("a/b", "a/b", "project 'a/b' exists already"),
        ("a/b", "../c", "cannot be the name of a project"),
        ("a/b", "c\n", "cannot be the name of a project"),
    ],
)
def test_a_name_that_is_taken_or_none_is_refused(backends: Backends, old: str, new: str, message: str) -> None:
    settings = load_settings(store=catalogue_store(backends), embedding="off")
    with pytest.raises(WinnowError, match=re.escape(message)):
        rename_project(settings, backends, old, new, lambda *step: None, lambda: None)
    assert [info.name for info in backends.catalogue.existing_projects()] == ["a/b", "other"]
    assert backends.catalogue.hidden_projects() == {}


def catalogue_store(backends: Backends) -> Path:
    """The folder of the store."""
    return backends.catalogue._path.parent
