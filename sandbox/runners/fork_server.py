"""One fork server and its children, as the keeper holds them: processes, descriptors, signals.

The fork server is trusted to say which child is which and how it ended. A child is trusted with nothing.
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

import RestrictedPython  # the child's; here only to know where it lives

from sandbox.protocol import frames
from sandbox.protocol.limits import KIB, WARM_BYTES, Layers, Limits
from sandbox.protocol.outcome import SandboxUnavailable, WallReport
from sandbox.walls import cgroups, wall_table
from sandbox.walls.cgroups import MemoryGroup

from .runner_table import ChildDeath, ChildGone

_RECEIVE_BYTES = 64 * KIB  # a larger buffer is mapped and unmapped at every read: ten times as slow
_MESSAGE_BYTES = 64 * 1024
_START_SECONDS = 20.0  # ten times a start on a slow and busy machine
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


_SPIN_SECONDS = 250e-6
_QUICK_SECONDS = 500e-6
_SEVERAL_PROCESSORS = len(os.sched_getaffinity(0)) > 1 if hasattr(os, "sched_getaffinity") else False
_RESTS = 16
_HEARD_PER_TURN = 16


# One hash seed for all: a random one would be shared by the children of one fork server and tell them from others;
# with this one the same script over the same documents gives the same answer, whatever it hashes.
_ENVIRONMENT = MappingProxyType({"LANG": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0"})


class _Wakefulness:
    """Whether to stay awake for a child's next word instead of going to sleep for it.

    On another processor that sleeps, waking up takes four times as long as a script takes to make its next SDK
    call (measured on a virtual machine: 110 and 28 microseconds a round trip). So the keeper stays awake for a
    child that has just been quick, for a moment only; one wait in vain, and it sleeps for a while again. And only
    while no other child is in conversation: there is work enough then to be awake for.
    """

    _talking: ClassVar[set[_Wakefulness]] = set()

    def __init__(self) -> None:
        self._quick = False
        self._rest = 0
        self._heard = 0

    def worth_it(self) -> bool:
        """Whether the child has been quick, and is alone."""
        return self._quick and len(self._talking) == 1

    def begin(self) -> None:
        """The conversation begins."""
        self._talking.add(self)

    def end(self) -> None:
        """It has ended, or never began."""
        self._talking.discard(self)

    def learn(self, seconds: float) -> None:
        """It took the child so long to say something, waking up included."""
        self._rest = max(0, self._rest - 1)
        self._quick = _SEVERAL_PROCESSORS and not self._rest and seconds < _QUICK_SECONDS

    def waited_in_vain(self) -> None:
        """It said nothing."""
        self._quick, self._rest = False, _RESTS

    def others_turn(self) -> bool:
        """Now and then the event loop must turn: for other children, and for this one's deadline."""
        self._heard += 1
        return self._heard % _HEARD_PER_TURN == 0


