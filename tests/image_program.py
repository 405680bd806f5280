"""The program of reader children whose images have their text behind the signature, for tests without OCR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

from winnow.server.models import Place, Reading
from winnow.server.readers import child
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions
from winnow.server.readers.tasks import read
from winnow.server.readers.tasks.table import Task

SIGNATURE = b"\x89PNG\r\n\x1a\n"
prepare = child.prepare


def warm_up(*, tasks: Sequence[Task], uses_ocr: bool) -> None:
    """Register the reader in the place of the one that needs OCR."""
    child.warm_up(tasks=tasks, uses_ocr=False)
    read.READERS["image"] = _read


def _read(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    text = file.read().removeprefix(SIGNATURE).decode()
    return ParsedFile(text, Reading("image", 1, needs_ocr=(1,), ocr_pages=1), places=(Place(0, "page", 1),))
