"""What a script prints, on its way out: in bounded frames, while it is produced."""

from __future__ import annotations

import io
import time
from typing import Any, Protocol

from sandbox.protocol.frames import OUT_CHARS


class OutputChannel(Protocol):
    """Where frames go."""

    def send(self, frame: dict[str, Any]) -> None:
        """Say something."""


# A script that is killed should have lost nothing of what it printed. Few prints go out at once; a script that
# prints much goes out in full frames, and by the clock.
_PROMPT_WRITES = 200
_PATIENCE_SECONDS = 0.01


class OutputLimitReached(BaseException):
    """More was printed than anybody reads. Not an Exception: no handler of the script's may go on printing."""


class Console(io.TextIOBase):
    """A text stream into frames. Stops the script when it has written more than ``limit`` bytes."""

    def __init__(self, channel: OutputChannel, limit: int) -> None:
        super().__init__()
        self._channel = channel
        self._left = limit
        self._held: list[str] = []
        self._chars = 0
        self._writes = 0
        self._sent_at = 0.0
        self.used = False

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, text: str) -> int:
        """Take text; send it now, or soon."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        text = str.__str__(text)  # what a subclass says of itself is the script's word
        self.used = True
        self._left -= len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
        if self._left < 0:
            # One frame beyond the limit shows the parent that it was passed, and keeps the end.
            self._hold(text[-OUT_CHARS:])
            self.flush()
            raise OutputLimitReached
        self._hold(text)
        self._writes += 1
        if self._writes <= _PROMPT_WRITES or self._chars >= OUT_CHARS or self._is_late():
            self.flush()
        return len(text)

    def _hold(self, text: str) -> None:
        self._held.append(text)
        self._chars += len(text)

    def _is_late(self) -> bool:
        return time.monotonic() - self._sent_at > _PATIENCE_SECONDS

    def flush(self) -> None:
        """Send what is held."""
        text = "".join(self._held)
        self._held.clear()
        self._chars = 0
        for start in range(0, len(text), OUT_CHARS):
            self._channel.send({"out": text[start : start + OUT_CHARS]})
        self._sent_at = time.monotonic()
