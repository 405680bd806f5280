"""Progress on stderr: of work in several steps, and of an ingest."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from rich.progress import BarColumn, TaskProgressColumn, TextColumn
from rich.progress import Progress as Bar

from winnow.server.commands.terminal.output import print_to_stderr
from winnow.server.commands.terminal.screen import Screen
from winnow.server.text.printable import one_line
from winnow.server.text.sizes import count_of

if TYPE_CHECKING:
    from winnow.server.ingest.pipeline import Progress

INTERRUPTED = 130  # what a shell expects after Ctrl-C
_PLAIN_EVERY_SECONDS = 3.0
_NAME_CHARS = 50
OnStep = Callable[[str, int, int], None]  # the step, how much of it is done, how much there is


@contextmanager
def show_steps() -> Iterator[OnStep]:
    """A bar for the current step, removed at the end."""
    with Bar(console=Screen(stderr=True), transient=True) as bar:
        task = bar.add_task("")
        yield lambda name, done, total: bar.update(task, description=name, completed=done, total=max(total, 1))


@contextmanager
def show_terminal_steps() -> Iterator[OnStep]:
    """As ``show_steps``; where stderr is no terminal, nothing."""
    if sys.stderr.isatty():
        with show_steps() as on_step:
            yield on_step
    else:
        yield lambda name, done, total: None


@contextmanager
def show_counts() -> Iterator[OnStep]:
    """As ``show_steps``; where stderr is no terminal, a line for each report."""
    if sys.stderr.isatty():
        with show_steps() as on_step:
            yield on_step
    else:
        yield lambda name, done, total: print_to_stderr(f"{name}: {done:,} of {count_of(total, 'document')}")


@contextmanager
def show_trials(what: str, total: int) -> Iterator[Callable[[], None]]:
    """A function to call after each of ``total`` trials: a bar on a terminal, else a line every few seconds."""
    is_seen = sys.stderr.isatty()
    with Bar(console=Screen(stderr=True), transient=True, disable=not is_seen) as bar:
        task = bar.add_task(what, total=total)
        lines = (
            nullcontext() if is_seen else _print_lines(lambda: f"{what}: {bar.tasks[0].completed:,} of {total:,}")
        )
        with lines:
            yield lambda: bar.advance(task)


@contextmanager
def show_progress(what: str = "indexing") -> Iterator[Callable[[Progress], None]]:
    """A function for progress reports, shown on stderr: a bar on a terminal, else a line every few seconds."""
    if sys.stderr.isatty():
        with _show_bar(what) as on_progress:
            yield on_progress
    else:
        with _print_steps(what) as on_progress:
            yield on_progress


@contextmanager
def _show_bar(what: str) -> Iterator[Callable[[Progress], None]]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[pace]}"),
    )
    with Bar(*columns, console=Screen(stderr=True)) as bar:
        task = bar.add_task(what, total=None, pace="")

        def show(progress: Progress) -> None:
            total = None if progress.fraction is None else 1.0
            bar.update(task, total=total, completed=progress.fraction or 0.0, pace=_format_pace(progress))

        yield show


@contextmanager
def _print_steps(what: str) -> Iterator[Callable[[Progress], None]]:
    """A line every few seconds, also while nothing is reported: the last steps of an ingest report nothing."""
    last: list[Progress] = []
    began = time.monotonic()

    def describe() -> str:
        if not last:
            return f"{what}: {_format_duration(time.monotonic() - began)}"
        part = "" if last[0].fraction is None else f" {last[0].fraction:.0%}"
        return f"{what}{part}: {_format_pace(last[0])}"

    def show(progress: Progress) -> None:
        last[:] = [progress]

    with _print_lines(describe):
        yield show


@contextmanager
def _print_lines(describe: Callable[[], str]) -> Iterator[None]:
    """Print what ``describe`` returns every few seconds, in a thread of its own."""
    is_over = threading.Event()

    def print_lines() -> None:
        while not is_over.wait(_PLAIN_EVERY_SECONDS):
            print_to_stderr(describe())

    printer = threading.Thread(target=print_lines, name="winnow-progress", daemon=True)
    printer.start()
    try:
        yield
    finally:
        is_over.set()
        printer.join()


def _format_pace(progress: Progress) -> str:
    # An ingest knows how many files there are, a rebuild how many documents.
    noun = "file" if progress.bytes_total else "document"
    of = f" of {count_of(progress.documents_total, noun)}" if progress.documents_total else ""
    chunks = count_of(progress.chunks + progress.computed, "chunk")
    counts = f"{count_of(progress.documents, 'document')}{of}, {chunks}"
    left = "" if progress.seconds_left is None else f", {_format_duration(progress.seconds_left)} left"
    current = f"; {one_line(progress.current, _NAME_CHARS)}" if progress.current else ""
    return f"{counts}, {progress.chunks_per_second:.0f} chunks/s{left}{current}"


def _format_duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
