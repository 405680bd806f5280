"""Reads files of images by OCR, as pages of a PDF that are pictures are read. Each page is taken to be of A4."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO

from server.ingest.documents import UnreadableFile
from server.ingest.formats.common import ocr_package, pictures
from server.ingest.formats.parsed_file import ParsedFile, ReadOptions
from server.ingest.formats.pdf import ocr
from server.ingest.formats.pdf.composition import mend_pages, write_pages
from server.ingest.formats.pdf.facts import first_heading
from server.ingest.formats.pdf.layout import Page
from server.ingest.formats.pdf.line_layout import TextSizes, lay_out
from server.ingest.formats.pdf.lines import Line
from server.ingest.formats.pdf.reading_order import put_in_order
from server.ingest.formats.pdf.running_heads import drop_running_heads
from server.models import Reading

# In points. Files state sizes on paper that nobody meant: a photograph 72 dots an inch, a screenshot none.
_LONGER_SIDE = 842


def read(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    """Read the text of an image, or of the pages of a TIFF, by OCR. Raises ``UnreadableFile``."""
    if not ocr.load():
        raise UnreadableFile(f"an image, and {ocr_package.NOT_INSTALLED}")
    found = [_read_page(picture) for picture in pictures.read_pictures(file.read(), ocr.MOST_PIXELS)]
    pages = mend_pages(_lay_out([lines for lines, _ in found], [height for _, height in found]), {})
    text, places = write_pages(pages, {})
    numbers = tuple(page.number for page in pages)
    reading = Reading("image", len(pages), needs_ocr=numbers, ocr_pages=len(pages))
    return ParsedFile(text, reading, first_heading(pages), places)


def _read_page(picture: Any) -> tuple[list[Line], float]:
    """The lines of a page in reading order, and its height."""
    scale = max(picture.size) / _LONGER_SIDE
    return put_in_order(ocr.read_picture(picture, picture.size, scale)), picture.height / scale


def _lay_out(lines: Sequence[Sequence[Line]], heights: Sequence[float]) -> list[Page]:
    """The pages. What stands at the edge of a single image may be all that it says, and is no running head."""
    texts = drop_running_heads(lines, heights) if len(lines) > 1 else lines
    sizes = TextSizes(texts)
    return [
        Page(number, height, tuple(lay_out(text, sizes)))
        for number, (text, height) in enumerate(zip(texts, heights, strict=True), 1)
    ]
