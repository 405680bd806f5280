"""A process that has warmed up as a fork server does (sandbox/child/zygote.py), and forks for each start of one.

It is started with the options, paths and environment of the fork servers that it stands for. A fork applies the
walls and tests them as a start does; what it has from the template is what it would import first.
"""

from __future__ import annotations

import gc
import importlib
import os
import socket
import sys
import time
from collections.abc import Mapping
from typing import Any

from tests.starts import forking, requests

_SECONDS = 5.0
_OURS = "tests.starts."


def main(number: int, program: str, options: Mapping[str, Any]) -> None:
    """Warm up, and fork for each request on this socket."""
    channel = socket.socket(fileno=number)
    zygote: Any = importlib.import_module("winnow.sandbox.child.zygote")
    module: Any = importlib.import_module(program)
    module.warm_up(**options)
    module.warm_up = _is_warm
    _leave_threads(zygote)
    gc.collect()
    gc.freeze()
    channel.sendall(os.getpid().to_bytes(4, "little"))
    while (received := requests.receive(channel)) is not None:
        request, descriptors = received
        pid = forking.fork_for_parent()
        if pid == 0:
            forking.arrange_descriptors(request.numbers, descriptors)
            channel.detach()
            forking.take_place(request.folder, has_own_session=request.has_own_session, group=request.group)
            for name in [name for name in sys.modules if name.startswith(_OURS)]:
                del sys.modules[name]
            exec(compile(request.source, "<string>", "exec"), {"__name__": "__main__"})
            os._exit(1)  # a fork server never returns
        channel.sendall(pid.to_bytes(4, "little"))
        for each in descriptors:
            os.close(each)
    os._exit(0)


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
