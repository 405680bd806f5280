"""What people use instead, over the same chunks: each in its own process, with an interpreter that has it.

They are given the vectors of chunks and questions, so that no model is part of the figures; ``qdrant-client`` on a
folder is what mcp-server-qdrant keeps its memories in. The exact scan is numpy's.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from server.backends.base import Embedder
from server.bench.other_interpreter import figures_of
from server.opening import Backends

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


def measure(
    python: str, backends: Backends, embedder: Embedder, project: str, asked: Sequence[str], chunks: int
) -> dict[str, Any]:
    """The figures of each peer that ``python`` can import, over ``chunks`` chunks at most; else why not."""
    with tempfile.TemporaryDirectory() as folder:
        job = _job(Path(folder), backends, embedder, project, asked, chunks)
        return {name: _measure(python, program, job) for name, program in PEERS.items()}


def _job(
    folder: Path, backends: Backends, embedder: Embedder, project: str, asked: Sequence[str], chunks: int
) -> dict[str, Any]:
    stored = chain.from_iterable(backends.store.points())
    vectors = ((point.chunk_id, point.dense) for point in stored if point.dense is not None)
    held = dict(islice(vectors, chunks))
    passages = backends.catalogue.passages([*held], project)
    texts = [passages[id].chunk.text for id in held if id in passages]
    np.save(folder / "vectors.npy", np.stack([vector for id, vector in held.items() if id in passages]))
    np.save(folder / "queries.npy", embedder.embed(asked))
    (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    return {
        "vectors": str(folder / "vectors.npy"),
        "queries": str(folder / "queries.npy"),
        "texts": str(folder / "texts.json"),
        "questions": list(asked),
    }


def _measure(python: str, program: str, job: Mapping[str, Any]) -> dict[str, Any]:
    return figures_of(python, program + _HARNESS, job, _SECONDS)
