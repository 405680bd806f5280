"""The keeper: runs scripts in locked children and trusts nothing that comes back.

Theory of operation. One fork server (zygote.py) at a time; some children of it, locked and idle, are kept ready
as spares. A script takes a worker's place, then a spare, which serves it alone and dies: it is killed when the
script has ended, however it ended. The wall clock is ours and covers everything from the moment the worker takes
the script. The fork server is replaced after so many scripts, and at once after a child died of a fault or of
the kernel's filter, because all its children share one layout of memory. ``renewals`` counts these.
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

from sandbox.protocol import verdicts
from sandbox.protocol.limits import Layers, Limits
from sandbox.protocol.outcome import CountTokens, HostCall, Left, Outcome, SandboxUnavailable, WallReport, Walls
from sandbox.runners import runner_table
from sandbox.runners.runner_table import Runner, RunnerChild

from .execution import CallHandler, Execution
from .progress import Progress
from .queue import ScriptQueue, ScriptQueueFull

log = logging.getLogger("sandbox")

_SCRIPTS_PER_SERVER = 1_000

# Why a fork server was replaced: after so many scripts, after a child died of what it did, or because it died.
Renewal = Literal["used up", "fault", "died"]


class Sandbox:
    """Runs scripts, each in a process of its own behind the kernel's walls.

    ``limits``: the largest any script gets. ``workers``: scripts at once. ``queue``: how many may wait for a
    worker, and ``queue_seconds`` how long. ``spares``: idle children kept ready. ``accept_missing``: the exact
    names of walls that this host lacks and that an operator goes without; seccomp is never among them.
    ``engine``: what scripts run on, by its name in engines.py.
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
        engine: str = "auto",
        layers: Layers = Layers(),  # noqa: B008 - frozen
    ) -> None:
        self._engine = engine
        self._limits = limits
        self._accept_missing = frozenset(accept_missing)
        self._layers = layers
        self._places = ScriptQueue(workers, queue, queue_seconds)
        self._spares = spares
        self._children = workers + spares
        self._server: Runner | None = None
        self._starting = asyncio.Lock()
        self._closed = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._walls: tuple[WallReport, ...] = ()
        self.renewals: Counter[Renewal] = Counter()

    @property
    def queue(self) -> tuple[int, int]:
        """How many scripts run now, and how many wait for a worker."""
        return self._places.running, self._places.waiting

    @property
    def walls(self) -> tuple[WallReport, ...]:
        """Every wall and how its self-test went; empty before `start`."""
        return self._walls

    async def start(self) -> None:
        """Start the fork server and test every wall. SandboxUnavailable when this host is not safe enough."""
        await self._current()

    async def close(self) -> None:
        """Kill what runs and end the fork server. Nothing is left behind."""
        self._closed = True
        for task in list(self._tasks):
            task.cancel()
        server, self._server = self._server, None
        if server is not None:
            await server.close()
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
        on_progress: Progress | None = None,
        left: Left | None = None,
        skills: Mapping[str, Any] | None = None,
    ) -> Outcome:
        """Run one script and tell how it went; nothing the script does raises here.

        ``client``: whose script it is; clients take turns at the workers. ``call`` answers its SDK calls.
        ``limits`` are lowered to the sandbox's own where they exceed them. ``on_progress`` hears of the usage
        about once a second, and what the script says of itself. ``left``: what the host would still give
        it, for a script that asks. ``skills``: what it may import from ``skills`` (`skilled.Skills.to_job`).
        Cancelling this call kills the script.
        """
        bounds = self._limits if limits is None else _lowest(limits, self._limits)
        size = len(code.encode("utf-8", "surrogatepass"))
        if size > bounds.source_bytes:
            return self._sealed(verdicts.source_too_large(size, bounds.source_bytes))
        try:
            await self._places.enter(client)
        except ScriptQueueFull as full:
            return self._sealed(verdicts.queue_full(full.waiting, full.retry_after_s))
        started = time.monotonic()
        try:
            return await self._run(
                code, bounds, CallHandler(call, bounds, started, left), count_tokens, on_progress, skills
            )
        finally:
            self._places.leave(client, time.monotonic() - started)

    async def _run(
        self,
        code: str,
        limits: Limits,
        host: CallHandler,
        count_tokens: CountTokens | None,
        on_progress: Progress | None,
        skills: Mapping[str, Any] | None,
    ) -> Outcome:
        started = time.monotonic()
        deadline = asyncio.get_running_loop().time() + limits.wall_seconds
        while True:
            try:
                server, child = await self._take(limits)
            except SandboxUnavailable as error:
                return self._sealed(verdicts.unavailable(str(error)))
            execution = Execution(child, limits, host, started, skills)
            try:
                outcome = await execution.complete(code, deadline, count_tokens, on_progress)
            finally:
                child.kill()
                self._after(server)
            # A fork server that dies takes its children with it. The script did not do it, and it has done
            # nothing yet: it starts over with the next one, within the same wall clock.
            if outcome.status != "crashed" or not server.gone or host.calls:
                return self._sealed(outcome)

    def _sealed(self, outcome: Outcome) -> Outcome:
        stood = tuple(wall.name for wall in self._walls if wall.stands)
        missing = tuple(wall.name for wall in self._walls if not wall.stands and not wall.reinforces)
        return replace(outcome, walls=Walls(stood, missing))

    # --- children and their fork server ---

    async def _take(self, limits: Limits) -> tuple[Runner, RunnerChild]:
        """A locked child: a spare where the limits the kernel keeps are the usual ones."""
        server = await self._current()
        usual = (limits.memory_bytes, limits.cpu_seconds) == (self._limits.memory_bytes, self._limits.cpu_seconds)
        if usual and server.spares:
            return server, server.spares.popleft()
        try:
            return server, await server.spawn(limits)
        except SandboxUnavailable:
            if not server.gone:
                raise
        server = await self._current()  # it has died since it was last heard of; this is another one
        return server, await server.spawn(limits)

    def _after(self, server: Runner) -> None:
        """Keep the number of spares; part with a fork server that is used up."""
        server.served += 1
        if self._closed or server is not self._server:
            return
        self._spawn_task(self._refill(server))
        if server.served % _SCRIPTS_PER_SERVER == 0:
            self._spawn_task(self._succeed(server))

    async def _succeed(self, server: Runner) -> None:
        """Part with a fork server that is used up, when the next one is ready."""
        try:
            successor = await self._start()
        except SandboxUnavailable as error:
            log.warning("the fork server goes on, as there is no other: %s", error)
            return
        if self._closed or server is not self._server:  # meanwhile something else has happened to it
            await successor.close()
            return
        self._server = successor
        self.renewals["used up"] += 1
        self._spawn_task(server.close_when_idle())
        await self._refill(successor)

    def _retire(self, server: Runner) -> None:
        """Part at once with a fork server that a script may know too much of; begin to start the next one."""
        if server is self._server:
            self._server = None
            self.renewals["fault"] += 1
            self._spawn_task(server.close_when_idle())
            self._spawn_task(self._prepare())

    async def _prepare(self) -> None:
        with contextlib.suppress(SandboxUnavailable):  # the next script will be told
            await self._current()

    def _spawn_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _refill(self, server: Runner) -> None:
        while len(server.spares) + server.coming < self._spares and server is self._server:
            server.coming += 1
            try:
                spare = await server.spawn(self._limits)
            except SandboxUnavailable:
                return
            finally:
                server.coming -= 1
            if server is self._server:
                server.spares.append(spare)
            else:  # its server was replaced meanwhile, and nobody will ask for it
                spare.kill()

    async def _current(self) -> Runner:
        """The fork server, started anew where there is none, or where it died."""
        async with self._starting:
            if self._closed:
                raise SandboxUnavailable("the sandbox is closed")
            if self._server is None or self._server.gone:
                if self._server is not None:
                    self.renewals["died"] += 1
                    await self._server.close()
                self._server = None
                self._server = await self._start()
                await self._refill(self._server)
            return self._server

    async def _start(self) -> Runner:
        server = await runner_table.start(self._engine, self._limits, self._layers, self._children)
        try:
            self._walls = server.walls
            if self._layers.walls:
                _insist(server, self._accept_missing)
        except SandboxUnavailable:
            await server.close()
            raise
        server.on_fault = self._retire
        return server


