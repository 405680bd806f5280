"""The first reader of PDF: liteparse finds columns, headings, lists and tables; PDFium finds what is hidden.

Importing this module starts the library: it starts its threads and loads PDFium at its first use, and the child
that reads files can do neither. The library's own class copies every word of a document into records of Python,
which takes as much memory again and a quarter of the time: its native class, of the version that is pinned, gives
the same attributes page by page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from liteparse._liteparse import LiteParse  # type: ignore[import-not-found]

from server.ingest.formats.parsed_file import ParsedFile, ReadOptions
from server.ingest.formats.pdf.composition import ReadPages, compose
from server.ingest.formats.pdf.document import open_pdf
from server.ingest.formats.pdf.hidden_text import Cleaned, clean
from server.ingest.formats.pdf.layout import Block, BlockKind, Box, Page
from server.ingest.formats.pdf.running_heads import LOWER, UPPER
from server.ingest.formats.pdf.tables import Piece, Rows, fill_last_column, place_tables, table_markdown

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


def _start() -> Any:
    """A parser that never renders a page, and has loaded its library."""
    parser = LiteParse(
        ocr_enabled=False,
        output_format="markdown",
        image_mode="off",
        extract_blocks=True,
        max_pages=1_000_000,
        num_workers=1,
        quiet=True,
    )
    parser.parse_bytes(_SMALLEST_PDF)
    return parser


_PARSER = _start()


def read(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    """Read a PDF. Raises ``UnreadableFile`` for what is no PDF, is encrypted, or has absurd pages."""
    opened = open_pdf(file, options)
    try:
        cleaned = clean(opened)
        pages = tuple(_pages(cleaned, _PARSER.parse_bytes(cleaned.data).pages))
        return compose(opened, ReadPages("liteparse", pages, cleaned.objects), options)
    finally:
        opened.close()


def _pages(cleaned: Cleaned, parsed: Iterable[Any]) -> Iterator[Page]:
    for page in parsed:
        blocks = cleaned.cut(page.page_num, place_tables(tuple(_blocks(page)), _pieces(page)))
        yield Page(page.page_num, page.height, blocks, tuple(_edges(page)))


def _edges(page: Any) -> Iterator[str]:
    """The texts at the upper and lower edge, which are not among the blocks."""
    for item in page.text_items:
        if item.y + item.height < page.height * UPPER or item.y > page.height * LOWER:
            yield item.text


def _blocks(page: Any) -> Iterator[Block]:
    """The blocks of a page; text beside a table that has an empty column belongs to the table."""
    found = [block for block in page.blocks or () if block.kind in _KINDS]
    beside = {id(text): table for table in found for text in _texts_within(table, found)}
    for block in found:
        if id(block) not in beside and (
            text := _text(block, [text for text in found if beside.get(id(text)) is block], page)
        ):
            yield Block(_KINDS[block.kind], text, _box(block.bbox), block.level or 0, _marker(block))


def _texts_within(table: Any, found: Iterable[Any]) -> Iterator[Any]:
    """The paragraphs whose box lies within that of a table with an empty last column."""
    if table.kind == "table" and not any(row[-1].text for row in _rows(table)):
        area = _box(table.bbox)
        yield from (text for text in found if text.kind == "paragraph" and area.holds(_box(text.bbox)))


def _text(block: Any, beside: list[Any], page: Any) -> str:
    if block.kind != "table":
        return "\n".join(block.lines) if block.lines is not None else (block.text or "").strip()
    rows: Rows = _rows(block)
    for text in beside:
        rows = fill_last_column(rows, _pieces(page), _box(text.bbox))
    return table_markdown([[cell.text for cell in row] for row in rows])


def _rows(block: Any) -> list[list[Piece]]:
    rows = (block.header or [], *(block.rows or []))
    return [[Piece(cell.text, cell.bbox and _box(cell.bbox)) for cell in row] for row in rows if row]


def _pieces(page: Any) -> list[Piece]:
    items = page.text_items
    return [Piece(item.text, Box(item.x, item.y, item.x + item.width, item.y + item.height)) for item in items]


def _box(box: Any) -> Box:
    return Box(box.x, box.y, box.x + box.width, box.y + box.height) if box else Box(0, 0, 0, 0)


def _marker(block: Any) -> str:
    """Markdown knows one mark of plain items; numbers stay as they are printed."""
    return (block.marker or "1.") if block.ordered else "-"
