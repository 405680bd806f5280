"""Runs every attack on this machine in four modes, and judges the results.

    control   plain CPython without protection: the attack must succeed
    fence     the language's half of the sandbox alone
    walls     the kernel's half alone
    both      the sandbox as it is used

An attack on a surface outside the sandbox is tried in two modes: its control, and as "both" the product as it is
used. In every mode but the control, an attack must end in one of the ways that its first line names, and must not
achieve its goal. Anything else is a violation. Where a host refuses an attack to every process, as a container
refuses namespaces, its control is *unproven*: no violation, and no success. Where a host lacks walls without which
the product does not start what is attacked, a trial that ended for that reason is *not run*: no violation, and no
success either.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from types import MappingProxyType
from typing import Any

from winnow.sandbox import Outcome, Reply, Sandbox, probe
from winnow.sandbox.runners.availability import tier_name_of

from . import control, suite, surface
from .suite import Attack

CONTROL = "control"
UNPROVEN = "unproven"
NOT_RUN = "not run"
# Words of the errors with which the product refuses to start what is attacked, and what then was not there.
_REFUSALS: Mapping[str, str] = MappingProxyType(
    {
        "the walls around its reader are missing here (": "reader walls missing",
        "SandboxUnavailable: ": "sandbox not started",
        " does not stand here (": "walls of programs missing",
    }
)
MODES = (CONTROL, *suite.LAYERS)
AT_ONCE = 2  # with more, attacks on a small machine would time out because of each other
_CONTROL_SECONDS = 180.0  # long enough for a busy machine: a slow control would prove nothing


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of one attack in one mode. ``violation`` is the difference from the claim, "" where none is.

    ``not_run_for``: the part of the product that did not start here, for a trial that says nothing.
    """

    attack: str
    family: str
    mode: str
    ending: str
    violation: str
    not_run_for: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        told = asdict(self)
        if not self.not_run_for:
            del told["not_run_for"]
        return told


@dataclass(frozen=True, slots=True)
class Column:
    """One mode of one family: the number of attacks with a claim, and of those that ended as claimed."""

    claimed: int
    held: int
    violations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Family:
    """One family of attacks: a row of the table."""

    name: str
    attacks: int
    columns: Mapping[str, Column]

    def to_json(self) -> dict[str, Any]:
        """Plain data: the shape that docs/operations.md shows."""
        halves = {
            mode: {"claimed": self.columns[mode].claimed, "held": self.columns[mode].held}
            for mode in ("fence", "walls")
        }
        both = {"held": self.columns["both"].held, "violations": list(self.columns["both"].violations)}
        return {
            "family": self.name,
            "attacks": self.attacks,
            "control": self.columns[CONTROL].held,
            **halves,
            "both": both,
        }


@dataclass(frozen=True, slots=True)
class Audit:
    """The results of all attacks, or of those before an interruption: ``is_whole`` is False.

    ``missing`` are the walls that the host lacks, and that an operator accepted as missing; None where the
    interruption came before they were known.
    """

    trials: tuple[Trial, ...]
    seconds: float
    missing: tuple[str, ...] | None = ()
    is_whole: bool = True

    @property
    def tier(self) -> str:
        """The tier of the host's walls, "none" where too few stand for one, "unknown" before they were tried."""
        if self.missing is None:
            return "unknown"
        return tier_name_of(self.missing) or "none"

    def violations(self) -> list[Trial]:
        """The trials that did not end as claimed."""
        return [trial for trial in self.trials if trial.violation]

    def unproven(self) -> list[str]:
        """The attacks that this host itself refuses, so that they prove nothing here."""
        return [trial.attack for trial in self.trials if trial.ending == UNPROVEN]

    def not_run(self) -> Mapping[str, list[Trial]]:
        """The trials that say nothing, because what they attack did not start; by what did not start."""
        reasons = sorted({trial.not_run_for for trial in self.trials if trial.not_run_for})
        return {reason: [trial for trial in self.trials if trial.not_run_for == reason] for reason in reasons}

    @property
    def is_clean(self) -> bool:
        """Whether every trial could be run, and none is a violation."""
        return not self.violations() and not self.not_run()

    def families(self) -> list[Family]:
        """The rows of the table, by family name."""
        ordered = sorted(self.trials, key=lambda trial: trial.family)
        return [
            _build_family(name, list(trials)) for name, trials in groupby(ordered, key=lambda trial: trial.family)
        ]

    def totals(self) -> Mapping[str, Column]:
        """The columns over all families."""
        return _build_columns(self.trials)

    def to_json(self) -> dict[str, Any]:
        """Plain data: the shape that docs/operations.md shows."""
        return {
            "host": describe_host(),
            "tier": self.tier,
            "missing_walls": None if self.missing is None else list(self.missing),
            "complete": self.is_whole,
            "attacks": len({trial.attack for trial in self.trials}),
            "families": [family.to_json() for family in self.families()],
            "violations": [trial.to_json() for trial in self.violations()],
            "unproven": self.unproven(),
            "not_run": [trial.to_json() for trials in self.not_run().values() for trial in trials],
            "seconds": round(self.seconds, 1),
        }


