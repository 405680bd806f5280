"""The sandbox beside other ways to run an agent's Python, with the same scripts.

    python -m tests.bench.sandbox_peers --peers PYTHON --json

Each runs in a process of its own, with an interpreter that has it, because their dependencies need not agree with
ours. They are timed from outside, warm, in the way that their documentation shows for one script of one agent.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

import typer
from rich.table import Table

from tests.bench.command_line import command_line
from tests.bench.other_interpreter import run_program
from winnow.sandbox import SandboxUnavailable
from winnow.server.commands.bench.sandbox import show_figures
from winnow.server.commands.benchmarks import sandbox, workloads
from winnow.server.commands.terminal.output import Json, print_json, report_errors
from winnow.server.commands.terminal.screen import Screen
from winnow.server.errors import WinnowError

EXAMPLES = "Examples: python -m tests.bench.sandbox_peers --runs 200 --peers ~/peers/bin/python --json"
_SECONDS = 300.0

# Defines start(answer) -> run(source), which gives the value of the script's `result`.
_MONTY = """
import contextlib
from pydantic_monty import Monty
NAME = "pydantic-monty"
@contextlib.asynccontextmanager
async def start(answer):
    with Monty() as pool:
        async def run(source):
            with pool.checkout() as session:
                return session.feed_run(source + "\\nresult", external_lookup={"semantic_search": answer})
        yield run
CALL = "semantic_search('retry policy', top_k=3)"
"""
_CODE_MODE = """
import contextlib, json
from fastmcp import Client, FastMCP
from fastmcp.experimental.transforms.code_mode import CodeMode
NAME = "fastmcp"
@contextlib.asynccontextmanager
async def start(answer):
    server = FastMCP("bench", transforms=[CodeMode(max_tool_calls=None)])
    def semantic_search(query: str, top_k: int = 10) -> dict:
        return answer(query, top_k)
    server.tool(semantic_search)
    async with Client(server) as client:
        async def run(source):
            reply = await client.call_tool("execute", {"code": source + "\\nreturn result"})
            return json.loads(reply.content[0].text)
        yield run
CALL = "await call_tool('semantic_search', {'query': 'retry policy', 'top_k': 3})"
"""
_SMOLAGENTS = """
import contextlib
from smolagents.local_python_executor import LocalPythonExecutor
NAME = "smolagents"
@contextlib.asynccontextmanager
async def start(answer):
    async def run(source):
        executor = LocalPythonExecutor(["json", "re"])
        executor.send_tools({"semantic_search": answer})
        return executor(source + "\\nresult").output
    yield run
CALL = "semantic_search('retry policy', top_k=3)"
"""

PEERS: Mapping[str, str] = MappingProxyType(
    {"pydantic-monty": _MONTY, "fastmcp-code-mode": _CODE_MODE, "smolagents": _SMOLAGENTS}
)

_HARNESS = """
import asyncio, importlib.metadata, json, statistics, sys, time, warnings
warnings.simplefilter("ignore")
job = json.load(sys.stdin)
def answer(query, top_k=10):
    return job["page"]
async def timed(run, source, runs):
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        value = await run(source)
        times.append((time.perf_counter() - started) * 1000)
    return value, times
async def attempt(run, source, runs):
    try:
        value, times = await timed(run, source, runs)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:200]}
    return {"value": value, "ms": round(statistics.median(times), 3)}
async def main():
    async with start(answer) as run:
        await run("result = 1 + 1")
        _, warm = await timed(run, "result = 1 + 1", job["runs"])
        loop = f"n = 0\\nfor _ in range({job['calls']}):\\n    page = {CALL}\\n    n += page['count']\\nresult = n"
        calls = await attempt(run, loop, 3)
        return {
            "version": importlib.metadata.version(NAME),
            "warm_ms": {"p50": round(statistics.median(warm), 3), "p95": round(statistics.quantiles(warm, n=20)[-1], 3)},
            "host_call_us": round(calls["ms"] * 1000 / job["calls"], 2) if "ms" in calls else None,
            "cpu": {name: await attempt(run, source, 3) for name, source in job["cpu"].items()},
        }
print(json.dumps(asyncio.run(main())))
"""  # noqa: E501 - a program in one piece


def run(
    runs: Annotated[int, typer.Option("--runs", min=5, max=10_000, help="executions behind each figure")] = 100,
    peers: Annotated[
        str, typer.Option("--peers", metavar="PYTHON", help="an interpreter that has the others")
    ] = sys.executable,
    as_json: Json = False,
) -> None:
    """The figures of winnow bench sandbox, and the same scripts in others, as far as PYTHON has them.

    Others are pydantic-monty, FastMCP's code mode and smolagents.
    """
    with report_errors(as_json=as_json):
        try:
            figures = asyncio.run(sandbox.measure(runs))
        except SandboxUnavailable as error:
            raise WinnowError("SANDBOX_UNAVAILABLE", str(error)) from None
        figures["peers"] = measure_peers(peers, runs)
    if as_json:
        print_json(figures)
    else:
        show_figures(figures)
        show_peers(figures)


def measure_peers(python: str, runs: int) -> dict[str, Any]:
    """The figures of every peer that ``python`` can import; for the others, why they are missing."""
    return {name: _measure(python, program, runs) for name, program in PEERS.items()}


def _measure(python: str, program: str, runs: int) -> dict[str, Any]:
    job = {
        "runs": max(20, runs),
        "calls": workloads.CALLS,
        "page": dict(workloads.PAGE),
        "cpu": dict(workloads.CPU),
    }
    return run_program(python, program + _HARNESS, job, _SECONDS)


def show_peers(figures: Mapping[str, Any]) -> None:
    """Print a table of the same scripts in winnow and in others, each from its start to its end."""
    measured = {name: peer for name, peer in figures["peers"].items() if "missing" not in peer}
    missing = "; ".join(
        f"{name}: {peer['missing']}" for name, peer in figures["peers"].items() if "missing" in peer
    )
    table = Table("", "winnow", *measured, title="side by side, start to end", caption=missing or None)
    warm = [figures["warm_ms"], *(peer["warm_ms"] for peer in measured.values())]
    table.add_row("warm 1 + 1", *(f"{each['p50']:.2f} ms" for each in warm))
    calls = [figures["sdk_call_us"]["p50"], *(peer["host_call_us"] for peer in measured.values())]
    table.add_row("call of the host", *("fails" if each is None else f"{each:.0f} µs" for each in calls))
    for script, row in figures["cpu"].items():
        others = [peer["cpu"][script].get("ms") for peer in measured.values()]
        times = ("fails" if each is None else f"{each:.1f} ms" for each in (row["whole_ms"], *others))
        table.add_row(script, *times)
    Screen(highlight=False).print(table)


app = command_line(run, EXAMPLES)

if __name__ == "__main__":
    app(prog_name="python -m tests.bench.sandbox_peers")
