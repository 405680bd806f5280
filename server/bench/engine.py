"""What sharing an engine costs and bears: real servers over one store, in a copy of it that is thrown away.

Several ``winnow serve`` are talked to over their pipes as a host does it. What is measured: memory of each
process; what the way to the engine adds to a call; searches beside an ingest, and what they waited for writers;
and how soon each server answers again after the engine was killed in the middle of both, and whether anything is
lost that was reported done.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import psutil

import server
from server.app import knowledge_base
from server.backends.catalogue import Catalogue
from server.bench.figures import percentiles
from server.engine.client import EngineKnowledge, query_engine
from server.errors import WinnowError
from server.knowledge import SCRIPT, Caller, Knowledge
from server.opening import catalogue_path, open_backends
from server.settings import MIB, Settings

WARMUP = 20
_PROGRAM = "import sys; sys.argv[0] = 'winnow'; from server.cli import main; main()"
_KEEPER = "server.engine.process"
_RUNTIME = "onnxruntime"
_PAUSE_SECONDS = 0.6  # between two searches of a server: it takes 100 a minute
# Searches of each server before the ingest: at most so many, and one for so many calls behind a figure.
_BEFORE, _CALLS_PER_SEARCH = 20, 20
_ANSWER_SECONDS = 120.0
_LINE_BYTES = 16 * MIB
_KILL_AFTER_SECONDS = 1.0
_SCRIPT = "return [row.id for row in kb.search({query!r})]"
# Of a store, what belongs to the processes that have it open.
_OF_PROCESSES = ("run", "holder", "writer", "engine", "starter", "engine.log*", "audit")

OnProgress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Job:
    """``servers`` at once, ``calls`` behind each figure, ``chunks`` of each ingest, ``kills`` of the engine."""

    servers: int
    calls: int
    chunks: int
    kills: int


@dataclass(frozen=True, slots=True)
class _Call:
    """An operation; ``is_script``: as a script's; ``is_fresh``: no cache knows it."""

    operation: str
    arguments: Mapping[str, Any]
    is_script: bool = False
    is_fresh: bool = False


@dataclass(frozen=True, slots=True)
class _Scene:
    """What plays together: servers that share a store, and a client that writes to it. Files go to ``scratch``."""

    writer: EngineKnowledge
    settings: Settings
    servers: Sequence[_Server]
    job: Job
    questions: Sequence[str]
    scratch: Path
    progress: OnProgress

    async def pages(self, mark: str) -> Path:
        """A folder of new documents, as large as an ingest shall be."""
        folder = self.scratch / mark.replace(" ", "-")
        return await asyncio.to_thread(_pages, self.settings, self.job.chunks, folder, mark)

    async def waits(self) -> dict[str, Any]:
        """How long searches waited for writes so far, as the engine says."""
        told: dict[str, Any] = (await query_engine(self.settings.store, "status") or {}).get("waits", {})
        return told


async def measure(
    settings: Settings, job: Job, questions: Sequence[str], scratch: Path, progress: OnProgress
) -> Any:
    """All figures, over copies of the store of ``settings`` in ``scratch``; ``questions`` are some dozens.

    Raises ``WinnowError`` where a store or an engine does not open.
    """
    shared = await asyncio.to_thread(_copied, settings, scratch / "shared")
    alone = await asyncio.to_thread(_copied, settings, scratch / "alone")
    writer = EngineKnowledge(shared, waits_for_model=True)
    try:
        await writer.load()
        figures: dict[str, Any] = {
            "servers": job.servers,
            "overhead_ms": await _overhead(writer, shared, alone, job, questions, progress),
        }
        async with _servers(shared, job.servers) as servers:
            for each in servers:
                await each.search(questions[0])
                await each.script(questions[0])
            figures |= await _memory(shared, servers)
            scene = _Scene(writer, shared, servers, job, questions, scratch, progress)
            figures["ingest"] = await _beside_an_ingest(scene)
            figures["killed"] = await _killed(scene)
    finally:
        await writer.aclose()
        await _stopped(shared.store)
    figures["killed"]["stores_agree"] = await asyncio.to_thread(_agree, shared)
    return figures


def _copied(settings: Settings, to: Path) -> Settings:
    """Settings for a copy of the store."""
    shutil.copytree(settings.store, to, ignore=shutil.ignore_patterns(*_OF_PROCESSES))
    return settings.model_copy(update={"store": to, "daemon": "on"})


async def _stopped(store: Path) -> None:
    told = await query_engine(store, "stop")
    while told is not None and psutil.pid_exists(told["pid"]):
        await asyncio.sleep(0.05)


