"""Runs every attack on this host in four modes, and judges what became of it.

    control   plain CPython, nothing in the way: the attack must succeed
    fence     the language's half of the sandbox alone
    walls     the kernel's half alone
    both      the sandbox as it is used

An attack on a surface outside the sandbox is tried in two of them: its control, and under "both" the product as it
is used. In each but the first, an attack must end in one of the ways its first line names, and must not have got
what it wanted. Whatever does otherwise is a violation.
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
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from sandbox import Outcome, Reply, Sandbox

from . import control, suite, surface
from .suite import Attack

CONTROL = "control"
MODES = (CONTROL, *suite.LAYERS)
AT_ONCE = 2  # more would make one attack's time the next one's timeout on a small machine
_CONTROL_SECONDS = 180.0  # on a busy machine: what is slow is no proof


@dataclass(frozen=True, slots=True)
class Trial:
    """One attack in one mode. ``violation`` says what went wrong, "" where it went as claimed."""

    attack: str
    family: str
    mode: str
    ending: str
    violation: str

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Column:
    """One mode of one family: how many attacks it claims, and how many of them went as claimed."""

    claimed: int
    held: int
    violations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Family:
    """One row of the table."""

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
    """What became of all of them."""

    trials: tuple[Trial, ...]
    seconds: float

    def violations(self) -> list[Trial]:
        """What did not go as claimed."""
        return [trial for trial in self.trials if trial.violation]

    def families(self) -> list[Family]:
        """The table, by name of family."""
        ordered = sorted(self.trials, key=lambda trial: trial.family)
        return [_family(name, list(trials)) for name, trials in groupby(ordered, key=lambda trial: trial.family)]

    def totals(self) -> Mapping[str, Column]:
        """The columns over all families."""
        return _columns(self.trials)

    def to_json(self) -> dict[str, Any]:
        """Plain data: the shape that docs/operations.md shows."""
        return {
            "host": describe_host(),
            "attacks": len({trial.attack for trial in self.trials}),
            "families": [family.to_json() for family in self.families()],
            "violations": [trial.to_json() for trial in self.violations()],
            "seconds": round(self.seconds, 1),
        }


def _family(name: str, trials: Sequence[Trial]) -> Family:
    return Family(name, len({trial.attack for trial in trials}), _columns(trials))


def _columns(trials: Sequence[Trial]) -> Mapping[str, Column]:
    return {mode: _column([trial for trial in trials if trial.mode == mode]) for mode in MODES}


def _column(trials: Sequence[Trial]) -> Column:
    violations = tuple(trial.attack for trial in trials if trial.violation)
    return Column(len(trials), len(trials) - len(violations), violations)


def describe_host() -> dict[str, Any]:
    """What an audit's verdicts are true of."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "root": hasattr(os, "geteuid") and os.geteuid() == 0,
    }


def claimed_modes(attack: Attack) -> tuple[str, ...]:
    """The modes that say how this attack must end."""
    return tuple(mode for mode in MODES if mode == CONTROL or mode in attack.verdicts)


async def run(
    attacks: Sequence[Attack],
    *,
    modes: Sequence[str] = MODES,
    accept_missing: tuple[str, ...] = (),
    on_trial: Callable[[Trial], None] = lambda _: None,
) -> Audit:
    """Try them all, mode after mode, `AT_ONCE` at a time. Cancelling leaves nothing behind.

    SandboxUnavailable where a wall of this host does not stand and ``accept_missing`` does not name exactly those.
    """
    started = time.monotonic()
    found: list[Trial] = []
    for mode in modes:
        asked = [attack for attack in attacks if mode in claimed_modes(attack)]
        scripts = [attack for attack in asked if attack.is_script]
        if scripts:
            async with _ground(mode, accept_missing) as attempt:
                found += await _several(attempt, scripts, on_trial)
        found += await _several(_on_surface(mode), [attack for attack in asked if not attack.is_script], on_trial)
    return Audit(tuple(found), time.monotonic() - started)


Attempt = Callable[[Attack], Awaitable[Trial]]


