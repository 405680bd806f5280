"""Finds running heads and page numbers: what stands apart at the upper or lower edge of many pages.

A line there is a running head if its text comes back on other pages, or if other pages have such a line at the
same height, whatever it says: heads name the chapter or the section. What stands beyond a rule that many
pages have at one height is a head, too.

The printed numbers are the labels of a file that states none, such as an article from a journal.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from winnow.server.readers.pdf.layout import Page, Rules
from winnow.server.readers.pdf.lines import Line

# Shares of the height of a page between which its text stands.
UPPER, LOWER = 0.1, 0.9
_LONGEST = 160
_FEWEST_PAGES, _FEWEST_PLACES, _SHARE = 3, 4, 0.6
# Heads that change with the chapter: between which shares of the height, on which share of the pages, how long,
# how much larger than most lines, and how far from the text, in sizes of the font.
HEAD, FOOT = 0.17, 0.83
_PLACE_SHARE, _LONGEST_ROW, _LARGEST, _APART, _LEVEL = 0.3, 110, 1.15, 0.7, 0.45
# Numbers of pages may be larger.
_LARGEST_NUMBER = 1.6
_MORE_LINES, _WIDER = 2, 1.4
# A rule over this share of the width of the text may part a head from it; how far it reaches into the line of the
# head, in sizes of the font.
_RULE_SHARE, _INTO_LINE = 0.7, 0.3
# A table that begins or ends at the edge of a page has so many bars there.
_TABLE_BARS = 3
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


def drop_running_heads(
    pages: Sequence[Sequence[Line]], heights: Sequence[float], rules: Sequence[Rules] = ()
) -> list[list[Line]]:
    """The pages without running heads and page numbers. ``rules`` are those of each page, where they are known."""
    left = _without_ruled(pages, heights, rules) if rules else [list(lines) for lines in pages]
    is_done = [_dropped_edges(*page) for page in zip(pages, left, heights, strict=True)]
    usual = _usual(pages)

    def edges_of(*, at_top: bool) -> list[_Edge | None]:
        edges = [_edge(lines, height, at_top, usual) for lines, height in zip(left, heights, strict=True)]
        if rules:
            edges = [
                None if edge and _is_in_table(edge, height, found) else edge
                for edge, height, found in zip(edges, heights, rules, strict=True)
            ]
        return [
            _if_sure(edge) if edge and at_top in done else edge for edge, done in zip(edges, is_done, strict=True)
        ]

    for at_top in (True, False):
        edges = edges_of(at_top=at_top)
        outermost = [_outermost_place(lines, at_top) for lines in left]
        places = _head_places(edges, outermost)
        dropped = _drop(left, edges, places)
        for _ in range(_MORE_LINES):  # such as a number below a note
            edges = [_if_beside(edge, outer) for edge, outer in zip(edges_of(at_top=at_top), dropped, strict=True)]
            dropped = [then or first for first, then in zip(dropped, _drop(left, edges, Counter()), strict=True)]
    return left


def _without_ruled(
    pages: Sequence[Sequence[Line]], heights: Sequence[float], rules: Sequence[Rules]
) -> list[list[Line]]:
    """The pages without what stands beyond a rule, at an edge, that many pages have at this height."""
    drawn = [
        _edge_rules(lines, height, found.horizontal)
        for lines, height, found in zip(pages, heights, rules, strict=True)
    ]
    places = Counter(
        (y < height / 2, round(y)) for found, height in zip(drawn, heights, strict=True) for y in found
    )
    fewest = max(_FEWEST_PLACES, _PLACE_SHARE * len(pages))
    size = _usual(pages).size
    out = []
    for lines, height, found in zip(pages, heights, drawn, strict=True):
        usual = [y for y in found if _near(places, (y < height / 2, round(y))) >= fewest]
        beyond = {id(line) for y in usual for line in _beyond(lines, y, found, size, at_top=y < height / 2)}
        out.append([line for line in lines if id(line) not in beyond])
    return out


def _if_sure(edge: _Edge) -> _Edge | None:
    """The rest at an edge where a head was dropped: the title of a section may stand there on many pages."""
    if "#" in _key(edge.text) and not _PAGE_NUMBER.fullmatch(edge.text):
        return None
    return replace(edge, is_apart=False)


def _dropped_edges(lines: Sequence[Line], left: Sequence[Line], height: float) -> set[bool]:
    """The edges, the upper one as True, at which lines of a page were dropped: what is there now is text."""
    ids = set(map(id, left))
    return {line.box.middle < height / 2 for line in lines if id(line) not in ids}


def _edge_rules(lines: Sequence[Line], height: float, rules: Sequence[tuple[float, float, float]]) -> list[float]:
    """The heights of rules over most of the width of the text, at the edges of a page."""
    width = max((line.box.right for line in lines), default=0) - min((line.box.left for line in lines), default=0)
    return [
        y
        for y, left, right in rules
        if right - left >= _RULE_SHARE * width and not UPPER * height < y < LOWER * height
    ]


def _beyond(lines: Sequence[Line], y: float, rules: Sequence[float], size: float, *, at_top: bool) -> list[Line]:
    """The lines beyond a rule, if they are those of a head: short, in letters no larger than most of the page's
    or of the document's (``size``), and without another rule beyond them.
    """
    found = [
        line
        for line in lines
        if (line.box.bottom < y + _INTO_LINE * line.size if at_top else line.box.top > y - _INTO_LINE * line.size)
    ]
    if not found or sum(len(line.text) for line in found) > _LONGEST:
        return []
    if max(line.size for line in found) > _LARGEST * max(size, median(line.size for line in lines)):
        return []
    outer = min(line.box.middle for line in found) if at_top else max(line.box.middle for line in found)
    return (
        []
        if any(other < outer if at_top else other > outer for other in rules if (other < y) == at_top)
        else found
    )


def _drop(
    pages: list[list[Line]], edges: Sequence[_Edge | None], places: Counter[tuple[bool, int]]
) -> list[_Edge | None]:
    """Take those of the outermost lines that are running heads from the pages; the ones that were taken.

    By its text, if it is a page number or comes back; or by its place, if enough pages have a line there that
    stands apart from the text.
    """
    texts = Counter(_key(edge.text) for edge in edges if edge is not None and (edge.is_apart or edge.is_far))
    begins = _places_of_text(edges)
    fewest = max(_FEWEST_PLACES, _PLACE_SHARE * len(pages))
    out: list[_Edge | None] = [None] * len(pages)
    for number, edge in enumerate(edges):
        if edge is not None and (
            (_is_running(edge, texts) and edge.place not in begins)
            or (edge.is_apart and _near(places, edge.place) >= fewest)
        ):
            ids = set(map(id, edge.lines))
            pages[number] = [line for line in pages[number] if id(line) not in ids]
            out[number] = edge
    return out


def _head_places(
    edges: Sequence[_Edge | None], outermost: Sequence[tuple[bool, int]]
) -> Counter[tuple[bool, int]]:
    """On how many pages a line stands apart at each height; none where other pages have text at this height.

    ``outermost``: where the text of each page begins, also where that line is too long or too large for a head.
    """
    apart = Counter(edge.place for edge in edges if edge is not None and edge.is_apart)
    others = Counter(
        place for edge, place in zip(edges, outermost, strict=True) if edge is None or not edge.is_apart
    )
    return Counter({place: count for place, count in apart.items() if 4 * _near(others, place) <= count})


def _outermost_place(lines: Sequence[Line], at_top: bool) -> tuple[bool, int]:
    middles = [line.box.middle for line in lines] or [0.0]
    return at_top, round(min(middles) if at_top else max(middles))


def _places_of_text(edges: Sequence[_Edge | None]) -> set[tuple[bool, int]]:
    """The places at which the text of most pages begins or ends: lines that come back there are no heads.

    More lines there are not apart and say what no other page says than come back.
    """
    found = [(edge, _key(edge.text)) for edge in edges if edge is not None]
    texts = Counter(key for _, key in found)
    back = Counter(edge.place for edge, key in found if texts[key] >= _FEWEST_PAGES)
    once = Counter(edge.place for edge, key in found if texts[key] == 1 and not edge.is_apart)
    return {place for place in back if _near(once, place) > _near(back, place)}


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
    text = " ".join(line.text for line in sorted(row, key=lambda line: line.box.left))
    largest = _LARGEST_NUMBER if _PAGE_NUMBER.fullmatch(text) else _LARGEST
    if max(line.size for line in row) > largest * usual.size:
        return None
    if sum(len(line.text) for line in row) > _LONGEST_ROW:
        return None
    gap = height
    if rest and at_top:
        gap = min(line.box.top for line in rest) - row[0].box.bottom
    elif rest:
        gap = row[0].box.top - max(line.box.bottom for line in rest)
    is_far = outer < height * UPPER if at_top else outer > height * LOWER
    return _Edge(
        tuple(row), (at_top, round(outer)), text, gap, gap > max(_APART * row[0].size, _WIDER * usual.gap), is_far
    )


def _is_in_table(edge: _Edge, height: float, rules: Rules) -> bool:
    """Whether bars beside and between the cells of an outermost line go on into the text: it is a row."""
    at_top, _ = edge.place
    beside = {round(bar) for bar in rules.bars_at(edge.lines[0].box.middle)}
    within = {round(bar) for bar in rules.bars_at(height * (HEAD if at_top else FOOT))}
    return len(beside & within) >= _TABLE_BARS


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
