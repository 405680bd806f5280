"""Draws pages of files for people and models who look at them, in the children that read files."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from winnow.server.errors import WinnowError
from winnow.server.ingest.children.reader_pool import ReaderPool
from winnow.server.models import WantedText
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.failures import STOPPED
from winnow.server.runtime.deadlines import current_deadline

if TYPE_CHECKING:
    from winnow.server.ingest.children.answers import MarkedPage
    from winnow.server.ingest.children.parser import ParserProcess

# Pages that are drawn or wait. The slowest ones take 7 seconds of processor time, so that more would wait in vain,
# and each that waits keeps one of the 16 places of calls from the searches of others.
MOST_AT_ONCE = 4
# How often a page that waits looks whether its caller is gone.
_STEP_SECONDS = 0.2


class PageDrawing:
    """One fork server for all who ask, kept for the next page. Safe to use from any thread; one page at a time."""

    def __init__(self, *, allows_weaker: bool = False) -> None:
        self._allows_weaker = allows_weaker
        self._pool = ReaderPool()
        self._turn = threading.Lock()
        self._places = threading.BoundedSemaphore(MOST_AT_ONCE)
        self._children: ParserProcess | None = None
        self._is_closed = False

    def draw(self, file: BinaryIO, path: Path, number: int, wanted: Sequence[WantedText]) -> MarkedPage:
        """A page of the PDF that was opened at this path, counted from 1, with the wanted texts marked.

        Waits for its turn within the deadline of the call. Raises ``UnreadableFile``, ``OSError``, and
        ``WinnowError("QUEUE_FULL")`` while others wait.
        """
        with self.turn():
            drawn = self._draw(file, path, number, wanted)
        if isinstance(drawn, UnreadableFile):
            raise drawn
        return drawn

    @contextmanager
    def turn(self) -> Iterator[None]:
        """The time in which nobody else draws. Raises ``WinnowError("QUEUE_FULL")`` where too many wait for it."""
        if not self._places.acquire(blocking=False):
            message = "pages are being drawn for other calls; try again in a moment, or read with image=false"
            raise WinnowError("QUEUE_FULL", message, retryable=True, retry_after_s=1.0)
        try:
            deadline = current_deadline()
            while not self._turn.acquire(timeout=deadline.at_most(_STEP_SECONDS)):
                deadline.check()
            try:
                deadline.check()
                yield
            finally:
                self._turn.release()
        finally:
            self._places.release()

    def _draw(
        self, file: BinaryIO, path: Path, number: int, wanted: Sequence[WantedText]
    ) -> MarkedPage | UnreadableFile:
        # It brings the readers, which a handshake does not wait for.
        from winnow.server.ingest.children.parser import ParserProcess

        # The context ends the children at an exception; a file that cannot be drawn is no reason for that.
        with ParserProcess(allows_weaker=self._allows_weaker, pool=self._pool) as self._children:
            try:
                if self._is_closed:
                    return UnreadableFile(STOPPED)
                return self._children.draw_page(file, path, number, wanted)
            except UnreadableFile as reason:
                return reason

    def close(self) -> None:
        """End the children; a page that is being drawn in another thread fails."""
        self._is_closed = True
        if (children := self._children) is not None:
            children.close()
        with self._turn:
            self._pool.close()