# --- what the way adds to a call


async def _overhead(
    through: EngineKnowledge,
    shared: Settings,
    alone: Settings,
    job: Job,
    questions: Sequence[str],
    progress: OnProgress,
) -> dict[str, Any]:
    inside = knowledge_base(alone, wait_for_model=True)
    try:
        await inside.load()
        known = {"query": questions[0]}
        found = await inside.call(
            "semantic_search", {**known, "response_mode": "ids_only"}, inside.caller("bench")
        )
        ids = found.payload.get("ids") or [row["id"] for row in found.payload["results"]]
        calls = {
            "search, ids": _Call("semantic_search", {**known, "response_mode": "ids_only"}),
            "search, metadata": _Call("semantic_search", {**known, "response_mode": "metadata"}),
            "search, previews": _Call("semantic_search", {**known, "response_mode": "preview"}),
            "search that no cache knows": _Call("semantic_search", {"response_mode": "metadata"}, is_fresh=True),
            "SDK call, search": _Call("semantic_search", {**known, "response_mode": "metadata"}, is_script=True),
            "SDK call, fetch": _Call("fetch", {"ids": ids[:3]}, is_script=True),
        }
        engine = _threads_of(await _pid(shared.store))
        rows = {}
        for number, (name, call) in enumerate(calls.items()):
            progress("calls in turns", number, len(calls))
            rows[name] = await _in_turns(inside, through, call, questions, job.calls, engine)
        return rows
    finally:
        await inside.aclose()


async def _in_turns(
    inside: Knowledge, through: Knowledge, call: _Call, questions: Sequence[str], count: int, engine: Path
) -> dict[str, Any]:
    """The same call here and there, each first in turn. The processor's time is that of both processes."""
    wall: dict[bool, list[float]] = {False: [], True: []}
    busy: dict[bool, float] = {False: 0.0, True: 0.0}
    for number in range(count + WARMUP):
        query = {"query": f"{questions[number % len(questions)]} {number}"} if call.is_fresh else {}
        for is_through in (False, True) if number % 2 else (True, False):
            kb = through if is_through else inside
            caller = Caller("bench", SCRIPT, "run") if call.is_script else kb.caller("bench")
            before, began = _processor_ms(engine), time.perf_counter()
            await kb.call(call.operation, {**call.arguments, **query}, caller)
            taken = (time.perf_counter() - began) * 1000
            if number >= WARMUP:
                wall[is_through].append(taken)
                busy[is_through] += _processor_ms(engine) - before
    added = [there - here for here, there in zip(wall[False], wall[True], strict=True)]
    quarter, _, three = quantiles(added, n=4)
    return {
        "in_process": percentiles(wall[False]),
        "through_engine": percentiles(wall[True]),
        "added": {"p50": round(median(added), 3), "p25": round(quarter, 3), "p75": round(three, 3)},
        "added_to_median": round(median(wall[True]) - median(wall[False]), 3),
        "processor_added": round((busy[True] - busy[False]) / count, 3),
    }


def _threads_of(pid: int) -> Path:
    return Path("/proc", str(pid), "task")


def _processor_ms(engine: Path) -> float:
    """What this process and the engine have had of the processors."""
    nanoseconds = 0
    for thread in os.listdir(engine):
        try:
            nanoseconds += int((engine / thread / "schedstat").read_text().split()[0])
        except (OSError, IndexError):  # it has ended since
            continue
    return time.process_time() * 1000 + nanoseconds / 1e6


# --- servers over their pipes


