"""Speed of searches over an existing index: cold, from the caches, by stage, with several clients at once.

Every figure has wall time and processor time of the process: other load on the machine lengthens the former, and
hardly the latter.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from winnow.server.backends.opening import Backends
from winnow.server.commands.benchmarks.figures import percentiles, time_ms
from winnow.server.errors import WinnowError
from winnow.server.models import Filters
from winnow.server.operations.knowledge import Answer, Caller, KnowledgeBase
from winnow.server.retrieval.lexical import build_query_vector
from winnow.server.storage.base import Embedder, Vector

WARMUP = 20
CLIENTS = 8
DEPTH = 100  # rows of each leg and of a ranking, as in the product
TOP = 10
_OPERATION = "semantic_search"

OnStep = Callable[[str, int, int], None]


class Stopwatch:
    """Milliseconds of wall and processor time, by name."""

    def __init__(self) -> None:
        self._wall: dict[str, list[float]] = {}
        self._processor: dict[str, list[float]] = {}

    def time(self, name: str, work: Callable[[], Any]) -> Any:
        """Call ``work`` and record its times."""
        wall, processor = time.perf_counter(), time.process_time()
        result = work()
        self._note(name, wall, processor)
        return result

    async def time_async(self, name: str, work: Callable[[], Any]) -> Any:
        """Await ``work()`` and record its times."""
        wall, processor = time.perf_counter(), time.process_time()
        result = await work()
        self._note(name, wall, processor)
        return result

    def figures(self) -> dict[str, dict[str, float]]:
        """Percentiles of wall time and of processor time, by name."""
        spent = {name: percentiles(times) for name, times in self._processor.items()}
        return {
            name: {**percentiles(times), **{f"processor_{key}": value for key, value in spent[name].items()}}
            for name, times in self._wall.items()
        }

    def _note(self, name: str, wall: float, processor: float) -> None:
        self._wall.setdefault(name, []).append((time.perf_counter() - wall) * 1000)
        self._processor.setdefault(name, []).append((time.process_time() - processor) * 1000)


def with_empty_caches(caller: Caller) -> Caller:
    """The same caller, for whom nothing is cached."""
    return replace(caller, run=secrets.token_hex(8))


async def measure(
    kb: KnowledgeBase, backends: Backends, project: str, questions: Sequence[str], progress: OnStep
) -> dict[str, Any]:
    """All figures over ``questions``, at least ``WARMUP`` questions.

    ``ms`` has ``cold`` (nothing cached; ten rows of metadata), ``metadata_cached`` (the same call again) and
    ``preview_ranked`` (another tier of a cached ranking); ``stages_ms`` has the stages of a cold search.
    """
    caller = kb.caller("bench")
    for question in questions[:WARMUP]:
        await kb.call(_OPERATION, {"query": question}, with_empty_caches(caller))
    stopwatch = Stopwatch()
    for number, question in enumerate(questions, 1):
        uncached = with_empty_caches(caller)
        arguments = {"query": question, "response_mode": "metadata"}
        ask = partial(kb.call, _OPERATION, arguments, uncached)
        await stopwatch.time_async("cold", ask)
        await stopwatch.time_async("metadata_cached", ask)
        preview = {**arguments, "response_mode": "preview"}
        await stopwatch.time_async("preview_ranked", partial(kb.call, _OPERATION, preview, uncached))
        progress("asking", number, len(questions))
    return {
        "questions": len(questions),
        "ms": stopwatch.figures(),
        **_measure_stages(backends, project, questions, progress),
        "at_once": await _measure_clients(kb, caller, questions),
    }


def _measure_stages(
    backends: Backends, project: str, questions: Sequence[str], progress: OnStep
) -> dict[str, Any]:
    stopwatch, filters, store = Stopwatch(), Filters(project), backends.store
    embedder, recall = backends.embedder.ready(), []
    for number, question in enumerate(questions, 1):
        words = build_query_vector(question)
        near = dict(stopwatch.time("lexical", partial(store.search_sparse, words, filters, DEPTH)))
        if embedder:
            vector = stopwatch.time("embedding", partial(_embed, embedder, question))
            far = dict(stopwatch.time("dense", partial(store.search_dense, vector, filters, DEPTH)))
            exact = stopwatch.time("dense_exact", partial(store.search_dense, vector, filters, TOP, exact=True))
            recall.append(len({id for id, _ in exact} & {*itertools.islice(far, TOP)}) / max(len(exact), 1))
            stopwatch.time("filling", partial(_score_missing, backends, question, vector, far, near))
        ranked = stopwatch.time("ranking", partial(backends.retriever.search, question, filters, DEPTH))
        stopwatch.time(
            "passages", partial(backends.catalogue.passages, [hit.chunk_id for hit in ranked.hits], project)
        )
        progress("stages", number, len(questions))
    return {
        "stages_ms": stopwatch.figures(),
        "recall_at_10": round(sum(recall) / len(recall), 4) if recall else None,
    }


def _embed(embedder: Embedder, question: str) -> Vector:
    vector: Vector = embedder.embed_queries([question])[0]
    return vector


def _score_missing(
    backends: Backends, question: str, vector: Vector, far: dict[str, float], near: dict[str, float]
) -> None:
    """Score the rows that only the other leg returned, as fusion does."""
    backends.store.score_dense(vector, [id for id in near if id not in far])
    backends.store.score_sparse(build_query_vector(question), [id for id in far if id not in near])


async def _measure_clients(kb: KnowledgeBase, caller: Caller, questions: Sequence[str]) -> dict[str, Any]:
    """Several clients at once, without common caches; errors are counted, not raised."""
    times: list[float] = []
    errors = 0

    async def client(number: int) -> None:
        nonlocal errors
        for question in questions[number::CLIENTS]:
            try:
                times.append(
                    await time_ms(partial(kb.call, _OPERATION, {"query": question}, with_empty_caches(caller)))
                )
            except WinnowError:
                errors += 1

    started = time.perf_counter()
    await asyncio.gather(*(client(number) for number in range(CLIENTS)))
    rate = len(times) / (time.perf_counter() - started)
    return {"clients": CLIENTS, "errors": errors, "searches_per_s": round(rate, 1), "ms": percentiles(times)}


# --- replay of a session


async def replay(kb: KnowledgeBase, log: Path) -> dict[str, Any]:
    """Replay the calls of a session on an unused ``kb``; returns how many the caches answered.

    Raises ``WinnowError("INVALID_REQUEST")`` if the log cannot be parsed.
    """
    caller = kb.caller("replay")
    answers: list[Answer] = []
    for arguments in _read_log(log, answers):
        answers.append(await kb.call(_OPERATION, arguments, caller))
    hits = sum(answer.cache_hit for answer in answers)
    caches = (await kb.counters()).caches
    return {
        "calls": len(answers),
        "hits": hits,
        "hit_rate": round(hits / max(len(answers), 1), 4),
        "caches": {name: {"hits": cache.hits, "misses": cache.misses} for name, cache in caches.items()},
    }


def _read_log(log: Path, answers: Sequence[Answer]) -> Iterator[dict[str, Any]]:
    """The arguments of each call.

    ``"pick": n`` stands for the first n ids of the answer before, ``"more": true`` for its cursor; a call for more
    where nothing follows is left out.
    """
    try:
        lines = [json.loads(line) for line in log.read_text("utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise WinnowError("INVALID_REQUEST", f"{log} is no log of a session: {error}") from None
    for line in lines:
        last = answers[-1].payload if answers else {}
        rows = last.get("ids") or [row["id"] for row in last.get("results", [])]
        if count := line.pop("pick", 0):
            line["filter_ids"] = rows[:count]
        if line.pop("more", False):
            if "next_cursor" not in last:
                continue
            line["cursor"] = last["next_cursor"]
        yield line
