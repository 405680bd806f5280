"""What whoever waits hears while a script runs: how it is getting on, and what it says of that itself.

About once a second something is told; what a script says in between replaces what it said before. The words are a
script's: one line, bounded, without anything that a terminal or a page would act upon.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

from sandbox.protocol.outcome import Usage

# What was used so far, and the script's latest words ("" where it has said nothing new).
Progress = Callable[[Usage, str], Awaitable[None]]

MESSAGE_CHARS = 200
_SECONDS = 1.0
_LAST_SECONDS = 0.5  # for words that are on their way when the script ends


class ProgressReporter:
    """Tells of one execution, from `start` to `close`."""

    def __init__(self, on_progress: Progress | None, usage: Callable[[], Usage]) -> None:
        self._on_progress = on_progress
        self._usage = usage
        self._message = ""
        self._said = asyncio.Event()
        self._silent = asyncio.Event()
        self._silent.set()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; nothing happens where nobody listens."""
        if self._on_progress is not None:
            self._task = asyncio.get_running_loop().create_task(self._tell(self._on_progress))

    async def say(self, message: str) -> None:
        """What the script says. It is told at once, unless something was told within the last second."""
        self._message = one_line(message)
        self._said.set()
        await asyncio.sleep(0)

    async def last_word(self) -> None:
        """Let what is being told arrive, for a moment."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_SECONDS):
                await self._silent.wait()

    def close(self) -> None:
        """No more."""
        if self._task is not None:
            self._task.cancel()

    async def _tell(self, on_progress: Progress) -> None:
        told = time.monotonic() - _SECONDS
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_SECONDS):
                    await self._said.wait()
            await asyncio.sleep(max(0.0, told + _SECONDS - time.monotonic()))
            told, message, self._message = time.monotonic(), self._message, ""
            self._said.clear()
            self._silent.clear()
            with contextlib.suppress(Exception):
                await on_progress(self._usage(), message)
            self._silent.set()


def one_line(text: str) -> str:
    """Printable characters alone, white space as single spaces, at most ``MESSAGE_CHARS``."""
    plain = "".join(character if character.isprintable() else " " for character in text[: 4 * MESSAGE_CHARS])
    return " ".join(plain.split())[:MESSAGE_CHARS]
