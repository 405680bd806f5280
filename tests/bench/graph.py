"""The graph stores over a generated graph with a power law: written to each store, asked the same.

python -m tests.bench.graph --nodes 10000 --edges 100000 --json
"""

from __future__ import annotations

import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.progress import Progress, TaskID
from rich.table import Table

from tests.bench.command_line import command_line
from winnow.server.backends.graphs.sqlite_graph import SqliteGraph
from winnow.server.backends.opening import open_neo4j
from winnow.server.commands.bench.open_index import Questions
from winnow.server.commands.benchmarks.figures import percentiles
from winnow.server.commands.terminal.output import Json, print_json, report_errors
from winnow.server.commands.terminal.screen import Screen
from winnow.server.errors import WinnowError
from winnow.server.ids import chunk_id, document_id, entity_id
from winnow.server.retrieval.graph.base import GraphStore, RankQuery
from winnow.server.retrieval.graph.records import DocumentGraph, Edge, Node
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

PROJECT = "bench"
CHUNKS_EACH = 24
# Documents in one change, about as many as an ingest writes.
_BATCH = 50
_TYPES = ("term", "identifier", "product")
_WARMUP = 10
# Ranks are the slowest; fewer questions give the same figures.
_RANKED = 50
# A search may take two seconds; a benchmark measures how long it would have taken.
_PATIENCE_SECONDS = 120.0
EXAMPLES = (
    "Examples: python -m tests.bench.graph | python -m tests.bench.graph --nodes 10000 --edges 100000 --json | "
    "python -m tests.bench.graph --neo4j-url bolt://127.0.0.1:7687"
)


def run(
    nodes: Annotated[int, typer.Option("--nodes", min=100, max=1_000_000, help="nodes of the graph")] = 100_000,
    edges: Annotated[int, typer.Option("--edges", min=100, max=10_000_000, help="its edges")] = 1_000_000,
    questions: Questions = 500,
    neo4j_url: Annotated[
        str | None,
        typer.Option("--neo4j-url", metavar="URL", help="measure this Neo4j server beside it (setting neo4j_url)"),
    ] = None,
    as_json: Json = False,
) -> None:
    """The graph stores over a generated graph: written, derived, walked.

    A Neo4j server gets the graph under a name of its own, which is deleted at the end.
    """
    with report_errors(as_json=as_json):
        settings = load_settings(**({"neo4j_url": neo4j_url} if neo4j_url else {}))
        figures = _measure_stores(settings, nodes, edges, questions)
    if as_json:
        print_json(figures)
    else:
        show_figures(figures)


def _measure_stores(settings: Settings, nodes: int, edges: int, questions: int) -> dict[str, Any]:
    graphs = list(generate_graphs(nodes, edges))
    figures: dict[str, Any] = {**count_items(graphs), "questions": questions, "stores": {}}
    with tempfile.TemporaryDirectory(prefix="winnow-bench-") as folder, ExitStack() as opened:
        stores: dict[str, GraphStore] = {"embedded": SqliteGraph(Path(folder) / "graph.sqlite3")}
        if settings.neo4j_url:
            space = f"winnow-bench-{secrets.token_hex(4)}-"
            stores["neo4j"] = open_neo4j(settings, space=space, query_seconds=_PATIENCE_SECONDS)
        bar = opened.enter_context(Progress(console=Screen(stderr=True), transient=True))
        for name, store in stores.items():
            opened.callback(store.close)
            task = bar.add_task(name, total=len(graphs))
            figures["stores"][name] = measure(store, graphs, questions, partial(_show_progress, bar, task))
    return figures


def _show_progress(bar: Progress, task: TaskID, done: int) -> None:
    bar.update(task, completed=done)


def generate_graphs(nodes: int, edges: int) -> Iterator[DocumentGraph]:
    """Documents of 24 chunks with links to popular entities; about ``nodes`` and ``edges`` in all.

    Raises ``WinnowError("INVALID_REQUEST")`` where the nodes are too few for two documents, or the edges for them.
    """
    generator = np.random.default_rng(0)
    documents = nodes // 2 // (CHUNKS_EACH + 1)
    entities = nodes - documents * (CHUNKS_EACH + 1)
    own = [document_id(PROJECT, f"doc{at}.md") for at in range(documents)]
    names = [
        Node(entity_id(PROJECT, f"name {at}"), "Entity", _TYPES[at % 3], f"name {at}") for at in range(entities)
    ]
    each = edges // max(documents, 1) - (2 * CHUNKS_EACH - 1)
    if documents < 2 or each < 1:
        raise WinnowError("INVALID_REQUEST", "a graph to measure needs 100 nodes and as many edges, or more")
    for at, id in enumerate(own):
        chunks = [chunk_id(PROJECT, id, (), "", number) for number in range(CHUNKS_EACH)]
        share = each * 45 // 100
        mentioned = _draw_popular(generator, entities, share)
        calls = _draw_popular(generator, entities, share), generator.integers(0, entities, share)
        linked = _draw_popular(generator, documents, each - 2 * share)
        drawn = [Edge(chunk, id, "PART_OF", 1.0, 1.0, (chunk,), id) for chunk in chunks]
        drawn += [Edge(a, b, "NEXT", 1.0, 1.0, (a, b), id) for a, b in pairwise(chunks)]
        for number, name in enumerate(mentioned.tolist()):
            chunk = chunks[number % CHUNKS_EACH]
            drawn.append(Edge(chunk, names[name].id, "MENTIONS", number % 7 / 4, 0.8, (chunk,), id))
        for one, other in zip(*(ends.tolist() for ends in calls), strict=True):
            drawn.append(Edge(names[other].id, names[one].id, "CALLS", 1.0, 0.9, (chunks[0],), id))
        drawn += [Edge(chunks[k % CHUNKS_EACH], own[k], "LINKS_TO", 1.0, 1.0, (), id) for k in linked.tolist()]
        touched = np.unique(np.concatenate([mentioned, *calls])).tolist()
        yield DocumentGraph(
            id,
            (
                Node(id, "Document", "markdown", f"Document {at}", anchor=f"doc{at}.md", document_id=id),
                *(Node(chunk, "Chunk", "chunk", f"Chunk {chunk}", document_id=id) for chunk in chunks),
                *(names[name] for name in touched),
            ),
            tuple(drawn),
        )


