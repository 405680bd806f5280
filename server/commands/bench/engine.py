"""``winnow bench engine``: what sharing an engine costs and bears."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress
from rich.table import Table

from server.bench.engine import Job, OnProgress, measure
from server.bench.kb import WARMUP, questions
from server.commands.terminal.output import Json, Project, Store, errors_shown, print_json
from server.commands.terminal.screen import Screen
from server.errors import WinnowError
from server.settings import Settings, load_settings

EXAMPLES = "Examples: winnow bench engine --project notes | winnow bench engine --store ~/notes --servers 4 --json"
_QUESTIONS = 64


def run(
    servers: Annotated[int, typer.Option("--servers", min=1, max=16, help="servers at once")] = 4,
    calls: Annotated[int, typer.Option("--calls", min=20, max=10_000, help="calls behind each figure")] = 400,
    chunks: Annotated[int, typer.Option("--chunks", min=20, max=100_000, help="chunks of each ingest")] = 600,
    kills: Annotated[int, typer.Option("--kills", min=0, max=10, help="how often the engine is killed")] = 2,
    project: Project = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Several servers on one store: memory, what the engine adds to a call, searches beside an ingest, kill -9.

    Works in two copies of the store, in a temporary folder; the store itself is only read.
    """
    with errors_shown(as_json=as_json):
        settings = load_settings(store=store, project=project)
        with tempfile.TemporaryDirectory(prefix="winnow-bench-") as scratch, _shown() as progress:
            job = Job(servers, calls, chunks, kills)
            figures = asyncio.run(measure(settings, job, _asked(settings), Path(scratch), progress))
    if as_json:
        print_json(figures)
    else:
        show(figures)


def _asked(settings: Settings) -> list[str]:
    from server.opening import open_backends

    backends = open_backends(settings, wait_for_model=False)
    try:
        found = questions(backends, settings.project, _QUESTIONS)
    finally:
        backends.close()
    if len(found) <= WARMUP:
        raise WinnowError("INVALID_REQUEST", f"project {settings.project!r} has too few headings to ask about")
    return found


@contextmanager
def _shown() -> Iterator[OnProgress]:
    with Progress(console=Screen(stderr=True), transient=True) as bar:
        task = bar.add_task("")
        yield lambda name, done, of: bar.update(task, description=name, completed=done, total=max(of, 1))


def show(figures: Mapping[str, Any]) -> None:
    """For people: tables."""
    console = Screen(highlight=False)
    table = Table("call", "in process", "through the engine", "added", "processor added", title="warm, in turns")
    for name, row in figures["overhead_ms"].items():
        cells = (
            row["in_process"]["p50"],
            row["through_engine"]["p50"],
            row["added"]["p50"],
            row["processor_added"],
        )
        table.add_row(name, *(f"{one:.2f} ms" for one in cells))
    console.print(table)
    sizes = figures["pss_mb"]
    each = ", ".join(f"{one:.0f}" for one in sizes["each_server"])
    console.print(
        f"PSS in MB: servers {each}; engine {sizes['engine']:.0f}, its keeper {sizes['keeper']:.0f}, sandboxes "
        f"{sizes['sandboxes']:.0f}; {figures['processes_with_a_model']} of the processes with a model"
    )
    for name in ("searches_alone", "searches_beside"):
        row = figures["ingest"][name]
        console.print(f"{name.replace('_', ' ')}: {row['searches']}, {row['errors']} errors, {row['ms']} ms")
    for name, row in figures["ingest"]["lock_waits"].items():
        console.print(
            f"waits at {name}: {row['reads']:,} reads, p95 {row['p95_ms']} ms, at most {row['longest_ms']}"
        )
    for row in figures["killed"]["kills"]:
        console.print(
            f"kill -9: answered after {row['seconds_to_an_answer']} s; {row['documents_reported']} documents "
            f"reported, {row['lost']} lost"
        )
