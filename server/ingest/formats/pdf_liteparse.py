"""The first reader of PDF: liteparse finds the words, their fonts and the lines drawn; PDFium finds what is hidden.

Importing this module starts the library: it starts its threads and loads PDFium at its first use, and the child
that reads files can do neither. The library's own class copies every word of a document into records of Python,
which takes as much memory again and a quarter of the time: its native class, of the version that is pinned, gives
the same attributes page by page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, BinaryIO

from liteparse._liteparse import LiteParse  # type: ignore[import-not-found]

from server.ingest.formats.parsed_file import ParsedFile, ReadOptions
from server.ingest.formats.pdf.composition import ReadPages, compose
from server.ingest.formats.pdf.document import open_pdf
from server.ingest.formats.pdf.hidden_text import clean
from server.ingest.formats.pdf.layout import Box, Rules
from server.ingest.formats.pdf.line_layout import DrawnPage, lay_out_pages
from server.ingest.formats.pdf.lines import Cell, Line
from server.ingest.formats.pdf.reading_order import CELL_GAP

# A word, and where it begins and ends.
Word = tuple[str, float, float]

_BOLD = re.compile(r"bold|black|heavy|semibold|demi|CMBX|CMB\d|\bBX|SFBX|-Bd", re.I)
_MONO = re.compile(r"mono|courier|cmtt|tt\d+\b|typewriter|consol|menlo|inconsolata|fixed|terminal|code|cmsltt|cmitt|txtt|pcr", re.I)
# How much the widths of letters differ, word by word, in a font of one width; and in one whose name does not say so.
_MONO_SPREAD, _EXACT_SPREAD = 1.12, 1.01
# In points: drawn lines that are shorter or thicker are no rules.
_SHORTEST_RULE, _THICKEST_RULE, _MOST_RULES = 12.0, 3.0, 400
_BAR_ROOM = 6.0
_SMALLEST_PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF"
)


def _start() -> Any:
    """A parser that never renders a page, and has loaded its library."""
    parser = LiteParse(
        ocr_enabled=False,
        output_format="text",
        image_mode="off",
        emit_word_boxes=True,
        extract_annotations=True,
        extract_vector_graphics=True,
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
        drawn = [_drawn(page) for page in _PARSER.parse_bytes(cleaned.data).pages]
        pages = (replace(page, blocks=cleaned.cut(page.number, page.blocks)) for page in lay_out_pages(drawn))
        return compose(opened, ReadPages("liteparse", tuple(pages), cleaned.objects), options)
    finally:
        opened.close()


def _drawn(page: Any) -> DrawnPage:
    links = [(_box(link.rect), link.uri) for link in page.annotations or () if link.uri and link.rect]
    rules = _rules(page.vector_graphics)
    lines = (_line(item, links, rules) for item in page.text_items if item.text.strip())
    return DrawnPage(page.page_num, page.height, tuple(lines), rules)


def _rules(graphics: Any) -> Rules:
    """The lines that are drawn across or down, and not the strokes of letters."""
    across, down = set(), set()
    for line in graphics.lines if graphics else ():
        left, right, top, bottom = *sorted((line.x1, line.x2)), *sorted((line.y1, line.y2))
        if right - left >= _SHORTEST_RULE and bottom - top < _THICKEST_RULE:
            across.add((round(top, 1), left, right))
        elif bottom - top >= _SHORTEST_RULE / 2 and right - left < _THICKEST_RULE:
            down.add((round(left, 1), top, bottom))
    return Rules(tuple(sorted(across)[:_MOST_RULES]), tuple(sorted(down)[:_MOST_RULES]))


def _line(item: Any, links: Sequence[tuple[Box, str]], rules: Rules) -> Line:
    """An item of text with its cells: words with a wide gap or a drawn line between them are two."""
    font = item.font_name or ""
    box = _box(item)
    size = round(item.font_size or box.height, 1)
    words = [(word.text, word.x, word.x + word.width) for word in item.words]
    if not words:
        return Line(box, size, bool(_BOLD.search(font)), (Cell(item.text.strip(), box.left, box.right),))
    is_mono = _is_mono(words, font)
    if rules.vertical:
        words = list(_split_at_bars(words, box, rules))
    if links:
        words = _with_links(words, box, links)
    return Line(box, size, bool(_BOLD.search(font)), tuple(_cells(words, size)), is_mono)


def _cells(words: Sequence[Word], size: float) -> Iterator[Cell]:
    texts, left, right = [words[0][0]], words[0][1], words[0][2]
    for text, start, end in words[1:]:
        if start - right > CELL_GAP * size:
            yield Cell(" ".join(texts), left, right)
            texts, left = [], start
        texts.append(text)
        right = end
    yield Cell(" ".join(texts), left, right)


def _is_mono(words: Sequence[Word], font: str) -> bool:
    """Whether all letters are equally wide, by the widths of the words: the font is that of the first word only."""
    widths = [(right - left) / len(text) for text, left, right in words if len(text) > 2]
    if len(widths) < 2:
        return bool(_MONO.search(font))
    spread = max(widths) / max(min(widths), 0.1)
    return spread < _MONO_SPREAD if _MONO.search(font) else len(widths) > 3 and spread < _EXACT_SPREAD


def _split_at_bars(words: Sequence[Word], box: Box, rules: Rules) -> Iterator[Word]:
    """The words; one that stands on both sides of a vertical line of a table is two."""
    bars = [x for x, top, bottom in rules.vertical if top <= box.middle <= bottom and box.left < x < box.right]
    for text, left, right in words:
        for bar in bars:
            place = round((bar - left) / max(right - left, 0.1) * len(text)) if left + 3 < bar < right - 3 else 0
            if 0 < place < len(text):
                yield text[:place], left, bar - _BAR_ROOM
                text, left = text[place:], bar + _BAR_ROOM
        yield text, left, right


def _with_links(words: list[Word], box: Box, links: Sequence[tuple[Box, str]]) -> list[Word]:
    """The words with a Markdown link around those that lead somewhere else than they say."""
    for area, uri in links:
        if not area.top <= box.middle <= area.bottom:
            continue
        held = [place for place, (_, left, right) in enumerate(words) if area.left <= (left + right) / 2 <= area.right]
        if not held or "".join(words[place][0] for place in held).rstrip("/.") in uri or "](" in words[held[-1]][0]:
            continue
        first, last = held[0], held[-1]
        words[first] = (f"[{words[first][0]}", *words[first][1:])
        words[last] = (f"{words[last][0]}]({uri})", *words[last][1:])
    return words


def _box(box: Any) -> Box:
    return Box(box.x, box.y, box.x + box.width, box.y + box.height)
