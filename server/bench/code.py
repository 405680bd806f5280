"""What a script saves in time: searches in one ``execute_code`` against the same ones as direct calls over stdio.

Each round has a server of its own, for a client may make a hundred calls a minute, and asks questions that no
round asked before, so that no ranking is known; scripts and direct calls share no cache of rankings. Within a
round the ways of asking take turns, and the one that begins changes from round to round, so that whatever else the
machine does falls on all of them. Processor time is that of the server, its children and its engine.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from typing import Any, Protocol

import psutil

from server.bench.figures import percentiles
from server.engine.client import query_engine
from server.errors import WinnowError

SEARCHES = 30
FEW = 3
# Level -> rows a search: as many as one run may take of that level in 30 searches, the usual ten at most.
LEVELS: Mapping[str, int] = {"metadata": 10, "preview": 5}
_WARM_DIRECT = 5
_MODEL_SECONDS = 60.0
_AGAIN_SECONDS = 0.5
_LEAST_MS = 1.0  # what the kernel counts less of is no denominator

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

# Three searches and a filter, as an agent writes them: what answers, of one part of the pages.
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

OnProgress = Callable[[str, int, int], None]
Rows = list[list[str]]


class Client(Protocol):
    """A client of a server: what ``call_tool`` of the MCP SDK's own client answers."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any: ...


@dataclass(slots=True)
class _Taken:
    """Milliseconds of one way of asking, round by round: wall, processor, and of the searches inside a script."""

    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    inside: list[float] = field(default_factory=list)


Way = Callable[[_Taken], Awaitable[Rows]]
# Starts a server, a child of this process, and connects to it.
Connect = Callable[[], AbstractAsyncContextManager[Client]]


def needed(rounds: int, searches: int = SEARCHES) -> int:
    """How many different questions so many rounds ask."""
    return rounds * (len(LEVELS) * searches + FEW)


async def measure(
    connect: Connect,
    store: Path,
    asked: Sequence[str],
    progress: OnProgress,
    *,
    searches: int = SEARCHES,
    has_model: bool = True,
) -> dict[str, Any]:
    """Every figure over ``asked``: ``needed(2, searches)`` different questions at least.

    ``store``: whose engine is counted, if one runs. ``has_model``: begin once the model answers.

    ``many`` has by level, and ``three`` of three searches and a filter, the direct calls and each way of asking
    in a script: ``ms`` and ``processor_ms`` of a round, ``ratio`` of a script's time to that of the same round's
    direct calls, and ``searches_ms`` that the searches took inside the script. ``rows_alike``: the share of
    searches whose rows are those of the direct call.
    """
    each = needed(1, searches)
    rounds = [asked[at : at + each] for at in range(0, len(asked) - each + 1, each)]
    taken: dict[str, dict[str, _Taken]] = {}
    alike: list[bool] = []
    for number, questions in enumerate(rounds):
        async with connect() as client:
            watch = _Watch(client)
            await watch.warm_up(asked[number - 1], has_model=has_model)
            watch.processes = await _processes(store)
            for part, ways in _parts(watch, questions, searches):
                rows: dict[str, Rows] = {}
                for name in _turned(list(ways), number):
                    rows[name] = await ways[name](taken.setdefault(part, {}).setdefault(name, _Taken()))
                alike += _alike(rows)
        progress("asking", number + 1, len(rounds))
    return {
        "rounds": len(rounds),
        "searches": searches,
        "many": {level: _compared(taken[level]) for level in LEVELS},
        "three": _compared(taken[_THREE]),
        "rows_alike": round(sum(alike) / len(alike), 4),
    }


async def _processes(store: Path) -> list[psutil.Process]:
    """The server with its children, and the engine if one runs."""
    ours = psutil.Process().children(recursive=True)
    engine = await query_engine(store, "status")
    known = {process.pid for process in ours}
    return ours if engine is None or engine["pid"] in known else [*ours, psutil.Process(engine["pid"])]


async def dismiss_engine(store: Path) -> None:
    """Have the engine leave that was started for this, unless somebody else has come to it meanwhile."""
    engine = await query_engine(store, "status")
    if engine is not None and not engine["clients"]:
        await query_engine(store, "stop")


