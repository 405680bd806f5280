"""Rate-limited progress notifications of a running script: its usage, and its own latest message.

A notification is sent about once a second; a newer message replaces one that was not sent yet. Messages come from
the script, so each is cut to one bounded line without characters that a terminal or a page would interpret.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

from winnow.sandbox.protocol.outcome import Usage

# Called with the usage so far and the script's latest message ("" where there is no new one).
OnUsage = Callable[[Usage, str], Awaitable[None]]

MESSAGE_CHARS = 200
_INTERVAL_SECONDS = 1.0
_FLUSH_SECONDS = 0.5  # for a notification that is being sent when the script ends


class ProgressReporter:
    """Sends the progress notifications of one execution, from `start` to `close`."""

    def __init__(self, on_progress: OnUsage | None, usage: Callable[[], Usage]) -> None:
        self._on_progress = on_progress
        self._usage = usage
        self._message = ""
        self._has_message = asyncio.Event()
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self._task: asyncio.Task[None] | None = None
        self._last_sent = time.monotonic() - _INTERVAL_SECONDS

    def start(self) -> None:
        """Start sending; does nothing without a callback."""
        if self._on_progress is not None:
            self._task = asyncio.get_running_loop().create_task(self._send_forever(self._on_progress))

    async def set_message(self, message: str) -> None:
        """Set the script's message. It is sent at once, unless a notification was sent within the last second."""
        self._message = one_line(message)
        self._has_message.set()
        await asyncio.sleep(0)
        while self._is_taken_at_once() and self._has_message.is_set():
            await asyncio.sleep(0)  # or the next message of a burst would replace it

    def _is_taken_at_once(self) -> bool:
        """Whether the task that sends waits for nothing but a message."""
        is_due = time.monotonic() - self._last_sent >= _INTERVAL_SECONDS
        return is_due and self._is_idle.is_set() and self._task is not None and not self._task.done()

    async def flush(self) -> None:
        """Wait briefly for a notification that is being sent."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FLUSH_SECONDS):
                await self._is_idle.wait()

    def close(self) -> None:
        """Stop sending."""
        if self._task is not None:
            self._task.cancel()

    async def _send_forever(self, on_progress: OnUsage) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_INTERVAL_SECONDS):
                    await self._has_message.wait()
            await asyncio.sleep(max(0.0, self._last_sent + _INTERVAL_SECONDS - time.monotonic()))
            self._last_sent, message, self._message = time.monotonic(), self._message, ""
            self._has_message.clear()
            self._is_idle.clear()
            with contextlib.suppress(Exception):
                await on_progress(self._usage(), message)
            self._is_idle.set()


def one_line(text: str) -> str:
    """One line of at most ``MESSAGE_CHARS``: printable characters only, white space as single spaces."""
    plain = "".join(character if character.isprintable() else " " for character in text[: 4 * MESSAGE_CHARS])
    return " ".join(plain.split())[:MESSAGE_CHARS]
