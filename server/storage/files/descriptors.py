"""Shared descriptors of SQLite files, which must not be closed while SQLite has the file open.

A process that closes any descriptor of a file loses all its ``fcntl`` locks on that file, and SQLite's locks are
of this kind. Opening and closing a database file beside a connection leaves the connection without locks: another
process may then remove the log that it reads, and it reads or writes a state that no other process sees. So a
descriptor stays open until the process has no use of the file left.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from pathlib import Path

_Key = tuple[int, int]


@dataclass(slots=True)
class _OpenFile:
    """The number of uses of a file, and descriptors to be used again or closed."""

    uses: int = 0
    spare: list[int] = field(default_factory=list)


_guard = threading.Lock()
_open_files: dict[_Key, _OpenFile] = {}


class DescriptorUse:
    """One use of a file, with a descriptor to read it by, from construction to ``close``. Raises ``OSError``."""

    def __init__(self, path: Path | str) -> None:
        with _guard:
            file = _open_files.get(_key(os.stat(path)))
            if file and file.spare:
                self.descriptor = file.spare.pop()
            else:
                self.descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self._key = _key(os.fstat(self.descriptor))
            _open_files.setdefault(self._key, _OpenFile()).uses += 1

    def close(self) -> None:
        """End the use; the last one closes every descriptor. The caller has closed its connections before."""
        with _guard:
            file = _open_files[self._key]
            file.uses -= 1
            file.spare.append(self.descriptor)
            if not file.uses:
                for descriptor in _open_files.pop(self._key).spare:
                    os.close(descriptor)


def _key(status: os.stat_result) -> _Key:
    return status.st_dev, status.st_ino
