"""``winnow bench ingest``: rounds of indexing, here and elsewhere, in turn."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from server.commands.terminal.output import Json, errors_shown, print_json
from server.commands.terminal.screen import Screen
from server.errors import WinnowError
from server.settings import Settings, load_settings

if TYPE_CHECKING:
    from server.bench.ingest import Place
    from server.ingest.documents import RawDocument

_PRECISIONS = ("float32", "int8")
EXAMPLES = (
    "Examples: winnow bench ingest | winnow bench ingest docs/ --chunks 2000 --peers ~/peers/bin/python --json"
)


def run(
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


def measured(
    settings: Settings, folder: Path | None, chunks: int, rounds: int, python: str | None
) -> dict[str, Any]:
    """All figures of one run. Raises ``WinnowError("MODEL_UNAVAILABLE")`` where the default model is missing."""
    from server.backends.models.embedders import load_embedder
    from server.bench import ingest as subject
    from server.bench.stores import STORES, filled

    model = load_embedder(settings)
    work = subject.workload(_documents(folder), chunks)
    model.embed(work.texts[:32])
    ours, apart = [], []
    others: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory(prefix="winnow-bench-") as scratch:
        jobs = dict(_jobs(settings, Path(scratch), work.texts)) if python else {}
        for number in range(rounds):
            with _place(settings, Path(scratch) / f"whole{number}") as place:
                ours.append(subject.end_to_end(work, place, model))
            with _place(settings, Path(scratch) / f"stages{number}") as place:
                apart.append(subject.stages(work, place, model))
            for name in STORES if python else ():
                for precision, job in jobs.items():
                    others.setdefault(f"{name} {precision}", []).append(filled(str(python), name, job))
    whole = subject.middle(ours)
    return {
        **subject.summary(work),
        "rounds": rounds,
        "model": model.fingerprint,
        "end_to_end": whole,
        "stages": {name: subject.middle([round_[name] for round_ in apart]) for name in apart[0]},
        "peers": {name: _beside(whole, rows) for name, rows in others.items()},
    }


def _beside(ours: Mapping[str, float], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A peer's medians, and how many times as fast this is; by processor time, too, where the machine was busy."""
    from server.bench.ingest import middle

    missing = next((row for row in rows if "missing" in row), None)
    if missing:
        return missing
    version = rows[0]["version"]
    row = middle([{name: value for name, value in each.items() if name != "version"} for each in rows])
    return {
        "version": version,
        **row,
        "times_as_fast": round(ours["chunks_per_s"] / row["chunks_per_s"], 2),
        "times_the_processor_time": round(row["processor_ms_per_chunk"] / ours["processor_ms_per_chunk"], 2),
    }


def _jobs(settings: Settings, scratch: Path, texts: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What peers are given: the model as it was published, where its weights are at hand, and as it is here."""
    from server.backends.models import minilm, weights
    from server.bench.stores import job_of

    folder, carrier = minilm.model_folder(settings.models), weights.find_installed_carrier()
    graphs = {"int8": folder / "model.onnx"}
    if carrier:
        graphs["float32"] = scratch / "float32.onnx"
        minilm.write_float32(carrier, graphs["float32"])
    for precision in _PRECISIONS:
        if precision in graphs:
            tokenizer = folder / weights.TOKENIZER
            yield precision, job_of(graphs[precision], tokenizer, minilm.WINDOW, minilm.SLOWER_FUSED, texts)


@contextmanager
def _place(settings: Settings, store: Path) -> Iterator[Place]:
    from server.bench.ingest import PROJECT, Place
    from server.opening import open_backends

    chosen = settings.model_copy(update={"store": store, "project": PROJECT, "qdrant_url": None})
    backends = open_backends(chosen, wait_for_model=False)
    try:
        yield Place(backends.catalogue, backends.store)
    finally:
        backends.close()


def _documents(folder: Path | None) -> Iterator[RawDocument]:
    from server.demo.stdlib import corpus
    from server.ingest.documents import RawDocument
    from server.ingest.file_discovery import find_files, resolve_roots
    from server.ingest.readers import ReadFlaw, read

    if folder is None:
        for module in corpus():
            yield RawDocument(uri=f"{module.name}.md", type="markdown", title=module.name, text=module.markdown())
        return
    if not folder.exists():
        raise WinnowError("INVALID_REQUEST", f"{folder} does not exist")
    for root in resolve_roots([folder], []):
        for file in find_files(root).files:
            yield from (each for each in read(file.path, file.uri) if not isinstance(each, ReadFlaw))


def show_ingest(figures: Mapping[str, Any]) -> None:
    """For people: a table of stages, and one of others."""
    console = Screen(highlight=False)
    about = f"{figures['chunks']:,} chunks of {figures['tokens_per_chunk']:.0f} tokens, {figures['model']}"
    table = Table("", "chunks/s", "processor time", title=about)
    for name, row in {"end to end": figures["end_to_end"], **figures["stages"]}.items():
        table.add_row(name, f"{row['chunks_per_s']:,.0f}", f"{row['processor_ms_per_chunk']:.2f} ms a chunk")
    console.print(table)
    if not figures["peers"]:
        return
    others = Table("", "chunks/s", "processor time", "winnow is", title="the same chunks elsewhere")
    for name, row in figures["peers"].items():
        if "missing" in row:
            others.add_row(name, "", row["missing"], "")
        else:
            times = f"{row['times_as_fast']:.1f} times as fast"
            others.add_row(
                f"{name} ({row['version']})",
                f"{row['chunks_per_s']:,.0f}",
                f"{row['processor_ms_per_chunk']:.2f} ms a chunk",
                times,
            )
    console.print(others)
