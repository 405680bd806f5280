"""Finds running heads and page numbers: what stands apart at the upper or lower edge of many pages.

A line there is a running head if its text comes back on other pages, or if other pages have such a line at the
same height, whatever it says: heads name the chapter or the section.

The printed numbers are the labels of a file that states none, such as an article from a journal.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from winnow.server.ingest.formats.pdf.layout import Page
from winnow.server.ingest.formats.pdf.lines import Line

# Shares of the height of a page between which its text stands.
UPPER, LOWER = 0.1, 0.9
_LONGEST = 160
_FEWEST_PAGES, _FEWEST_PLACES, _SHARE = 3, 4, 0.6
# Heads that change with the chapter: between which shares of the height, on which share of the pages, how long,
# how much larger than most lines, and how far from the text, in sizes of the font.
HEAD, FOOT = 0.17, 0.83
_PLACE_SHARE, _LONGEST_ROW, _LARGEST, _APART, _LEVEL = 0.3, 110, 1.15, 0.7, 0.45
_MORE_LINES, _WIDER = 2, 1.4
_NUMBER = re.compile(r"(?<![\d.,:/-])\d{1,5}(?![\d.,:/-]*\d)")
_NUMBERS = re.compile(r"\d+|\b[ivxlc]+\b", re.I)
_PAGE_NUMBER = re.compile(
    r"(?:(?:page|seite|p\.)\s*)?[-–—\s]*(?:\d{1,5}|[ivxlc]{1,8})[-–—\s]*(?:(?:of|/|von)\s*\w{1,5})?", re.I
)


@dataclass(frozen=True, slots=True)
class _Edge:
    """The outermost line of a page, in pieces: its place, and its text.

    ``gap``: the room between it and the text; ``is_apart``: it is wide. ``is_far``: it stands where hardly any
    page has text.
    """

    lines: tuple[Line, ...]
    place: tuple[bool, int]
    text: str
    gap: float
    is_apart: bool
    is_far: bool


@dataclass(frozen=True, slots=True)
class _Usual:
    """The size of most lines of a document, or of its text if that is larger, and the room between lines."""

    size: float
    gap: float


def _usual(pages: Sequence[Sequence[Line]]) -> _Usual:
    sizes = [line.size for lines in pages for line in lines]
    prose: Counter[float] = Counter()
    for lines in pages:
        for line in lines:
            if not line.is_mono:
                prose[line.size] += len(line.text)
    gaps: list[float] = []
    for lines in pages:
        ordered = sorted(lines, key=lambda line: line.box.middle)
        gaps += [
            then.box.top - first.box.bottom
            for first, then in pairwise(ordered)
            if then.box.middle - first.box.middle > _LEVEL * first.size
        ]
    # Where most lines are those of programs, heads are as large as the text between them.
    size = max(median(sizes), prose.most_common(1)[0][0]) if prose else median(sizes or [0.0])
    return _Usual(size, median(gaps) if gaps else 0.0)


def drop_running_heads(pages: Sequence[Sequence[Line]], heights: Sequence[float]) -> list[list[Line]]:
    """The pages without running heads and page numbers."""
    left = [list(lines) for lines in pages]
    usual = _usual(pages)
    for at_top in (True, False):
        edges = [_edge(lines, height, at_top, usual) for lines, height in zip(left, heights, strict=True)]
        places = _head_places(edges)
        dropped = _drop(left, edges, places)
        for _ in range(_MORE_LINES):  # such as a number below a note
            inner = [_edge(lines, height, at_top, usual) for lines, height in zip(left, heights, strict=True)]
            edges = [_if_beside(edge, outer) for edge, outer in zip(inner, dropped, strict=True)]
            dropped = [then or first for first, then in zip(dropped, _drop(left, edges, Counter()), strict=True)]
    return left


def _drop(
    pages: list[list[Line]], edges: Sequence[_Edge | None], places: Counter[tuple[bool, int]]
) -> list[_Edge | None]:
    """Take those of the outermost lines that are running heads from the pages; the ones that were taken.

    By its text, if it is a page number or comes back; or by its place, if enough pages have a line there that
    stands apart from the text.
    """
    texts = Counter(_key(edge.text) for edge in edges if edge is not None and (edge.is_apart or edge.is_far))
    fewest = max(_FEWEST_PLACES, _PLACE_SHARE * len(pages))
    out: list[_Edge | None] = [None] * len(pages)
    for number, edge in enumerate(edges):
        if edge is not None and (
            _is_running(edge, texts) or (edge.is_apart and _near(places, edge.place) >= fewest)
        ):
            ids = set(map(id, edge.lines))
            pages[number] = [line for line in pages[number] if id(line) not in ids]
            out[number] = edge
    return out


def _head_places(edges: Sequence[_Edge | None]) -> Counter[tuple[bool, int]]:
    """On how many pages a line stands apart at each height; none where other pages have text at this height."""
    apart = Counter(edge.place for edge in edges if edge is not None and edge.is_apart)
    others = Counter(edge.place for edge in edges if edge is not None and not edge.is_apart)
    return Counter({place: count for place, count in apart.items() if 4 * _near(others, place) <= count})


def _if_beside(edge: _Edge | None, outer: _Edge | None) -> _Edge | None:
    """A line that is nearer to the running head beyond it than to the text."""
    if edge is None or outer is None:
        return edge
    return edge if abs(edge.place[1] - outer.place[1]) < edge.gap + edge.lines[0].size else None


def _is_running(edge: _Edge, texts: Counter[str]) -> bool:
    if _PAGE_NUMBER.fullmatch(edge.text) and (edge.is_far or (edge.is_apart and not edge.place[0])):
        return True
    return (edge.is_apart or edge.is_far) and texts[_key(edge.text)] >= _FEWEST_PAGES


def _edge(lines: Sequence[Line], height: float, at_top: bool, usual: _Usual) -> _Edge | None:
    """The outermost line, if it is where running heads are, short, and in letters no larger than most."""
    if not lines:
        return None
    middles = [line.box.middle for line in lines]
    outer = min(middles) if at_top else max(middles)
    if not (outer < height * HEAD if at_top else outer > height * FOOT):
        return None
    row: list[Line] = []
    rest: list[Line] = []
    for line, middle in zip(lines, middles, strict=True):
        (row if abs(middle - outer) <= _LEVEL * line.size else rest).append(line)
    if max(line.size for line in row) > _LARGEST * usual.size:
        return None
    if sum(len(line.text) for line in row) > _LONGEST_ROW:
        return None
    gap = height
    if rest and at_top:
        gap = min(line.box.top for line in rest) - row[0].box.bottom
    elif rest:
        gap = row[0].box.top - max(line.box.bottom for line in rest)
    text = " ".join(line.text for line in sorted(row, key=lambda line: line.box.left))
    is_far = outer < height * UPPER if at_top else outer > height * LOWER
    return _Edge(
        tuple(row), (at_top, round(outer)), text, gap, gap > max(_APART * row[0].size, _WIDER * usual.gap), is_far
    )


def _near(places: Counter[tuple[bool, int]], place: tuple[bool, int]) -> int:
    """On how many pages a line stands at this height, to a point."""
    at_top, height = place
    return sum(places[at_top, height + by] for by in (-1, 0, 1))


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
