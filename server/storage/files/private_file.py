"""Private files: read only if their owner alone may write them, written whole, never through a link."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path
from typing import BinaryIO

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class UntrustedFile(Exception):
    """A file that is not used; the message is the reason."""


class ForeignFile(UntrustedFile):
    """A file of another user in that user's folder; the message says who should use it."""


def read_private(path: Path, most: int) -> bytes:
    """The bytes of a file. Raises ``OSError``, and ``UntrustedFile`` for one that this account did not write.

    Files that are not regular or have more than ``most`` bytes count as such, as do those that others may write.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            raise UntrustedFile("it is not a file as winnow writes it")
        if status.st_uid != os.geteuid() and path.parent.stat().st_uid == status.st_uid:
            raise ForeignFile(f"this store belongs to {name_of_user(status.st_uid)}; run it as that user")
        if status.st_uid != os.geteuid() or status.st_mode & _OTHERS_WRITE:
            raise UntrustedFile("other users may write it; run: chmod 600")
        return file.read(most)


def name_of_user(user: int) -> str:
    """The name of a user; the number of one without a name."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


def create_private(path: Path) -> BinaryIO:
    """Create a file that its owner alone may read. Raises ``OSError``, also where the name is taken or a link."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return open(os.open(path, flags, 0o600), "w+b")


def write_private(path: Path, temporary: Path, text: str) -> None:
    """Write a file, all or nothing, and durably. ``temporary`` is a name in the same folder that no one else uses.

    Raises ``OSError``.
    """
    temporary.unlink(missing_ok=True)
    with create_private(temporary) as file:
        file.write(text.encode("utf-8"))
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
