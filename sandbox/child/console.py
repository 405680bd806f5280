"""The output stream of a script: printed text leaves in bounded frames while the script runs."""

from __future__ import annotations

import io
import time
from typing import Any, Protocol

from winnow.sandbox.protocol.frames import OUT_CHARS


class OutputChannel(Protocol):
    """The channel that frames are sent to."""

    def send(self, frame: dict[str, Any]) -> None:
        """Send a frame."""


# A script that is killed should lose no printed text. The first prints are sent at once; later ones are collected
# until a frame is full or the time is over.
_PROMPT_WRITES = 200
_PATIENCE_SECONDS = 0.01


class OutputLimitReached(BaseException):
    """The script printed too much. Not an Exception, so that no handler of the script goes on printing."""


class Console(io.TextIOBase):
    """A text stream that sends frames. It stops the script after more than ``limit`` bytes."""

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
        """True."""
        return True

    def write(self, text: str) -> int:
        """Send text, now or with later text."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        text = str.__str__(text)  # a subclass is the script's, and so are its methods
        self.used = True
        self._left -= len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
        if self._left < 0:
            # One frame beyond the limit shows the parent that the limit was passed, and has the end of the text.
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
        """Send the collected text."""
        text = "".join(self._held)
        self._held.clear()
        self._chars = 0
        for start in range(0, len(text), OUT_CHARS):
            self._channel.send({"out": text[start : start + OUT_CHARS]})
        self._sent_at = time.monotonic()
