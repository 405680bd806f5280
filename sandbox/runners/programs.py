"""Runs programs of the operator behind walls: one process for each call, its output capped while it is read.

The processes and what they say on their control socket are in child/operator_program.py. Whatever the program
does, a call ends: at its time, when its output is too long, when it is cancelled, or when the program ends. What
the program has started ends with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import psutil

from winnow import SEARCH_PATH
from winnow.sandbox.protocol.limits import KIB, MIB, Limits
from winnow.sandbox.protocol.outcome import SandboxUnavailable, WallReport
from winnow.sandbox.walls import cgroups

_READ_BYTES = 64 * KIB
_ERROR_TAIL_BYTES = 4 * KIB
_CONTROL_BYTES = 64 * KIB
_POLL_SECONDS = 0.1  # until a cancelled call is noticed
_START_SECONDS = 20.0
_END_SECONDS = 5.0
_OURS_BYTES = 64 * MIB  # resident memory of the two processes that wait


@dataclass(frozen=True, slots=True)
class ProgramCall:
    """One call of a program: what it gets, what it may reach, and its limits.

    ``arguments`` begin with the absolute path of the program. ``readable`` are files and folders that it may read
    beside the system's. ``ports``: TCP ports that it may connect to, None for any network, empty for none.
    ``bounds_address_space``: False for a runtime that reserves far more memory than it uses.
    """

    arguments: Sequence[str]
    environment: Mapping[str, str]
    stdin: bytes
    readable: Sequence[str] = ()
    ports: Sequence[int] | None = ()
    wall_seconds: float = 30.0
    memory_bytes: int = 512 * MIB
    processes: int = 64
    output_bytes: int = 32 * KIB
    bounds_address_space: bool = True


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """The end of a program: its output, the end of what it wrote to standard error, and its exit code.

    ``code`` is negative for a signal. ``is_late``, ``is_oversized``: it was killed at its time, or because its
    output was longer than ``output_bytes``; ``is_cancelled``: because its caller left; ``is_out_of_memory``:
    because its processes together held more than ``memory_bytes``. ``printed_bytes``: how much output was read.
    """

    stdout: bytes
    stderr: str
    code: int
    is_late: bool = False
    is_oversized: bool = False
    is_cancelled: bool = False
    is_out_of_memory: bool = False
    printed_bytes: int = 0


def run_program(call: ProgramCall, is_cancelled: Callable[[], bool] = lambda: False) -> ProgramEnd:
    """Run a program to its end. Blocks. SandboxUnavailable where one of its walls cannot be raised."""
    with _Processes(call) as processes:
        return _Conversation(processes, call, is_cancelled).hold()


def try_program_walls(*, is_online: bool) -> tuple[WallReport, ...]:
    """Raise every wall of a program on this host, try what it forbids, and report on each."""
    from winnow.sandbox.walls import program_walls

    ports = None if is_online else ()
    walls = program_walls.all_walls(program_walls.ProgramResources(Limits(), ports=ports))
    found: Mapping[str, Sequence[Any]] = {}
    reason = "it was not raised"
    try:
        with _Processes(ProgramCall((), {}, b"", ports=ports, wall_seconds=_START_SECONDS)) as processes:
            message = processes.wait_message(_START_SECONDS)
        found = {name: (stands, detail) for name, stands, detail in message["walls"]}
    except (SandboxUnavailable, KeyError, ValueError) as error:
        reason = str(error)
    return tuple(
        WallReport(wall.name, wall.protects, bool(stands), str(detail), "" if stands else wall.advice)
        for wall in walls
        for stands, detail in [found.get(wall.name, (False, reason))]
    )


class _Processes:
    """The processes of one call, from their start to the end of the last of them."""

    def __init__(self, call: ProgramCall) -> None:
        self.control, theirs = socket.socketpair()
        with theirs:
            try:
                self.process = subprocess.Popen(
                    _command(theirs.fileno()),
                    env={"LANG": "C.UTF-8"},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                    cwd="/",
                )
            except OSError as error:
                self.control.close()
                raise SandboxUnavailable(f"the program was not started: {error.strerror}") from None
        self._group, _ = cgroups.create_around(self.process.pid, call.memory_bytes + _OURS_BYTES)
        self._received = bytearray()
        with contextlib.suppress(OSError):
            self.control.sendall(_request(call))

    def __enter__(self) -> _Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def held_bytes(self) -> int:
        """The memory of all processes of the call; 0 where the kernel bounds it by a memory group."""
        if self._group is not None:
            return 0
        held = 0
        with contextlib.suppress(psutil.Error):
            for process in psutil.Process(self.process.pid).children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    held += _held_by(process)
        return held

    def read_message(self) -> dict[str, Any] | None:
        """The next message on the control socket; None at its end."""
        while b"\n" not in self._received:
            try:
                data = self.control.recv(_READ_BYTES)
            except OSError:
                data = b""
            if not data or len(self._received) > _CONTROL_BYTES:
                return None
            self._received += data
        line, _, rest = bytes(self._received).partition(b"\n")
        self._received = bytearray(rest)
        message: dict[str, Any] = json.loads(line)
        return message

    def wait_message(self, seconds: float) -> dict[str, Any]:
        """The next message. SandboxUnavailable for none, and for a wall that failed."""
        self.control.settimeout(seconds)
        message = self.read_message()
        if message is None:
            raise SandboxUnavailable("the process around the program ended, or does not answer")
        if "failed" in message:
            raise SandboxUnavailable(f"the wall {message['failed']} was not raised: {message['detail']}")
        return message

    def end(self) -> None:
        """End every process of the call; returns when the last is gone."""
        self.control.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self.process.poll() is None:
                self._wait_or_kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        if self._group is not None:
            self._group.remove()

    def _wait_or_kill(self) -> None:
        try:
            self.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def _held_by(process: psutil.Process) -> int:
    """The memory of one process, with its share of what it shares, or without where that is unknown."""
    try:
        return int(process.memory_full_info().pss)
    except psutil.AccessDenied:
        usage = process.memory_info()
        return max(0, int(usage.rss - usage.shared))


def _command(descriptor: int) -> list[str]:
    path = f"import sys; sys.path[:0] = [{SEARCH_PATH!r}]\n"
    code = f"{path}from winnow.sandbox.child.operator_program import main\nmain({descriptor})"
    return [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", code]


def _request(call: ProgramCall) -> bytes:
    limits = Limits(
        wall_seconds=call.wall_seconds, cpu_seconds=int(call.wall_seconds) + 1, memory_bytes=call.memory_bytes
    )
    request = {
        "argv": list(call.arguments),
        "environment": dict(call.environment),
        "readable": list(call.readable),
        "ports": None if call.ports is None else list(call.ports),
        "processes": call.processes,
        "bounds_address_space": call.bounds_address_space,
        "limits": asdict(limits),
    }
    return json.dumps(request).encode() + b"\n"


@dataclass(slots=True)
class _Conversation:
    """The input and output of a program, until it ends or is ended."""

    processes: _Processes
    call: ProgramCall
    is_cancelled: Callable[[], bool]
    _stdout: bytearray = field(default_factory=bytearray)
    _stderr: bytearray = field(default_factory=bytearray)
    _sent: int = 0
    _next_look: float = 0.0

    def hold(self) -> ProgramEnd:
        """Start the program, feed it and read it; returns how it ended. Its time begins when its walls stand."""
        self.processes.wait_message(_START_SECONDS)
        until = time.monotonic() + self.call.wall_seconds
        with selectors.DefaultSelector() as selector:
            self._register(selector)
            while selector.get_map():
                left = until - time.monotonic()
                if left <= 0:
                    return self._end(is_late=True)
                if self.is_cancelled():
                    return self._end(is_cancelled=True)
                for key, _ in selector.select(min(left, _POLL_SECONDS)):
                    key.data(selector, key.fileobj)
                if len(self._stdout) > self.call.output_bytes:
                    return self._end(is_oversized=True)
                if self._holds_too_much():
                    return self._end(is_out_of_memory=True)
            return self._await_status(until)

    def _holds_too_much(self) -> bool:
        """Whether its processes together hold more than their limit; looks ten times a second at most."""
        if time.monotonic() < self._next_look:
            return False
        self._next_look = time.monotonic() + _POLL_SECONDS
        return self.processes.held_bytes() > self.call.memory_bytes + _OURS_BYTES

    def _register(self, selector: selectors.BaseSelector) -> None:
        process = self.processes.process
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
        selector.register(process.stdin, selectors.EVENT_WRITE, self._feed)  # type: ignore[arg-type]
        selector.register(process.stdout, selectors.EVENT_READ, self._read_output)  # type: ignore[arg-type]
        selector.register(process.stderr, selectors.EVENT_READ, self._read_errors)  # type: ignore[arg-type]

    def _feed(self, selector: selectors.BaseSelector, stream: Any) -> None:
        try:
            self._sent += os.write(stream.fileno(), self.call.stdin[self._sent : self._sent + _READ_BYTES])
        except BlockingIOError:
            return
        except OSError:  # it does not read its input; that is its right
            self._sent = len(self.call.stdin)
        if self._sent >= len(self.call.stdin):
            selector.unregister(stream)
            with contextlib.suppress(OSError):
                stream.close()

    def _read_output(self, selector: selectors.BaseSelector, stream: Any) -> None:
        data = _read(stream)
        if data is None:
            selector.unregister(stream)
        else:
            self._stdout += data

    def _read_errors(self, selector: selectors.BaseSelector, stream: Any) -> None:
        data = _read(stream)
        if data is None:
            selector.unregister(stream)
        else:
            self._stderr += data
            del self._stderr[:-_ERROR_TAIL_BYTES]

    def _await_status(self, until: float) -> ProgramEnd:
        """All its streams are closed: wait for its exit code, until its time is over."""
        while True:
            left = until - time.monotonic()
            if left <= 0 or self.is_cancelled():
                return self._end(is_late=left <= 0, is_cancelled=left > 0)
            if self._holds_too_much():
                return self._end(is_out_of_memory=True)
            self.processes.control.settimeout(min(left, _POLL_SECONDS))
            try:
                message = self.processes.read_message()
            except ValueError:
                message = None
            if message is not None:
                return self._end(int(message["code"]))
            if self.processes.process.poll() is not None:
                return self._end(-int(signal.SIGKILL))

    def _end(
        self,
        code: int = 0,
        *,
        is_late: bool = False,
        is_oversized: bool = False,
        is_cancelled: bool = False,
        is_out_of_memory: bool = False,
    ) -> ProgramEnd:
        stdout = bytes(self._stdout[: self.call.output_bytes])
        stderr = self._stderr.decode(errors="replace")
        printed = len(self._stdout)
        return ProgramEnd(stdout, stderr, code, is_late, is_oversized, is_cancelled, is_out_of_memory, printed)


def _read(stream: Any) -> bytes | None:
    """The bytes that can be read now; None at the end of the stream."""
    try:
        return os.read(stream.fileno(), _READ_BYTES) or None
    except BlockingIOError:
        return b""
    except OSError:
        return None
