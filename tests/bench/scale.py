"""An index of any size, built from real text: how fast it is written and searched, its memory, disk and recall.

    python -m tests.bench.scale --chunks 100000 --store /tmp/scale --json

The work is done by two processes, ``scale_steps build`` and ``scale_steps ask``, so that each has its own peak of
memory. They get the job as JSON on stdin; they report progress in JSON lines, and their figures in the last one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from tests.bench.command_line import command_line
from tests.bench.scale_steps import Job
from winnow.server.commands.bench.open_index import Questions
from winnow.server.commands.terminal.output import Json, print_json, report_errors
from winnow.server.commands.terminal.progress import show_steps
from winnow.server.commands.terminal.screen import Screen
from winnow.server.errors import WinnowError
from winnow.server.settings.settings import MIB

ROOT = Path(__file__).parents[2]
EXAMPLES = (
    "Examples: python -m tests.bench.scale --chunks 100000 --store /tmp/scale | "
    "python -m tests.bench.scale --chunks 1000000 --from docs/ --store /tmp/scale --json"
)

Progress = Callable[[str, int, int], None]


def run(
    store: Annotated[str, typer.Option("--store", metavar="DIR", help="an empty folder; the index stays in it")],
    chunks: Annotated[int, typer.Option("--chunks", min=1_000, max=10_000_000, help="how many chunks")] = 100_000,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIR", help="real documents to draw from; this Python's own otherwise"),
    ] = None,
    sample: Annotated[int, typer.Option("--sample", min=50, max=100_000, help="real chunks to draw from")] = 4_000,
    questions: Questions = 200,
    as_json: Json = False,
) -> None:
    """An index of any size, drawn from real text and vectors: ingest, memory, disk, search, recall, restart."""
    with report_errors(as_json=as_json), show_steps() as progress:
        figures = measure(Job(chunks, store, str(source or ""), sample, questions), progress)
    if as_json:
        print_json(figures)
    else:
        show_figures(figures)


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """All figures of one corpus. ``job.store`` must be empty or missing; the corpus stays in it.

    Raises ``WinnowError`` where the store is in use, the source holds no prose, or a process failed.
    """
    if Path(job.store).exists() and any(Path(job.store).iterdir()):
        raise WinnowError("INVALID_REQUEST", f"{job.store} is not empty; give an empty folder as --store")
    built = _run_step("build", job, progress)
    started = time.perf_counter()
    asked = _run_step("ask", job, progress, started)
    return {
        "chunks": job.chunks,
        "source": job.source or "this Python's own documentation",
        "vectors": "drawn: mixtures of the model's vectors of real chunks, with noise",
        "disk_mib": _measure_disk_mib(Path(job.store)),
        "build": built,
        "ask": asked,
    }


def _run_step(step: str, job: Job, progress: Progress, started: float = 0.0) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.bench.scale_steps", step]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
        ) as process,
    ):
        assert process.stdin
        assert process.stdout
        json.dump(asdict(job), process.stdin)
        process.stdin.close()
        figures: dict[str, Any] = {}
        for line in process.stdout:
            figures = json.loads(line)
            if "answered" in figures:
                figures = {"restart_s": round(time.perf_counter() - started, 2)}
                restart = figures
            elif "at" in figures:
                progress(figures["at"], figures["done"], figures["of"])
        if process.wait() != 0:
            errors.seek(0)
            raise WinnowError("INTERNAL", errors.read()[-500:])
    return {**figures, **(restart if step == "ask" else {})}


def _measure_disk_mib(folder: Path) -> int:
    """Blocks on disk; files of the vector store are sparse."""
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file()) // MIB


def show_figures(figures: Mapping[str, Any]) -> None:
    """Print the figures for people."""
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


app = command_line(run, EXAMPLES)

if __name__ == "__main__":
    app(prog_name="python -m tests.bench.scale")
