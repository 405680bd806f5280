"""``winnow bench sandbox``: what the sandbox costs, against plain Python."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.table import Table

from winnow.sandbox import SandboxUnavailable
from winnow.server.commands.benchmarks import sandbox as subject
from winnow.server.commands.terminal.output import Json, examples, print_json, report_errors
from winnow.server.commands.terminal.screen import Screen
from winnow.server.errors import WinnowError

MIB = 1024 * 1024
EXAMPLES = examples("winnow bench sandbox", "winnow bench sandbox --runs 200 --json")


def run(
    runs: Annotated[int, typer.Option("--runs", min=5, max=10_000, help="executions behind each figure")] = 100,
    as_json: Json = False,
) -> None:
    """Starting a script, calling the SDK from it, and computing in it, against plain Python."""
    with report_errors(as_json=as_json):
        try:
            figures = asyncio.run(subject.measure(runs))
        except SandboxUnavailable as error:
            raise WinnowError("SANDBOX_UNAVAILABLE", str(error)) from None
    if as_json:
        print_json(figures)
    else:
        show_figures(figures)


def show_figures(figures: Mapping[str, Any]) -> None:
    """Print tables for people."""
    console = Screen(highlight=False)
    starts = Table("", "p50", "p95", "p99", title="start and call")
    for label, key, unit in _STARTS:
        starts.add_row(label, *(f"{figures[key][at]:.2f} {unit}" for at in ("p50", "p95", "p99")))
    starts.add_row("an SDK call's way to the host and back", f"{figures['transport_us']['p50']:.1f} µs", "")
    starts.add_row("one query of search_many", f"{figures['search_many_us_per_query']:.1f} µs", "")
    console.print(starts)
    many, idle = figures["throughput"], figures["idle_child_bytes"]
    console.print(f"{many['executions_per_s']:,.0f} executions a second, {many['at_once']} at once")
    console.print(
        f"an idle child holds {'(not known here)' if idle is None else f'{idle / MIB:.1f} MiB'} of its own"
    )
    cpu = Table("script", "inside", "plain python", "ratio", title="computing, in ms")
    for name, row in figures["cpu"].items():
        cpu.add_row(name, f"{row['inside_ms']:.1f}", f"{row['outside_ms']:.1f}", f"{row['ratio']:.2f}")
    console.print(cpu)


_STARTS = (
    ("warm 1 + 1", "warm_ms", "ms"),
    ("cold 1 + 1", "cold_ms", "ms"),
    ("plain python 1 + 1, no isolation", "plain_python_ms", "ms"),
    ("SDK call", "sdk_call_us", "µs"),
)
