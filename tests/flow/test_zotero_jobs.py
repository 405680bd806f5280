"""Libraries of Zotero that an agent has ingested: only with the operator's word, linked files only below roots."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.zotero_database import write_database
from tests.zotero_library import make_zotero
from winnow.server.backends.opening import open_backends
from winnow.server.commands.entry.knowledge import make_knowledge_base
from winnow.server.errors import WinnowError
from winnow.server.operations.knowledge import DIRECT, Caller, KnowledgeBase
from winnow.server.runtime.sessions.identities import key_name
from winnow.server.settings.loading import load_settings
from winnow.server.settings.project_settings import ProjectSettings

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home folder of a user of Zotero, whose linked files are in ``papers``."""
    folder = tmp_path_factory.mktemp("home")
    write_database(make_zotero(folder, 12))
    return folder


@pytest.fixture
def serve(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setenv("HOME", str(home))

    @asynccontextmanager
    async def run(*roots: str) -> AsyncIterator[KnowledgeBase]:
        usual: dict[str, Any] = {
            "project": "p",
            "projects": ("p", "q"),
            "enable_writes": True,
            "embedding": "off",
            "graph": "off",
        }
        settings = load_settings(store=tmp_path / "store", ingest_roots=",".join(roots), **usual)
        backends = open_backends(settings, wait_for_model=False)
        for name in ("p", "q"):
            backends.catalogue.save_project_settings(name, ProjectSettings())
        backends.close()
        kb = make_knowledge_base(settings, wait_for_model=False, runs_jobs=True)
        try:
            yield kb
        finally:
            await kb.aclose()

    return run


async def ask(kb: KnowledgeBase, operation: str, **arguments: Any) -> dict[str, Any]:
    return (await kb.call(operation, arguments, kb.caller("an agent"))).payload


async def ingest(kb: KnowledgeBase, project: str = "p", source: str = "zotero", **zotero: Any) -> dict[str, Any]:
    """The job of an agent once it has ended."""
    options = {"zotero": zotero} if source == "zotero" else {}
    return await ended(kb, await ask(kb, "ingest_from_source", project=project, source=source, options=options))


async def ended(kb: KnowledgeBase, job: dict[str, Any]) -> dict[str, Any]:
    while job["state"] in ("queued", "running"):
        time.sleep(0.05)
        job = await ask(kb, "job_status", job_id=job["job_id"])
    return job


async def names(kb: KnowledgeBase) -> set[str]:
    rows = (await ask(kb, "kb.documents", limit=100))["results"]
    return {row["file"] for row in rows}


async def test_a_job_ingests_what_is_chosen_and_linked_files_below_the_roots(
    serve: Callable[..., Any], home: Path
) -> None:
    async with serve("zotero", str(home / "papers")) as kb:
        job = await ingest(kb, library="Electricity Group", collections=["thesis"])
        assert (job["state"], job["source"], job["documents_deleted"]) == ("done", "zotero", 0)
        held = await names(kb)
        assert held
        assert all(name.startswith("zotero/groups/123/") for name in held)
        await ingest(kb)
        assert any(name.endswith("/linked 0.pdf") for name in await names(kb))


async def test_linked_files_outside_the_roots_are_not_read(serve: Callable[..., Any]) -> None:
    async with serve("zotero") as kb:
        job = await ingest(kb)
        held = await names(kb)
    assert (job["state"], len(held) > 10) == ("done", True)
    assert not any("linked" in name for name in held)
    assert "linked files outside the folders that this server may ingest from" in "".join(job["warnings"])


async def test_without_the_word_of_the_operator_nothing_of_zotero_is_read(
    serve: Callable[..., Any], home: Path
) -> None:
    async with serve(str(home)) as kb:
        refused = await refusal(kb, source="zotero")
        assert (refused.reason, "--ingest-roots zotero" in refused.message) == ("SCOPE_VIOLATION", True)
    async with serve("./zotero") as kb:  # a folder of that name
        assert (await refusal(kb, source="zotero")).reason == "SCOPE_VIOLATION"


async def test_options_that_do_not_fit_the_source_are_refused(serve: Callable[..., Any], home: Path) -> None:
    async with serve("zotero", str(home / "papers")) as kb:
        papers = str(home / "papers")
        for source, options in (
            (papers, {"zotero": {"tags": ["law"]}}),
            ("zotero", {"references_path": f"{papers}/a.bib"}),
            ("zotero", {"zotero": {"data_folder": "/"}}),
            ("zotero", {"zotero": {"collections": ["a\x00b"]}}),
            ("zotero:library", {}),
        ):
            assert (await refusal(kb, source=source, options=options)).reason == "INVALID_REQUEST"
        unknown = await ingest(kb, library="Another")
        assert (unknown["state"], unknown["failure"]["reason"]) == ("failed", "NOT_FOUND")
        assert "My Library (library)" in unknown["failure"]["message"]


async def test_a_key_of_one_project_ingests_no_library_and_no_linked_file_of_another(
    serve: Callable[..., Any], home: Path
) -> None:
    confined = Caller(key_name("k1", ["p"], is_read_only=False, calls_per_minute=None), DIRECT)
    ask_for_it = ("ingest_from_source", {"project": "p", "source": "zotero"}, confined)
    async with serve("zotero", str(home / "papers")) as kb:
        assert (await ingest(kb, project="q", source=str(home / "papers")))["state"] == "done"
        assert (await ended(kb, (await kb.call(*ask_for_it)).payload))["state"] == "done"
        held = await names(kb)
        assert (len(held) > 10, [name for name in held if "linked" in name]) == (True, [])
        assert (await ingest(kb, project="q"))["state"] == "done"
        assert (await ended(kb, (await kb.call(*ask_for_it)).payload))["state"] == "done"  # it is its own, too


async def test_a_key_of_one_project_ingests_no_library_that_only_another_has(serve: Callable[..., Any]) -> None:
    confined = Caller(key_name("k1", ["p"], is_read_only=False, calls_per_minute=None), DIRECT)
    async with serve("zotero") as kb:
        assert (await ingest(kb, project="q"))["state"] == "done"
        with pytest.raises(WinnowError, match="in a project that this key may not use") as caught:
            await kb.call("ingest_from_source", {"project": "p", "source": "zotero"}, confined)
        assert caught.value.reason == "SCOPE_VIOLATION"


async def refusal(kb: KnowledgeBase, **arguments: Any) -> WinnowError:
    with pytest.raises(WinnowError) as caught:
        await ask(kb, "ingest_from_source", project="p", **arguments)
    return caught.value
