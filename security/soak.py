"""Thousands of scripts, some of them attacks, several at once: does anything stay behind?

What is measured is this process, which keeps the sandbox, and everything below it: resident memory, descriptors,
processes, temporary files. The start is taken when the sandbox is warm, the end when the last script has ended and
the sandbox is as idle as it was.
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

from sandbox import Limits, Reply, Sandbox

from . import suite
from .suite import Attack

ATTACKS_PER_HUNDRED = 1
TOLERANCE = 0.05
_WARM_UP = 500
_LIMITS = Limits(wall_seconds=10.0)

_ROW = MappingProxyType({"id": "guide#1", "title": "Retries", "score": 0.5, "source": "guide.md"})

# What agents send, small and large, well and not so well; each with the status that it must end in.
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
    """What one process and those below it hold."""

    resident_bytes: int
    descriptors: int
    processes: int
    files: int

    @staticmethod
    def of_this_process(folder: Path) -> Footprint:
        """Now; ``files`` are those under ``folder``, where temporary files go."""
        gc.collect()
        here = psutil.Process()
        return Footprint(
            resident_bytes=here.memory_info().rss,
            descriptors=here.num_fds(),
            processes=len(here.children(recursive=True)),
            files=sum(1 for _ in folder.rglob("*")),
        )

    def returned_to(self, start: Footprint) -> bool:
        """Whether this is the start again, within the tolerance."""
        most = {name: value * (1 + TOLERANCE) for name, value in asdict(start).items()}
        return all(value <= most[name] for name, value in asdict(self).items())


@dataclass(frozen=True, slots=True)
class Soak:
    """What became of all of them."""

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
        """Nothing got through, nothing died that should not, nothing stayed behind."""
        return (
            not self.violations
            and not self.renewals.get("died")
            and self.after.returned_to(self.before)
            and not self.left_behind
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data; docs/operations.md shows it."""
        return {"ok": self.ok, **asdict(self), "per_second": round(self.executions / self.seconds, 1)}


async def _answer(method: str, params: Mapping[str, Any]) -> Reply:
    """A host of one row."""
    return Reply({"mode": "metadata", "count": 1, "results": [dict(_ROW)]}, rows=1, tokens=10)


class _Crowd:
    """The scripts still to run, and how those that ran have ended."""

    def __init__(self, sandbox: Sandbox, attacks: Sequence[Attack], on_execution: Callable[[], None]) -> None:
        self.endings: Counter[str] = Counter()
        self.violations: list[str] = []
        self.attacked = 0
        self._sandbox = sandbox
        self._scripts = itertools.cycle(SCRIPTS)
        self._attacks = itertools.cycle(attacks)
        self._on_execution = on_execution

    async def run(self, executions: int, at_once: int) -> None:
        """So many, several at once."""
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
    """Run them all. SandboxUnavailable where this host does not hold a script safely."""
    with tempfile.TemporaryDirectory(prefix="winnow-soak-") as folder:
        before_all = psutil.Process().children(recursive=True)
        usual = os.environ.get("TMPDIR"), tempfile.tempdir
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        try:
            async with Sandbox(limits=_LIMITS, workers=at_once, accept_missing=accept_missing) as sandbox:
                warm = _Crowd(sandbox, attacks, lambda: None)
                await warm.run(min(_WARM_UP, executions), at_once)
                crowd = _Crowd(sandbox, attacks, on_execution)
                before = await _at_rest(Path(folder))
                started = time.monotonic()
                await crowd.run(executions, at_once)
                seconds = time.monotonic() - started
                after = await _at_rest(Path(folder))
                renewals = dict(sandbox.renewals)
        finally:
            _restore(*usual)
        left = [each for each in psutil.Process().children(recursive=True) if each not in before_all]
    return Soak(
        executions=executions,
        attacks=crowd.attacked,
        at_once=at_once,
        seconds=seconds,
        endings=dict(crowd.endings),
        violations=(*warm.violations, *crowd.violations),
        renewals={str(why): count for why, count in renewals.items()},
        before=before,
        after=after,
        left_behind=len(left),
    )


async def _at_rest(folder: Path) -> Footprint:
    """When spares are back and the dead are buried."""
    await asyncio.sleep(1.0)
    return Footprint.of_this_process(folder)


def _restore(variable: str | None, folder: str | None) -> None:
    tempfile.tempdir = folder
    if variable is None:
        del os.environ["TMPDIR"]
    else:
        os.environ["TMPDIR"] = variable
