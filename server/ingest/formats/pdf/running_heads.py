"""Finds running heads and page numbers: short lines at the upper or lower edge that come back on other pages.

The printed numbers are the labels of a file that states none, such as an article from a journal.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from server.ingest.formats.pdf.layout import Page
from server.ingest.formats.pdf.lines import Line

# Shares of the height of a page between which its text stands.
UPPER, LOWER = 0.1, 0.9
_LONGEST = 160
_FEWEST_PAGES, _SHARE = 3, 0.6
_NUMBER = re.compile(r"(?<![\d.,:/-])\d{1,5}(?![\d.,:/-]*\d)")
_NUMBERS = re.compile(r"\d+|\b[ivxlc]+\b", re.I)
_PAGE_NUMBER = re.compile(
    r"(?:(?:page|seite|p\.)\s*)?[-–—\s]*(?:\d{1,5}|[ivxlc]{1,8})[-–—\s]*(?:(?:of|/|von)\s*\w{1,5})?", re.I
)


def drop_running_heads(pages: Sequence[Sequence[Line]], heights: Sequence[float]) -> list[list[Line]]:
    """The pages without the lines that come back on at least three of them, and without their page numbers."""
    counts: Counter[str] = Counter()
    for lines, height in zip(pages, heights, strict=True):
        counts.update({_key(line.text) for line in lines if is_at_edge(line, height)})
    return [
        [line for line in lines if not _is_running(line, height, counts)]
        for lines, height in zip(pages, heights, strict=True)
    ]


def _is_running(line: Line, height: float, counts: Counter[str]) -> bool:
    if not is_at_edge(line, height):
        return False
    return counts[_key(line.text)] >= _FEWEST_PAGES or bool(_PAGE_NUMBER.fullmatch(line.text))


def is_at_edge(line: Line, height: float) -> bool:
    """Whether a line stands where pages have running heads and numbers, and is short."""
    if len(line.text) > _LONGEST:
        return False
    return line.box.bottom < height * UPPER or line.box.top > height * LOWER


def _key(text: str) -> str:
    """The text with each number as one sign: the pages of a head differ in nothing else."""
    return _NUMBERS.sub("#", " ".join(text.casefold().split()))


def read_labels(pages: Sequence[Page]) -> Mapping[int, str]:
    """The printed number of each page, by its place in the file; empty where the pages show none.

    On at least three pages, and three of five, a number at the edge must be larger than the place of its page in
    the file by one difference, which then holds for all pages.
    """
    differences: Counter[int] = Counter()
    for page in pages:
        found = {int(number) for text in page.edges if len(text) <= _LONGEST for number in _NUMBER.findall(text)}
        differences.update(number - page.number for number in found)
    if not differences:
        return {}
    difference, count = differences.most_common(1)[0]
    if count < max(_FEWEST_PAGES, _SHARE * len(pages)):
        return {}
    return {page.number: str(page.number + difference) for page in pages if page.number + difference > 0}
