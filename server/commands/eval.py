"""``winnow eval``: how good retrieval is on a collection with judgements, per leg and fused."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from server.commands.ingest import progress_shown
from server.commands.output import Json, Store, command, errors_shown, print_json
from server.errors import WinnowError
from server.settings import Settings, load_settings

if TYPE_CHECKING:
    from server.backends.opening import Backends
    from server.retrieval.evaluation import Collection
    from server.retrieval.hybrid import Fusion, Mode

app = command()

_PROJECT = "eval"
_LEGS: dict[str, tuple[str, ...]] = {
    "lexical": ("lexical",),
    "dense": ("dense",),
    "hybrid": ("fused",),
    "all": ("lexical", "dense", "fused"),
}
_MODES: dict[str, Mode] = {"lexical": "lexical", "dense": "dense", "fused": "hybrid"}
_TOP = 10  # what a user asks for: latency is measured with this limit
# Documents are ranked by their best chunk, so enough chunks are fetched that 100 documents come out.
_CHUNKS_PER_DOCUMENT_MARGIN = 2

_EPILOG = """
DIR holds corpus.jsonl (_id, title, text), queries.jsonl (_id, text) and qrels.tsv (query-id, corpus-id, score,
with a header). It is indexed in a throw-away store; with --store DIR the index is kept and re-used.

Examples: winnow eval data/scifact | winnow eval data/scifact --mode hybrid --fusion rrf --json
"""


@app.command(epilog=_EPILOG)
def evaluate(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="folder of the collection")],
    mode: Annotated[
        Literal["hybrid", "lexical", "dense", "all"], typer.Option("--mode", help="which legs are measured")
    ] = "all",
    fusion: Annotated[
        Literal["convex", "rrf"] | None,
        typer.Option("--fusion", help="how the legs are joined (default: the setting)", show_default=False),
    ] = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Measure nDCG@10, Recall, MRR@10 and query latency on a collection with judgements."""
    from server.retrieval.evaluation import read_collection

    with errors_shown(as_json=as_json):
        collection = read_collection(folder)
        with _settings(store) as settings, _indexed(collection, settings) as (backends, counts):
            if mode != "lexical" and backends.embedder.wait() is None:
                raise WinnowError("MODEL_UNAVAILABLE", f"{backends.embedder.why}; or measure with --mode lexical")
            figures = _measured(backends, collection, counts, mode, fusion or settings.fusion)
    if as_json:
        print_json(figures)
    else:
        _show(figures)


@contextmanager
def _settings(store: str | None) -> Iterator[Settings]:
    """The settings over the store that was asked for, or over a throw-away one."""
    with tempfile.TemporaryDirectory(prefix="winnow-eval-") as scratch:
        yield load_settings(store=store or scratch, project=_PROJECT)


@contextmanager
def _indexed(collection: Collection, settings: Settings) -> Iterator[tuple[Backends, dict[str, int]]]:
    from server.backends.opening import open_backends
    from server.ingest.pipeline import Target, ingest_paths

    backends = open_backends(settings, wait_for_model=True)
    try:
        target = Target(_PROJECT, backends.catalogue, backends.store, backends.embedder.ready())
        with progress_shown(f"indexing {collection.name}") as on_progress:
            report = ingest_paths(target, [collection.corpus], progress=on_progress)
        if report.failures:
            first = report.failures[0]
            raise WinnowError("INVALID_REQUEST", f"{collection.corpus}: {first.name}: {first.reason}")
        (info,) = (one for one in backends.catalogue.projects() if one.name == _PROJECT)
        yield backends, {"documents": info.documents, "chunks": info.chunks}
    finally:
        backends.close()


def _measured(
    backends: Backends, collection: Collection, counts: dict[str, int], mode: str, fusion: Fusion
) -> dict[str, Any]:
    from server.retrieval.evaluation import DEEPEST, measure

    depth = DEEPEST * _CHUNKS_PER_DOCUMENT_MARGIN * -(-counts["chunks"] // counts["documents"])
    documents = _documents(backends)
    legs = {}
    for leg in _LEGS[mode]:
        run = {
            query: _ranked(backends, documents, text, depth, _MODES[leg], fusion)
            for query, text in collection.queries.items()
        }
        legs[leg] = measure(run, collection.judgements)
    return {
        "collection": collection.name,
        **counts,
        "queries": len(collection.queries),
        "legs": legs,
        "latency_ms": _latency(backends, collection, _MODES[_LEGS[mode][-1]], fusion),
    }


def _documents(backends: Backends) -> dict[str, str]:
    """Chunk id to the ``_id`` of its record."""
    found = {}
    for document in backends.catalogue.documents(_PROJECT):
        for chunk in backends.catalogue.chunks(document.id, _PROJECT):
            found[chunk.id] = document.uri.partition("#")[2]
    return found


def _ranked(
    backends: Backends, documents: dict[str, str], query: str, depth: int, mode: Mode, fusion: Fusion
) -> dict[str, float]:
    from server.models import Filters
    from server.retrieval.evaluation import by_document

    ranking = backends.retriever.search(query, Filters(_PROJECT), depth, mode=mode, fusion=fusion)
    return by_document((documents[hit.chunk_id], hit.score) for hit in ranking.hits)


def _latency(backends: Backends, collection: Collection, mode: Mode, fusion: Fusion) -> dict[str, float]:
    from server.models import Filters
    from server.retrieval.evaluation import percentile

    taken = []
    for text in collection.queries.values():
        began = time.perf_counter()
        backends.retriever.search(text, Filters(_PROJECT), _TOP, mode=mode, fusion=fusion)
        taken.append((time.perf_counter() - began) * 1000)
    return {"p50": round(percentile(taken, 0.5), 2), "p95": round(percentile(taken, 0.95), 2)}


def _show(figures: dict[str, Any]) -> None:
    names = list(next(iter(figures["legs"].values())))
    sys.stdout.write(
        f"{figures['collection']}: {figures['documents']:,} documents, {figures['chunks']:,} chunks, "
        f"{figures['queries']:,} queries\n\n"
    )
    sys.stdout.write(f"{'':<8}{''.join(f'{name:>12}' for name in names)}\n")
    for leg, row in figures["legs"].items():
        sys.stdout.write(f"{leg:<8}{''.join(f'{row[name]:>12.4f}' for name in names)}\n")
    latency = figures["latency_ms"]
    sys.stdout.write(f"\na query takes {latency['p50']} ms (p50), {latency['p95']} ms (p95)\n")
