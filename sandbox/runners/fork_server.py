"""The parent's end of one fork server and its children: processes, descriptors, signals.

The fork server is trusted to report which child is which and how it ended. A child is not trusted at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

import RestrictedPython  # used by the child; imported here to locate it

from winnow.sandbox.protocol import frames
from winnow.sandbox.protocol.answers import ChildReaped, ChildSpawned, ForkServerReady, decode_answer
from winnow.sandbox.protocol.jobs import SpawnRequest
from winnow.sandbox.protocol.limits import KIB, WARM_BYTES, Layers, Limits
from winnow.sandbox.protocol.outcome import SandboxUnavailable, WallReport
from winnow.sandbox.walls import cgroups
from winnow.sandbox.walls.cgroups import MemoryGroup
from winnow.sandbox.walls.profiles import SCRIPT

from .launch import START_SECONDS, ForkServerProgram, end, launch, report_walls
from .runner import ChildDeath, ChildGone
from .spin_policy import SpinPolicy
from .turns import Turn

_RECEIVE_BYTES = 64 * KIB  # a larger buffer is mapped and unmapped at every read: ten times as slow
_MESSAGE_BYTES = 64 * 1024
# Of the status of a process: its pages, and the tables that say where they are. A page of zeros in each GiB of
# addresses takes two pages of tables and counts as no memory.
_MEMORY = re.compile(rb"^(?:VmRSS|VmPTE):\s*+(\d++)", re.MULTILINE)
_STATUS_BYTES = 4 * KIB

_SPIN_SECONDS = 250e-6


class ForkedChild:
    """One forked child: it starts locked, serves one script, and is killed."""

    memory_poll_seconds = 0.05  # the kernel keeps the address-space limit without polling

    def __init__(self, channel: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
        self.spawned: asyncio.Future[None] = loop.create_future()
        self.death: asyncio.Future[ChildDeath] = loop.create_future()
        self._channel = channel
        self._loop = loop
        self._pidfd = -1
        self._memory = -1
        self._is_killed = False
        self._splitter = frames.Splitter(0)
        self._waiter: asyncio.Future[None] | None = None
        self._reading = False
        self._last_sent = 0.0
        self._spin = SpinPolicy()
        self._turn = Turn()

    def mark_spawned(self, pidfd: int) -> None:
        """Record that it exists, and take ownership of its pidfd."""
        self._pidfd = pidfd
        if self._is_killed:
            self._kill_process()
        if not self.spawned.done():
            self.spawned.set_result(None)

    def mark_dead(self, death: ChildDeath) -> None:
        """Record that it was reaped."""
        if not self.spawned.done():
            self.spawned.set_exception(SandboxUnavailable("the fork server died"))
            self.spawned.exception()  # retrieved, in case no task waits any more
        if not self.death.done():
            self.death.set_result(death)

    def kill(self) -> None:
        """Kill it and close its descriptors. Idempotent; `death` follows."""
        if self._is_killed:
            return
        self._is_killed = True
        self._spin.end()
        self._pause()
        self._channel.close()
        if self._memory >= 0:
            os.close(self._memory)
            self._memory = -1  # the number may be reused
        if self._pidfd >= 0:
            self._kill_process()

    def warn(self) -> None:
        """See ``RunnerChild.warn``; ``sandbox.child.alarm`` handles the signal."""
        self._send_signal(signal.SIGUSR1)

    def send_sigkill(self) -> None:
        """Kill it and keep its descriptors."""
        self._send_signal(signal.SIGKILL)

    def _send_signal(self, number: signal.Signals) -> None:
        if self._pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, number)

    def _kill_process(self) -> None:
        self.send_sigkill()
        os.close(self._pidfd)
        self._pidfd = -1

    def resident_bytes(self) -> int:
        """Resident memory now, page tables included; 0 where /proc does not show it."""
        try:
            if self._memory < 0:
                self._memory = os.open(f"/proc/{self._read_pid()}/status", os.O_RDONLY | os.O_CLOEXEC)
            return sum(map(int, _MEMORY.findall(os.pread(self._memory, _STATUS_BYTES, 0)))) * KIB
        except OSError:
            return 0

    def read_usage(self) -> ChildDeath | None:
        """The usage so far; None where /proc does not show it, or the child is dead already."""
        try:
            pid = self._read_pid()
            with open(f"/proc/{pid}/schedstat") as file:
                on_cpu_ns = int(file.read().split()[0])
            with open(f"/proc/{pid}/status") as lines:
                peak_kib = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
        except (OSError, StopIteration, IndexError, ValueError):
            return None
        return ChildDeath(0, on_cpu_ns / 1e6, peak_kib * 1024)

    def _read_pid(self) -> int:
        with open(f"/proc/self/fdinfo/{self._pidfd}") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("Pid:"))

    # --- frames ---

    def limit_frames(self, longest: int) -> None:
        """Refuse longer frames from now on; the conversation begins."""
        self._splitter = frames.Splitter(longest)
        self._spin.begin()

    async def send(self, data: bytes) -> None:
        """Send a packed frame."""
        try:
            sent = self._channel.send(data)
            if sent < len(data):
                await self._loop.sock_sendall(self._channel, memoryview(data)[sent:])
        except BlockingIOError:
            await self._loop.sock_sendall(self._channel, data)
        except OSError:
            raise ChildGone from None
        self._last_sent = time.perf_counter()

    async def receive(self) -> bytes:
        """Receive the body of the next frame. ChildGone at the end, ProtocolError when the frame is too long."""
        while (body := self._splitter.next()) is None:
            if self._spin.should_spin() and self._receive_spinning():
                await self._turn.give_way()
                continue
            if not self._reading:
                self._reading = True
                self._loop.add_reader(self._channel, self._receive_ready)
            self._waiter = self._loop.create_future()
            await self._waiter
            self._turn.begin()
            self._spin.record_latency(time.perf_counter() - self._last_sent)
        return body

    def _receive_spinning(self) -> bool:
        """Spin for a moment, and return whether data arrived."""
        until = self._last_sent + _SPIN_SECONDS
        while True:
            try:
                data = self._channel.recv(_RECEIVE_BYTES)
                break
            except BlockingIOError:
                if time.perf_counter() >= until:
                    self._spin.record_timeout()
                    return False
            except OSError:
                data = b""
                break
        if not data:
            raise ChildGone
        self._splitter.feed(data)
        return True

    def _receive_ready(self) -> None:
        waiter = self._waiter
        if waiter is None or waiter.done():
            # No task is receiving: data waits in the kernel's buffer, and a full buffer blocks the child.
            self._pause()
            return
        try:
            data = self._channel.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._waiter = None
        if data:
            self._splitter.feed(data)
            waiter.set_result(None)
        else:
            self._pause()
            waiter.set_exception(ChildGone())

    def _pause(self) -> None:
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._channel)


class ForkServer:
    """A runner (runner.py): the parent's end of one fork server."""

    def __init__(
        self, process: subprocess.Popen[bytes], control: socket.socket, group: MemoryGroup | None
    ) -> None:
        self.walls: tuple[WallReport, ...] = ()
        self.breaches: tuple[str, ...] = ()
        self.spares: deque[ForkedChild] = deque()
        self.starting = 0
        self.scripts_served = 0
        self.is_gone = False
        self.on_fault: Callable[[ForkServer], None] = lambda _: None
        self._process = process
        self._group = group
        self._group_kills = 0  # children that the group's limit has killed
        self._control = control
        self._loop = asyncio.get_running_loop()
        self._names = itertools.count()
        self._children: dict[int, ForkedChild] = {}
        self._ready: asyncio.Future[ForkServerReady] = self._loop.create_future()
        self._idle = asyncio.Event()
        self._idle.set()
        self._loop.add_reader(control, self._read_message)

    @classmethod
    async def start(cls, limits: Limits, layers: Layers, children: int) -> ForkServer:
        """Execute a fork server for at most ``children`` at once, and wait until it has tested its walls."""
        process, ours = launch(_describe_program(layers), limits)
        ours.setblocking(False)
        group, report = cgroups.create_around(process.pid, children * (limits.memory_bytes + WARM_BYTES))
        server = cls(process, ours, group)
        try:
            async with asyncio.timeout(START_SECONDS):
                ready = await server._ready
        except (TimeoutError, SandboxUnavailable):
            error = await server._read_last_error_line()
            raise SandboxUnavailable(f"the fork server did not start: {error}") from None
        except BaseException:
            await server.close()
            raise
        server._record_walls(ready)
        server.walls += (report,)
        return server

    async def _read_last_error_line(self) -> str:
        self._process.kill()
        stream = self._process.stderr
        assert stream is not None
        text = (await asyncio.to_thread(stream.read)).decode(errors="replace")
        await self.close()
        return text.strip().rpartition("\n")[2] or f"exit code {self._process.returncode}"

    def _record_walls(self, ready: ForkServerReady) -> None:
        self.breaches = ready.breaches
        self.walls = report_walls(ready)

    async def spawn(self, limits: Limits) -> ForkedChild:
        """Fork a locked child."""
        if self.is_gone:
            raise SandboxUnavailable("the fork server is gone")
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        name = next(self._names)
        child = ForkedChild(ours, self._loop)
        self._children[name] = child
        self._idle.clear()
        request = SpawnRequest(name, limits.memory_bytes, limits.cpu_seconds)
        try:
            with theirs:
                socket.send_fds(self._control, [json.dumps(request.encode()).encode()], [theirs.fileno()])
            await child.spawned
        except OSError as error:
            self._children.pop(name, None)
            child.kill()
            if not isinstance(error, BlockingIOError):  # that one only means that it is slow
                self._mark_gone()
            raise SandboxUnavailable(f"the fork server accepts no requests: {error.strerror}") from None
        except BaseException:
            child.kill()
            raise
        return child

    def _read_message(self) -> None:
        """Handle one message of the fork server, or the end of its channel."""
        try:
            message, pidfds, _, _ = socket.recv_fds(self._control, _MESSAGE_BYTES, 1)
        except BlockingIOError:
            return
        except OSError:
            message, pidfds = b"", []
        if not message:
            self._mark_gone()
            return
        match decode_answer(json.loads(message)):
            case ForkServerReady() as ready:
                if not self._ready.done():
                    self._ready.set_result(ready)
            case ChildSpawned(id):
                self._children[id].mark_spawned(pidfds[0])
            case ChildReaped() as reaped:
                self._record_death(reaped)

    def _record_death(self, reaped: ChildReaped) -> None:
        hit_limit = self._was_killed_by_group(reaped.signal)
        death = ChildDeath(reaped.signal, reaped.cpu_ms, reaped.memory_peak_bytes, hit_limit)
        self._children.pop(reaped.id).mark_dead(death)
        if death.is_fault:
            self.on_fault(self)
        if not self._children:
            self._idle.set()

    def _was_killed_by_group(self, signal_number: int) -> bool:
        """Whether a child that died of this signal was killed by the group's limit."""
        if self._group is None or signal_number != signal.SIGKILL:
            return False
        before, self._group_kills = self._group_kills, self._group.count_kills()
        return self._group_kills > before

    def _mark_gone(self) -> None:
        """Record that the fork server is gone; the kernel has killed all its children with it."""
        if self.is_gone:
            return
        self.is_gone = True
        self._loop.remove_reader(self._control)
        if not self._ready.done():
            self._ready.set_exception(SandboxUnavailable("the fork server died"))
        for child in self._children.values():
            child.mark_dead(ChildDeath(signal.SIGKILL, 0.0, 0))
        self._children.clear()
        self._idle.set()

    async def close_when_idle(self) -> None:
        """Let running scripts end, then close."""
        self._kill_spares()
        with contextlib.suppress(asyncio.CancelledError):
            await self._idle.wait()
        await self.close()

    async def close(self) -> None:
        """End it and every child. Idempotent."""
        self._mark_gone()
        self._kill_spares()
        self._control.close()
        if self._ready.done() and not self._ready.cancelled():
            self._ready.exception()  # retrieved
        await asyncio.shield(asyncio.to_thread(end, self._process, self._group))

    def _kill_spares(self) -> None:
        for spare in self.spares:
            spare.kill()
        self.spares.clear()


def _describe_program(layers: Layers) -> ForkServerProgram:
    return ForkServerProgram(
        module="winnow.sandbox.child.script_process",
        options={"fence": layers.fence},
        profile=SCRIPT,
        folders=(Path(RestrictedPython.__file__).resolve().parents[1],),
        is_walled=layers.walls,
    )
