"""Indexing speed: end to end, and each stage alone, over the same chunks in the same run, here and elsewhere.

python -m tests.bench.ingest docs/ --chunks 2000 --peers PYTHON --json
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
from rich.table import Table

from tests.bench.command_line import command_line
from tests.bench.ingest_peers import STORES, fill_store, job_of
from winnow.server.backends.models.embedders import load_embedder
from winnow.server.backends.models.installed import loading, table, weights
from winnow.server.backends.models.onnx_encoder import SLOWER_FUSED
from winnow.server.backends.opening import open_backends
from winnow.server.commands.demonstration.stdlib import read_corpus
from winnow.server.commands.terminal.output import Json, print_json, report_errors
from winnow.server.commands.terminal.screen import Screen
from winnow.server.errors import WinnowError
from winnow.server.ids import document_id
from winnow.server.ingest.file_discovery import find_files, resolve_roots
from winnow.server.ingest.indexed_text import indexed_text
from winnow.server.ingest.pipeline import IngestReport, Target, ingest_documents
from winnow.server.ingest.writing.embedding import CHUNKS_PER_TASK
from winnow.server.models import Chunk, Document
from winnow.server.readers.chunking import chunk
from winnow.server.readers.documents import RawDocument
from winnow.server.readers.formats.format_table import needs_ocr
from winnow.server.readers.reading import ReadFlaw, read
from winnow.server.retrieval.lexical import build_document_vector
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.storage.base import (
    CatalogueChanges,
    CatalogueEntry,
    DocumentStore,
    Embedder,
    Point,
    VectorStore,
    payload_of,
)

PROJECT = "bench"
# Calls of the model at once, as an ingest makes them.
_AT_ONCE = 2
_PRECISIONS = ("float32", "int8")
EXAMPLES = (
    "Examples: python -m tests.bench.ingest | "
    "python -m tests.bench.ingest docs/ --chunks 2000 --peers ~/peers/bin/python --json"
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
    """Index documents in a temporary folder, end to end and stage by stage, with the default model.

    Others are mcp-server-qdrant, chromadb and lancedb, as far as PYTHON has them: given the same chunks and the
    same model, as they use it (float32) and as it is here (int8).
    """
    with report_errors(as_json=as_json):
        figures = measure(load_settings(graph="off", embedder="minilm"), folder, chunks, rounds, peers)
    if as_json:
        print_json(figures)
    else:
        show_figures(figures)


def measure(
    settings: Settings, folder: Path | None, chunks: int, rounds: int, python: str | None
) -> dict[str, Any]:
    """All figures of one run. Raises ``WinnowError("MODEL_UNAVAILABLE")`` where the default model is missing."""
    model = load_embedder(settings)
    work = build_workload(_read_documents(folder), chunks)
    model.embed(work.texts[:32])
    ours, apart = [], []
    others: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory(prefix="winnow-bench-") as scratch:
        jobs = dict(_build_jobs(settings, Path(scratch), work.texts)) if python else {}
        for number in range(rounds):
            with _open_place(settings, Path(scratch) / f"whole{number}") as place:
                ours.append(measure_end_to_end(work, place, model))
            with _open_place(settings, Path(scratch) / f"stages{number}") as place:
                apart.append(measure_stages(work, place, model))
            for name in STORES if python else ():
                for precision, job in jobs.items():
                    others.setdefault(f"{name} {precision}", []).append(fill_store(str(python), name, job))
    whole = medians_of(ours)
    return {
        **count_items(work),
        "rounds": rounds,
        "model": model.fingerprint,
        "end_to_end": whole,
        "stages": {name: medians_of([round_[name] for round_ in apart]) for name in apart[0]},
        "peers": {name: _compare_peer(whole, rows) for name, rows in others.items()},
    }


def _compare_peer(ours: Mapping[str, float], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A peer's medians, and how many times as fast winnow is, by time and by processor time."""
    missing = next((row for row in rows if "missing" in row), None)
    if missing:
        return missing
    version = rows[0]["version"]
    row = medians_of([{name: value for name, value in each.items() if name != "version"} for each in rows])
    return {
        "version": version,
        **row,
        "times_as_fast": round(ours["chunks_per_s"] / row["chunks_per_s"], 2),
        "times_the_processor_time": round(row["processor_ms_per_chunk"] / ours["processor_ms_per_chunk"], 2),
    }


