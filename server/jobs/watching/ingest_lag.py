"""The lag of the index of a store behind its sources, from the files that watchers and jobs write."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from winnow.server.jobs.job_files import JobFiles
from winnow.server.jobs.queue import MAX_UNFINISHED
from winnow.server.jobs.watching.status import read_status


def measure_lag(store: Path) -> dict[str, Any]:
    """The times of the last ingest and scan; the numbers of unfinished jobs, watched paths and waiting documents.

    Jobs and paths are counted by state. Times are seconds since 1970, None for an event that has not happened.
    """
    jobs = JobFiles(store).list_jobs()
    status = read_status(store)
    paths = status.paths if status.holder else ()
    scans = [path.scanned_at for path in paths if path.scanned_at]
    ends = [job.ended_at for job in jobs.jobs if job.is_final and job.ended_at]
    return {
        "finished_at": max(ends, default=None),
        "jobs": {"queued": 0, "running": 0, **Counter(job.state for job in jobs.unfinished)},
        "jobs_capacity": MAX_UNFINISHED,
        "scanned_at": min(scans, default=None),
        "paths": dict(Counter(path.state for path in paths)),
        "pending_documents": sum(path.held for path in paths),
        "unreadable_files": sum(path.unreadable for path in paths),
    }
