"""Children that are executed one by one, for runners without a fork server.

Theory of operation. A child is a fresh interpreter with an empty environment, in a process group of its own, and
one descriptor: its end of a socket pair. It raises its walls and sends one frame before anything hostile can reach
it::

    {"ready": {"raised": [NAME, ...], "workers": [PID, ...], "found": {NAME: [STANDS, DETAIL], ...}}}

``found`` is sent in a trial only, where the child tries what its walls forbid. Then it serves one script with the
frames of every child (protocol/frames.py), and its whole group is killed. Starting a child takes as long as
starting Python: the parent keeps some ready.

The kernel may not limit these children, so their memory is polled: all processes of the child, every 20 ms.
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

from winnow.sandbox.protocol import frames
from winnow.sandbox.protocol.limits import KIB, Limits
from winnow.sandbox.protocol.outcome import SandboxUnavailable, WallReport

from .runner import ChildDeath, ChildGone

_RECEIVE_BYTES = 64 * KIB
_READY_BYTES = 64 * KIB
_START_SECONDS = 20.0  # two hundred times a start on an idle machine
_REAP_POLL_SECONDS = 0.002
_POSIX = os.name == "posix"
_CPU_SIGNAL = getattr(signal, "SIGXCPU", -1)


@dataclass(frozen=True, slots=True)
class Program:
    """The program of a child: ``main(descriptor, limits, **options)`` of ``module``, imported from ``paths``."""

    module: str
    paths: tuple[str, ...]
    options: Mapping[str, Any]

    def command(self, descriptor: int, limits: Limits, **more: Any) -> list[str]:
        """The command line: isolated from the environment, without site, with ``paths`` only."""
        code = (
            f"import sys; sys.path[:0] = {list(self.paths)!r}\n"
            f"from {self.module} import main\n"
            f"main({descriptor}, {asdict(limits)!r}, **{dict(self.options) | more!r})"
        )
        return [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", code]


@dataclass(frozen=True, slots=True)
class ClaimedWall:
    """A wall that a runner's children claim to raise."""

    name: str
    protects: str
    advice: str
    reinforces: bool = False  # other walls protect the same asset without it


class SpawnedChild:
    """One executed child: it starts locked, serves one script, and is killed with all its processes."""

    memory_poll_seconds = 0.02  # there may be no other bound on its memory

    def __init__(self, process: subprocess.Popen[bytes], channel: socket.socket, cpu_seconds: int) -> None:
        self._loop = asyncio.get_running_loop()
        self.death: asyncio.Future[ChildDeath] = self._loop.create_future()
        self._process = process
        self._channel = channel
        self._members = [psutil.Process(process.pid)]
        self._cpu_by_process: dict[int, float] = {}  # in seconds
        self._cpu_limit = cpu_seconds
        self._startup_cpu = 0.0  # in seconds; not counted as the script's
        self._peak_bytes = 0
        self._is_killed = False
        self._reaping: asyncio.Task[None] | None = None
        self._splitter = frames.Splitter(_READY_BYTES)

    async def wait_ready(self) -> dict[str, Any]:
        """Wait for its report on its walls, sent before anything hostile has reached it."""
        report: dict[str, Any] = json.loads(await self.receive())["ready"]
        self._members += [psutil.Process(worker) for worker in report["workers"]]
        self.resident_bytes()
        self._startup_cpu = sum(self._cpu_by_process.values())
        return report

    def read_last_error_line(self) -> str:
        """The last line of its standard error. Blocks until the child is dead."""
        assert self._process.stderr is not None
        text = self._process.stderr.read().decode(errors="replace")
        return text.strip().rpartition("\n")[2] or f"exit code {self._process.returncode}"

    # --- its processes ---

    def resident_bytes(self) -> int:
        """Resident memory of all its processes now; 0 once it is killed."""
        if self._is_killed:
            return 0  # the process ids may be reused
        resident = 0
        for member in self._members:
            with contextlib.suppress(psutil.Error), member.oneshot():
                resident += member.memory_info().rss
                times = member.cpu_times()
                self._cpu_by_process[member.pid] = times.user + times.system
        self._peak_bytes = max(self._peak_bytes, resident)
        return resident

    def read_usage(self) -> ChildDeath | None:
        """The usage so far; None when it is dead."""
        with contextlib.suppress(psutil.Error):
            if self._members[0].status() != psutil.STATUS_ZOMBIE:
                self.resident_bytes()
                return self._usage_so_far(0)
        return None

    def _usage_so_far(self, signal_number: int) -> ChildDeath:
        cpu_seconds = sum(self._cpu_by_process.values()) - self._startup_cpu
        return ChildDeath(signal_number, cpu_seconds * 1000, self._peak_bytes)

    def warn(self) -> None:
        """Nothing: a script in another interpreter is warned at its calls."""

    def send_sigkill(self) -> None:
        """Kill all its processes and keep its descriptors."""
        if self._process.returncode is not None:
            return  # reaped: its process id may be reused
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if _POSIX:
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._kill_each()

    def _kill_each(self) -> None:
        """Kill its processes one by one, on systems without process groups."""
        for member in self._members:
            with contextlib.suppress(psutil.Error):
                member.kill()

    def kill(self) -> None:
        """Kill it and close its descriptors. Idempotent; `death` follows."""
        if self._is_killed:
            return
        self._is_killed = True
        self.send_sigkill()
        self._channel.close()
        self._reaping = self._loop.create_task(self._reap())

    async def _reap(self) -> None:
        while (code := self._process.poll()) is None:
            await asyncio.sleep(_REAP_POLL_SECONDS)
        if self._process.stderr is not None:
            self._process.stderr.close()
        death = self._usage_so_far(max(0, -code))
        if death.signal == _CPU_SIGNAL:  # the kernel saw the limit reached between two polls
            death = replace(death, cpu_ms=max(death.cpu_ms, self._cpu_limit * 1000))
        self.death.set_result(death)

    # --- frames ---

    def limit_frames(self, longest: int) -> None:
        """Refuse longer frames from now on."""
        self._splitter = frames.Splitter(longest)

    async def send(self, data: bytes) -> None:
        """Send a packed frame."""
        try:
            await self._loop.sock_sendall(self._channel, data)
        except OSError:
            raise ChildGone from None

    async def receive(self) -> bytes:
        """Receive the body of the next frame. ChildGone at the end, ProtocolError when the frame is too long."""
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
    """A child's environment: nothing of ours. Windows alone needs SYSTEMROOT to load its own libraries."""
    kept = {"SYSTEMROOT": os.environ["SYSTEMROOT"]} if "SYSTEMROOT" in os.environ else {}
    return {"LANG": "C.UTF-8", "TZ": "UTC", **kept}


