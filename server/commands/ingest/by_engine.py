"""Has the engine of a store ingest: other processes search meanwhile, and see each batch at once.

An engine that was not there is started, and leaves after the ingest unless another client came to it. Where no
engine can be shared (setting ``daemon``, or the system), the command ingests by itself and locks the store.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.server.commands.terminal.output import print_to_stderr
from winnow.server.commands.terminal.progress import show_progress
from winnow.server.engine.sharing import has_engine, shares_engine
from winnow.server.errors import WinnowError
from winnow.server.settings.settings import Settings

if TYPE_CHECKING:
    from winnow.server.engine.client import EngineKnowledge
    from winnow.server.ingest.report import IngestReport
    from winnow.server.ingest.selection.request import IngestRequest

# What an engine of this command waits for its next client: the least that the setting admits.
_IDLE_MINUTES = 0.001
_LEAVE_SECONDS, _POLL_SECONDS = 10.0, 0.02
# Until the engine has noticed that this client is gone, it counts it.
_GOODBYE_SECONDS = 0.5
_ALONE = "winnow: no engine can open this store, so the ingest works alone, and others wait until it ends: {why}"


def run_ingest(settings: Settings, request: IngestRequest) -> IngestReport:
    """Have the engine ingest, or ingest in this process; with the progress on the terminal."""
    from winnow.server.backends.opening import open_backends
    from winnow.server.jobs.target import run_request

    if shares_engine(settings) and (by_engine := asyncio.run(_ingest(settings, request))) is not None:
        return by_engine
    backends = open_backends(settings, wait_for_model=True, repairs_vectors=True)
    try:
        with show_progress() as on_progress:
            return run_request(settings, backends, request, on_progress)
    finally:
        backends.close()


async def _ingest(settings: Settings, request: IngestRequest) -> IngestReport | None:
    """The report of the engine; None where this process must ingest by itself."""
    from winnow.server.engine.client import EngineKnowledge

    if has_engine(settings):
        kb = EngineKnowledge(settings, waits_for_model=False)
        try:
            return await _ingest_by(kb, request)
        finally:
            await kb.aclose()
    kb = EngineKnowledge(settings.model_copy(update={"engine_idle_minutes": _IDLE_MINUTES}), waits_for_model=False)
    try:
        try:
            await kb.open()
        except WinnowError as error:  # this process repairs what it can, or says what is wrong
            print_to_stderr(_ALONE.format(why=error.message))
            return None
        return await _ingest_by(kb, request)
    finally:
        await kb.aclose()
        await _wait_for_end(settings.store)


async def _wait_for_end(store: Path) -> None:
    """Wait for the engine to leave, so that the next command has the store; not while it has other clients."""
    from winnow.server.engine.client import query_engine
    from winnow.server.storage.files.lock import ENGINE, find_holder

    start = time.monotonic()
    while find_holder(store, ENGINE) and (waited := time.monotonic() - start) < _LEAVE_SECONDS:
        with suppress(WinnowError):  # it is leaving, or busy
            status = await query_engine(store, "status")
            if status and waited > _GOODBYE_SECONDS and (status["clients"] or status["ingests"]):
                return
        await asyncio.sleep(_POLL_SECONDS)


async def _ingest_by(kb: EngineKnowledge, request: IngestRequest) -> IngestReport:
    from winnow.server.ingest.pipeline import GraphReport, IngestFailure, IngestReport, Progress
    from winnow.server.ingest.references.reference_report import ReferenceReport
    from winnow.server.ingest.report import ReadingSummary

    with show_progress() as on_progress:
        report = await kb.ingest(request, lambda facts: on_progress(Progress(**facts)))
    failures = tuple(IngestFailure(**failure) for failure in report["failures"])
    graph = report["graph"] and GraphReport(**{**report["graph"], "warnings": tuple(report["graph"]["warnings"])})
    references = report["references"] and ReferenceReport.from_json(report["references"])
    warnings = tuple(report["warnings"])
    parts = {"failures": failures, "warnings": warnings, "graph": graph, "references": references}
    return IngestReport(**{**report, **parts, "reading": ReadingSummary(**report["reading"])})
