"""``job_cancel``: ends an ingest after its current batch."""

from __future__ import annotations

import time
from typing import Any

from winnow.server.contracts.jobs import JobAnswer, JobCancel
from winnow.server.tools.base import Context, Tool, ToolResult
from winnow.server.tools.research.jobs import MAX_SIZE, is_offered, result_of, wait_for_end

_WAIT_SECONDS = 5.0
DESCRIPTION = """\
End an ingest after its current batch; what it wrote stays in the index.
Use when: the user no longer wants it, or it is the wrong folder.
Do not use when: it has ended: nothing is undone.
Returns at most: one job, 4,000 tokens.
If you need more, call: job_status; ingest_from_source again goes on where it ended.
Defaults: waits for the end. Max: 5 seconds."""


async def _cancel(context: Context, arguments: dict[str, Any]) -> ToolResult:
    answer = await context.kb.call("job_cancel", arguments, context.caller)
    return result_of(await wait_for_end(context, answer, time.monotonic() + _WAIT_SECONDS))


TOOL = Tool(
    name="job_cancel",
    title="Cancel a job",
    description=DESCRIPTION,
    arguments=JobCancel,
    answer=JobAnswer,
    handler=_cancel,
    max_size=MAX_SIZE,
    read_only=False,
    pack="research",
    is_offered=is_offered,
)
