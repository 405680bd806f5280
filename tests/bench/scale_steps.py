"""The two processes of the benchmark of scale: one writes the index, the other searches it.

``build`` embeds a sample of real chunks, generates the corpus from it and writes catalogue and index; meanwhile it
keeps the true nearest chunks of each question, the reference for recall. ``ask`` opens the store as a server does,
answers once (the time to restart), then searches question by question.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from tests.bench.synthetic_corpus import (
    PROJECT,
    SOURCE,
    WIDTHS,
    Batch,
    Sample,
    build_sample,
    compare_with_model,
    generate_corpus,
    pick_questions,
)
from winnow.server.backends.opening import Backends, open_backends
from winnow.server.commands.benchmarks.search import DEPTH, TOP, Stopwatch, with_empty_caches
from winnow.server.commands.demonstration.stdlib import read_corpus
from winnow.server.errors import WinnowError
from winnow.server.ingest.file_discovery import find_files, resolve_roots
from winnow.server.models import Document, Filters, Passage
from winnow.server.operations.knowledge import KnowledgeBase
from winnow.server.readers.chunking import chunk
from winnow.server.readers.documents import RawDocument, UnreadableFile, clean_document
from winnow.server.readers.reading import read
from winnow.server.retrieval.lexical import build_query_vector
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import MIB, Settings
from winnow.server.storage.base import CatalogueChanges, Embedder, Vector

_BATCH = 2_000
_LIKENESS = 200
_SAMPLE_SECONDS = 0.1
_ALL = "all"
_FIRST = "first"  # the first pass without a filter, while the index is still being read from the disk


@dataclass(frozen=True, slots=True)
class Job:
    """What to measure. ``source`` is a folder of real documents, "" for this Python's own documentation."""

    chunks: int
    store: str
    source: str = ""
    sample: int = 4_000
    questions: int = 200


