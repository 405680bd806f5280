"""How an ingest shows how far it is: a bar on a terminal, a line now and then where nobody watches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

from server.ingest.pipeline import Progress

LINE_SECONDS = 10.0

Show = Callable[[Progress], None]


@contextmanager
def shown(console: Console) -> Iterator[Show]:
    """What to call with every step; what it drew is gone or complete when the block ends."""
    if not console.is_terminal:
        yield _lines(console)
        return
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None, rate="")

        def show(step: Progress) -> None:
            bar.update(task, completed=step.documents, total=step.documents_total or None, rate=_rate(step))

        yield show


def _lines(console: Console) -> Show:
    last = time.monotonic()

    def show(step: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_SECONDS:
            last = time.monotonic()
            of = f" of {step.documents_total}" if step.documents_total else ""
            console.print(f"{step.documents}{of} documents, {_rate(step)}")

    return show


def _rate(step: Progress) -> str:
    left = "" if step.seconds_left is None else f", {step.seconds_left:.0f} s left"
    return f"{step.chunks:,} chunks, {step.chunks_per_second:.0f}/s{left}"
