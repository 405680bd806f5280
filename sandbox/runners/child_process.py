"""Children that are executed one by one, for engines without a fork server.

Theory of operation. A child is a fresh interpreter with an empty environment, in a process group of its own, and
one descriptor: its end of a socket pair. It raises its walls and says one frame before anything hostile can reach
it::

    {"ready": {"raised": [NAME, ...], "workers": [PID, ...], "found": {NAME: [STANDS, DETAIL], ...}}}

``found`` is there in a trial only, where the child tries what its walls forbid. Then it serves one script with the
frames that every child speaks (frames.py), and its whole group is killed. To start one takes as long as starting
Python: the keeper keeps some ready.

What the kernel does not limit is watched here: the memory of all processes of the child, every 20 ms.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import psutil

from sandbox.protocol import frames
from sandbox.protocol.limits import KIB, Limits
from sandbox.protocol.outcome import SandboxUnavailable, WallReport

from .runner_table import ChildDeath, ChildGone

_RECEIVE_BYTES = 64 * KIB
_READY_BYTES = 64 * KIB
_START_SECONDS = 20.0  # two hundred times a start on an idle machine
_BURY_SECONDS = 0.002  # between two looks whether a killed child is dead
_POSIX = os.name == "posix"
_CPU_SIGNAL = getattr(signal, "SIGXCPU", -1)


@dataclass(frozen=True, slots=True)
class Program:
    """What a child executes: ``module``'s ``main(descriptor, limits, **options)``, found in ``homes``."""

    module: str
    homes: tuple[str, ...]
    options: Mapping[str, Any]

    def command(self, descriptor: int, limits: Limits, **more: Any) -> list[str]:
        """Isolated from the environment, without site, with our paths only."""
        start = (
            f"import sys; sys.path[:0] = {list(self.homes)!r}\n"
            f"from {self.module} import main\n"
            f"main({descriptor}, {asdict(limits)!r}, **{dict(self.options) | more!r})"
        )
        return [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", start]


@dataclass(frozen=True, slots=True)
class ClaimedWall:
    """A wall that an engine's children say they raise."""

    name: str
    protects: str
    advice: str
    reinforces: bool = False  # others hold the same without it


class SpawnedChild:
    """One executed child: it is born locked, serves one script, and is killed with all its processes."""

    look_seconds = 0.02  # nothing else may bound its memory

    def __init__(self, process: subprocess.Popen[bytes], channel: socket.socket, cpu_seconds: int) -> None:
        self._loop = asyncio.get_running_loop()
        self.death: asyncio.Future[ChildDeath] = self._loop.create_future()
        self._process = process
        self._channel = channel
        self._members = [psutil.Process(process.pid)]
        self._used: dict[int, float] = {}  # seconds of CPU, by process
        self._cpu_seconds = cpu_seconds
        self._spent = 0.0  # of these, on being born
        self._peak = 0
        self._killed = False
        self._burial: asyncio.Task[None] | None = None
        self._splitter = frames.Splitter(_READY_BYTES)

    async def ready(self) -> dict[str, Any]:
        """What it says of its walls, before anything hostile has reached it."""
        told: dict[str, Any] = json.loads(await self.receive())["ready"]
        self._members += [psutil.Process(worker) for worker in told["workers"]]
        self.resident_bytes()
        self._spent = sum(self._used.values())
        return told

    def last_words(self) -> str:
        """The last line it wrote to its standard error; for one that did not start, and is killed."""
        assert self._process.stderr is not None
        text = self._process.stderr.read().decode(errors="replace")
        return text.strip().rpartition("\n")[2] or f"exit code {self._process.returncode}"

    # --- its processes ---

    def resident_bytes(self) -> int:
        """The resident memory of all its processes now."""
        if self._killed:
            return 0  # their numbers are others' soon
        resident = 0
        for member in self._members:
            with contextlib.suppress(psutil.Error), member.oneshot():
                resident += member.memory_info().rss
                times = member.cpu_times()
                self._used[member.pid] = times.user + times.system
        self._peak = max(self._peak, resident)
        return resident

    def measure(self) -> ChildDeath | None:
        """What it has used so far; None when it is dead."""
        with contextlib.suppress(psutil.Error):
            if self._members[0].status() != psutil.STATUS_ZOMBIE:
                self.resident_bytes()
                return self._so_far(0)
        return None

    def _so_far(self, number: int) -> ChildDeath:
        return ChildDeath(number, (sum(self._used.values()) - self._spent) * 1000, self._peak)

    def strike(self) -> None:
        """Kill all its processes; whoever converses with it sees its end."""
        if self._process.returncode is not None:
            return  # buried: its number may be another's by now
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if _POSIX:
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._kill_family()

    def _kill_family(self) -> None:
        """Where there are no process groups."""
        for member in self._members:
            with contextlib.suppress(psutil.Error):
                member.kill()

    def kill(self) -> None:
        """Kill it, and let go of every descriptor. Idempotent; `death` follows."""
        if self._killed:
            return
        self._killed = True
        self.strike()
        self._channel.close()
        self._burial = self._loop.create_task(self._bury())

    async def _bury(self) -> None:
        while (code := self._process.poll()) is None:
            await asyncio.sleep(_BURY_SECONDS)
        if self._process.stderr is not None:
            self._process.stderr.close()
        death = self._so_far(max(0, -code))
        if death.signal == _CPU_SIGNAL:  # seen by the kernel, between two looks of ours
            death = replace(death, cpu_ms=max(death.cpu_ms, self._cpu_seconds * 1000))
        self.death.set_result(death)

    # --- frames ---

    def expect(self, longest: int) -> None:
        """From now on no frame longer than this is taken."""
        self._splitter = frames.Splitter(longest)

    async def send(self, data: bytes) -> None:
        """Send a packed frame."""
        try:
            await self._loop.sock_sendall(self._channel, data)
        except OSError:
            raise ChildGone from None

    async def receive(self) -> bytes:
        """The body of the next frame. ChildGone at its end, ProtocolError when it is announced too long."""
        while (body := self._splitter.next()) is None:
            try:
                data = await self._loop.sock_recv(self._channel, _RECEIVE_BYTES)
            except OSError:
                data = b""
            if not data:
                raise ChildGone
            self._splitter.feed(data)
        return body


def _execute(program: Program, limits: Limits, **options: Any) -> SpawnedChild:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.set_inheritable(True)
    with theirs:
        process = subprocess.Popen(
            program.command(theirs.fileno(), limits, **options),
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[theirs.fileno()] if _POSIX else (),
            close_fds=_POSIX,
            start_new_session=True,
            cwd="/",
        )
    return SpawnedChild(process, ours, limits.cpu_seconds)


def _environment() -> dict[str, str]:
    """Nothing of ours; Windows alone cannot load its own libraries without being told where it is."""
    kept = {"SYSTEMROOT": os.environ["SYSTEMROOT"]} if "SYSTEMROOT" in os.environ else {}
    return {"LANG": "C.UTF-8", "TZ": "UTC", **kept}


async def born(program: Program, limits: Limits, **options: Any) -> tuple[SpawnedChild, dict[str, Any]]:
    """A new child and what it says of its walls. SandboxUnavailable with its last words if it does not start."""
    child = _execute(program, limits, **options)
    try:
        async with asyncio.timeout(_START_SECONDS):
            return child, await child.ready()
    except (TimeoutError, ChildGone, frames.ProtocolError, ValueError, psutil.Error):
        child.strike()
        words = await asyncio.to_thread(child.last_words)
        child.kill()
        await child.death
        raise SandboxUnavailable(f"a child did not start: {words}") from None
    except BaseException:
        child.kill()
        await child.death
        raise


async def trial(program: Program, limits: Limits, **options: Any) -> dict[str, Any]:
    """A throw-away child tries what its walls forbid; what it found."""
    child, told = await born(program, limits, trial=True, **options)
    child.kill()
    await child.death
    return told


def reports(claims: Sequence[ClaimedWall], found: Mapping[str, Sequence[Any]]) -> tuple[WallReport, ...]:
    """One report for each wall that an engine claims, in that order; what nobody tried does not stand."""
    judged = [(claim, *found.get(claim.name, (False, "it was not raised"))) for claim in claims]
    return tuple(
        WallReport(
            claim.name, claim.protects, bool(stands), str(detail), "" if stands else claim.advice, claim.reinforces
        )
        for claim, stands, detail in judged
    )


class Spawner:
    """An engine (engines.py) of executed children."""

    def __init__(self, program: Program, told: Mapping[str, Any], walls: tuple[WallReport, ...]) -> None:
        self.walls = walls
        self.breaches: tuple[str, ...] = ()
        self.spares: deque[SpawnedChild] = deque()
        self.coming = 0  # spares being started
        self.served = 0
        self.gone = False
        self.on_fault: Callable[[Spawner], None] = lambda _: None
        self._program = program
        self._raised = frozenset(told["raised"])
        self._children: set[SpawnedChild] = set()

    async def spawn(self, limits: Limits) -> SpawnedChild:
        """A new locked child, behind the walls that were tried."""
        if self.gone:
            raise SandboxUnavailable("the sandbox is closed")
        child, told = await born(self._program, limits)
        self._children.add(child)
        child.death.add_done_callback(lambda death: self._bury(child, death))
        if self.gone or frozenset(told["raised"]) != self._raised:
            child.kill()
            raise SandboxUnavailable("a child is not behind the walls that were tried")
        return child

    def _bury(self, child: SpawnedChild, death: asyncio.Future[ChildDeath]) -> None:
        self._children.discard(child)
        if not death.cancelled() and death.result().fault:
            self.on_fault(self)

    async def close_when_idle(self) -> None:
        """Let running scripts end, then close."""
        self._let_go_of_spares()
        while self._children:
            await asyncio.wait([child.death for child in self._children])
        await self.close()

    async def close(self) -> None:
        """Kill every child. Idempotent."""
        self.gone = True
        self._let_go_of_spares()
        dying = [child.death for child in self._children]
        for child in list(self._children):
            child.kill()
        await asyncio.gather(*dying)

    def _let_go_of_spares(self) -> None:
        for spare in self.spares:
            spare.kill()
        self.spares.clear()
