"""Progress on stderr: of work in several steps, and of an ingest."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, TaskProgressColumn, TextColumn
from rich.progress import Progress as Bar

from server.commands.terminal.output import print_to_stderr
from server.commands.terminal.screen import Screen
from server.text.sizes import count_of

if TYPE_CHECKING:
    from server.ingest.pipeline import Progress

INTERRUPTED = 130  # what a shell expects after Ctrl-C
_PLAIN_EVERY_SECONDS = 3.0
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
        yield lambda name, done, total: print_to_stderr(f"{name}: {done:,} of {total:,} documents")


@contextmanager
def show_progress(what: str = "indexing") -> Iterator[Callable[[Progress], None]]:
    """A function for progress reports, shown on stderr: a bar on a terminal, else a line every few seconds."""
    if sys.stderr.isatty():
        with _show_bar(what) as on_progress:
            yield on_progress
    else:
        yield _print_steps(what)


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


def _print_steps(what: str) -> Callable[[Progress], None]:
    last = time.monotonic()

    def show(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= _PLAIN_EVERY_SECONDS:
            last = time.monotonic()
            part = "" if progress.fraction is None else f" {progress.fraction:.0%}"
            print_to_stderr(f"{what}{part}: {_format_pace(progress)}")

    return show


def _format_pace(progress: Progress) -> str:
    # An ingest knows how many files there are, a rebuild how many documents.
    noun = "file" if progress.bytes_total else "document"
    of = f" of {count_of(progress.documents_total, noun)}" if progress.documents_total else ""
    counts = f"{count_of(progress.documents, 'document')}{of}, {count_of(progress.chunks, 'chunk')}"
    left = "" if progress.seconds_left is None else f", {_format_duration(progress.seconds_left)} left"
    return f"{counts}, {progress.chunks_per_second:.0f} chunks/s{left}"


def _format_duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
