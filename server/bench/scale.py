"""A million chunks on this machine: how fast they go in, what they take, how fast and how well they are found.

Theory of operation. Two processes, so that each has its own peak of memory::

    build   embed a sample of real chunks, draw the corpus from it (``drawn``), write catalogue and index; while
            the vectors pass by, keep the truly nearest ones of each question: recall is held against those
    ask     open the store as a server does, answer once (that is the restart), then question by question

Each is ``python -m server.bench.scale``, told its job as JSON on stdin; it says how far it is in JSON lines, and
its figures in the last one.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from server.backends.base import CatalogueChanges, Embedder, Vector
from server.bench.search import DEPTH, TOP, Stopwatch, fresh
from server.bench.synthetic_corpus import (
    PROJECT,
    SOURCE,
    WIDTHS,
    Drawn,
    Sample,
    drawn,
    likeness,
    questions,
    sampled,
)
from server.demo.stdlib import corpus
from server.errors import WinnowError
from server.ingest.chunking import chunk
from server.ingest.documents import RawDocument, UnreadableFile, clean_document
from server.ingest.file_discovery import find_files, resolve_roots
from server.ingest.readers import read
from server.knowledge import KnowledgeBase
from server.models import Document, Filters, Passage
from server.opening import Backends, open_backends
from server.retrieval.lexical import query_vector
from server.settings import MIB, Settings, load_settings

_BATCH = 2_000
_LIKENESS = 200
_GLANCE_SECONDS = 0.1
_ALL = "all"
_FIRST = "first"  # all, for the first time, while what searches need is still being read from the disk

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Job:
    """What to measure. ``source`` is a folder of real documents, "" for this Python's own documentation."""

    chunks: int
    store: str
    source: str = ""
    sample: int = 4_000
    questions: int = 200


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """All figures of one corpus. ``job.store`` must be empty or not there; the corpus stays in it.

    Raises ``WinnowError`` where the store is in use, the source holds no prose, or a process did not end well.
    """
    if Path(job.store).exists() and any(Path(job.store).iterdir()):
        raise WinnowError("INVALID_REQUEST", f"{job.store} is not empty; give an empty folder as --store")
    built = _run("build", job, progress)
    started = time.perf_counter()
    asked = _run("ask", job, progress, started)
    return {
        "chunks": job.chunks,
        "source": job.source or "this Python's own documentation",
        "vectors": "drawn: mixtures of the model's vectors of real chunks, with noise",
        "disk_mib": _disk_mib(Path(job.store)),
        "build": built,
        "ask": asked,
    }


def _run(step: str, job: Job, progress: Progress, started: float = 0.0) -> dict[str, Any]:
    command = [sys.executable, "-m", "server.bench.scale", step]
    with (
        tempfile.TemporaryFile("w+") as complaints,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, text=True
        ) as process,
    ):
        assert process.stdin
        assert process.stdout
        json.dump(asdict(job), process.stdin)
        process.stdin.close()
        figures: dict[str, Any] = {}
        for line in process.stdout:
            figures = json.loads(line)
            if "answered" in figures:
                figures = {"restart_s": round(time.perf_counter() - started, 2)}
                restart = figures
            elif "at" in figures:
                progress(figures["at"], figures["done"], figures["of"])
        if process.wait() != 0:
            complaints.seek(0)
            raise WinnowError("INTERNAL", complaints.read()[-500:])
    return {**figures, **(restart if step == "ask" else {})}


def _say(**what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def _disk_mib(folder: Path) -> int:
    """What the files take on disk; files of the engine have holes."""
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file()) // MIB


