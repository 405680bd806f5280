"""Other ways to run an agent's Python, measured by the same scripts where they are installed.

Each runs in a process of its own, with an interpreter that has it: their dependencies need not agree with ours.
They are timed from outside, warm, in whatever way their documentation shows for one script of one agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from server.bench import workloads
from server.bench.other_interpreter import figures_of

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


def measure(python: str, runs: int) -> dict[str, Any]:
    """The figures of every peer that ``python`` can import; for the others why there are none."""
    return {name: _measure(python, program, runs) for name, program in PEERS.items()}


def _measure(python: str, program: str, runs: int) -> dict[str, Any]:
    job = {
        "runs": max(20, runs),
        "calls": workloads.CALLS,
        "page": dict(workloads.PAGE),
        "cpu": dict(workloads.CPU),
    }
    return figures_of(python, program + _HARNESS, job, _SECONDS)
