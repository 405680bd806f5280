"""``ingest_from_source``: has files ingested into a project, as a job that survives the server."""

from __future__ import annotations

import time
from typing import Any

from winnow.server.contracts.jobs import IngestFromSource, JobAnswer
from winnow.server.tools.base import Context, Tool, ToolResult
from winnow.server.tools.research.jobs import MAX_SIZE, is_offered, raise_failure, result_of, wait_for_end

# Of the 15 seconds within which the call is answered.
_WAIT_SECONDS = 12.0
DESCRIPTION = """\
Index a file, a folder or Zotero in a project: the result, or after 12 seconds a job_id.
Use when: the user wants documents added or refreshed, in a folder that the operator allows.
Do not use when: you search. Documents of changed files are replaced, those of deleted files removed.
Returns at most: one job, 4,000 tokens.
If you need more, call: job_status with job_id; job_cancel ends it.
Defaults: no OCR. Max: 20 unfinished jobs."""


async def _ingest(context: Context, arguments: dict[str, Any]) -> ToolResult:
    until = time.monotonic() + _WAIT_SECONDS
    answer = await context.kb.call("ingest_from_source", arguments, context.caller)
    ended = await wait_for_end(context, answer, until)
    raise_failure(ended.payload)
    return result_of(ended)


TOOL = Tool(
    name="ingest_from_source",
    title="Ingest files",
    description=DESCRIPTION,
    arguments=IngestFromSource,
    answer=JobAnswer,
    handler=_ingest,
    max_size=MAX_SIZE,
    read_only=False,
    destructive=True,
    pack="research",
    is_offered=is_offered,
)
