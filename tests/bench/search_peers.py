"""Search beside other local indexes over the same chunks.

    python -m tests.bench.search_peers --project notes --peers PYTHON --json

Each runs in a process of its own, with an interpreter that has it. They get the vectors of chunks and questions:
no model is part of the figures. ``qdrant-client`` on a folder is where mcp-server-qdrant keeps its memories. The
exact scan is numpy's.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np
import typer

from tests.bench.command_line import command_line
from tests.bench.other_interpreter import run_program
from winnow.server.backends.opening import Backends
from winnow.server.commands.bench.open_index import OpenIndex, Questions, measure_with_questions
from winnow.server.commands.bench.search import measure_search, show_figures
from winnow.server.commands.terminal.output import Json, ProjectOption, StoreOption, print_json, report_errors
from winnow.server.commands.terminal.screen import Screen
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings
from winnow.server.storage.base import Embedder

EXAMPLES = "Examples: python -m tests.bench.search_peers --project notes --peers ~/peers/bin/python --json"
_SECONDS = 600.0
# Each defines build(folder, texts, vectors) -> ask(question, vector) -> the numbers of the ten best chunks.
_QDRANT = """
NAME = "qdrant-client"
def build(folder, texts, vectors):
    import warnings; warnings.simplefilter("ignore")
    from qdrant_client import QdrantClient, models
    client = QdrantClient(path=folder)
    size = models.VectorParams(size=vectors.shape[1], distance=models.Distance.COSINE)
    client.create_collection("c", vectors_config=size)
    for start in range(0, len(texts), 256):
        rows = range(start, min(start + 256, len(texts)))
        client.upsert("c", [
            models.PointStruct(id=i, vector=vectors[i].tolist(), payload={"document": texts[i]}) for i in rows
        ])
    def ask(question, vector):
        return [point.id for point in client.query_points("c", query=vector.tolist(), limit=10).points]
    return ask
"""
_CHROMA = """
NAME = "chromadb"
def build(folder, texts, vectors):
    import chromadb
    client = chromadb.PersistentClient(folder, settings=chromadb.Settings(anonymized_telemetry=False))
    held = client.create_collection("chunks", embedding_function=None, metadata={"hnsw:space": "cosine"})
    for start in range(0, len(texts), 1000):
        end = min(start + 1000, len(texts))
        held.add(ids=[str(i) for i in range(start, end)], embeddings=vectors[start:end].tolist(),
                 documents=texts[start:end])
    def ask(question, vector):
        asked = [vector.tolist()]
        found = held.query(query_embeddings=asked, n_results=10, include=["documents", "distances"])
        return [int(id) for id in found["ids"][0]]
    return ask
"""
_LANCE = """
NAME = "lancedb"
def build(folder, texts, vectors):
    import lancedb
    rows = [{"id": i, "text": text, "vector": vector} for i, (text, vector) in enumerate(zip(texts, vectors))]
    table = lancedb.connect(folder).create_table("c", rows)
    return lambda question, vector: [row["id"] for row in
        table.search(vector).distance_type("cosine").select(["id", "text"]).limit(10).to_list()]
"""
_BM25S = """
NAME = "bm25s"
LEXICAL = True
def build(folder, texts, vectors):
    import bm25s
    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)
    def ask(question, vector):
        asked = bm25s.tokenize(question, stopwords="en", show_progress=False)
        return index.retrieve(asked, k=10, show_progress=False)[0][0].tolist()
    return ask
"""
_NUMPY = """
NAME = "numpy"
def build(folder, texts, vectors):
    held = vectors.copy()
    def ask(question, vector):
        scores = held @ vector
        best = np.argpartition(-scores, 10)[:10]
        return best[np.argsort(-scores[best])].tolist()
    return ask
