"""A program of the children of a fork server that answers with what such a child sees of its process."""

from __future__ import annotations

import json
import os
import resource
import signal
import struct
import sys
import threading
from collections.abc import Callable
from typing import Any

_RPC = 3


def warm_up(**options: Any) -> None:
    """Nothing is needed later."""


def prepare(**options: Any) -> Callable[[], None]:
    """Look around; returns the answer to one request."""
    body = json.dumps(_look()).encode()

    def answer() -> None:
        os.read(_RPC, 100)
        os.write(_RPC, struct.pack(">I", len(body)) + body)

    return answer


def _look() -> dict[str, Any]:
    return {
        "modules": sorted(sys.modules),
        "path": sys.path,
        "arguments": [sys.argv, sys.orig_argv],
        "environment": dict(os.environ),
        "flags": str(sys.flags),
        "main": sorted(vars(sys.modules["__main__"])),
        "descriptors": [number for number in range(1024) if _is_open(number)],
        "folder": os.getcwd(),
        "hash": hash("words"),
        "user": [os.getresuid(), os.getresgid(), os.getgroups()],
        "limits": [resource.getrlimit(number) for number in range(16)],
        "signals": {str(each): str(signal.getsignal(each)) for each in signal.valid_signals()},
        "blocked": [str(each) for each in signal.pthread_sigmask(signal.SIG_BLOCK, ())],
        "threads": threading.active_count(),
        "bytecode": sys.dont_write_bytecode,
    }


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
