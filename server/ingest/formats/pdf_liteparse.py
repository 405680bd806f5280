"""The first reader of PDF: liteparse finds columns, headings, lists and tables; PDFium finds what is hidden.

Importing this module starts the library: it starts its threads and loads PDFium at its first use, and the child
that reads files can do neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

from liteparse import LayoutBlock, LiteParse, ParsedPage

from server.ingest.formats.parsed_file import ParsedFile, ReadOptions
from server.ingest.formats.pdf.composition import ReadPages, compose
from server.ingest.formats.pdf.document import open_pdf
from server.ingest.formats.pdf.hidden_text import Cleaned, clean
from server.ingest.formats.pdf.layout import Block, BlockKind, Box, Page
from server.ingest.formats.pdf.tables import table_markdown

_KINDS = {
    "heading": BlockKind.HEADING,
    "paragraph": BlockKind.PARAGRAPH,
    "list_item": BlockKind.ITEM,
    "code": BlockKind.LINES,
    "grid_fallback": BlockKind.LINES,
    "table": BlockKind.TABLE,
}
_SMALLEST_PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF"
)


def _start() -> LiteParse:
    """A parser that never renders a page, and has loaded its library."""
    parser = LiteParse(
        ocr_enabled=False,
        output_format="markdown",
        image_mode="off",
        extract_blocks=True,
        extract_text_metadata=True,
        max_pages=1_000_000,
        num_workers=1,
        quiet=True,
    )
    parser.parse(_SMALLEST_PDF)
    return parser


_PARSER = _start()


def read(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    """Read a PDF. Raises ``UnreadableFile`` for what is no PDF, is encrypted, or has absurd pages."""
    opened = open_pdf(file, options)
    try:
        cleaned = clean(opened)
        pages = tuple(_pages(cleaned, _PARSER.parse(cleaned.data).pages))
        return compose(opened, ReadPages("liteparse", pages, cleaned.objects), options)
    finally:
        opened.close()


def _pages(cleaned: Cleaned, parsed: Iterable[ParsedPage]) -> Iterator[Page]:
    for page in parsed:
        blocks = cleaned.cut(page.page_num, tuple(_blocks(page.blocks or ())))
        yield Page(page.page_num, page.height, blocks)


def _blocks(found: Iterable[LayoutBlock]) -> Iterator[Block]:
    for block in found:
        kind = _KINDS.get(block.kind)
        if kind is not None and (text := _text(block)):
            yield Block(kind, text, _box(block), block.level or 0, _marker(block))


def _text(block: LayoutBlock) -> str:
    if block.kind == "table":
        rows = [block.header or [], *(block.rows or [])]
        return table_markdown([[cell.text for cell in row] for row in rows if row])
    if block.lines is not None:
        return "\n".join(block.lines)
    return (block.text or "").strip()


def _box(block: LayoutBlock) -> Box:
    box = block.bbox
    return Box(box.x, box.y, box.x + box.width, box.y + box.height) if box else Box(0, 0, 0, 0)


def _marker(block: LayoutBlock) -> str:
    """Markdown knows one mark of plain items; numbers stay as they are printed."""
    return (block.marker or "1.") if block.ordered else "-"
