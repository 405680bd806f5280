"""Jobs over MCP: an agent asks real servers, which are killed meanwhile, and so is their engine."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from mcp import Client, StdioServerParameters

from tests.patience import LIMIT, until
from winnow.server.backends.opening import open_backends
from winnow.server.engine import endpoint
from winnow.server.engine.client import query_engine
from winnow.server.jobs.job_files import JobFiles
from winnow.server.settings.loading import load_settings
from winnow.server.settings.project_settings import ProjectSettings
from winnow.server.storage.files.lock import ENGINE, HOLDER, find_holder

ROOT = Path(__file__).parents[2]
FILES, WORDS = 200, 600
WINNOW = [sys.executable, "-c", "import winnow.server.commands.entry.cli; winnow.server.commands.entry.cli.main()"]
PROJECT = "library"

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.real_starts,  # servers are found by their command lines
    pytest.mark.skipif(not endpoint.is_supported(), reason="engines are not shared on this system"),
]


def write_files(folder: Path, word: str, count: int = FILES) -> None:
    """So many documents with this word; each has some passages."""
    folder.mkdir()
    for number in range(count):
        body = " ".join(f"{word}{number} marsh{(number * step) % 997} reed" for step in range(WORDS // 3))
        (folder / f"{number:03}.md").write_text(f"# {word} {number}\n\n{body}\n", "utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that agents may have ingested."""
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    write_files(allowed / "herons", "heron")
    write_files(allowed / "egrets", "egret", 20)
    return allowed


@pytest.fixture
def store(tmp_path: Path) -> Path:
    made = tmp_path / "store"
    opened = open_backends(load_settings(store=made, embedding="off", graph="off"), wait_for_model=False)
    try:
        opened.catalogue.save_project_settings(PROJECT, ProjectSettings())
    finally:
        opened.close()
    return made


def parameters(store: Path, folder: Path, daemon: str) -> StdioServerParameters:
    arguments = ["serve", "--store", str(store), "--project", PROJECT, "--no-execute-code", "--tools", "research"]
    arguments += ["--enable-writes", "--ingest-roots", str(folder), "--graph", "off"]
    environment = {**os.environ, "WINNOW_DAEMON": daemon, "WINNOW_EMBEDDING": "off"}
    return StdioServerParameters(command=WINNOW[0], args=[*WINNOW[1:], *arguments], env=environment, cwd=ROOT)


@asynccontextmanager
async def agent(store: Path, folder: Path, daemon: str = "on") -> AsyncIterator[Client]:
    async with Client(parameters(store, folder, daemon)) as client:
        yield client


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = await client.call_tool(tool, arguments)
    assert answer.structured_content is not None
    assert not answer.is_error, answer.structured_content["error"]
    return answer.structured_content


async def begun(client: Client, store: Path, source: str) -> tuple[asyncio.Task[dict[str, Any]], str]:
    """The call that asks for an ingest and waits for its end, and the job's id once something is written."""
    call = asyncio.create_task(ask(client, "ingest_from_source", project=PROJECT, source=source))
    while True:
        jobs = [job for job in JobFiles(store).list_jobs().jobs if job.request.source.endswith(source)]
        if jobs and jobs[0].progress.documents:
            return call, jobs[0].id
        assert not call.done(), "the job ended before it was seen"
        await asyncio.sleep(0.01)


async def ended(client: Client, job_id: str) -> dict[str, Any]:
    until_ = time.monotonic() + LIMIT
    while True:
        job = await ask(client, "job_status", job_id=job_id, wait_seconds=15)
        if job["state"] not in ("queued", "running"):
            return job
        assert time.monotonic() < until_


def server_of(store: Path) -> psutil.Process:
    """The server process of this store that this test started."""
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "serve" in child.cmdline() and str(store) in child.cmdline():
                return child
    raise AssertionError("there is no server")


async def end_engine(store: Path) -> None:
    await query_engine(store, "stop")
    until(lambda: find_holder(store, ENGINE) is None and find_holder(store, HOLDER) is None)


async def test_an_agent_asks_polls_searches_and_cancels_while_it_runs(store: Path, folder: Path) -> None:
    async with agent(store, folder) as client:
        names = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        hints = {
            name: (names[name].read_only_hint, names[name].destructive_hint, names[name].idempotent_hint)
            for name in ("ingest_from_source", "job_status", "job_cancel")
        }
        assert hints == {
            "ingest_from_source": (False, True, True),
            "job_status": (True, False, True),
            "job_cancel": (False, False, True),
        }
        call, job_id = await begun(client, store, "herons")
        other = asyncio.create_task(ask(client, "ingest_from_source", project=PROJECT, source="egrets"))
        found = await ask(client, "kb_search", query="heron1 reed")
        assert found["results"]
        status = await ask(client, "job_status", job_id=job_id, wait_seconds=0)
        assert (status["project"], status["progress"]["documents_total"]) == (PROJECT, FILES)
        until(lambda: any(job.request.source.endswith("egrets") for job in JobFiles(store).list_jobs().jobs))
        (waiting,) = (job for job in JobFiles(store).list_jobs().jobs if job.request.source.endswith("egrets"))
        cancelled = await ask(client, "job_cancel", job_id=waiting.id)
        assert cancelled["state"] in ("queued", "cancelled")
        assert (await other)["state"] in ("queued", "cancelled")
        await call
        job = await ended(client, job_id)
        assert (job["state"], job["documents_processed"], job["project"]) == ("done", FILES, PROJECT)
        assert (await ended(client, waiting.id))["state"] == "cancelled"
    await end_engine(store)


async def test_a_job_goes_on_when_its_server_is_killed(store: Path, folder: Path) -> None:
    async with agent(store, folder) as client:
        call, job_id = await begun(client, store, "herons")
        server_of(store).send_signal(signal.SIGKILL)
        with suppress(BaseException):
            await asyncio.wait_for(call, 30)
    async with agent(store, folder) as client:
        job = await ended(client, job_id)
        assert (job["state"], job["documents_processed"]) == ("done", FILES)
    await end_engine(store)


async def test_a_job_goes_on_when_the_engine_is_killed(store: Path, folder: Path) -> None:
    async with agent(store, folder) as client:
        call, job_id = await begun(client, store, "herons")
        former = find_holder(store, ENGINE)
        assert former is not None
        os.kill(former.pid, signal.SIGKILL)
        with suppress(AssertionError):  # the call may be told that the engine went away
            await call
        job = await ended(client, job_id)
        assert (job["state"], job["documents_processed"]) == ("done", FILES)
        assert len((await ask(client, "kb_documents", limit=FILES))["results"]) == FILES
    await end_engine(store)


async def test_a_job_of_a_server_that_works_alone_goes_on_with_the_next_one(store: Path, folder: Path) -> None:
    async with agent(store, folder, "off") as client:
        call, job_id = await begun(client, store, "herons")
        server_of(store).send_signal(signal.SIGKILL)
        with suppress(BaseException):
            await asyncio.wait_for(call, 30)
    until(lambda: find_holder(store, HOLDER) is None)
    command = [*WINNOW, "job", "show", job_id, "--store", str(store), "--json"]
    shown = await asyncio.to_thread(subprocess.run, command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert '"state": "interrupted"' in shown.stdout
    async with agent(store, folder, "off") as client:
        job = await ended(client, job_id)
        assert (job["state"], job["documents_processed"]) == ("done", FILES)
