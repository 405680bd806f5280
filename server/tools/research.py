"""Answers of the tools of the pack ``research`` that do more than call their operation once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from winnow.server.contracts import parse
from winnow.server.contracts.jobs import JobStatus
from winnow.server.contracts.research import ListProjects
from winnow.server.errors import REASONS, WinnowError
from winnow.server.jobs.reports import is_final, render_job
from winnow.server.operations.jobs import INGEST_FROM_SOURCE, JOB_CANCEL, JOB_STATUS
from winnow.server.operations.knowledge import Answer
from winnow.server.operations.research.projects import LIST_PROJECTS
from winnow.server.runtime.sessions.host_words import error_for
from winnow.server.tools.base import Context, Tool, ToolResult

# Of the 15 seconds within which the call is answered.
_INGEST_SECONDS = 12.0
# A small file is ingested as soon as this.
_BEGIN_SECONDS = 2.0
_CANCEL_SECONDS = 5.0
_POLL_SECONDS = 0.25


async def list_projects(context: Context, arguments: dict[str, Any]) -> ToolResult:
    """List the projects. A store that cannot be read has none, and a warning says why: this call never fails."""
    parse(ListProjects, arguments)
    try:
        answer = await context.kb.call(LIST_PROJECTS.name, arguments, context.caller)
    except WinnowError as error:
        why = error_for(error, context.caller.connection).message
        answer = Answer({"projects": [], "count": 0}, "metadata", 0, 0, (f"{error.reason}: {why}",))
    return Tool.of(LIST_PROJECTS).result_of(answer)


async def ingest(context: Context, arguments: dict[str, Any]) -> ToolResult:
    """Have files ingested, as a job that survives the server."""
    return await _ingest_within(_INGEST_SECONDS, context, arguments)


async def begin_ingest(context: Context, arguments: dict[str, Any]) -> ToolResult:
    """The same for a client that follows the job by itself, which gets it soon."""
    return await _ingest_within(_BEGIN_SECONDS, context, arguments)


async def end_ingest(context: Context, arguments: dict[str, Any]) -> ToolResult:
    """The answer of an ingest whose job has ended by now."""
    answer = await context.kb.call(JOB_STATUS.name, arguments, context.caller)
    _raise_failure(answer.payload)
    return Tool.of(INGEST_FROM_SOURCE).result_of(answer)


async def _ingest_within(seconds: float, context: Context, arguments: dict[str, Any]) -> ToolResult:
    until = time.monotonic() + seconds
    answer = await context.kb.call(INGEST_FROM_SOURCE.name, arguments, context.caller)
    ended = await _wait_for_end(context, answer, until)
    _raise_failure(ended.payload)
    return Tool.of(INGEST_FROM_SOURCE).result_of(ended)


def describe_progress(job: Mapping[str, Any]) -> str:
    """The progress of a job, or its result, in one line; ``job`` is the payload of a tool of jobs."""
    return render_job(dict(job))[1]


async def show_job(context: Context, arguments: dict[str, Any]) -> ToolResult:
    """Show a job: its progress, or what it did."""
    answer = await context.kb.call(JOB_STATUS.name, arguments, context.caller)
    request, _ = parse(JobStatus, arguments)
    ended = await _wait_for_end(context, answer, time.monotonic() + request.wait_seconds)
    return Tool.of(JOB_STATUS).result_of(ended)


async def cancel_job(context: Context, arguments: dict[str, Any]) -> ToolResult:
    """End an ingest after its current batch."""
    answer = await context.kb.call(JOB_CANCEL.name, arguments, context.caller)
    ended = await _wait_for_end(context, answer, time.monotonic() + _CANCEL_SECONDS)
    return Tool.of(JOB_CANCEL).result_of(ended)


async def _wait_for_end(context: Context, answer: Answer, until: float) -> Answer:
    """The job of this answer when it has ended, or at the monotonic time ``until`` as it is then."""
    while not is_final(answer.payload) and (left := until - time.monotonic()) > 0:
        await asyncio.sleep(min(_POLL_SECONDS, left))
        answer = await context.kb.call(JOB_STATUS.name, {"job_id": answer.payload["job_id"]}, context.caller)
    return answer


def _raise_failure(payload: dict[str, Any]) -> None:
    """Raise the error that a failed job ended with."""
    if failure := payload.get("failure"):
        reason = failure["reason"] if failure["reason"] in REASONS else "INTERNAL"
        raise WinnowError(reason, failure["message"], details={"job_id": payload["job_id"]})
