"""Raw speed of the embedded index with random vectors, before and after its graph is built.

python -m tests.bench.index 20000
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from winnow.server.backends.models.embedders import load_model
from winnow.server.backends.models.installed.table import DEFAULT
from winnow.server.backends.vectors.edge import EdgeStore
from winnow.server.ids import chunk_id
from winnow.server.models import Filters
from winnow.server.retrieval.evaluation import percentile
from winnow.server.retrieval.lexical import build_document_vector, build_query_vector
from winnow.server.settings.loading import load_settings
from winnow.server.storage.base import Point, Vector
from winnow.server.text.words.tokens import count_tokens

WORDS = [f"word{number}" for number in range(5000)]
QUERIES = 200


def main(chunks: int) -> None:
    """Embed texts, fill a store, build its graph, and search it."""
    generator = np.random.default_rng(0)
    _embedding([" ".join(generator.choice(WORDS, 60)) for _ in range(256)])
    with tempfile.TemporaryDirectory() as folder:
        store = EdgeStore(Path(folder), DEFAULT.dimension)
        _measure_time(f"upsert {chunks:,} chunks", lambda: _fill(store, chunks, generator))
        _asking("before the graph", store, generator)
        _measure_time("build the graph", store.optimize)
        _asking("after the graph", store, generator)
        store.close()


def _embedding(texts: list[str]) -> None:
    model = load_model(load_settings().models)
    seconds = _measure_time(f"embed {len(texts)} texts", lambda: model.embed(texts))
    tokens = sum(map(count_tokens, texts))
    each = tokens / len(texts)
    print(f"  {len(texts) / seconds:.0f} texts/s, {tokens / seconds:,.0f} tokens/s, {each:.0f} tokens each")


def _fill(store: EdgeStore, chunks: int, generator: np.random.Generator) -> None:
    for start in range(0, chunks, 1000):
        numbers = range(start, min(start + 1000, chunks))
        store.upsert([_point(number, generator) for number in numbers])
    store.flush()


def _point(number: int, generator: np.random.Generator) -> Point:
    text = " ".join(generator.choice(WORDS, 60))
    payload: dict[str, str | int | float | tuple[str, ...]] = {"project": "bench", "tags": (f"tag{number % 100}",)}
    return Point(
        chunk_id("bench", str(number), (), "", 0), build_document_vector("", text), _vector(generator), payload
    )


def _vector(generator: np.random.Generator) -> Vector:
    vector = generator.normal(size=DEFAULT.dimension).astype(np.float32)
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def _asking(when: str, store: EdgeStore, generator: np.random.Generator) -> None:
    everything, narrow = Filters("bench"), Filters("bench", tags=("tag7",))
    vectors = [_vector(generator) for _ in range(QUERIES)]
    queries = [build_query_vector(" ".join(generator.choice(WORDS, 8))) for _ in range(QUERIES)]
    for name, filters in (("all", everything), ("one in a hundred", narrow)):
        dense = [partial(store.search_dense, vector, filters, 100) for vector in vectors]
        sparse = [partial(store.search_sparse, query, filters, 100) for query in queries]
        _latency(f"dense, {name}, {when}", dense)
        _latency(f"sparse, {name}, {when}", sparse)


def _latency(name: str, questions: Sequence[Callable[[], object]]) -> None:
    taken = []
    for question in questions:
        began = time.perf_counter()
        question()
        taken.append((time.perf_counter() - began) * 1000)
    print(f"{name}: {percentile(taken, 0.5):.2f} ms p50, {percentile(taken, 0.95):.2f} ms p95")


def _measure_time(name: str, work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    seconds = time.perf_counter() - began
    print(f"{name}: {seconds:.2f} s")
    return seconds


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
