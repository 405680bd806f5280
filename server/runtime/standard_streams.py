"""Stdin and stdout as the pipe of one transport, out of reach of other code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO


@contextmanager
def take_standard_streams() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Take over stdin and stdout; meanwhile other code reads an empty stdin, and its prints go to stderr."""
    sys.stdout.flush()
    private = [os.dup(number) for number in (0, 1)]
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    try:
        # Left open until the process ends: a thread may still wait for a line when this is over.
        incoming = os.fdopen(private[0], "rb", closefd=False)
        outgoing = os.fdopen(private[1], "wb", closefd=False)
        yield incoming, outgoing
    finally:
        for number in (0, 1):
            os.dup2(private[number], number)