@dataclass(slots=True, eq=False)
class _Server:
    process: asyncio.subprocess.Process
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """One request and its answer; one at a time."""
        number = next(self.numbers)
        self.say({"jsonrpc": "2.0", "id": number, "method": method, "params": dict(params)})
        assert self.process.stdout is not None
        async with asyncio.timeout(_ANSWER_SECONDS):
            while line := await self.process.stdout.readline():
                told = json.loads(line)
                if told.get("id") == number:
                    return dict(told.get("result") or {"isError": True, **told.get("error", {})})
        raise WinnowError("INTERNAL", "a server has ended")

    def say(self, message: Mapping[str, Any]) -> None:
        """Write one line."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    async def search(self, query: str) -> Mapping[str, Any]:
        """What a search found; raises where it failed."""
        return await self._tool("semantic_search", {"query": query, "response_mode": "metadata"})

    async def script(self, query: str) -> Mapping[str, Any]:
        """A script that searches; an error where there is no sandbox is told, not raised."""
        return await self.ask(
            "tools/call", {"name": "execute_code", "arguments": {"code": _SCRIPT.format(query=query)}}
        )

    async def _tool(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        answer = await self.ask("tools/call", {"name": name, "arguments": dict(arguments)})
        if answer.get("isError"):
            raise WinnowError("INTERNAL", json.dumps(answer)[:300])
        structured: Mapping[str, Any] = answer["structuredContent"]
        return structured


@asynccontextmanager
async def _servers(settings: Settings, count: int) -> AsyncIterator[list[_Server]]:
    arguments = ["serve", "--store", str(settings.store), "--project", settings.project, "--daemon"]
    async with AsyncExitStack() as stack:
        servers = []
        for _ in range(count):
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", _PROGRAM, *arguments),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                cwd=Path(server.__file__).parents[1],
                limit=_LINE_BYTES,
            )
            stack.push_async_callback(_ended, process)
            servers.append(_Server(process))
        for each in servers:
            await each.ask(
                "initialize",
                {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {},
                    "clientInfo": {"name": "winnow bench", "version": server.__version__},
                },
            )
            each.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield servers


async def _ended(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    await process.wait()


# --- memory


async def _memory(settings: Settings, servers: Sequence[_Server]) -> dict[str, Any]:
    """Proportional set size of each process, and how many of them have a model's runtime mapped."""
    engine = psutil.Process(await _pid(settings.store))
    parents = [one for one in engine.parents()[:1] if _KEEPER in one.cmdline()]
    ours = [psutil.Process(each.process.pid) for each in servers]
    sandboxes = [one for process in ours for one in process.children(recursive=True)]
    groups = {"servers": ours, "sandboxes": sandboxes, "engine": [engine], "keeper": parents}
    sizes = {name: [_pss_mb(one) for one in some] for name, some in groups.items()}
    with_model = [one.pid for some in groups.values() for one in some if _has_runtime(one.pid)]
    return {
        "pss_mb": {
            "each_server": sizes["servers"],
            "sandboxes": round(sum(sizes["sandboxes"]), 1),
            "engine": sizes["engine"][0],
            "keeper": round(sum(sizes["keeper"]), 1),
            "all": round(sum(sum(some) for some in sizes.values()), 1),
        },
        "processes_with_a_model": len(with_model),
        "only_the_engine_has_it": with_model in ([], [engine.pid]),
    }


# Children that a sandbox keeps ready come and go: one that is gone has nothing.


def _pss_mb(process: psutil.Process) -> float:
    try:
        return round(process.memory_full_info().pss / MIB, 1)
    except psutil.NoSuchProcess:
        return 0.0


def _has_runtime(pid: int) -> bool:
    try:
        return _RUNTIME in Path("/proc", str(pid), "maps").read_text("utf-8", "replace")
    except (FileNotFoundError, ProcessLookupError):
        return False


async def _pid(store: Path) -> int:
    told = await query_engine(store, "status")
    if told is None:
        raise WinnowError("INDEX_UNAVAILABLE", f"no engine runs for {store}; see {store / 'engine.log'}")
    return int(told["pid"])


# --- searches beside an ingest, and a kill


