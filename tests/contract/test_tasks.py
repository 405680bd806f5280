"""Tasks as a client gets them: handles of calls that take long and of ingests, their states and results."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client, ClientSession
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim, advertise
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolResult,
    Request,
    RequestParams,
    Result,
)

from winnow.server.backends.opening import open_backends
from winnow.server.commands.entry.app import open_application
from winnow.server.jobs.job_files import JobFiles
from winnow.server.runtime.draining import Drain
from winnow.server.runtime.sessions.identities import key_name, proven_name, unproven_name
from winnow.server.settings.loading import load_settings
from winnow.server.settings.project_settings import ProjectSettings
from winnow.server.settings.settings import Settings
from winnow.server.storage.files.lock import WRITER, StoreLock
from winnow.server.tools import research
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.extensions import long_calls
from winnow.server.transports.extensions.long_calls import LongCalls, Progress
from winnow.server.transports.protocol import build_server

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="programs run behind walls of Linux"),
]

EXTENSION = "io.modelcontextprotocol/tasks"
METHODS = ("tasks/get", "tasks/update", "tasks/cancel")
# It answers once the file is there that the test writes.
SCRIPT = """\
import json, os, sys, time
given = json.loads(sys.stdin.readline())["input"]
while not os.path.exists(os.path.join(os.path.dirname(os.path.abspath(__file__)), given["file"])):
    time.sleep(0.02)
print(json.dumps({"said": given["file"]}))
"""
FILE = {"type": "object", "properties": {"file": {"type": "string"}}, "required": ["file"]}
PACK = {
    "id": "test.wait",
    "version": "1.0.0",
    "title": "Wait",
    "description": "Waits for a file.",
    "hints": {"readOnly": True},
    "inputSchema": {**FILE, "additionalProperties": False},
    "outputSchema": {"type": "object", "properties": {"said": {"type": "string"}}, "required": ["said"]},
    "execution": {"kind": "python", "script": "./wait.py"},
}


class AnyResult(Result):
    """A result with whatever the server sent."""

    model_config = Result.model_config | {"extra": "allow"}


class TaskHandle(AnyResult):
    """The handle of a task."""

    result_type: Literal["task"] = "task"


class TaskParams(RequestParams):
    """The parameters of the extension's methods."""

    task_id: str
    input_responses: dict[str, Any] | None = None


class Polling(ClientExtension):
    """A client of the extension: it keeps the handles, and asks for each until its task has ended."""

    identifier = EXTENSION

    def __init__(self) -> None:
        self.handles: list[dict[str, Any]] = []

    def claims(self) -> list[ResultClaim[TaskHandle]]:
        return [ResultClaim(result_type="task", model=TaskHandle, resolve=self._resolve)]

    async def _resolve(self, handle: TaskHandle, context: ClaimContext) -> CallToolResult:
        self.handles.append(handle.model_dump(by_alias=True, mode="json", exclude_none=True))
        while (task := await send(context.session, "tasks/get", self.task_id))["status"] == "working":
            await asyncio.sleep(0.2)
        if task["status"] == "cancelled":
            raise asyncio.CancelledError
        return CallToolResult.model_validate(task["result"])

    @property
    def task_id(self) -> str:
        """The id of the last task."""
        return str(self.handles[-1]["taskId"])

    async def first_handle(self) -> dict[str, Any]:
        """The handle, once there is one."""
        while not self.handles:
            await asyncio.sleep(0.02)
        return self.handles[-1]


async def send(session: ClientSession, method: str, task_id: str, **params: Any) -> dict[str, Any]:
    request = Request(method=method, params=TaskParams(task_id=task_id, **params))
    result = await session.send_request(request, AnyResult)
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


