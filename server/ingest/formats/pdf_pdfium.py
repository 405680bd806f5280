"""The second reader of PDF: lines in the order of the file, put together by their sizes and places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO

from server.ingest.formats.parsed_file import ParsedFile, ReadOptions
from server.ingest.formats.pdf.composition import ReadPages, compose
from server.ingest.formats.pdf.document import OpenPdf, open_pdf
from server.ingest.formats.pdf.layout import Page
from server.ingest.formats.pdf.line_layout import TextSizes, lay_out
from server.ingest.formats.pdf.lines import Line, read_lines
from server.ingest.formats.pdf.running_heads import drop_running_heads, is_at_edge
from server.ingest.formats.pdf.visibility import PageObjects, look_at_page


def read(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    """Read a PDF. Raises ``UnreadableFile`` for what is no PDF, is encrypted, or has absurd pages."""
    opened = open_pdf(file, options)
    try:
        objects, heights, lines = _read(opened)
        pages = tuple(_lay_out(heights, lines))
        return compose(opened, ReadPages("pdfium", pages, objects), options)
    finally:
        opened.close()


def _read(opened: OpenPdf) -> tuple[dict[int, PageObjects], list[float], list[list[Line]]]:
    """What each page draws, its height and its lines."""
    objects: dict[int, PageObjects] = {}
    heights, lines = [], []
    for number in range(1, opened.pages + 1):
        page = opened.document[number - 1]
        try:
            objects[number] = look_at_page(page)
            heights.append(page.get_height())
            lines.append(read_lines(page, objects[number]))
        finally:
            page.close()
    return objects, heights, lines


def _lay_out(heights: Sequence[float], lines: Sequence[Sequence[Line]]) -> Iterator[Page]:
    """The pages without running heads; their edges keep them."""
    texts = drop_running_heads(lines, heights)
    sizes = TextSizes(texts)
    for number, (height, text, found) in enumerate(zip(heights, texts, lines, strict=True), 1):
        edges = tuple(line.text for line in found if is_at_edge(line, height))
        yield Page(number, height, tuple(lay_out(text, sizes)), edges)
