"""The program of reader children whose images have their text behind the signature, for tests without OCR."""

from __future__ import annotations

from typing import BinaryIO

from winnow.server.ingest.formats.parsed_file import ParsedFile, ReadOptions
from winnow.server.ingest.parsing import child
from winnow.server.models import Place, Reading

SIGNATURE = b"\x89PNG\r\n\x1a\n"
prepare = child.prepare


def warm_up(*, uses_ocr: bool) -> None:
    """Register the reader in the place of the one that needs OCR."""
    child.warm_up(uses_ocr=False)
    child.READERS["image"] = _read


def _read(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    text = file.read().removeprefix(SIGNATURE).decode()
    return ParsedFile(text, Reading("image", 1, needs_ocr=(1,), ocr_pages=1), places=(Place(0, "page", 1),))
