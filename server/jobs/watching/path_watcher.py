"""Watches one path of a source: waits for changes, lists the changed parts, and has them ingested.

Theory of operation. Events only say where to look. A listing finds the files, and the ledger of the ingest decides
what to write. An event that is lost, repeated or wrong therefore costs time and nothing else. The first scan lists
everything, and a scan every few minutes does so again. Folders are watched before they are listed, so that a
change during the listing is an event.

Where the kernel reports no changes (on a remote file system, or once its limits are reached), everything is listed
every few seconds, and ingested when a size or a time differs. A path that is missing, or that has become a link to
another place, has the state "away": its documents are kept, and the watcher keeps looking for the path. No lock is
held during a listing, because a listing on a dead network file system may never return.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from winnow.server.ingest.file_discovery import Root, SourcePart, is_behind_link, root_of
from winnow.server.ingest.report import IngestReport
from winnow.server.ingest.selection.deletions import DeletionRule
from winnow.server.jobs.watching.events import EventsUnavailable, FolderEvents
from winnow.server.jobs.watching.file_systems import remote_type
from winnow.server.jobs.watching.scans import Settling, changed_parts, list_parts, snapshot_of, watched_folders
from winnow.server.jobs.watching.source_watcher import (
    BUSY_SECONDS,
    FAILURES_SHOWN,
    REASON_CHARS,
    SECONDS_PER_MINUTE,
    SourceWatcher,
    WatchedStore,
    WatchTimes,
)
from winnow.server.jobs.watching.sources import WatchedSource
from winnow.server.jobs.watching.status import PathStatus
from winnow.server.runtime.logs import log
from winnow.server.text.printable import one_line

# The pause before the watcher looks again for a path that is away.
_AWAY_SECONDS = 3.0
# Deletions within this time count together when the watcher decides whether to hold them back.
_RECENT_SECONDS = 60.0
_HIDDEN_LINK = "it has become a link, or a folder above it has; add the folder that it leads to instead"


class PathWatcher(SourceWatcher):
    """One path of a source. ``run`` is the body of its thread; ``publish`` receives each new status.

    ``status`` is the last status of an earlier watcher, or an empty status.
    """

    def __init__(
        self,
        source: WatchedSource,
        status: PathStatus,
        store: WatchedStore,
        times: WatchTimes,
        publish: Callable[[PathStatus], None],
    ) -> None:
        super().__init__(source, status, publish)
        self._path, self._store, self._times = Path(status.path), store, times
        self._events: FolderEvents | None = None
        self._parts: set[str] = set()  # parts to list, relative to the source in the index
        self._next_scan = 0.0  # monotonic time
        self._root = Root(status.path, "")
        self._snapshot: dict[str, tuple[int, int]] = {}
        self._settling = Settling(self._pause, lambda files: store.expect(self.source, files))
        self._deleted: deque[tuple[float, int]] = deque()
        self._failures: dict[str, str] = {}  # the reason of each file that is not in the index

    def _watch(self) -> float:
        """Do what is due, or wait for a change; returns the seconds to pause."""
        self.wake.clear()
        if self._stopping:
            return 0.0
        if why := self._find_obstacle():
            self._stop_events()
            self._is_due = True
            self._set_status(state="away", why=why)
            return _AWAY_SECONDS
        if self._is_due or time.monotonic() >= self._next_scan:
            self._next_scan, self._is_due = 0.0, False
            self._scan()
        elif self._parts:
            self._update_parts()
        else:
            self._wait_for_changes()
        return 0.0

    def _find_obstacle(self) -> str:
        """Why the path cannot be watched now; "" if it can."""
        try:
            self._path.lstat()
            return _HIDDEN_LINK if is_behind_link(self._path) else ""
        except OSError as error:
            return f"it is not there ({error.strerror}); its documents are kept, and it is looked for again"

    # --- scans

    def _scan(self) -> None:
        """List everything and have it ingested."""
        source = self.source
        confirmed = source.confirmed if source.confirmed_at > self._status.confirmed_at else 0
        known = self._store.known_sources(self.source.project)
        self._root = root_of(self._path, known)
        self._parts.clear()
        self._follow([self._root.below])
        parts = self._list([self._root.below])
        report = self._ingest(parts, confirmed)
        self._next_scan = time.monotonic() + self._times.scan_minutes * SECONDS_PER_MINUTE
        self._snapshot = snapshot_of(parts)
        self._set_status(
            held=report.held,
            files=sum(len(part.listing.files) for part in parts) - report.images_skipped,
            scanned_at=time.time(),
            confirmed_at=source.confirmed_at,
        )

    def _update_parts(self) -> None:
        """List the parts that changed and have them ingested."""
        names = sorted(self._parts)
        self._follow(names)
        parts = self._list(names)
        report = self._ingest(parts, 0)
        self._parts.difference_update(set(names) - self._unfinished)
        if report.held:
            self._is_due = True  # to find out how many are held back in all

    def _list(self, names: Sequence[str]) -> list[SourcePart]:
        parts = list_parts(self._root.source, names, self.source.request.rules)
        self._unfinished = self._settling.leave_out_unfinished(parts)
        self._parts |= self._unfinished
        return parts

    def _ingest(self, parts: Sequence[SourcePart], confirmed: int) -> IngestReport:
        now = time.monotonic()
        while self._deleted and self._deleted[0][0] < now - _RECENT_SECONDS:
            self._deleted.popleft()
        recent = sum(count for _, count in self._deleted)
        report = self._store.ingest(self.source, parts, DeletionRule(True, recent, confirmed), self._on_progress)
        if report.deleted and not confirmed:
            self._deleted.append((now, report.deleted))
        self._note_failures(parts, report)
        changed = {"changed_at": time.time()} if report.documents or report.moved or report.deleted else {}
        self._set_status(
            indexing="",
            state="events" if self._events else "polling",
            why="" if self._events else self._status.why,
            written=self._status.written + report.documents,
            moved=self._status.moved + report.moved,
            deleted=self._status.deleted + report.deleted,
            unreadable=len(self._failures),
            failures=tuple(f"{name}: {self._failures[name]}" for name in sorted(self._failures)[:FAILURES_SHOWN]),
            **changed,
        )
        return report

    def _note_failures(self, parts: Sequence[SourcePart], report: IngestReport) -> None:
        """Replace the known failures in these parts by the failures that their ingest reported."""
        kept = {
            name: reason
            for name, reason in self._failures.items()
            if not any(part.root.holds(name.partition("#")[0]) for part in parts)
        }
        new = {one_line(one.name): one_line(one.reason, REASON_CHARS) for one in report.failures}
        self._failures = kept | new

    # --- events

    def _follow(self, names: Sequence[str]) -> None:
        """Watch the folders of these parts, and those watched before. If that is impossible, record the reason."""
        if kind := remote_type(self._path):
            self._poll(f"a file system of type {kind} does not report what other machines change")
            return
        if self._events is None and names != [self._root.below]:
            return  # the next scan tries again
        try:
            self._watch_folders(list_parts(self._root.source, names, self.source.request.rules))
        except EventsUnavailable as error:
            self._poll(str(error))
        except OSError:  # a folder went away meanwhile
            self._is_due = True
            self._pause(BUSY_SECONDS)

    def _watch_folders(self, parts: Sequence[SourcePart]) -> None:
        former = self._events.folders if self._events else frozenset()
        folders = watched_folders(former, parts) or {str(self._path.parent)}
        if folders == former:
            return
        events = FolderEvents(folders)
        if self._events:
            self._parts.update(changed_parts(self._root, self._events.wait(0.0, self.wake)))
            self._events.close()
        self._events = events

    def _poll(self, why: str) -> None:
        self._stop_events()
        if self._status.why != why:
            log("a path is polled", level=30, source=self.source.id, why=why)
        self._set_status(state="polling", why=why)

    def _wait_for_changes(self) -> None:
        left = self._next_scan - time.monotonic()
        if self._events is None:
            self.wake.wait(min(left, self._times.poll_seconds))
            self._compare_listing()
            return
        try:
            self._parts.update(changed_parts(self._root, self._events.wait(left, self.wake)))
        except EventsUnavailable:
            self._stop_events()
            self._is_due = True

    def _compare_listing(self) -> None:
        parts = list_parts(self._root.source, [self._root.below], self.source.request.rules)
        if not self._stopping and snapshot_of(parts) != self._snapshot:
            self._snapshot = snapshot_of(parts)
            self._parts.add(self._root.below)

    def _close(self) -> None:
        self._stop_events()

    def _stop_events(self) -> None:
        if self._events:
            self._events.close()
            self._events = None
