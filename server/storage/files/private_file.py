"""Private files: read only if their owner alone may write them, written whole, never through a link."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class UntrustedFile(Exception):
    """A file that is not used; the message is the reason."""


def read_private(path: Path, most: int) -> bytes:
    """The bytes of a file. Raises ``OSError``, and ``UntrustedFile`` for one that this account did not write.

    Files that are not regular or have more than ``most`` bytes count as such, as do those that others may write.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            raise UntrustedFile("it is not a file as winnow writes it")
        if status.st_uid != os.geteuid() or status.st_mode & _OTHERS_WRITE:
            raise UntrustedFile("other users may write it; run: chmod 600")
        return file.read(most)


def write_private(path: Path, temporary: Path, text: str) -> None:
    """Write a file, all or nothing, and durably. ``temporary`` is a name in the same folder that no one else uses.

    Raises ``OSError``.
    """
    temporary.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(temporary, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