async def start_child(program: Program, limits: Limits, **options: Any) -> tuple[SpawnedChild, dict[str, Any]]:
    """Start a child and wait for its report on its walls. SandboxUnavailable with its error if that fails."""
    child = _execute(program, limits, **options)
    try:
        async with asyncio.timeout(_START_SECONDS):
            return child, await child.wait_ready()
    except (TimeoutError, ChildGone, frames.ProtocolError, ValueError, psutil.Error):
        child.send_sigkill()
        last_line = await asyncio.to_thread(child.read_last_error_line)
        child.kill()
        await child.death
        raise SandboxUnavailable(f"a child did not start: {last_line}") from None
    except BaseException:
        child.kill()
        await child.death
        raise


async def run_trial(program: Program, limits: Limits, **options: Any) -> dict[str, Any]:
    """Let a throw-away child try what its walls forbid, and return its report."""
    child, report = await start_child(program, limits, trial=True, **options)
    child.kill()
    await child.death
    return report


def build_reports(claims: Sequence[ClaimedWall], found: Mapping[str, Sequence[Any]]) -> tuple[WallReport, ...]:
    """One report for each claimed wall, in that order; a wall that was not tried does not stand."""
    judged = [(claim, *found.get(claim.name, (False, "it was not raised"))) for claim in claims]
    return tuple(
        WallReport(
            claim.name, claim.protects, bool(stands), str(detail), "" if stands else claim.advice, claim.reinforces
        )
        for claim, stands, detail in judged
    )


class Spawner:
    """A runner (runner.py) of executed children."""

    def __init__(self, program: Program, report: Mapping[str, Any], walls: tuple[WallReport, ...]) -> None:
        self.walls = walls
        self.breaches: tuple[str, ...] = ()
        self.spares: deque[SpawnedChild] = deque()
        self.starting = 0
        self.scripts_served = 0
        self.is_gone = False
        self.on_fault: Callable[[Spawner], None] = lambda _: None
        self._program = program
        self._raised = frozenset(report["raised"])
        self._children: set[SpawnedChild] = set()

    async def spawn(self, limits: Limits) -> SpawnedChild:
        """Start a locked child behind the walls that were tried."""
        if self.is_gone:
            raise SandboxUnavailable("the sandbox is closed")
        child, report = await start_child(self._program, limits)
        self._children.add(child)
        child.death.add_done_callback(lambda death: self._forget(child, death))
        if self.is_gone or frozenset(report["raised"]) != self._raised:
            child.kill()
            raise SandboxUnavailable("a child is not behind the walls that were tried")
        return child

    def _forget(self, child: SpawnedChild, death: asyncio.Future[ChildDeath]) -> None:
        self._children.discard(child)
        if not death.cancelled() and death.result().is_fault:
            self.on_fault(self)

    async def close_when_idle(self) -> None:
        """Let running scripts end, then close."""
        self._kill_spares()
        while self._children:
            await asyncio.wait([child.death for child in self._children])
        await self.close()

    async def close(self) -> None:
        """Kill every child. Idempotent."""
        self.is_gone = True
        self._kill_spares()
        dying = [child.death for child in self._children]
        for child in list(self._children):
            child.kill()
        await asyncio.gather(*dying)

    def _kill_spares(self) -> None:
        for spare in self.spares:
            spare.kill()
        self.spares.clear()
