"""Several servers on one engine: searches during an ingest, and an engine that is killed."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.engine_servers import ANSWER_SECONDS, Server, engine_pid
from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.opening import catalogue_path, open_backends
from winnow.server.commands.benchmarks.figures import percentiles
from winnow.server.commands.terminal.progress import OnStep
from winnow.server.engine.client import EngineKnowledge, query_engine
from winnow.server.errors import WinnowError
from winnow.server.ingest.selection.request import IngestRequest
from winnow.server.settings.settings import Settings

_PAUSE_SECONDS = 0.6  # between two searches of a server: it takes 100 a minute
# Searches of each server before the ingest: at most so many, and one for so many calls behind a figure.
_BEFORE, _CALLS_PER_SEARCH = 20, 20
_KILL_AFTER_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Job:
    """``servers`` at once, ``calls`` behind each figure, ``chunks`` of each ingest, ``kills`` of the engine."""

    servers: int
    calls: int
    chunks: int
    kills: int


@dataclass(frozen=True, slots=True)
class Scene:
    """Servers that share a store, and a client that writes to it. Files go to ``scratch``."""

    writer: EngineKnowledge
    settings: Settings
    servers: Sequence[Server]
    job: Job
    questions: Sequence[str]
    scratch: Path
    progress: OnStep

    async def write_pages(self, mark: str) -> Path:
        """A folder of new documents with about ``job.chunks`` chunks."""
        folder = self.scratch / mark.replace(" ", "-")
        return await asyncio.to_thread(_write_pages, self.settings, self.job.chunks, folder, mark)

    async def waits(self) -> dict[str, Any]:
        """How long searches have waited for writers so far, from the engine's status."""
        waits: dict[str, Any] = (await query_engine(self.settings.store, "status") or {}).get("waits", {})
        return waits


