"""Agents' scripts, run over the knowledge base: the sandbox on one side, ``KnowledgeBase.call`` on the other.

Each run has its own meter. A script cannot widen its scope (its calls pass the same validation as direct ones)
and cannot take more rows than one run may: what it reads beyond that would be a bulk copy, not a question.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from sandbox import CallError, Limits, Outcome, Reply, Sandbox, SandboxUnavailable, Usage
from server.contracts.base import Tier
from server.errors import WinnowError
from server.knowledge import SCRIPT, Caller, Knowledge
from server.settings import Settings
from server.tokens import count_tokens

KIB = 1024


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one run may take: rows by their purse, and the limits of the sandbox."""

    rows: Mapping[str, int]
    limits: Limits


# ids and metadata share one purse: both only name things. What an operator chooses by the setting ``limits``.
ALLOWANCES: Mapping[str, Allowance] = MappingProxyType(
    {
        "standard": Allowance({"ids or metadata rows": 2_000, "previews": 200, "full documents": 50}, Limits()),
        "strict": Allowance(
            {"ids or metadata rows": 100, "previews": 50, "full documents": 5},
            Limits(sdk_calls=10, result_bytes=10 * KIB, result_tokens=2_500, stdout_tail_bytes=2 * KIB),
        ),
    }
)
_PURSES: Mapping[Tier, str] = MappingProxyType(
    {
        "ids_only": "ids or metadata rows",
        "metadata": "ids or metadata rows",
        "preview": "previews",
        "quotes": "previews",
        "excerpt": "full documents",
        "full": "full documents",
    }
)

LONGEST_SECONDS = 60.0

Progress = Callable[[Usage], Awaitable[None]]


@dataclass(slots=True)
class _Meter:
    """What one run may still take, and the way to the knowledge base."""

    kb: Knowledge
    caller: Caller
    allowed: Mapping[str, int]
    left: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.left = dict(self.allowed)

    async def call(self, method: str, params: Mapping[str, Any]) -> Reply:
        """Answer one SDK call.

        Raises:
            CallError: what the script sees instead of an answer.
        """
        try:
            answer = await self.kb.call(method, params, self.caller)
        except WinnowError as error:
            raise CallError(error.reason, error.message) from None
        purse = _PURSES[answer.tier]
        if answer.rows > self.left[purse]:
            raise CallError(
                "SDK_ROWS",
                f"one run may take {self.allowed[purse]:,} {purse}; {self.left[purse]:,} are left and this call "
                f"would take {answer.rows:,}",
                hint="rank and filter on metadata rows first; fetch previews or full text of the few that matter",
                limit=True,
            )
        self.left[purse] -= answer.rows
        value = {**answer.payload, "warnings": list(answer.warnings)} if answer.warnings else answer.payload
        return Reply(value, rows=answer.rows, tokens=answer.tokens)


class Scripts:
    """Runs scripts for as long as the server lives.

    ``available`` is False where the sandbox could not be raised; ``why_not`` then says which wall is missing
    and what to do.
    """

    def __init__(self, kb: Knowledge, settings: Settings) -> None:
        self._kb = kb
        self._settings = settings
        # One CPU and one memory limit for all scripts: children are kept ready with these.
        self._allowance = ALLOWANCES[settings.limits]
        self._limits = replace(
            self._allowance.limits, wall_seconds=LONGEST_SECONDS, memory_bytes=settings.memory_bytes
        )
        self._sandbox: Sandbox | None = None
        self.why_not = "the sandbox has not been started"

    @property
    def available(self) -> bool:
        """Whether scripts can run here."""
        return self._sandbox is not None

    async def start(self) -> None:
        """Raise the sandbox; on failure ``available`` stays False and ``why_not`` says why."""
        if self._settings.execute_code == "off":
            self.why_not = "execute_code is switched off (setting execute_code)"
            return
        sandbox = Sandbox(
            limits=self._limits,
            engine=self._settings.sandbox,
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
        self, code: str, *, client: str = "", timeout: float | None = None, progress: Progress | None = None
    ) -> Outcome:
        """Run one script to its verdict; never raises for anything the script does.

        Raises:
            WinnowError: SANDBOX_UNAVAILABLE where no sandbox stands.
        """
        if self._sandbox is None:
            raise WinnowError("SANDBOX_UNAVAILABLE", f"{self.why_not}; run `winnow doctor`")
        seconds = self._settings.wall_seconds if timeout is None else float(timeout)
        # The session of whoever sent the script: what it found can be read on directly.
        caller = Caller(client, SCRIPT, run=secrets.token_hex(8))
        return await self._sandbox.run(
            code,
            client=client,
            call=_Meter(self._kb, caller, self._allowance.rows).call,
            limits=replace(self._limits, wall_seconds=seconds),
            count_tokens=count_tokens,
            on_progress=progress,
        )

    async def close(self) -> None:
        """Take the sandbox down, with everything that runs in it."""
        if self._sandbox is not None:
            await self._sandbox.close()
            self._sandbox = None
