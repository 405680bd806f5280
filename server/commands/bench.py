"""``winnow bench``: speed, measured on this host. One command a subject."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from statistics import median, quantiles
from types import MappingProxyType
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from sandbox import Limits, Reply, Sandbox, SandboxUnavailable
from server.commands.output import Json, command, errors_shown, print_json
from server.errors import WinnowError

app = command(no_args_is_help=True)

_CALLS = 1_000
_LIMITS = Limits(sdk_calls=10 * _CALLS, wall_seconds=60.0, cpu_seconds=60)

# Each sets `result` to something small, so that both sides can be compared.
CPU_SCRIPTS: Mapping[str, str] = MappingProxyType(
    {
        "filter_sort_50k_rows": """
rows = [{"id": i, "score": (i * 7919) % 10007, "name": f"row {i}"} for i in range(50_000)]
kept = [row for row in rows if row["score"] > 2_000]
kept.sort(key=lambda row: (-row["score"], row["name"]))
result = [len(kept), kept[0]["id"]]
""",
        "fib_24": """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
result = fib(24)
""",
        "regex_1_mb": """
import re
text = "alpha beta-42 gamma@example.org 2026-01-31 " * 25_000
result = [len(re.findall(r"[a-z]+@[a-z.]+", text)), len(re.findall(r"\\d{4}-\\d{2}-\\d{2}", text))]
""",
        "json_10k_rows": """
import json
rows = [{"id": i, "title": f"title {i}", "tags": ["a", "b"], "score": i / 7} for i in range(10_000)]
result = len(json.loads(json.dumps(rows)))
""",
        "count_45k_words": """
counts = {}
for word in ("the quick brown fox jumps over the lazy dog " * 5_000).split():
    counts[word] = counts.get(word, 0) + 1
result = sorted(counts.items(), key=lambda item: -item[1])[0][1]
""",
    }
)

# Both sides time the body alone, by the same clock, in the same place.
_TIMED = "import time\nstarted = time.perf_counter()\n{body}\nresult = [time.perf_counter() - started, result]\n"

_CALL_LOOP = f"""
import time
times = []
for _ in range({_CALLS}):
    started = time.perf_counter()
    semantic_search("retry policy", top_k=3)
    times.append(time.perf_counter() - started)
return [round(t * 1e6, 2) for t in times]
"""

_ROWS = [{"id": f"doc-{i}", "title": "Retry policy", "score": 0.5, "source": "guide.md"} for i in range(3)]


@app.callback()
def subjects() -> None:
    """Measure speed on this host."""


@app.command()
def sandbox(
    runs: Annotated[int, typer.Option("--runs", min=5, max=10_000, help="executions behind each figure")] = 100,
    as_json: Json = False,
) -> None:
    """Starting a script, calling the SDK from it, and computing in it, against plain Python."""
    with errors_shown(as_json=as_json):
        figures = asyncio.run(_measure(runs))
    if as_json:
        print_json(figures)
    else:
        _show(figures)


async def _measure(runs: int) -> dict[str, Any]:
    try:
        async with Sandbox(limits=_LIMITS) as warm:
            return {
                "warm_ms": await _repeat(runs, lambda: _one_plus_one(warm)),
                "cold_ms": await _repeat(max(5, runs // 10), _cold),
                "sdk_call_us": await _sdk_calls(warm),
                "cpu": {name: await _compare(warm, body, runs) for name, body in CPU_SCRIPTS.items()},
            }
    except SandboxUnavailable as error:
        raise WinnowError("SANDBOX_UNAVAILABLE", str(error)) from None


async def _one_plus_one(sandbox: Sandbox) -> None:
    outcome = await sandbox.run("1 + 1")
    assert outcome.result == 2, outcome


async def _cold() -> None:
    """From nothing: fork server, self-tests of every wall, one script, and the end of it all."""
    async with Sandbox(spares=0) as sandbox:
        await _one_plus_one(sandbox)


async def _repeat(runs: int, action: Callable[[], Awaitable[None]]) -> dict[str, float]:
    await action()
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        await action()
        times.append((time.perf_counter() - started) * 1000)
        await asyncio.sleep(0.005)  # a human's agent pauses, too: spares are back by then
    return _percentiles(times)


def _percentiles(values: list[float]) -> dict[str, float]:
    return {"p50": round(median(values), 3), "p95": round(quantiles(values, n=20)[-1], 3)}


async def _sdk_calls(sandbox: Sandbox) -> dict[str, float]:
    """Transport alone: the host's function does nothing but hand over three small rows."""

    async def answer(method: str, params: Mapping[str, Any]) -> Reply:
        return Reply({"mode": "metadata", "count": 3, "results": _ROWS, "estimated_tokens": 60}, rows=3, tokens=60)

    limits = replace(_LIMITS, result_bytes=1024 * 1024)
    async with Sandbox(limits=limits) as roomy:
        outcome = await roomy.run(_CALL_LOOP, call=answer)
    assert outcome.status == "ok", outcome
    return _percentiles(outcome.result)


async def _compare(sandbox: Sandbox, body: str, runs: int) -> dict[str, float]:
    """The same source in the sandbox and in ``python -I -S``, taking turns."""
    source = _TIMED.format(body=body)
    inside, outside = [], []
    for _ in range(max(5, runs // 20)):
        outcome = await sandbox.run(source)
        assert outcome.status == "ok", outcome
        seconds, value = outcome.result
        inside.append(seconds * 1000)
        seconds, plain_value = await asyncio.to_thread(_plain_python, source)
        assert value == plain_value
        outside.append(seconds * 1000)
    return {
        "inside_ms": round(median(inside), 2),
        "outside_ms": round(median(outside), 2),
        "ratio": round(median(inside) / median(outside), 2),
    }


def _plain_python(source: str) -> Any:
    program = "import json, sys\nnames = {}\nexec(sys.stdin.read(), names)\nprint(json.dumps(names['result']))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], input=source, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def _show(figures: Mapping[str, Any]) -> None:
    console = Console()
    starts = Table("", "p50", "p95", title="start and call")
    for label, key, unit in (
        ("warm 1 + 1", "warm_ms", "ms"),
        ("cold 1 + 1", "cold_ms", "ms"),
        ("SDK call", "sdk_call_us", "µs"),
    ):
        starts.add_row(label, f"{figures[key]['p50']:.2f} {unit}", f"{figures[key]['p95']:.2f} {unit}")
    console.print(starts)
    cpu = Table("script", "inside", "outside", "ratio", title="computing")
    for name, row in figures["cpu"].items():
        cpu.add_row(name, f"{row['inside_ms']:.1f} ms", f"{row['outside_ms']:.1f} ms", f"{row['ratio']:.2f}")
    console.print(cpu)