def _build_jobs(settings: Settings, scratch: Path, texts: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The inputs of peers: the model as published (float32), if its weights are there, and as installed (int8)."""
    folder, carrier = loading.model_folder(settings.models), weights.find_installed_carrier()
    graphs = {"int8": folder / "model.onnx"}
    if carrier:
        graphs["float32"] = scratch / "float32.onnx"
        loading.write_float32(carrier, graphs["float32"])
    for precision in _PRECISIONS:
        if precision in graphs:
            tokenizer = folder / table.TOKENIZER
            yield (
                precision,
                job_of(graphs[precision], tokenizer, table.DEFAULT.rules.window, SLOWER_FUSED, texts),
            )


@contextmanager
def _open_place(settings: Settings, store: Path) -> Iterator[Place]:
    chosen = settings.model_copy(update={"store": store, "project": PROJECT, "qdrant_url": None})
    backends = open_backends(chosen, wait_for_model=False)
    try:
        yield Place(backends.catalogue, backends.store)
    finally:
        backends.close()


def _read_documents(folder: Path | None) -> Iterator[RawDocument]:
    if folder is None:
        for module in read_corpus():
            yield RawDocument(uri=f"{module.name}.md", type="markdown", title=module.name, text=module.markdown())
        return
    if not folder.exists():
        raise WinnowError("INVALID_REQUEST", f"{folder} does not exist")
    for root in resolve_roots([folder], []):
        for file in find_files(root).files:
            if not needs_ocr(file.path.name):
                yield from (each for each in read(file.path, file.uri) if not isinstance(each, ReadFlaw))


@dataclass(frozen=True, slots=True)
class Workload:
    """Documents and their chunks: the input of every round and every peer."""

    documents: tuple[RawDocument, ...]
    rows: tuple[tuple[Document, str, tuple[Chunk, ...]], ...]

    @property
    def texts(self) -> list[str]:
        """The indexed text of each chunk."""
        return [indexed_text(document, one) for document, _, chunks in self.rows for one in chunks]

    @property
    def tokens(self) -> int:
        """Tokens in all chunks, without their heading prefixes."""
        return sum(one.tokens for _, _, chunks in self.rows for one in chunks)


@dataclass(frozen=True, slots=True)
class Place:
    """An empty index to write to."""

    catalogue: DocumentStore
    store: VectorStore


def build_workload(documents: Iterator[RawDocument], chunks: int) -> Workload:
    """The first documents with at least ``chunks`` chunks. Raises ``WinnowError("INVALID_REQUEST")`` for none."""
    taken: list[RawDocument] = []
    rows: list[tuple[Document, str, tuple[Chunk, ...]]] = []
    while sum(len(some) for _, _, some in rows) < chunks and (raw := next(documents, None)):
        document = _document_of(raw)
        taken.append(raw)
        rows.append((document, raw.text, chunk(document, raw.text)))
    if not any(some for _, _, some in rows):
        raise WinnowError("INVALID_REQUEST", "there is nothing to index; name a folder that holds documents")
    return Workload(tuple(taken), tuple(rows))


def measure_end_to_end(work: Workload, place: Place, embedder: Embedder) -> dict[str, float]:
    """One ingest of the documents into an empty index: chunks a second, and processor time for each."""
    target = Target(PROJECT, place.catalogue, place.store, embedder)
    made: list[IngestReport] = []
    row = _measure(
        sum(len(some) for _, _, some in work.rows),
        lambda: made.append(ingest_documents(target, "bench", work.documents)),
    )
    if made[0].failures:
        raise WinnowError("INVALID_REQUEST", f"{made[0].failures[0].name}: {made[0].failures[0].reason}")
    return row


def measure_stages(work: Workload, place: Place, embedder: Embedder) -> dict[str, dict[str, float]]:
    """Each stage of an ingest alone, one after the other."""
    texts, count = work.texts, len(work.texts)
    points: list[Point] = []

    def embed() -> None:
        portions = [texts[at : at + CHUNKS_PER_TASK] for at in range(0, count, CHUNKS_PER_TASK)]
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            vectors = [row for rows in threads.map(embedder.embed, portions) for row in rows]
        owners = [(document, one) for document, _, some in work.rows for one in some]
        for (document, one), text, vector in zip(owners, texts, vectors, strict=True):
            points.append(Point(one.id, build_document_vector(document.title, text), vector, payload_of(document)))

    def write() -> None:
        place.catalogue.begin_write(PROJECT)
        place.store.upsert(points)
        place.store.flush()
        entries = [CatalogueEntry(document, text, some) for document, text, some in work.rows]
        place.catalogue.apply(CatalogueChanges(PROJECT, "bench", entries))

    return {
        "cut": _measure(count, lambda: [chunk(document, text) for document, text, _ in work.rows]),
        "words": _measure(count, lambda: [build_document_vector("", text) for text in texts]),
        "embed": _measure(count, embed),
        "write": _measure(count, write),
    }


def medians_of(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """The median of each figure over the rounds."""
    return {name: round(median(row[name] for row in rows), 3) for name in rows[0]}


def _measure(chunks: int, work: Callable[[], object]) -> dict[str, float]:
    began, busy = time.perf_counter(), time.process_time()
    work()
    seconds, processor = time.perf_counter() - began, time.process_time() - busy
    return {
        "chunks_per_s": round(chunks / seconds, 1),
        "processor_ms_per_chunk": round(processor / chunks * 1000, 3),
    }


def _document_of(raw: RawDocument) -> Document:
    id = document_id(PROJECT, raw.uri)
    return Document(id, PROJECT, raw.uri, "bench", raw.title, raw.type, "")


def count_items(work: Workload) -> dict[str, Any]:
    """Counts of documents, chunks and tokens."""
    count = len(work.texts)
    return {"documents": len(work.documents), "chunks": count, "tokens_per_chunk": round(work.tokens / count, 1)}


def show_figures(figures: Mapping[str, Any]) -> None:
    """Print a table of stages, and one of peers."""
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


app = command_line(run, EXAMPLES)

if __name__ == "__main__":
    app(prog_name="python -m tests.bench.ingest")
