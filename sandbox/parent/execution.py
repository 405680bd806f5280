"""The parent's side of one script: the conversation with its child, from the first frame to the outcome."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from winnow.sandbox.protocol import frames, sandbox_outcomes
from winnow.sandbox.protocol.jobs import ScriptJob
from winnow.sandbox.protocol.limits import KIB, MIB, WARM_BYTES, Limits
from winnow.sandbox.protocol.outcome import (
    CallError,
    CountTokens,
    HostCall,
    Left,
    Outcome,
    Reply,
    ScriptError,
    Usage,
)
from winnow.sandbox.runners.runner import ChildDeath, ChildGone, RunnerChild
from winnow.sandbox.runners.turns import Turn

from .output_tail import OutputTail
from .progress import OnUsage, ProgressReporter

log = logging.getLogger("sandbox")

_FREE_REQUESTS = 1_000  # requests about the run itself (budget, progress); they do not count as calls
_MAX_REFUSALS = 1_000  # a script that makes so many calls beyond its limit is not going to stop by itself
# A call counts once more for each of these, and a free request or a refused call for the smaller ones: a frame of
# 64 KiB may hold 30,000 lists, which take the parent 13 ms. As one long text it takes a thirtieth of that.
_FREE_BYTES, _FREE_VALUES = KIB, 64
_CALL_BYTES, _CALL_VALUES = 16 * KIB, 512
# Prefetched calls of batches, of all scripts together. They keep the other cores busy while one call waits for the
# interpreter's lock, and leave room for other clients.
_PREFETCH = min(os.cpu_count() or 1, 3)


class CallHandler:
    """Answers the script's calls and counts them against its limits. Nothing in a call is trusted."""

    _prefetched: ClassVar[int] = 0  # calls prefetched now, by all handlers

    def __init__(self, call: HostCall | None, limits: Limits, started: float, left: Left | None = None) -> None:
        self.calls = 0
        self.report_progress: Callable[[str], Awaitable[None]] = _ignore_progress
        self.refusals = 0  # calls beyond the limit
        self.spent_budget = ""  # the error type of the latest refusal for a spent budget
        self.rows = 0
        self.tokens = 0
        self._call = call
        self._limits = limits
        self._started = started
        self._left = left
        self._bytes = 0
        self._free_requests = 0
        self._surplus = 0  # how often the frame that is being answered counts more, free or refused
        self._charge = 0  # and how often as a call, until it is counted
        self._turn = Turn()

    def refuse_late(self, request: frames.CallFrame) -> bytes:
        """Return the packed refusal of a call, or of all calls of a batch, because the time is nearly up."""
        refusal = self._encode_refusal(_TIME_IS_UP)
        return frames.pack_for_child([refusal] * len(request.each)) if request.each else frames.pack(refusal)

    async def answer(self, request: frames.CallFrame) -> bytes:
        """Return the packed reply: a value, or an error that the script may catch; for a batch, a list of these.

        A batch is answered from its beginning until the replies fill a frame; the script sends the rest again.
        """
        self._surplus = max(request.size // _FREE_BYTES, request.values // _FREE_VALUES)
        charge = max(request.size // _CALL_BYTES, request.values // _CALL_VALUES)
        self._charge = max(0, charge - len(request.each))
        if not request.each:
            return frames.pack(await self._answer_one(request.method, request.params))
        return frames.pack_for_child(await self._answer_batch(request.method, request.params, request.each))

    async def _answer_batch(
        self, method: str, params: dict[str, Any], each: Sequence[Mapping[str, Any]]
    ) -> list[bytes]:
        """Answer calls in order, with the next ones prefetched. Budgets are counted in the order of the calls."""
        batch = [{**params, **own} for own in each]
        prefetched: deque[asyncio.Future[Reply]] = deque()
        replies: list[bytes] = []
        room = self._limits.reply_bytes
        try:
            for number, call_params in enumerate(batch):
                self._prefetch(method, batch[number + len(prefetched) : number + 1 + _PREFETCH], prefetched)
                reply = await self._answer_one(method, call_params, prefetched.popleft() if prefetched else None)
                replies.append(reply)
                room -= len(reply)
                if room < 0:
                    break
                await self._turn.give_way()
        finally:
            for unused in prefetched:
                unused.cancel()
        return replies

    def _prefetch(
        self, method: str, batch: list[dict[str, Any]], prefetched: deque[asyncio.Future[Reply]]
    ) -> None:
        """Start the calls that the script may still make and that there is room for."""
        calls_left = self._limits.sdk_calls - self.calls - len(prefetched)
        if self._call is None or method in _RUN_METHODS:
            return
        for params in batch[: max(calls_left, 0)]:
            if prefetched and CallHandler._prefetched >= _PREFETCH:
                return
            call = asyncio.ensure_future(self._call(method, params))
            call.add_done_callback(_retrieve_error)
            if prefetched:
                CallHandler._prefetched += 1
                call.add_done_callback(_count_prefetch_done)
            prefetched.append(call)

    async def _answer_one(
        self, method: str, params: dict[str, Any], prefetched: asyncio.Future[Reply] | None = None
    ) -> bytes:
        try:
            return await self._execute(method, params, prefetched)
        except CallError as refusal:
            return self._encode_refusal(refusal)

    def _encode_refusal(self, refusal: CallError) -> bytes:
        if refusal.limit:
            self.spent_budget = refusal.type
        error = {
            "type": refusal.type,
            "message": refusal.message,
            "hint": refusal.hint,
            "limit": refusal.limit,
        }
        return frames.encode_for_child({"error": error})

    async def _execute(
        self, method: str, params: dict[str, Any], prefetched: asyncio.Future[Reply] | None = None
    ) -> bytes:
        limits = self._limits
        run_method = _RUN_METHODS.get(method)
        if run_method is not None and self._free_requests < _FREE_REQUESTS:
            self._free_requests += 1 + self._surplus
            return frames.encode_for_child({"ok": await run_method(self, params)})
        if self.calls >= limits.sdk_calls or run_method is not None:
            self.refusals += 1 + self._surplus
            raise CallError(
                "CallLimit",
                f"a script may make {limits.sdk_calls:,} SDK calls; none are left",
                limit=True,
                hint=_CALL_LESS,
            )
        self.calls = min(self.calls + 1 + self._charge, limits.sdk_calls)
        self._charge = 0
        if self._call is None:
            raise CallError("NO_KNOWLEDGE_BASE", "this sandbox has no knowledge base behind it")
        try:
            reply = await (self._call(method, params) if prefetched is None else prefetched)
            data = frames.encode_for_child({"ok": reply.value})
            self._check_size(len(data))
            if reply.charge is not None:
                reply.charge()
        except CallError:
            raise
        except Exception:
            log.exception("the host failed to answer %r", method)
            raise CallError("INTERNAL", "internal error; the server's log has the details") from None
        self._bytes += len(data)
        self.rows += reply.rows
        self.tokens += reply.tokens
        return data

    async def _budget(self, params: dict[str, Any]) -> dict[str, Any]:
        limits = self._limits
        return {
            "calls": limits.sdk_calls - self.calls,
            "seconds": round(max(0.0, limits.wall_seconds - (time.monotonic() - self._started)), 2),
            "tokens": limits.result_tokens,
            **(self._left() if self._left is not None else {}),
        }

    async def _progress(self, params: dict[str, Any]) -> None:
        message = params.get("message")
        if type(message) is not str:
            raise CallError("INVALID_REQUEST", "progress: message is a text")
        await self.report_progress(message)

    def _check_size(self, size: int) -> None:
        """Refuse an answer that is too large, before anything is charged for it."""
        limits = self._limits
        if size > limits.reply_bytes:
            raise CallError("ReplyTooLarge", f"the answer is {size:,} bytes long; the limit is"
                            f" {limits.reply_bytes:,}", hint=_ASK_FOR_LESS)  # fmt: skip
        left = limits.reply_total_bytes - self._bytes
        if size > left:
            raise CallError(
                "CallLimit",
                f"the answers to one script may have {limits.reply_total_bytes / MIB:,.0f} MiB in all; "
                f"{left:,} bytes are left and this answer has {size:,}",
                limit=True,
                hint=_ASK_FOR_LESS,
            )


def _retrieve_error(call: asyncio.Future[Reply]) -> None:
    """Retrieve the error of a call whose reply is not needed any more, so that asyncio does not log it."""
    if not call.cancelled():
        call.exception()


def _count_prefetch_done(call: asyncio.Future[Reply]) -> None:
    CallHandler._prefetched -= 1


async def _ignore_progress(message: str) -> None:
    """Discard a message: no caller listens."""


# Methods about the run itself; they do not count as calls.
_RUN_METHODS: Mapping[str, Callable[[CallHandler, dict[str, Any]], Awaitable[Any]]] = {
    "budget": CallHandler._budget,
    "progress": CallHandler._progress,
}
_ASK_FOR_LESS = "ask for fewer rows at a time, or for ids, metadata or previews before full texts"
_CALL_LESS = (
    "every question of search_many and every page of .all() is a call; take more rows in each call (top_k=100, "
    "fetch with 100 ids); kb.scan and kb.count look through everything in one call; a call with more than 512 "
    "values or 16 KiB counts several times"
)

_TIME_IS_UP = CallError("Timeout", "time is up", limit=True)

_BUDGETS_OF_THE_CHILD = ("OutputLimit", "ResultTooLarge")
# A script is warned so long before it is killed, and of its whole time at most this share.
_WARNING_SECONDS, _WARNING_SHARE = 0.5, 0.1
_WARNINGS = 4  # an exception that comes while an object is finalised is lost
# After a script printed too much, its last frame may still come: so many frames, and so long.
_LAST_FRAMES, _LAST_SECONDS = 3, 1.0


class Execution:
    """The conversation with one child."""

    def __init__(
        self,
        child: RunnerChild,
        limits: Limits,
        host: CallHandler,
        started: float,
        skills: Mapping[str, Any] | None = None,
    ) -> None:
        self._child = child
        self._skills = skills
        self._limits = limits
        self._host = host
        self._started = started  # on the monotonic clock
        self._printed = OutputTail(limits.stdout_tail_bytes)
        self._too_large = False
        self._late: Outcome | None = None  # the outcome of a script whose time is nearly up
        self._answering: asyncio.Timeout | None = None

    async def complete(
        self, code: str, deadline: float, count_tokens: CountTokens | None, on_progress: OnUsage | None
    ) -> Outcome:
        """Send the script to the child, serve it, kill the child, and return the outcome."""
        reporter = ProgressReporter(on_progress, self._usage)
        self._host.report_progress = reporter.set_message
        reporter.start()
        try:
            return await self._run(code, deadline, count_tokens, reporter)
        finally:
            reporter.close()

    async def _run(
        self, code: str, deadline: float, count_tokens: CountTokens | None, reporter: ProgressReporter
    ) -> Outcome:
        loop = asyncio.get_running_loop()
        watches = [loop.create_task(self._watch_memory()), loop.create_task(self._watch_time(deadline))]
        ending: Outcome | frames.ResultFrame | frames.FailureFrame | None
        try:
            async with asyncio.timeout_at(deadline):
                ending = await self._converse(code)
        except TimeoutError:
            ending = sandbox_outcomes.timeout(self._limits)
        except frames.ProtocolError as error:
            log.warning("a child broke the protocol: %s", error)
            # A frame that a script left unfinished is completed by its last one: its time was up before.
            ending = self._late or sandbox_outcomes.violation(str(error))
        except ChildGone:
            ending = None
        finally:
            for watch in watches:
                watch.cancel()
            # After its last frame a child waits to be killed, so that its usage can be read while it lives:
            # reaping it, with the namespace around it, takes longer than a short script and happens in the
            # background.
            used = self._child.read_usage()
            self._child.kill()
        if ending is None:
            used = await self._child.death
            ending = self._explain_death(used)
        elif isinstance(ending, frames.ResultFrame):
            ending = await self._check_result(ending.value, ending.text, count_tokens)
        elif isinstance(ending, frames.FailureFrame):
            ending = await self._build_failure(ending, count_tokens)
        await reporter.flush()
        return await self._with_usage(ending, used or await self._child.death, count_tokens)

    async def _converse(self, code: str) -> Outcome | frames.ResultFrame | frames.FailureFrame:
        child, limits, turn = self._child, self._limits, Turn()
        child.limit_frames(frames.longest_body(limits))
        await child.send(frames.pack_for_child(ScriptJob.build(code, limits, self._skills).encode()))
        while True:
            await turn.give_way()
            frame = frames.decode(await child.receive(), limits)
            await turn.give_way()
            match frame:
                case frames.CallFrame() as request:
                    await child.send(await self._answer(request))
                    if self._late is None and self._host.refusals > _MAX_REFUSALS:
                        return sandbox_outcomes.calls(limits)
                case frames.OutputFrame(text):
                    self._printed.add(text.encode())
                    if self._printed.weight > limits.stdout_total_bytes:
                        return await self._receive_last() or sandbox_outcomes.output(limits)
                case frames.ResultFrame() | frames.FailureFrame() as last:
                    return last

    async def _receive_last(self) -> frames.FailureFrame | None:
        """The last frame of a script that printed too much, if it comes soon."""
        with contextlib.suppress(TimeoutError, ChildGone, frames.ProtocolError):
            async with asyncio.timeout(_LAST_SECONDS):
                for _ in range(_LAST_FRAMES):
                    last = frames.decode(await self._child.receive(), self._limits)
                    if isinstance(last, frames.FailureFrame):
                        return last if last.error["type"] == "OutputLimit" else None
        return None

    async def _build_failure(self, last: frames.FailureFrame, count_tokens: CountTokens | None) -> Outcome:
        """The outcome of a script that reports an error, with what its result held where a limit ended it.

        A budget of the parent is spent only when the parent refused a call for it, and time is up only when the
        parent said so: a script can raise an SDKError of any type, with any mark.
        """
        status, error = last.status, ScriptError(**last.error)
        if self._late is not None and status == "limit" and error.type == "Timeout":
            outcome = self._place_late(error)
        elif status == "limit" and error.type not in (self._host.spent_budget, *_BUDGETS_OF_THE_CHILD):
            return Outcome("error", error=error)
        else:
            outcome = Outcome(status, error=error)  # type: ignore[arg-type]
        if last.text is None:
            return outcome
        held = await self._check_result(last.partial, last.text, count_tokens)
        if held.status != "ok":
            return replace(outcome, whole=held.whole)
        return replace(outcome, result=held.result, partial=True, usage=held.usage)

    def _place_late(self, error: ScriptError) -> Outcome:
        """The outcome of a script that was warned in time, with the place where it was."""
        assert self._late is not None and self._late.error is not None  # noqa: PT018
        worded = self._late.error
        return replace(self._late, error=replace(error, message=worded.message, hint=worded.hint))

    async def _answer(self, request: frames.CallFrame) -> bytes:
        """Return the reply. If the child dies meanwhile, its calls are cancelled and ChildGone is raised."""
        death = asyncio.ensure_future(self._child.death)
        try:
            async with asyncio.timeout(None) as waiting:

                def end(_: asyncio.Future[ChildDeath]) -> None:
                    waiting.reschedule(0.0)

                death.add_done_callback(end)
                self._answering = waiting
                try:
                    return self._host.refuse_late(request) if self._late else await self._host.answer(request)
                finally:
                    self._answering = None
                    death.remove_done_callback(end)
        except TimeoutError:
            if self._late is None or death.done():
                raise ChildGone from None
            return self._host.refuse_late(request)

    async def _check_result(self, value: Any, text: str | None, count_tokens: CountTokens | None) -> Outcome:
        limits = self._limits
        if text is None:
            value = self._printed.text() or None
            text = value or "null"
        size = len(text.encode())
        if size > limits.result_bytes:
            refusal = sandbox_outcomes.result_too_large(value, size, limits.result_bytes, "bytes")
            return replace(refusal, whole=text if size <= limits.kept_bytes else None)
        tokens = await count_tokens(text) if count_tokens is not None else 0
        if tokens > limits.result_tokens:
            refusal = sandbox_outcomes.result_too_large(value, tokens, limits.result_tokens, "tokens")
            return replace(refusal, whole=text)
        return Outcome("ok", result=value, usage=Usage(result_tokens=tokens))

    async def _watch_memory(self) -> None:
        """Poll the child's memory until cancelled; kill the child when it holds too much."""
        while True:
            await asyncio.sleep(self._child.memory_poll_seconds)
            if self._child.resident_bytes() > self._limits.memory_bytes + WARM_BYTES:
                self._too_large = True
                self._child.send_sigkill()
                return

    async def _watch_time(self, deadline: float) -> None:
        """Warn the child a moment before the deadline kills it, so that it can send what its result holds."""
        loop, limits = asyncio.get_running_loop(), self._limits
        ahead = min(_WARNING_SECONDS, _WARNING_SHARE * limits.wall_seconds)
        await asyncio.sleep(deadline - ahead - loop.time())
        self._late = sandbox_outcomes.timeout(limits)
        if self._answering is not None:
            self._answering.reschedule(0.0)
        for _ in range(_WARNINGS):
            self._child.warn()
            await asyncio.sleep(ahead / (_WARNINGS + 1))

    def _explain_death(self, death: ChildDeath) -> Outcome:
        if self._too_large or death.hit_group_limit:
            return sandbox_outcomes.memory(self._limits)
        if death.is_by_cpu_limit(self._limits.cpu_seconds):
            return sandbox_outcomes.cpu(self._limits)
        if self._late is not None and death.is_by_warning:
            return self._late
        if death.is_fault:
            log.warning("a script was killed by signal %d", death.signal)
        return sandbox_outcomes.death(death.signal)

    def _usage(self) -> Usage:
        return Usage(
            wall_ms=(time.monotonic() - self._started) * 1000,
            memory_peak_bytes=self._child.resident_bytes(),
            sdk_calls=self._host.calls,
            rows=self._host.rows,
            tokens_kept_out=self._host.tokens,
        )

    async def _with_usage(self, ending: Outcome, death: ChildDeath, count_tokens: CountTokens | None) -> Outcome:
        printed, result_tokens = self._printed.text(), ending.usage.result_tokens
        # Printed text leaves the sandbox as well; where it is the result, it is counted already.
        counts_printed = count_tokens is not None and printed not in ("", ending.result)
        printed_tokens = await count_tokens(printed) if count_tokens is not None and counts_printed else 0
        usage = replace(
            self._usage(),
            cpu_ms=death.cpu_ms,
            memory_peak_bytes=death.memory_peak_bytes,
            result_tokens=result_tokens,
            tokens_kept_out=max(0, self._host.tokens - result_tokens - printed_tokens),
        )
        return replace(ending, stdout=printed, usage=usage)
