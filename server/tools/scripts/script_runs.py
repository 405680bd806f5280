"""Runs agents' scripts: connects the sandbox to ``Knowledge.call``.

Each run has its own meter. A script cannot widen its scope, because its calls pass the same validation as direct
ones, and it cannot read more rows than one run may: more would be a bulk copy, not a question.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from winnow.sandbox import (
    CallError,
    Limits,
    Outcome,
    Reply,
    Sandbox,
    SandboxUnavailable,
    Usage,
    WallReport,
    Walls,
)
from winnow.sandbox.runners.availability import find_obstacle
from winnow.server.contracts.base import Tier
from winnow.server.errors import WinnowError
from winnow.server.operations.knowledge import OPERATIONS, SCRIPT, Answer, Caller, Knowledge
from winnow.server.runtime.audit import fingerprint, hash_of, open_audit_log, trace_of_call
from winnow.server.runtime.logs import log, redact_text
from winnow.server.runtime.reports.traces import annotate, span
from winnow.server.runtime.sessions.host_words import error_for
from winnow.server.runtime.sessions.identities import describe_client, queue_key
from winnow.server.runtime.sessions.result_store import new_execution_id
from winnow.server.settings.settings import Settings
from winnow.server.text.printable import one_line
from winnow.server.text.sizes import describe_bytes
from winnow.server.tools.scripts.opt_in import with_opt_in
from winnow.server.tools.scripts.run_warnings import RunWarnings
from winnow.server.tools.scripts.skills import SkillSet, load_skills
from winnow.server.tools.scripts.text_meter import TextMeter

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class Allowance:
    """The limits of one run: bytes of passage text, rows by kind, and the limits of the sandbox.

    ``rows`` has the kinds that are limited; a kind that is missing is not.
    """

    text_bytes: int
    rows: Mapping[str, int]
    limits: Limits


_NAMES, _PREVIEWS, _DOCUMENTS = "ids or metadata rows", "previews", "full passages"
# By the setting ``limits``. Ids and metadata rows count as one kind: both only name things.
ALLOWANCES: Mapping[str, Allowance] = MappingProxyType(
    {
        "standard": Allowance(16 * MIB, MappingProxyType({}), Limits()),
        "strict": Allowance(
            2 * MIB,
            MappingProxyType({_NAMES: 100, _PREVIEWS: 50, _DOCUMENTS: 5}),
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
    """The limits of one script under these settings: a row of ``ALLOWANCES`` and the settings that override it."""
    chosen = ALLOWANCES[settings.limits]
    row_overrides = {
        _NAMES: settings.script_rows,
        _PREVIEWS: settings.script_previews,
        _DOCUMENTS: settings.script_documents,
    }
    rows = {**chosen.rows, **{kind: most for kind, most in row_overrides.items() if most is not None}}
    text_bytes = chosen.text_bytes if settings.script_text_mb is None else settings.script_text_mb * MIB
    limit_overrides = {
        "sdk_calls": settings.script_calls,
        "result_bytes": settings.result_kb and settings.result_kb * KIB,
        "result_tokens": settings.result_tokens,
    }
    limits = replace(chosen.limits, **{name: most for name, most in limit_overrides.items() if most is not None})
    # Results that are too large are stored: the limit for that is never below the limit for sending.
    limits = replace(limits, kept_bytes=max(limits.kept_bytes, limits.result_bytes))
    return Allowance(text_bytes, rows, limits)


_ROW_KINDS: Mapping[Tier, str] = MappingProxyType(
    {
        "ids_only": _NAMES,
        "metadata": _NAMES,
        "preview": _PREVIEWS,
        "quotes": _PREVIEWS,
        "excerpt": _DOCUMENTS,
        "full": _DOCUMENTS,
    }
)

LONGEST_SECONDS = 60.0
_SWITCHED_OFF = "execute_code is switched off (setting execute_code)"
_METHOD_CHARS = 40
_ERROR_CHARS = 200
_AUDITED_CALLS = 100  # of one run, each with its arguments' fingerprint; a record stays below 32 KiB
_READ_ON = "read_result('{}') has it in the next script"

# The usage so far, and the latest output of the script ("" if there is nothing new).
OnUsage = Callable[[Usage, str], Awaitable[None]]
# Where rows are limited, the names of the kinds in a script: budget().rows.previews
_SCRIPT_NAMES: Mapping[str, str] = MappingProxyType(
    {_NAMES: "names", _PREVIEWS: "previews", _DOCUMENTS: "documents"}
)


@dataclass(slots=True)
class _Meter:
    """Answers the SDK calls of one run and counts the text that it takes in, and rows where they are limited."""

    kb: Knowledge
    caller: Caller
    allowed: Allowance
    text: TextMeter = field(init=False)
    left: dict[str, int] = field(init=False)  # rows by kind
    calls: list[dict[str, Any]] = field(default_factory=list)  # for the audit log: without queries
    warnings: RunWarnings = field(default_factory=RunWarnings)

    def __post_init__(self) -> None:
        self.text = TextMeter(self.allowed.text_bytes)
        self.left = dict(self.allowed.rows)

    def budget(self) -> Mapping[str, Any]:
        """The remaining budget of the run, for ``budget()`` of the SDK; rows only where they are limited."""
        rows = {_SCRIPT_NAMES[kind]: left for kind, left in self.left.items()}
        return {
            "text_bytes": {"left": self.text.left, "of": self.text.limit},
            **({"rows": rows} if rows else {}),
        }

    async def call(self, method: str, params: Mapping[str, Any]) -> Reply:
        """Answer one SDK call. Budgets are counted when the reply is settled, because calls run concurrently."""
        call: dict[str, Any] = {"call": method[:_METHOD_CHARS], "arguments": fingerprint(params)}
        self.calls.append(call)
        try:
            answer = await self.kb.call(method, params, self.caller)
        except WinnowError as error:
            return Reply(None, charge=partial(self._refuse, call, error))
        value = {**answer.payload, "warnings": list(answer.warnings)} if answer.warnings else answer.payload
        return Reply(value, rows=answer.rows, tokens=answer.tokens, charge=partial(self._take, call, answer))

    def count_further_calls(self) -> dict[str, Any]:
        """The calls beyond those that the audit log has one by one: their numbers by operation."""
        further = Counter(
            call["call"] if call["call"] in OPERATIONS else "unknown" for call in self.calls[_AUDITED_CALLS:]
        )
        return {"further_calls": dict(further)} if further else {}

    def _refuse(self, call: dict[str, Any], error: WinnowError) -> None:
        """Raise the ``CallError`` that the script receives instead of an answer."""
        call["error"] = error.reason
        raise CallError(error.reason, error_for(error, self.caller.connection).message) from None

    def _take(self, call: dict[str, Any], answer: Answer) -> None:
        """Charge the run for an answer. Raises ``CallError`` if too little is left; then nothing is charged."""
        call |= {"rows": answer.rows, "tokens": answer.tokens}
        kind = _ROW_KINDS[answer.tier]
        rows_left = self.left.get(kind)
        try:
            _check_rows(kind, answer.rows, rows_left, self.allowed.rows.get(kind, 0))
            _check_text(self.text.cost(answer.charged_text), self.text)
        except CallError as refusal:
            call["error"] = refusal.type
            raise
        self.text.take(answer.charged_text)
        self.warnings.add(answer.warnings)
        if rows_left is not None:
            self.left[kind] = rows_left - answer.rows


_CHEAPER_TEXT = (
    "kb.scan and kb.count look through all text without taking it in; previews take about a quarter; a passage "
    "that this run has read costs nothing more"
)
_CHEAPER_ROWS: Mapping[str, str] = MappingProxyType(
    {
        _NAMES: "kb.count gives numbers without rows; a smaller top_k, or filters, give fewer rows",
        _PREVIEWS: "rank and filter metadata rows first, and take previews or quotes of the few that matter",
        _DOCUMENTS: "rank and filter metadata rows or previews first, and fetch the few that matter",
    }
)


def _check_rows(kind: str, rows: int, left: int | None, limit: int) -> None:
    if left is None or rows <= left:
        return
    message = f"one run may take {limit:,} {kind}; {left:,} are left and this answer has {rows:,}"
    raise CallError("SDK_ROWS", message, hint=_CHEAPER_ROWS[kind], limit=True)


def _check_text(cost: int, text: TextMeter) -> None:
    if cost <= text.left:
        return
    limit, left, new = map(describe_bytes, (text.limit, text.left, cost))
    message = (
        f"one run may take in {limit} of passage text; {left} are left and this answer has {new} that the run has "
        "not read yet"
    )
    raise CallError("SDK_TEXT", message, hint=_CHEAPER_TEXT, limit=True)


class Scripts:
    """Runs the scripts of one server.

    ``promised``: whether scripts look possible on this system, before anything is started. ``available``: the same
    until the sandbox has started, then whether it did. ``why_not`` tells operators which walls are missing and
    what to do, ``brief_why_not`` tells agents which are; both are "" while scripts are promised.
    """

    def __init__(self, kb: Knowledge, settings: Settings) -> None:
        self._kb = kb
        self._settings = settings
        # All scripts share one CPU and memory limit, because children are prepared in advance with them.
        self._allowance = allowance_of(settings)
        self._limits = replace(
            self._allowance.limits, wall_seconds=LONGEST_SECONDS, memory_bytes=settings.memory_bytes
        )
        self.why_not = self.brief_why_not = ""
        self._foresee()
        self.promised = not self.why_not
        self._sandbox: Sandbox | None = None
        self._is_settled = False
        self._audit = open_audit_log(
            settings, "executions", lambda: self._kb.metrics.count_unaudited("executions")
        )
        self.skill_set = SkillSet()

    @property
    def available(self) -> bool:
        """Whether scripts can run, as far as is known."""
        return self._sandbox is not None if self._is_settled else self.promised

    @property
    def queue(self) -> Mapping[str, int]:
        """The numbers of scripts that run and that wait for a worker, and how many of each there may be."""
        running, waiting = self._sandbox.queue if self._sandbox is not None else (0, 0)
        settings = self._settings
        return {"running": running, "waiting": waiting, "workers": settings.workers, "capacity": settings.queue}

    def _foresee(self) -> None:
        """Say why scripts cannot run, as far as is known before the sandbox is started."""
        settings = self._settings
        if settings.execute_code == "off":
            self.why_not = self.brief_why_not = _SWITCHED_OFF
        elif obstacle := find_obstacle(settings.sandbox, settings.allow_weaker_sandbox):
            self.why_not = with_opt_in(obstacle.reason, obstacle.missing, settings.sandbox)
            self.brief_why_not = _describe_briefly(obstacle.missing, obstacle.reason)

    async def start(self) -> None:
        """Start the sandbox; on failure ``available`` is False and ``why_not`` says why."""
        try:
            await self._start_sandbox()
        finally:
            self._is_settled = True

    async def _start_sandbox(self) -> None:
        if self._settings.execute_code == "off":
            return
        self.skill_set = await asyncio.to_thread(load_skills, self._settings.skills)
        for skipped in self.skill_set.left_out:
            log("a skill is left out", level=logging.WARNING, what=skipped.what, why=skipped.why)
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
            if self.promised:  # what was foreseen is said by the command that started this server
                log("execute_code is off on this host", level=logging.WARNING, why=str(problem))
            self.why_not = with_opt_in(str(problem), problem.missing, self._settings.sandbox)
            self.brief_why_not = self.brief_why_not or _describe_briefly(
                problem.missing, "the sandbox did not start"
            )
            return
        self._sandbox = sandbox

    async def run(
        self,
        code: str,
        *,
        client: str = "",
        timeout: float | None = None,
        progress: OnUsage | None = None,
        description: str = "",
    ) -> Outcome:
        """Run one script and return its outcome; nothing that the script does raises an exception here.

        ``description``: the sender's description of the script, for the audit log.

        Raises:
            WinnowError: SANDBOX_UNAVAILABLE if the sandbox is not running.
        """
        sandbox = self._sandbox
        if sandbox is None:
            why = self.brief_why_not or "the sandbox has not been started"
            raise WinnowError("SANDBOX_UNAVAILABLE", f"{why}; its operator sees more with winnow doctor")
        seconds = self._settings.wall_seconds if timeout is None else float(timeout)
        # The session of the script's sender, so that direct calls can read what the script found.
        caller = self._kb.caller(client, SCRIPT, secrets.token_hex(8))
        meter = _Meter(self._kb, caller, self._allowance)
        began = time.monotonic()
        execution_id = new_execution_id()
        with span("script"):
            try:
                outcome = await sandbox.run(
                    code,
                    client=queue_key(client),
                    call=meter.call,
                    left=meter.budget,
                    limits=replace(self._limits, wall_seconds=seconds),
                    count_tokens=self._kb.count_tokens,
                    on_progress=progress,
                    skills=self.skill_set.for_scripts().to_job() if self.skill_set.is_named_in(code) else None,
                )
            except asyncio.CancelledError:
                self._record(_cancelled(sandbox.walls, meter, began), code, description, meter, execution_id)
                raise
            usage = outcome.usage
            annotate(status=outcome.status, sdk_calls=usage.sdk_calls, tokens_kept_out=usage.tokens_kept_out)
        self._kb.metrics.count_wait(max(0.0, time.monotonic() - began - outcome.usage.wall_ms / 1000))
        outcome = replace(outcome, warnings=meter.warnings.lines())
        outcome = self._store_large_result(outcome, caller, execution_id)
        self._record(outcome, code, description, meter, execution_id)
        return outcome

    def _record(self, outcome: Outcome, code: str, description: str, meter: _Meter, execution_id: str) -> None:
        """Count the execution and write its line to the audit log."""
        usage, error = outcome.usage, outcome.error
        self._kb.metrics.count_execution(
            outcome.status, usage.wall_ms / 1000, usage.sdk_calls, usage.rows, usage.tokens_kept_out
        )
        if self._audit is None:
            return
        record = {
            "execution_id": execution_id,
            "trace_id": trace_of_call.get(),
            **describe_client(meter.caller.connection),
            "source_sha256": hash_of(code),
            "source_bytes": len(code.encode("utf-8", "replace")),
            **({"source": code} if self._settings.log_queries else {}),
            **({"description": redact_text(description, plain=self._settings.log_queries)} if description else {}),
            "verdict": outcome.status,
            "exit_code": _exit_code(outcome),
            **({"error": one_line(error.type, _ERROR_CHARS)} if error is not None else {}),
            **({"refused": _refusal_rule(error.message)} if error and outcome.status == "rejected" else {}),
            "wall_ms": round(usage.wall_ms, 1),
            "cpu_ms": round(usage.cpu_ms, 1),
            "memory_peak_bytes": usage.memory_peak_bytes,
            "sdk_calls": usage.sdk_calls,
            "rows": usage.rows,
            "tokens_kept_out": usage.tokens_kept_out,
            "tokens_returned": usage.result_tokens,
            "text_bytes": meter.text.limit - meter.text.left,
            "calls": meter.calls[:_AUDITED_CALLS],
            **meter.count_further_calls(),
            "walls": {"stood": list(outcome.walls.stood), "missing": list(outcome.walls.missing)},
        }
        # Not in a thread: writing a line takes 0.03 ms, less than handing it over.
        self._audit.write(record)

    def _store_large_result(self, outcome: Outcome, caller: Caller, execution_id: str) -> Outcome:
        """Store a result that was too large to send; the returned outcome's error says how to read it."""
        error, whole = outcome.error, outcome.whole
        if error is None or whole is None or not self._kb.results.put(caller.connection, execution_id, whole):
            return outcome
        advice = f"{error.hint}; " if error.hint else ""
        hint = f"{advice}the whole is kept for a while: {_READ_ON.format(execution_id)}"
        return replace(outcome, error=replace(error, hint=hint, kept_as=execution_id))

    async def close(self) -> None:
        """Stop the sandbox and everything that runs in it."""
        if self._sandbox is not None:
            await self._sandbox.close()
            self._sandbox = None


