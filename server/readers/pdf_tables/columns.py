"""The columns of a table: by the bars between them, or by cells that stand below each other."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from math import inf

from winnow.server.readers.pdf.layout import Box, Rules
from winnow.server.readers.pdf.lines import Cell, Line, cell_of

# Fewest lines whose cells between two bars stand below each other: they are columns of their own.
_FEWEST_PARTED = 3
# In points: a bar that is nearer to the edge of a line stands beside it.
_BAR_ROOM = 3.0
# In points: rules that are as near are drawn at one height. So many cells of a row have rules of their own, each
# drawn twice.
_SAME_HEIGHT, _MOST_CELLS = 1.0, 60
# So many bars part all columns of a table; fewer may part groups of them, unless so many rules part its rows.
_FEWEST_BARS, _FEWEST_RULES = 3, 4
# In sizes of the font: words of a cell that are stretched to its width are no farther apart.
STRETCHED = 2.5
# In points: edges that are as near stand below each other; so many say where a column begins, after such a space,
# in sizes of the font.
_BELOW, _FEWEST_BELOW, _NARROWEST = 0.75, 2, 0.15
# A line below the names of a header has so many cells. In points: columns below a name are so far apart.
_FEWEST_BELOW_NAME, _APART = 3, 0.5
# In heights of a line: a cell that is set in the middle of its row stands between two lines of another; the lines
# of a title over all columns are no farther from the rule above or below them.
_BETWEEN, _TITLE_ROOM = 0.8, 2.0


@dataclass(slots=True)
class Column:
    """The edges of the cells of a column."""

    left: float
    right: float


def between_bars(line: Line, rules: Rules) -> list[Column]:
    """The columns between the bars beside and between the cells of a line; none if a bar is missing."""
    if not rules.vertical:
        return []
    middle = line.box.middle
    if (bars := rules.borders.get(middle)) is None:
        bars = rules.borders[middle] = _find_borders(middle, rules)
    if len(bars) < 3 or line.box.left < bars[0] - 1 or line.cells[-1].left >= bars[-1] - 1:
        return []
    return [Column(left, right) for left, right in pairwise(bars)]


def _find_borders(middle: float, rules: Rules) -> list[float]:
    """The bars at a height, and the edges of a table that has none there."""
    bars: list[float] = []
    for x in rules.bars_at(middle):
        if not bars or x - bars[-1] > _BAR_ROOM:
            bars.append(x)
    if len(bars) >= _FEWEST_BARS or (bars and _is_ruled(bars[0], rules)):
        return _with_edges(bars, middle, rules)
    return _with_cell_edges(bars, middle, rules) if bars else []


def _is_ruled(bar: float, rules: Rules) -> bool:
    """Whether a bar stands in a table whose rows all have rules over its whole width."""
    ends = Counter(
        (round(left / 2), round(right / 2)) for _, left, right in rules.horizontal if left < bar < right
    )
    return max(ends.values(), default=0) >= _FEWEST_RULES


def _with_edges(bars: list[float], middle: float, rules: Rules) -> list[float]:
    """The bars, and where the rules above and below a line end if its table has bars between columns alone."""
    crossing = [rule for rule in rules.horizontal if rule[1] < bars[0] + 1 and rule[2] > bars[-1] - 1]
    above = max((rule for rule in crossing if rule[0] < middle), default=None)
    below = min((rule for rule in crossing if rule[0] >= middle), default=None)
    if below is None and above is not None and _is_ruled(bars[0], rules):
        below = above  # the last row has none below
    if above is None or below is None:
        return bars
    left, right = max(above[1], below[1]), min(above[2], below[2])
    first = [left] if left < bars[0] - _BAR_ROOM else []
    last = [right] if right > bars[-1] + _BAR_ROOM else []
    return [*first, *bars, *last]


def _with_cell_edges(bars: list[float], middle: float, rules: Rules) -> list[float]:
    """The bars, and where the rules above and below a line begin and end if each cell has rules of its own.

    One of them may be on another page.
    """
    place = bisect_left(rules.horizontal, (middle,))
    found = [spans for spans in _rules_around(rules.horizontal, place) if _are_parted(spans, bars)]
    if not found:
        return bars
    left = max(min(left for left, _ in spans) for spans in found)
    right = min(max(right for _, right in spans) for spans in found)
    first = [left] if left < bars[0] - _BAR_ROOM else []
    last = [right] if right > bars[-1] + _BAR_ROOM else []
    return [*first, *bars, *last]


def _rules_around(
    horizontal: Sequence[tuple[float, float, float]], place: int
) -> Iterator[list[tuple[float, float]]]:
    """The rules at the nearest height above a place among the rules, which are sorted, and at the one below it."""
    above, below = range(max(place - _MOST_CELLS, 0), place)[::-1], range(place, len(horizontal))[:_MOST_CELLS]
    for places in filter(None, (above, below)):
        height, spans = horizontal[places[0]][0], []
        for y, left, right in map(horizontal.__getitem__, places):
            if abs(y - height) >= _SAME_HEIGHT:
                break
            spans.append((left, right))
        yield spans


def _are_parted(spans: Sequence[tuple[float, float]], bars: Sequence[float]) -> bool:
    """Whether the rules at one height end at each of the bars, and nowhere else but at the right."""
    ends = [right for _, right in spans]
    last = max(ends) - _BAR_ROOM
    inner = [end for end in ends if end < last]
    return all(any(abs(end - bar) < _BAR_ROOM for end in ends) for bar in bars) and all(
        any(abs(end - bar) < _BAR_ROOM for bar in bars) for end in inner
    )


def is_barred(line: Line, rules: Rules) -> bool:
    """Whether vertical lines are drawn between the words of a line."""
    middle, left, right = line.box.middle, line.box.left + _BAR_ROOM, line.box.right - _BAR_ROOM
    return any(top <= middle <= bottom and left < x < right for x, top, bottom in rules.vertical)


def part_columns(columns: Sequence[Column], lines: Iterable[Line], rules: Rules) -> Iterator[Column]:
    """The columns; one between bars is several where most of its lines have cells that stand below each other."""
    inside = [*takewhile(lambda line: between_bars(line, rules), lines)]
    for column in columns:
        held = [[cell for cell in line.cells if met_by(cell, [column])] for line in inside]
        several = [cells for cells in held if len(cells) > 1]
        edges = [*_join_spans(sorted((cell.left, cell.right) for cells in several for cell in cells))]
        if len(several) >= _FEWEST_PARTED and len(several) * 2 > sum(map(bool, held)) and len(edges) > 1:
            parts = [(right + left) / 2 for (_, right), (left, _) in pairwise(edges)]
            yield from (Column(*ends) for ends in pairwise([column.left, *parts, column.right]))
        else:
            yield column


def _join_spans(spans: Iterable[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """The spans, sorted by where they begin; those that overlap are one."""
    begin, end = -inf, -inf
    for left, right in spans:
        if left > end and end > -inf:
            yield begin, end
        begin, end = (left, right) if left > end else (begin, max(end, right))
    if end > -inf:
        yield begin, end


def is_title(line: Line, columns: Sequence[Column], rules: Rules) -> bool:
    """Whether a line of one cell stands between the outer bars of a table, without others between them."""
    if len(line.cells) != 1 or not columns:
        return False
    bars, left, right = rules.bars_at(line.box.middle), columns[0].left, columns[-1].right
    is_framed = any(abs(bar - left) < _BAR_ROOM for bar in bars) and any(
        abs(bar - right) < _BAR_ROOM for bar in bars
    )
    inner = any(left + _BAR_ROOM < bar < right - _BAR_ROOM for bar in bars)
    if not is_framed or inner or not left < line.box.left or not line.box.right < right:
        return False
    return _has_rule_near(line, replace(line.box, left=left + _BAR_ROOM, right=right - _BAR_ROOM), rules)


def _has_rule_near(line: Line, box: Box, rules: Rules) -> bool:
    """Whether a rule over the whole width of a box is drawn above or below a line, no farther than its cell ends.

    The frame of a page has none there.
    """
    room = _TITLE_ROOM * line.box.height
    ends = (bisect_left(rules.horizontal, (line.box.middle + side,)) for side in (-room, room))
    return bool(heights_over(box, Rules(rules.horizontal[slice(*ends)])))


def is_within(line: Line, columns: Sequence[Column]) -> bool:
    """Whether a line of one cell stands between two bars of a table."""
    return len(line.cells) == 1 and len(met_by(line.cells[0], columns)) == 1


def in_columns(lines: Iterable[Line], columns: Sequence[Column], rules: Rules) -> Iterator[Line]:
    """The lines up to the first below the bars that has a cell in several columns; cells in one column are one.

    A cell over several columns belongs to the first of them.
    """
    is_table = True
    for line in lines:
        places = [met_by(cell, columns) for cell in line.cells]
        is_table = is_table and (
            all(len(met) == 1 or (met and between_bars(line, rules)) for met in places)
            or is_title(line, columns, rules)
        )
        if not is_table:
            yield line
            continue
        cells: dict[int, Cell] = {}
        for cell, (place, *others) in zip(line.cells, places, strict=True):
            held = cells.get(place, replace(cell, text=""))
            right = columns[place].right if others else cell.right
            cells[place] = Cell(f"{held.text} {cell.text}".strip(), held.left, right)
        yield replace(line, cells=tuple(cells.values()))


def is_between(line: Line, above: Line) -> bool:
    """Whether a line begins above the end of the line above it, as a cell in the middle of a row does."""
    return line.box.middle - above.box.middle < _BETWEEN * line.box.height


def met_by(cell: Cell, columns: Sequence[Column]) -> list[int]:
    return [
        place
        for place, column in enumerate(columns)
        if cell.left < column.right - 1 and cell.right > column.left + 1
    ]


def part_at_columns(line: Line, columns: Sequence[Column], above: Sequence[Line]) -> Line:
    """The line with cells over several columns parted at words that begin where cells of lines above do."""
    if all(len(met_by(cell, columns)) < 2 for cell in line.cells):
        return line
    edges = [cell.left for other in above for cell in other.cells]
    parts = (part for cell in line.cells for part in _part_at(cell, columns, edges, _NARROWEST * line.size))
    return replace(line, cells=tuple(parts))


def _part_at(cell: Cell, columns: Sequence[Column], edges: Sequence[float], space: float) -> Iterator[Cell]:
    start = 0
    if len(met_by(cell, columns)) > 1:
        for place, (above, (_, left, _)) in enumerate(pairwise(cell.words), 1):
            below = sum(abs(edge - left) < _BELOW for edge in edges)
            if below >= _FEWEST_BELOW and left - above[2] > space:
                yield cell_of(cell.words[start:place])
                start = place
    yield cell_of(cell.words[start:]) if start else cell


def take_cells(cells: Sequence[Cell], columns: list[Column], size: float) -> bool:
    """Put the cells of a line into the columns; False if one stands in several, or two in one.

    Words that are stretched to the width of a column are one cell of it.
    """
    grown = [Column(column.left, column.right) for column in columns]
    used: list[int] = []
    for at, cell in enumerate(cells):
        met = met_by(cell, grown)
        if len(met) > 1:
            return False
        if met and met[0] in used:
            column, gap = grown[met[0]], cell.left - cells[at - 1].right
            if met[0] != used[-1] or cell.right > column.right + 1 or gap > STRETCHED * size:
                return False
            continue
        if met:
            column = grown[met[0]]
            column.left, column.right = min(column.left, cell.left), max(column.right, cell.right)
            used.append(met[0])
            continue
        place = sum(column.left < cell.left for column in grown)
        grown.insert(place, Column(cell.left, cell.right))
        used = [other + (other >= place) for other in used]
        used.append(place)
    columns[:] = grown
    return True


def take_below_header(line: Line, columns: list[Column]) -> bool:
    """Put the cells of a line into the columns below a header, of which some have a name over several of them.

    False if they do not stand below its names.
    """
    parted = [part for column in columns for part in _part_below(column, line.cells)]
    if len(parted) == len(columns) or len(line.cells) < _FEWEST_BELOW_NAME:
        return False
    if not take_cells(line.cells, parted, line.size):
        return False
    columns[:] = parted
    return True


def _part_below(column: Column, cells: Sequence[Cell]) -> Iterator[Column]:
    """A column; several where as many cells stand below its name."""
    below = [cell for cell in cells if column.left - 1 <= cell.left and cell.right <= column.right + 1]
    edges = [(first.right + then.left) / 2 for first, then in pairwise(below)]
    yield from (
        Column(left + _APART, right - _APART) for left, right in pairwise([column.left, *edges, column.right])
    )


def heights_over(box: Box, rules: Rules) -> list[float]:
    """The heights of the rules over the whole width of a box; each cell may have one of its own."""
    drawn: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for y, left, right in rules.horizontal:
        drawn[round(y)].append((left, right + _SAME_HEIGHT))
    return [
        float(y)
        for y, spans in drawn.items()
        if any(left <= box.left and right >= box.right for left, right in _join_spans(sorted(spans)))
    ]


def inner_rules(rules: Rules, box: Box) -> list[float]:
    """The heights of the rules between the lines of a table."""
    width = box.right - box.left
    # Each cell may have a line of its own; a line may be drawn twice, as the edges of a thin box.
    drawn: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for y, left, right in rules.horizontal:
        if box.top + 1 < y < box.bottom - 1 and left < box.right and right > box.left:
            drawn[round(y)].append((max(left, box.left), min(right, box.right)))
    lengths = {y: sum(end - start for start, end in _join_spans(sorted(spans))) for y, spans in drawn.items()}
    return sorted(y for y, length in lengths.items() if length > 0.15 * width)


def box_of(lines: Sequence[Line]) -> Box:
    box = lines[0].box
    for line in lines[1:]:
        box = box.join(line.box)
    return box
