"""Scripts of the token benchmark in FastMCP's CodeMode over the same tools: tokens, time, whether they answer.

    python -m tests.bench.code_mode --collection DIR --peers PYTHON --write docs/benchmarks

A proxy of the same ``winnow serve`` runs in another interpreter, with CodeMode's own three tools before it; a
script calls winnow's tools from there. CodeMode has no SDK of a knowledge base, so the scripts are written for it:
they are in ``code_mode.toml``.
"""

from __future__ import annotations

import asyncio
import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from tests.bench.command_line import command_line
from tests.bench.other_interpreter import run_program
from winnow.server.commands.bench.tokens import choose_tasks, default_indexes, index_collection
from winnow.server.commands.demonstration.client import (
    connect_server,
    inherited_environment,
    wait_for_model,
)
from winnow.server.commands.terminal.console_script import find_console_script
from winnow.server.commands.terminal.output import Json, print_json, print_lines, report_errors
from winnow.server.commands.token_benchmark.arms import play
from winnow.server.commands.token_benchmark.collection import TaskCollection
from winnow.server.commands.token_benchmark.counting import compact, envelope
from winnow.server.commands.token_benchmark.gold import Expected, find_missing_in_result
from winnow.server.commands.token_benchmark.measuring import ResolvedTask, resolve_task
from winnow.server.commands.token_benchmark.report import markdown_table
from winnow.server.commands.token_benchmark.task import BenchmarkTask
from winnow.server.settings.loading import load_settings
from winnow.server.text.words.tokens import count_tokens

EXAMPLES = "Examples: python -m tests.bench.code_mode --collection ~/collections --peers ~/peers/bin/python --json"
SCRIPTS = Path(__file__).with_name("code_mode.toml")
RUNS = 3
_SECONDS = 300.0

_PROGRAM = """
import asyncio, importlib.metadata, json, pathlib, statistics, sys, time, warnings
warnings.simplefilter("ignore")
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.experimental.transforms.code_mode import CodeMode
from fastmcp.server import create_proxy
job = json.load(sys.stdin)
async def timed(client, code):
    started = time.perf_counter()
    reply = await client.call_tool("execute", {"code": code})
    return time.perf_counter() - started, "".join(block.text for block in reply.content)
async def attempt(client, code):
    try:
        runs = [await timed(client, code) for _ in range(job["runs"])]
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:500]}
    return {"text": runs[-1][1], "seconds": statistics.median(seconds for seconds, _ in runs)}
async def ready(proxy):
    for _ in range(60):
        reply = await proxy.call_tool("semantic_search", {"query": "anything at all", "top_k": 1})
        if not job["by_model"] or reply.structured_content["search_mode"] == "hybrid":
            return
        await asyncio.sleep(0.5)
async def main():
    log = pathlib.Path(job["log"])
    served = Client(StdioTransport(job["command"], job["arguments"], env=job["environment"], log_file=log))
    async with served:
        await ready(served)
        proxy = create_proxy(served)
        proxy.add_transform(CodeMode(max_tool_calls=None))
        async with Client(proxy) as client:
            listed = [tool.model_dump(by_alias=True) for tool in await client.list_tools()]
            definitions = [
                {"name": tool["name"], "description": tool["description"], "input_schema": tool["inputSchema"]}
                for tool in listed
            ]
            done = {name: await attempt(client, code) for name, code in job["scripts"].items()}
    return {"version": importlib.metadata.version("fastmcp"), "definitions": definitions, "scripts": done}
print(json.dumps(asyncio.run(main())))
"""


