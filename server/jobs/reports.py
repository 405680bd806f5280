"""A job for a caller: as JSON data, and as lines of text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from winnow.server.jobs.records import FINAL, Job, JobProgress
from winnow.server.text.framing import frame_text
from winnow.server.text.printable import one_line
from winnow.server.text.sizes import count_of, describe_bytes

_FAILURE_CHARS = 2_000
# Fields of the progress that are left out where they are empty.
_OPTIONAL = ("documents_total", "bytes_total", "pages", "current_file")


def describe_job(job: Job, place: int, *, is_cancelling: bool) -> dict[str, Any]:
    """A job as JSON data; a field that does not apply is left out. ``place``: its turn among unfinished jobs."""
    facts: dict[str, Any] = {
        "job_id": job.id,
        "state": job.state,
        "project": job.request.project,
        "source": job.request.source,
        "progress": _describe_progress(job.progress),
        "created_at": _describe_time(job.created_at),
        "changed_at": _describe_time(job.ended_at or job.started_at or job.created_at),
    }
    if not job.is_final:
        facts |= {"place": place} | ({"cancelling": True} if is_cancelling else {})
    if job.note:
        facts["note"] = job.note
    if job.failure:
        facts["failure"] = job.failure.model_dump()
    if job.result:
        facts |= job.result.model_dump(mode="json")
    return facts


def _describe_time(seconds: float) -> str:
    """A time in seconds since 1970 as ISO 8601 has it, in UTC.

    >>> _describe_time(0.25)
    '1970-01-01T00:00:00Z'
    """
    return datetime.fromtimestamp(int(seconds), UTC).isoformat().replace("+00:00", "Z")


def _describe_progress(progress: JobProgress) -> dict[str, Any]:
    facts = progress.model_dump(mode="json", exclude_none=True)
    return {name: value for name, value in facts.items() if value or name not in _OPTIONAL}


def render_job(row: dict[str, Any]) -> list[str]:
    """The result of ``describe_job`` as lines: the state, then the progress or the result."""
    state = f"{row['state']}, cancelling" if row.get("cancelling") else row["state"]
    lines = [f"{row['job_id']}: {state}; project {row['project']}, {one_line(row['source'])}"]
    lines += _render_result(row) if row["state"] == "done" else _render_progress(row["progress"])
    lines += [f"place in the queue: {row['place']}"] if row.get("place") else []
    if failure := row.get("failure"):
        lines.append(f"{failure['reason']}: {one_line(failure['message'], _FAILURE_CHARS)}")
    lines += [one_line(row["note"])] if row.get("note") else []
    return lines


def is_final(row: dict[str, Any]) -> bool:
    """Whether a job has ended; ``row`` is the result of ``describe_job``."""
    return row["state"] in FINAL


def _render_result(row: dict[str, Any]) -> list[str]:
    """The result of a job. Warnings quote names of files, so they are marked as foreign text."""
    result = (
        f"{count_of(row['documents_processed'], 'document')} processed, "
        f"{count_of(row['chunks_written'], 'passage')} written, "
        f"{count_of(row['documents_deleted'], 'document')} deleted in {row['duration_seconds']} s; dense model "
        f"{row['dense_model'] or 'none'}, sparse model {row['sparse_model']}"
    )
    warnings = [line for warning in row["warnings"] for line in frame_text(one_line(warning))]
    return [result, *([f"warnings: {len(row['warnings'])}", *warnings] if warnings else [])]


def _render_progress(progress: dict[str, Any]) -> list[str]:
    of = f" of {progress['documents_total']}" if "documents_total" in progress else ""
    parts = [f"{progress['documents']}{of} documents, {progress['passages']} passages are in the index"]
    if "bytes_total" in progress:
        parts.append(f"{describe_bytes(progress['bytes'])} of {describe_bytes(progress['bytes_total'])} read")
    if "pages" in progress:
        parts.append(f"{progress['pages']} pages")
    if "seconds_left" in progress:
        parts.append(f"about {progress['seconds_left']:.0f} s left")
    reading = frame_text(one_line(progress["current_file"])) if "current_file" in progress else []
    return [", ".join(parts), *(["now reading:", *reading] if reading else [])]