def _draw_popular(generator: np.random.Generator, size: int, count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """``count`` indices below ``size``; low ones are the most frequent, density falls as the square root does."""
    return (generator.random(count) ** 2 * size).astype(np.int64)


def count_items(graphs: Sequence[DocumentGraph]) -> dict[str, int]:
    """How many documents, distinct nodes and edges there are."""
    return {
        "documents": len(graphs),
        "nodes": len({node.id for graph in graphs for node in graph.nodes}),
        "edges": sum(len(graph.edges) for graph in graphs),
    }


def measure(
    store: GraphStore,
    graphs: Sequence[DocumentGraph],
    questions: int,
    progress: Callable[[int], None] = lambda done: None,
) -> dict[str, Any]:
    """Seconds of the import, and milliseconds of each operation over ``questions`` random starts, warm.

    ``import_s`` is writing, deriving and the first read; ``cpu`` is the processor time of this process alone.
    ``progress`` gets the number of documents written so far. The graph is deleted at the end.
    """
    try:
        return {**_measure_import(store, graphs, progress), **_measure_questions(store, graphs, questions)}
    finally:
        _delete(store, sorted(store.documents(PROJECT)))


def _measure_import(
    store: GraphStore, graphs: Sequence[DocumentGraph], progress: Callable[[int], None]
) -> dict[str, float]:
    began, working = time.perf_counter(), time.process_time()
    for start in range(0, len(graphs), _BATCH):
        store.apply(PROJECT, graphs[start : start + _BATCH])
        progress(min(start + _BATCH, len(graphs)))
    applied = time.perf_counter()
    store.derive(PROJECT)
    derived = time.perf_counter()
    store.neighbours(PROJECT, [graphs[0].document_id])
    read, worked = time.perf_counter(), time.process_time()
    return {
        "import_s": round(read - began, 2),
        "import_cpu_s": round(worked - working, 2),
        "apply_s": round(applied - began, 2),
        "derive_s": round(derived - applied, 2),
        "first_read_s": round(read - derived, 2),
    }


def _measure_questions(store: GraphStore, graphs: Sequence[DocumentGraph], questions: int) -> dict[str, Any]:
    ids = [node.id for graph in graphs for node in graph.nodes]
    picked = np.random.default_rng(1).integers(0, len(ids), 2 * questions).tolist()
    pairs = [(ids[one], ids[other]) for one, other in zip(picked[:questions], picked[questions:], strict=True)]
    operations: dict[str, Callable[[str, str], object]] = {
        "1 hop, page of 25": lambda one, other: store.neighbours(PROJECT, [one]),
        "2 hops, page of 50": lambda one, other: store.expand(PROJECT, [one], 2, limit=50),
        "shortest path <= 6 hops": lambda one, other: store.paths(PROJECT, [one], [other], 6, limit=1),
        "ranks of 2 seeds": lambda one, other: store.ranks(PROJECT, RankQuery({one: 1.0, other: 0.5})),
    }
    few = {"ranks of 2 seeds": pairs[:_RANKED]}
    return {"ms": {name: _time_questions(ask, few.get(name, pairs)) for name, ask in operations.items()}}


def _time_questions(ask: Callable[[str, str], object], pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    for pair in pairs[:_WARMUP]:
        ask(*pair)
    wall, processor = [], []
    for pair in pairs:
        began, working = time.perf_counter(), time.process_time()
        ask(*pair)
        processor.append((time.process_time() - working) * 1000)
        wall.append((time.perf_counter() - began) * 1000)
    return {**percentiles(wall), "cpu": percentiles(processor)}


def _delete(store: GraphStore, ids: Sequence[str]) -> None:
    for start in range(0, len(ids), _BATCH):
        store.apply(PROJECT, (), ids[start : start + _BATCH])


def show_figures(figures: Mapping[str, Any]) -> None:
    """Print a table for people: a row for each operation, three columns for each store."""
    stores = figures["stores"]
    columns = [f"{name} {percentile}" for name in stores for percentile in ("p50", "p95", "p99")]
    table = Table("", *columns, title=f"{figures['nodes']:,} nodes, {figures['edges']:,} edges")
    for operation in next(iter(stores.values()))["ms"]:
        rows = [each["ms"][operation] for each in stores.values()]
        table.add_row(operation, *(f"{row[key]:.2f} ms" for row in rows for key in ("p50", "p95", "p99")))
    table.add_row("import", *(cell for each in stores.values() for cell in (f"{each['import_s']:.2f} s", "", "")))
    Screen(highlight=False).print(table)


app = command_line(run, EXAMPLES)

if __name__ == "__main__":
    app(prog_name="python -m tests.bench.graph")
