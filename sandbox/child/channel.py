"""A child's end of the descriptor that connects it to the parent.

A locked child may only ``read`` and ``write`` the descriptor, and ``recv`` without waiting (walls/seccomp.py), so
sockets are read and written with these calls wherever the system allows it.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

from winnow.sandbox.protocol import frames
from winnow.sandbox.protocol.limits import KIB

from .alarm import alarm

_READ_BYTES = 64 * KIB  # a larger buffer is mapped and unmapped at every read: ten times as slow

# Waking up takes longer than an answer of the parent from memory. If the parent's last answer was quick, a child
# therefore waits for this long without sleeping, unless they share a single processor.
_SPIN_SECONDS = 100e-6
_QUICK_SECONDS = 200e-6
_SEVERAL_PROCESSORS = len(os.sched_getaffinity(0)) > 1 if hasattr(os, "sched_getaffinity") else False
_now = time.perf_counter


class ChildChannel:
    """Frames from and to the parent. ``exit_process`` is called when the parent has closed its end."""

    def __init__(self, end: socket.socket, exit_process: Callable[[], NoReturn]) -> None:
        self._end = end
        self._descriptor = end.fileno()
        self._exit_process = exit_process
        self._is_quick = False  # whether the parent's last answer came quickly

    def send(self, frame: dict[str, Any]) -> None:
        """Send a frame. Raises ValueError or TypeError if it is not plain data."""
        self.send_body(frames.dump(frame))

    def send_body(self, body: bytes) -> None:
        """Send a frame that is encoded already."""
        data = frames.pack(body)
        alarm.is_busy = True
        try:
            sent = self._write(data)
            while sent < len(data):
                sent += self._write(data[sent:])
        finally:
            alarm.is_busy = False
        alarm.check()

    def receive(self) -> Any:
        """Wait for the parent's next frame. The parent sends no further frame before it gets an answer."""
        alarm.is_busy = True
        try:
            data = self._complete(self._read_next(), frames.HEADER.size)
            data = self._complete(data, frames.HEADER.size + frames.HEADER.unpack_from(data)[0])
        finally:
            alarm.is_busy = False
        alarm.check()
        return frames.decode_from_parent(data[frames.HEADER.size :])

    def _complete(self, data: bytes, size: int) -> bytes:
        """The data, completed to this size by reading from the descriptor."""
        if len(data) >= size:
            return data
        whole = bytearray(data)
        while len(whole) < size:
            more = self._read(size - len(whole))
            if not more:
                self._exit_process()
            whole += more
        return bytes(whole)

    def _read_next(self) -> bytes:
        """Read the beginning of the next frame. While the parent answers quickly, wait without sleeping."""
        started = _now()
        while self._is_quick:
            try:
                return self._end.recv(_READ_BYTES, socket.MSG_DONTWAIT)
            except BlockingIOError:
                self._is_quick = _now() - started < _SPIN_SECONDS
                os.sched_yield()
        data = self._read(_READ_BYTES)
        self._is_quick = _SEVERAL_PROCESSORS and _now() - started < _QUICK_SECONDS
        return data

    def _read(self, size: int) -> bytes:
        return self._end.recv(size) if sys.platform == "win32" else os.read(self._descriptor, size)

    def _write(self, data: bytes) -> int:
        return self._end.send(data) if sys.platform == "win32" else os.write(self._descriptor, data)
