"""One script in one child, from the first frame to the verdict; the keeper's half of the conversation."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from sandbox.protocol import frames, verdicts
from sandbox.protocol.limits import KIB, MIB, WARM_BYTES, Limits
from sandbox.protocol.outcome import CallError, CountTokens, HostCall, Left, Outcome, Reply, ScriptError, Usage
from sandbox.runners.runner_table import ChildDeath, ChildGone, RunnerChild

from .progress import Progress, ProgressReporter

log = logging.getLogger("sandbox")

_CPU_GRAIN_MS = 200  # the kernel counts the CPU limit in ticks
_FRAME_BYTES = 16  # what a frame of printed text counts at least: reading one costs, however little is in it
_ASIDES = 1_000  # questions of a script about its own run, and words to whoever waits: they cost no call
_REFUSALS = 1_000  # after so many calls beyond its limit a script is not going to stop by itself
_FREE_BYTES = KIB  # of either; a longer frame counts once more for each of these
# Calls of batches that are under way before their turn, of all scripts together: cores have work while one waits
# for the interpreter's lock, and others are left the room that they had.
_AHEAD = min(os.cpu_count() or 1, 3)
CUT_MARK = "[... {} bytes of output cut here ...]\n"


class CallHandler:
    """Answers the script's calls, and counts what they cost. Nothing in a call is trusted."""

    _ahead: ClassVar[int] = 0  # calls under way before their turn, of all hosts

    def __init__(self, call: HostCall | None, limits: Limits, started: float, left: Left | None = None) -> None:
        self.calls = 0
        self.say: Callable[[str], Awaitable[None]] = _to_nobody
        self.refusals = 0  # calls beyond the limit
        self.spent = ""  # the latest budget that was refused for, by the type of its refusal
        self.rows = 0
        self.tokens = 0
        self._call = call
        self._limits = limits
        self._started = started
        self._left = left
        self._bytes = 0
        self._asides = 0
        self._surplus = 0  # what the frame that is answered is longer than such frames are, in `_FREE_BYTES`

    async def answer(self, request: frames.CallFrame) -> bytes:
        """The packed reply: a value, or an error that the script may catch; for a batch, a list of such replies.

        A batch is answered from its beginning until the replies fill a frame; the script asks again for the rest.
        """
        self._surplus = request.size // _FREE_BYTES
        if not request.each:
            return frames.pack(await self._reply(request.method, request.params))
        return frames.to_child(await self._replies(request.method, request.params, request.each))

    async def _replies(
        self, method: str, params: dict[str, Any], each: Sequence[Mapping[str, Any]]
    ) -> list[bytes]:
        """The next calls are under way while one is waited for; what they count, they count in their order."""
        several = [{**params, **own} for own in each]
        begun: deque[asyncio.Future[Reply]] = deque()
        replies: list[bytes] = []
        room = self._limits.reply_bytes
        try:
            for number, asked in enumerate(several):
                self._begin(method, several[number + len(begun) : number + 1 + _AHEAD], begun)
                replies.append(await self._reply(method, asked, begun.popleft() if begun else None))
                room -= len(replies[-1])
                if room < 0:
                    break
        finally:
            for unwanted in begun:
                unwanted.cancel()
        return replies

    def _begin(self, method: str, several: list[dict[str, Any]], begun: deque[asyncio.Future[Reply]]) -> None:
        """Start these calls, as many of them as the script may still make, and as there is room for."""
        left = self._limits.sdk_calls - self.calls - len(begun)
        if self._call is None or method in _OF_THE_RUN:
            return
        for params in several[: max(left, 0)]:
            if begun and CallHandler._ahead >= _AHEAD:
                return
            call = asyncio.ensure_future(self._call(method, params))
            call.add_done_callback(_seen)
            if begun:
                CallHandler._ahead += 1
                call.add_done_callback(_landed)
            begun.append(call)

    async def _reply(
        self, method: str, params: dict[str, Any], begun: asyncio.Future[Reply] | None = None
    ) -> bytes:
        try:
            return await self._value(method, params, begun)
        except CallError as refusal:
            if refusal.limit:
                self.spent = refusal.type
            error = {
                "type": refusal.type,
                "message": refusal.message,
                "hint": refusal.hint,
                "limit": refusal.limit,
            }
            return frames.for_child({"error": error})

    async def _value(
        self, method: str, params: dict[str, Any], begun: asyncio.Future[Reply] | None = None
    ) -> bytes:
        limits = self._limits
        aside = _OF_THE_RUN.get(method)
        if aside is not None and self._asides < _ASIDES:
            self._asides += 1 + self._surplus
            return frames.for_child({"ok": await aside(self, params)})
        if self.calls >= limits.sdk_calls or aside is not None:
            self.refusals += 1 + self._surplus
            raise CallError("CallLimit", f"a script may make {limits.sdk_calls} calls", limit=True, hint=_FEWER)
        self.calls += 1
        if self._call is None:
            raise CallError("NO_KNOWLEDGE_BASE", "this sandbox has no knowledge base behind it")
        try:
            reply = await (self._call(method, params) if begun is None else begun)
            if reply.settle is not None:
                reply.settle()
            data = frames.for_child({"ok": reply.value})
        except CallError:
            raise
        except Exception:
            log.exception("the host failed to answer %r", method)
            raise CallError("INTERNAL", "internal error; the server's log has the details") from None
        self._weigh(len(data))
        self.rows += reply.rows
        self.tokens += reply.tokens
        return data

    async def _budget(self, params: dict[str, Any]) -> dict[str, Any]:
        limits = self._limits
        return {
            "calls": limits.sdk_calls - self.calls,
            "seconds": round(max(0.0, limits.wall_seconds - (time.monotonic() - self._started)), 2),
            "tokens": limits.result_tokens,
            "rows": dict(self._left()) if self._left is not None else {},
        }

    async def _progress(self, params: dict[str, Any]) -> None:
        message = params.get("message")
        if type(message) is not str:
            raise CallError("INVALID_REQUEST", "progress: message is a text")
        await self.say(message)

    def _weigh(self, size: int) -> None:
        limits = self._limits
        if size > limits.reply_bytes:
            raise CallError("ReplyTooLarge", f"the answer is {size:,} bytes long; the limit is"
                            f" {limits.reply_bytes:,}", hint=_FEWER)  # fmt: skip
        if self._bytes + size > limits.reply_total_bytes:
            raise CallError("CallLimit", f"a script may read {limits.reply_total_bytes // MIB} MiB in all",
                            limit=True, hint=_FEWER)  # fmt: skip
        self._bytes += size


