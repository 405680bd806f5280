"""``winnow bench graph``: the graph stores over a graph made up for it."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress, TaskID
from rich.table import Table

from server.bench import graph as networks
from server.commands.terminal.output import Json, errors_shown, print_json
from server.commands.terminal.screen import Screen
from server.settings import Settings, load_settings

if TYPE_CHECKING:
    from server.graph.base import GraphStore

# A search has two seconds; here the figure is what it would have taken.
_PATIENCE_SECONDS = 120.0
EXAMPLES = (
    "Examples: winnow bench graph | winnow bench graph --nodes 10000 --edges 100000 --json | "
    "winnow bench graph --neo4j-url bolt://127.0.0.1:7687"
)


def run(
    nodes: Annotated[int, typer.Option("--nodes", min=100, max=1_000_000, help="nodes of the graph")] = 100_000,
    edges: Annotated[int, typer.Option("--edges", min=100, max=10_000_000, help="its edges")] = 1_000_000,
    questions: Annotated[
        int, typer.Option("--questions", min=20, max=10_000, help="questions behind each figure")
    ] = 500,
    neo4j_url: Annotated[
        str | None,
        typer.Option("--neo4j-url", metavar="URL", help="measure this Neo4j server beside it (setting neo4j_url)"),
    ] = None,
    as_json: Json = False,
) -> None:
    """The graph stores over a graph made up for it: written, derived, walked.

    A Neo4j server gets the graph under a name of its own, which is taken out at the end.
    """
    with errors_shown(as_json=as_json):
        settings = load_settings(**({"neo4j_url": neo4j_url} if neo4j_url else {}))
        figures = _graph_figures(settings, nodes, edges, questions)
    if as_json:
        print_json(figures)
    else:
        show_graph(figures)


def _graph_figures(settings: Settings, nodes: int, edges: int, questions: int) -> dict[str, Any]:
    from server.backends.graphs.sqlite_graph import SqliteGraph
    from server.opening import open_neo4j

    made = list(networks.graphs(nodes, edges))
    figures: dict[str, Any] = {**networks.size(made), "questions": questions, "stores": {}}
    with tempfile.TemporaryDirectory(prefix="winnow-bench-") as folder, ExitStack() as opened:
        stores: dict[str, GraphStore] = {"embedded": SqliteGraph(Path(folder) / "graph.sqlite3")}
        if settings.neo4j_url:
            space = f"winnow-bench-{secrets.token_hex(4)}-"
            stores["neo4j"] = open_neo4j(settings, space=space, query_seconds=_PATIENCE_SECONDS)
        bar = opened.enter_context(Progress(console=Screen(stderr=True), transient=True))
        for name, store in stores.items():
            opened.callback(store.close)
            task = bar.add_task(name, total=len(made))
            figures["stores"][name] = networks.measure(store, made, questions, partial(_advance, bar, task))
    return figures


def _advance(bar: Progress, task: TaskID, done: int) -> None:
    bar.update(task, completed=done)


def show_graph(figures: Mapping[str, Any]) -> None:
    """For people: a row an operation, three columns a store."""
    stores = figures["stores"]
    columns = [f"{name} {percentile}" for name in stores for percentile in ("p50", "p95", "p99")]
    table = Table("", *columns, title=f"{figures['nodes']:,} nodes, {figures['edges']:,} edges")
    for operation in next(iter(stores.values()))["ms"]:
        rows = [each["ms"][operation] for each in stores.values()]
        table.add_row(operation, *(f"{row[key]:.2f} ms" for row in rows for key in ("p50", "p95", "p99")))
    table.add_row("import", *(cell for each in stores.values() for cell in (f"{each['import_s']:.2f} s", "", "")))
    Screen(highlight=False).print(table)
