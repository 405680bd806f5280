"""Reads the works in a text of BibTeX, RIS or CSL-JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, BinaryIO

from winnow.server.bibliographies.formats import latex
from winnow.server.bibliographies.packing import SUFFIXES, pack
from winnow.server.bibliographies.reading import read_bibliography
from winnow.server.readers import frames
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.tasks.table import ReaderAnswer


def warm_up(*, uses_ocr: bool) -> None:
    """Import what the libraries import at their first text."""
    latex.warm_up()
    for suffix in SUFFIXES:
        read_bibliography("", suffix)


def serve(request: dict[str, Any], open_document: Callable[[], BinaryIO]) -> ReaderAnswer:
    """The works, packed. Raises ``UnreadableFile``."""
    packed = pack(read_bibliography(str(request["text"]), str(request["suffix"])))
    if len(packed.encode("utf-8", "replace")) > frames.MAX_TEXT_BYTES:
        raise UnreadableFile(f"its entries take more than {frames.MAX_TEXT_BYTES >> 20} MiB; split it")
    return {}, packed
