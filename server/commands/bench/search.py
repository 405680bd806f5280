"""``winnow bench search``: searches over an existing index, cold, cached, by stage, at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from winnow.server.commands.bench.open_index import OpenIndex, Questions, measure_with_questions
from winnow.server.commands.terminal.output import (
    Json,
    ProjectOption,
    StoreOption,
    examples,
    print_json,
    print_lines,
    report_errors,
)
from winnow.server.commands.terminal.screen import Screen
from winnow.server.settings.loading import load_settings

EXAMPLES = examples("winnow bench search --project notes --json", "winnow bench search --replay session.jsonl")


def run(
    questions: Questions = 200,
    log: Annotated[
        Path | None,
        typer.Option(
            "--replay", metavar="FILE", help="only replay this session, one JSON object of arguments a line"
        ),
    ] = None,
    project: ProjectOption = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Search over an existing index: cold, from the caches, by stage, and with eight clients at once."""
    with report_errors(as_json=as_json):
        settings = load_settings(store=store, project=project)
        measure = partial(_replay, log=log) if log else measure_search
        figures = asyncio.run(measure_with_questions(settings, questions if not log else 0, measure))
    if as_json:
        print_json(figures)
    elif log:
        print_lines(f"{figures['hits']} of {figures['calls']} calls from the caches ({figures['hit_rate']:.0%})")
    else:
        show_figures(figures)


async def measure_search(opened: OpenIndex) -> dict[str, Any]:
    """All figures of an open index."""
    from winnow.server.commands.benchmarks.search import measure

    figures = await measure(opened.base, opened.backends, opened.project, opened.questions, opened.progress)
    return {"chunks": opened.chunks, "model": opened.backends.embedder.state, **figures}


async def _replay(opened: OpenIndex, *, log: Path) -> dict[str, Any]:
    from winnow.server.commands.benchmarks.search import replay

    return await replay(opened.base, log)


def show_figures(figures: Mapping[str, Any]) -> None:
    """Print tables for people."""
    console = Screen(highlight=False)
    table = Table(
        "",
        "p50",
        "p95",
        "p99",
        "processor",
        title=f"{figures['questions']} questions, {figures['chunks']:,} chunks",
    )
    for name, row in {**figures["ms"], **figures["stages_ms"]}.items():
        table.add_row(name, *(f"{row[key]:.2f} ms" for key in ("p50", "p95", "p99", "processor_p50")))
    console.print(table)
    many = figures["at_once"]
    console.print(
        f"{many['clients']} clients at once: {many['searches_per_s']:,.0f} searches a second, "
        f"p95 {many['ms']['p95']:.1f} ms, p99 {many['ms']['p99']:.1f} ms, {many['errors']} errors; "
        f"recall@10 {figures['recall_at_10']}"
    )
