"""Whether a server can answer calls now. Asked often, also without a key: one answer is given for a second."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from winnow.server.errors import WinnowError
from winnow.server.runtime.draining import Drain

_OPEN_SECONDS = 2.0
# A store that does not open is tried again at most this often, however many ask.
_VALID_SECONDS = 1.0
_STILL_OPENING = "the store is still being opened, or its engine does not answer"


class Readiness:
    """Says why a server is not ready. ``open`` waits until its store is open, and raises ``WinnowError``.

    ``checks``: by name, more reasons that a transport knows, "" for none. They are asked each time, and everybody
    may read them.
    """

    def __init__(self, open: Callable[[], Awaitable[None]], drain: Drain) -> None:
        self._open = open
        self._drain = drain
        self._asking = asyncio.Lock()
        self._reasons: tuple[str, ...] = ()
        self._until = 0.0
        self.checks: dict[str, Callable[[], str]] = {}

    async def reasons(self) -> tuple[str, ...]:
        """Why the server is not ready, in sentences; empty if it is."""
        if self._drain.is_draining:
            return ("the server ends",)
        async with self._asking:
            if time.monotonic() >= self._until:
                self._reasons = await self._ask()
                self._until = time.monotonic() + _VALID_SECONDS
        return (*self.public_reasons(), *self._reasons)

    def public_reasons(self) -> tuple[str, ...]:
        """Those that a probe without a key is told, too: they name nothing of this computer."""
        return tuple(filter(None, (check() for check in self.checks.values())))

    async def _ask(self) -> tuple[str, ...]:
        try:
            async with asyncio.timeout(_OPEN_SECONDS):
                await self._open()
        except TimeoutError:
            return (_STILL_OPENING,)
        except WinnowError as error:
            return (error.message,)
        return ()
