"""An executed child's end of its descriptor (spawned.py has the other one)."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import threading
from typing import Any, NoReturn

from sandbox.protocol import frames

_READ_BYTES = 64 * 1024


class DescriptorChannel:
    """Frames over the one descriptor, as an executed child sees them."""

    def __init__(self, end: socket.socket) -> None:
        end.set_inheritable(False)  # what is executed below gets nothing of it
        self._end = end

    def send(self, frame: dict[str, Any]) -> None:
        """Say something."""
        self.send_body(frames.dump(frame))

    def send_body(self, body: bytes) -> None:
        """Say something that is encoded already."""
        self._end.sendall(frames.pack(body))

    def receive(self) -> Any:
        """Wait for the parent's next word; its end is ours."""
        (size,) = frames.HEADER.unpack(self._exactly(frames.HEADER.size))
        return frames.decode_from_parent(self._exactly(size))

    def _exactly(self, size: int) -> bytes:
        found = bytearray()
        while len(found) < size:
            more = self._end.recv(min(_READ_BYTES, size - len(found)))
            if not more:
                end_all()
            found += more
        return bytes(found)

    def watch(self) -> None:
        """End with the parent, even while the script computes elsewhere."""
        if hasattr(select, "poll"):
            threading.Thread(target=self._wait_for_end, daemon=True).start()

    def _wait_for_end(self) -> None:
        poll = select.poll()
        poll.register(self._end, 0)  # its end is told unasked
        poll.poll()
        end_all()


def end_all() -> NoReturn:
    """Kill this process and all below it: they are a group of their own."""
    if sys.platform != "win32":
        os.killpg(0, signal.SIGKILL)
    os._exit(0)
