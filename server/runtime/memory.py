"""Gives memory that this process has freed back to the system."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any


def release_memory() -> None:
    """Return free pages of the C library's heaps to the system; takes milliseconds for each 100 MB.

    glibc keeps what is free between blocks that are in use, in several heaps, so a process stays as large as its
    largest document has made it. Other C libraries return their pages themselves.
    """
    if (trim := _find_trim()) is not None:
        trim(0)


@cache
def _find_trim() -> Any:
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
