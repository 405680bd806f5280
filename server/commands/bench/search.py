"""``winnow bench search``: searches over an index that stands, cold, cached, by stage, at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from server.commands.bench.standing import Opened, with_questions
from server.commands.terminal.output import Json, Project, Store, errors_shown, print_json, tell
from server.commands.terminal.screen import Screen
from server.settings import load_settings

EXAMPLES = (
    "Examples: winnow bench search --project notes --json | "
    "winnow bench search --replay session.jsonl | winnow bench search --peers ~/peers/bin/python"
)


def run(
    questions: Annotated[
        int, typer.Option("--questions", min=20, max=10_000, help="questions behind each figure")
    ] = 200,
    log: Annotated[
        Path | None,
        typer.Option(
            "--replay", metavar="FILE", help="only replay this session, one JSON object of arguments a line"
        ),
    ] = None,
    peers: Annotated[
        str | None,
        typer.Option("--peers", metavar="PYTHON", help="an interpreter that has others to measure beside it"),
    ] = None,
    peer_chunks: Annotated[
        int, typer.Option("--peer-chunks", min=100, max=1_000_000, help="chunks that others are given, at most")
    ] = 20_000,
    project: Project = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Search over an index that stands: cold, from the caches, by stage, eight clients at once, others beside it.

    Others are qdrant-client on a folder, chromadb, lancedb and bm25s, as far as they are installed, and numpy.
    """
    with errors_shown(as_json=as_json):
        settings = load_settings(store=store, project=project)
        work = partial(_replayed, log=log) if log else partial(_searched, peers=peers, peer_chunks=peer_chunks)
        figures = asyncio.run(with_questions(settings, questions if not log else 0, work))
    if as_json:
        print_json(figures)
    elif log:
        tell(f"{figures['hits']} of {figures['calls']} calls from the caches ({figures['hit_rate']:.0%})")
    else:
        _show_search(figures)


async def _searched(opened: Opened, *, peers: str | None, peer_chunks: int) -> dict[str, Any]:
    from server.bench import search, search_peers

    figures = await search.measure(opened.base, opened.backends, opened.project, opened.asked, opened.progress)
    others: dict[str, Any] = {}
    if peers and (model := opened.backends.embedder.ready()):
        others = search_peers.measure(peers, opened.backends, model, opened.project, opened.asked, peer_chunks)
    return {"chunks": opened.chunks, "model": opened.backends.embedder.state, **figures, "peers": others}


async def _replayed(opened: Opened, *, log: Path) -> dict[str, Any]:
    from server.bench.search import replay

    return await replay(opened.base, log)


def _show_search(figures: Mapping[str, Any]) -> None:
    console = Screen(highlight=False)
    table = Table(
        "",
        "p50",
        "p95",
        "p99",
        "processor",
        title=f"{figures['questions']} questions, {figures['chunks']:,} chunks",
    )
    for name, row in {**figures["ms"], **figures["stages_ms"]}.items():
        table.add_row(name, *(f"{row[key]:.2f} ms" for key in ("p50", "p95", "p99", "processor_p50")))
    console.print(table)
    many = figures["at_once"]
    console.print(
        f"{many['clients']} clients at once: {many['searches_per_s']:,.0f} searches a second, "
        f"p95 {many['ms']['p95']:.1f} ms, p99 {many['ms']['p99']:.1f} ms, {many['errors']} errors; "
        f"recall@10 {figures['recall_at_10']}"
    )
    for name, row in figures["peers"].items():
        told = (
            row.get("missing")
            or f"{row['version']}: p50 {row['ms']['p50']:.2f} ms, recall@10 {row['recall_at_10']}"
        )
        console.print(f"{name}  {told}")