def _build_family(name: str, trials: Sequence[Trial]) -> Family:
    return Family(name, len({trial.attack for trial in trials}), _build_columns(trials))


def _build_columns(trials: Sequence[Trial]) -> Mapping[str, Column]:
    return {mode: _build_column([trial for trial in trials if trial.mode == mode]) for mode in MODES}


def _build_column(trials: Sequence[Trial]) -> Column:
    violations = tuple(trial.attack for trial in trials if trial.violation)
    silent = sum(trial.ending in (UNPROVEN, NOT_RUN) for trial in trials)
    return Column(len(trials), len(trials) - len(violations) - silent, violations)


def describe_host() -> dict[str, Any]:
    """The machine that an audit's results apply to."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "root": hasattr(os, "geteuid") and os.geteuid() == 0,
    }


def claimed_modes(attack: Attack) -> tuple[str, ...]:
    """The modes for which this attack claims how it ends."""
    return tuple(mode for mode in MODES if mode == CONTROL or mode in attack.verdicts)


async def find_missing_walls(
    attacks: Sequence[Attack], modes: Sequence[str] = MODES, accept_missing: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """The walls that this machine lacks.

    SandboxUnavailable where attacks are scripts to run behind them, and ``accept_missing`` names neither exactly
    the missing ones nor their tier.
    """
    if any(attack.is_script for attack in attacks) and {"walls", "both"} & {*modes}:
        async with Sandbox(accept_missing=accept_missing, spares=0) as sandbox:
            walls = sandbox.walls
    else:
        walls = await probe()
    return tuple(wall.name for wall in walls if not wall.stands and not wall.reinforces)


async def run(
    attacks: Sequence[Attack],
    *,
    modes: Sequence[str] = MODES,
    accept_missing: tuple[str, ...] = (),
    missing: tuple[str, ...] | None = None,
    on_trial: Callable[[Trial], None] = lambda _: None,
) -> Audit:
    """Run all attacks, mode by mode, `AT_ONCE` at a time. Cancelling leaves nothing behind.

    ``missing``: what ``find_missing_walls`` found, where it was called. Raises as that does, before any attack.
    """
    started = time.monotonic()
    if missing is None:
        missing = await find_missing_walls(attacks, modes, accept_missing)
    trials: list[Trial] = []
    for mode in modes:
        claimed = [attack for attack in attacks if mode in claimed_modes(attack)]
        scripts = [attack for attack in claimed if attack.is_script]
        if scripts:
            async with _prepare_attempts(mode, accept_missing) as attempt:
                trials += await _run_several(attempt, scripts, on_trial)
        surface_attacks = [attack for attack in claimed if not attack.is_script]
        attempt_on_surface = _attempt_on_surface(mode, lacks_walls=bool(missing))
        trials += await _run_several(attempt_on_surface, surface_attacks, on_trial)
    return Audit(tuple(trials), time.monotonic() - started, missing)


Attempt = Callable[[Attack], Awaitable[Trial]]


async def _run_several(
    attempt: Attempt, attacks: Sequence[Attack], on_trial: Callable[[Trial], None]
) -> list[Trial]:
    places = asyncio.Semaphore(AT_ONCE)

    async def run_one(attack: Attack) -> Trial:
        async with places:
            trial = await attempt(attack)
        on_trial(trial)
        return trial

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(run_one(attack)) for attack in attacks]
    return [task.result() for task in tasks]


@contextlib.asynccontextmanager
async def _prepare_attempts(mode: str, accept_missing: tuple[str, ...]) -> AsyncIterator[Attempt]:
    """Prepare one mode for scripts: yields the function that runs an attack in it."""
    if mode == CONTROL:
        yield _run_on_plain_python
        return
    layers = suite.LAYERS[mode]
    async with Sandbox(
        layers=layers,
        limits=suite.LIMITS,
        workers=AT_ONCE,
        accept_missing=accept_missing if layers.walls else (),
    ) as sandbox:
        yield lambda attack: _run_in_sandbox(attack, mode, sandbox)


# --- one trial -------------------------------------------------------------------------------------------------


async def _run_in_sandbox(attack: Attack, mode: str, sandbox: Sandbox) -> Trial:
    outcome = await sandbox.run(attack.source, call=_answer, limits=attack.limits)
    return Trial(
        str(attack), attack.family, mode, outcome.status, _describe_violation(attack.verdicts[mode], outcome)
    )


def _describe_violation(verdict: tuple[str, ...], outcome: Outcome) -> str:
    if suite.has_breached(outcome):
        return f"it got through: what came back says {suite.BREACHED}"
    if outcome.status not in verdict:
        why = f" ({outcome.error.type}: {outcome.error.message})" if outcome.error else ""
        return f"it ended as {outcome.status}{why}, not as {' or '.join(verdict)}"
    return ""


async def _answer(method: str, params: Mapping[str, Any]) -> Reply:
    """Answer a call as an empty knowledge base."""
    return Reply({"count": 0, "results": []})


async def _run_on_plain_python(attack: Attack) -> Trial:
    """Run the positive control, in a temporary folder for its files."""
    with tempfile.TemporaryDirectory(prefix="winnow-audit-") as folder:
        succeeded = await _succeeds(attack.source, folder)
    if not succeeded and attack.host_may_refuse:
        return Trial(str(attack), attack.family, CONTROL, UNPROVEN, "")
    violation = "" if succeeded else "it does not succeed on plain Python, so it proves nothing"
    return Trial(str(attack), attack.family, CONTROL, "succeeded" if succeeded else "failed", violation)


async def _succeeds(source: str, folder: str) -> bool:
    output = await _run_program([control.__file__], source, folder, _CONTROL_SECONDS)
    return output is not None and suite.BREACHED.encode() in output[0]


async def _run_program(
    arguments: Sequence[str], source: str, folder: str, seconds: float
) -> tuple[bytes, bytes] | None:
    """Run a Python program with an attack as its input; returns its output and errors, None after a timeout."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-B", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
        env={**os.environ, "TMPDIR": folder},
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            return await process.communicate(source.encode("utf-8", "surrogatepass"))
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


