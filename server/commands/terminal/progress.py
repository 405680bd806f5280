"""A progress bar on stderr for work in several steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import Progress

from server.commands.terminal.screen import Screen

OnStep = Callable[[str, int, int], None]  # the step, how much of it is done, how much there is


@contextmanager
def show_steps() -> Iterator[OnStep]:
    """A bar for the current step, removed at the end."""
    with Progress(console=Screen(stderr=True), transient=True) as bar:
        task = bar.add_task("")
        yield lambda name, done, total: bar.update(task, description=name, completed=done, total=max(total, 1))
