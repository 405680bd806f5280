"""The examination of the installation: one at a time, and everybody who asks meanwhile gets its findings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from winnow.server.console.records import Rows


class Examination:
    """Findings of a function that takes seconds and a thread: several would take the threads of other pages."""

    def __init__(self, examine: Callable[[], Rows]) -> None:
        self._examine = examine
        self._running: asyncio.Task[Rows] | None = None

    async def findings(self) -> Rows:
        """The findings of the examination that runs, or of a new one."""
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(asyncio.to_thread(self._examine))
        # Shielded: who asked first may go, and others wait.
        return await asyncio.shield(self._running)