def _lowest(asked: Limits, ceiling: Limits) -> Limits:
    bounds = asdict(ceiling)
    return Limits(**{name: min(value, bounds[name]) for name, value in asdict(asked).items()})


def _insist(server: Runner, accepted: frozenset[str]) -> None:
    """Fail closed: every wall stands, or an operator has named exactly those that do not."""
    missing = tuple(wall for wall in server.walls if not wall.stands and not wall.reinforces)
    names = frozenset(wall.name for wall in missing)
    why = _told(missing)
    if names & runner_table.MANDATORY:
        raise SandboxUnavailable(f"no sandbox without {', '.join(names & runner_table.MANDATORY)} ({why})")
    if server.breaches:
        raise SandboxUnavailable(f"behind all walls this still works: {', '.join(server.breaches)}")
    if accepted and accepted != names:
        raise SandboxUnavailable(
            f"accept_missing is {sorted(accepted)}, but missing are {sorted(names)}: name exactly these",
            tuple(sorted(names)),
        )
    if names != accepted:
        raise SandboxUnavailable(f"not every wall stands ({why})", tuple(sorted(names)))


def _told(missing: tuple[WallReport, ...]) -> str:
    """Each wall that does not stand and why; what to do about it once, where it is the same for several."""
    advised: dict[str, list[str]] = {}
    for wall in missing:
        advised.setdefault(wall.advice, []).append(f"{wall.name}: {wall.detail}")
    return ". ".join(f"{'; '.join(walls)}. To do: {advice}" for advice, walls in advised.items())


async def probe(engine: str = "auto") -> tuple[WallReport, ...]:
    """Test every wall of this host, for ``winnow doctor``. Never raises for a wall that does not stand."""
    try:
        server = await runner_table.start(engine, Limits(), Layers(), children=1)
    except SandboxUnavailable as error:
        return runner_table.unraised(engine, str(error))
    await server.close()
    return server.walls
