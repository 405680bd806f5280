"""Watches all sources of a store, each path in its own thread, so that a dead disk stops no other source.

One process watches a store: it holds the lock ``watcher``. The sources' file is looked at every second, so that
``winnow sources`` needs no connection to the watcher.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from winnow.server.errors import WinnowError
from winnow.server.ingest.children.parser import expected_tasks
from winnow.server.ingest.children.reader_pool import ReaderPool
from winnow.server.ingest.file_discovery import File, SourcePart
from winnow.server.ingest.report import IngestReport, OnProgress, Progress
from winnow.server.ingest.selection.deletions import DeletionRule
from winnow.server.ingest.zotero.reading import FoundLibraries
from winnow.server.jobs.watching.path_watcher import PathWatcher
from winnow.server.jobs.watching.source_watcher import SourceWatcher, WatchTimes, WorkInterrupted
from winnow.server.jobs.watching.sources import WatchedSource, read_sources, state_of
from winnow.server.jobs.watching.status import PathStatus, read_status, write_status
from winnow.server.jobs.watching.zotero_watcher import ZoteroWatcher
from winnow.server.runtime.logs import log
from winnow.server.runtime.priority import lower_priority
from winnow.server.storage.files.lock import WATCHER, StoreLock
from winnow.server.storage.project_states import HiddenProject

_LOOK_SECONDS = 1.0
_END_SECONDS = 5.0

SourceListing = Sequence[SourcePart] | FoundLibraries
# Ingests what was found; the last argument is called after each batch, and may raise ``WorkInterrupted``.
IngestFound = Callable[[WatchedSource, SourceListing, DeletionRule, OnProgress], IngestReport]


class WatchedCatalogue(Protocol):
    """Protocol of the catalogue, as far as a watcher reads it."""

    def sources(self, project: str) -> list[str]:
        """The paths that were ingested into the project before."""

    def hidden_projects(self) -> Mapping[str, HiddenProject]:
        """The projects that are not in use."""


class Watcher:
    """Watches a store from ``start`` to ``stop``. Ingests one part after another, with low priority.

    ``catalogue`` returns the store's catalogue. Sources of hidden projects are kept but not watched, because a
    deleted project may be restored. ``pool`` holds the children that read files for ``ingest``: they have the
    watcher's priority, and end with the watcher.
    """

    def __init__(
        self,
        store: Path,
        catalogue: Callable[[], WatchedCatalogue],
        ingest: IngestFound,
        times: WatchTimes,
        pool: ReaderPool,
    ) -> None:
        self._store, self._catalogue, self._ingest, self._times = store, catalogue, ingest, times
        self._pool = pool
        self._hidden: frozenset[str] = frozenset()
        self._lock: StoreLock | None = None
        self._stopping = threading.Event()
        self._manager = threading.Thread(target=self._run, name="winnow-watch", daemon=True)
        self._watchers: dict[tuple[str, str], tuple[SourceWatcher, threading.Thread]] = {}
        self._status: dict[tuple[str, str], PathStatus] = {}
        self._former: dict[tuple[str, str], PathStatus] = {}
        self._changed = threading.Condition()
        self._is_busy, self._waiting = False, 0

    def start(self) -> None:
        """Begin to watch. Raises ``WinnowError``: "INDEX_HELD" if another process watches this store."""
        self._lock = StoreLock(self._store, WATCHER)
        self._former = {(one.source, one.path): one for one in read_status(self._store).paths}
        self._manager.start()

    def stop(self) -> bool:
        """Stop watching; a running ingest ends after its batch. Return False if it has not ended in time.

        A thread that waits for a dead disk is left behind.
        """
        self._stopping.set()
        with self._changed:
            self._changed.notify_all()
        if self._manager.is_alive():
            self._manager.join(_END_SECONDS)
        until = time.monotonic() + _END_SECONDS
        for watcher, _ in self._watchers.values():
            watcher.stop()
        for _, thread in self._watchers.values():
            thread.join(max(until - time.monotonic(), 0.0))
        self._pool.close()
        if self._lock:
            self._lock.release()
            self._lock = None
        return not self._is_busy

    @contextmanager
    def give_way(self) -> Iterator[None]:
        """Pause watching while a user's ingest runs. The watcher's ingest stops after its batch, resumes later."""
        with self._changed:
            self._waiting += 1
            self._changed.wait_for(lambda: not self._is_busy)
            self._is_busy = True
        try:
            yield
        finally:
            with self._changed:
                self._waiting -= 1
                self._is_busy = False
                self._changed.notify_all()

    def known_sources(self, project: str) -> list[str]:
        """See ``WatchedStore``."""
        return self._catalogue().sources(project)

    def expect(self, source: WatchedSource, files: Sequence[File]) -> None:
        """See ``WatchedStore``. The children start while the watcher waits for the files to be complete."""
        options = source.request.options
        if tasks := frozenset().union(*(expected_tasks(file.path, file.size, options) for file in files)):
            self._pool.start_early(options, tasks)

    def ingest(
        self,
        source: WatchedSource,
        found: SourceListing,
        deletions: DeletionRule,
        on_progress: OnProgress,
    ) -> IngestReport:
        """See ``WatchedStore``."""

        def on_batch(progress: Progress) -> None:
            self._raise_if_unwanted()
            on_progress(progress)

        with self._changed:
            self._changed.wait_for(lambda: self._stopping.is_set() or not (self._is_busy or self._waiting))
            self._raise_if_unwanted()
            self._is_busy = True
        try:
            report = self._ingest(source, found, deletions, on_batch)
        finally:
            with self._changed:
                self._is_busy = False
                self._changed.notify_all()
        if report.held:
            log("deletions are held back", level=30, source=source.id, documents=report.held)
        return report

    def _raise_if_unwanted(self) -> None:
        if self._stopping.is_set() or self._waiting:
            raise WorkInterrupted

    def _run(self) -> None:
        lower_priority()
        seen: object = self  # equals no state of the file
        while not self._stopping.is_set():
            if (state := (state_of(self._store), self._read_hidden())) != seen:
                seen = state
                self._take_over_sources()
            self._stopping.wait(_LOOK_SECONDS)

    def _read_hidden(self) -> frozenset[str]:
        """The names of the hidden projects; those known before if the catalogue does not answer."""
        with suppress(WinnowError):
            self._hidden = frozenset(self._catalogue().hidden_projects())
        return self._hidden

    def _take_over_sources(self) -> None:
        try:
            sources = [one for one in read_sources(self._store) if one.project not in self._hidden]
        except WinnowError as error:
            log("sources are not used", level=40, why=error.message)
            return
        wanted = {(source.id, path): source for source in sources for path in source.paths}
        for key in [key for key in self._watchers if key not in wanted]:
            self._watchers.pop(key)[0].stop()
            with self._changed:
                self._status.pop(key, None)
        for key, source in wanted.items():
            if key not in self._watchers:
                self._begin(key, source)
            elif self._watchers[key][0].source != source:
                self._watchers[key][0].update(source)
        self._write_status()

    def _begin(self, key: tuple[str, str], source: WatchedSource) -> None:
        former = self._former.get(key, PathStatus(source.id, key[1], source.project))
        status = replace(former, project=source.project, state="starting", why="", indexing="")
        watcher = self._make_watcher(source, status)
        thread = threading.Thread(target=watcher.run, name=f"winnow-watch-{source.id}", daemon=True)
        with self._changed:
            self._status[key] = status
        self._watchers[key] = watcher, thread
        thread.start()

    def _make_watcher(self, source: WatchedSource, status: PathStatus) -> SourceWatcher:
        if source.request.zotero is None:
            return PathWatcher(source, status, self, self._times, self._publish)
        return ZoteroWatcher(source, status, self, self._times, self._publish, self._store)

    def _publish(self, status: PathStatus) -> None:
        key = status.source, status.path
        with self._changed:
            if key not in self._status:
                return
            self._status[key] = status
        self._write_status()

    def _write_status(self) -> None:
        with self._changed, suppress(OSError):  # a full disk stops no source
            write_status(self._store, self._status.values())
