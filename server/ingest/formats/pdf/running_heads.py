"""Finds running heads and page numbers: short lines at the upper or lower edge that come back on other pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from server.ingest.formats.pdf.layout import Block, BlockKind, Page

# Shares of the height of a page.
_UPPER, _LOWER = 0.1, 0.9
_LONGEST = 160
_FEWEST_PAGES = 3
_NUMBERS = re.compile(r"\d+|\b[ivxlc]+\b", re.I)
_PAGE_NUMBER = re.compile(
    r"(?:(?:page|seite|p\.)\s*)?[-–—\s]*(?:\d{1,5}|[ivxlc]{1,8})[-–—\s]*(?:(?:of|/|von)\s*(?:\d+|many))?", re.I
)


def drop_running_heads(pages: Sequence[Page]) -> tuple[Page, ...]:
    """The pages without the lines that come back on at least three of them, and without their page numbers."""
    counts: Counter[str] = Counter()
    for page in pages:
        counts.update({_key(block.text) for block in page.blocks if _is_at_edge(block, page)})
    return tuple(
        replace(page, blocks=tuple(block for block in page.blocks if not _is_running(block, page, counts)))
        for page in pages
    )


def _is_running(block: Block, page: Page, counts: Counter[str]) -> bool:
    if not _is_at_edge(block, page):
        return False
    return counts[_key(block.text)] >= _FEWEST_PAGES or bool(_PAGE_NUMBER.fullmatch(block.text.strip()))


def _is_at_edge(block: Block, page: Page) -> bool:
    if block.kind is BlockKind.TABLE or len(block.text) > _LONGEST:
        return False
    return block.box.bottom < page.height * _UPPER or block.box.top > page.height * _LOWER


def _key(text: str) -> str:
    """The text with each number as one sign: the pages of a head differ in nothing else."""
    return _NUMBERS.sub("#", " ".join(text.casefold().split()))
