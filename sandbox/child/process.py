"""The first and the last thing in a child: raise the walls, take one script, say how it ended, exit.

Until the walls are up nothing of the script has been read. After that this file's descriptor 3 is all there is.
"""

from __future__ import annotations

import importlib
import os
import random
import socket
import sys
import time
from dataclasses import replace
from typing import Any, NoReturn

from sandbox.language import script_builtins
from sandbox.protocol import frames
from sandbox.protocol.limits import KIB
from sandbox.walls.seccomp import RPC
from sandbox.walls.wall_table import Wall, WallResources

from . import script

_READ_BYTES = 64 * KIB  # a larger buffer is mapped and unmapped at every read: ten times as slow

# On another processor that sleeps, waking up takes longer than the parent takes to answer from memory.
_SPIN_SECONDS = 100e-6
_QUICK_SECONDS = 200e-6
_SEVERAL_PROCESSORS = len(os.sched_getaffinity(0)) > 1 if hasattr(os, "sched_getaffinity") else False
_now = time.perf_counter

# Imported by name while they run, by parts of the standard library that every script may reach.
LATE_IMPORTS = (
    "_strptime", "stringprep", "unicodedata", "zlib", "struct", "locale", "linecache", "tokenize", "traceback",
    "encodings.ascii", "encodings.idna", "encodings.latin_1", "encodings.punycode", "encodings.raw_unicode_escape",
    "encodings.unicode_escape", "encodings.utf_16", "encodings.utf_16_be", "encodings.utf_16_le",
    "encodings.utf_32", "encodings.utf_8_sig", "encodings.cp1252", "encodings.cp437", "encodings.iso8859_15",
    "encodings.hex_codec", "encodings.base64_codec", "encodings.rot_13",
    *(("_pylong",) if sys.version_info >= (3, 12) else ()),  # divides integers of many digits
)  # fmt: skip
# What a script may name when the fence is off: the tests' attacks must fail at the walls, not at an import.
_RAW_IMPORTS = (
    "ctypes", "fcntl", "mmap", "multiprocessing.popen_fork", "multiprocessing.synchronize", "os", "pwd",
    "resource", "select", "shutil", "signal", "socket", "subprocess", "sys", "tempfile", "threading", "pathlib",
    "glob", "urllib.request", "http.client", "pickle", "inspect", "gc", "importlib", "asyncio", "zipfile",
)  # fmt: skip


def warm_up(*, fence: bool) -> None:
    """In the fork server: import and compile once what every child would."""
    for name in LATE_IMPORTS if fence else LATE_IMPORTS + _RAW_IMPORTS:
        importlib.import_module(name)
    script.warm_up()


def live(ground: WallResources, raised: tuple[Wall, ...], *, fence: bool) -> NoReturn:
    """Become a locked child, run one script, and wait to be killed. No finaliser runs, no exit hook."""
    try:
        os.dup2(ground.rpc, RPC)
        ears = socket.socket(fileno=RPC)  # made here: behind the walls nobody may ask what it is
        for wall in raised:
            wall.apply(replace(ground, rpc=RPC))
        random.seed(os.urandom(32))  # no two children draw the same numbers
        script_builtins.reseed_identities()
        channel = ChildChannel(ears)
        script.rehearse()
        channel.send_body(script.run(channel.receive(), channel, fence=fence))
        channel.receive()  # never comes: the parent measures us, and kills
    finally:
        os._exit(0)


class ChildChannel:
    """Frames over the one descriptor, as a child sees them."""

    def __init__(self, ears: socket.socket) -> None:
        self._ears = ears
        self._quick = False

    def send(self, frame: dict[str, Any]) -> None:
        """Say something. ValueError or TypeError when it is not data."""
        self.send_body(frames.dump(frame))

    def send_body(self, body: bytes) -> None:
        """Say something that is encoded already."""
        data = frames.pack(body)
        sent = os.write(RPC, data)
        while sent < len(data):
            sent += os.write(RPC, data[sent:])

    def receive(self) -> Any:
        """Wait for the parent's next word. It never says two things at once."""
        data = self._listen()
        if not data:
            os._exit(0)  # the parent is gone
        end = frames.HEADER.size + frames.HEADER.unpack_from(data)[0]
        if len(data) < end:
            whole = bytearray(data)
            while len(whole) < end:
                more = os.read(RPC, end - len(whole))
                if not more:
                    os._exit(0)
                whole += more
            data = bytes(whole)
        return frames.decode_from_parent(data[frames.HEADER.size :])

    def _listen(self) -> bytes:
        """What the parent says next; while it answers quickly, without going to sleep for it."""
        started = _now()
        while self._quick:
            try:
                return self._ears.recv(_READ_BYTES, socket.MSG_DONTWAIT)
            except BlockingIOError:
                self._quick = _now() - started < _SPIN_SECONDS
                os.sched_yield()
        data = os.read(RPC, _READ_BYTES)
        self._quick = _SEVERAL_PROCESSORS and _now() - started < _QUICK_SECONDS
        return data
