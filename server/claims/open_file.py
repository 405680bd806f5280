"""Checks that the open file of claims is still the file at its path, where it may be removed, emptied or replaced.

SQLite keeps working with a file that was removed: it would answer from that file, and acknowledge changes that are
lost once the file is closed. The file at the path is therefore compared with the open file before each answer and
after each change. If the file was written in place, its content is compared with ``NotebookHeads``, over a new
connection. SQLite itself writes in place only after about 1,000 pages of its log, so that this comparison is rare.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from winnow.server.claims.notebook_heads import describe_loss
from winnow.server.errors import WinnowError

_State = tuple[int, int]  # the size and the time of the last change


class OpenFile:
    """The file of claims that was opened, and its log. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log = path.with_name(f"{path.name}-wal")
        status = os.stat(path)
        self._file = status.st_dev, status.st_ino
        self._log_file = _identity(self._log)
        self._compared: _State = status.st_size, status.st_mtime_ns

    def require_same(self, compare: Callable[[], None]) -> None:
        """Raise ``WinnowError`` unless the open file is at the path; ``compare`` is called if it was written."""
        try:
            status = os.stat(self._path)
        except OSError:
            raise self._loss("was removed") from None
        if (status.st_dev, status.st_ino) != self._file:
            raise self._loss("was replaced by another one")
        if not status.st_size:
            raise self._loss("was emptied")
        self._require_log()
        state = status.st_size, status.st_mtime_ns
        if state != self._compared:
            compare()
            self._compared = state

    def _require_log(self) -> None:
        """Raise ``WinnowError`` if the log was replaced: SQLite creates it once, and keeps it while it is open."""
        log = _identity(self._log)
        if self._log_file is None:
            self._log_file = log
        elif log != self._log_file:
            raise self._loss("lost its log of changes")

    def _loss(self, what: str) -> WinnowError:
        return describe_loss(f"{self._path} {what} while it was open")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
