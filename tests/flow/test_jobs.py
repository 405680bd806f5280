"""Jobs: ingests that an agent asks for, in the process that has the store open and as other processes see them."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.patience import until
from tests.plain_store import index_by_words
from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.opening import catalogue_path, open_backends
from winnow.server.commands.entry.knowledge import make_knowledge_base
from winnow.server.commands.jobs import app
from winnow.server.errors import WinnowError
from winnow.server.jobs.job_files import FOLDER, KEPT_JOBS, KEPT_SECONDS, JobFiles
from winnow.server.jobs.queue import MAX_UNFINISHED, JobQueue, JobRunner, JobStopped
from winnow.server.jobs.records import Job, JobRequest, JobResult, new_job
from winnow.server.operations.knowledge import DIRECT, SCRIPT, Caller, KnowledgeBase
from winnow.server.projects.removal import delete_project
from winnow.server.runtime.sessions.identities import key_name
from winnow.server.settings.loading import load_settings
from winnow.server.settings.project_settings import ProjectSettings
from winnow.server.settings.settings import Settings
from winnow.server.storage.files.lock import RUNNER, WRITER, StoreLock

pytestmark = pytest.mark.anyio

DONE = JobResult(
    chunks_written=1,
    documents_processed=1,
    documents_deleted=0,
    dense_model="",
    sparse_model="",
    duration_seconds=0,
)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder that agents may have ingested, with three notes in ``notes``."""
    folder = tmp_path / "allowed"
    (folder / "notes").mkdir(parents=True)
    for name in ("heron", "egret", "stork"):
        (folder / "notes" / f"{name}.md").write_text(f"# Notes\n\nThe {name} wades in the marsh.\n", "utf-8")
    return folder


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the empty projects ``birds`` and ``secret``."""
    folder = tmp_path_factory.mktemp("template") / "store"
    opened = open_backends(load_settings(store=folder, embedding="off", graph="off"), wait_for_model=False)
    with closing(opened):
        for project in ("birds", "secret"):
            opened.catalogue.save_project_settings(project, ProjectSettings())
    return folder


@pytest.fixture
def store(template: Path, tmp_path: Path) -> Path:
    return shutil.copytree(template, tmp_path / "store")


def settings_of(store: Path, files: Path, **others: Any) -> Settings:
    usual = {
        "project": "birds",
        "enable_writes": True,
        "ingest_roots": (files,),
        "embedding": "off",
        "graph": "off",
    }
    return load_settings(**{"store": store, **usual, **others})


def knowledge_of(settings: Settings) -> KnowledgeBase:
    return make_knowledge_base(settings, wait_for_model=False, runs_jobs=True)


async def ask(kb: KnowledgeBase, operation: str, **arguments: Any) -> dict[str, Any]:
    return (await kb.call(operation, arguments, kb.caller("an agent"))).payload


async def ended(kb: KnowledgeBase, job_id: str) -> dict[str, Any]:
    """The job once it has ended."""
    while True:
        job = await ask(kb, "job_status", job_id=job_id)
        if job["state"] not in ("queued", "running"):
            return job
        time.sleep(0.02)


async def refusal(kb: KnowledgeBase, operation: str, **arguments: Any) -> WinnowError:
    with pytest.raises(WinnowError) as caught:
        await ask(kb, operation, **arguments)
    return caught.value


async def test_an_ingest_is_a_job_and_a_second_one_writes_nothing(store: Path, files: Path) -> None:
    kb = knowledge_of(settings_of(store, files))
    try:
        asked = await ask(kb, "ingest_from_source", project="birds", source="notes")
        assert (asked["project"], asked["source"]) == ("birds", str(files / "notes"))
        first = await ended(kb, asked["job_id"])
        again = await ask(kb, "ingest_from_source", project="birds", source=str(files / "notes"))
        assert again["job_id"] != asked["job_id"]
        second = await ended(kb, again["job_id"])
        found = await ask(kb, "kb.search", query="heron marsh")
    finally:
        await kb.aclose()
    counts = ("state", "documents_processed", "chunks_written", "documents_deleted", "dense_model", "sparse_model")
    assert [first[name] for name in counts] == ["done", 3, 3, 0, "", "winnow/bm25"]
    assert [second[name] for name in counts] == ["done", 3, 0, 0, "", "winnow/bm25"]
    assert first["progress"]["documents"] == 3
    assert "heron" in json.dumps(found["results"][0])


async def test_what_deleted_files_held_leaves_the_index(store: Path, files: Path) -> None:
    kb = knowledge_of(settings_of(store, files))
    try:
        await ended(kb, (await ask(kb, "ingest_from_source", project="birds", source="notes"))["job_id"])
        (files / "notes" / "stork.md").unlink()
        job = await ended(kb, (await ask(kb, "ingest_from_source", project="birds", source="notes"))["job_id"])
    finally:
        await kb.aclose()
    assert (job["documents_processed"], job["documents_deleted"]) == (2, 1)


async def test_labels_of_the_project_are_those_of_its_documents(store: Path, files: Path) -> None:
    settings = settings_of(store, files)
    with closing(open_backends(settings, wait_for_model=False)) as opened:
        labels = {"labels": {"doc_tag": "field-notes"}}
        opened.catalogue.save_project_settings("birds", ProjectSettings.model_validate(labels))
    kb = knowledge_of(settings)
    try:
        await ended(kb, (await ask(kb, "ingest_from_source", project="birds", source="notes"))["job_id"])
        rows = (await ask(kb, "kb.documents"))["results"]
    finally:
        await kb.aclose()
    assert [row["labels"]["doc_tag"] for row in rows] == ["field-notes"] * 3


async def test_a_bibliography_below_the_roots_gives_its_facts_to_the_documents(store: Path, files: Path) -> None:
    entry = "@book{heron2020, title = {Herons}, author = {Ada Wader}, year = {2020}, file = {notes/heron.md}}"
    others = ["@misc{heron2020, title = {Again}}", "@misc{gone, title = {Gone}, file = {gone.pdf}}"]
    (files / "works.bib").write_text("\n".join([entry, *others]), "utf-8")
    asked = {"project": "birds", "source": "notes"}
    kb = knowledge_of(settings_of(store, files))
    try:
        error = await refusal(kb, "ingest_from_source", **asked, options={"references_path": "../works.bib"})
        job = await ask(kb, "ingest_from_source", **asked, options={"references_path": "works.bib"})
        done = await ended(kb, job["job_id"])
        rows = (await ask(kb, "kb.documents", where={"citekey": "heron2020"}))["results"]
        job = await ask(kb, "ingest_from_source", **asked)
        without = await ended(kb, job["job_id"])
    finally:
        await kb.aclose()
    assert (done["state"], without["state"]) == ("done", "done")
    told = [line.partition(":")[0] for line in done["warnings"]]
    assert {"entry not read", "no entry", "no file"} <= set(told), done["warnings"]
    assert [line for line in without["warnings"] if line.startswith("1 file has no entry any more (citekey")]
    assert (error.reason, "references_path" in error.message) == ("SCOPE_VIOLATION", True)
    assert [row["file"] for row in rows] == ["heron.md"]


async def test_writes_need_the_operators_switch_and_no_script_reaches_them(store: Path, files: Path) -> None:
    job = new_job(JobRequest(project="birds", path=str(files / "notes"), root=str(files)))
    JobFiles(store).write(job.model_copy(update={"state": "cancelled"}))
    writes = {
        "ingest_from_source": {"project": "birds", "source": "notes"},
        "job_cancel": {"job_id": job.id},
    }
    asked = {**writes, "job_status": {"job_id": job.id}}
    kb = knowledge_of(settings_of(store, files, enable_writes=False))
    try:
        for operation, arguments in writes.items():
            assert "--enable-writes" in (await refusal(kb, operation, **arguments)).message
        assert (await ask(kb, "job_status", job_id=job.id))["state"] == "cancelled"
    finally:
        await kb.aclose()
    kb = knowledge_of(settings_of(store, files))
    try:
        for operation, arguments in asked.items():
            with pytest.raises(WinnowError, match="no operation"):
                await kb.call(operation, arguments, kb.caller("a script", SCRIPT, "run"))
    finally:
        await kb.aclose()
    assert [each.id for each in JobFiles(store).list_jobs().jobs] == [job.id]


async def test_only_projects_that_exist_in_scope_are_written_to(store: Path, files: Path) -> None:
    kb = knowledge_of(settings_of(store, files))
    try:
        errors = [
            await refusal(kb, "ingest_from_source", project=project, source="notes")
            for project in ("secret", "new")
        ]
    finally:
        await kb.aclose()
    assert [error.reason for error in errors] == ["SCOPE_VIOLATION", "SCOPE_VIOLATION"]
    kb = knowledge_of(settings_of(store, files, projects=("birds", "new")))
    try:
        error = await refusal(kb, "ingest_from_source", project="new", source="notes")
    finally:
        await kb.aclose()
    assert (error.reason, "projects: birds" in error.message) == ("INVALID_PROJECT", True)


async def test_a_job_whose_record_is_damaged_is_not_said_not_to_be(store: Path, files: Path) -> None:
    job = new_job(request_of())
    JobFiles(store).write(job)
    (store / FOLDER / f"{job.id}.json").write_bytes(b"")
    kb = knowledge_of(settings_of(store, files))
    try:
        errors = [await refusal(kb, operation, job_id=job.id) for operation in ("job_status", "job_cancel")]
    finally:
        await kb.aclose()
    assert [(error.reason, "cannot be read" in error.message) for error in errors] == [
        ("INDEX_UNAVAILABLE", True)
    ] * 2


async def test_a_job_of_another_project_is_not_there(store: Path, files: Path) -> None:
    job = new_job(JobRequest(project="secret", path=str(files / "notes"), root=str(files)))
    JobFiles(store).write(job.model_copy(update={"state": "done"}))
    kb = knowledge_of(settings_of(store, files))
    try:
        others, nobodys = f"job_{'0' * 32}", job.id
        for operation in ("job_status", "job_cancel"):
            errors = [await refusal(kb, operation, job_id=name) for name in (others, nobodys)]
            assert [error.reason for error in errors] == ["NOT_FOUND"] * 2
            assert errors[0].message.replace(others, nobodys) == errors[1].message
    finally:
        await kb.aclose()
    assert not JobFiles(store).is_to_cancel(job.id)


async def test_a_key_of_one_project_ingests_no_files_of_another(store: Path, files: Path) -> None:
    (files / "theirs").mkdir()
    (files / "theirs" / "volcano.md").write_text("# Volcano\n\nIt sleeps.\n", "utf-8")
    kb = knowledge_of(settings_of(store, files, projects=("birds", "secret")))
    confined = Caller(key_name("k1", ["birds"], is_read_only=False, calls_per_minute=None), DIRECT)
    try:
        job = await ask(kb, "ingest_from_source", project="secret", source="theirs")
        assert (await ended(kb, job["job_id"]))["state"] == "done"
        for source in ("theirs", "theirs/volcano.md", str(files)):
            with pytest.raises(WinnowError, match="of a project that this key may not use") as caught:
                await kb.call("ingest_from_source", {"project": "birds", "source": source}, confined)
            assert (source, caught.value.reason) == (source, "SCOPE_VIOLATION")
        asked = await kb.call("ingest_from_source", {"project": "birds", "source": "notes"}, confined)
        assert (await ended(kb, asked.payload["job_id"]))["state"] == "done"
        with closing(Catalogue(catalogue_path(settings_of(store, files)))) as catalogue:
            delete_project(catalogue, "secret")
        with pytest.raises(WinnowError, match="of a project that this key may not use"):
            await kb.call("ingest_from_source", {"project": "birds", "source": "theirs"}, confined)
        shared = await ask(kb, "ingest_from_source", project="birds", source="theirs")
        assert (await ended(kb, shared["job_id"]))["state"] == "done"
        again = await kb.call("ingest_from_source", {"project": "birds", "source": "theirs"}, confined)
        assert (await ended(kb, again.payload["job_id"]))["state"] == "done"
    finally:
        await kb.aclose()


async def test_sources_outside_the_roots_are_refused(store: Path, files: Path, tmp_path: Path) -> None:
    outside = tmp_path / "private"
    outside.mkdir()
    (outside / "key.md").write_text("# Key\n\nsecret\n", "utf-8")
    (files / "link").symlink_to(outside)
    (files / "file-link.md").symlink_to(outside / "key.md")
    (files / ".hidden").mkdir()
    (files / "loop").symlink_to(files / "loop")
    os.mkfifo(files / "pipe.md")
    (files / "other" / "logs").mkdir(parents=True)
    (files / "other" / "catalogue.sqlite3").touch()
    (files / "other" / "logs" / "audit.log").write_text("what others asked\n", "utf-8")
    expected = {
        str(outside): "SCOPE_VIOLATION",
        str(tmp_path / "nothing"): "SCOPE_VIOLATION",
        str(files / "notes" / ".." / ".." / "private"): "SCOPE_VIOLATION",
        "../private": "SCOPE_VIOLATION",
        "link": "SCOPE_VIOLATION",
        "link/key.md": "SCOPE_VIOLATION",
        "link/nothing": "SCOPE_VIOLATION",
        "file-link.md": "SCOPE_VIOLATION",
        ".hidden": "SCOPE_VIOLATION",
        str(store): "SCOPE_VIOLATION",
        "other": "SCOPE_VIOLATION",
        "other/logs": "SCOPE_VIOLATION",
        "other/logs/audit.log": "SCOPE_VIOLATION",
        "/": "SCOPE_VIOLATION",
        "/dev/zero": "SCOPE_VIOLATION",
        "/proc/self/environ": "SCOPE_VIOLATION",
        "pipe.md": "INVALID_REQUEST",
        "nothing": "INVALID_REQUEST",
        f"file://{files}/notes": "INVALID_REQUEST",
        "https://example.org/a.pdf": "INVALID_REQUEST",
        "zotero": "SCOPE_VIOLATION",
        "zotero:library": "INVALID_REQUEST",
        "zotero://select/library": "INVALID_REQUEST",
        "source=zotero": "INVALID_REQUEST",
        "notes\n": "INVALID_REQUEST",
        "notes\x00": "INVALID_REQUEST",
        "n" * 1_500: "INVALID_REQUEST",
    }
    kb = knowledge_of(settings_of(store, files))
    try:
        found = {
            source: (await refusal(kb, "ingest_from_source", project="birds", source=source)).reason
            for source in expected
        }
    finally:
        await kb.aclose()
    assert found == expected
    assert JobFiles(store).list_jobs().jobs == ()


async def test_without_roots_the_refusal_says_what_the_operator_sets(store: Path, files: Path) -> None:
    kb = knowledge_of(settings_of(store, files, ingest_roots=()))
    try:
        error = await refusal(kb, "ingest_from_source", project="birds", source=str(files / "notes"))
    finally:
        await kb.aclose()
    assert (error.reason, "--ingest-roots" in error.message) == ("SCOPE_VIOLATION", True)


async def test_a_source_that_becomes_a_link_is_not_read(store: Path, files: Path, tmp_path: Path) -> None:
    outside = tmp_path / "private"
    outside.mkdir()
    (outside / "key.md").write_text("# Key\n\nsecret\n", "utf-8")
    settings = settings_of(store, files)
    lock = StoreLock(store, RUNNER)  # so that the job waits
    kb = knowledge_of(settings)
    try:
        asked = await ask(kb, "ingest_from_source", project="birds", source="notes")
        (files / "notes").rename(files / "was")
        (files / "notes").symlink_to(outside)
        lock.release()
        job = await ended(kb, asked["job_id"])
        documents = await ask(kb, "kb.documents") if job["state"] == "done" else {"results": []}
    finally:
        await kb.aclose()
    assert (job["state"], job["failure"]["reason"], documents["results"]) == ("failed", "SCOPE_VIOLATION", [])


async def test_a_job_that_another_model_would_write_is_refused(store: Path, files: Path, tmp_path: Path) -> None:
    """The project's vectors come from a model that is not there now."""
    from tests.tiny_models import write_model

    model = f"onnx:{write_model(tmp_path / 'model')}"
    with_model = settings_of(store, files, embedding="auto", embedder=model)
    kb = make_knowledge_base(with_model, wait_for_model=True, runs_jobs=True)
    try:
        done = await ended(kb, (await ask(kb, "ingest_from_source", project="birds", source="notes"))["job_id"])
    finally:
        await kb.aclose()
    assert (done["state"], done["dense_model"] != "") == ("done", True)
    kb = knowledge_of(settings_of(store, files))
    try:
        job = await ended(kb, (await ask(kb, "ingest_from_source", project="birds", source="notes"))["job_id"])
    finally:
        await kb.aclose()
    assert (job["state"], job["failure"]["reason"]) == ("failed", "EMBEDDING_MISMATCH")


