"""A log file that several processes may write, rotated by size. Only its owner may read it.

A line is one write at the end of the file, so that lines of different processes do not mix. To rotate, a process
takes a lock on the file; one that does not get it at once goes on writing, and the next line tries again. So a
process that hangs stops no other.
"""

from __future__ import annotations

import fcntl
import logging
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class SharedLogFile(logging.Handler):
    """Appends to ``path``; at ``max_bytes`` it becomes ``path.1``, and of older ones ``kept`` stay.

    Raises ``OSError`` where the file cannot be written, or is none. A line that cannot be written later, because
    the disk is full for example, goes to stderr.
    """

    def __init__(self, path: Path, max_bytes: int, kept: int) -> None:
        super().__init__()
        self._path = path
        self._max_bytes = max_bytes
        self._kept = kept
        descriptor = self._open()
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(None, "it is not a regular file", str(path))
            os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        text = self.format(record) + "\n"
        try:
            self._write(text.encode("utf-8", "replace"))
        except OSError:
            sys.stderr.write(text)

    def _open(self) -> int:
        return os.open(self._path, _FLAGS, 0o600)

    def _write(self, line: bytes) -> None:
        descriptor = self._open()
        try:
            if os.fstat(descriptor).st_size + len(line) > self._max_bytes and self._rotate(descriptor):
                os.close(descriptor)
                descriptor = self._open()
            os.write(descriptor, line)
        finally:
            os.close(descriptor)

    def _rotate(self, descriptor: int) -> bool:
        """Rename the file that is open; False if another process does so, or did so since."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(self._path)):
                self._rename()
        return True

    def _rename(self) -> None:
        for number in range(self._kept - 1, 0, -1):
            with suppress(FileNotFoundError):
                os.replace(self._older(number), self._older(number + 1))
        os.replace(self._path, self._older(1))  # last: until then no other process begins a new file

    def _older(self, number: int) -> str:
        return f"{self._path}.{number}"
