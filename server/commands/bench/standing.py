"""An index that stands, open for a benchmark, and the bar that shows how far it is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.progress import Progress

from server.bench.questions import WARMUP, pick_questions
from server.commands.terminal.screen import Screen
from server.errors import WinnowError
from server.knowledge import KnowledgeBase
from server.settings import Settings

if TYPE_CHECKING:
    from server.opening import Backends

OnProgress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Opened:
    """An open index, its project, and questions that it can answer. ``progress(step, done, of)`` moves the bar."""

    base: KnowledgeBase
    backends: Backends
    project: str
    asked: Sequence[str]
    progress: OnProgress

    @property
    def chunks(self) -> int:
        """How many chunks the project has."""
        return sum(info.chunks for info in self.backends.catalogue.projects() if info.name == self.project)


Work = Callable[[Opened], Awaitable[dict[str, Any]]]


async def with_questions(settings: Settings, count: int, work: Work) -> dict[str, Any]:
    """What ``work`` measures over the index of ``settings``, with ``count`` questions (none: 0)."""
    from server.opening import open_backends

    backends = await asyncio.to_thread(open_backends, settings, wait_for_model=True)
    base = KnowledgeBase(lambda: backends, settings)
    await base.load()  # from here on its close is theirs
    try:
        asked = pick_questions(backends, settings.project, count) if count else []
        if count and len(asked) <= WARMUP:
            raise WinnowError("INVALID_REQUEST", f"project {settings.project!r} has too few headings to ask about")
        with bar_shown() as progress:
            return await work(Opened(base, backends, settings.project, asked, progress))
    finally:
        base.close()


@contextmanager
def bar_shown() -> Iterator[OnProgress]:
    """A bar on stderr for the step that is being done."""
    with Progress(console=Screen(stderr=True), transient=True) as bar:
        task = bar.add_task("")
        yield lambda name, done, of: bar.update(task, description=name, completed=done, total=max(of, 1))