def _turned(names: list[str], by: int) -> list[str]:
    by %= len(names)
    return names[by:] + names[:by]


def _parts(watch: _Watch, questions: Sequence[str], searches: int) -> Iterator[tuple[str, dict[str, Way]]]:
    """By part of the benchmark, the ways of asking the questions that are its own."""
    start = 0
    for level, top_k in LEVELS.items():
        some = list(questions[start : start + searches])
        start += searches
        filled = {name: script.format(queries=some, top_k=top_k, level=level) for name, script in SCRIPTS.items()}
        yield level, {"direct": watch.direct(some, level, top_k), **watch.scripts(filled)}
    few = list(questions[start : start + FEW])
    filled = {name: script.format(queries=few) for name, script in FILTERED_SCRIPTS.items()}
    yield _THREE, {"direct": watch.direct(few, "metadata", 10), **watch.scripts(filled)}


def _alike(rows: Mapping[str, Rows]) -> Iterator[bool]:
    direct = rows["direct"]
    for name in SCRIPTS:
        if len(rows.get(name, ())) == len(direct):
            yield from (one == other for one, other in zip(rows[name], direct, strict=True))


def _compared(ways: Mapping[str, _Taken]) -> dict[str, Any]:
    return {name: _figures(taken, ways["direct"]) for name, taken in ways.items()}


def _figures(taken: _Taken, direct: _Taken) -> dict[str, Any]:
    figures: dict[str, Any] = {"ms": percentiles(taken.wall), "processor_ms": percentiles(taken.processor)}
    if taken is direct:
        return figures
    return {
        **figures,
        "searches_ms": percentiles(taken.inside),
        "ratio": _spread(taken.wall, direct.wall),
        "processor_ratio": _spread(taken.processor, direct.processor),
    }


def _spread(these: Sequence[float], those: Sequence[float]) -> dict[str, float]:
    """Of the ratios, round by round: median and quartiles."""
    ratios = [one / max(other, _LEAST_MS) for one, other in zip(these, those, strict=True)]
    first, middle, third = quantiles(ratios, n=4, method="inclusive")
    return {"p25": round(first, 3), "p50": round(middle, 3), "p75": round(third, 3)}


class _Watch:
    """Asks, and notes what it took."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.processes: Sequence[psutil.Process] = ()

    async def warm_up(self, question: str, *, has_model: bool) -> None:
        """Until the model answers, if there is one, and everything has run once."""
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
        """One call after the other."""

        async def ask(taken: _Taken) -> Rows:
            spent, started = self._spent(), time.perf_counter()
            replies = [
                await self._call("semantic_search", {"query": query, "top_k": top_k, "response_mode": level})
                for query in queries
            ]
            self._note(taken, started, spent)
            return [[row["id"] for row in reply["results"]] for reply in replies]

        return ask

    def scripts(self, filled: Mapping[str, str]) -> dict[str, Way]:
        """All in one script, by name."""
        return {name: self._script(code) for name, code in filled.items()}

    def _script(self, code: str) -> Way:
        async def ask(taken: _Taken) -> Rows:
            spent, started = self._spent(), time.perf_counter()
            result = (await self._call("execute_code", {"code": code}))["result"]
            self._note(taken, started, spent)
            taken.inside.append(result["ms"])
            rows: Rows = result["rows"]
            return rows

        return ask

    async def _call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Raises what a tool refuses: no figure stands on half of the answers."""
        told: dict[str, Any] = (await self._client.call_tool(tool, arguments)).structured_content
        if told.get("error"):
            raise WinnowError("INTERNAL", f"{tool} did not answer: {told['error']['message']}")
        return told

    def _note(self, taken: _Taken, started: float, spent: Mapping[int, float]) -> None:
        taken.wall.append((time.perf_counter() - started) * 1000)
        after = self._spent()
        seconds = sum(after[pid] - spent[pid] for pid in after.keys() & spent.keys())
        taken.processor.append(seconds * 1000)

    def _spent(self) -> dict[int, float]:
        """Seconds of processor that each used so far; a parent's have those of its children that are gone."""
        told: dict[int, float] = {}
        for process in self.processes:
            with suppress(psutil.Error):
                told[process.pid] = sum(process.cpu_times()[:4])
        return told
