"""The parent's warning that a script's time is nearly up, raised in the script while it runs.

The parent sends a signal a moment before it kills the child, so that what the script's ``result`` holds can be
sent. The kill does not wait: a script that catches the exception, or that no signal reaches, loses its result.
"""

from __future__ import annotations

import signal
import types

SIGNAL = getattr(signal, "SIGUSR1", None)  # absent on Windows, where scripts are warned at their calls only


class TimeIsUp(BaseException):
    """The time of the script is nearly up. Not an Exception, so that handlers of the script let it pass."""


class Alarm:
    """Turns the signal into ``TimeIsUp``, while a script runs and no frame is being written or read."""

    def __init__(self) -> None:
        self.is_armed = False
        self.is_busy = False  # an exception now would cut a frame in two
        self._is_due = False

    def install(self) -> None:
        """Handle the signal from now on."""
        if SIGNAL is not None:
            signal.signal(SIGNAL, self._ring)

    def _ring(self, number: int, frame: types.FrameType | None) -> None:
        self._is_due = True
        self.check()

    def check(self) -> None:
        """Raise ``TimeIsUp`` if the signal came and this is the time for it."""
        if self._is_due and self.is_armed and not self.is_busy:
            self._is_due = False
            raise TimeIsUp


alarm = Alarm()
