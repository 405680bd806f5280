"""``winnow bench code``: what a script saves in time against the same searches as direct calls over stdio."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from server.bench import code as subject
from server.commands.bench.standing import OnProgress, Opened, bar_shown, with_questions
from server.commands.terminal.output import Json, Project, Store, errors_shown, print_json
from server.commands.terminal.screen import Screen
from server.errors import WinnowError
from server.settings import Settings, load_settings

EXAMPLES = "Examples: winnow bench code --project notes | winnow bench code --store /tmp/b --rounds 20 --json"
_ALONE = ("--no-daemon",)
_FEWEST = 2


def run(
    rounds: Annotated[int, typer.Option("--rounds", min=_FEWEST, max=200, help="rounds behind each figure")] = 8,
    project: Project = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Searches in one script against the same searches as direct calls over stdio, with and without the engine.

    Thirty searches at two levels, asked one by one, with asyncio.gather and with search_many; and three with a
    filter. Every round starts a server.
    """
    with errors_shown(as_json=as_json), bar_shown() as progress:
        figures = asyncio.run(_measured(load_settings(store=store, project=project), rounds, progress))
    if as_json:
        print_json(figures)
    else:
        show_code(figures)


async def _measured(settings: Settings, rounds: int, progress: OnProgress) -> dict[str, Any]:
    found = await with_questions(settings, subject.needed(rounds), _found)
    asked, has_model = found.pop("asked"), found["model"] == "ready"
    if len(asked) < subject.needed(_FEWEST):
        raise WinnowError(
            "INVALID_REQUEST",
            f"project {settings.project!r} has headings for {len(asked)} questions; two rounds ask "
            f"{subject.needed(_FEWEST)}: index more",
        )
    ask = partial(_over_stdio, settings, asked=asked, has_model=has_model, progress=progress)
    figures = {"alone": await ask(_ALONE)}
    if settings.daemon == "on":
        figures["engine"] = await ask(())
        await subject.dismiss_engine(settings.store)
    return {**found, **figures}


async def _found(opened: Opened) -> dict[str, Any]:
    return {"chunks": opened.chunks, "model": opened.backends.embedder.state, "asked": list(opened.asked)}


async def _over_stdio(
    settings: Settings, options: Sequence[str], *, asked: Sequence[str], has_model: bool, progress: OnProgress
) -> dict[str, Any]:
    from server.demo.client import connected

    with tempfile.TemporaryDirectory(prefix="winnow-bench-") as scratch:
        log = Path(scratch) / "server.log"

        @asynccontextmanager
        async def connect() -> AsyncIterator[subject.Client]:
            async with connected(settings.store, settings.project, log, options) as client:
                yield client

        return await subject.measure(connect, settings.store, asked, progress, has_model=has_model)


def show_code(figures: Mapping[str, Any]) -> None:
    """For people: a table for each way of serving."""
    console = Screen(highlight=False)
    for served in ("alone", "engine"):
        if served in figures:
            console.print(_table(served, figures))


def _table(served: str, figures: Mapping[str, Any]) -> Table:
    told = figures[served]
    about = f"{served}: {figures['chunks']:,} chunks, {told['rounds']} rounds"
    table = Table("", "", "p50", "p95", "p99", "processor", "its searches", "ratio", title=about)
    parts = {f"{told['searches']} searches, {level}": ways for level, ways in told["many"].items()}
    for part, ways in {**parts, "three and a filter": told["three"]}.items():
        for way, row in ways.items():
            times = (f"{row['ms'][key]:.1f} ms" for key in ("p50", "p95", "p99"))
            rest = (f"{row['searches_ms']['p50']:.1f} ms", f"{row['ratio']['p50']:.3f}") if "ratio" in row else ()
            table.add_row(part, way, *times, f"{row['processor_ms']['p50']:.1f} ms", *rest)
    return table