def _report(**what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


class _MemoryMonitor:
    """The memory of this process, sampled ten times a second."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._peak_own = 0
        self._done = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def figures(self) -> dict[str, int]:
        """Peaks in MiB: resident memory, and resident memory without the pages of mapped files."""
        self._done.set()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return {
            "peak_resident_mib": peak // (1 if sys.platform == "linux" else 1024) // 1024,
            "peak_own_mib": self._peak_own // MIB,
        }

    def _watch(self) -> None:
        while not self._done.wait(_SAMPLE_SECONDS):
            memory = self._process.memory_info()
            self._peak_own = max(self._peak_own, memory.rss - getattr(memory, "shared", 0))


# --- build


def _build(job: Job) -> dict[str, Any]:
    settings = load_settings(store=job.store, project=PROJECT, graph="off")
    backends = open_backends(settings, wait_for_model=True)
    try:
        embedder = backends.embedder.ready()
        if embedder is None:
            raise WinnowError("MODEL_UNAVAILABLE", f"vectors are drawn from a model's: {backends.embedder.why}")
        clock, memory = _Clock(), _MemoryMonitor()
        sample, rate = _draw_sample(job, embedder)
        truth = _NearestChunks(embedder.embed(pick_questions(sample, job.questions)))
        Path(job.store, "questions.json").write_text(json.dumps(pick_questions(sample, job.questions)))
        clock.start()
        for number, some in enumerate(
            clock.each("draw", generate_corpus(sample, job.chunks, _BATCH, embedder.fingerprint))
        ):
            clock.time("truth", partial(truth.add, some))
            _write_batch(backends, some, clock)
            _report(at="writing", done=min((number + 1) * _BATCH, job.chunks), of=job.chunks)
        clock.time("vectors", backends.store.flush)
        _report(at="optimizing", done=0, of=1)
        clock.time("optimize", backends.store.optimize)
        clock.time("vectors", backends.store.flush)
        backends.catalogue.finish_write(PROJECT)
        Path(job.store, "truth.json").write_text(json.dumps(truth.nearest()))
        return {
            **clock.figures(job.chunks, rate),
            **memory.figures(),
            "likeness": compare_with_model(sample, embedder, _LIKENESS),
        }
    finally:
        backends.close()


class _Clock:
    """Seconds by stage."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def start(self) -> None:
        self._seconds.clear()

    def time(self, stage: str, work: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        try:
            return work()
        finally:
            self._seconds[stage] = self._seconds.get(stage, 0.0) + time.perf_counter() - started

    def each(self, stage: str, items: Iterator[Batch]) -> Iterator[Batch]:
        while (item := self.time(stage, lambda: next(items, None))) is not None:
            yield item

    def figures(self, chunks: int, model_rate: float) -> dict[str, Any]:
        """Seconds by stage; chunks written per second without the model, and with the model at its rate here."""
        stages = {stage: round(seconds, 1) for stage, seconds in self._seconds.items()}
        seconds = sum(spent for stage, spent in self._seconds.items() if stage != "truth")
        return {
            "seconds": stages,
            "chunks_per_s": round(chunks / seconds, 1),
            "model_chunks_per_s": round(model_rate, 1),
            "chunks_per_s_with_model": round(chunks / (seconds + chunks / model_rate), 1),
        }


class _NearestChunks:
    """The nearest chunks of each question among all chunks so far, for every width of filter."""

    def __init__(self, queries: Vector) -> None:
        self._queries = queries
        self._best: dict[str, list[list[tuple[float, str]]]] = {
            name: [[] for _ in queries] for name in (_ALL, *map(_tag_of, WIDTHS))
        }

    def add(self, some: Batch) -> None:
        cosines = self._queries @ some.vectors.T
        ids = [point.chunk_id for point in some.points]
        tags = [point.payload["tags"] for point in some.points]
        for name, best in self._best.items():
            admitted = np.flatnonzero([name == _ALL or name in held for held in tags])  # type: ignore[operator]
            for row, kept in enumerate(best):
                scores = cosines[row, admitted]
                first = np.argpartition(-scores, min(TOP, len(scores)) - 1)[:TOP].tolist() if len(scores) else ()
                kept += [(float(scores[at]), ids[admitted[at]]) for at in first]
                kept.sort(reverse=True)
                del kept[TOP:]

    def nearest(self) -> dict[str, list[list[str]]]:
        return {name: [[id for _, id in kept] for kept in best] for name, best in self._best.items()}


def _tag_of(width: int) -> str:
    return f"every-{width}"


def _write_batch(backends: Backends, some: Batch, clock: _Clock) -> None:
    clock.time("catalogue", lambda: backends.catalogue.begin_write(PROJECT))
    clock.time("vectors", lambda: backends.store.upsert(some.points))
    changes = CatalogueChanges(PROJECT, SOURCE, some.entries)
    clock.time("catalogue", lambda: backends.catalogue.apply(changes))


def _draw_sample(job: Job, embedder: Embedder) -> tuple[Sample, float]:
    """Chunks of the source with their vectors, and how many the model embeds per second."""
    passages = list(_passages(job.source))
    chosen = passages[:: max(len(passages) // job.sample, 1)][: job.sample]
    started = time.perf_counter()
    sample = build_sample(
        chosen, embedder, lambda done: _report(at="embedding a sample", done=done, of=len(chosen))
    )
    if len(sample.sentences) < TOP:
        raise WinnowError("INVALID_REQUEST", "too little prose to draw from; give a folder of documents as --from")
    return sample, len(sample.sentences) / (time.perf_counter() - started)


def _passages(source: str) -> Iterator[Passage]:
    for raw in _documents(source):
        document = Document(raw.uri, PROJECT, raw.uri, SOURCE, raw.title, raw.type, "")
        yield from (Passage(one, document) for one in chunk(document, raw.text))


def _documents(source: str) -> Iterator[RawDocument]:
    if not source:
        for module in read_corpus():
            yield RawDocument(f"{module.name}.md", "markdown", module.name, module.markdown())
        return
    for root in resolve_roots([Path(source)], []):
        for file in find_files(root).files:
            try:
                documents = read(file.path, file.uri)
                yield from (clean_document(one) for one in documents if isinstance(one, RawDocument))
            except UnreadableFile:
                continue


# --- ask


def _ask(job: Job) -> dict[str, Any]:
    settings = load_settings(store=job.store, project=PROJECT, graph="off")
    questions: list[str] = json.loads(Path(job.store, "questions.json").read_text())
    truth: dict[str, list[list[str]]] = json.loads(Path(job.store, "truth.json").read_text())
    return asyncio.run(_measure_searches(settings, questions, truth))


async def _measure_searches(
    settings: Settings, questions: Sequence[str], truth: Mapping[str, list[list[str]]]
) -> dict[str, Any]:
    backends = await asyncio.to_thread(open_backends, settings, wait_for_model=True)
    base, memory = KnowledgeBase(lambda: backends, settings), _MemoryMonitor()
    try:
        await base.load()
        await _search(base, questions[-1], ())
        _report(answered=True)
        hybrid = Stopwatch()
        for name in (_FIRST, *truth):
            tags = () if name in (_FIRST, _ALL) else (name,)
            for at, question in enumerate(questions):
                await hybrid.time_async(name, partial(_search, base, question, tags))
                _report(at=f"asking, {name}", done=at + 1, of=len(questions))
        stages = _measure_stages(backends, questions, truth)
        return {
            "questions": len(questions),
            "hybrid_ms": hybrid.figures(),
            **stages,
            **memory.figures(),
        }
    finally:
        base.close()


async def _search(base: KnowledgeBase, question: str, tags: tuple[str, ...]) -> None:
    """One search as a client makes it, with empty caches."""
    arguments = {"query": question, "filters": {"tags": list(tags)}} if tags else {"query": question}
    await base.call("semantic_search", arguments, with_empty_caches(base.caller("bench")))


def _measure_stages(
    backends: Backends, questions: Sequence[str], truth: Mapping[str, list[list[str]]]
) -> dict[str, Any]:
    """The dense leg alone, its recall against the true nearest chunks, and the lexical leg alone."""
    embedder = backends.embedder.ready()
    if embedder is None:
        raise WinnowError("MODEL_UNAVAILABLE", backends.embedder.why)
    watch = Stopwatch()
    recall: dict[str, list[float]] = {name: [] for name in truth}
    whole = Filters(PROJECT)
    for at, question in enumerate(questions):
        vector = watch.time("embedding", partial(embedder.embed, [question]))[0]
        watch.time("dense", partial(backends.store.search_dense, vector, whole, DEPTH))
        watch.time("lexical", partial(backends.store.search_sparse, build_query_vector(question), whole, DEPTH))
        for name, nearest in truth.items():
            filters = whole if name == _ALL else Filters(PROJECT, tags=(name,))
            found = {chunk for chunk, _ in backends.store.search_dense(vector, filters, DEPTH)[:TOP]}
            recall[name].append(len(found & set(nearest[at])) / max(len(nearest[at]), 1))
    return {
        "stages_ms": watch.figures(),
        "recall_at_10": {name: round(sum(values) / len(values), 4) for name, values in recall.items()},
    }


_STEPS: Mapping[str, Callable[[Job], dict[str, Any]]] = {"build": _build, "ask": _ask}

if __name__ == "__main__":
    _report(**_STEPS[sys.argv[1]](Job(**json.load(sys.stdin))))