@pytest.fixture(scope="module")
def pack() -> Iterator[Path]:
    """A folder of the operator that the walls' user can read, too."""
    folder = Path(tempfile.mkdtemp(prefix="winnow-packs-"))
    folder.chmod(0o755)
    (folder / "wait").mkdir(mode=0o755)
    (folder / "wait" / "wait.py").write_text(SCRIPT)
    (folder / "wait" / "wait.tool.yaml").write_text(json.dumps(PACK))
    hangs = {**PACK, "id": "test.hang", "timeoutMs": 1_000}
    (folder / "wait" / "hang.tool.yaml").write_text(json.dumps(hangs))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with an empty project."""
    folder = tmp_path_factory.mktemp("template") / "store"
    opened = open_backends(load_settings(store=folder, embedding="off", graph="off"), wait_for_model=False)
    with closing(opened):
        opened.catalogue.save_project_settings("birds", ProjectSettings())
    return folder


@pytest.fixture
def settings(template: Path, pack: Path, tmp_path: Path) -> Settings:
    files = tmp_path / "files"
    files.mkdir()
    (files / "heron.md").write_text("# Heron\n\nThe heron wades in the marsh.\n", "utf-8")
    return load_settings(
        store=shutil.copytree(template, tmp_path / "store"),
        project="birds",
        embedding="off",
        graph="off",
        tool_packs=(pack,),
        execute_code="off",
        tools=("core", "research"),
        enable_writes=True,
        ingest_roots=(files,),
        daemon="off",
    )


# What is quick is so on a busy machine, too.
_LONGEST = 60.0


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls become tasks soon."""
    monkeypatch.setattr(long_calls, "HAND_OVER_SECONDS", 0.3)


@asynccontextmanager
async def connect(settings: Settings, *extensions: ClientExtension, era: str = "auto") -> AsyncIterator[Client]:
    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(
            open_application(settings, wait_for_model=False, starts_engine=True)
        )
        server = build_server(Dispatcher(opened.context, settings), opened)
        yield await stack.enter_async_context(Client(server, mode=era, extensions=list(extensions)))


async def ended(client: Client, task_id: str) -> dict[str, Any]:
    """The task once it has ended."""
    while (task := await send(client.session, "tasks/get", task_id))["status"] == "working":
        await asyncio.sleep(0.2)
    return task


def ingest_of(settings: Settings) -> Mapping[str, Any]:
    return {"project": "birds", "source": str(settings.ingest_roots[0])}


