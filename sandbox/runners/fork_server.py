"""The parent's end of one fork server and its children: processes, descriptors, signals.

The fork server is trusted to report which child is which and how it ended. A child is not trusted at all. One
protocol with its two state machines, so the file is long.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import RestrictedPython  # used by the child; imported here to locate it

from sandbox.protocol import frames
from sandbox.protocol.jobs import SpawnRequest
from sandbox.protocol.limits import KIB, WARM_BYTES, Layers, Limits
from sandbox.protocol.outcome import SandboxUnavailable, WallReport
from sandbox.walls import cgroups, wall_table
from sandbox.walls.cgroups import MemoryGroup

from .runner import ChildDeath, ChildGone

_RECEIVE_BYTES = 64 * KIB  # a larger buffer is mapped and unmapped at every read: ten times as slow
_MESSAGE_BYTES = 64 * 1024
_START_SECONDS = 20.0  # ten times a start on a slow and busy machine
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

_SPIN_SECONDS = 250e-6
_QUICK_SECONDS = 500e-6
_SEVERAL_PROCESSORS = len(os.sched_getaffinity(0)) > 1 if hasattr(os, "sched_getaffinity") else False
_FRAMES_WITHOUT_SPINNING = 16  # after a timeout
_FRAMES_PER_YIELD = 16

# One hash seed for all children. A random one would identify the fork server that a child came from; with this one
# the same script over the same documents gives the same answer, whatever it hashes.
_ENVIRONMENT = MappingProxyType({"LANG": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0"})


class _SpinPolicy:
    """Whether to spin (poll without sleeping) for a child's next frame.

    Waking a sleeping processor takes four times as long as a script takes to make its next SDK call (measured on a
    virtual machine: 110 and 28 microseconds a round trip). So the parent spins briefly for a child that has just
    been quick; after one timeout it sleeps for the next frames again. It spins only while no other child is in
    conversation: otherwise the event loop has other work to do.
    """

    _talking: ClassVar[set[_SpinPolicy]] = set()

    def __init__(self) -> None:
        self._quick = False
        self._frames_to_sleep = 0
        self._frames_received = 0

    def should_spin(self) -> bool:
        """Whether the child has been quick, and is the only one in conversation."""
        return self._quick and len(self._talking) == 1

    def begin(self) -> None:
        """Record that the conversation begins."""
        self._talking.add(self)

    def end(self) -> None:
        """Record that the conversation has ended. Idempotent."""
        self._talking.discard(self)

    def record_latency(self, seconds: float) -> None:
        """Record how long the child's frame took after a sleep, waking up included."""
        self._frames_to_sleep = max(0, self._frames_to_sleep - 1)
        self._quick = _SEVERAL_PROCESSORS and not self._frames_to_sleep and seconds < _QUICK_SECONDS

    def record_timeout(self) -> None:
        """Record that spinning brought no frame."""
        self._quick, self._frames_to_sleep = False, _FRAMES_WITHOUT_SPINNING

    def should_yield(self) -> bool:
        """Whether to let the event loop run: for other children, and for this one's deadline."""
        self._frames_received += 1
        return self._frames_received % _FRAMES_PER_YIELD == 0


