"""The end of a process that loses no answer: no new requests, and those in progress are answered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from winnow.server.runtime.logs import log


class Drain:
    """The requests in progress of one process, and whether it is ending. For one event loop."""

    def __init__(self) -> None:
        self.is_draining = False
        self._in_progress = 0
        self._changed = asyncio.Event()
        self._kept: set[asyncio.Task[Any]] = set()

    @property
    def in_progress(self) -> int:
        """The number of requests that have begun and are not answered."""
        return self._in_progress

    def begin(self) -> None:
        """From now on no new request is taken."""
        self.is_draining = True

    def begin_request(self) -> None:
        """A request has arrived."""
        self._in_progress += 1

    def end_request(self) -> None:
        """The answer of a request has been sent, or none is wanted any more."""
        self._in_progress -= 1
        self._changed.set()

    @contextmanager
    def request(self) -> Iterator[None]:
        """Around a request, until its answer has been sent."""
        self.begin_request()
        try:
            yield
        finally:
            self.end_request()

    def keep(self, work: asyncio.Task[Any]) -> None:
        """Count work that goes on after its request was answered, as a request in progress until it ends."""
        self.begin_request()
        self._kept.add(work)
        work.add_done_callback(self._release)

    def _release(self, work: asyncio.Task[Any]) -> None:
        self._kept.discard(work)
        self.end_request()

    async def give_up(self) -> None:
        """Cancel the work that goes on, and wait until it has ended: it uses what is closed next."""
        kept = [*self._kept]
        for work in kept:
            work.cancel()
        await asyncio.gather(*kept, return_exceptions=True)

    async def finish(self, seconds: float) -> bool:
        """Begin to drain, and wait for the requests in progress; False if some are not answered in this time."""
        self.begin()
        log("the server ends", in_progress=self._in_progress, seconds=seconds)
        try:
            async with asyncio.timeout(seconds):
                while self._in_progress:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            log("requests are given up", level=30, in_progress=self._in_progress)
        return not self._in_progress