async def test_a_call_that_takes_long_is_a_task_with_the_result_of_the_call(
    settings: Settings, pack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    polling = Polling()
    async with connect(settings, polling) as client:
        assert (client.server_capabilities.extensions or {})[EXTENSION] == {}
        calling = asyncio.create_task(client.call_tool("test_wait", {"file": "first"}))
        handle = await polling.first_handle()
        assert (handle["status"], handle["pollIntervalMs"], handle["ttlMs"]) == ("working", 1_000, 900_000)
        working = await send(client.session, "tasks/get", handle["taskId"])
        assert (working["status"], working["resultType"], "result" in working) == ("working", "complete", False)
        update = await send(client.session, "tasks/update", handle["taskId"], input_responses={"x": {}})
        assert update == {"resultType": "complete", "_meta": working["_meta"]}
        (pack / "wait" / "first").touch()
        answer = await calling
        assert answer.structured_content is not None
        assert answer.structured_content["data"] == {"said": "first"}
        task = await ended(client, handle["taskId"])
        assert (task["status"], task["result"]["structuredContent"]) == ("completed", answer.structured_content)
        monkeypatch.setattr(long_calls, "HAND_OVER_SECONDS", _LONGEST)
        quick = await client.call_tool("test_wait", {"file": "first"})
        assert quick.structured_content is not None
        assert (quick.structured_content["data"], len(polling.handles)) == ({"said": "first"}, 1)


async def test_a_cancelled_task_ends(settings: Settings) -> None:
    polling = Polling()
    async with connect(settings, polling) as client:
        calling = asyncio.create_task(client.call_tool("test_wait", {"file": "never"}))
        handle = await polling.first_handle()
        await send(client.session, "tasks/cancel", handle["taskId"])
        task = await ended(client, handle["taskId"])
        assert (task["status"], "result" in task) == ("cancelled", False)
        with suppress(asyncio.CancelledError):
            await calling


async def test_an_error_of_a_call_is_the_result_of_its_task(settings: Settings) -> None:
    polling = Polling()
    async with connect(settings, polling) as client:
        answer = await client.call_tool("test_hang", {"file": "never"})
        assert answer.structured_content is not None
        assert (len(polling.handles), answer.is_error) == (1, True)
        assert answer.structured_content["error"]["details"]["reason"] == "TIMEOUT"
        assert (await ended(client, polling.task_id))["status"] == "completed"


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_a_client_that_declares_no_tasks_waits_for_its_answers(
    settings: Settings, pack: Path, era: str
) -> None:
    async with connect(settings, era=era) as client:
        waiting = asyncio.create_task(client.call_tool("test_wait", {"file": f"for {era}"}))
        await asyncio.sleep(0.6)
        assert not waiting.done()
        (pack / "wait" / f"for {era}").touch()
        answer = await waiting
        assert answer.structured_content is not None
        assert answer.structured_content["data"] == {"said": f"for {era}"}


async def test_a_request_that_declares_no_tasks_is_told_what_it_lacks(settings: Settings) -> None:
    async with connect(settings) as client:
        for method in METHODS:
            with pytest.raises(MCPError) as refused:
                await send(client.session, method, "call_1", input_responses={})
            assert refused.value.code == MISSING_REQUIRED_CLIENT_CAPABILITY
            assert refused.value.data == {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}


async def test_a_task_that_is_not_there_is_an_invalid_parameter(settings: Settings) -> None:
    ids = ("", "call_0", f"job_{'0' * 32}", "../../etc/passwd", "\x00", "x" * 100_000)
    async with connect(settings, advertise(EXTENSION)) as client:
        for method in METHODS:
            for task_id in ids:
                with pytest.raises(MCPError) as refused:
                    await send(client.session, method, task_id, input_responses={})
                assert refused.value.code == INVALID_PARAMS
                assert "there is no such task" in refused.value.message


async def test_an_ingest_is_a_task_that_outlives_its_server(settings: Settings) -> None:
    polling = Polling()
    lock = StoreLock(settings.store, WRITER)
    async with connect(settings, polling) as client:
        calling = asyncio.create_task(client.call_tool("ingest_from_source", dict(ingest_of(settings))))
        handle = await polling.first_handle()
        assert (handle["status"], handle["taskId"][:4]) == ("working", "job_")
        working = await send(client.session, "tasks/get", handle["taskId"])
        assert (working["status"], working.get("ttlMs")) == ("working", None)
        assert working["statusMessage"] == "0 documents, 0 passages are in the index"
        assert handle["createdAt"] < working["lastUpdatedAt"]
        calling.cancel()
        with suppress(asyncio.CancelledError):
            await calling
    lock.release()
    async with connect(settings, advertise(EXTENSION)) as client:
        task = await ended(client, handle["taskId"])
        result = CallToolResult.model_validate(task["result"])
        assert (task["status"], task["createdAt"], result.is_error) == ("completed", handle["createdAt"], False)
        assert task["statusMessage"].startswith("1 document processed, 1 passage written")
        assert 0 < task["ttlMs"] - 7 * 86_400_000 < 600_000
        assert result.structured_content is not None
        assert (result.structured_content["state"], result.structured_content["documents_processed"]) == (
            "done",
            1,
        )


async def test_a_small_ingest_needs_no_task_and_a_cancelled_one_says_so(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    polling = Polling()
    async with connect(settings, polling) as client:
        with monkeypatch.context() as patient:
            patient.setattr(long_calls, "HAND_OVER_SECONDS", _LONGEST)
            patient.setattr(research, "_BEGIN_SECONDS", _LONGEST)
            done = await client.call_tool("ingest_from_source", dict(ingest_of(settings)))
        assert done.structured_content is not None
        assert (done.structured_content["state"], polling.handles) == ("done", [])
        (settings.ingest_roots[0] / "egret.md").write_text("# Egret\n\nAn egret.\n", "utf-8")
        lock = StoreLock(settings.store, WRITER)
        try:
            calling = asyncio.create_task(client.call_tool("ingest_from_source", dict(ingest_of(settings))))
            handle = await polling.first_handle()
            await send(client.session, "tasks/cancel", handle["taskId"])
        finally:
            lock.release()
        task = await ended(client, handle["taskId"])
        assert (task["status"], "result" in task) == ("cancelled", False)
        with suppress(asyncio.CancelledError):
            await calling


async def test_the_end_of_a_server_waits_for_tasks_and_ends_those_that_do_not(
    settings: Settings, pack: Path, caplog: pytest.LogCaptureFixture
) -> None:
    polling = Polling()
    caplog.set_level("INFO", "winnow")
    async with (
        open_application(settings, wait_for_model=False, starts_engine=True) as opened,
        Client(build_server(Dispatcher(opened.context, settings), opened), extensions=[polling]) as client,
    ):
        for file in ("at the end", "never"):
            calling = asyncio.create_task(client.call_tool("test_wait", {"file": file}))
            await polling.first_handle()
            calling.cancel()
            with suppress(asyncio.CancelledError):
                await calling
            handles, polling.handles = polling.handles, []
            if file == "at the end":
                finishing = asyncio.create_task(opened.drain.finish(60.0))
                await asyncio.sleep(0.2)
                assert not finishing.done()
                (pack / "wait" / file).touch()
                assert await finishing
                task = await send(client.session, "tasks/get", handles[-1]["taskId"])
                assert task["result"]["structuredContent"]["data"] == {"said": file}
        assert not await opened.drain.finish(0.1)
    ends = [record.__dict__["fields"]["verdict"] for record in caplog.records if record.getMessage() == "call"]
    assert (ends, opened.drain.in_progress) == (["ok", "cancelled"], 0)


async def test_a_refusal_to_ask_for_an_ingest_is_not_its_result(settings: Settings) -> None:
    polling = Polling()
    # One call asks for the ingest; to ask for its task once it has ended takes two.
    settings = settings.model_copy(update={"calls_per_minute": 2})
    lock = StoreLock(settings.store, WRITER)
    async with connect(settings, polling) as client:
        calling = asyncio.create_task(client.call_tool("ingest_from_source", dict(ingest_of(settings))))
        handle = await polling.first_handle()
        calling.cancel()
        with suppress(asyncio.CancelledError):
            await calling
        lock.release()
        while (state := JobFiles(settings.store).read(handle["taskId"])) is None or not state.is_final:
            await asyncio.sleep(0.05)
        for _ in range(2):
            with pytest.raises(MCPError) as refused:
                await send(client.session, "tasks/get", handle["taskId"])
            details = (refused.value.data or {})["details"]
            assert (refused.value.code, details["reason"]) == (INTERNAL_ERROR, "RATE_LIMIT")
            assert (details["retryable"], details["retry_after_s"] > 0) == (True, True)


async def test_a_task_ends_with_the_key_of_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_calls, "_CHECK_SECONDS", 0.05)
    drain, is_active = Drain(), True
    calls = LongCalls(drain)

    async def begin(report: Progress) -> CallToolResult:
        return await asyncio.get_running_loop().create_future()

    async def ignore(seconds: float, message: str) -> None:
        """Ignore progress."""

    key = key_name("a1", [], is_read_only=False, calls_per_minute=None)
    handle = await calls.answer(key, begin, ignore, lambda: is_active)
    assert isinstance(handle, dict)
    await asyncio.sleep(0.2)
    assert (calls.find(key, handle["taskId"]) or {})["status"] == "working"
    is_active = False
    assert await drain.finish(10.0)
    assert (calls.find(key, handle["taskId"]) or {})["status"] == "cancelled"


async def test_a_task_belongs_to_the_client_that_has_its_handle() -> None:
    calls, end = LongCalls(Drain()), asyncio.Event()

    async def begin(report: Progress) -> CallToolResult:
        await report(1.0, "half of it")
        await end.wait()
        return CallToolResult(content=[])

    async def ignore(seconds: float, message: str) -> None:
        """Ignore progress."""

    key, other = (key_name(name, [], is_read_only=False, calls_per_minute=None) for name in ("a1", "b2"))
    readers = {
        "a pipe": ("pipe", "pipe 2"),
        "a key": (key, other),
        "a token": (proven_name("a"), proven_name("b")),
    }
    for owner, stranger in readers.values():
        handle = await calls.answer(owner, begin, ignore, lambda: True)
        assert isinstance(handle, dict)
        assert handle["statusMessage"] == "half of it"
        assert calls.find(owner, handle["taskId"]) is not None
        assert (calls.find(stranger, handle["taskId"]), calls.cancel(stranger, handle["taskId"])) == (None, False)
    # A client that returned no token has no name of its own yet: the id alone is what it has.
    handle = await calls.answer(unproven_name("c"), begin, ignore, lambda: True)
    assert isinstance(handle, dict)
    assert calls.find(unproven_name("d"), handle["taskId"]) is not None
    end.set()
