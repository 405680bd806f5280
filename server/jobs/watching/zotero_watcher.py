"""Watches libraries of Zotero: checks whether its database has changed, and ingests the chosen libraries.

Zotero reports no changes, but it writes each change to its database, also while it is running. The watcher checks
the size and time of the database's files every few seconds, and reads the libraries once these have settled. It
also reads them as often as folders are scanned, because a file may arrive without a change of the database.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from winnow.server.bibliographies.zotero.choice import ZoteroChoice
from winnow.server.errors import WinnowError
from winnow.server.ingest.report import IngestReport
from winnow.server.ingest.selection.deletions import GUARDED, DeletionRule
from winnow.server.ingest.zotero.ingesting import choice_of
from winnow.server.ingest.zotero.reading import FoundLibraries, change_mark, read_libraries
from winnow.server.jobs.watching.source_watcher import (
    FAILURES_SHOWN,
    REASON_CHARS,
    SECONDS_PER_MINUTE,
    SourceWatcher,
    WatchedStore,
    WatchTimes,
)
from winnow.server.jobs.watching.sources import WatchedSource
from winnow.server.jobs.watching.status import PathStatus
from winnow.server.text.printable import one_line

# The pause before the watcher looks for Zotero again.
_AWAY_SECONDS = 15.0
_WHY_CHARS = 600
# A database that never stops changing is read after this time.
_PATIENCE_SECONDS = 60.0
_WHY = "Zotero does not report changes"
_NOT_THERE = frozenset({"NOT_FOUND", "SOURCE_UNAVAILABLE"})


class ZoteroWatcher(SourceWatcher):
    """Watches the libraries of one source. ``folder`` is the store's folder."""

    def __init__(
        self,
        source: WatchedSource,
        status: PathStatus,
        store: WatchedStore,
        times: WatchTimes,
        publish: Callable[[PathStatus], None],
        folder: Path,
    ) -> None:
        super().__init__(source, status, publish)
        self._store, self._times, self._folder = store, times, folder
        self._next_scan = 0.0  # monotonic time
        self._read_mark = self._seen_mark = ""
        self._changed_at = 0.0  # monotonic time of the first unread change, 0 if there is none

    def _watch(self) -> float:
        self.wake.clear()
        if self._stopping:
            return 0.0
        if self._is_due or time.monotonic() >= self._next_scan or self._has_changed():
            self._next_scan, self._is_due = 0.0, False
            try:
                self._scan()
            except WinnowError as error:
                if error.reason not in _NOT_THERE:
                    raise
                self._is_due = True
                self._set_status(
                    state="away", why=one_line(f"{error.message}; its documents are kept", _WHY_CHARS)
                )
                return _AWAY_SECONDS
        return max(min(self._times.poll_seconds, self._next_scan - time.monotonic()), 0.0)

    def _close(self) -> None:
        """Nothing stays open between two checks."""

    def _has_changed(self) -> bool:
        """Whether the database has changed since it was read, and has settled since the last check."""
        now, mark = time.monotonic(), change_mark(self._choice)
        is_settled, self._seen_mark = mark == self._seen_mark, mark
        if mark == self._read_mark:
            self._changed_at = 0.0
            return False
        self._changed_at = self._changed_at or now
        return is_settled or now - self._changed_at >= _PATIENCE_SECONDS

    def _scan(self) -> None:
        """Read the libraries and have them ingested."""
        source = self.source
        mark = change_mark(self._choice)
        confirmed = source.confirmed if source.confirmed_at > self._status.confirmed_at else 0
        found = read_libraries(self._choice, self._folder)
        rule = DeletionRule(is_watching=True, confirmed=confirmed, command=GUARDED.command)
        report = self._store.ingest(source, found, rule, self._on_progress)
        self._read_mark = self._seen_mark = mark
        self._changed_at = 0.0
        self._next_scan = time.monotonic() + self._times.scan_minutes * SECONDS_PER_MINUTE
        self._report(source, found, report)

    def _report(self, source: WatchedSource, found: FoundLibraries, report: IngestReport) -> None:
        failures = [f"{one_line(one.name)}: {one_line(one.reason, REASON_CHARS)}" for one in report.failures]
        changed = {"changed_at": time.time()} if report.documents or report.moved or report.deleted else {}
        self._set_status(
            indexing="",
            state="polling",
            why=_WHY,
            files=found.files,
            held=report.held,
            written=self._status.written + report.documents,
            moved=self._status.moved + report.moved,
            deleted=self._status.deleted + report.deleted,
            unreadable=len(failures),
            failures=tuple(sorted(failures)[:FAILURES_SHOWN]),
            scanned_at=time.time(),
            confirmed_at=source.confirmed_at,
            **changed,
        )

    @property
    def _choice(self) -> ZoteroChoice:
        return choice_of(self.source.request)
