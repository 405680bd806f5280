"""The sandbox object: runs scripts in locked children and trusts nothing that they send.

Theory of operation. There is one runner at a time, usually a fork server (child/zygote.py); some of its children,
locked and idle, are kept ready as spares. A script takes a worker's place, then a spare, which serves it alone:
the child is killed when the script has ended, however it ended. The parent keeps the wall clock, which runs from
the moment the script takes its place. The runner is replaced after ``_SCRIPTS_PER_RUNNER`` scripts, and at once
after a child died of a fault or of the kernel's filter, because all children of a fork server share one memory
layout. ``renewals`` counts the replacements.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Coroutine, Mapping
from dataclasses import asdict, replace
from types import TracebackType
from typing import Any, Literal

from winnow.sandbox.protocol import sandbox_outcomes
from winnow.sandbox.protocol.limits import Layers, Limits
from winnow.sandbox.protocol.outcome import (
    CountTokens,
    HostCall,
    Left,
    Outcome,
    SandboxUnavailable,
    WallReport,
    Walls,
)
from winnow.sandbox.runners import runner_table
from winnow.sandbox.runners.runner import Runner, RunnerChild
from winnow.sandbox.walls.namespace_refusals import advise_on_namespaces, read_host_facts
from winnow.sandbox.walls.tiers import NAMESPACE_WALLS, describe_mismatch, is_accepted

from .execution import CallHandler, Execution
from .progress import OnUsage
from .queue import ScriptQueue, ScriptQueueFull

log = logging.getLogger("sandbox")

_SCRIPTS_PER_RUNNER = 1_000

# Why a runner was replaced: after so many scripts, after a child's fault, or because it died.
Renewal = Literal["used up", "fault", "died"]


class Sandbox:
    """Runs scripts, each in a process of its own behind the kernel's walls.

    ``limits``: the largest that any script gets. ``workers``: scripts at once. ``queue``: how many may wait for a
    worker, and ``queue_seconds`` how long. ``spares``: idle children kept ready. ``accept_missing``: the exact
    names of the walls that this host lacks and an operator accepts as missing, or the name of a tier
    (sandbox/walls/tiers.py); never seccomp. ``runner``: the name
    of what runs the scripts, in runners/runner_table.py.
    """

    def __init__(
        self,
        *,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        accept_missing: tuple[str, ...] = (),
        workers: int = 2,
        queue: int = 50,
        queue_seconds: float = 60.0,
        spares: int = 2,
        runner: str = "auto",
        layers: Layers = Layers(),  # noqa: B008 - frozen
    ) -> None:
        self._runner_name = runner
        self._limits = limits
        self._accept_missing = frozenset(accept_missing)
        self._layers = layers
        self._queue = ScriptQueue(workers, queue, queue_seconds)
        self._spare_count = spares
        self._child_count = workers + spares
        self._runner: Runner | None = None
        self._starting = asyncio.Lock()
        self._is_closed = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._walls: tuple[WallReport, ...] = ()
        self.renewals: Counter[Renewal] = Counter()

    @property
    def queue(self) -> tuple[int, int]:
        """The number of scripts that run now, and of those that wait for a worker."""
        return self._queue.running, self._queue.waiting

    @property
    def walls(self) -> tuple[WallReport, ...]:
        """Every wall with the result of its self-test; empty before `start`."""
        return self._walls

    async def start(self) -> None:
        """Start the runner and test every wall. SandboxUnavailable when this host is not safe enough."""
        await self._current_runner()

    async def close(self) -> None:
        """Kill running scripts and end the runner. Nothing is left behind."""
        self._is_closed = True
        for task in list(self._tasks):
            task.cancel()
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def __aenter__(self) -> Sandbox:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def run(
        self,
        code: str,
        *,
        client: str = "",
        call: HostCall | None = None,
        limits: Limits | None = None,
        count_tokens: CountTokens | None = None,
        on_progress: OnUsage | None = None,
        left: Left | None = None,
        skills: Mapping[str, Any] | None = None,
    ) -> Outcome:
        """Run one script and return its outcome; nothing that the script does raises here.

        ``client``: the owner of the script; clients take turns at the workers. ``call`` answers its SDK calls.
        ``limits`` are lowered to the sandbox's own where they exceed them. ``on_progress`` gets the usage and the
        script's latest message about once a second. ``left`` returns the rest of the host's budgets, for a script
        that asks. ``skills``: what it may import from ``skills`` (child/modules/skills.py). Cancelling this call
        kills the script.
        """
        bounds = self._limits if limits is None else _lower_limits(limits, self._limits)
        size = len(code.encode("utf-8", "surrogatepass"))
        if size > bounds.source_bytes:
            return self._with_walls(sandbox_outcomes.source_too_large(size, bounds.source_bytes))
        try:
            await self._queue.enter(client)
        except ScriptQueueFull as full:
            return self._with_walls(sandbox_outcomes.queue_full(full.waiting, full.room, full.retry_after_s))
        started = time.monotonic()
        try:
            outcome = await self._run(
                code, bounds, CallHandler(call, bounds, started, left), count_tokens, on_progress, skills
            )
            # Closing kills the children; the script was not at fault.
            is_given_up = self._is_closed and outcome.status in ("crashed", "unavailable")
            return (
                self._with_walls(replace(sandbox_outcomes.closing(), usage=outcome.usage))
                if is_given_up
                else outcome
            )
        finally:
            self._queue.end_turn(client, time.monotonic() - started)

    async def _run(
        self,
        code: str,
        limits: Limits,
        host: CallHandler,
        count_tokens: CountTokens | None,
        on_progress: OnUsage | None,
        skills: Mapping[str, Any] | None,
    ) -> Outcome:
        started = time.monotonic()
        deadline = asyncio.get_running_loop().time() + limits.wall_seconds
        while True:
            try:
                runner, child = await self._take_child(limits)
            except SandboxUnavailable as error:
                return self._with_walls(sandbox_outcomes.unavailable(str(error)))
            execution = Execution(child, limits, host, started, skills)
            try:
                outcome = await execution.complete(code, deadline, count_tokens, on_progress)
            finally:
                child.kill()
                self._after_script(runner)
            # A fork server that dies takes its children with it. The script did not cause that and has not called
            # anything yet: it starts over with the next runner, within the same wall clock.
            if outcome.status != "crashed" or not runner.is_gone or host.calls:
                return self._with_walls(outcome)

    def _with_walls(self, outcome: Outcome) -> Outcome:
        stood = tuple(wall.name for wall in self._walls if wall.stands)
        missing = tuple(wall.name for wall in self._walls if not wall.stands and not wall.reinforces)
        return replace(outcome, walls=Walls(stood, missing))

    # --- children and their runner ---

    async def _take_child(self, limits: Limits) -> tuple[Runner, RunnerChild]:
        """Take a locked child: a spare where the limits that the kernel keeps are the default ones."""
        runner = await self._current_runner()
        defaults = (self._limits.memory_bytes, self._limits.cpu_seconds)
        if (limits.memory_bytes, limits.cpu_seconds) == defaults and runner.spares:
            return runner, runner.spares.popleft()
        try:
            return runner, await runner.spawn(limits)
        except SandboxUnavailable:
            if not runner.is_gone:
                raise
        runner = await self._current_runner()  # the first one had died unnoticed; this is another one
        return runner, await runner.spawn(limits)

    def _after_script(self, runner: Runner) -> None:
        """Refill the spares; replace a runner that is used up."""
        runner.scripts_served += 1
        if self._is_closed or runner is not self._runner:
            return
        self._spawn_task(self._refill(runner))
        if runner.scripts_served % _SCRIPTS_PER_RUNNER == 0:
            self._spawn_task(self._replace(runner))

    async def _replace(self, runner: Runner) -> None:
        """Replace a runner that is used up, when the next one is ready."""
        try:
            successor = await self._start_runner()
        except SandboxUnavailable as error:
            log.warning("the runner stays in use, because no other could be started: %s", error)
            return
        if self._is_closed or runner is not self._runner:  # it was closed or replaced meanwhile
            await successor.close()
            return
        self._runner = successor
        self.renewals["used up"] += 1
        self._spawn_task(runner.close_when_idle())
        await self._refill(successor)

    def _retire(self, runner: Runner) -> None:
        """Stop using a runner whose memory layout a script may know, and start the next one in the background."""
        if runner is self._runner:
            self._runner = None
            self.renewals["fault"] += 1
            self._spawn_task(runner.close_when_idle())
            self._spawn_task(self._prepare_runner())

    async def _prepare_runner(self) -> None:
        with contextlib.suppress(SandboxUnavailable):  # the next script gets the error
            await self._current_runner()

    def _spawn_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _refill(self, runner: Runner) -> None:
        while len(runner.spares) + runner.starting < self._spare_count and runner is self._runner:
            runner.starting += 1
            try:
                spare = await runner.spawn(self._limits)
            except SandboxUnavailable:
                return
            finally:
                runner.starting -= 1
            if runner is self._runner and not runner.is_gone:
                runner.spares.append(spare)
            else:  # the runner was replaced meanwhile, or died; no script takes its spares any more
                spare.kill()

    async def _current_runner(self) -> Runner:
        """The runner in use; started where there is none, or where it died."""
        async with self._starting:
            if self._is_closed:
                raise SandboxUnavailable("the sandbox is closed")
            if self._runner is None or self._runner.is_gone:
                if self._runner is not None:
                    self.renewals["died"] += 1
                    await self._runner.close()
                self._runner = None
                self._runner = await self._start_runner()
                await self._refill(self._runner)
            return self._runner

    async def _start_runner(self) -> Runner:
        runner = await runner_table.start_runner(self._runner_name, self._limits, self._layers, self._child_count)
        try:
            self._walls = runner.walls
            if self._layers.walls:
                _check_walls(runner, self._accept_missing)
        except SandboxUnavailable:
            await runner.close()
            raise
        runner.on_fault = self._retire
        return runner


def _lower_limits(limits: Limits, ceiling: Limits) -> Limits:
    bounds = asdict(ceiling)
    return Limits(**{name: min(value, bounds[name]) for name, value in asdict(limits).items()})


def _check_walls(runner: Runner, accepted: frozenset[str]) -> None:
    """Fail closed: every wall stands, or an operator has named those that do not, or a tier without them."""
    missing = tuple(wall for wall in runner.walls if not wall.stands and not wall.reinforces)
    names = frozenset(wall.name for wall in missing)
    reasons = _describe_missing(missing)
    if mandatory := names & runner_table.MANDATORY_WALLS:
        raise SandboxUnavailable(f"no sandbox without {', '.join(mandatory)} ({reasons})")
    if runner.breaches:
        raise SandboxUnavailable(f"behind all walls this still works: {', '.join(runner.breaches)}")
    if is_accepted(names, accepted):
        return
    if accepted:
        raise SandboxUnavailable(describe_mismatch(names, accepted), tuple(sorted(names)))
    raise SandboxUnavailable(f"not every wall stands ({reasons})", tuple(sorted(names)))


def _describe_missing(missing: tuple[WallReport, ...]) -> str:
    """The walls that do not stand and why: each advice once, and below it each observation once."""
    is_namespace = any(wall.name in NAMESPACE_WALLS for wall in missing)
    granting = advise_on_namespaces(read_host_facts()) if is_namespace else ""
    by_advice: dict[str, dict[str, list[str]]] = {}
    for wall in missing:
        advice = granting if granting and wall.name in NAMESPACE_WALLS else wall.advice
        by_advice.setdefault(advice, {}).setdefault(wall.detail, []).append(wall.name)
    return ". ".join(f"{_name_walls(walls)}. To do: {advice}" for advice, walls in by_advice.items())


def _name_walls(by_detail: Mapping[str, list[str]]) -> str:
    return "; ".join(f"{', '.join(names)}: {detail}" for detail, names in by_detail.items())


async def probe(runner: str = "auto") -> tuple[WallReport, ...]:
    """Test every wall of this host, for ``winnow doctor``. Never raises for a wall that does not stand."""
    try:
        started = await runner_table.start_runner(runner, Limits(), Layers(), children=1)
    except SandboxUnavailable as error:
        return runner_table.failed_start_reports(runner, str(error))
    await started.close()
    return started.walls