async def test_a_rebuild_replaces_the_vectors_of_another_model(store: Path, files: Path, tmp_path: Path) -> None:
    from tests.tiny_models import TABLE, write_model

    models = [f"onnx:{write_model(tmp_path / name, table)}" for name, table in (("one", TABLE), ("other", -TABLE))]
    states = []
    for model in models:
        settings = settings_of(store, files, embedding="auto", embedder=model)
        kb = make_knowledge_base(settings, wait_for_model=True, runs_jobs=True)
        try:
            if model == models[1]:
                error = await refusal(kb, "ingest_from_source", project="birds", source="notes")
                assert (error.reason, "force_rebuild" in error.message) == ("EMBEDDING_MISMATCH", True)
            options = {"force_rebuild": model == models[1]}
            asked = await ask(kb, "ingest_from_source", project="birds", source="notes", options=options)
            states.append(await ended(kb, asked["job_id"]))
            found = await ask(kb, "semantic_search", query="heron marsh")
            assert found["search_mode"] == "hybrid"
        finally:
            await kb.aclose()
    assert [job["state"] for job in states] == ["done", "done"]
    assert states[0]["dense_model"] != states[1]["dense_model"]


async def test_a_rebuild_does_not_touch_projects_out_of_scope(store: Path, files: Path, tmp_path: Path) -> None:
    from tests.tiny_models import TABLE, write_model

    models = [f"onnx:{write_model(tmp_path / name, table)}" for name, table in (("one", TABLE), ("other", -TABLE))]
    first = settings_of(store, files, embedding="auto", embedder=models[0], projects=("birds", "secret"))
    kb = make_knowledge_base(first, wait_for_model=True, runs_jobs=True)
    try:
        for project in ("birds", "secret"):
            asked = await ask(kb, "ingest_from_source", project=project, source="notes")
            assert (await ended(kb, asked["job_id"]))["state"] == "done"
    finally:
        await kb.aclose()
    second = settings_of(store, files, embedding="auto", embedder=models[1])
    kb = make_knowledge_base(second, wait_for_model=True, runs_jobs=True)
    try:
        options = {"force_rebuild": True}
        error = await refusal(kb, "ingest_from_source", project="birds", source="notes", options=options)
        assert (error.reason, "winnow reindex" in error.message) == ("SCOPE_VIOLATION", True)
        # Nor is a project removed for good that was deleted and can be restored.
        with closing(Catalogue(catalogue_path(second))) as catalogue:
            delete_project(catalogue, "secret")
        error = await refusal(kb, "ingest_from_source", project="birds", source="notes", options=options)
        assert (error.reason, "winnow project purge" in error.message) == ("INVALID_REQUEST", True)
    finally:
        await kb.aclose()


