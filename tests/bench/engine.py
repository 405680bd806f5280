"""Several servers that share one engine: memory, overhead of a call, searches during an ingest, kill -9.

    python -m tests.bench.engine --servers 4 --json

Real servers run over their pipes, as a host starts them, on copies of a store that are deleted afterwards. It
measures memory of each process; what the way to the engine adds to a call; searches during an ingest, and how long
they waited for writers; how soon each server answers again after the engine was killed in the middle of both, and
whether a document is lost that was reported as written.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Annotated, Any

import psutil
import typer
from rich.table import Table

from tests.bench.command_line import command_line
from tests.bench.engine_faults import Job, Scene, check_stores, measure_ingest, measure_kills
from tests.bench.engine_servers import engine_pid, measure_memory, run_servers
from winnow.server.backends.opening import open_backends
from winnow.server.commands.benchmarks.figures import percentiles
from winnow.server.commands.benchmarks.questions import WARMUP, pick_questions
from winnow.server.commands.entry.knowledge import make_knowledge_base
from winnow.server.commands.terminal.output import Json, ProjectOption, StoreOption, print_json, report_errors
from winnow.server.commands.terminal.progress import OnStep, show_steps
from winnow.server.commands.terminal.screen import Screen
from winnow.server.engine.client import EngineKnowledge, query_engine
from winnow.server.errors import WinnowError
from winnow.server.operations.knowledge import SCRIPT, Caller, Knowledge
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

EXAMPLES = (
    "Examples: python -m tests.bench.engine --project notes | "
    "python -m tests.bench.engine --store ~/notes --servers 4 --json"
)
_QUESTIONS = 64
# Parts of a store that belong to the processes that have it open.
_OF_PROCESSES = ("run", "holder", "writer", "engine", "starter", "engine.log*", "audit")


def run(
    servers: Annotated[int, typer.Option("--servers", min=1, max=16, help="servers at once")] = 4,
    calls: Annotated[int, typer.Option("--calls", min=20, max=10_000, help="calls behind each figure")] = 400,
    chunks: Annotated[int, typer.Option("--chunks", min=20, max=100_000, help="chunks of each ingest")] = 600,
    kills: Annotated[int, typer.Option("--kills", min=0, max=10, help="how often the engine is killed")] = 2,
    project: ProjectOption = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Several servers on one store: memory, what the engine adds to a call, searches beside an ingest, kill -9.

    Works in two copies of the store, in a temporary folder; the store itself is only read.
    """
    with report_errors(as_json=as_json):
        settings = load_settings(store=store, project=project)
        with tempfile.TemporaryDirectory(prefix="winnow-bench-") as scratch, show_steps() as progress:
            job = Job(servers, calls, chunks, kills)
            figures = asyncio.run(measure(settings, job, _pick_questions(settings), Path(scratch), progress))
    if as_json:
        print_json(figures)
    else:
        show_figures(figures)


def _pick_questions(settings: Settings) -> list[str]:
    backends = open_backends(settings, wait_for_model=False)
    try:
        found = pick_questions(backends, settings.project, _QUESTIONS)
    finally:
        backends.close()
    if len(found) <= WARMUP:
        raise WinnowError("INVALID_REQUEST", f"project {settings.project!r} has too few headings to ask about")
    return found


@dataclass(frozen=True, slots=True)
class _Call:
    """An operation. ``is_script``: called as by a script; ``is_fresh``: never answered from a cache."""

    operation: str
    arguments: Mapping[str, Any]
    is_script: bool = False
    is_fresh: bool = False


async def measure(settings: Settings, job: Job, questions: Sequence[str], scratch: Path, progress: OnStep) -> Any:
    """All figures, over copies of the store of ``settings`` in ``scratch``, with some dozens of ``questions``.

    Raises ``WinnowError`` where a store or an engine does not open.
    """
    shared = await asyncio.to_thread(_copy_store, settings, scratch / "shared")
    alone = await asyncio.to_thread(_copy_store, settings, scratch / "alone")
    writer = EngineKnowledge(shared, waits_for_model=True)
    try:
        await writer.load()
        figures: dict[str, Any] = {
            "servers": job.servers,
            "overhead_ms": await _measure_overhead(writer, shared, alone, job, questions, progress),
        }
        async with run_servers(shared, job.servers) as servers:
            for each in servers:
                await each.search(questions[0])
                await each.script(questions[0])
            figures |= await measure_memory(shared, servers)
            scene = Scene(writer, shared, servers, job, questions, scratch, progress)
            figures["ingest"] = await measure_ingest(scene)
            figures["killed"] = await measure_kills(scene)
    finally:
        await writer.aclose()
        await _stop_engine(shared.store)
    figures["killed"]["stores_agree"] = await asyncio.to_thread(check_stores, shared)
    return figures


