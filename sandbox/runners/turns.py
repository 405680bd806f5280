"""Turns on the event loop: a conversation with a child keeps it for a bounded time."""

from __future__ import annotations

import asyncio
import time

TURN_SECONDS = 5e-3


class Turn:
    """The time that one conversation has worked since others last ran.

    A frame may cost a hundred times what another costs, so turns are counted in time, not in frames.
    """

    def __init__(self) -> None:
        self._began = time.perf_counter()

    async def give_way(self) -> None:
        """Let the event loop run once if the turn is over: for other clients, and for this child's deadline."""
        if time.perf_counter() - self._began >= TURN_SECONDS:
            await asyncio.sleep(0)
            self.begin()

    def begin(self) -> None:
        """Record that the event loop has just run."""
        self._began = time.perf_counter()
