"""When the parent spins for a child's next frame instead of sleeping."""

from __future__ import annotations

import os
from typing import ClassVar

_QUICK_SECONDS = 500e-6
_SEVERAL_PROCESSORS = len(os.sched_getaffinity(0)) > 1 if hasattr(os, "sched_getaffinity") else False
_FRAMES_WITHOUT_SPINNING = 16  # after a timeout


class SpinPolicy:
    """Whether to spin (poll without sleeping) for a child's next frame.

    Waking a sleeping processor takes four times as long as a script takes to make its next SDK call (measured on a
    virtual machine: 110 and 28 microseconds a round trip). So the parent spins briefly for a child that has just
    been quick; after one timeout it sleeps for the next frames again. It spins only while no other child is in
    conversation: otherwise the event loop has other work to do.
    """

    _talking: ClassVar[set[SpinPolicy]] = set()

    def __init__(self) -> None:
        self._quick = False
        self._frames_to_sleep = 0

    def should_spin(self) -> bool:
        """Whether the child has been quick, and is the only one in conversation."""
        return self._quick and len(self._talking) == 1

    def begin(self) -> None:
        """Record that the conversation begins."""
        self._talking.add(self)

    def end(self) -> None:
        """Record that the conversation has ended. Idempotent."""
        self._talking.discard(self)

    def record_latency(self, seconds: float) -> None:
        """Record how long the child's frame took after a sleep, waking up included."""
        self._frames_to_sleep = max(0, self._frames_to_sleep - 1)
        self._quick = _SEVERAL_PROCESSORS and not self._frames_to_sleep and seconds < _QUICK_SECONDS

    def record_timeout(self) -> None:
        """Record that spinning brought no frame."""
        self._quick, self._frames_to_sleep = False, _FRAMES_WITHOUT_SPINNING
