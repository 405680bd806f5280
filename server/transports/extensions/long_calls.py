"""Calls that go on after their client got the handle of a task, and their results, in memory."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from cachetools import TTLCache
from mcp_types import INTERNAL_ERROR, CallToolResult

from winnow.server.runtime.draining import Drain
from winnow.server.runtime.logs import log
from winnow.server.runtime.sessions.owners import Owners, key_of

Progress = Callable[[float, str], Awaitable[None]]

# A call without an answer after this becomes a task.
HAND_OVER_SECONDS = 3.0
# Results are kept so long after their calls began, and the newest only. So many calls go on behind a handle at one
# time; beyond that a call is waited for, as for other clients.
_KEPT, _MOST_KEPT, _MOST_RUNNING = timedelta(minutes=15), 200, 32
_POLL_MS = 1_000
# How long a call may go on after its key has ended, as an answer may (access/authentication.py).
_CHECK_SECONDS = 1.0
_MS_PER_SECOND = 1_000


def describe_task(
    task_id: str,
    status: str,
    message: str,
    created_at: datetime,
    changed_at: datetime,
    kept: timedelta | None,
    poll_ms: int,
) -> dict[str, Any]:
    """A task as the extension sends it.

    ``kept``: how long after its creation a client may ask for it; None where that is not known yet.
    """
    return {
        "taskId": task_id,
        "status": status,
        **({"statusMessage": message} if message else {}),
        "createdAt": _time(created_at),
        "lastUpdatedAt": _time(changed_at),
        "ttlMs": None if kept is None else round(kept.total_seconds() * _MS_PER_SECOND),
        "pollIntervalMs": poll_ms,
    }


def render_result(result: CallToolResult) -> dict[str, Any]:
    """The result of a call, as a task that has completed holds it."""
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


class LongCalls:
    """The calls of one server that became tasks. Used in one event loop.

    ``drain``: the end of its process, which waits for them as for requests in progress, and then cancels them.
    """

    def __init__(self, drain: Drain) -> None:
        self._drain = drain
        self._owners = Owners()
        self._calls: TTLCache[tuple[str, str], _LongCall] = TTLCache(_MOST_KEPT, _KEPT.total_seconds())
        self._running: set[asyncio.Task[CallToolResult]] = set()

    async def answer(
        self,
        client: str,
        begin: Callable[[Progress], Awaitable[CallToolResult]],
        progress: Progress,
        has_active_key: Callable[[], bool],
    ) -> CallToolResult | dict[str, Any]:
        """The result of a call, or the task that it has become.

        ``begin`` begins the call, with what takes its reports of progress. ``progress`` takes them until the
        client has the handle; from then on the task has the last one. The task ends with the client's key.
        """
        identity = self._owners.identify(client)
        call = _LongCall(f"call_{secrets.token_hex(16)}", identity.key, progress)
        work = call.work = asyncio.create_task(_run(begin, call))
        try:
            await asyncio.wait({work}, timeout=HAND_OVER_SECONDS)
            if work.done() or len(self._running) >= _MOST_RUNNING:
                return await work
        except asyncio.CancelledError:
            work.cancel()
            raise
        call.progress = None
        self._calls[key_of(identity, call.id)] = call
        self._running.add(work)
        self._drain.keep(work)
        call.ending = asyncio.create_task(_end_with_key(work, has_active_key))
        work.add_done_callback(self._running.discard)
        return call.describe()

    def find(self, client: str, task_id: str) -> dict[str, Any] | None:
        """The task with this id as it is now, with its result if it has completed; None if the client has none."""
        call = self._find(client, task_id)
        return call.describe() if call else None

    def cancel(self, client: str, task_id: str) -> bool:
        """Cancel the task with this id, unless it has ended; False if the client has none."""
        call = self._find(client, task_id)
        if call is not None:
            call.work.cancel()
        return call is not None

    def _find(self, client: str, task_id: str) -> _LongCall | None:
        identity = self._owners.identify(client)
        call: _LongCall | None = self._calls.get(key_of(identity, task_id))
        return call if call and self._owners.may_read(identity, call.owner) else None


class _LongCall:
    """A call that may become a task. ``progress``: the client that waits for it, None once it is one.

    ``ending``: of a task, what ends it with the key of its client.
    """

    work: asyncio.Task[CallToolResult]
    ending: asyncio.Task[None]

    def __init__(self, call_id: str, owner: str, progress: Progress | None) -> None:
        self.id = call_id
        self.owner = owner
        self.progress = progress
        self.created_at = self.changed_at = datetime.now(UTC)
        self._message = ""

    async def report(self, seconds: float, message: str) -> None:
        """Take a report of progress."""
        self.changed_at, self._message = datetime.now(UTC), message
        if self.progress is not None:
            await self.progress(seconds, message)

    def describe(self) -> dict[str, Any]:
        """The task of this call as it is now, with its result if it has completed."""
        status, rest = self._state()
        message = self._message if status == "working" else ""
        task = describe_task(self.id, status, message, self.created_at, self.changed_at, _KEPT, _POLL_MS)
        return {**task, **rest}

    def _state(self) -> tuple[str, dict[str, Any]]:
        if not self.work.done():
            return "working", {}
        if self.work.cancelled():
            return "cancelled", {}
        if self.work.exception() is not None:
            return "failed", {"error": {"code": INTERNAL_ERROR, "message": "internal error"}}
        return "completed", {"result": render_result(self.work.result())}


async def _run(begin: Callable[[Progress], Awaitable[CallToolResult]], call: _LongCall) -> CallToolResult:
    """The result of a call; an error in it is logged, since nobody may ask for it any more."""
    try:
        return await begin(call.report)
    except Exception:
        log("call failed", exc_info=True, level=40)
        raise
    finally:
        call.changed_at = datetime.now(UTC)


async def _end_with_key(work: asyncio.Task[CallToolResult], has_active_key: Callable[[], bool]) -> None:
    """Cancel work that goes on when the key or token of its client is no longer valid."""
    while not work.done() and has_active_key():
        await asyncio.wait({work}, timeout=_CHECK_SECONDS)
    if not work.done():
        log("a task was ended: its key or token is no longer valid")
        work.cancel()


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