class ForkedChild:
    """One child: it is born locked, serves one script, and is killed."""

    look_seconds = 0.05  # the kernel's own limit needs no look

    def __init__(self, channel: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
        self.born: asyncio.Future[None] = loop.create_future()
        self.death: asyncio.Future[ChildDeath] = loop.create_future()
        self._channel = channel
        self._loop = loop
        self._handle = -1
        self._statm = -1
        self._killed = False
        self._splitter = frames.Splitter(0)
        self._waiter: asyncio.Future[None] | None = None
        self._reading = False
        self._spoken = 0.0  # when we last said something
        self._awake = _Wakefulness()

    def begin(self, handle: int) -> None:
        """It exists; ``handle`` is its pidfd, ours from now on."""
        self._handle = handle
        if self._killed:
            self._kill_process()
        if not self.born.done():
            self.born.set_result(None)

    def end(self, death: ChildDeath) -> None:
        """It was reaped."""
        if not self.born.done():
            self.born.set_exception(SandboxUnavailable("the fork server died"))
            self.born.exception()  # seen, should nobody wait any more
        if not self.death.done():
            self.death.set_result(death)

    def kill(self) -> None:
        """SIGKILL, and let go of every descriptor. Idempotent; `death` follows."""
        if self._killed:
            return
        self._killed = True
        self._awake.end()
        self._pause()
        self._channel.close()
        if self._statm >= 0:
            os.close(self._statm)
            self._statm = -1  # its number is another file's soon
        if self._handle >= 0:
            self._kill_process()

    def strike(self) -> None:
        """SIGKILL only; whoever converses with it sees its end."""
        if self._handle >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def _kill_process(self) -> None:
        self.strike()
        os.close(self._handle)
        self._handle = -1

    def resident_bytes(self) -> int:
        """Its resident memory now; 0 where /proc does not tell."""
        try:
            if self._statm < 0:
                self._statm = os.open(f"/proc/{self._pid()}/statm", os.O_RDONLY | os.O_CLOEXEC)
            return int(os.pread(self._statm, 256, 0).split()[1]) * _PAGE_BYTES
        except (OSError, IndexError):
            return 0

    def measure(self) -> ChildDeath | None:
        """What it has used so far; None where /proc does not tell, or it is dead already."""
        try:
            pid = self._pid()
            with open(f"/proc/{pid}/schedstat") as file:
                on_cpu_ns = int(file.read().split()[0])
            with open(f"/proc/{pid}/status") as lines:
                peak_kib = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
        except (OSError, StopIteration, IndexError, ValueError):
            return None
        return ChildDeath(0, on_cpu_ns / 1e6, peak_kib * 1024)

    def _pid(self) -> int:
        with open(f"/proc/self/fdinfo/{self._handle}") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("Pid:"))

    # --- frames ---

    def expect(self, longest: int) -> None:
        """From now on no frame longer than this is taken."""
        self._splitter = frames.Splitter(longest)
        self._awake.begin()

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
        self._spoken = time.perf_counter()

    async def receive(self) -> bytes:
        """The body of the next frame. ChildGone at its end, ProtocolError when it is announced too long."""
        while (body := self._splitter.next()) is None:
            if self._awake.worth_it() and self._heard_awake():
                if self._awake.others_turn():
                    await asyncio.sleep(0)
                continue
            if not self._reading:
                self._reading = True
                self._loop.add_reader(self._channel, self._hear)
            self._waiter = self._loop.create_future()
            await self._waiter
            self._awake.learn(time.perf_counter() - self._spoken)
        return body

    def _heard_awake(self) -> bool:
        """Stay awake for a moment; whether the child said something in it."""
        until = self._spoken + _SPIN_SECONDS
        while True:
            try:
                data = self._channel.recv(_RECEIVE_BYTES)
                break
            except BlockingIOError:
                if time.perf_counter() >= until:
                    self._awake.waited_in_vain()
                    return False
            except OSError:
                data = b""
                break
        if not data:
            raise ChildGone
        self._splitter.feed(data)
        return True

    def _hear(self) -> None:
        waiter = self._waiter
        if waiter is None or waiter.done():
            # Nobody listens: what it says now waits in the kernel, and blocks it when that is full.
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
    """Our end of one fork server."""

    def __init__(
        self, process: subprocess.Popen[bytes], control: socket.socket, group: MemoryGroup | None
    ) -> None:
        self.walls: tuple[WallReport, ...] = ()
        self.breaches: tuple[str, ...] = ()
        self.spares: deque[ForkedChild] = deque()
        self.coming = 0  # spares being forked
        self.served = 0
        self.gone = False
        self.on_fault: Callable[[ForkServer], None] = lambda _: None
        self._process = process
        self._group = group
        self._starved = 0  # children that the group's limit has killed
        self._control = control
        self._loop = asyncio.get_running_loop()
        self._names = itertools.count()
        self._children: dict[int, ForkedChild] = {}
        self._hello: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        self._idle = asyncio.Event()
        self._idle.set()
        self._loop.add_reader(control, self._hear)

    @classmethod
    async def start(cls, limits: Limits, layers: Layers, children: int) -> ForkServer:
        """Execute one, for so many children at once, and wait until it has tested its walls."""
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
        group, told = cgroups.around(process.pid, children * (limits.memory_bytes + WARM_BYTES))
        server = cls(process, ours, group)
        try:
            async with asyncio.timeout(_START_SECONDS):
                hello = await server._hello
        except (TimeoutError, SandboxUnavailable):
            words = await server._last_words()
            raise SandboxUnavailable(f"the fork server did not start: {words}") from None
        except BaseException:
            await server.close()
            raise
        server._read(hello)
        server.walls += (told,)
        return server

    async def _last_words(self) -> str:
        self._process.kill()
        stream = self._process.stderr
        assert stream is not None
        text = (await asyncio.to_thread(stream.read)).decode(errors="replace")
        await self.close()
        return text.strip().rpartition("\n")[2] or f"exit code {self._process.returncode}"

    def _read(self, hello: dict[str, Any]) -> None:
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
        """A new locked child."""
        if self.gone:
            raise SandboxUnavailable("the fork server is gone")
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        name = next(self._names)
        child = ForkedChild(ours, self._loop)
        self._children[name] = child
        self._idle.clear()
        order = {"spawn": name, "memory_bytes": limits.memory_bytes, "cpu_seconds": limits.cpu_seconds}
        try:
            with theirs:
                socket.send_fds(self._control, [json.dumps(order).encode()], [theirs.fileno()])
            await child.born
        except OSError as error:
            self._children.pop(name, None)
            child.kill()
            if not isinstance(error, BlockingIOError):  # then it is only slow
                self._lose()
            raise SandboxUnavailable(f"the fork server takes no orders: {error.strerror}") from None
        except BaseException:
            child.kill()
            raise
        return child

    def _hear(self) -> None:
        """One message of the fork server's, or its end."""
        try:
            message, handles, _, _ = socket.recv_fds(self._control, _MESSAGE_BYTES, 1)
        except BlockingIOError:
            return
        except OSError:
            message, handles = b"", []
        if not message:
            self._lose()
            return
        record = json.loads(message)
        if "hello" in record:
            if not self._hello.done():
                self._hello.set_result(record["hello"])
        elif "spawned" in record:
            self._children[record["spawned"]].begin(handles[0])
        else:
            child = self._children.pop(record.pop("gone"))
            death = ChildDeath(**record, starved=self._has_starved(record["signal"]))
            child.end(death)
            if death.fault:
                self.on_fault(self)
            if not self._children:
                self._idle.set()

    def _has_starved(self, number: int) -> bool:
        """Whether a child that died of this signal was killed by the group's limit."""
        if self._group is None or number != signal.SIGKILL:
            return False
        before, self._starved = self._starved, self._group.kills()
        return self._starved > before

    def _lose(self) -> None:
        """It is gone, and the kernel has taken all its children with it."""
        if self.gone:
            return
        self.gone = True
        self._loop.remove_reader(self._control)
        if not self._hello.done():
            self._hello.set_exception(SandboxUnavailable("the fork server died"))
        for child in self._children.values():
            child.end(ChildDeath(signal.SIGKILL, 0.0, 0))
        self._children.clear()
        self._idle.set()

    async def close_when_idle(self) -> None:
        """Let running scripts end, then close."""
        self._let_go_of_spares()
        with contextlib.suppress(asyncio.CancelledError):
            await self._idle.wait()
        await self.close()

    async def close(self) -> None:
        """End it and every child. Idempotent."""
        self._lose()
        self._let_go_of_spares()
        self._control.close()
        if self._hello.done() and not self._hello.cancelled():
            self._hello.exception()  # seen
        await asyncio.shield(asyncio.to_thread(self._reap))

    def _let_go_of_spares(self) -> None:
        for spare in self.spares:
            spare.kill()
        self.spares.clear()

    def _reap(self) -> None:
        # Closing the control socket ends it; killing is for one that hangs.
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
    """How the fork server is executed: without site, with our paths only, and with no folder of the caller's.

    Not with -I, which would ignore the environment below; that is ours to the last variable.
    """
    homes = [str(Path(__file__).resolve().parents[2]), str(Path(RestrictedPython.__file__).resolve().parents[1])]
    homes = list(dict.fromkeys(homes))
    start = (
        f"import sys; sys.path[:0] = {homes!r}\n"
        "from sandbox.child.zygote import main\n"
        f"main({control}, {os.getpid()}, {asdict(limits)!r}, fence={layers.fence}, walled={layers.walls})"
    )
    return [sys.executable, "-P", "-s", "-S", "-B", "-X", "utf8", "-c", start]
