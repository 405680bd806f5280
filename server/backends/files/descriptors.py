"""Descriptors of files that SQLite may have open in this process, too.

A process that closes any descriptor of a file loses all its locks (``fcntl``) on that file. SQLite's locks are of
this kind. A file of SQLite's that is opened and closed beside a connection leaves the connection without locks:
another process then removes the log that it reads, and it reads, or writes, a state that nobody else sees. So a
descriptor of a file stays open until no use of the file is left in the process.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from pathlib import Path

_Key = tuple[int, int]


@dataclass(slots=True)
class _Known:
    """How often a file is used, and descriptors that wait to be used again or closed."""

    uses: int = 0
    spare: list[int] = field(default_factory=list)


_guard = threading.Lock()
_known: dict[_Key, _Known] = {}


class DescriptorUse:
    """One use of a file, with a descriptor to read it by, from construction to ``close``. Raises ``OSError``."""

    def __init__(self, path: Path) -> None:
        with _guard:
            known = _known.get(_key(path.stat()))
            if known and known.spare:
                self.descriptor = known.spare.pop()
            else:
                self.descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self._key = _key(os.fstat(self.descriptor))
            _known.setdefault(self._key, _Known()).uses += 1

    def close(self) -> None:
        """The last use of the file closes every descriptor. The caller's connections to it are closed by then."""
        with _guard:
            known = _known[self._key]
            known.uses -= 1
            known.spare.append(self.descriptor)
            if not known.uses:
                for descriptor in _known.pop(self._key).spare:
                    os.close(descriptor)


def _key(status: os.stat_result) -> _Key:
    return status.st_dev, status.st_ino
