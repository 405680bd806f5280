"""``job_status``: how far an ingest is, or what it did."""

from __future__ import annotations

import time
from typing import Any

from winnow.server.contracts import parse
from winnow.server.contracts.jobs import JobAnswer, JobStatus
from winnow.server.tools.base import Context, Tool, ToolResult
from winnow.server.tools.research.jobs import MAX_SIZE, result_of, wait_for_end

DESCRIPTION = """\
Show how far an ingest is, and its result once it is done.
Use when: ingest_from_source returned a job_id.
Do not use when: you can search meanwhile: what is counted is found already.
Returns at most: one job, 4,000 tokens.
If you need more, call: this again.
Defaults: waits up to 10 seconds for the end. Max: 15."""


async def _show(context: Context, arguments: dict[str, Any]) -> ToolResult:
    answer = await context.kb.call("job_status", arguments, context.caller)
    request, _ = parse(JobStatus, arguments)
    return result_of(await wait_for_end(context, answer, time.monotonic() + request.wait_seconds))


TOOL = Tool(
    name="job_status",
    title="Show a job",
    description=DESCRIPTION,
    arguments=JobStatus,
    answer=JobAnswer,
    handler=_show,
    max_size=MAX_SIZE,
    pack="research",
)
