"""Finds running heads and page numbers: short lines at the upper or lower edge that come back on other pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from server.ingest.formats.pdf.lines import Line

# Shares of the height of a page.
_UPPER, _LOWER = 0.1, 0.9
_LONGEST = 160
_FEWEST_PAGES = 3
_NUMBERS = re.compile(r"\d+|\b[ivxlc]+\b", re.I)
_PAGE_NUMBER = re.compile(
    r"(?:(?:page|seite|p\.)\s*)?[-–—\s]*(?:\d{1,5}|[ivxlc]{1,8})[-–—\s]*(?:(?:of|/|von)\s*\w{1,5})?", re.I
)


def drop_running_heads(pages: Sequence[Sequence[Line]], heights: Sequence[float]) -> list[list[Line]]:
    """The pages without the lines that come back on at least three of them, and without their page numbers."""
    counts: Counter[str] = Counter()
    for lines, height in zip(pages, heights, strict=True):
        counts.update({_key(line.text) for line in lines if _is_at_edge(line, height)})
    return [
        [line for line in lines if not _is_running(line, height, counts)]
        for lines, height in zip(pages, heights, strict=True)
    ]


def _is_running(line: Line, height: float, counts: Counter[str]) -> bool:
    if not _is_at_edge(line, height):
        return False
    return counts[_key(line.text)] >= _FEWEST_PAGES or bool(_PAGE_NUMBER.fullmatch(line.text))


def _is_at_edge(line: Line, height: float) -> bool:
    if len(line.text) > _LONGEST:
        return False
    return line.box.bottom < height * _UPPER or line.box.top > height * _LOWER


def _key(text: str) -> str:
    """The text with each number as one sign: the pages of a head differ in nothing else."""
    return _NUMBERS.sub("#", " ".join(text.casefold().split()))
