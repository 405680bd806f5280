"""Parts cells at a word that begins where cells of other lines do, after a gap that is wider than others.

Such a gap is narrow where a label nearly fills its column. Words of prose do not begin where cells of the lines
around them do, and the gaps of a line that is stretched are wide alike.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf

from winnow.server.readers.pdf.lines import Cell, Line, Word, cell_of

# In points: edges that are as near stand below each other. In sizes of the font: how far away lines are looked at.
_BELOW, _AROUND = 0.75, 5.0
# So many cells begin there, of lines above or below.
_FEWEST_EDGES = 2
# A gap is wider than the others of its cell by this factor; in sizes of the font, how wide a space is.
_WIDER, _NARROWEST_SPACE, _WIDEST_SPACE, _SURELY_WIDE = 1.15, 0.22, 0.4, 0.5
# In characters: a longer label is a line of prose, whose last words may stand above the marks in a margin.
_LONGEST_LABEL = 60
# In letters: a sentence has such a word.
_LONG_WORD = 4

# In sizes of the font: two blanks of a typewriter. So many lines above and below show its columns.
_TWO_BLANKS, _LINES_AROUND = 1.4, 2

# The left edge of a cell, the height of its line, and where that line begins if it is one of a program.
_Edge = tuple[float, float, float]


def part_aligned(lines: Sequence[Line]) -> Iterator[Line]:
    """The lines with their cells parted; those of programs stay, whose words stand below each other anyway."""
    edges = sorted((cell.left, line.box.middle, _start(line)) for line in lines for cell in line.cells)
    for line in lines:
        if line.is_mono or all(len(cell.words) < 2 for cell in line.cells):
            yield line
        else:
            yield replace(line, cells=tuple(part for cell in line.cells for part in _parts(cell, line, edges)))


def join_typed(lines: Sequence[Line]) -> Iterator[Line]:
    """The lines of a typescript; words two blanks apart, as in stretched text, are one cell.

    Unless the second begins or ends where cells of the lines around do.
    """
    for place, line in enumerate(lines):
        if not line.is_mono or len(line.cells) < 2:
            yield line
            continue
        around = [*lines[max(place - _LINES_AROUND, 0) : place], *lines[place + 1 : place + 1 + _LINES_AROUND]]
        yield replace(line, cells=tuple(_typed_cells(line, around)))


def _typed_cells(line: Line, around: Sequence[Line]) -> Iterator[Cell]:
    lefts = Counter(round(cell.left) for other in around for cell in other.cells)
    # All lines that are stretched end at one edge.
    rights = Counter(round(cell.right) for other in around for cell in other.cells[1:])
    whole = line.cells[0]
    for cell in line.cells[1:]:
        is_column = max(lefts[round(cell.left)], rights[round(cell.right)]) >= _FEWEST_EDGES
        if is_column or cell.left - whole.right > _TWO_BLANKS * line.size:
            yield whole
            whole = cell
        else:
            whole = whole.join(cell)
    yield whole


def _start(line: Line) -> float:
    """The left edge of a line of a program, behind its number; 0 for other lines."""
    if not line.is_mono:
        return 0.0
    return next((cell.left for cell in line.cells if not cell.text.isdigit()), line.box.left)


def _parts(cell: Cell, line: Line, edges: Sequence[_Edge]) -> Iterator[Cell]:
    words = cell.words
    gaps = [then[1] - first[2] for first, then in pairwise(words)]
    start = 0
    for place, gap in enumerate(gaps, 1):
        is_wide = gap > min(_WIDER * _usual_gap(gaps, place - 1, line.size), _SURELY_WIDE * line.size)
        is_label = gap > _SURELY_WIDE * line.size or _count_chars(words[start:place]) <= _LONGEST_LABEL
        if is_wide and is_label and _is_edge(words[place], line, edges):
            yield cell_of(words[start:place])
            start = place
    yield cell_of(words[start:]) if start else cell


def _is_text(line: Line) -> bool:
    """Whether a line of one cell has words as a sentence has them."""
    words = [text for text, _, _ in line.cells[0].words if text.isalpha() and text.islower()]
    return len(line.cells) == 1 and len(words) > 1 and max(map(len, words)) >= _LONG_WORD


def _count_chars(words: Sequence[Word]) -> int:
    return sum(len(text) + 1 for text, _, _ in words)


def _usual_gap(gaps: Sequence[float], place: int, size: float) -> float:
    """The narrowest of the other gaps, but no less than a space; the widest space where there are none."""
    others = [*gaps[:place], *gaps[place + 1 :]]
    return max(min(others), _NARROWEST_SPACE * size) if others else _WIDEST_SPACE * size


def _is_edge(word: Word, line: Line, edges: Sequence[_Edge]) -> bool:
    """Whether other lines near this one have cells that begin where this word does.

    Those of a program below a line of text, which is indented, do not count.
    """
    left, room = word[1], _AROUND * line.size
    farthest = line.box.left + line.size / 2 if _is_text(line) else inf
    found = 0
    for place in range(bisect_left(edges, (left - _BELOW, 0.0, 0.0)), len(edges)):
        edge, height, start = edges[place]
        if edge > left + _BELOW:
            break
        distance = abs(height - line.box.middle)
        found += line.size / 2 < distance < room and start < farthest
    return found >= _FEWEST_EDGES
