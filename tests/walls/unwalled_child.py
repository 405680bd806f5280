"""An executed child without walls and limits that allocates memory until killed, for test_runners.py."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from typing import Any

from winnow.sandbox.protocol import frames

_STEP_BYTES = 1024 * 1024
_STEP_SECONDS = 0.001  # slow enough to be seen long before the machine is full


def main(descriptor: int, limits: Mapping[str, Any], trial: bool = False) -> None:
    """Report no walls, wait for a job, then take memory until killed."""
    channel = socket.socket(fileno=descriptor)
    channel.sendall(frames.pack(frames.dump({"ready": {"raised": [], "workers": [], "found": {}}})))
    channel.recv(_STEP_BYTES)
    taken = []
    while True:
        taken.append(b"x" * _STEP_BYTES)
        time.sleep(_STEP_SECONDS)
