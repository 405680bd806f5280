"""Tasks: a call that takes long is answered by a handle, and its result is asked for later (SEP-2663).

A client that declares the extension in its request gets a handle where the call has no answer after a few seconds.
The call goes on, within its own deadline, and its result is kept for a while. An ingest is a task under the id of
its job, so that a client finds it after a restart of the server, too. Other clients get answers as without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolResult,
    RequestParams,
)
from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from winnow.server.errors import WinnowError, error_of
from winnow.server.operations.jobs import INGEST_FROM_SOURCE, JOB_CANCEL, JOB_STATUS, JOBS_KEPT
from winnow.server.runtime.draining import Drain
from winnow.server.tools import research
from winnow.server.tools.base import Tool
from winnow.server.transports import wire
from winnow.server.transports.call_results import CallResult
from winnow.server.transports.dispatch import Dispatcher, ignore_progress
from winnow.server.transports.extensions.long_calls import LongCalls, Progress, describe_task, render_result
from winnow.server.transports.sessions import Connection, address_of, client_of, has_active_key, is_handshake_era

EXTENSION_ID = "io.modelcontextprotocol/tasks"
_POLL_MS = 2_000
# The state of a job -> that of its task. A failed job is a call that completed, with an error as its result.
_STATES: Mapping[str, str] = MappingProxyType(
    {
        "queued": "working",
        "running": "working",
        "done": "completed",
        "failed": "completed",
        "interrupted": "completed",
        "cancelled": "cancelled",
    }
)
# They begin an ingest for a client with tasks, have its state or its result, and cancel it; none waits long.
_BEGIN_INGEST = Tool.of(INGEST_FROM_SOURCE, research.begin_ingest)
_END_INGEST = Tool.of(INGEST_FROM_SOURCE, research.end_ingest)
_SHOW_JOB, _CANCEL_JOB = Tool.of(JOB_STATUS), Tool.of(JOB_CANCEL)
_UNKNOWN = "there is no such task: results of calls are kept for a quarter of an hour; make the call again"


class TaskParams(RequestParams):
    """The parameters of ``tasks/get`` and ``tasks/cancel``."""

    model_config = ConfigDict(alias_generator=to_camel, hide_input_in_errors=True)

    task_id: str


class UpdateTaskParams(TaskParams):
    """The parameters of ``tasks/update``."""

    input_responses: dict[str, Any]


def task_extensions() -> dict[str, dict[str, Any]]:
    """The extension as a server declares it."""
    return {EXTENSION_ID: {}}


class Tasks:
    """The calls and the requests of clients that declare the extension.

    ``count_read`` counts a request as a read, and returns its client.
    """

    def __init__(self, dispatcher: Dispatcher, drain: Drain, count_read: Callable[[Connection], str]) -> None:
        self._dispatcher = dispatcher
        self._count_read = count_read
        self._long_calls = LongCalls(drain)

    async def call(
        self, context: Connection, tool: Tool, arguments: Mapping[str, Any], progress: Progress
    ) -> CallToolResult | dict[str, Any]:
        """The result of a call; for a client that has tasks, also the task that it has become."""
        client, address = client_of(context), address_of(context)
        if not _has_tasks(context):
            return await wire.call_tool(self._dispatcher, tool, arguments, client, progress, address)
        if tool.name == _BEGIN_INGEST.name:
            return await self._begin_ingest(context, arguments)

        async def begin(report: Progress) -> CallToolResult:
            return await wire.call_tool(self._dispatcher, tool, arguments, client, report, address)

        answer = await self._long_calls.answer(client, begin, progress, has_active_key(context))
        return answer if isinstance(answer, CallToolResult) else {**answer, "resultType": "task"}

    async def get(self, context: Connection, params: TaskParams) -> dict[str, Any]:
        """The task with this id, with its result if it has completed."""
        _require_tasks(context)
        client = self._count_read(context)
        return self._long_calls.find(client, params.task_id) or await self._job_task(context, params.task_id)

    async def update(self, context: Connection, params: UpdateTaskParams) -> dict[str, Any]:
        """Acknowledge answers to a task's questions; the tasks of this server ask none."""
        await self.get(context, params)
        return {}

    async def cancel(self, context: Connection, params: TaskParams) -> dict[str, Any]:
        """Cancel the task with this id; an ingest ends after its current batch."""
        _require_tasks(context)
        if not self._long_calls.cancel(self._count_read(context), params.task_id):
            await self._ask_job(context, _CANCEL_JOB, params.task_id)
        return {}

    async def _begin_ingest(
        self, context: Connection, arguments: Mapping[str, Any]
    ) -> CallToolResult | dict[str, Any]:
        answer = await self._ask(context, _BEGIN_INGEST, arguments)
        if not answer.failed and (task := _describe_job(answer))["status"] == "working":
            return {**task, "resultType": "task"}
        return wire.build_result(answer, self._dispatcher.settings)

    async def _job_task(self, context: Connection, task_id: str) -> dict[str, Any]:
        """The task of an ingest, with its result if it has ended."""
        task = _describe_job(await self._ask_job(context, _SHOW_JOB, task_id))
        if task["status"] != "completed":
            return task
        ended = await self._ask(context, _END_INGEST, {"job_id": task_id})
        if (error := ended.error) and "job_id" not in error["details"]:
            raise error_of(error)  # of this request, such as its rate limit: the ingest has another result
        return {**task, "result": render_result(wire.build_result(ended, self._dispatcher.settings))}

    async def _ask_job(self, context: Connection, tool: Tool, task_id: str) -> CallResult:
        """The answer of a tool of jobs. Raises the error of a call that failed, as one of the protocol."""
        if self._dispatcher.find(tool.name) is None:
            raise WinnowError("NOT_FOUND", _UNKNOWN)
        answer = await self._ask(context, tool, {"job_id": task_id})
        if error := answer.error:
            if error["details"]["reason"] in ("NOT_FOUND", "INVALID_REQUEST"):
                raise WinnowError("NOT_FOUND", _UNKNOWN)
            raise error_of(error)
        return answer

    async def _ask(self, context: Connection, tool: Tool, arguments: Mapping[str, Any]) -> CallResult:
        client, address = client_of(context), address_of(context)
        return await wire.answer_call(self._dispatcher, tool, arguments, client, ignore_progress, address)


