"""Files with holes: the files of an index are made large, and are mostly holes while it is small."""

from __future__ import annotations

import os
from collections.abc import Iterator


def find_data(descriptor: int) -> Iterator[tuple[int, int]]:
    """The parts of a file that are no holes, each by its begin and end; all of it where the system does not tell.

    Raises ``OSError`` where the file cannot be read.
    """
    size, at = os.fstat(descriptor).st_size, 0
    if not hasattr(os, "SEEK_DATA"):
        yield 0, size
        return
    while at < size:
        try:
            start = os.lseek(descriptor, at, os.SEEK_DATA)
        except OSError:  # only a hole is left
            return
        at = os.lseek(descriptor, start, os.SEEK_HOLE)
        yield start, at
