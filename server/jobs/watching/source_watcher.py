"""The common part of watchers of paths and of libraries: their thread, published status and failures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import Protocol

from winnow.server.errors import WinnowError
from winnow.server.ingest.file_discovery import File, SourcePart
from winnow.server.ingest.report import IngestReport, Progress
from winnow.server.ingest.selection.deletions import DeletionRule
from winnow.server.ingest.zotero.reading import FoundLibraries
from winnow.server.jobs.watching.sources import WatchedSource
from winnow.server.jobs.watching.status import PathStatus, reason_of
from winnow.server.runtime.logs import log
from winnow.server.text.sizes import count_of

SECONDS_PER_MINUTE = 60.0
FAILURES_SHOWN, REASON_CHARS = 5, 300
BUSY_SECONDS = 1.0
# The pause before failed work is tried again.
_RETRY_SECONDS = 15.0


class WorkInterrupted(Exception):
    """An ingest of the watcher was stopped at a point where it can be resumed."""


@dataclass(frozen=True, slots=True)
class WatchTimes:
    """Minutes between two full scans, and seconds between two listings where there are no events."""

    scan_minutes: float
    poll_seconds: float


class WatchedStore(Protocol):
    """Protocol of the store as a watcher needs it; called in its thread."""

    def known_sources(self, project: str) -> list[str]:
        """The folders and files that were ingested into the project."""

    def expect(self, source: WatchedSource, files: Sequence[File]) -> None:
        """Prepare for an ingest of these files, which follows soon."""

    def ingest(
        self,
        source: WatchedSource,
        found: Sequence[SourcePart] | FoundLibraries,
        deletions: DeletionRule,
        on_progress: Callable[[Progress], None],
    ) -> IngestReport:
        """Ingest what was found. Raises ``WorkInterrupted`` and ``WinnowError``."""


class SourceWatcher(ABC):
    """Watches a part of a source. ``run`` is the body of its thread; ``publish`` receives each new status.

    ``status`` is the last status of an earlier watcher, or an empty status.
    """

    def __init__(self, source: WatchedSource, status: PathStatus, publish: Callable[[PathStatus], None]) -> None:
        self.source = source
        self.wake, self._stopping = Event(), False
        self._status, self._publish = status, publish
        self._is_due = True

    def stop(self) -> None:
        """Make ``run`` return soon."""
        self._stopping = True
        self.wake.set()

    def update(self, source: WatchedSource) -> None:
        """Use this new state of the source from now on, and scan."""
        self.source = source
        self._is_due = True
        self.wake.set()

    def run(self) -> None:
        """Watch until ``stop``."""
        while not self._stopping:
            try:
                self._pause(self._watch())
            except WorkInterrupted:
                self._pause(BUSY_SECONDS)
            except WinnowError as error:
                self._pause(self._report_failure(error))
            except Exception as error:
                log("watching failed", level=40, exc_info=True, source=self.source.id)
                self._pause(self._report_failure(error))
        self._close()

    @abstractmethod
    def _watch(self) -> float:
        """Do what is due, or wait for a change; returns the seconds to pause."""

    @abstractmethod
    def _close(self) -> None:
        """Release what was opened."""

    def _on_progress(self, progress: Progress) -> None:
        of = f" of {count_of(progress.documents_total, 'file')}" if progress.documents_total else ""
        self._set_status(indexing=f"{count_of(progress.documents, 'document')}{of}")

    def _report_failure(self, error: Exception) -> float:
        """Publish the failure, unless another process is writing at the moment; return the seconds to pause."""
        if isinstance(error, WinnowError) and error.reason == "INDEX_HELD":
            return BUSY_SECONDS
        self._is_due = True
        self._set_status(state="failed", why=reason_of(error))
        return _RETRY_SECONDS

    def _set_status(self, **changes: object) -> None:
        status = replace(self._status, **changes)  # type: ignore[arg-type]
        if status != self._status:
            self._status = status
            self._publish(status)

    def _pause(self, seconds: float) -> None:
        if seconds:
            self.wake.wait(seconds)