def _seen(done: asyncio.Future[Reply]) -> None:
    """An error of a call that nobody waits for any more is nobody's."""
    if not done.cancelled():
        done.exception()


def _landed(done: asyncio.Future[Reply]) -> None:
    CallHandler._ahead -= 1


async def _to_nobody(message: str) -> None:
    """Nobody waits."""


_OF_THE_RUN: Mapping[str, Callable[[CallHandler, dict[str, Any]], Awaitable[Any]]] = {
    "budget": CallHandler._budget,
    "progress": CallHandler._progress,
}
_FEWER = "ask for fewer rows at a time, or for ids, metadata or previews before full texts"


_SPENT_IN_THE_CHILD = ("OutputLimit", "ResultTooLarge")


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
        self._printed = _Tail(limits.stdout_tail_bytes)
        self._too_large = False

    async def complete(
        self, code: str, deadline: float, count_tokens: CountTokens | None, on_progress: Progress | None
    ) -> Outcome:
        """Hand over the script, serve it, kill the child, and tell how it went."""
        teller = ProgressReporter(on_progress, self._usage)
        self._host.say = teller.say
        teller.start()
        try:
            return await self._completed(code, deadline, count_tokens, teller)
        finally:
            teller.close()

    async def _completed(
        self, code: str, deadline: float, count_tokens: CountTokens | None, teller: ProgressReporter
    ) -> Outcome:
        watch = asyncio.get_running_loop().create_task(self._watch())
        ending: Outcome | frames.ResultFrame | None
        try:
            async with asyncio.timeout_at(deadline):
                ending = await self._converse(code)
        except TimeoutError:
            ending = verdicts.timeout(self._limits)
        except frames.ProtocolError as error:
            log.warning("a child broke the protocol: %s", error)
            ending = verdicts.violation(str(error))
        except ChildGone:
            ending = None
        finally:
            watch.cancel()
            # A child waits to be killed when it has said its last word, so that it can be measured alive: burying
            # it, with the namespace around it, takes longer than a short script and happens behind our back.
            used = self._child.measure()
            self._child.kill()
        if ending is None:
            used = await self._child.death
            ending = self._explain(used)
        elif isinstance(ending, frames.ResultFrame):
            ending = await self._result(ending.value, ending.text, count_tokens)
        await teller.last_word()
        return await self._with_usage(ending, used or await self._child.death, count_tokens)

    async def _converse(self, code: str) -> Outcome | frames.ResultFrame:
        child, limits = self._child, self._limits
        child.expect(frames.largest(limits))
        await child.send(frames.to_child(_job(code, limits, self._skills)))
        while True:
            match frames.decode(await child.receive(), limits):
                case frames.CallFrame() as request:
                    await child.send(await self._answered(request))
                    if self._host.refusals > _REFUSALS:
                        return verdicts.calls(limits)
                case frames.OutputFrame(text):
                    self._printed.add(text.encode())
                    if self._printed.weight > limits.stdout_total_bytes:
                        return verdicts.output(limits)
                case frames.ResultFrame() as result:
                    return result
                case frames.FailureFrame(status, error):
                    return self._told(status, ScriptError(**error))

    def _told(self, status: str, error: ScriptError) -> Outcome:
        """How the script says that it ended. Budgets that the keeper has are spent when the keeper says so: a
        script can raise an SDKError of any type, with any mark.
        """
        if status == "limit" and error.type not in (self._host.spent, *_SPENT_IN_THE_CHILD):
            status = "error"
        return Outcome(status, error=error)  # type: ignore[arg-type]

    async def _answered(self, request: frames.CallFrame) -> bytes:
        """The reply. A child that dies meanwhile waits for none: its calls are cancelled. ChildGone then."""
        death = asyncio.ensure_future(self._child.death)
        try:
            async with asyncio.timeout(None) as waiting:

                def end(_: asyncio.Future[ChildDeath]) -> None:
                    waiting.reschedule(0.0)

                death.add_done_callback(end)
                try:
                    return await self._host.answer(request)
                finally:
                    death.remove_done_callback(end)
        except TimeoutError:
            raise ChildGone from None

    async def _result(self, value: Any, text: str | None, count_tokens: CountTokens | None) -> Outcome:
        limits = self._limits
        if text is None:
            value = self._printed.text() or None
            text = value or "null"
        size = len(text.encode())
        if size > limits.result_bytes:
            refusal = verdicts.result_too_large(value, size, limits.result_bytes, "bytes")
            return replace(refusal, whole=text if size <= limits.kept_bytes else None)
        tokens = await count_tokens(text) if count_tokens is not None else 0
        if tokens > limits.result_tokens:
            refusal = verdicts.result_too_large(value, tokens, limits.result_tokens, "tokens")
            return replace(refusal, whole=text)
        return Outcome("ok", result=value, usage=Usage(result_tokens=tokens))

    async def _watch(self) -> None:
        """Look at memory until cancelled."""
        while True:
            await asyncio.sleep(self._child.look_seconds)
            if self._child.resident_bytes() > self._limits.memory_bytes + WARM_BYTES:
                self._too_large = True
                self._child.strike()
                return

    def _explain(self, death: ChildDeath) -> Outcome:
        if self._too_large or death.starved:
            return verdicts.memory(self._limits)
        if death.cpu_ms >= self._limits.cpu_seconds * 1000 - _CPU_GRAIN_MS:
            return verdicts.cpu(self._limits)
        if death.fault:
            log.warning("a script was killed by signal %d", death.signal)
        return verdicts.death(death.signal)

    def _usage(self) -> Usage:
        return Usage(
            wall_ms=(time.monotonic() - self._started) * 1000,
            memory_peak_bytes=self._child.resident_bytes(),
            sdk_calls=self._host.calls,
            rows=self._host.rows,
            tokens_kept_out=self._host.tokens,
        )

    async def _with_usage(self, ending: Outcome, death: ChildDeath, count_tokens: CountTokens | None) -> Outcome:
        printed, result = self._printed.text(), ending.usage.result_tokens
        # What was printed leaves as well, unless it is the result and counted as that.
        is_counted = count_tokens is not None and printed not in ("", ending.result)
        spoken = await count_tokens(printed) if count_tokens is not None and is_counted else 0
        usage = replace(
            self._usage(),
            cpu_ms=death.cpu_ms,
            memory_peak_bytes=death.memory_peak_bytes,
            result_tokens=result,
            tokens_kept_out=max(0, self._host.tokens - result - spoken),
        )
        return replace(ending, stdout=printed, usage=usage)


