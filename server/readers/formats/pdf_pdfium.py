"""The second reader of PDF: lines in the order of the file, put together by their sizes and places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions
from winnow.server.readers.pdf.composition import ReadPages, compose
from winnow.server.readers.pdf.document import OpenPdf, open_pdf
from winnow.server.readers.pdf.line_layout import DrawnPage, lay_out_pages
from winnow.server.readers.pdf.lines import read_lines
from winnow.server.readers.pdf.visibility import PageObjects, look_at_page


def read(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    """Read a PDF. Raises ``UnreadableFile`` for what is no PDF, is encrypted, or has absurd pages."""
    opened = open_pdf(file, options)
    try:
        objects: dict[int, PageObjects] = {}
        drawn = list(_drawn(opened, objects))
        return compose(opened, ReadPages("pdfium", tuple(lay_out_pages(drawn)), objects), options)
    finally:
        opened.close()


def _drawn(opened: OpenPdf, objects: dict[int, PageObjects]) -> Iterator[DrawnPage]:
    """The lines of each page; ``objects`` gets what each page draws."""
    for number in range(1, opened.pages + 1):
        page = opened.document[number - 1]
        try:
            objects[number] = look_at_page(page)
            yield DrawnPage(number, page.get_height(), tuple(read_lines(page, objects[number])))
        finally:
            page.close()