def _has_tasks(context: Connection) -> bool:
    """Whether a request declares the extension: what its client declared in others does not count."""
    meta = (context.params or {}).get("_meta")
    declared = meta.get(CLIENT_CAPABILITIES_META_KEY) if isinstance(meta, Mapping) else None
    extensions = declared.get("extensions") if isinstance(declared, Mapping) else None
    return not is_handshake_era(context) and isinstance(extensions, Mapping) and EXTENSION_ID in extensions


def _require_tasks(context: Connection) -> None:
    """Raise the protocol's error for a request that does not declare the extension."""
    if not _has_tasks(context):
        needed = {"requiredCapabilities": {"extensions": task_extensions()}}
        message = f"{context.method} is for clients that declare the extension {EXTENSION_ID} in the request"
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, message, needed)


def _describe_job(answer: CallResult) -> dict[str, Any]:
    """The task of a job, by the answer of a tool of jobs; without the result of one that has completed."""
    job = answer.payload
    status = _STATES[job["state"]]
    created, changed = (datetime.fromisoformat(job[name]) for name in ("created_at", "changed_at"))
    is_working = status == "working"
    return describe_task(
        job["job_id"],
        status,
        research.describe_progress(job),
        created,
        datetime.now(UTC) if is_working else changed,  # its progress is that of now
        None if is_working else changed + JOBS_KEPT - created,
        _POLL_MS,
    )