# --- the queue, with runs that the test controls


class Runs:
    """Runs of jobs: each waits until the test lets it go on, and writes as many batches as that."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.batches = threading.Semaphore(0)
        self.error: Exception | None = None

    def __call__(self, job: Job, on_progress: Callable[[Any], None]) -> JobResult:
        from winnow.server.ingest.report import Progress

        self.begun.append(job.id)
        if self.error is not None:
            raise self.error
        for number in range(1, 4):
            assert self.batches.acquire(timeout=60)
            on_progress(Progress(number, 3, number * 10, 1.0, 1.0, number / 3, current=f"page {number}"))
        return DONE


@pytest.fixture
def runs() -> Iterator[Runs]:
    made = Runs()
    yield made
    made.batches.release(1_000)


def queue_of(store: Path, runs: Runs) -> JobQueue:
    return JobQueue(store, JobRunner(lambda: None, runs))


def request_of(name: str = "notes") -> JobRequest:
    return JobRequest(project="birds", path=f"/allowed/{name}", root="/allowed")


def state_of(store: Path, job: Job) -> str:
    found = JobFiles(store).read(job.id)
    return found.state if found else "gone"


def test_jobs_take_turns_and_the_same_request_is_one_job(store: Path, runs: Runs) -> None:
    queue = queue_of(store, runs)
    one, other = queue.submit(request_of("one")), queue.submit(request_of("other"))
    assert queue.submit(request_of("other")).id == other.id
    until(lambda: runs.begun == [one.id])
    assert (state_of(store, one), state_of(store, other), queue.is_busy) == ("running", "queued", True)
    runs.batches.release(6)
    until(lambda: not queue.is_busy)
    assert [state_of(store, job) for job in (one, other)] == ["done", "done"]
    assert runs.begun == [one.id, other.id]


def test_a_cancelled_job_ends_after_its_batch_and_says_what_it_wrote(store: Path, runs: Runs) -> None:
    queue = queue_of(store, runs)
    one, waiting = queue.submit(request_of("one")), queue.submit(request_of("other"))
    until(lambda: bool(runs.begun))
    queue.cancel(waiting)
    runs.batches.release(1)
    queue.cancel(one)
    runs.batches.release(1)
    until(lambda: not queue.is_busy)
    found = JobFiles(store).read(one.id)
    assert found is not None
    assert (found.state, found.progress.documents in (1, 2), found.progress.current_file) == (
        "cancelled",
        True,
        "",
    )
    assert (state_of(store, waiting), runs.begun) == ("cancelled", [one.id])


def test_a_job_that_is_left_behind_is_continued_by_the_next_process(store: Path, runs: Runs) -> None:
    queue = queue_of(store, runs)
    job = queue.submit(request_of())
    runs.batches.release(1)
    until(lambda: bool(runs.begun))
    threading.Timer(0.2, runs.batches.release).start()
    assert queue.stop()
    found = JobFiles(store).read(job.id)
    assert found is not None
    assert (found.state, found.starts, found.progress.documents > 0) == ("queued", 0, True)
    before = found.progress
    following = queue_of(store, runs)
    following.wake()
    runs.batches.release(3)
    until(lambda: not following.is_busy)
    found = JobFiles(store).read(job.id)
    assert found is not None
    assert found.result is not None
    assert (found.state, found.progress.documents) == ("done", before.documents + 3)
    assert found.result.chunks_written == before.passages + 1


def test_a_job_at_which_processes_die_is_given_up(store: Path, runs: Runs) -> None:
    job = new_job(request_of()).model_copy(update={"state": "running", "starts": 3})
    JobFiles(store).write(job)
    queue = queue_of(store, runs)
    queue.wake()
    until(lambda: not queue.is_busy)
    found = JobFiles(store).read(job.id)
    assert found is not None
    assert (found.state, "winnow ingest --explain" in found.note, runs.begun) == ("interrupted", True, [])


def test_a_job_waits_for_another_writer_and_for_another_runner(store: Path, files: Path) -> None:
    for kind in (WRITER, RUNNER):
        kb = knowledge_of(settings_of(store, files))
        queue = kb._jobs
        assert queue is not None
        lock = StoreLock(store, kind)
        try:
            (files / "notes" / f"{kind}.md").write_text(f"# {kind}\n\nmore\n", "utf-8")
            job = queue.submit(JobRequest(project="birds", path=str(files / "notes"), root=str(files)))
            if kind == WRITER:
                until(lambda job=job: "being written by" in getattr(JobFiles(store).read(job.id), "note", ""))
            time.sleep(0.3)
            assert state_of(store, job) in ("queued", "running")
            lock.release()
            until(lambda queue=queue: not queue.is_busy)
            assert state_of(store, job) == "done"
        finally:
            kb.close()


def test_a_flood_of_jobs_is_refused_with_the_time_to_wait(store: Path, runs: Runs) -> None:
    queue = queue_of(store, runs)
    for number in range(MAX_UNFINISHED):
        queue.submit(request_of(f"folder-{number}"))
    with pytest.raises(WinnowError, match="job_cancel") as caught:
        queue.submit(request_of("one more"))
    assert (caught.value.reason, caught.value.retry_after_s) == ("QUEUE_FULL", 30.0)
    assert len(JobFiles(store).list_jobs().unfinished) == MAX_UNFINISHED
    runs.batches.release(1_000)
    until(lambda: not queue.is_busy)


def test_an_error_is_the_jobs_and_a_fault_tells_nothing_of_itself(store: Path, runs: Runs) -> None:
    queue = queue_of(store, runs)
    runs.error = WinnowError("EMBEDDING_MISMATCH", "another model")
    job = queue.submit(request_of())
    until(lambda: not queue.is_busy)
    runs.error = ValueError("/home/someone/secret")
    fault = queue.submit(request_of("other"))
    until(lambda: not queue.is_busy)
    found = [getattr(JobFiles(store).read(each.id), "failure", None) for each in (job, fault)]
    assert [(each.reason, "secret" in each.message) for each in found if each] == [
        ("EMBEDDING_MISMATCH", False),
        ("INTERNAL", False),
    ]


def test_stopping_is_no_failure(store: Path, runs: Runs) -> None:
    runs.error = JobStopped()
    queue = queue_of(store, runs)
    job = queue.submit(request_of())
    until(lambda: bool(runs.begun))
    assert queue.stop()
    assert state_of(store, job) == "queued"


# --- files


def test_files_that_are_not_as_they_were_written_are_never_used(store: Path, tmp_path: Path) -> None:
    files = JobFiles(store)
    good, *others = [new_job(request_of(str(number))) for number in range(8)]
    for job in (good, *others):
        files.write(job)
    folder = store / FOLDER
    paths = [folder / f"{job.id}.json" for job in others]
    paths[0].write_text("{", "utf-8")
    paths[1].chmod(0o666)
    paths[2].unlink()
    paths[2].symlink_to(folder / f"{good.id}.json")
    paths[3].write_bytes(b" " * 100_000 + paths[3].read_bytes())
    paths[4].write_text(good.model_dump_json(), "utf-8")
    paths[5].unlink()
    os.mkfifo(paths[5])
    fields = json.loads(paths[6].read_text("utf-8"))
    fields["request"]["path"] = "relative"
    paths[6].write_text(json.dumps(fields), "utf-8")
    (folder / "notes.json").write_text("{}", "utf-8")
    listing = files.list_jobs()
    assert [job.id for job in listing.jobs] == [good.id]
    assert listing.damaged == tuple(sorted(path.name for path in paths))
    assert [files.read(job.id) for job in others] == [None] * len(others)
    assert [files.read(name) for name in ("../catalogue", "", "job_x", f"{good.id}/../{good.id}")] == [None] * 4


def test_only_the_owner_can_read_jobs(store: Path) -> None:
    files = JobFiles(store)
    job = new_job(request_of())
    files.write(job)
    files.ask_to_cancel(job.id)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (store / FOLDER, *(store / FOLDER).iterdir())}
    assert modes == {"jobs": 0o700, f"{job.id}.json": 0o600, f"{job.id}.cancel": 0o600}


def test_a_folder_of_jobs_that_others_may_write_is_refused(store: Path) -> None:
    (store / FOLDER).mkdir(mode=0o777)
    (store / FOLDER).chmod(0o777)
    with pytest.raises(WinnowError, match="only its owner may write"):
        JobFiles(store).write(new_job(request_of()))


def test_finished_jobs_are_deleted_by_age_and_by_number(store: Path) -> None:
    files, now = JobFiles(store), time.time()
    jobs = [
        new_job(request_of(str(number))).model_copy(update={"state": "done", "ended_at": now - number})
        for number in range(KEPT_JOBS + 5)
    ]
    old = new_job(request_of()).model_copy(update={"state": "done", "ended_at": now - KEPT_SECONDS - 60})
    waiting = new_job(request_of()).model_copy(update={"created_at": 1.0})
    for job in (*jobs, old, waiting):
        files.write(job)
    files.remove_old()
    kept = {job.id for job in files.list_jobs().jobs}
    assert kept == {job.id for job in jobs[:KEPT_JOBS]} | {waiting.id}


# --- the command


def winnow_job(store: Path, *arguments: str) -> Any:
    done = CliRunner().invoke(app, [*arguments, "--store", str(store), "--json"])
    return done.exit_code, json.loads(done.stdout)


def test_people_list_show_and_cancel_jobs(store: Path) -> None:
    files = JobFiles(store)
    left, done = new_job(request_of("left")), new_job(request_of("done"))
    files.write(left.model_copy(update={"state": "running", "starts": 1}))
    files.write(done.model_copy(update={"state": "done", "result": DONE, "ended_at": time.time()}))
    (store / FOLDER / f"job_{'f' * 32}.json").write_text("{", "utf-8")
    code, listed = winnow_job(store, "list")
    assert (code, [(row["job_id"], row["state"]) for row in listed["jobs"]]) == (
        0,
        [(left.id, "interrupted"), (done.id, "done")],
    )
    assert listed["damaged"] == [f"job_{'f' * 32}.json"]
    code, damaged = winnow_job(store, "show", "job_ffff")
    assert (code, "cannot be read" in damaged["error"]["message"]) == (4, True)
    assert winnow_job(store, "list", "--project", "secret")[1]["jobs"] == []
    code, shown = winnow_job(store, "show", left.id[:12])
    assert (code, "winnow serve" in shown["note"]) == (0, True)
    assert winnow_job(store, "show", "job_")[0] == 2
    code, cancelled = winnow_job(store, "cancel", left.id)
    assert (code, cancelled["state"], state_of(store, left)) == (0, "cancelled", "cancelled")
    assert winnow_job(store, "cancel", done.id)[1]["state"] == "done"
    text = CliRunner().invoke(app, ["list", "--store", str(store)]).stdout
    assert [line.split()[:2] for line in text.splitlines()[:2]] == [
        [left.id, "cancelled:"],
        [done.id, "done:"],
    ]


def test_a_running_job_is_cancelled_by_its_runner(store: Path, runs: Runs) -> None:
    queue = queue_of(store, runs)
    job = queue.submit(request_of())
    until(lambda: bool(runs.begun))
    code, row = winnow_job(store, "cancel", job.id)
    assert (code, row["state"], row["cancelling"]) == (0, "running", True)
    runs.batches.release(1)
    until(lambda: not queue.is_busy)
    assert state_of(store, job) == "cancelled"


def test_a_store_without_jobs_says_so(tmp_path: Path, files: Path) -> None:
    settings = index_by_words(files / "notes", tmp_path / "plain")
    done = CliRunner().invoke(app, ["list", "--store", str(settings.store)])
    assert (done.exit_code, done.stdout) == (0, "no agent asked for an ingest in the last week\n")
