"""Speed of the sandbox: starting scripts, SDK calls, computing, and several scripts at once."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from statistics import median
from typing import Any

import psutil

from winnow.sandbox import Limits, Reply, Sandbox
from winnow.server.commands.benchmarks import workloads
from winnow.server.commands.benchmarks.figures import percentiles, time_ms

AT_ONCE = 8
_LIMITS = Limits(sdk_calls=10 * workloads.CALLS, wall_seconds=60.0, cpu_seconds=60, result_bytes=1024 * 1024)
_PAUSE_SECONDS = 0.01  # agents pause, too; meanwhile spare children are started again

# Sandbox and plain Python time the body alone, with the same clock.
_TIMED = "import time\nstarted = time.perf_counter()\n{body}\nresult = [time.perf_counter() - started, result]\n"

# Building rows from an answer is timed separately: the rest of a call is its way to the parent and back.
_CALL_LOOP = f"""
import time
from winnow import Results
calls, rows = [], []
for _ in range({workloads.CALLS}):
    started = time.perf_counter()
    page = semantic_search("retry policy", top_k=3)
    answered = time.perf_counter()
    Results({dict(workloads.PAGE)!r})
    rows.append(time.perf_counter() - answered)
    calls.append(answered - started)
return [[round(seconds * 1e6, 2) for seconds in times] for times in (calls, rows)]
"""
_MANY = f"""
import time
queries = ["retry policy"] * {workloads.CALLS}
started = time.perf_counter()
pages = search_many(queries, top_k=3)
return (time.perf_counter() - started) / len(pages) * 1e6
"""


async def _answer_search(method: str, params: Mapping[str, Any]) -> Reply:
    """The answer to every call: three small rows."""
    return Reply(dict(workloads.PAGE), rows=3, tokens=60)


async def measure(runs: int) -> dict[str, Any]:
    """All figures, each over ``runs`` executions. Raises ``SandboxUnavailable`` where there is no sandbox.

    ``warm_ms``, ``cold_ms`` and ``sdk_call_us`` hold p50 and p95; ``transport_us`` is a call without the time to
    build its rows; ``cpu`` compares with ``python -I -S`` without start and end, which ``whole_ms`` includes.
    """
    async with Sandbox(limits=_LIMITS) as warm:
        return {
            "warm_ms": await _time_repeatedly(runs, lambda: _run_trivial(warm)),
            "cold_ms": await _time_repeatedly(max(5, runs // 10), _run_cold),
            "plain_python_ms": await _time_repeatedly(max(5, runs // 5), _run_plain_interpreter),
            **await _measure_calls(warm, max(5, runs // 20)),
            "throughput": await _measure_throughput(5 * runs),
            "idle_child_bytes": await _measure_idle_child(),
            "cpu": {
                name: await _compare_with_python(warm, body, max(5, runs // 20))
                for name, body in workloads.CPU.items()
            },
        }


async def _run_trivial(sandbox: Sandbox) -> None:
    outcome = await sandbox.run("1 + 1")
    assert outcome.result == 2, outcome


async def _run_cold() -> None:
    """Start the fork server with its self-tests, run one script, and stop everything."""
    async with Sandbox(spares=0) as sandbox:
        await _run_trivial(sandbox)


async def _run_plain_interpreter() -> None:
    """Start a plain interpreter without any isolation."""
    await asyncio.to_thread(subprocess.run, [sys.executable, "-I", "-S", "-c", "1 + 1"], check=True)


async def _time_repeatedly(runs: int, action: Callable[[], Awaitable[None]]) -> dict[str, float]:
    await action()
    times = []
    for _ in range(runs):
        times.append(await time_ms(action))
        await asyncio.sleep(_PAUSE_SECONDS)
    return percentiles(times)


async def _measure_calls(sandbox: Sandbox, runs: int) -> dict[str, Any]:
    """SDK calls one after another within a script; medians over several scripts."""
    outcomes = [await sandbox.run(_CALL_LOOP, call=_answer_search) for _ in range(runs)]
    many = [await sandbox.run(_MANY, call=_answer_search) for _ in range(runs)]
    assert all(outcome.status == "ok" for outcome in (*outcomes, *many)), (outcomes[0].error, many[0].error)
    calls = [percentiles(outcome.result[0]) for outcome in outcomes]
    rows = [median(outcome.result[1]) for outcome in outcomes]
    whole = {key: round(median(each[key] for each in calls), 2) for key in ("p50", "p95", "p99")}
    bare = [each["p50"] - building for each, building in zip(calls, rows, strict=True)]
    return {
        "sdk_call_us": whole,
        "transport_us": {"p50": round(median(bare), 2), "best": round(min(bare), 2), "worst": round(max(bare), 2)},
        "search_many_us_per_query": round(median(outcome.result for outcome in many), 2),
    }


async def _measure_throughput(executions: int) -> dict[str, float]:
    """Executions per second of trivial scripts, several at once."""
    async with Sandbox(limits=_LIMITS, workers=AT_ONCE, spares=AT_ONCE) as sandbox:

        async def worker() -> None:
            for _ in range(executions // AT_ONCE):
                await _run_trivial(sandbox)

        await _run_trivial(sandbox)
        started = time.perf_counter()
        await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
        seconds = time.perf_counter() - started
    return {"at_once": AT_ONCE, "executions_per_s": round(executions // AT_ONCE * AT_ONCE / seconds, 1)}


async def _measure_idle_child() -> int | None:
    """Unshared memory of a child that waits for its script; None where the system does not report it."""
    async with Sandbox(limits=replace(_LIMITS), spares=4) as sandbox:
        await _run_trivial(sandbox)
        await asyncio.sleep(0.2)  # until all spare children have started
        try:
            return int(median(child.memory_full_info().uss for child in _leaf_processes()))
        except (psutil.Error, OSError, ValueError):
            return None


def _leaf_processes() -> list[psutil.Process]:
    """The deepest descendants of this process: the children of the fork server."""
    below = psutil.Process().children(recursive=True)
    parents = {process.ppid() for process in below}
    depth = {process.pid: len(process.parents()) for process in below}
    deepest = max(depth.values())
    return [process for process in below if process.pid not in parents and depth[process.pid] == deepest]


async def _compare_with_python(sandbox: Sandbox, body: str, runs: int) -> dict[str, float]:
    """The same source in the sandbox and in ``python -I -S``, alternating."""
    source = _TIMED.format(body=body)
    whole, inside, outside = [], [], []
    for _ in range(runs):
        started = time.perf_counter()
        outcome = await sandbox.run(source)
        whole.append((time.perf_counter() - started) * 1000)
        assert outcome.status == "ok", outcome
        seconds, value = outcome.result
        inside.append(seconds * 1000)
        seconds, plain_value = await asyncio.to_thread(_run_plain_python, source)
        assert value == plain_value
        outside.append(seconds * 1000)
    return {
        "whole_ms": round(median(whole), 2),
        "inside_ms": round(median(inside), 2),
        "outside_ms": round(median(outside), 2),
        "ratio": round(median(inside) / median(outside), 2),
    }


def _run_plain_python(source: str) -> Any:
    program = "import json, sys\nnames = {}\nexec(sys.stdin.read(), names)\nprint(json.dumps(names['result']))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], input=source, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)
