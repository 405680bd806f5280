"""Who goes first at a model that two kinds of work share: what somebody waits for, before what can wait."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Questions that never end would hold up an ingest for good; this long after each, it takes a step all the same.
_PATIENCE_SECONDS = 1.0


class RightOfWay:
    """Holders of the right of way keep the others waiting, not each other."""

    def __init__(self) -> None:
        self._holders = 0
        self._changed = threading.Condition()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """While this is open, ``give`` waits."""
        with self._changed:
            self._holders += 1
        try:
            yield
        finally:
            with self._changed:
                self._holders -= 1
                self._changed.notify_all()

    def give(self, seconds: float = _PATIENCE_SECONDS) -> bool:
        """Wait until nobody has the right of way, at most this long; whether nobody has."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._holders, seconds)