"""

PEERS: Mapping[str, str] = MappingProxyType(
    {
        "qdrant-client, as in mcp-server-qdrant": _QDRANT,
        "chromadb": _CHROMA,
        "lancedb": _LANCE,
        "bm25s, words only": _BM25S,
        "numpy, exact": _NUMPY,
    }
)

_HARNESS = """
import importlib.metadata, json, statistics, sys, tempfile, time
import numpy as np
job = json.load(sys.stdin)
texts = json.load(open(job["texts"], encoding="utf-8"))
vectors, queries = np.load(job["vectors"]), np.load(job["queries"])
with tempfile.TemporaryDirectory() as folder:
    started = time.perf_counter()
    ask = build(folder, texts, vectors)
    built = time.perf_counter() - started
    for question, vector in list(zip(job["questions"], queries))[:10]:
        ask(question, vector)
    wall, processor, recall = [], [], []
    for question, vector in zip(job["questions"], queries):
        scores = vectors @ vector
        nearest = set(np.argpartition(-scores, 10)[:10].tolist())
        before, spent = time.perf_counter(), time.process_time()
        found = ask(question, vector)
        wall.append((time.perf_counter() - before) * 1000)
        processor.append((time.process_time() - spent) * 1000)
        recall.append(len(nearest & set(found)) / 10)
    cut = statistics.quantiles(wall, n=20)
    print(json.dumps({
        "version": importlib.metadata.version(NAME),
        "build_s": round(built, 2),
        "ms": {"p50": round(statistics.median(wall), 3), "p95": round(cut[-1], 3),
               "processor_p50": round(statistics.median(processor), 3)},
        "recall_at_10": None if globals().get("LEXICAL") else round(statistics.mean(recall), 4),
    }))
"""


def run(
    peers: Annotated[str, typer.Option("--peers", metavar="PYTHON", help="an interpreter that has the others")],
    chunks: Annotated[
        int, typer.Option("--peer-chunks", min=100, max=1_000_000, help="chunks that others get, at most")
    ] = 20_000,
    questions: Questions = 200,
    project: ProjectOption = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """The figures of winnow bench search, and the same questions to others, as far as PYTHON has them.

    Others are qdrant-client on a folder, chromadb, lancedb, bm25s and numpy.
    """
    with report_errors(as_json=as_json):
        settings = load_settings(store=store, project=project)
        figures = asyncio.run(
            measure_with_questions(settings, questions, partial(_measure, peers=peers, chunks=chunks))
        )
    if as_json:
        print_json(figures)
    else:
        show_figures(figures)
        show_peers(figures["peers"])


async def _measure(opened: OpenIndex, *, peers: str, chunks: int) -> dict[str, Any]:
    model = opened.backends.embedder.ready()
    if model is None:
        raise WinnowError("MODEL_UNAVAILABLE", opened.backends.embedder.why)
    figures = await measure_search(opened)
    others = measure_peers(peers, opened.backends, model, opened.project, opened.questions, chunks)
    return {**figures, "peers": others}


def measure_peers(
    python: str, backends: Backends, embedder: Embedder, project: str, questions: Sequence[str], chunks: int
) -> dict[str, Any]:
    """The figures of each peer that ``python`` can import, over at most ``chunks`` chunks; else why not."""
    with tempfile.TemporaryDirectory() as folder:
        job = _build_job(Path(folder), backends, embedder, project, questions, chunks)
        return {name: measure_peer(python, program, job) for name, program in PEERS.items()}


def _build_job(
    folder: Path, backends: Backends, embedder: Embedder, project: str, questions: Sequence[str], chunks: int
) -> dict[str, Any]:
    stored = chain.from_iterable(backends.store.points())
    vectors = ((point.chunk_id, point.dense) for point in stored if point.dense is not None)
    held = dict(islice(vectors, chunks))
    passages = backends.catalogue.passages([*held], project)
    texts = [passages[id].chunk.text for id in held if id in passages]
    np.save(folder / "vectors.npy", np.stack([vector for id, vector in held.items() if id in passages]))
    np.save(folder / "queries.npy", embedder.embed(questions))
    (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    return {
        "vectors": str(folder / "vectors.npy"),
        "queries": str(folder / "queries.npy"),
        "texts": str(folder / "texts.json"),
        "questions": list(questions),
    }


def measure_peer(python: str, program: str, job: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of one peer's program."""
    return run_program(python, program + _HARNESS, job, _SECONDS)


def show_peers(peers: Mapping[str, Any]) -> None:
    """Print a line for each peer."""
    console = Screen(highlight=False)
    for name, row in peers.items():
        figures = (
            row.get("missing")
            or f"{row['version']}: p50 {row['ms']['p50']:.2f} ms, recall@10 {row['recall_at_10']}"
        )
        console.print(f"{name}  {figures}")


app = command_line(run, EXAMPLES)

if __name__ == "__main__":
    app(prog_name="python -m tests.bench.search_peers")