async def _beside_an_ingest(scene: _Scene) -> dict[str, Any]:
    servers, questions = scene.servers, scene.questions
    before, begun = asyncio.Event(), await scene.waits()
    searches = min(_BEFORE, scene.job.calls // _CALLS_PER_SEARCH)
    asyncio.get_running_loop().call_later(searches * _PAUSE_SECONDS, before.set)
    scene.progress("searches alone", 0, 2)
    quiet = await _searched(servers, questions, before)
    scene.progress("searches beside an ingest", 1, 2)
    pages, done = await scene.pages("first"), asyncio.Event()
    searching = asyncio.create_task(_searched(servers, questions[::-1], done))
    began = time.perf_counter()
    try:
        report = await scene.writer.ingest([pages], {}, lambda told: None)
    finally:
        done.set()
    seconds = time.perf_counter() - began
    return {
        "chunks": report["chunks"],
        "seconds": round(seconds, 1),
        "chunks_per_s": round(report["chunks"] / seconds, 1),
        "searches_alone": quiet,
        "searches_beside": await searching,
        "lock_waits": await scene.waits(),
        "lock_waits_before": begun,
    }


async def _searched(servers: Sequence[_Server], questions: Sequence[str], done: asyncio.Event) -> dict[str, Any]:
    """Each server searches, with pauses, until it is done: how long each search took, and what failed."""
    times: list[float] = []
    errors: list[str] = []

    async def client(number: int, each: _Server) -> None:
        for query in itertools.cycle(questions[number :: len(servers)]):
            began = time.perf_counter()
            try:
                await each.search(f"{query} {len(times)}")
                times.append((time.perf_counter() - began) * 1000)
            except (WinnowError, TimeoutError) as error:
                errors.append(str(error))
            if done.is_set():
                return
            await asyncio.sleep(_PAUSE_SECONDS)

    await asyncio.gather(*(client(number, each) for number, each in enumerate(servers)))
    return {
        "searches": len(times),
        "errors": len(errors),
        "first_error": errors[0] if errors else None,
        "ms": {**percentiles(times), "longest": round(max(times), 1)} if len(times) > 1 else {},
    }


async def _killed(scene: _Scene) -> dict[str, Any]:
    """The engine is killed in the middle of an ingest, while every server searches; then it is run again."""
    rows = []
    for number in range(scene.job.kills):
        scene.progress("kill -9 of the engine", number, scene.job.kills)
        rows.append(await _one_kill(scene, await scene.pages(f"kill {number}")))
    seconds = [one for row in rows for one in row["seconds_to_an_answer"]]
    return {"kills": rows, "slowest_s": max(seconds, default=None), "lost": sum(row["lost"] for row in rows)}


async def _one_kill(scene: _Scene, pages: Path) -> dict[str, Any]:
    writer, settings, questions = scene.writer, scene.settings, scene.questions
    said: list[int] = []
    known = await asyncio.to_thread(_documents, settings)
    ingest = asyncio.create_task(writer.ingest([pages], {}, lambda told: said.append(told["documents"])))
    while not said and not ingest.done():
        await asyncio.sleep(0.01)
    await asyncio.sleep(_KILL_AFTER_SECONDS)
    under_way = [asyncio.create_task(each.search(questions[-1])) for each in scene.servers]
    os.kill(await _pid(settings.store), signal.SIGKILL)
    reported, began = (said or [0])[-1], time.perf_counter()

    async def answered(each: _Server, before: asyncio.Task[Any], query: str) -> tuple[float, str, int]:
        """Seconds until it answers a question that was asked after the kill, how, and errors until then."""
        errors = int(isinstance((await asyncio.gather(before, return_exceptions=True))[0], BaseException))
        while True:
            try:
                told = await each.search(query)
            except WinnowError:
                if time.perf_counter() - began > _ANSWER_SECONDS:
                    raise
                errors += 1
                continue
            return round(time.perf_counter() - began, 2), str(told["search_mode"]), errors

    answers = await asyncio.gather(
        *(
            answered(each, task, f"{questions[0]} again")
            for each, task in zip(scene.servers, under_way, strict=True)
        )
    )
    broken_off = isinstance((await asyncio.gather(ingest, return_exceptions=True))[0], WinnowError)
    kept = await asyncio.to_thread(_documents, settings)
    again = await writer.ingest([pages], {}, lambda told: None)
    whole = await asyncio.to_thread(_documents, settings)
    return {
        "seconds_to_an_answer": [seconds for seconds, _, _ in answers],
        "answered": sorted({mode for _, mode, _ in answers}),
        "errors": sum(errors for _, _, errors in answers),
        "ingest_was_broken_off": broken_off,
        "documents_reported": reported,
        "documents_there": len(kept - known),
        "lost": max(0, reported - len(kept - known)) + len(kept - whole) + len(known - whole),
        "chunks_written_again": again["chunks"],
    }


def _documents(settings: Settings) -> set[str]:
    with closing(Catalogue(catalogue_path(settings))) as catalogue:
        return {one.id for one in catalogue.documents(settings.project)}


def _agree(settings: Settings) -> bool:
    """Whether index and catalogue hold the same chunks, once nobody has the store."""
    backends = open_backends(settings, wait_for_model=False)
    try:
        ids = sorted(backends.store.ids(settings.project))
        return ids == backends.catalogue.chunk_ids(settings.project)
    finally:
        backends.close()


def _pages(settings: Settings, chunks: int, folder: Path, mark: str) -> Path:
    """Texts of the store itself as new documents, about so many chunks of them."""
    folder.mkdir()
    written = 0
    with closing(Catalogue(catalogue_path(settings))) as catalogue:
        documents = [one for one in catalogue.documents(settings.project) if one.type == "markdown"]
        for number, document in enumerate(documents or catalogue.documents(settings.project)):
            text = catalogue.text(document.id, settings.project) or ""
            (folder / f"{folder.name}-{number:05}.md").write_text(
                f"# {document.title}, {mark}\n\n{text}", "utf-8", "replace"
            )
            written += len(catalogue.chunks(document.id, settings.project))
            if written >= chunks:
                break
    return folder
