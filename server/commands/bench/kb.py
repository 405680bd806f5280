"""``winnow bench kb``: each step of the ladder of the kb tools over an index that stands."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.table import Table

from server.bench import kb as ladder
from server.commands.bench.standing import Opened, with_questions
from server.commands.terminal.output import Json, Project, Store, errors_shown, print_json
from server.commands.terminal.screen import Screen
from server.settings import load_settings

EXAMPLES = (
    "Examples: winnow bench kb --project notes | "
    "winnow ingest docs/ --store /tmp/b && winnow bench kb --store /tmp/b --json"
)


def run(
    questions: Annotated[
        int, typer.Option("--questions", min=20, max=10_000, help="questions behind each figure")
    ] = 200,
    project: Project = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """The kb tools over an index that stands: each step of the ladder, for headings of the index as questions."""
    with errors_shown(as_json=as_json):
        figures = asyncio.run(with_questions(load_settings(store=store, project=project), questions, _ladder))
    if as_json:
        print_json(figures)
    else:
        _show_ladder(figures)


async def _ladder(opened: Opened) -> dict[str, Any]:
    measured = await ladder.measure(
        opened.base, opened.asked, lambda done: opened.progress("asking", done, len(opened.asked))
    )
    return {"chunks": opened.chunks, "model": opened.backends.embedder.state, **measured}


def _show_ladder(figures: Mapping[str, Any]) -> None:
    table = Table(
        "", "p50", "p95", "p99", title=f"{figures['questions']} questions over {figures['chunks']:,} chunks"
    )
    for name, row in figures["ms"].items():
        table.add_row(name, *(f"{row[key]:.2f} ms" for key in ("p50", "p95", "p99")))
    Screen(highlight=False).print(table)