async def _several(attempt: Attempt, attacks: Sequence[Attack], on_trial: Callable[[Trial], None]) -> list[Trial]:
    places = asyncio.Semaphore(AT_ONCE)

    async def one(attack: Attack) -> Trial:
        async with places:
            trial = await attempt(attack)
        on_trial(trial)
        return trial

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(attack)) for attack in attacks]
    return [task.result() for task in tasks]


@contextlib.asynccontextmanager
async def _ground(mode: str, accept_missing: tuple[str, ...]) -> AsyncIterator[Attempt]:
    """What attacks are tried on in one mode."""
    if mode == CONTROL:
        yield _on_plain_python
        return
    layers = suite.LAYERS[mode]
    async with Sandbox(
        layers=layers,
        limits=suite.LIMITS,
        workers=AT_ONCE,
        accept_missing=accept_missing if layers.walls else (),
    ) as sandbox:
        yield lambda attack: _in_sandbox(attack, mode, sandbox)


# --- one trial -------------------------------------------------------------------------------------------------


async def _in_sandbox(attack: Attack, mode: str, sandbox: Sandbox) -> Trial:
    outcome = await sandbox.run(attack.source, call=_answer, limits=attack.limits)
    return Trial(str(attack), attack.family, mode, outcome.status, _violation(attack.verdicts[mode], outcome))


def _violation(verdict: tuple[str, ...], outcome: Outcome) -> str:
    if suite.has_breached(outcome):
        return f"it got through: what came back says {suite.BREACHED}"
    if outcome.status not in verdict:
        why = f" ({outcome.error.type}: {outcome.error.message})" if outcome.error else ""
        return f"it ended as {outcome.status}{why}, not as {' or '.join(verdict)}"
    return ""


async def _answer(method: str, params: Mapping[str, Any]) -> Reply:
    """A host with nothing in it."""
    return Reply({"count": 0, "results": []})


async def _on_plain_python(attack: Attack) -> Trial:
    """The positive control, in a folder for whatever it writes."""
    with tempfile.TemporaryDirectory(prefix="winnow-audit-") as folder:
        succeeded = await _succeeds(attack.source, folder)
    violation = "" if succeeded else "it does not succeed on plain Python, so it proves nothing"
    return Trial(str(attack), attack.family, CONTROL, "succeeded" if succeeded else "failed", violation)


async def _succeeds(source: str, folder: str) -> bool:
    said = await _said([control.__file__], source, folder, _CONTROL_SECONDS)
    return said is not None and suite.BREACHED.encode() in said[0]


async def _said(arguments: Sequence[str], source: str, folder: str, seconds: float) -> tuple[bytes, bytes] | None:
    """What a program of ours prints about an attack; None where it was not done in time."""
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


def _on_surface(mode: str) -> Attempt:
    return _control_of_surface if mode == CONTROL else _on_product


async def _control_of_surface(attack: Attack) -> Trial:
    ending, _ = await _call(attack, "control")
    violation = "" if ending == _SUCCEEDED else "its control does not succeed, so it proves nothing"
    return Trial(str(attack), attack.family, CONTROL, "succeeded" if not violation else "failed", violation)


async def _on_product(attack: Attack) -> Trial:
    ending, why = await _call(attack, "surface")
    violation = "" if ending in attack.verdicts["both"] else f"it ended as {ending}{why}, not as {suite.HELD}"
    if ending == _SUCCEEDED:
        violation = "it got through"
    return Trial(str(attack), attack.family, "both", ending, violation)


_SUCCEEDED = "succeeded"


async def _call(attack: Attack, function: str) -> tuple[str, str]:
    """How one of its functions ended, and what it said where it failed."""
    with tempfile.TemporaryDirectory(prefix="winnow-audit-", ignore_cleanup_errors=True) as folder:
        said = await _said([surface.__file__, function], attack.source, folder, attack.seconds)
    if said is None:
        return "timeout", ""
    verdict = said[0].splitlines()[-1:]
    if verdict == [surface.BREACHED.encode()]:
        return _SUCCEEDED, ""
    if verdict == [surface.HELD.encode()]:
        return suite.HELD, ""
    last_line = said[1].decode(errors="replace").strip().rpartition("\n")[2]
    return "error", f" ({last_line[:500]})"