def _job(code: str, limits: Limits, skills: Mapping[str, Any] | None) -> dict[str, Any]:
    told = {} if skills is None else {"skills": dict(skills)}
    return {
        **told,
        "code": code,
        "stdout_bytes": limits.stdout_total_bytes,
        "result_bytes": limits.result_bytes,
        "whole_bytes": max(limits.result_bytes, limits.kept_bytes),
        "request_bytes": limits.request_bytes,
        "nesting": limits.nesting,
        "memory_bytes": limits.memory_bytes,
    }


class _Tail:
    """The end of what was printed, how much there was, and what that weighs against the limit."""

    def __init__(self, keep: int) -> None:
        self.total = 0
        self.weight = 0
        self._keep = keep
        self._kept = bytearray()

    def add(self, data: bytes) -> None:
        """Take more; forget what is out of reach, now and then."""
        self.total += len(data)
        self.weight += max(len(data), _FRAME_BYTES)
        self._kept += data
        if len(self._kept) > 4 * self._keep + len(data):
            del self._kept[: -self._keep]

    def text(self) -> str:
        """What is kept, with a mark in front where something is cut."""
        if self.total <= self._keep:
            return self._kept.decode()
        tail = self._kept[-self._keep :].decode(errors="ignore")
        return CUT_MARK.format(f"{self.total - self._keep:,}") + tail
