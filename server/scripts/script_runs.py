"""Agents' scripts, run over the knowledge base: the sandbox on one side, ``KnowledgeBase.call`` on the other.

Each run has its own meter. A script cannot widen its scope (its calls pass the same validation as direct ones)
and cannot take more rows than one run may: what it reads beyond that would be a bulk copy, not a question.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from sandbox import CallError, Limits, Outcome, Reply, Sandbox, SandboxUnavailable, Usage, looks_possible
from server.contracts.base import Tier
from server.errors import WinnowError
from server.knowledge import SCRIPT, Answer, Caller, Knowledge
from server.runtime.audit import fingerprint, hash_of, open_audit_log
from server.runtime.logs import log, redact_text
from server.scripts.skills import SkillSet, load_skills
from server.sessions.identities import queue_key
from server.sessions.result_store import new_execution_id
from server.settings import Settings
from server.text.printable import one_line

KIB = 1024


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one run may take: rows by their purse, and the limits of the sandbox."""

    rows: Mapping[str, int]
    limits: Limits


# ids and metadata share one purse: both only name things. What an operator chooses by the setting ``limits``.
ALLOWANCES: Mapping[str, Allowance] = MappingProxyType(
    {
        "standard": Allowance({"ids or metadata rows": 2_000, "previews": 200, "full passages": 50}, Limits()),
        "strict": Allowance(
            {"ids or metadata rows": 100, "previews": 50, "full passages": 5},
            Limits(
                sdk_calls=10,
                result_bytes=10 * KIB,
                result_tokens=2_500,
                kept_bytes=64 * KIB,
                stdout_tail_bytes=2 * KIB,
            ),
        ),
    }
)


def allowance_of(settings: Settings) -> Allowance:
    """What one script may take under these settings: a row of ``ALLOWANCES``, and what is set apart from it."""
    chosen = ALLOWANCES[settings.limits]
    purses = zip(
        chosen.rows, (settings.script_rows, settings.script_previews, settings.script_documents), strict=True
    )
    rows = {purse: chosen.rows[purse] if most is None else most for purse, most in purses}
    apart = {
        "sdk_calls": settings.script_calls,
        "result_bytes": settings.result_kb and settings.result_kb * KIB,
        "result_tokens": settings.result_tokens,
    }
    limits = replace(chosen.limits, **{name: most for name, most in apart.items() if most is not None})
    # What is kept of a result that is too large is never less than what is sent of one that is not.
    limits = replace(limits, kept_bytes=max(limits.kept_bytes, limits.result_bytes))
    return Allowance(rows, limits)


_PURSES: Mapping[Tier, str] = MappingProxyType(
    {
        "ids_only": "ids or metadata rows",
        "metadata": "ids or metadata rows",
        "preview": "previews",
        "quotes": "previews",
        "excerpt": "full passages",
        "full": "full passages",
    }
)

LONGEST_SECONDS = 60.0
_METHOD_CHARS = 40
_ERROR_CHARS = 200
_SKILLS = re.compile(r"\bskills\b")  # what a script that imports some has in it
_READ_ON = "read_result('{}') has it in the next script"

# What was used so far, and the script's latest words ("" where it has said nothing new).
Progress = Callable[[Usage, str], Awaitable[None]]
# What a purse is called in a script: budget().rows.previews
_CALLED: Mapping[str, str] = MappingProxyType(
    {"ids or metadata rows": "names", "previews": "previews", "full passages": "documents"}
)


