"""Which pages have no text of their own, and their text by OCR."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from winnow.server.readers.common import ocr_package
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.formats.parsed_file import ReadOptions
from winnow.server.readers.pdf import ocr
from winnow.server.readers.pdf.document import OpenPdf
from winnow.server.readers.pdf.layout import Page
from winnow.server.readers.pdf.line_layout import DrawnPage, lay_out_pages
from winnow.server.readers.pdf.visibility import PageObjects
from winnow.server.text.sizes import count_of

_NEEDED_LETTERS = 16
_UNKNOWN = re.compile("[\ufffd\ue000-\uf8ff]")
_PICTURE_SHARE, _MOST_PATHS = 0.1, 50


@dataclass(frozen=True, slots=True)
class Scans:
    """The pages with the text of those that were read by OCR; which pages need it, and how many were read."""

    pages: tuple[Page, ...]
    needs_ocr: tuple[int, ...]
    read: int = 0
    notes: tuple[str, ...] = ()


def read_scans(
    opened: OpenPdf, pages: Sequence[Page], objects: Mapping[int, PageObjects], options: ReadOptions
) -> Scans:
    """Find the pages without text, and read them by OCR if that is wanted.

    Raises ``UnreadableFile`` where it is wanted, not installed, and there is no other text.
    """
    needed = tuple(page.number for page in pages if needs_ocr(page, objects[page.number]))
    if not (needed and options.uses_ocr):
        return Scans(tuple(pages), needed)
    if not ocr.load():
        if len(needed) == len(pages):
            raise UnreadableFile(f"its pages are images, and {ocr_package.NOT_INSTALLED}")
        return Scans(tuple(pages), needed, notes=(_describe_missing(len(needed)),))
    found = dict(_read(opened, pages, needed))
    return Scans(tuple(found.get(page.number, page) for page in pages), needed, len(found))


def needs_ocr(page: Page, objects: PageObjects) -> bool:
    """Whether a page shows something, but has no text of its own, or only signs that mean nothing."""
    text = "".join(block.text for block in page.blocks)
    if sum(map(str.isalnum, text)) >= _NEEDED_LETTERS:
        return is_garbled(text)
    return is_garbled(text) or objects.picture_share >= _PICTURE_SHARE or objects.paths > _MOST_PATHS


def is_garbled(text: str) -> bool:
    """More than a third of the signs have no meaning: the font does not say which letters it draws."""
    if _UNKNOWN.search(text) is None and text.replace("\n", "").isprintable():
        return False
    signs = [c for c in text if not c.isspace()]
    unknown = sum(c == "\ufffd" or "\ue000" <= c <= "\uf8ff" or not c.isprintable() for c in signs)
    return unknown * 3 > len(signs)


def _read(opened: OpenPdf, pages: Sequence[Page], needed: Sequence[int]) -> Iterator[tuple[int, Page]]:
    """The needed pages by number, read by OCR."""
    heights = {page.number: page.height for page in pages}
    drawn = []
    for number in needed:
        page = opened.document[number - 1]
        try:
            drawn.append(DrawnPage(number, heights[number], tuple(ocr.read_page(page))))
        finally:
            page.close()
    edges = {page.number: page.edges for page in pages}
    for found in lay_out_pages(drawn):
        yield found.number, replace(found, edges=edges[found.number])


def _describe_missing(pages: int) -> str:
    return f"{count_of(pages, 'page is an image', 'pages are images')}, and {ocr_package.NOT_INSTALLED}"
