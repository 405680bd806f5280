"""The files of jobs in the folder ``jobs`` of a store: private, written whole, bounded in number and age.

A file that other users may write, that is not a regular file, or that is not a valid job is never used. Such a
file counts as damaged, and is deleted at the same age as a finished job.
"""

from __future__ import annotations

import os
import re
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from winnow.server.errors import WinnowError
from winnow.server.jobs.records import JOB_ID, Job
from winnow.server.storage.files.private_file import UntrustedFile, read_private, write_private
from winnow.server.storage.files.private_folder import make_private
from winnow.server.storage.files.store_folder import map_os_errors, prepare_store

FOLDER = "jobs"
# Finished jobs are deleted after a week. If there are more than this number, the oldest are deleted earlier.
KEPT_SECONDS, KEPT_JOBS = 7 * 86_400.0, 200
_BYTES = 64 * 1024
_ID = re.compile(JOB_ID)
_RECORD, _CANCEL = ".json", ".cancel"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class JobListing:
    """The jobs of a store in their order, and the names of files in their folder that cannot be used."""

    jobs: tuple[Job, ...]
    damaged: tuple[str, ...]

    @property
    def unfinished(self) -> list[Job]:
        """The jobs that have not ended, the next one first."""
        return [job for job in self.jobs if not job.is_final]


class JobFiles:
    """Reads and writes the jobs of a store, in any process of the store's owner."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._folder = store / FOLDER
        self._guard = threading.Lock()

    def read(self, job_id: str) -> Job | None:
        """The job with this id; None if its file is missing or damaged."""
        return self._read(f"{job_id}{_RECORD}") if _ID.fullmatch(job_id) else None

    def is_damaged(self, job_id: str) -> bool:
        """Whether the job has a file that cannot be used."""
        return f"{job_id}{_RECORD}" in self.list_jobs().damaged

    def list_jobs(self) -> JobListing:
        """All jobs, in the order of their requests."""
        jobs, damaged = [], []
        for name in self._names(_RECORD):
            job = self._read(name)
            if job is not None:
                jobs.append(job)
            elif os.path.lexists(self._folder / name):
                damaged.append(name)
        return JobListing(tuple(sorted(jobs, key=lambda job: job.order)), tuple(sorted(damaged)))

    def write(self, job: Job) -> None:
        """Write a job, all or nothing. Raises ``WinnowError("INDEX_UNAVAILABLE")`` if it cannot be written."""
        with self._guard, map_os_errors(self._store):
            self._prepare()
            temporary = self._folder / f".{job.id}.{os.getpid()}"
            write_private(self._folder / f"{job.id}{_RECORD}", temporary, job.model_dump_json())

    def ask_to_cancel(self, job_id: str) -> None:
        """Ask the runner of a job to end it. Raises as ``write`` does."""
        with map_os_errors(self._store):
            self._prepare()
            flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            os.close(os.open(self._folder / f"{job_id}{_CANCEL}", flags, 0o600))

    def is_to_cancel(self, job_id: str) -> bool:
        """Whether somebody asked to cancel the job."""
        return os.path.lexists(self._folder / f"{job_id}{_CANCEL}")

    def remove_old(self) -> None:
        """Delete old or surplus finished jobs, old damaged files, and old requests to cancel deleted jobs."""
        listing, oldest = self.list_jobs(), time.time() - KEPT_SECONDS
        ended = sorted((job for job in listing.jobs if job.is_final), key=lambda job: job.ended_at)
        surplus = ended[: max(len(ended) - KEPT_JOBS, 0)]
        old = {job.id for job in ended if job.ended_at < oldest} | {job.id for job in surplus}
        for job_id in old:
            self._remove(f"{job_id}{_RECORD}")
        kept = {job.id for job in listing.jobs} - old
        for name in (*listing.damaged, *self._names(_CANCEL)):
            if name.removesuffix(_CANCEL) not in kept and self._modified_at(name) < oldest:
                self._remove(name)

    def _prepare(self) -> None:
        """Create the folder, and refuse a folder that users other than the owner may write to."""
        prepare_store(self._store)
        make_private(self._folder)
        status = self._folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & _OTHERS_WRITE:
            raise WinnowError(
                "INDEX_UNAVAILABLE",
                f"{self._folder} is not used: it must be a folder that only its owner may write; move it away",
            )

    def _names(self, ending: str) -> Iterator[str]:
        with suppress(OSError):
            for name in os.listdir(self._folder):
                if name.endswith(ending) and _ID.fullmatch(name.removesuffix(ending)):
                    yield name

    def _read(self, name: str) -> Job | None:
        try:
            job = Job.model_validate_json(read_private(self._folder / name, _BYTES))
        except (OSError, UntrustedFile, ValidationError):
            return None
        return job if name == f"{job.id}{_RECORD}" else None

    def _modified_at(self, name: str) -> float:
        try:
            return (self._folder / name).lstat().st_mtime
        except OSError:
            return time.time()

    def _remove(self, name: str) -> None:
        with suppress(OSError):
            (self._folder / name).unlink()
