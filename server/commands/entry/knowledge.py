"""The knowledge base that the settings name: opened by this process, or over the store's engine.

Apart from ``app.py``, because most commands need no tools and no scripts, whose import takes a tenth of a second.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from winnow.server.engine.client import EngineKnowledge
from winnow.server.engine.sharing import has_engine, shares_engine
from winnow.server.jobs.queue import JobQueue, JobRunner
from winnow.server.operations.knowledge import Knowledge, KnowledgeBase, Store
from winnow.server.settings.settings import Settings

if TYPE_CHECKING:
    from winnow.server.backends.opening import Backends
    from winnow.server.ingest.report import Progress
    from winnow.server.jobs.records import Job, JobResult


def make_knowledge_base(settings: Settings, *, wait_for_model: bool, runs_jobs: bool = False) -> KnowledgeBase:
    """Create the knowledge base of these settings; it opens its store at the first use.

    ``runs_jobs``: this process runs the jobs of the store.
    """

    def open_store() -> Store:
        # Vector stores and model runtimes take half a second to import, so they are imported in the opener's
        # thread.
        from winnow.server.backends.opening import open_backends

        backends = open_backends(settings, wait_for_model=wait_for_model)
        if runs_jobs:
            gc.freeze()  # what a server has open stays: a collection that one call sets off holds up all clients
        return backends

    def run(job: Job, on_progress: Callable[[Progress], None]) -> JobResult:
        from winnow.server.jobs.ingesting import run_ingest
        from winnow.server.projects.rebuilding import rebuild_vectors

        return run_ingest(settings, cast("Backends", kb.store()), job, on_progress, rebuild_vectors)

    jobs = JobQueue(settings.store, JobRunner(lambda: kb.store(), run)) if runs_jobs else None
    kb = KnowledgeBase(open_store, settings, jobs=jobs)
    return kb


def open_knowledge(settings: Settings, *, wait_for_model: bool, starts_engine: bool = False) -> Knowledge:
    """A knowledge base over the store's engine, if one runs or ``starts_engine``, otherwise in this process.

    What starts an engine is a server: without an engine it runs the jobs of the store itself.
    """
    if shares_engine(settings) if starts_engine else has_engine(settings):
        watches = starts_engine and settings.watch == "on"
        return EngineKnowledge(settings, waits_for_model=wait_for_model, watches=watches)
    return make_knowledge_base(settings, wait_for_model=wait_for_model, runs_jobs=starts_engine)
