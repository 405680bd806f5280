"""A watcher over open backends: where an engine or a command has the store open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from server.ingest.parsing.reader_pool import ReaderPool
from server.ingest.pipeline import ingest_parts
from server.ingest.report import IngestReport
from server.ingest.selection.deletions import DeletionRule
from server.ingest.target import target_of
from server.ingest.zotero.ingesting import HowToIngest, ingest_found
from server.ingest.zotero.reading import FoundLibraries
from server.libraries.zotero.choice import ZoteroChoice
from server.opening import Backends
from server.settings import Settings
from server.watching.source_watcher import WatchTimes
from server.watching.sources import WatchedSource
from server.watching.watcher import Found, OnProgress, Watcher


def watcher_of(settings: Settings, backends: Callable[[], Backends]) -> Watcher:
    """A watcher of the store of these settings, which does not run yet.

    ``backends`` returns the open backends; it is called in threads of low priority, so they should be open.
    """
    pool = ReaderPool()

    def ingest(source: WatchedSource, found: Found, deletions: DeletionRule, on_batch: OnProgress) -> IngestReport:
        opened = backends()
        own = settings.model_copy(update={"project": source.project})
        target = target_of(own, opened, opened.embedder.wait())
        if isinstance(found, FoundLibraries):
            how = HowToIngest(source.labels, source.options, deletions, settings.allow_weaker_reader, pool)
            return ingest_found(target, found, source.zotero or ZoteroChoice(), how, on_batch)
        return ingest_parts(
            target,
            found,
            labels=source.labels,
            options=source.options,
            deletions=deletions,
            allows_weaker=settings.allow_weaker_reader,
            pool=pool,
            references=Path(source.references) if source.references else None,
            progress=on_batch,
        )

    times = WatchTimes(settings.watch_scan_minutes, settings.watch_poll_seconds)
    return Watcher(settings.store, lambda: backends().catalogue, ingest, times, pool)
