"""Whether an open file of claims is still the one at its path: it may be removed, emptied or replaced meanwhile.

SQLite goes on with a file that has no name any more, and would answer from it and acknowledge changes that nobody
finds again. So the file at the path is compared with the one that was opened, before each answer and after each
change. One that was written in place is compared by what it has (``NotebookHeads``), with a connection that has
read nothing before; SQLite writes its log into the file after about 1,000 pages, which is as rare.
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
        """Raise ``WinnowError`` unless the path has the file that was opened; ``compare`` looks at its content."""
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
        """SQLite makes the log at first use, and keeps it while a connection is open."""
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
