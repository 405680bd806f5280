"""``winnow bench``: speed, and tokens, measured on this host. One command a subject."""

from __future__ import annotations

import asyncio
import secrets
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table

from sandbox import SandboxUnavailable
from server.bench import graph as networks
from server.bench import kb as ladder
from server.bench import sandbox as subject
from server.commands.filling import measured, show_ingest
from server.commands.output import Json, Project, Store, command, errors_shown, print_json
from server.commands.tokens import EPILOG, tokens
from server.errors import WinnowError
from server.knowledge import KnowledgeBase
from server.settings import Settings, load_settings

if TYPE_CHECKING:
    from server.backends.opening import Backends
    from server.graph.base import GraphStore

MIB = 1024 * 1024
# A search has two seconds; here the figure is what it would have taken.
_PATIENCE_SECONDS = 120.0
OnProgress = Callable[[str, int, int], None]

app = command(no_args_is_help=True)


@app.callback()
def subjects() -> None:
    """Measure speed on this host, and the tokens that answers cost."""


app.command(epilog=EPILOG)(tokens)


@app.command(
    epilog="Examples: winnow bench sandbox | winnow bench sandbox --runs 200 --peers ~/peers/bin/python --json"
)
def sandbox(
    runs: Annotated[int, typer.Option("--runs", min=5, max=10_000, help="executions behind each figure")] = 100,
    peers: Annotated[
        str, typer.Option("--peers", metavar="PYTHON", help="an interpreter that has others to measure beside it")
    ] = sys.executable,
    as_json: Json = False,
) -> None:
    """Starting a script, calling the SDK from it, and computing in it, against plain Python and others.

    Others are pydantic-monty, FastMCP's code mode and smolagents, as far as they are installed.
    """
    with errors_shown(as_json=as_json):
        try:
            figures = asyncio.run(subject.measure(runs, peers))
        except SandboxUnavailable as error:
            raise WinnowError("SANDBOX_UNAVAILABLE", str(error)) from None
    if as_json:
        print_json(figures)
    else:
        show(figures)


