"""``winnow bench tokens``: the tokens that the same answers cost with direct tools and with a script."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.progress import Progress

from winnow.server.commands.terminal.output import Json, examples, print_json, print_lines, report_errors
from winnow.server.commands.terminal.progress import show_progress
from winnow.server.commands.terminal.screen import Screen
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings, default_models

if TYPE_CHECKING:
    from winnow.server.commands.token_benchmark.collection import TaskCollection
    from winnow.server.commands.token_benchmark.measuring import Trial
    from winnow.server.commands.token_benchmark.task import BenchmarkTask

EXAMPLES = examples(
    "winnow bench tokens",
    "winnow bench tokens --collection ~/collections --json",
    "winnow bench tokens --task needle-nlargest",
)
Clients = Literal["text", "structured", "both"]


def run(
    folder: Annotated[
        Path | None,
        typer.Option(
            "--collection",
            metavar="DIR",
            help="a collection (k8s_docs, hotpot100, 2wiki, scifact), or a folder of them",
            show_default=False,
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--task", metavar="ID", help="only this task, with what each arm was told; repeatable"),
    ] = None,
    client: Annotated[
        Clients, typer.Option("--client", help="whose figures are shown: hosts hand over text or structure")
    ] = "both",
    store: Annotated[
        Path | None,
        typer.Option(
            "--store",
            metavar="DIR",
            help="where the indexes are kept, a folder each; the user's cache if not given",
            show_default=False,
        ),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(
            "--write", metavar="DIR", help="write tokens.md and tokens.svg to this folder", show_default=False
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Tokens that an agent writes and reads until it has the answer, by arm: direct tools, and one script.

    Tasks of a missing collection are skipped; this Python's own documentation is always there.
    """
    from winnow.server.commands.token_benchmark import chart, measuring, report

    with report_errors(as_json=as_json):
        tasks, collections, skipped = choose_tasks(folder, only or [])
        trials, definitions = _measure_tasks(tasks, collections, store or default_indexes())
        figures = measuring.figures([trial.measured for trial in trials], definitions, _first_client(client))
        figures["skipped"] = skipped
        if write:
            _write_files(write, {"tokens.md": report.markdown(figures), "tokens.svg": chart.svg(figures)})
    if as_json:
        print_json(figures)
        return
    for trial in trials if only else ():
        print_lines(*report.describe_trial(trial).splitlines())
    clients = ("text", "structured") if client == "both" else (client,)
    print_lines(*report.text(figures, clients).splitlines())


def default_indexes() -> Path:
    """The folder of the indexes without ``--store``."""
    return default_models().parent / "bench-tokens"


def _first_client(client: Clients) -> Any:
    return "structured" if client == "structured" else "text"


def _write_files(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def choose_tasks(
    folder: Path | None, only: Sequence[str]
) -> tuple[list[BenchmarkTask], Mapping[str, TaskCollection], dict[str, int]]:
    """The tasks that can run here, the collections by name, and the number of skipped tasks by collection."""
    from winnow.server.commands.token_benchmark.collection import COLLECTIONS, find_collections
    from winnow.server.commands.token_benchmark.task import load

    if folder is not None and not folder.is_dir():
        raise WinnowError("NOT_FOUND", f"--collection: {folder} is no folder")
    tasks, collections = load(), find_collections(folder)
    if unknown := {*only} - {task.id for task in tasks}:
        raise WinnowError("NOT_FOUND", f"no task {min(unknown)!r}; server/commands/token_benchmark/tasks has them")
    wanted = [task for task in tasks if not only or task.id in only]
    missing = [task.collection for task in wanted if task.collection not in collections]
    if only and missing:
        raise WinnowError("NOT_FOUND", f"the task needs the collection {missing[0]}: --collection DIR")
    skipped = {name: missing.count(name) for name in COLLECTIONS if name in missing}
    return [task for task in wanted if task.collection in collections], collections, skipped


def _measure_tasks(
    tasks: Sequence[BenchmarkTask], collections: Mapping[str, TaskCollection], indexes: Path
) -> tuple[list[Trial], dict[str, int]]:
    """Bring the index of each collection up to date, then run its tasks."""
    from winnow.server.commands.token_benchmark.measuring import measure

    trials: list[Trial] = []
    definitions: dict[str, int] = {}
    for name, collection in collections.items():
        mine = [task for task in tasks if task.collection == name]
        if not mine:
            continue
        settings = load_settings(store=indexes / name, project=collection.project)
        index_collection(collection, settings)
        with Progress(console=Screen(stderr=True), transient=True) as bar:
            measuring = measure(
                collection, settings.store, mine, _progress_on(bar), by_model=settings.embedding != "off"
            )
            done, definitions = asyncio.run(measuring)
        trials += done
    order = {task.id: number for number, task in enumerate(tasks)}
    return sorted(trials, key=lambda trial: order[trial.measured.id]), definitions


def _progress_on(bar: Progress) -> Callable[[str, int, int], None]:
    task = bar.add_task("")
    return lambda name, done, of: bar.update(task, description=f"asking {name}", completed=done, total=of)


def index_collection(collection: TaskCollection, settings: Settings) -> None:
    """Bring the index of a collection up to date."""
    from winnow.server.backends.opening import open_backends
    from winnow.server.ingest.pipeline import ingest_documents, ingest_files
    from winnow.server.ingest.selection.request import IngestRequest
    from winnow.server.jobs.target import target_of

    backends = open_backends(settings, wait_for_model=True)
    try:
        target = target_of(settings, backends, backends.embedder.wait())
        with show_progress(f"indexing {collection.name}") as progress:
            if collection.folder is None:
                documents = list(collection.documents())
                report = ingest_documents(target, "python", documents, total=len(documents), progress=progress)
            else:
                report = ingest_files(target, IngestRequest(paths=tuple(collection.paths())), progress)
        if report.failures:
            first = report.failures[0]
            raise WinnowError("INVALID_REQUEST", f"{collection.name}: {first.name}: {first.reason}")
    finally:
        backends.close()
