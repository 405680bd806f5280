"""Reads a file of sheets. Their readers measure the tables, for which the vocabulary of tokens is loaded."""

from __future__ import annotations

from winnow.server.readers.chunking import measure
from winnow.server.readers.tasks import read

serve = read.serve


def warm_up(*, uses_ocr: bool) -> None:
    """Import the readers, and load the vocabulary."""
    read.load_readers("read_sheet")
    measure("")
