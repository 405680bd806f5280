"""Creates a watcher over open backends, in an engine or a command that has the store open."""

from __future__ import annotations

from collections.abc import Callable

from winnow.server.backends.opening import Backends
from winnow.server.ingest.children.reader_pool import ReaderPool
from winnow.server.ingest.pipeline import ingest_parts
from winnow.server.ingest.report import IngestReport, OnProgress
from winnow.server.ingest.selection.deletions import DeletionRule
from winnow.server.ingest.zotero.ingesting import ingest_found
from winnow.server.ingest.zotero.reading import FoundLibraries
from winnow.server.jobs.target import target_of
from winnow.server.jobs.watching.source_watcher import WatchTimes
from winnow.server.jobs.watching.sources import WatchedSource
from winnow.server.jobs.watching.watcher import SourceListing, Watcher
from winnow.server.settings.settings import Settings


def watcher_of(settings: Settings, backends: Callable[[], Backends]) -> Watcher:
    """A watcher of the store of these settings, which does not run yet.

    ``backends`` is called in threads of low priority, so the backends that it returns should be open already.
    """
    pool = ReaderPool()

    def ingest(
        source: WatchedSource, found: SourceListing, deletions: DeletionRule, on_batch: OnProgress
    ) -> IngestReport:
        opened = backends()
        own = settings.model_copy(update={"project": source.project})
        target = target_of(own, opened, opened.embedder.wait())
        if isinstance(found, FoundLibraries):
            return ingest_found(target, found, source.request, on_batch, deletions=deletions, pool=pool)
        return ingest_parts(target, found, source.request, on_batch, deletions=deletions, pool=pool)

    times = WatchTimes(settings.watch_scan_minutes, settings.watch_poll_seconds)
    return Watcher(settings.store, lambda: backends().catalogue, ingest, times, pool)