# --- surfaces outside the sandbox ------------------------------------------------------------------------------


def _attempt_on_surface(mode: str, *, lacks_walls: bool) -> Attempt:
    """The function that runs one attack. Only a host that lacks walls may leave one not run."""
    judge = _judge_control if mode == CONTROL else _judge_product

    async def run_one(attack: Attack) -> Trial:
        ending, reason = await _call(attack, "control" if mode == CONTROL else "surface")
        trial = judge(attack, ending, reason)
        cause = find_refusal(reason) if lacks_walls and ending == "error" else ""
        return replace(trial, ending=NOT_RUN, violation="", not_run_for=cause) if cause else trial

    return run_one


def find_refusal(reason: str) -> str:
    """The part of the product that did not start for want of walls, by a trial's error; "" for other errors."""
    return next((what for words, what in _REFUSALS.items() if words in reason), "")


def _judge_control(attack: Attack, ending: str, reason: str) -> Trial:
    violation = "" if ending == _SUCCEEDED else f"its control does not succeed, so it proves nothing{reason}"
    return Trial(str(attack), attack.family, CONTROL, "succeeded" if not violation else "failed", violation)


def _judge_product(attack: Attack, ending: str, reason: str) -> Trial:
    violation = "" if ending in attack.verdicts["both"] else f"it ended as {ending}{reason}, not as {suite.HELD}"
    if ending == _SUCCEEDED:
        violation = "it got through"
    return Trial(str(attack), attack.family, "both", ending, violation)


_SUCCEEDED = "succeeded"


async def _call(attack: Attack, function: str) -> tuple[str, str]:
    """Call one function of the attack; returns its ending, and the error where it failed."""
    with tempfile.TemporaryDirectory(prefix="winnow-audit-", ignore_cleanup_errors=True) as folder:
        output = await _run_program([surface.__file__, function], attack.source, folder, attack.seconds)
    if output is None:
        return "timeout", ""
    verdict = output[0].splitlines()[-1:]
    if verdict == [surface.BREACHED.encode()]:
        return _SUCCEEDED, ""
    if verdict == [surface.HELD.encode()]:
        return suite.HELD, ""
    last_line = output[1].decode(errors="replace").strip().rpartition("\n")[2]
    return "error", f" ({last_line[:500]})"