class ForkedChild:
    """One forked child: it starts locked, serves one script, and is killed."""

    memory_poll_seconds = 0.05  # the kernel keeps the address-space limit without polling

    def __init__(self, channel: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
        self.spawned: asyncio.Future[None] = loop.create_future()
        self.death: asyncio.Future[ChildDeath] = loop.create_future()
        self._channel = channel
        self._loop = loop
        self._pidfd = -1
        self._statm = -1
        self._is_killed = False
        self._splitter = frames.Splitter(0)
        self._waiter: asyncio.Future[None] | None = None
        self._reading = False
        self._last_sent = 0.0
        self._spin = _SpinPolicy()

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
        if self._statm >= 0:
            os.close(self._statm)
            self._statm = -1  # the number may be reused
        if self._pidfd >= 0:
            self._kill_process()

    def send_sigkill(self) -> None:
        """Kill it and keep its descriptors."""
        if self._pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def _kill_process(self) -> None:
        self.send_sigkill()
        os.close(self._pidfd)
        self._pidfd = -1

    def resident_bytes(self) -> int:
        """Resident memory now; 0 where /proc does not show it."""
        try:
            if self._statm < 0:
                self._statm = os.open(f"/proc/{self._read_pid()}/statm", os.O_RDONLY | os.O_CLOEXEC)
            return int(os.pread(self._statm, 256, 0).split()[1]) * _PAGE_BYTES
        except (OSError, IndexError):
            return 0

    def read_usage(self) -> ChildDeath | None:
        """What it has used so far; None where /proc does not show it, or the child is dead already."""
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
                if self._spin.should_yield():
                    await asyncio.sleep(0)
                continue
            if not self._reading:
                self._reading = True
                self._loop.add_reader(self._channel, self._receive_ready)
            self._waiter = self._loop.create_future()
            await self._waiter
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
        self._hello: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        self._idle = asyncio.Event()
        self._idle.set()
        self._loop.add_reader(control, self._read_message)

    @classmethod
    async def start(cls, limits: Limits, layers: Layers, children: int) -> ForkServer:
        """Execute a fork server for at most ``children`` at once, and wait until it has tested its walls."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        with theirs:
            process = subprocess.Popen(
                _command(theirs.fileno(), limits, layers),
                env=dict(_ENVIRONMENT),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # a Ctrl-C at the terminal is the server's to handle
                cwd="/",
            )
        group, report = cgroups.create_around(process.pid, children * (limits.memory_bytes + WARM_BYTES))
        server = cls(process, ours, group)
        try:
            async with asyncio.timeout(_START_SECONDS):
                hello = await server._hello
        except (TimeoutError, SandboxUnavailable):
            error = await server._read_last_error_line()
            raise SandboxUnavailable(f"the fork server did not start: {error}") from None
        except BaseException:
            await server.close()
            raise
        server._read_hello(hello)
        server.walls += (report,)
        return server

    async def _read_last_error_line(self) -> str:
        self._process.kill()
        stream = self._process.stderr
        assert stream is not None
        text = (await asyncio.to_thread(stream.read)).decode(errors="replace")
        await self.close()
        return text.strip().rpartition("\n")[2] or f"exit code {self._process.returncode}"

    def _read_hello(self, hello: dict[str, Any]) -> None:
        known = {wall.name: wall for wall in wall_table.ALL_WALLS}
        self.breaches = tuple(hello["breaches"])
        order = list(known)
        self.walls = tuple(
            WallReport(
                name=record["name"],
                protects=known[record["name"]].protects,
                stands=record["stands"],
                detail=record["detail"],
                advice="" if record["stands"] else known[record["name"]].advice,
            )
            for record in sorted(hello["walls"], key=lambda record: order.index(record["name"]))
        )

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
        record = json.loads(message)
        if "hello" in record:
            if not self._hello.done():
                self._hello.set_result(record["hello"])
        elif "spawned" in record:
            self._children[record["spawned"]].mark_spawned(pidfds[0])
        else:
            child = self._children.pop(record.pop("gone"))
            death = ChildDeath(**record, hit_group_limit=self._was_killed_by_group(record["signal"]))
            child.mark_dead(death)
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
        if not self._hello.done():
            self._hello.set_exception(SandboxUnavailable("the fork server died"))
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
        if self._hello.done() and not self._hello.cancelled():
            self._hello.exception()  # retrieved
        await asyncio.shield(asyncio.to_thread(self._reap))

    def _kill_spares(self) -> None:
        for spare in self.spares:
            spare.kill()
        self.spares.clear()

    def _reap(self) -> None:
        # Closing the control socket ends it; it is killed only if it hangs.
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()
        if self._group is not None:
            self._group.remove()


def _command(control: int, limits: Limits, layers: Layers) -> list[str]:
    """The command line of the fork server: without site, with our paths only, and no folder of the caller.

    Without -I, which would ignore ``_ENVIRONMENT``; the child gets no other variable.
    """
    paths = [str(Path(__file__).resolve().parents[2]), str(Path(RestrictedPython.__file__).resolve().parents[1])]
    paths = list(dict.fromkeys(paths))
    code = (
        f"import sys; sys.path[:0] = {paths!r}\n"
        "from sandbox.child.zygote import main\n"
        f"main({control}, {os.getpid()}, {asdict(limits)!r}, fence={layers.fence}, walled={layers.walls})"
    )
    return [sys.executable, "-P", "-s", "-S", "-B", "-X", "utf8", "-c", code]
