"""``winnow bench``: speed, measured on this host. One command a subject."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from sandbox import SandboxUnavailable
from server.bench import sandbox as subject
from server.commands.output import Json, command, errors_shown, print_json
from server.errors import WinnowError

app = command(no_args_is_help=True)


@app.callback()
def subjects() -> None:
    """Measure speed on this host."""


@app.command(
    epilog="Examples: winnow bench sandbox | winnow bench sandbox --runs 200 --peers ~/peers/bin/python --json"
)
def sandbox(
    runs: Annotated[int, typer.Option("--runs", min=5, max=10_000, help="executions behind each figure")] = 100,
    peers: Annotated[
        str, typer.Option("--peers", metavar="PYTHON", help="an interpreter that has others to measure beside it")
    ] = sys.executable,
    as_json: Json = False,
) -> None:
    """Starting a script, calling the SDK from it, and computing in it, against plain Python and others.

    Others are pydantic-monty, FastMCP's code mode and smolagents, as far as they are installed.
    """
    with errors_shown(as_json=as_json):
        try:
            figures = asyncio.run(subject.measure(runs, peers))
        except SandboxUnavailable as error:
            raise WinnowError("SANDBOX_UNAVAILABLE", str(error)) from None
    if as_json:
        print_json(figures)
    else:
        _show(figures)


def _show(figures: Mapping[str, Any]) -> None:
    console = Console()
    starts = Table("", "p50", "p95", title="start and call")
    for label, key, unit in (
        ("warm 1 + 1", "warm_ms", "ms"),
        ("cold 1 + 1", "cold_ms", "ms"),
        ("plain python, no isolation", "plain_python_ms", "ms"),
        ("SDK call", "sdk_call_us", "µs"),
    ):
        starts.add_row(label, f"{figures[key]['p50']:.2f} {unit}", f"{figures[key]['p95']:.2f} {unit}")
    starts.add_row("its way to the host and back", f"{figures['transport_us']['p50']:.1f} µs", "")
    starts.add_row("one query of search_many", f"{figures['search_many_us_per_query']:.1f} µs", "")
    console.print(starts)
    idle = figures["idle_child_bytes"]
    console.print(
        f"{figures['throughput']['executions_per_s']:,.0f} executions a second, "
        f"{figures['throughput']['at_once']} at once; an idle child holds "
        + ("(not told here)" if idle is None else f"{idle / 2**20:.1f} MiB of its own")
    )
    cpu = Table("script", "inside", "outside", "ratio", title="computing")
    for name, row in figures["cpu"].items():
        cpu.add_row(name, f"{row['inside_ms']:.1f} ms", f"{row['outside_ms']:.1f} ms", f"{row['ratio']:.2f}")
    console.print(cpu)
    others = Table("", "warm", "call", *figures["cpu"], title="others, the same scripts")
    for name, peer in figures["peers"].items():
        others.add_row(name, *_cells(peer))
    console.print(others)


def _cells(peer: Mapping[str, Any]) -> Iterator[str]:
    if "missing" in peer:
        yield f"not measured: {peer['missing']}"
        return
    yield f"{peer['warm_ms']['p50']:.2f} ms"
    yield "-" if peer["host_call_us"] is None else f"{peer['host_call_us']:.0f} µs"
    for row in peer["cpu"].values():
        yield f"{row['ms']:.1f} ms" if "ms" in row else "fails"
