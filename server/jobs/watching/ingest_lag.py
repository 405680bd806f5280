"""The lag of the index of a store behind its sources, from the files that watchers and jobs write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from winnow.server.errors import WinnowError
from winnow.server.jobs.job_files import JobFiles
from winnow.server.jobs.queue import MAX_UNFINISHED
from winnow.server.jobs.watching.sources import FILE, read_sources
from winnow.server.jobs.watching.status import PathStatus, read_status


def _scan_times(store: Path, paths: Sequence[PathStatus]) -> Iterator[float]:
    """The time of the last scan of each source."""
    try:
        sources = read_sources(store)
    except WinnowError:  # the doctor and every command that needs them say so
        return
    for source in sources:
        scans = [path.scanned_at for path in paths if path.source == source.id]
        yield min(scans, default=0.0) or (store / FILE).stat().st_mtime


def measure_lag(store: Path) -> dict[str, Any]:
    """The times of the last ingest and scan; the numbers of unfinished jobs, watched paths and waiting documents.

    Jobs and paths are counted by state. Times are seconds since 1970, None for an event that has not happened. The
    scan is the last one of the source that was scanned longest ago, whether a process watches it or not; a source
    that was never scanned counts from when the sources were written.
    """
    jobs = JobFiles(store).list_jobs()
    status = read_status(store)
    paths = status.paths if status.holder else ()
    ends = [job.ended_at for job in jobs.jobs if job.is_final and job.ended_at]
    return {
        "finished_at": max(ends, default=None),
        "jobs": {"queued": 0, "running": 0, **Counter(job.state for job in jobs.unfinished)},
        "jobs_capacity": MAX_UNFINISHED,
        "scanned_at": min(_scan_times(store, status.paths), default=None),
        "paths": dict(Counter(path.state for path in paths)),
        "pending_documents": sum(path.held for path in paths),
        "unreadable_files": sum(path.unreadable for path in paths),
    }