def run(
    peers: Annotated[str, typer.Option("--peers", metavar="PYTHON", help="an interpreter that has FastMCP")],
    folder: Annotated[
        Path | None,
        typer.Option("--collection", metavar="DIR", help="a collection, or a folder of them", show_default=False),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            "--store", metavar="DIR", help="where winnow bench tokens keeps the indexes", show_default=False
        ),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option("--write", metavar="DIR", help="write code_mode.md to this folder", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Scripts of winnow bench tokens, and the same scripts in FastMCP's CodeMode."""
    with report_errors(as_json=as_json):
        figures = _measure_collections(peers, folder, store or default_indexes())
    if write:
        write.mkdir(parents=True, exist_ok=True)
        (write / "code_mode.md").write_text("\n".join(build_page(figures)) + "\n", encoding="utf-8")
    if as_json:
        print_json(figures)
    else:
        print_lines(*describe(figures))


def _measure_collections(python: str, folder: Path | None, indexes: Path) -> dict[str, Any]:
    tasks, collections, _ = choose_tasks(folder, [])
    ported = scripts()
    parts = {}
    for name, collection in collections.items():
        chosen = [task for task in tasks if task.collection == name and task.id in ported]
        if chosen:
            settings = load_settings(store=indexes / name, project=collection.project)
            index_collection(collection, settings)
            by_model = settings.embedding != "off"
            parts[name] = asyncio.run(measure(python, collection, settings.store, chosen, by_model=by_model))
    return merge(parts)


def scripts() -> Mapping[str, str]:
    """Task -> its script for CodeMode."""
    return {name: text.strip("\n") for name, text in tomllib.loads(SCRIPTS.read_text(encoding="utf-8")).items()}


async def measure(
    python: str, collection: TaskCollection, store: Path, tasks: Sequence[BenchmarkTask], *, by_model: bool
) -> dict[str, Any]:
    """Each script of these tasks in both: tokens for a client of texts, the median time, whether it answered.

    Where ``python`` cannot do it, ``missing`` says why.
    """
    ported = {name: text for name, text in scripts().items() if name in {task.id for task in tasks}}
    questions = {task.id: resolve_task(task, collection) for task in tasks if task.id in ported}
    if not questions:
        return {}
    found = run_program(python, _PROGRAM, _build_job(collection, store, ported, by_model=by_model), _SECONDS)
    if "missing" in found:
        return found
    ours = await _run_here(collection, store, questions, by_model=by_model)
    rows = {
        name: {
            "winnow": ours[name],
            "code_mode": _build_row(ported[name], found["scripts"][name], question.expected),
        }
        for name, question in questions.items()
    }
    return {
        "version": found["version"],
        "definitions": sum(count_tokens(compact(tool)) for tool in found["definitions"]),
        "tasks": rows,
    }


def _build_job(
    collection: TaskCollection, store: Path, ported: Mapping[str, str], *, by_model: bool
) -> dict[str, Any]:
    return {
        "command": str(find_console_script()),
        "arguments": ["serve", "--store", str(store), "--project", collection.project, "--no-daemon"],
        "environment": {**inherited_environment(), "PATH": os.environ.get("PATH", "")},
        "log": str(store / "serve.log"),
        "scripts": dict(ported),
        "runs": RUNS,
        "by_model": by_model,
    }


def _build_row(script: str, done: Mapping[str, Any], gold: Expected) -> dict[str, Any]:
    if "error" in done:
        return {"error": done["error"]}
    written = count_tokens(compact({"name": "execute", "arguments": {"code": script}}))
    return {
        "tokens": envelope() + written + count_tokens(done["text"]),
        "seconds": round(done["seconds"], 3),
        "answered": not find_missing_in_result(gold, _parse(done["text"])),
    }


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


async def _run_here(
    collection: TaskCollection, store: Path, questions: Mapping[str, ResolvedTask], *, by_model: bool
) -> dict[str, dict[str, Any]]:
    rows = {}
    async with connect_server(store, collection.project, log=store / "serve.log") as client:
        if by_model:
            await wait_for_model(client)
        for name, one in questions.items():
            runs = [await play(client, one.task.steps["code"], one.question) for _ in range(RUNS)]
            rows[name] = {
                "tokens": runs[-1].cost.of("text"),
                "seconds": round(median(run.seconds for run in runs), 3),
                "answered": not find_missing_in_result(one.expected, runs[-1].result),
            }
    return rows


def merge(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The figures of several collections as one; sums and medians are over the tasks that both answer."""
    missing = {name: part["missing"] for name, part in parts.items() if "missing" in part}
    if missing:
        return {"missing": next(iter(missing.values()))}
    rows = {name: row for part in parts.values() for name, row in part["tasks"].items()}
    both = [row for row in rows.values() if all(one.get("answered") for one in row.values())]
    totals = {
        where: {
            "tokens": sum(row[where]["tokens"] for row in both),
            "seconds_median": round(median(row[where]["seconds"] for row in both), 3) if both else None,
        }
        for where in ("winnow", "code_mode")
    }
    first = next(iter(parts.values()))
    return {
        "version": first["version"],
        "definitions": first["definitions"],
        "compared": len(both),
        **totals,
        "tasks": rows,
    }


def build_page(figures: Mapping[str, Any]) -> Iterator[str]:
    """The page of the documentation."""
    yield "# The same scripts in FastMCP's CodeMode"
    yield ""
    yield "<!-- Written by `python -m tests.bench.code_mode --write`. Run it again instead of changing this. -->"
    yield ""
    yield from describe(figures)


def describe(figures: Mapping[str, Any]) -> Iterator[str]:
    """The figures in words and a table."""
    if "missing" in figures:
        yield f"Not measured: {figures['missing']}."
        return
    yield f"FastMCP {figures['version']}, a proxy of the same server, with scripts written for it. Tokens for a"
    yield "client of texts, and the median time of three runs. The turns in which an agent looks for tools and"
    yield "their schemas there are not counted; definitions of its own tools take"
    yield f"{figures['definitions']:,} tokens. Times hang on what else the machine was doing."
    yield ""
    yield from markdown_table(("task", "winnow", "", "CodeMode", ""), _peer_rows(figures))


def _peer_rows(figures: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, row in figures["tasks"].items():
        yield (name, *(cell for where in ("winnow", "code_mode") for cell in _peer_cells(row[where])))
    totals = [figures[where] for where in ("winnow", "code_mode")]
    cells = (
        cell
        for one in totals
        for cell in (f"{one['tokens']:,}", f"{one['seconds_median'] or 0:.3f} s at the median")
    )
    yield (f"{figures['compared']} that both answer", *cells)


def _peer_cells(row: Mapping[str, Any]) -> tuple[str, str]:
    if "error" in row:
        return "fails", row["error"].replace("\n", " ").replace("|", "/")[:120]
    return f"{row['tokens']:,}" if row["answered"] else f"({row['tokens']:,})", f"{row['seconds']:.3f} s"


app = command_line(run, EXAMPLES)

if __name__ == "__main__":
    app(prog_name="python -m tests.bench.code_mode")
