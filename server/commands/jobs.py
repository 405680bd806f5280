"""``winnow job``: list, show and cancel the ingests that agents asked for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.server.commands.terminal.output import (
    Json,
    ProjectOption,
    StoreOption,
    command,
    examples,
    print_json,
    print_lines,
    report_errors,
)
from winnow.server.commands.terminal.stores import settings_of_store
from winnow.server.errors import WinnowError

if TYPE_CHECKING:
    from pathlib import Path

    from winnow.server.jobs.job_files import JobListing
    from winnow.server.jobs.records import Job

app = command(
    no_args_is_help=True,
    help="List, show and cancel the ingests that agents asked for.",
    epilog=examples("winnow job list", "winnow job show job_1f0c", "winnow job cancel job_1f0c"),
)

_LEAST_CHARS = len("job_") + 4
_LEFT_BEHIND = (
    "the process that ran it has ended; it goes on when the next server of this store starts (winnow serve)"
)
JobName = Annotated[str, typer.Argument(metavar="JOB", help="id of a job, or the beginning of one")]


@app.command(name="list", epilog=examples("winnow job list", "winnow job list --project team --json"))
def list_jobs(project: ProjectOption = None, store: StoreOption = None, as_json: Json = False) -> None:
    """List the jobs of a store: those that are unfinished, and those of the last week."""
    from winnow.server.jobs.job_files import JobFiles

    with report_errors(as_json=as_json):
        settings = settings_of_store(store)
        listing = JobFiles(settings.store).list_jobs()
        rows = describe_jobs(settings.store, listing, project)
    if as_json:
        print_json({"store": str(settings.store), "jobs": rows, "damaged": list(listing.damaged)})
        return
    print_lines(*_format_rows(rows))
    for name in listing.damaged:
        print_lines(f"not used: {settings.store / 'jobs' / name} is damaged or not private; delete it")


@app.command(epilog=examples("winnow job show job_1f0c", "winnow job show job_1f0c --json"))
def show(name: JobName, store: StoreOption = None, as_json: Json = False) -> None:
    """Show a job: its progress, or what it did."""
    from winnow.server.jobs.job_files import JobFiles

    with report_errors(as_json=as_json):
        settings = settings_of_store(store)
        listing = JobFiles(settings.store).list_jobs()
        found = _find(listing, name)
        (row,) = (row for row in describe_jobs(settings.store, listing, None) if row["job_id"] == found.id)
    _print_job(row, as_json=as_json)


@app.command(epilog=examples("winnow job cancel job_1f0c", "winnow job cancel job_1f0c --json"))
def cancel(name: JobName, store: StoreOption = None, as_json: Json = False) -> None:
    """End a job after its current batch. What it wrote stays in the index."""
    from winnow.server.jobs.job_files import JobFiles
    from winnow.server.jobs.queue import cancel_left_behind

    with report_errors(as_json=as_json):
        settings = settings_of_store(store)
        files = JobFiles(settings.store)
        job = _find(files.list_jobs(), name)
        if not job.is_final:
            job = cancel_left_behind(settings.store, job)
        (row,) = (row for row in describe_jobs(settings.store, files.list_jobs(), None) if row["job_id"] == job.id)
    _print_job(row, as_json=as_json)


def _find(listing: JobListing, name: str) -> Job:
    """The job with this id, or the only one whose id begins so."""
    found = [job for job in listing.jobs if job.id.startswith(name)] if len(name) >= _LEAST_CHARS else []
    if len(found) == 1:
        return found[0]
    if damaged := [one for one in listing.damaged if one.startswith(name) and len(name) >= _LEAST_CHARS]:
        raise WinnowError(
            "INDEX_UNAVAILABLE",
            f"the record of this job cannot be read: {damaged[0]}; ask for its ingest again, which goes on where "
            "it was; winnow restore FILE --replace brings the record back",
        )
    why = f"{len(found)} jobs begin with" if found else "there is no job"
    raise WinnowError("NOT_FOUND", f"{why} {name[:80]!r}; winnow job list shows them")


def describe_jobs(store: Path, listing: JobListing, project: str | None) -> list[dict[str, Any]]:
    """The jobs as JSON data, with their times; an unfinished one that no process runs is shown as interrupted."""
    from winnow.server.jobs.job_files import JobFiles
    from winnow.server.jobs.queue import has_runner
    from winnow.server.jobs.reports import describe_job

    files, is_running = JobFiles(store), has_runner(store)
    places = {job.id: place for place, job in enumerate(listing.unfinished)}
    rows = []
    for job in listing.jobs:
        if project is not None and job.request.project != project:
            continue
        row = describe_job(job, places.get(job.id, 0), is_cancelling=files.is_to_cancel(job.id))
        if not job.is_final and not is_running:
            row |= {"state": "interrupted", "note": _LEFT_BEHIND}
        times = (("created", job.created_at), ("started", job.started_at), ("ended", job.ended_at))
        rows.append(row | {name: _iso(at) for name, at in times if at})
    return rows


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _format_rows(rows: list[dict[str, Any]]) -> Iterator[str]:
    if not rows:
        yield "no agent asked for an ingest in the last week"
    for row in rows:
        progress = row["progress"]
        of = f" of {progress['documents_total']:,}" if "documents_total" in progress else ""
        counts = f"{progress['documents']:,}{of} documents"
        yield f"{row['job_id']} {row['state']}: {counts}, project {row['project']}, {row['source']}"


def _print_job(row: dict[str, Any], *, as_json: bool) -> None:
    from winnow.server.jobs.reports import render_job

    if as_json:
        print_json(row)
        return
    print_lines(
        *render_job(row), *(f"{name}: {row[name]}" for name in ("created", "started", "ended") if name in row)
    )
