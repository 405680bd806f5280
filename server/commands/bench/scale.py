"""``winnow bench scale``: an index of any size, drawn from real text and vectors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from server.commands.bench.standing import bar_shown
from server.commands.terminal.output import Json, errors_shown, print_json
from server.commands.terminal.screen import Screen

EXAMPLES = (
    "Examples: winnow bench scale --chunks 100000 --store /tmp/scale | "
    "winnow bench scale --chunks 1000000 --from docs/ --store /tmp/scale --json"
)


def run(
    store: Annotated[str, typer.Option("--store", metavar="DIR", help="an empty folder; the index stays in it")],
    chunks: Annotated[int, typer.Option("--chunks", min=1_000, max=10_000_000, help="how many chunks")] = 100_000,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIR", help="real documents to draw from; this Python's own otherwise"),
    ] = None,
    sample: Annotated[int, typer.Option("--sample", min=50, max=100_000, help="real chunks to draw from")] = 4_000,
    questions: Annotated[int, typer.Option("--questions", min=20, max=10_000, help="behind each figure")] = 200,
    as_json: Json = False,
) -> None:
    """An index of any size, drawn from real text and vectors: ingest, memory, disk, search, recall, restart."""
    from server.bench.scale import Job, measure

    with errors_shown(as_json=as_json), bar_shown() as progress:
        figures = measure(Job(chunks, store, str(source or ""), sample, questions), progress)
    if as_json:
        print_json(figures)
    else:
        _show_scale(figures)


def _show_scale(figures: Mapping[str, Any]) -> None:
    built, asked = figures["build"], figures["ask"]
    console = Screen(highlight=False)
    console.print(
        f"{figures['chunks']:,} chunks drawn from {figures['source']}, {figures['disk_mib']:,} MiB on disk: "
        f"{built['chunks_per_s']:,.0f} a second without the model"
    )
    console.print(
        f"peak memory {built['peak_resident_mib']:,} MiB to write, {asked['peak_resident_mib']:,} MiB to search; "
        f"first answer after {asked['restart_s']:.1f} s"
    )
    table = Table("filter", "p50", "p95", "p99", "processor", "recall@10")
    for name, row in asked["hybrid_ms"].items():
        times = (f"{row[key]:.1f} ms" for key in ("p50", "p95", "p99", "processor_p50"))
        recall = asked["recall_at_10"].get(name)
        table.add_row(name, *times, "" if recall is None else f"{recall:.3f}")
    console.print(table)