def _describe_briefly(missing: Collection[str], otherwise: str) -> str:
    """Why no script runs, for agents: they change neither the host nor the opt-in."""
    return f"walls are missing: {', '.join(sorted(missing))}" if missing else otherwise


def _cancelled(walls: Sequence[WallReport], meter: _Meter, began: float) -> Outcome:
    """The outcome of a script whose call was cancelled: what is known here of what it used, with its wait."""
    usage = Usage(
        wall_ms=(time.monotonic() - began) * 1000,
        sdk_calls=len(meter.calls),
        rows=sum(call.get("rows", 0) for call in meter.calls),
    )
    stood = tuple(wall.name for wall in walls if wall.stands)
    missing = tuple(wall.name for wall in walls if not wall.stands and not wall.reinforces)
    return Outcome("cancelled", usage=usage, walls=Walls(stood, missing))


def _exit_code(outcome: Outcome) -> int:
    """0 for a script that ended well, its own code for one that called exit(), and 1 for the others."""
    if outcome.status == "ok":
        return 0
    error = outcome.error
    own = error is not None and error.type == "SystemExit" and re.fullmatch(r"\d{1,3}", error.message)
    return int(own[0]) if own else 1


def _refusal_rule(message: str) -> str:
    """The rule that refused a script: the message without the names that are quoted from it."""
    return one_line(re.sub(r"'[^']*'|\"[^\"]*\"", "...", message), _ERROR_CHARS)
