"""Reads image files by OCR, in the same way as scanned pages of a PDF. Each page is assumed to be A4."""

from __future__ import annotations

from typing import Any, BinaryIO

from winnow.server.models import Reading
from winnow.server.readers.common import ocr_package, pictures
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions
from winnow.server.readers.pdf import ocr
from winnow.server.readers.pdf.composition import mend_pages, write_pages
from winnow.server.readers.pdf.facts import first_heading
from winnow.server.readers.pdf.line_layout import DrawnPage, lay_out_pages

# In points. Sizes that image files state are not reliable: a photograph has 72 dots per inch, a screenshot none.
_LONGER_SIDE = 842


def read(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    """Read the text of an image, or of the pages of a TIFF, by OCR. Raises ``UnreadableFile``."""
    if not ocr.load():
        raise UnreadableFile(f"an image, and {ocr_package.NOT_INSTALLED}")
    found = enumerate(pictures.read_pictures(file.read(), ocr.MOST_PIXELS), 1)
    drawn = [_read_page(number, picture) for number, picture in found]
    # The text at the edge of a single image may be its only text.
    pages = mend_pages(lay_out_pages(drawn, has_heads=len(drawn) > 1), {})
    text, places = write_pages(pages, {})
    numbers = tuple(page.number for page in pages)
    reading = Reading("image", len(pages), needs_ocr=numbers, ocr_pages=len(pages))
    return ParsedFile(text, reading, first_heading(pages), places)


def _read_page(number: int, picture: Any) -> DrawnPage:
    scale = max(picture.size) / _LONGER_SIDE
    lines = ocr.read_picture(picture, picture.size, scale)
    return DrawnPage(number, picture.height / scale, tuple(lines))
