"""An existing index, opened for a benchmark."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.server.commands.benchmarks.questions import WARMUP, pick_questions
from winnow.server.commands.terminal.progress import OnStep, show_steps
from winnow.server.errors import WinnowError
from winnow.server.operations.knowledge import KnowledgeBase
from winnow.server.settings.settings import Settings

if TYPE_CHECKING:
    from winnow.server.backends.opening import Backends

Questions = Annotated[int, typer.Option("--questions", min=20, max=10_000, help="questions behind each figure")]


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """An open index, its project, and questions that it can answer; ``progress`` moves a bar."""

    base: KnowledgeBase
    backends: Backends
    project: str
    questions: Sequence[str]
    progress: OnStep

    @property
    def chunks(self) -> int:
        """The number of chunks of the project."""
        return sum(info.chunks for info in self.backends.catalogue.projects() if info.name == self.project)


Work = Callable[[OpenIndex], Awaitable[dict[str, Any]]]


async def measure_with_questions(settings: Settings, count: int, work: Work) -> dict[str, Any]:
    """Run ``work`` over the index of ``settings`` with ``count`` questions, which may be 0."""
    from winnow.server.backends.opening import open_backends

    backends = await asyncio.to_thread(open_backends, settings, wait_for_model=True)
    base = KnowledgeBase(lambda: backends, settings)
    await base.load()  # its close() closes the backends, too
    try:
        questions = pick_questions(backends, settings.project, count) if count else []
        if count and len(questions) <= WARMUP:
            raise WinnowError("INVALID_REQUEST", f"project {settings.project!r} has too few headings to ask about")
        with show_steps() as progress:
            return await work(OpenIndex(base, backends, settings.project, questions, progress))
    finally:
        base.close()
