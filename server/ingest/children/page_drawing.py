"""Draws pages of files for people and models who look at them, in the children that read files."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from winnow.server.ingest.children.reader_pool import ReaderPool
from winnow.server.readers.documents import UnreadableFile

if TYPE_CHECKING:
    from winnow.server.ingest.children.answers import MarkedPage


class PageDrawing:
    """One fork server for all who ask, kept for the next page. Safe to use from any thread; one page at a time."""

    def __init__(self, *, allows_weaker: bool = False) -> None:
        self._allows_weaker = allows_weaker
        self._pool = ReaderPool()
        self._turn = threading.Lock()

    def draw(self, file: BinaryIO, path: Path, number: int, quotes: Sequence[str], seconds: float) -> MarkedPage:
        """A page of the PDF that was opened at this path, counted from 1, with the words of the quotes marked.

        Raises ``UnreadableFile``, ``OSError``, and ``TimeoutError`` if others take longer than ``seconds``.
        """
        if not self._turn.acquire(timeout=seconds):
            raise TimeoutError
        try:
            drawn = self._draw(file, path, number, quotes)
        finally:
            self._turn.release()
        if isinstance(drawn, UnreadableFile):
            raise drawn
        return drawn

    def _draw(self, file: BinaryIO, path: Path, number: int, quotes: Sequence[str]) -> MarkedPage | UnreadableFile:
        # It brings the readers, which a handshake does not wait for.
        from winnow.server.ingest.children.parser import ParserProcess

        # The context ends the children at an exception; a file that cannot be drawn is no reason for that.
        with ParserProcess(allows_weaker=self._allows_weaker, pool=self._pool) as children:
            try:
                return children.draw_page(file, path, number, quotes)
            except UnreadableFile as reason:
                return reason

    def close(self) -> None:
        """End the children, once the page that is being drawn is done."""
        with self._turn:
            self._pool.close()
