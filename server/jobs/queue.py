"""The queue of a store's jobs: takes them, runs them one by one in a thread, cancels and resumes them.

The files of the jobs are the truth (see the package). The thread exists while jobs are unfinished; where another
process holds the lock ``runner``, it waits until that process has run them or has ended.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from winnow.server.errors import WinnowError, internal_error
from winnow.server.jobs.job_files import JobFiles
from winnow.server.jobs.records import Job, JobFailure, JobProgress, JobRequest, JobResult, new_job
from winnow.server.runtime.logs import log
from winnow.server.runtime.priority import lower_priority
from winnow.server.storage.files.lock import RUNNER, StoreLock, find_holder
from winnow.server.text.printable import one_line

if TYPE_CHECKING:
    from winnow.server.ingest.report import Progress

# Jobs that may be unfinished at once in a store.
MAX_UNFINISHED = 20
_FULL_RETRY_SECONDS = 30.0
_MAX_STARTS = 3
_WRITE_SECONDS, _BUSY_SECONDS, _STOP_SECONDS = 0.5, 1.0, 5.0
_FAILURE_CHARS = 1_500
_GIVEN_UP = (
    "abandoned: {starts} processes ended while running this job, before anything was written; find the file that "
    "ends them (the server's log, winnow ingest --explain FILE), and ask again without that file"
)


class JobStopped(Exception):
    """The job ends after its current batch: it was cancelled, or this process is ending."""


class RunJob(Protocol):
    """Runs one job into the open index. The same job may be run again at any time."""

    def __call__(self, job: Job, on_progress: Callable[[Progress], None]) -> JobResult:
        """Raises ``WinnowError``, and what ``on_progress`` raises."""


@dataclass(frozen=True, slots=True)
class JobRunner:
    """A runner of jobs: ``open`` opens the index, which may take long and may fail; ``run`` runs one job."""

    open: Callable[[], object]
    run: RunJob


class JobQueue:
    """The jobs of a store, in the process that has the store open."""

    def __init__(self, store: Path, runner: JobRunner) -> None:
        self.files = JobFiles(store)
        self._store = store
        self._runner = runner
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def submit(self, request: JobRequest) -> Job:
        """Queue a job, or return the unfinished job with the same request.

        Raises ``WinnowError``: "QUEUE_FULL" while too many jobs are unfinished, "INDEX_UNAVAILABLE" where the
        folder of the store cannot be used.
        """
        with self._guard:
            unfinished = self.files.list_jobs().unfinished
            same = (job for job in unfinished if job.request == request and not self.files.is_to_cancel(job.id))
            if job := next(same, None):
                return job
            if len(unfinished) >= MAX_UNFINISHED:
                raise WinnowError(
                    "QUEUE_FULL",
                    f"{len(unfinished)} ingests of this store have not ended; wait for one of them (job_status), "
                    "or cancel one (job_cancel)",
                    retryable=True,
                    retry_after_s=_FULL_RETRY_SECONDS,
                )
            job = new_job(request)
            self.files.remove_old()
            self.files.write(job)
        self.wake()
        return job

    def cancel(self, job: Job) -> None:
        """Ask for the end of an unfinished job; it ends after its current batch.

        Raises ``WinnowError("INDEX_UNAVAILABLE")`` where the folder of the store cannot be used.
        """
        self.files.ask_to_cancel(job.id)
        self.wake()

    def wake(self) -> None:
        """Begin to run jobs, if any are unfinished. Does nothing after ``stop``."""
        with self._guard:
            if self._thread is None and not self._stopping.is_set() and self.files.list_jobs().unfinished:
                self._thread = threading.Thread(target=self._work, name="winnow-jobs", daemon=True)
                self._thread.start()

    @property
    def is_busy(self) -> bool:
        """Whether this process runs jobs, or waits to run them."""
        return self._thread is not None

    def stop(self) -> bool:
        """Stop after the current batch; return False if that takes too long. The next process resumes the jobs."""
        self._stopping.set()
        thread = self._thread
        if thread is not None:
            thread.join(_STOP_SECONDS)
        return thread is None or not thread.is_alive()

    # --- in the thread

    def _work(self) -> None:
        is_lowered = False
        while not self._is_finished():
            try:
                self._runner.open()
                if not is_lowered:  # only now, because the threads that opening starts inherit the priority
                    lower_priority()
                    is_lowered = True
                self._run_unfinished()
            except Exception as error:
                why = error.message if isinstance(error, WinnowError) else type(error).__name__
                log("jobs wait", level=30, why=why, exc_info=not isinstance(error, WinnowError))
                self._stopping.wait(_BUSY_SECONDS)

    def _is_finished(self) -> bool:
        """Whether the thread is to end now. If so, ``wake`` starts another thread from now on."""
        with self._guard:
            is_finished = self._stopping.is_set() or not self.files.list_jobs().unfinished
            if is_finished:
                self._thread = None
            return is_finished

    def _run_unfinished(self) -> None:
        """Run all unfinished jobs. Raises ``WinnowError`` if another process runs jobs or writes to the store."""
        lock = StoreLock(self._store, RUNNER)
        try:
            while not self._stopping.is_set() and (jobs := self.files.list_jobs().unfinished):
                self._run_one(jobs[0])
        finally:
            lock.release()

    def _run_one(self, job: Job) -> None:
        if self.files.is_to_cancel(job.id):
            self._end(job, state="cancelled")
            return
        if job.starts >= _MAX_STARTS:
            self._end(job, state="interrupted", note=_GIVEN_UP.format(starts=job.starts))
            return
        run = _JobRun(self.files, job, self._stopping)
        try:
            result = self._runner.run(job, run.on_progress)
        except JobStopped:
            if self.files.is_to_cancel(job.id):
                self._end(run.job, state="cancelled")
            else:
                run.wait_for_turn("the next server of this store continues this job")
        except WinnowError as error:
            if error.reason == "INDEX_HELD" and error.retryable:
                run.wait_for_turn(error.message)
                raise
            self._fail(run.job, error)
        except Exception:
            log("job failed", level=40, exc_info=True, job=job.id)
            self._fail(run.job, internal_error())
        else:
            self._end(run.job, state="done", result=run.add_former(result))

    def _fail(self, job: Job, error: WinnowError) -> None:
        self._end(
            job, state="failed", failure=JobFailure(reason=error.reason, message=error.message[:_FAILURE_CHARS])
        )

    def _end(self, job: Job, **fields: object) -> None:
        progress = job.progress.model_copy(update={"current_file": "", "seconds_left": None})
        ended = {"ended_at": time.time(), "progress": progress, "note": "", **fields}
        self.files.write(job.model_copy(update=ended))
        log("job ended", job=job.id, state=fields["state"])


class _JobRun:
    """One run of a job: records its progress, and stops when the job is cancelled or the process ends."""

    def __init__(self, files: JobFiles, job: Job, stopping: threading.Event) -> None:
        self._files, self._stopping = files, stopping
        self._former = job.progress
        self._written_at = time.monotonic()
        started = job.started_at or time.time()
        self.job = job.model_copy(
            update={"state": "running", "starts": job.starts + 1, "started_at": started, "note": ""}
        )
        files.write(self.job)

    def on_progress(self, progress: Progress) -> None:
        """Record the progress. Raises ``JobStopped`` if the run is to stop."""
        former = self._former
        self.job = self.job.model_copy(
            update={
                "starts": 0 if progress.documents else self.job.starts,
                "progress": JobProgress(
                    documents=former.documents + progress.documents,
                    documents_total=former.documents + progress.documents_total if progress.documents_total else 0,
                    passages=former.passages + progress.chunks,
                    bytes=former.bytes + progress.bytes,
                    bytes_total=former.bytes + progress.bytes_total if progress.bytes_total else 0,
                    pages=former.pages + progress.pages,
                    current_file=one_line(progress.current),
                    fraction=progress.fraction,
                    seconds_left=progress.seconds_left,
                ),
            }
        )
        if time.monotonic() - self._written_at >= _WRITE_SECONDS:
            self._files.write(self.job)
            self._written_at = time.monotonic()
        if self._stopping.is_set() or self._files.is_to_cancel(self.job.id):
            raise JobStopped

    def wait_for_turn(self, why: str) -> None:
        """Queue the job again, for the reason ``why``. This run does not count as a failure."""
        waiting = {"state": "queued", "starts": max(self.job.starts - 1, 0), "note": why[:_FAILURE_CHARS]}
        self.job = self.job.model_copy(update=waiting)
        self._files.write(self.job)

    def add_former(self, result: JobResult) -> JobResult:
        """The result, with the passages that earlier runs of the job wrote added."""
        return result.model_copy(update={"chunks_written": result.chunks_written + self._former.passages})


def has_runner(store: Path) -> bool:
    """Whether a process runs the jobs of this store. Raises ``WinnowError`` where the folder cannot be used."""
    return find_holder(store, RUNNER) is not None


def cancel_left_behind(store: Path, job: Job) -> Job:
    """Cancel an unfinished job from a process that does not run jobs; return the job as it is afterwards.

    Where no process runs jobs, the job is cancelled at once. Otherwise its runner ends it after the current batch.
    Raises ``WinnowError("INDEX_UNAVAILABLE")`` where the folder cannot be used.
    """
    files = JobFiles(store)
    files.ask_to_cancel(job.id)
    try:
        lock = StoreLock(store, RUNNER)
    except WinnowError as error:
        if error.reason != "INDEX_HELD":
            raise
        return job
    try:
        now = files.read(job.id) or job
        if not now.is_final:
            files.write(now.model_copy(update={"state": "cancelled", "ended_at": time.time(), "note": ""}))
        return files.read(job.id) or now
    finally:
        lock.release()