@dataclass(slots=True)
class _Meter:
    """What one run may still take, and the way to the knowledge base."""

    kb: Knowledge
    caller: Caller
    allowed: Mapping[str, int]
    left: dict[str, int] = field(init=False)
    calls: list[dict[str, Any]] = field(default_factory=list)  # for the audit: what was asked, without its words

    def __post_init__(self) -> None:
        self.left = dict(self.allowed)

    def rows_left(self) -> Mapping[str, int]:
        """How many rows the run may still take, by what a script calls them."""
        return {_CALLED[purse]: left for purse, left in self.left.items()}

    async def call(self, method: str, params: Mapping[str, Any]) -> Reply:
        """Answer one SDK call. Nothing is counted before the reply is settled: several may be under way."""
        call: dict[str, Any] = {"call": method[:_METHOD_CHARS], "arguments": fingerprint(params)}
        self.calls.append(call)
        try:
            answer = await self.kb.call(method, params, self.caller)
        except WinnowError as error:
            return Reply(None, settle=partial(self._refuse, call, error))
        value = {**answer.payload, "warnings": list(answer.warnings)} if answer.warnings else answer.payload
        return Reply(value, rows=answer.rows, tokens=answer.tokens, settle=partial(self._take, call, answer))

    def _refuse(self, call: dict[str, Any], error: WinnowError) -> None:
        """Raises ``CallError``: what the script sees instead of an answer."""
        call["error"] = error.reason
        raise CallError(error.reason, error.message) from None

    def _take(self, call: dict[str, Any], answer: Answer) -> None:
        """Take the answer's rows out of their purse. Raises ``CallError`` where it does not hold as many."""
        call |= {"rows": answer.rows, "tokens": answer.tokens}
        purse = _PURSES[answer.tier]
        if answer.rows > self.left[purse]:
            call["error"] = "SDK_ROWS"
            raise CallError(
                "SDK_ROWS",
                f"one run may take {self.allowed[purse]:,} {purse}; {self.left[purse]:,} are left and this call "
                f"would take {answer.rows:,}",
                hint="rank and filter on metadata rows first; fetch previews or full text of the few that matter",
                limit=True,
            )
        self.left[purse] -= answer.rows