def _copy_store(settings: Settings, to: Path) -> Settings:
    """Settings for a copy of the store."""
    shutil.copytree(settings.store, to, ignore=shutil.ignore_patterns(*_OF_PROCESSES))
    return settings.model_copy(update={"store": to, "daemon": "on"})


async def _stop_engine(store: Path) -> None:
    status = await query_engine(store, "stop")
    while status is not None and psutil.pid_exists(status["pid"]):
        await asyncio.sleep(0.05)


async def _measure_overhead(
    through: EngineKnowledge,
    shared: Settings,
    alone: Settings,
    job: Job,
    questions: Sequence[str],
    progress: OnStep,
) -> dict[str, Any]:
    inside = make_knowledge_base(alone, wait_for_model=True)
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
        engine = _threads_of(await engine_pid(shared.store))
        rows = {}
        for number, (name, call) in enumerate(calls.items()):
            progress("calls in turns", number, len(calls))
            rows[name] = await _measure_in_turns(inside, through, call, questions, job.calls, engine)
        return rows
    finally:
        await inside.aclose()


async def _measure_in_turns(
    inside: Knowledge, through: Knowledge, call: _Call, questions: Sequence[str], count: int, engine: Path
) -> dict[str, Any]:
    """The same call in process and through the engine, alternating. Processor time is that of both processes."""
    wall: dict[bool, list[float]] = {False: [], True: []}
    busy: dict[bool, float] = {False: 0.0, True: 0.0}
    for number in range(count + WARMUP):
        query = {"query": f"{questions[number % len(questions)]} {number}"} if call.is_fresh else {}
        for is_through in (False, True) if number % 2 else (True, False):
            kb = through if is_through else inside
            caller = Caller("bench", SCRIPT, "run") if call.is_script else kb.caller("bench")
            before, began = _processor_ms_of(engine), time.perf_counter()
            await kb.call(call.operation, {**call.arguments, **query}, caller)
            taken = (time.perf_counter() - began) * 1000
            if number >= WARMUP:
                wall[is_through].append(taken)
                busy[is_through] += _processor_ms_of(engine) - before
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


def _processor_ms_of(engine: Path) -> float:
    """Processor time of this process and of the engine so far."""
    nanoseconds = 0
    for thread in os.listdir(engine):
        try:
            nanoseconds += int((engine / thread / "schedstat").read_text().split()[0])
        except (OSError, IndexError):  # the thread has ended
            continue
    return time.process_time() * 1000 + nanoseconds / 1e6


def show_figures(figures: Mapping[str, Any]) -> None:
    """Print tables for people."""
    console = Screen(highlight=False)
    table = Table("call", "in process", "through the engine", "added", "processor added", title="warm, in turns")
    for name, row in figures["overhead_ms"].items():
        cells = (
            row["in_process"]["p50"],
            row["through_engine"]["p50"],
            row["added"]["p50"],
            row["processor_added"],
        )
        table.add_row(name, *(f"{one:.2f} ms" for one in cells))
    console.print(table)
    sizes = figures["pss_mb"]
    each = ", ".join(f"{one:.0f}" for one in sizes["each_server"])
    console.print(
        f"PSS in MB: servers {each}; engine {sizes['engine']:.0f}, its keeper {sizes['keeper']:.0f}, sandboxes "
        f"{sizes['sandboxes']:.0f}; {figures['processes_with_a_model']} of the processes with a model"
    )
    for name in ("searches_alone", "searches_beside"):
        row = figures["ingest"][name]
        console.print(f"{name.replace('_', ' ')}: {row['searches']}, {row['errors']} errors, {row['ms']} ms")
    for name, row in figures["ingest"]["lock_waits"].items():
        console.print(
            f"waits at {name}: {row['reads']:,} reads, p95 {row['p95_ms']} ms, at most {row['longest_ms']}"
        )
    for row in figures["killed"]["kills"]:
        console.print(
            f"kill -9: answered after {row['seconds_to_an_answer']} s; {row['documents_reported']} documents "
            f"reported, {row['lost']} lost"
        )


app = command_line(run, EXAMPLES)

if __name__ == "__main__":
    app(prog_name="python -m tests.bench.engine")
