"""A fork server for threads: one locked child at a time, with one request and one answer.

The asyncio parent of scripts is in fork_server.py. The answer is as hostile as any frame of a child: this module
bounds its size and its time; the caller checks what it says.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import NoReturn

from winnow.sandbox.protocol.answers import (
    ChildReaped,
    ChildSpawned,
    ForkServerAnswer,
    ForkServerReady,
    decode_answer,
)
from winnow.sandbox.protocol.frames import ProtocolError
from winnow.sandbox.protocol.jobs import SpawnRequest
from winnow.sandbox.protocol.limits import WARM_BYTES, Limits
from winnow.sandbox.protocol.outcome import SandboxUnavailable
from winnow.sandbox.walls import cgroups

from .launch import START_SECONDS, ForkServerProgram, end, launch, report_walls

_MESSAGE_BYTES = 64 * 1024
_READ_BYTES = 64 * 1024
_REAP_SECONDS = 10.0  # a killed process is gone in milliseconds
_LENGTH = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class ChildRequest:
    """The request to one child: a body, the descriptor of a file (-1: none), and its limits.

    ``answer_bytes`` is the largest body of a part of the answer; the answer has one part for each number.
    """

    body: bytes
    document: int
    limits: Limits
    answer_bytes: Sequence[int]


@dataclass(frozen=True, slots=True)
class ChildEnd:
    """The end of a child.

    ``parts`` of its answer; empty where there is no whole answer. ``signal``: the one that killed it, 0 for none.
    ``is_late``: it was killed because its time on the clock was over. ``is_oversized``: its answer was too large.
    """

    parts: tuple[bytes, ...]
    signal: int
    cpu_ms: float
    memory_peak_bytes: int
    is_late: bool = False
    is_oversized: bool = False


def _is_readable(end: socket.socket) -> bool:
    poll = select.poll()
    poll.register(end, select.POLLIN)
    return bool(poll.poll(0))


class _Oversized(Exception):
    """A part of an answer is larger than its limit."""


class LockedChildren:
    """A running fork server. For one thread at a time, but ``close`` may be called from any."""

    def __init__(self, program: ForkServerProgram, limits: Limits) -> None:
        """Start it and wait until it has tested its walls. SandboxUnavailable where it does not start."""
        self._names = itertools.count()
        self._is_closed = False
        self._process, self._control = launch(program, limits)
        self._group, report = cgroups.create_around(self._process.pid, limits.memory_bytes + WARM_BYTES)
        try:
            self._control.settimeout(START_SECONDS)
            ready = self._receive()[0]
            if not isinstance(ready, ForkServerReady):
                raise ProtocolError("the fork server did not greet")
        except (OSError, EOFError, ProtocolError):
            error = self._read_last_error_line()
            raise SandboxUnavailable(f"the fork server did not start: {error}") from None
        self.walls = (*report_walls(ready), report)
        self.breaches = ready.breaches

    def __enter__(self) -> LockedChildren:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def is_idle(self) -> bool:
        """Whether the fork server waits for a request. Not while a child runs."""
        # One that has died has closed its end, which wakes the poll.
        return not self._is_closed and not _is_readable(self._control)

    def run(self, request: ChildRequest) -> ChildEnd:
        """Run one child. SandboxUnavailable where the fork server is gone; it must be started anew then."""
        ours, theirs = socket.socketpair()
        with ours:
            try:
                handle = self._spawn(request, theirs)
            finally:
                theirs.close()
            try:
                conversation = _Conversation(ours, time.monotonic() + request.limits.wall_seconds)
                parts, is_late, is_oversized = conversation.hold(request)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                os.close(handle)
        death = self._await_death()
        # An answer that is whole counts; that its child was killed then says nothing.
        number = 0 if parts else death.signal
        return ChildEnd(parts, number, death.cpu_ms, death.memory_peak_bytes, is_late, is_oversized)

    def _spawn(self, request: ChildRequest, channel: socket.socket) -> int:
        """Have a child forked; returns its pidfd."""
        limits = request.limits
        message = SpawnRequest(next(self._names), limits.memory_bytes, limits.cpu_seconds).encode()
        descriptors = [channel.fileno(), *([request.document] if request.document >= 0 else [])]
        try:
            self._control.settimeout(START_SECONDS)
            socket.send_fds(self._control, [json.dumps(message).encode()], descriptors)
            answer, handles = self._receive()
        except (OSError, EOFError, ProtocolError):
            self._fail()
        if not isinstance(answer, ChildSpawned) or len(handles) != 1:
            self._fail()
        return handles[0]

    def _await_death(self) -> ChildReaped:
        try:
            self._control.settimeout(_REAP_SECONDS)
            answer, _ = self._receive()
        except (OSError, EOFError, ProtocolError):
            self._fail()
        if not isinstance(answer, ChildReaped):
            self._fail()
        return answer

    def _receive(self) -> tuple[ForkServerAnswer, list[int]]:
        message, handles, _, _ = socket.recv_fds(self._control, _MESSAGE_BYTES, 1)
        if not message:
            raise EOFError
        return decode_answer(json.loads(message)), handles

    def _fail(self) -> NoReturn:
        self.close()
        raise SandboxUnavailable("the fork server is gone")

    def _read_last_error_line(self) -> str:
        self._process.kill()
        _, errors = self._process.communicate()
        self.close()
        return errors.decode(errors="replace").strip().rpartition("\n")[2] or "no message"

    def close(self) -> None:
        """End it and its child. Idempotent."""
        if self._is_closed:
            return
        self._is_closed = True
        # Wakes a thread that waits for an answer; closing alone would leave it waiting.
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        self._control.close()
        end(self._process, self._group)


class _Conversation:
    """One request to a child and its answer, until a moment of the monotonic clock."""

    def __init__(self, channel: socket.socket, until: float) -> None:
        self._channel = channel
        self._until = until

    def hold(self, request: ChildRequest) -> tuple[tuple[bytes, ...], bool, bool]:
        """The parts of the answer, whether time ran out, and whether a part was too large."""
        try:
            self._wait()
            self._channel.sendall(_LENGTH.pack(len(request.body)) + request.body)
            return tuple(self._read_part(most) for most in request.answer_bytes), False, False
        except TimeoutError:
            return (), True, False
        except _Oversized:
            return (), False, True
        except (OSError, EOFError):
            return (), False, False

    def _wait(self) -> None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._channel.settimeout(left)

    def _read_part(self, most: int) -> bytes:
        length = _LENGTH.unpack(self._read(_LENGTH.size))[0]
        if length > most:
            raise _Oversized
        return self._read(length)

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            self._wait()
            more = self._channel.recv(min(size - len(data), _READ_BYTES))
            if not more:
                raise EOFError
            data += more
        return bytes(data)
