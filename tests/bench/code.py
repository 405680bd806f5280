"""Searches in one script against the same searches as direct calls over stdio.

    python -m tests.bench.code --project notes --json

Each round has a server of its own, because a client may make a hundred calls a minute, and asks questions that no
round asked before, so that no ranking is cached; scripts and direct calls share no cache of rankings. Within a
round the ways of asking alternate, and the first one changes from round to round, so that other load on the
machine falls on all of them. Processor time is that of the server, its children and its engine.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import quantiles
from typing import Annotated, Any, Protocol

import psutil
import typer
from rich.table import Table

from tests.bench.command_line import command_line
from winnow.server.commands.bench.open_index import OpenIndex, measure_with_questions
from winnow.server.commands.benchmarks.figures import percentiles
from winnow.server.commands.demonstration.client import connect_server
from winnow.server.commands.terminal.output import Json, ProjectOption, StoreOption, print_json, report_errors
from winnow.server.commands.terminal.progress import OnStep, show_steps
from winnow.server.commands.terminal.screen import Screen
from winnow.server.engine.client import query_engine
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

EXAMPLES = (
    "Examples: python -m tests.bench.code --project notes | "
    "python -m tests.bench.code --store /tmp/b --rounds 20 --json"
)
_ALONE = ("--no-daemon",)
_FEWEST = 2
SEARCHES = 30
FEW = 3
# Level -> rows of each search: as many as one run may take at that level in 30 searches, at most ten.
LEVELS: Mapping[str, int] = {"metadata": 10, "preview": 5}
_WARM_DIRECT = 5
_MODEL_SECONDS = 60.0
_AGAIN_SECONDS = 0.5
_LEAST_MS = 1.0  # the kernel does not count processor time finer than this

_ONE_BY_ONE = """
import time
started = time.perf_counter()
pages = [semantic_search(q, top_k={top_k}, response_mode="{level}") for q in {queries!r}]
return {{"ms": (time.perf_counter() - started) * 1000, "rows": [[r.id for r in page] for page in pages]}}
"""
_GATHERED = """
import asyncio, time
client = MCPClient()
async def main():
    asked = (client.semantic_search(q, top_k={top_k}, response_mode="{level}") for q in {queries!r})
    return await asyncio.gather(*asked)
started = time.perf_counter()
pages = asyncio.run(main())
return {{"ms": (time.perf_counter() - started) * 1000, "rows": [[r.id for r in page] for page in pages]}}
"""
_TOGETHER = """
import time
started = time.perf_counter()
pages = search_many({queries!r}, top_k={top_k}, response_mode="{level}")
return {{"ms": (time.perf_counter() - started) * 1000, "rows": [[r.id for r in page] for page in pages]}}
"""
SCRIPTS: Mapping[str, str] = {"semantic_search": _ONE_BY_ONE, "gather": _GATHERED, "search_many": _TOGETHER}

# Three searches and a filter, as an agent writes them.
_FILTERED = """
import time
started = time.perf_counter()
pages = {asked}
searched = time.perf_counter() - started
rows = filter_by_score(dedupe([row for page in pages for row in page]), 0.3)
return {{"ms": searched * 1000, "rows": [[row.id for row in rows]]}}
"""
FILTERED_SCRIPTS: Mapping[str, str] = {
    "semantic_search": _FILTERED.replace("{asked}", "[semantic_search(q, top_k=10) for q in {queries!r}]"),
    "search_many": _FILTERED.replace("{asked}", "search_many({queries!r}, top_k=10)"),
}
_THREE = "three"

Rows = list[list[str]]


class Client(Protocol):
    """The part of the MCP SDK's client that is used here."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any: ...


@dataclass(slots=True)
class _Times:
    """Milliseconds of one way of asking, round by round: wall, processor, and of the searches inside a script."""

    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    inside: list[float] = field(default_factory=list)


Way = Callable[[_Times], Awaitable[Rows]]
# Starts a server, a child of this process, and connects to it.
Connect = Callable[[], AbstractAsyncContextManager[Client]]


def count_questions(rounds: int, searches: int = SEARCHES) -> int:
    """How many distinct questions ``rounds`` rounds ask."""
    return rounds * (len(LEVELS) * searches + FEW)