class Scripts:
    """Runs scripts for as long as the server lives.

    ``promised`` says whether they look possible here, before anything is started. ``available`` is the same until
    the sandbox was raised, and then whether it stands; ``why_not`` says which wall is missing and what to do.
    """

    def __init__(self, kb: Knowledge, settings: Settings) -> None:
        self._kb = kb
        self._settings = settings
        # One CPU and one memory limit for all scripts: children are kept ready with these.
        self._allowance = allowance_of(settings)
        self._limits = replace(
            self._allowance.limits, wall_seconds=LONGEST_SECONDS, memory_bytes=settings.memory_bytes
        )
        self.promised = settings.execute_code != "off" and looks_possible(
            settings.sandbox, settings.allow_weaker_sandbox
        )
        self._sandbox: Sandbox | None = None
        self._is_settled = False
        self._audit = open_audit_log(settings, "executions")
        self.why_not = "the sandbox has not been started"
        self.shelf = SkillSet()

    @property
    def available(self) -> bool:
        """Whether scripts can run here, as far as is known."""
        return self._sandbox is not None if self._is_settled else self.promised

    @property
    def queue(self) -> Mapping[str, int]:
        """How many scripts run now, and how many wait for a worker."""
        running, waiting = self._sandbox.queue if self._sandbox is not None else (0, 0)
        return {"running": running, "waiting": waiting}

    async def start(self) -> None:
        """Raise the sandbox; on failure ``available`` is False and ``why_not`` says why."""
        try:
            await self._raise_sandbox()
        finally:
            self._is_settled = True

    async def _raise_sandbox(self) -> None:
        if self._settings.execute_code == "off":
            self.why_not = "execute_code is switched off (setting execute_code)"
            return
        self.shelf = await asyncio.to_thread(load_skills, self._settings.skills)
        for one in self.shelf.left_out:
            log("a skill is left out", level=logging.WARNING, what=one.what, why=one.why)
        sandbox = Sandbox(
            limits=self._limits,
            runner=self._settings.sandbox,
            accept_missing=self._settings.allow_weaker_sandbox,
            workers=self._settings.workers,
            queue=self._settings.queue,
            queue_seconds=self._settings.queue_seconds,
        )
        try:
            await sandbox.start()
        except SandboxUnavailable as problem:
            self.why_not = str(problem)
            if problem.missing:
                named = " ".join(f"--allow-weaker-sandbox {wall}" for wall in problem.missing)
                self.why_not += f"; to serve scripts without them all the same: {named}"
            return
        self._sandbox = sandbox

    async def run(
        self,
        code: str,
        *,
        client: str = "",
        timeout: float | None = None,
        progress: Progress | None = None,
        description: str = "",
    ) -> Outcome:
        """Run one script to its verdict; never raises for anything the script does.

        ``description``: what the script is for, as its sender says, for the audit.

        Raises:
            WinnowError: SANDBOX_UNAVAILABLE where no sandbox stands.
        """
        if self._sandbox is None:
            raise WinnowError("SANDBOX_UNAVAILABLE", f"{self.why_not}; run `winnow doctor`")
        seconds = self._settings.wall_seconds if timeout is None else float(timeout)
        # The session of whoever sent the script: what it found can be read on directly.
        caller = self._kb.caller(client, SCRIPT, secrets.token_hex(8))
        meter = _Meter(self._kb, caller, self._allowance.rows)
        began = time.monotonic()
        outcome = await self._sandbox.run(
            code,
            client=queue_key(client),
            call=meter.call,
            left=meter.rows_left,
            limits=replace(self._limits, wall_seconds=seconds),
            count_tokens=self._kb.count_tokens,
            on_progress=progress,
            skills=self.shelf.for_scripts().to_job() if _SKILLS.search(code) else None,
        )
        self._kb.metrics.count_wait(max(0.0, time.monotonic() - began - outcome.usage.wall_ms / 1000))
        execution_id = new_execution_id()
        outcome = self._keeping(outcome, caller, execution_id)
        self._record(outcome, code, description, meter, execution_id)
        return outcome

    def _record(self, outcome: Outcome, code: str, description: str, meter: _Meter, execution_id: str) -> None:
        """Count the execution, and write its line."""
        usage, error = outcome.usage, outcome.error
        self._kb.metrics.count_execution(outcome.status, usage.sdk_calls, usage.rows, usage.tokens_kept_out)
        if self._audit is None:
            return
        record = {
            "execution_id": execution_id,
            "client": fingerprint(meter.caller.connection),
            "source_sha256": hash_of(code),
            "source_bytes": len(code.encode("utf-8", "replace")),
            **({"source": code} if self._settings.log_queries else {}),
            **({"description": redact_text(description, plain=self._settings.log_queries)} if description else {}),
            "verdict": outcome.status,
            **({"error": one_line(error.type, _ERROR_CHARS)} if error is not None else {}),
            "wall_ms": round(usage.wall_ms, 1),
            "cpu_ms": round(usage.cpu_ms, 1),
            "memory_peak_bytes": usage.memory_peak_bytes,
            "sdk_calls": usage.sdk_calls,
            "rows": usage.rows,
            "tokens_kept_out": usage.tokens_kept_out,
            "tokens_returned": usage.result_tokens,
            "calls": meter.calls,
            "walls": {"stood": list(outcome.walls.stood), "missing": list(outcome.walls.missing)},
        }
        # Here and not in a thread: a line takes 0.03 ms, less than handing it to one.
        self._audit.write(record)

    def _keeping(self, outcome: Outcome, caller: Caller, execution_id: str) -> Outcome:
        """The outcome; a result that is too large is kept for the connection, and the error says so."""
        error, whole = outcome.error, outcome.whole
        if error is None or whole is None or not self._kb.results.put(caller.connection, execution_id, whole):
            return outcome
        hint = f"{error.hint}; the whole is kept for a while: {_READ_ON.format(execution_id)}"
        return replace(outcome, error=replace(error, hint=hint, kept_as=execution_id))

    async def close(self) -> None:
        """Take the sandbox down, with everything that runs in it."""
        if self._sandbox is not None:
            await self._sandbox.close()
            self._sandbox = None