async def measure_ingest(scene: Scene) -> dict[str, Any]:
    servers, questions = scene.servers, scene.questions
    before, begun = asyncio.Event(), await scene.waits()
    searches = min(_BEFORE, scene.job.calls // _CALLS_PER_SEARCH)
    asyncio.get_running_loop().call_later(searches * _PAUSE_SECONDS, before.set)
    scene.progress("searches alone", 0, 2)
    quiet = await _search_until(servers, questions, before)
    scene.progress("searches beside an ingest", 1, 2)
    pages, done = await scene.write_pages("first"), asyncio.Event()
    searching = asyncio.create_task(_search_until(servers, questions[::-1], done))
    began = time.perf_counter()
    try:
        report = await scene.writer.ingest(IngestRequest(paths=(pages,)), lambda progress: None)
    finally:
        done.set()
    seconds = time.perf_counter() - began
    return {
        "chunks": report["chunks"],
        "seconds": round(seconds, 1),
        "chunks_per_s": round(report["chunks"] / seconds, 1),
        "searches_alone": quiet,
        "searches_beside": await searching,
        "lock_waits": await scene.waits(),
        "lock_waits_before": begun,
    }


async def _search_until(
    servers: Sequence[Server], questions: Sequence[str], done: asyncio.Event
) -> dict[str, Any]:
    """Each server searches, with pauses, until ``done``: how long each search took, and which failed."""
    times: list[float] = []
    errors: list[str] = []

    async def client(number: int, each: Server) -> None:
        for query in itertools.cycle(questions[number :: len(servers)]):
            began = time.perf_counter()
            try:
                await each.search(f"{query} {len(times)}")
                times.append((time.perf_counter() - began) * 1000)
            except (WinnowError, TimeoutError) as error:
                errors.append(str(error))
            if done.is_set():
                return
            await asyncio.sleep(_PAUSE_SECONDS)

    await asyncio.gather(*(client(number, each) for number, each in enumerate(servers)))
    return {
        "searches": len(times),
        "errors": len(errors),
        "first_error": errors[0] if errors else None,
        "ms": {**percentiles(times), "longest": round(max(times), 1)} if len(times) > 1 else {},
    }


async def measure_kills(scene: Scene) -> dict[str, Any]:
    """Kill the engine in the middle of an ingest while every server searches, then ingest again."""
    rows = []
    for number in range(scene.job.kills):
        scene.progress("kill -9 of the engine", number, scene.job.kills)
        rows.append(await _measure_kill(scene, await scene.write_pages(f"kill {number}")))
    seconds = [one for row in rows for one in row["seconds_to_an_answer"]]
    return {"kills": rows, "slowest_s": max(seconds, default=None), "lost": sum(row["lost"] for row in rows)}


async def _measure_kill(scene: Scene, pages: Path) -> dict[str, Any]:
    writer, settings, questions = scene.writer, scene.settings, scene.questions
    reported_counts: list[int] = []
    known = await asyncio.to_thread(_document_ids, settings)
    ingest = asyncio.create_task(
        writer.ingest(IngestRequest(paths=(pages,)), lambda answer: reported_counts.append(answer["documents"]))
    )
    while not reported_counts and not ingest.done():
        await asyncio.sleep(0.01)
    await asyncio.sleep(_KILL_AFTER_SECONDS)
    under_way = [asyncio.create_task(each.search(questions[-1])) for each in scene.servers]
    os.kill(await engine_pid(settings.store), signal.SIGKILL)
    reported, began = (reported_counts or [0])[-1], time.perf_counter()

    async def answered(each: Server, before: asyncio.Task[Any], query: str) -> tuple[float, str, int]:
        """Seconds until it answers a question asked after the kill, the search mode, and errors until then."""
        errors = int(isinstance((await asyncio.gather(before, return_exceptions=True))[0], BaseException))
        while True:
            try:
                answer = await each.search(query)
            except WinnowError:
                if time.perf_counter() - began > ANSWER_SECONDS:
                    raise
                errors += 1
                continue
            return round(time.perf_counter() - began, 2), str(answer["search_mode"]), errors

    answers = await asyncio.gather(
        *(
            answered(each, task, f"{questions[0]} again")
            for each, task in zip(scene.servers, under_way, strict=True)
        )
    )
    broken_off = isinstance((await asyncio.gather(ingest, return_exceptions=True))[0], WinnowError)
    kept = await asyncio.to_thread(_document_ids, settings)
    again = await writer.ingest(IngestRequest(paths=(pages,)), lambda answer: None)
    whole = await asyncio.to_thread(_document_ids, settings)
    return {
        "seconds_to_an_answer": [seconds for seconds, _, _ in answers],
        "answered": sorted({mode for _, mode, _ in answers}),
        "errors": sum(errors for _, _, errors in answers),
        "ingest_was_broken_off": broken_off,
        "documents_reported": reported,
        "documents_there": len(kept - known),
        "lost": max(0, reported - len(kept - known)) + len(kept - whole) + len(known - whole),
        "chunks_written_again": again["chunks"],
    }


def _document_ids(settings: Settings) -> set[str]:
    with closing(Catalogue(catalogue_path(settings))) as catalogue:
        return {one.id for one in catalogue.documents(settings.project)}


def check_stores(settings: Settings) -> bool:
    """Whether index and catalogue hold the same chunks. No process may have the store open."""
    backends = open_backends(settings, wait_for_model=False)
    try:
        ids = sorted(backends.store.ids(settings.project))
        return ids == backends.catalogue.chunk_ids(settings.project)
    finally:
        backends.close()


def _write_pages(settings: Settings, chunks: int, folder: Path, mark: str) -> Path:
    """Texts of the store itself as new documents, about ``chunks`` chunks of them."""
    folder.mkdir()
    written = 0
    with closing(Catalogue(catalogue_path(settings))) as catalogue:
        documents = [one for one in catalogue.documents(settings.project) if one.type == "markdown"]
        for number, document in enumerate(documents or catalogue.documents(settings.project)):
            text = catalogue.text(document.id, settings.project) or ""
            (folder / f"{folder.name}-{number:05}.md").write_text(
                f"# {document.title}, {mark}\n\n{text}", "utf-8", "replace"
            )
            written += len(catalogue.chunks(document.id, settings.project))
            if written >= chunks:
                break
    return folder