def run(
    rounds: Annotated[int, typer.Option("--rounds", min=_FEWEST, max=200, help="rounds behind each figure")] = 8,
    project: ProjectOption = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Searches in one script against the same searches as direct calls over stdio, with and without the engine.

    Thirty searches at two levels, asked one by one, with asyncio.gather and with search_many; and three with a
    filter. Every round starts a server.
    """
    with report_errors(as_json=as_json), show_steps() as progress:
        figures = asyncio.run(_measure_all(load_settings(store=store, project=project), rounds, progress))
    if as_json:
        print_json(figures)
    else:
        show_figures(figures)


async def _measure_all(settings: Settings, rounds: int, progress: OnStep) -> dict[str, Any]:
    found = await measure_with_questions(settings, count_questions(rounds), _describe_index)
    asked, has_model = found.pop("asked"), found["model"] == "ready"
    if len(asked) < count_questions(_FEWEST):
        raise WinnowError(
            "INVALID_REQUEST",
            f"project {settings.project!r} has headings for {len(asked)} questions; two rounds ask "
            f"{count_questions(_FEWEST)}: index more",
        )
    ask = partial(_measure_over_stdio, settings, asked=asked, has_model=has_model, progress=progress)
    figures = {"alone": await ask(_ALONE)}
    if settings.daemon == "on":
        figures["engine"] = await ask(())
        await stop_idle_engine(settings.store)
    return {**found, **figures}


async def _describe_index(opened: OpenIndex) -> dict[str, Any]:
    return {"chunks": opened.chunks, "model": opened.backends.embedder.state, "asked": list(opened.questions)}


async def _measure_over_stdio(
    settings: Settings, options: Sequence[str], *, asked: Sequence[str], has_model: bool, progress: OnStep
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="winnow-bench-") as scratch:
        log = Path(scratch) / "server.log"

        @asynccontextmanager
        async def connect() -> AsyncIterator[Client]:
            async with connect_server(settings.store, settings.project, log, options) as client:
                yield client

        return await measure(connect, settings.store, asked, progress, has_model=has_model)


async def measure(
    connect: Connect,
    store: Path,
    asked: Sequence[str],
    progress: OnStep,
    *,
    searches: int = SEARCHES,
    has_model: bool = True,
) -> dict[str, Any]:
    """All figures over ``asked``, at least ``count_questions(2, searches)`` distinct questions.

    If an engine runs for ``store``, its processor time counts. ``has_model``: begin once the model answers.

    ``many`` (by level) and ``three`` (three searches and a filter) have a row for direct calls and one for each
    way of asking in a script: ``ms`` and ``processor_ms`` of a round, ``ratio`` of a script's time to that of the
    same round's direct calls, and ``searches_ms``, the time of the searches inside the script. ``rows_alike`` is
    the share of searches with the same rows as the direct call.
    """
    each = count_questions(1, searches)
    rounds = [asked[at : at + each] for at in range(0, len(asked) - each + 1, each)]
    taken: dict[str, dict[str, _Times]] = {}
    alike: list[bool] = []
    for number, questions in enumerate(rounds):
        async with connect() as client:
            watch = _Meter(client)
            await watch.warm_up(asked[number - 1], has_model=has_model)
            watch.processes = await _processes(store)
            for part, ways in _build_ways(watch, questions, searches):
                rows: dict[str, Rows] = {}
                for name in _rotate(list(ways), number):
                    rows[name] = await ways[name](taken.setdefault(part, {}).setdefault(name, _Times()))
                alike += _compare_rows(rows)
        progress("asking", number + 1, len(rounds))
    return {
        "rounds": len(rounds),
        "searches": searches,
        "many": {level: _summarize(taken[level]) for level in LEVELS},
        "three": _summarize(taken[_THREE]),
        "rows_alike": round(sum(alike) / len(alike), 4),
    }


async def _processes(store: Path) -> list[psutil.Process]:
    """The server with its children, and the engine if one runs."""
    ours = psutil.Process().children(recursive=True)
    engine = await query_engine(store, "status")
    known = {process.pid for process in ours}
    return ours if engine is None or engine["pid"] in known else [*ours, psutil.Process(engine["pid"])]


async def stop_idle_engine(store: Path) -> None:
    """Stop the engine that the benchmark started, unless it has other clients."""
    engine = await query_engine(store, "status")
    if engine is not None and not engine["clients"]:
        await query_engine(store, "stop")


def _rotate(names: list[str], by: int) -> list[str]:
    by %= len(names)
    return names[by:] + names[:by]


def _build_ways(watch: _Meter, questions: Sequence[str], searches: int) -> Iterator[tuple[str, dict[str, Way]]]:
    """Each part of the benchmark with its ways of asking; every part has questions of its own."""
    start = 0
    for level, top_k in LEVELS.items():
        some = list(questions[start : start + searches])
        start += searches
        filled = {name: script.format(queries=some, top_k=top_k, level=level) for name, script in SCRIPTS.items()}
        yield level, {"direct": watch.direct(some, level, top_k), **watch.scripts(filled)}
    few = list(questions[start : start + FEW])
    filled = {name: script.format(queries=few) for name, script in FILTERED_SCRIPTS.items()}
    yield _THREE, {"direct": watch.direct(few, "metadata", 10), **watch.scripts(filled)}


def _compare_rows(rows: Mapping[str, Rows]) -> Iterator[bool]:
    direct = rows["direct"]
    for name in SCRIPTS:
        if len(rows.get(name, ())) == len(direct):
            yield from (one == other for one, other in zip(rows[name], direct, strict=True))


def _summarize(ways: Mapping[str, _Times]) -> dict[str, Any]:
    return {name: _figures_of(taken, ways["direct"]) for name, taken in ways.items()}


def _figures_of(taken: _Times, direct: _Times) -> dict[str, Any]:
    figures: dict[str, Any] = {"ms": percentiles(taken.wall), "processor_ms": percentiles(taken.processor)}
    if taken is direct:
        return figures
    return {
        **figures,
        "searches_ms": percentiles(taken.inside),
        "ratio": _ratios_of(taken.wall, direct.wall),
        "processor_ratio": _ratios_of(taken.processor, direct.processor),
    }


def _ratios_of(these: Sequence[float], those: Sequence[float]) -> dict[str, float]:
    """Median and quartiles of the ratios, round by round."""
    ratios = [one / max(other, _LEAST_MS) for one, other in zip(these, those, strict=True)]
    first, middle, third = quantiles(ratios, n=4, method="inclusive")
    return {"p25": round(first, 3), "p50": round(middle, 3), "p75": round(third, 3)}


class _Meter:
    """Calls tools and records wall and processor time."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.processes: Sequence[psutil.Process] = ()

    async def warm_up(self, question: str, *, has_model: bool) -> None:
        """Wait for the model, if there is one, and run everything once."""
        deadline = time.monotonic() + _MODEL_SECONDS
        while has_model and time.monotonic() < deadline:
            answer = await self._call("semantic_search", {"query": question})
            if answer["search_mode"] == "hybrid":
                break
            await asyncio.sleep(_AGAIN_SECONDS)
        for number in range(_WARM_DIRECT):
            await self._call("semantic_search", {"query": f"{question} {number}"})
            code = SCRIPTS["search_many"].format(queries=[f"{question} {number}"] * 2, top_k=5, level="metadata")
            await self._call("execute_code", {"code": code})

    def direct(self, queries: Sequence[str], level: str, top_k: int) -> Way:
        """Direct calls, one after the other."""

        async def ask(taken: _Times) -> Rows:
            spent, started = self._spent(), time.perf_counter()
            replies = [
                await self._call("semantic_search", {"query": query, "top_k": top_k, "response_mode": level})
                for query in queries
            ]
            self._note(taken, started, spent)
            return [[row["id"] for row in reply["results"]] for reply in replies]

        return ask

    def scripts(self, filled: Mapping[str, str]) -> dict[str, Way]:
        """One script for each way, by name."""
        return {name: self._script(code) for name, code in filled.items()}

    def _script(self, code: str) -> Way:
        async def ask(taken: _Times) -> Rows:
            spent, started = self._spent(), time.perf_counter()
            result = (await self._call("execute_code", {"code": code}))["result"]
            self._note(taken, started, spent)
            taken.inside.append(result["ms"])
            rows: Rows = result["rows"]
            return rows

        return ask

    async def _call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Raises for a tool error: a figure over half of the answers would be wrong."""
        payload: dict[str, Any] = (await self._client.call_tool(tool, arguments)).structured_content
        if payload.get("error"):
            raise WinnowError("INTERNAL", f"{tool} did not answer: {payload['error']['message']}")
        return payload

    def _note(self, taken: _Times, started: float, spent: Mapping[int, float]) -> None:
        taken.wall.append((time.perf_counter() - started) * 1000)
        after = self._spent()
        seconds = sum(after[pid] - spent[pid] for pid in after.keys() & spent.keys())
        taken.processor.append(seconds * 1000)

    def _spent(self) -> dict[int, float]:
        """Processor seconds of each process so far; a parent's include those of its ended children."""
        seconds: dict[int, float] = {}
        for process in self.processes:
            with suppress(psutil.Error):
                seconds[process.pid] = sum(process.cpu_times()[:4])
        return seconds


def show_figures(figures: Mapping[str, Any]) -> None:
    """Print a table for each way of serving."""
    console = Screen(highlight=False)
    for served in ("alone", "engine"):
        if served in figures:
            console.print(_build_table(served, figures))


def _build_table(served: str, figures: Mapping[str, Any]) -> Table:
    part_figures = figures[served]
    about = f"{served}: {figures['chunks']:,} chunks, {part_figures['rounds']} rounds"
    table = Table("", "", "p50", "p95", "p99", "processor", "its searches", "ratio", title=about)
    parts = {f"{part_figures['searches']} searches, {level}": ways for level, ways in part_figures["many"].items()}
    for part, ways in {**parts, "three and a filter": part_figures["three"]}.items():
        for way, row in ways.items():
            times = (f"{row['ms'][key]:.1f} ms" for key in ("p50", "p95", "p99"))
            rest = (f"{row['searches_ms']['p50']:.1f} ms", f"{row['ratio']['p50']:.3f}") if "ratio" in row else ()
            table.add_row(part, way, *times, f"{row['processor_ms']['p50']:.1f} ms", *rest)
    return table


app = command_line(run, EXAMPLES)

if __name__ == "__main__":
    app(prog_name="python -m tests.bench.code")
