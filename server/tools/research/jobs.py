"""Shared parts of the tools of jobs: when they are offered, their text, and waiting for the end of a job."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from winnow.server.errors import REASONS, WinnowError
from winnow.server.jobs.reports import is_final, render_job
from winnow.server.operations.answers.tiers import Size
from winnow.server.operations.knowledge import Answer
from winnow.server.text.framing import frame_answer
from winnow.server.tools.base import Context, ToolResult

MAX_SIZE = Size(tokens=4_000, bytes=24 * 1024)
_POLL_SECONDS = 0.25
_NEXT = "next: job_status with this job_id; searches go on meanwhile"


def is_offered(context: Context) -> bool:
    """Whether the operator has switched on tools that change the index."""
    return context.settings.enable_writes


async def wait_for_end(context: Context, answer: Answer, until: float) -> Answer:
    """The job of this answer when it has ended, or at the monotonic time ``until`` as it is then."""
    while not is_final(answer.payload) and (left := until - time.monotonic()) > 0:
        await asyncio.sleep(min(_POLL_SECONDS, left))
        answer = await context.kb.call("job_status", {"job_id": answer.payload["job_id"]}, context.caller)
    return answer


def raise_failure(payload: dict[str, Any]) -> None:
    """Raise the error that a failed job ended with."""
    if failure := payload.get("failure"):
        reason = failure["reason"] if failure["reason"] in REASONS else "INTERNAL"
        raise WinnowError(reason, failure["message"], details={"job_id": payload["job_id"]})


def result_of(answer: Answer) -> ToolResult:
    """The result of a tool that answers with a job."""
    lines = frame_answer(_render(answer.payload), answer.payload)
    return ToolResult(
        answer.payload, "\n".join(lines), lines[0], warnings=answer.warnings, payload_tokens=answer.counted
    )


def _render(payload: dict[str, Any]) -> list[str]:
    return [*render_job(payload), *([] if is_final(payload) else [_NEXT])]
