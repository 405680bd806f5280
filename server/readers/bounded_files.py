"""Opens and reads files and folders within bounds: regular files only, no links, lines of bounded length.

Opening never blocks (a named pipe without a writer would) and never follows a link that replaced a file, or a
folder above it, after the folder was listed. A file that grows while it is read is read up to its size at opening.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from winnow.server.readers.documents import UnreadableFile

_FLAGS = os.O_RDONLY
for _name in ("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"):  # not every system has all of them
    _FLAGS |= getattr(os, _name, 0)
# Flags for passing through a folder. Systems without ``O_PATH`` cannot open a folder that may not be listed, so
# they check the file alone.
_THROUGH = getattr(os, "O_PATH", 0) and os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = _FLAGS | getattr(os, "O_DIRECTORY", 0)
_MIB = 1024 * 1024
_HEAD_BYTES = 64 * 1024
_LINK = "a link, not a file"
_OTHER = "not a regular file"
_TYPES: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISFIFO, "a named pipe, not a file"),
    (stat.S_ISSOCK, "a socket, not a file"),
    (stat.S_ISCHR, "a device, not a file"),
    (stat.S_ISBLK, "a device, not a file"),
    (stat.S_ISDIR, "a folder, not a file"),
    (stat.S_ISLNK, _LINK),
)


def describe_type(mode: int) -> str:
    """The kind of a file that is not a regular file, by its ``st_mode``, as a failure reason."""
    return next((name for is_type, name in _TYPES if is_type(mode)), _OTHER)


def open_file(path: Path) -> BinaryIO:
    """Open the regular file at ``path`` for reading. None of its folders may be a link, as in a resolved path.

    Raises ``UnreadableFile`` if it is not a regular file, ``OSError`` if it cannot be opened.
    """
    try:
        descriptor = _open_without_links(path, _FLAGS)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise UnreadableFile(_LINK) from None
        raise
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise UnreadableFile(describe_type(mode))
    return open(descriptor, "rb")


@contextlib.contextmanager
def open_folder(path: Path) -> Iterator[int]:
    """A descriptor of the folder at ``path``, which is opened without following links, as by ``open_file``.

    Raises ``OSError`` if it cannot be opened; a link is not followed, and counts as no folder.
    """
    descriptor = _open_without_links(path, _FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open_without_links(path: Path, flags: int) -> int:
    """A descriptor of the file or folder at ``path``, opened folder by folder from the root."""
    if not _THROUGH:
        return os.open(path, flags)
    whole = path.absolute()
    folder = os.open(whole.anchor, _THROUGH)
    try:
        for name in whole.parts[1:-1]:
            inner = os.open(name, _THROUGH, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(whole.name or whole.anchor, flags, dir_fd=folder)
    finally:
        os.close(folder)


def size_of(file: BinaryIO, most: int) -> int:
    """The size of an open file in bytes. Raises ``UnreadableFile`` if it is larger than ``most``."""
    size = os.fstat(file.fileno()).st_size
    if size > most:
        raise UnreadableFile(f"larger than {most // _MIB} MiB; split it into smaller files")
    return size


def read_whole(path: Path, most: int) -> bytes:
    """Read a file of at most ``most`` bytes. Raises as ``open_file`` does; ``UnreadableFile`` if it is larger."""
    with open_file(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise UnreadableFile(f"larger than {most // _MIB} MiB; split it into smaller files")
    return data


def read_lines(
    path: Path, most: int, check: Callable[[bytes], None] = lambda head: None
) -> Iterator[bytes | None]:
    """The lines of a file, with None for a line longer than ``most`` bytes.

    ``check`` gets the first 64 KiB and raises to reject the file. Raises as ``open_file`` and ``check`` do.
    """
    with open_file(path) as file:
        check(file.read(_HEAD_BYTES))
        file.seek(0)
        left = os.fstat(file.fileno()).st_size
        while left > 0 and (line := file.readline(min(most + 1, left))):
            left -= len(line)
            if len(line) <= most:
                yield line
                continue
            while left > 0 and not line.endswith(b"\n") and (line := file.readline(min(_MIB, left))):
                left -= len(line)
            yield None