@app.command(
    epilog="Examples: winnow bench kb --project notes | "
    "winnow ingest docs/ --store /tmp/b && winnow bench kb --store /tmp/b --json"
)
def kb(
    questions: Annotated[
        int, typer.Option("--questions", min=20, max=10_000, help="questions behind each figure")
    ] = 200,
    project: Project = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """The kb tools over an index that stands: each step of the ladder, for headings of the index as questions."""
    with errors_shown(as_json=as_json):
        figures = asyncio.run(_ladder(load_settings(store=store, project=project), questions))
    if as_json:
        print_json(figures)
    else:
        _show_ladder(figures)


@app.command(
    epilog="Examples: winnow bench graph | winnow bench graph --nodes 10000 --edges 100000 --json | "
    "winnow bench graph --neo4j-url bolt://127.0.0.1:7687"
)
def graph(
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
    from server.backends.graph_sqlite import SqliteGraph
    from server.backends.opening import open_neo4j

    made = list(networks.graphs(nodes, edges))
    figures: dict[str, Any] = {**networks.size(made), "questions": questions, "stores": {}}
    with tempfile.TemporaryDirectory(prefix="winnow-bench-") as folder, ExitStack() as opened:
        stores: dict[str, GraphStore] = {"embedded": SqliteGraph(Path(folder) / "graph.sqlite3")}
        if settings.neo4j_url:
            space = f"winnow-bench-{secrets.token_hex(4)}-"
            stores["neo4j"] = open_neo4j(settings, space=space, query_seconds=_PATIENCE_SECONDS)
        bar = opened.enter_context(Progress(console=Console(stderr=True), transient=True))
        for name, store in stores.items():
            opened.callback(store.close)
            task = bar.add_task(name, total=len(made))
            figures["stores"][name] = networks.measure(store, made, questions, partial(_advance, bar, task))
    return figures


def _advance(bar: Progress, task: TaskID, done: int) -> None:
    bar.update(task, completed=done)


def show_graph(figures: Mapping[str, Any]) -> None:
    """For people: a row an operation, two columns a store."""
    stores = figures["stores"]
    columns = [f"{name} {percentile}" for name in stores for percentile in ("p50", "p95")]
    table = Table("", *columns, title=f"{figures['nodes']:,} nodes, {figures['edges']:,} edges")
    for operation in next(iter(stores.values()))["ms"]:
        rows = [each["ms"][operation] for each in stores.values()]
        table.add_row(operation, *(f"{row[key]:.2f} ms" for row in rows for key in ("p50", "p95")))
    table.add_row("import", *(cell for each in stores.values() for cell in (f"{each['import_s']:.2f} s", "")))
    Console(highlight=False).print(table)


@app.command(
    epilog="Examples: winnow bench ingest | "
    "winnow bench ingest docs/ --chunks 2000 --peers ~/peers/bin/python --json"
)
def ingest(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="DIR", help="documents; this Python's documentation if not given", show_default=False
        ),
    ] = None,
    chunks: Annotated[int, typer.Option("--chunks", min=20, max=100_000, help="chunks behind each figure")] = 600,
    rounds: Annotated[int, typer.Option("--rounds", min=1, max=20, help="runs in turn; figures are medians")] = 2,
    peers: Annotated[
        str | None,
        typer.Option("--peers", metavar="PYTHON", help="an interpreter that has others to measure beside it"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Documents to an index in a folder of its own, end to end and stage by stage, with the default model.

    Others are mcp-server-qdrant, chromadb and lancedb, as far as PYTHON has them: given the same chunks and the
    same model, as they use it (float32) and as it is here (int8).
    """
    with errors_shown(as_json=as_json):
        figures = measured(load_settings(graph="off", embedder="minilm"), folder, chunks, rounds, peers)
    if as_json:
        print_json(figures)
    else:
        show_ingest(figures)


@app.command(
    epilog="Examples: winnow bench search --project notes --json | "
    "winnow bench search --replay session.jsonl | winnow bench search --peers ~/peers/bin/python"
)
def search(
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
        figures = asyncio.run(_opened(settings, questions if not log else 0, work))
    if as_json:
        print_json(figures)
    elif log:
        sys.stdout.write(
            f"{figures['hits']} of {figures['calls']} calls from the caches ({figures['hit_rate']:.0%})\n"
        )
    else:
        _show_search(figures)


@app.command(
    epilog="Examples: winnow bench scale --chunks 100000 --store /tmp/scale | "
    "winnow bench scale --chunks 1000000 --from docs/ --store /tmp/scale --json"
)
def scale(
    store: Annotated[str, typer.Option("--store", metavar="DIR", help="an empty folder; the index stays in it")],
    chunks: Annotated[int, typer.Option("--chunks", min=1_000, max=10_000_000, help="how many chunks")] = 100_000,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIR", help="real documents to draw from; this Python's own otherwise"),
    ] = None,
    sample: Annotated[int, typer.Option("--sample", min=50, max=100_000, help="real chunks to draw from")] = 4_000,
    questions: Annotated[int, typer.Option("--questions", min=20, max=10_000, help="behind each figure")] = 200,
    as_json: Json = False,
) -> None:
    """An index of any size, drawn from real text and vectors: ingest, memory, disk, search, recall, restart."""
    from server.bench.scale import Job, measure

    with errors_shown(as_json=as_json), _shown() as progress:
        figures = measure(Job(chunks, store, str(source or ""), sample, questions), progress)
    if as_json:
        print_json(figures)
    else:
        _show_scale(figures)


Work = Callable[[KnowledgeBase, "Backends", Settings, Sequence[str], OnProgress], Awaitable[dict[str, Any]]]


async def _opened(settings: Settings, count: int, work: Work) -> dict[str, Any]:
    """``work`` over the open index, with ``count`` questions that it can answer."""
    from server.backends.opening import open_backends

    backends = await asyncio.to_thread(open_backends, settings, wait_for_model=True)
    base = KnowledgeBase(lambda: backends, settings)
    await base.load()  # from here on its close is theirs
    try:
        asked = ladder.questions(backends, settings.project, count) if count else []
        if count and len(asked) <= ladder.WARMUP:
            raise WinnowError("INVALID_REQUEST", f"project {settings.project!r} has too few headings to ask about")
        with _shown() as progress:
            return await work(base, backends, settings, asked, progress)
    finally:
        base.close()


async def _searched(
    base: KnowledgeBase,
    backends: Backends,
    settings: Settings,
    asked: Sequence[str],
    progress: OnProgress,
    *,
    peers: str | None,
    peer_chunks: int,
) -> dict[str, Any]:
    from server.bench import search, search_peers

    figures = await search.measure(base, backends, settings.project, asked, progress)
    chunks = sum(info.chunks for info in backends.catalogue.projects() if info.name == settings.project)
    others: dict[str, Any] = {}
    if peers and (model := backends.embedder.ready()):
        others = search_peers.measure(peers, backends, model, settings.project, asked, peer_chunks)
    return {"chunks": chunks, "model": backends.embedder.state, **figures, "peers": others}


async def _replayed(
    base: KnowledgeBase,
    backends: Backends,
    settings: Settings,
    asked: Sequence[str],
    progress: OnProgress,
    *,
    log: Path,
) -> dict[str, Any]:
    from server.bench.search import replay

    return await replay(base, log)


@contextmanager
def _shown() -> Iterator[OnProgress]:
    """A bar on stderr for the step that is being done."""
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("")
        yield lambda name, done, of: bar.update(task, description=name, completed=done, total=max(of, 1))


def _show_search(figures: Mapping[str, Any]) -> None:
    console = Console(highlight=False)
    table = Table(
        "", "p50", "p95", "processor", title=f"{figures['questions']} questions, {figures['chunks']:,} chunks"
    )
    for name, row in {**figures["ms"], **figures["stages_ms"]}.items():
        table.add_row(name, *(f"{row[key]:.2f} ms" for key in ("p50", "p95", "processor_p50")))
    console.print(table)
    many = figures["at_once"]
    console.print(
        f"{many['clients']} clients at once: {many['searches_per_s']:,.0f} searches a second, "
        f"p95 {many['ms']['p95']:.1f} ms, {many['errors']} errors; recall@10 {figures['recall_at_10']}"
    )
    for name, row in figures["peers"].items():
        told = (
            row.get("missing")
            or f"{row['version']}: p50 {row['ms']['p50']:.2f} ms, recall@10 {row['recall_at_10']}"
        )
        console.print(f"{name}  {told}")


def _show_scale(figures: Mapping[str, Any]) -> None:
    built, asked = figures["build"], figures["ask"]
    console = Console(highlight=False)
    console.print(
        f"{figures['chunks']:,} chunks drawn from {figures['source']}, {figures['disk_mib']:,} MiB on disk: "
        f"{built['chunks_per_s']:,.0f} a second without the model"
    )
    console.print(
        f"peak memory {built['peak_resident_mib']:,} MiB to write, {asked['peak_resident_mib']:,} MiB to search; "
        f"first answer after {asked['restart_s']:.1f} s"
    )
    table = Table("filter", "p50", "p95", "processor", "recall@10")
    for name, row in asked["hybrid_ms"].items():
        times = (f"{row[key]:.1f} ms" for key in ("p50", "p95", "processor_p50"))
        table.add_row(name, *times, f"{asked['recall_at_10'][name]:.3f}")
    console.print(table)


async def _ladder(settings: Settings, count: int) -> dict[str, Any]:
    from server.backends.opening import open_backends

    backends = await asyncio.to_thread(open_backends, settings, wait_for_model=True)
    base = KnowledgeBase(lambda: backends, settings)
    await base.load()  # from here on its close is theirs
    try:
        asked = ladder.questions(backends, settings.project, count)
        if len(asked) <= ladder.WARMUP:
            raise WinnowError("INVALID_REQUEST", f"project {settings.project!r} has too few headings to ask about")
        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("asking", total=len(asked))
            measured = await ladder.measure(base, asked, lambda done: bar.update(task, completed=done))
        chunks = sum(info.chunks for info in backends.catalogue.projects() if info.name == settings.project)
        return {"chunks": chunks, "model": backends.embedder.state, **measured}
    finally:
        base.close()


def _show_ladder(figures: Mapping[str, Any]) -> None:
    table = Table("", "p50", "p95", title=f"{figures['questions']} questions over {figures['chunks']:,} chunks")
    for name, row in figures["ms"].items():
        table.add_row(name, f"{row['p50']:.2f} ms", f"{row['p95']:.2f} ms")
    Console(highlight=False).print(table)


def show(figures: Mapping[str, Any]) -> None:
    """For people: tables."""
    console = Console(highlight=False)
    starts = Table("", "p50", "p95", title="start and call")
    for label, key, unit in _STARTS:
        starts.add_row(label, f"{figures[key]['p50']:.2f} {unit}", f"{figures[key]['p95']:.2f} {unit}")
    starts.add_row("an SDK call's way to the host and back", f"{figures['transport_us']['p50']:.1f} µs", "")
    starts.add_row("one query of search_many", f"{figures['search_many_us_per_query']:.1f} µs", "")
    console.print(starts)
    many, idle = figures["throughput"], figures["idle_child_bytes"]
    console.print(f"{many['executions_per_s']:,.0f} executions a second, {many['at_once']} at once")
    console.print(
        f"an idle child holds {'(not told here)' if idle is None else f'{idle / MIB:.1f} MiB'} of its own"
    )
    cpu = Table("script", "inside", "plain python", "ratio", title="computing, in ms")
    for name, row in figures["cpu"].items():
        cpu.add_row(name, f"{row['inside_ms']:.1f}", f"{row['outside_ms']:.1f}", f"{row['ratio']:.2f}")
    console.print(cpu, _side_by_side(figures))


_STARTS = (
    ("warm 1 + 1", "warm_ms", "ms"),
    ("cold 1 + 1", "cold_ms", "ms"),
    ("plain python 1 + 1, no isolation", "plain_python_ms", "ms"),
    ("SDK call", "sdk_call_us", "µs"),
)


def _side_by_side(figures: Mapping[str, Any]) -> Table:
    """The same scripts here and elsewhere, each from its start to its end."""
    measured = {name: peer for name, peer in figures["peers"].items() if "missing" not in peer}
    missing = "; ".join(
        f"{name}: {peer['missing']}" for name, peer in figures["peers"].items() if "missing" in peer
    )
    table = Table("", "winnow", *measured, title="side by side, start to end", caption=missing or None)
    warm = [figures["warm_ms"], *(peer["warm_ms"] for peer in measured.values())]
    table.add_row("warm 1 + 1", *(f"{each['p50']:.2f} ms" for each in warm))
    calls = [figures["sdk_call_us"]["p50"], *(peer["host_call_us"] for peer in measured.values())]
    table.add_row("call of the host", *("fails" if each is None else f"{each:.0f} µs" for each in calls))
    for script, row in figures["cpu"].items():
        others = [peer["cpu"][script].get("ms") for peer in measured.values()]
        times = ("fails" if each is None else f"{each:.1f} ms" for each in (row["whole_ms"], *others))
        table.add_row(script, *times)
    return table
