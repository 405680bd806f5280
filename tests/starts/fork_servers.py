"""A process that has warmed up as a fork server does (sandbox/child/zygote.py), and forks for each start of one.

It is started with the options, paths and environment of the fork servers that it stands for. A fork applies the
walls and tests them as a start does; what it has from the template is what it would import first.

A *shared* one forks for any process that connects to its socket. Its forks are children of a process that does
nothing else; they watch the process that asked for them, and end with it.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Mapping
from typing import Any

from tests.starts import forking, requests

_SECONDS = 5.0
_OURS = "tests.starts."
_PR_SET_CHILD_SUBREAPER = 36


def main(number: int, program: str, options: Mapping[str, Any]) -> None:
    """Warm up, and fork for each request on this socket."""
    channel = socket.socket(fileno=number)
    _warm_up(program, options)
    channel.sendall(os.getpid().to_bytes(4, "little"))
    while _serve(channel):
        pass
    os._exit(0)


def main_shared(number: int, life: int, program: str, options: Mapping[str, Any]) -> None:
    """Warm up, and fork for each process that connects to this socket, until ``life`` is closed."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if os.fork() != 0:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system forgets what has ended
        os.close(number)
        os.read(life, 1)
        os._exit(0)
    listener = socket.socket(fileno=number)
    _warm_up(program, options)
    while listener in select.select([listener, life], [], [])[0]:
        channel, _ = listener.accept()
        with channel:
            (asking, _, _) = struct.unpack("3i", channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            _serve(channel, listener, asking)
    os._exit(0)


def _warm_up(program: str, options: Mapping[str, Any]) -> None:
    zygote: Any = importlib.import_module("winnow.sandbox.child.zygote")
    module: Any = importlib.import_module(program)
    module.warm_up(**options)
    module.warm_up = _is_warm
    _leave_threads(zygote)
    gc.collect()
    gc.freeze()


def _serve(channel: socket.socket, listener: socket.socket | None = None, parent: int = 0) -> bool:
    """Fork for the next request; False at the end. ``parent``: the process that the fork takes for its parent."""
    if (received := requests.receive(channel)) is None:
        return False
    request, descriptors = received
    pid = forking.fork_for_parent()
    if pid == 0:
        forking.arrange_descriptors(request.numbers, descriptors)
        for inherited in filter(None, (channel, listener)):
            inherited.detach()
        if parent:
            _take_parent(parent)
        forking.take_place(request.folder, has_own_session=request.has_own_session, group=request.group)
        for name in [name for name in sys.modules if name.startswith(_OURS)]:
            del sys.modules[name]
        exec(compile(request.source, "<string>", "exec"), {"__name__": "__main__"})
        os._exit(1)  # a fork server never returns
    channel.sendall(pid.to_bytes(4, "little"))
    for each in descriptors:
        os.close(each)
    return True


def _take_parent(pid: int) -> None:
    """Let the fork server see this parent when it compares its own, which it does once."""
    usual = os.getppid

    def getppid() -> int:
        os.getppid = usual
        return pid

    os.getppid = getppid


def _leave_threads(zygote: Any) -> None:
    """Go on in a fork where the warm-up started threads, as a fork server does, and as a child of the same parent.

    That one is the next in line to whom the system gives children whose parent has ended.
    """
    until = time.monotonic() + _SECONDS
    while zygote._other_threads() - {"S"} and time.monotonic() < until:
        time.sleep(0.001)
    if zygote._other_threads():
        first = os.getpid()
        if os.fork() != 0:
            os._exit(0)
        while os.getppid() == first:
            time.sleep(0.001)


def _is_warm(**options: Any) -> None:
    """In place of the warm-up, which is done."""