class _Memory:
    """What this process takes, looked at ten times a second."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._peak_own = 0
        self._done = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def figures(self) -> dict[str, int]:
        """In MiB: the most that was resident, and the most without pages of mapped files, which are lent."""
        self._done.set()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return {
            "peak_resident_mib": peak // (1 if sys.platform == "linux" else 1024) // 1024,
            "peak_own_mib": self._peak_own // MIB,
        }

    def _watch(self) -> None:
        while not self._done.wait(_GLANCE_SECONDS):
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
        clock, memory = _Clock(), _Memory()
        sample, rate = _sample(job, embedder)
        truth = _Truth(embedder.embed(questions(sample, job.questions)))
        Path(job.store, "questions.json").write_text(json.dumps(questions(sample, job.questions)))
        clock.start()
        for number, some in enumerate(clock.each("draw", drawn(sample, job.chunks, _BATCH, embedder.fingerprint))):
            clock.timed("truth", partial(truth.see, some))
            _write(backends, some, clock)
            _say(at="writing", done=min((number + 1) * _BATCH, job.chunks), of=job.chunks)
        clock.timed("vectors", backends.store.flush)
        _say(at="optimizing", done=0, of=1)
        clock.timed("optimize", backends.store.optimize)
        clock.timed("vectors", backends.store.flush)
        backends.catalogue.finish_write(PROJECT)
        Path(job.store, "truth.json").write_text(json.dumps(truth.nearest()))
        return {
            **clock.figures(job.chunks, rate),
            **memory.figures(),
            "likeness": likeness(sample, embedder, _LIKENESS),
        }
    finally:
        backends.close()


class _Clock:
    """Seconds by stage."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def start(self) -> None:
        self._seconds.clear()

    def timed(self, stage: str, work: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        try:
            return work()
        finally:
            self._seconds[stage] = self._seconds.get(stage, 0.0) + time.perf_counter() - started

    def each(self, stage: str, items: Iterator[Drawn]) -> Iterator[Drawn]:
        while (item := self.timed(stage, lambda: next(items, None))) is not None:
            yield item

    def figures(self, chunks: int, model_rate: float) -> dict[str, Any]:
        """The stages; how many chunks a second go in without the model, and with it at the pace it had here."""
        stages = {stage: round(seconds, 1) for stage, seconds in self._seconds.items()}
        seconds = sum(spent for stage, spent in self._seconds.items() if stage != "truth")
        return {
            "seconds": stages,
            "chunks_per_s": round(chunks / seconds, 1),
            "model_chunks_per_s": round(model_rate, 1),
            "chunks_per_s_with_model": round(chunks / (seconds + chunks / model_rate), 1),
        }


class _Truth:
    """The nearest chunks of each question among all that passed by, for every width of filter."""

    def __init__(self, queries: Vector) -> None:
        self._queries = queries
        self._best: dict[str, list[list[tuple[float, str]]]] = {
            name: [[] for _ in queries] for name in (_ALL, *map(_tag, WIDTHS))
        }

    def see(self, some: Drawn) -> None:
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


def _tag(width: int) -> str:
    return f"every-{width}"


def _write(backends: Backends, some: Drawn, clock: _Clock) -> None:
    clock.timed("catalogue", lambda: backends.catalogue.begin_write(PROJECT))
    clock.timed("vectors", lambda: backends.store.upsert(some.points))
    changes = CatalogueChanges(PROJECT, SOURCE, some.entries)
    clock.timed("catalogue", lambda: backends.catalogue.apply(changes))


def _sample(job: Job, embedder: Embedder) -> tuple[Sample, float]:
    """Chunks of the source with their vectors, and how many of them the model embeds in a second."""
    passages = list(_passages(job.source))
    chosen = passages[:: max(len(passages) // job.sample, 1)][: job.sample]
    started = time.perf_counter()
    sample = sampled(chosen, embedder, lambda done: _say(at="embedding a sample", done=done, of=len(chosen)))
    if len(sample.sentences) < TOP:
        raise WinnowError("INVALID_REQUEST", "too little prose to draw from; give a folder of documents as --from")
    return sample, len(sample.sentences) / (time.perf_counter() - started)


def _passages(source: str) -> Iterator[Passage]:
    for raw in _documents(source):
        document = Document(raw.uri, PROJECT, raw.uri, SOURCE, raw.title, raw.type, "")
        yield from (Passage(one, document) for one in chunk(document, raw.text))


def _documents(source: str) -> Iterator[RawDocument]:
    if not source:
        for module in corpus():
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
    asked: list[str] = json.loads(Path(job.store, "questions.json").read_text())
    truth: dict[str, list[list[str]]] = json.loads(Path(job.store, "truth.json").read_text())
    return asyncio.run(_answers(settings, asked, truth))


async def _answers(
    settings: Settings, asked: Sequence[str], truth: Mapping[str, list[list[str]]]
) -> dict[str, Any]:
    backends = await asyncio.to_thread(open_backends, settings, wait_for_model=True)
    base, memory = KnowledgeBase(lambda: backends, settings), _Memory()
    try:
        await base.load()
        await _searched(base, asked[-1], ())
        _say(answered=True)
        hybrid = Stopwatch()
        for name in (_FIRST, *truth):
            tags = () if name in (_FIRST, _ALL) else (name,)
            for at, question in enumerate(asked):
                await hybrid.awaited(name, partial(_searched, base, question, tags))
                _say(at=f"asking, {name}", done=at + 1, of=len(asked))
        stages = _stages(backends, asked, truth)
        return {
            "questions": len(asked),
            "hybrid_ms": hybrid.figures(),
            **stages,
            **memory.figures(),
        }
    finally:
        base.close()


async def _searched(base: KnowledgeBase, question: str, tags: tuple[str, ...]) -> None:
    """One search as a client asks it, of a ranking that nobody knows yet."""
    arguments = {"query": question, "filters": {"tags": list(tags)}} if tags else {"query": question}
    await base.call("semantic_search", arguments, fresh(base.caller("bench")))


def _stages(backends: Backends, asked: Sequence[str], truth: Mapping[str, list[list[str]]]) -> dict[str, Any]:
    """The dense leg alone, its recall against what is truly nearest, and the lexical leg alone."""
    embedder = backends.embedder.ready()
    if embedder is None:
        raise WinnowError("MODEL_UNAVAILABLE", backends.embedder.why)
    watch = Stopwatch()
    recall: dict[str, list[float]] = {name: [] for name in truth}
    whole = Filters(PROJECT)
    for at, question in enumerate(asked):
        vector = watch.timed("embedding", partial(embedder.embed, [question]))[0]
        watch.timed("dense", partial(backends.store.search_dense, vector, whole, DEPTH))
        watch.timed("lexical", partial(backends.store.search_sparse, query_vector(question), whole, DEPTH))
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
    _say(**_STEPS[sys.argv[1]](Job(**json.load(sys.stdin))))
