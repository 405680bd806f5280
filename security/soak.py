"""The soak test: runs thousands of scripts, some of them attacks, and checks that nothing stays behind.

It measures this process, which holds the sandbox, and everything below it: resident memory, descriptors,
processes, temporary files. The first measurement is taken when the sandbox is warm, the second when the last
script has ended and the sandbox is idle again.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psutil

from winnow.sandbox import Limits, Reply, Sandbox

from . import suite
from .suite import Attack

ATTACKS_PER_HUNDRED = 1
TOLERANCE = 0.05
_WARM_UP = 500
_LIMITS = Limits(wall_seconds=10.0)

_ROW = MappingProxyType({"id": "guide#1", "title": "Retries", "score": 0.5, "source": "guide.md"})

# Scripts as agents send them, small and large, correct and not; each with the statuses it may end in.
SCRIPTS: Sequence[tuple[str, str]] = (
    ("1 + 1", "ok"),
    ("return [row.title for row in semantic_search('retries', top_k=5)]", "ok"),
    ("print('x' * 2000)\nreturn {'rows': [[i, str(i)] for i in range(200)]}", "ok"),
    ("import re, json\nreturn json.dumps(re.findall('[a-z]+', 'the quick brown fox ' * 500))[:100]", "ok"),
    ("total = 0\nfor row in search_many(['a', 'b', 'c']):\n    total += len(row)\nreturn total", "ok"),
    ("rows = [bytes(1000) for _ in range(2000)]\nreturn len(rows)", "ok"),
    ("return undefined_name", "error/rejected"),
    ("import os", "rejected"),
    ("raise ValueError('no')", "error"),
    ("return [1, [2, [3", "rejected"),
)


@dataclass(frozen=True, slots=True)
class Footprint:
    """The resources that one process and its descendants hold."""

    resident_bytes: int
    descriptors: int
    processes: int
    files: int

    @staticmethod
    def of_this_process(folder: Path) -> Footprint:
        """Measure this process now; ``files`` counts those under ``folder``, where temporary files go."""
        gc.collect()
        here = psutil.Process()
        return Footprint(
            resident_bytes=here.memory_info().rss,
            descriptors=here.num_fds(),
            processes=len(here.children(recursive=True)),
            files=sum(1 for _ in folder.rglob("*")),
        )

    def is_back_at(self, start: Footprint) -> bool:
        """Whether this is at most ``start``, within the tolerance."""
        most = {name: value * (1 + TOLERANCE) for name, value in asdict(start).items()}
        return all(value <= most[name] for name, value in asdict(self).items())


@dataclass(frozen=True, slots=True)
class Soak:
    """The result of a soak test."""

    executions: int
    attacks: int
    at_once: int
    seconds: float
    endings: Mapping[str, int]
    violations: tuple[str, ...]
    renewals: Mapping[str, int]
    before: Footprint
    after: Footprint
    left_behind: int  # processes that outlived the sandbox

    @property
    def ok(self) -> bool:
        """Whether no attack succeeded, no runner died, and nothing stayed behind."""
        return (
            not self.violations
            and not self.renewals.get("died")
            and self.after.is_back_at(self.before)
            and not self.left_behind
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data; docs/operations.md shows it."""
        return {"ok": self.ok, **asdict(self), "per_second": round(self.executions / self.seconds, 1)}


async def _answer(method: str, params: Mapping[str, Any]) -> Reply:
    """Answer a call as a knowledge base with one row."""
    return Reply({"mode": "metadata", "count": 1, "results": [dict(_ROW)]}, rows=1, tokens=10)


class _ScriptRuns:
    """Runs scripts and attacks in turn, and counts how they end."""

    def __init__(self, sandbox: Sandbox, attacks: Sequence[Attack], on_execution: Callable[[], None]) -> None:
        self.endings: Counter[str] = Counter()
        self.violations: list[str] = []
        self.attacked = 0
        self._sandbox = sandbox
        self._scripts = itertools.cycle(SCRIPTS)
        self._attacks = itertools.cycle(attacks)
        self._on_execution = on_execution

    async def run(self, executions: int, at_once: int) -> None:
        """Run so many scripts, several at once."""
        numbers = iter(range(executions))

        async def worker() -> None:
            for number in numbers:
                await (self._attack() if number % 100 < ATTACKS_PER_HUNDRED else self._work())
                self._on_execution()

        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(worker())

    async def _work(self) -> None:
        source, statuses = next(self._scripts)
        outcome = await self._sandbox.run(source, call=_answer)
        self.endings[outcome.status] += 1
        if outcome.status not in statuses.split("/"):
            self.violations.append(f"{source!r} ended as {outcome.status}: {outcome.error}")

    async def _attack(self) -> None:
        attack = next(self._attacks)
        outcome = await self._sandbox.run(attack.source, call=_answer, limits=attack.limits)
        self.attacked += 1
        self.endings[outcome.status] += 1
        if suite.has_breached(outcome) or outcome.status not in attack.verdicts["both"]:
            self.violations.append(f"{attack} ended as {outcome.status}")


async def run(
    attacks: Sequence[Attack],
    executions: int,
    *,
    at_once: int = 8,
    accept_missing: tuple[str, ...] = (),
    on_execution: Callable[[], None] = lambda: None,
) -> Soak:
    """Run the soak test. SandboxUnavailable where this machine cannot run scripts safely."""
    with tempfile.TemporaryDirectory(prefix="winnow-soak-") as folder:
        before_all = psutil.Process().children(recursive=True)
        saved = os.environ.get("TMPDIR"), tempfile.tempdir
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        try:
            async with Sandbox(limits=_LIMITS, workers=at_once, accept_missing=accept_missing) as sandbox:
                warm_up = _ScriptRuns(sandbox, attacks, lambda: None)
                await warm_up.run(min(_WARM_UP, executions), at_once)
                runs = _ScriptRuns(sandbox, attacks, on_execution)
                before = await _measure_at_rest(Path(folder))
                started = time.monotonic()
                await runs.run(executions, at_once)
                seconds = time.monotonic() - started
                after = await _measure_at_rest(Path(folder))
                renewals = dict(sandbox.renewals)
        finally:
            _restore_temp_folder(*saved)
        left = [process for process in psutil.Process().children(recursive=True) if process not in before_all]
    return Soak(
        executions=executions,
        attacks=runs.attacked,
        at_once=at_once,
        seconds=seconds,
        endings=dict(runs.endings),
        violations=(*warm_up.violations, *runs.violations),
        renewals={str(why): count for why, count in renewals.items()},
        before=before,
        after=after,
        left_behind=len(left),
    )


async def _measure_at_rest(folder: Path) -> Footprint:
    """Measure when the spares are refilled and dead children are reaped."""
    await asyncio.sleep(1.0)
    return Footprint.of_this_process(folder)


def _restore_temp_folder(variable: str | None, folder: str | None) -> None:
    tempfile.tempdir = folder
    if variable is None:
        del os.environ["TMPDIR"]
    else:
        os.environ["TMPDIR"] = variable
