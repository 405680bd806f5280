"""Finds tables in the lines of a column: lines whose cells stand below each other, and the rows they are.

A cell may have several lines. Where rules are drawn between the rows, they say which lines are one row; elsewhere
a line without a first cell goes on with the row above it, as does one that is nearer to it than rows are apart.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise, takewhile
from math import inf

from winnow.server.readers.pdf.layout import Block, BlockKind, Box, Rules
from winnow.server.readers.pdf.lines import Cell, Line

ENDS_SENTENCE = re.compile(r"[.!?:;…。！？][\"'”’»)\]*_]*\Z")
# "•", "1.", "(a)", "2.4": what stands before the text of an item or a heading is no cell.
MARKER = re.compile(
    r"(?:[•◦▪‣–—−·∙*○●■□➢✓▶►▸\uf0b7\uf0a7\uf06e\uf0d8\u0088-]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[.)]|\d{1,3}(?:\.\d{1,3})+\.?|[A-Z](?:\.\d+)+)"
)
LEADERS = re.compile(r"(?:\s?[.…·]){4,}")
# Fewest rows of a table without rules, with rules, and with three columns or more.
_ROWS, _RULED_ROWS, _WIDE_ROWS = 3, 2, 2
# In heights of a line: rows that are farther apart are not one table.
_FARTHEST = 3.2
# Of the lines of a table, so many have two cells or more.
_FULL_SHARE = 0.34
_NEAR_ROW, _FAR_ROW = 1.15, 1.3
# So many of the lines of groups of rows have a first cell.
_NAMED_SHARE = 0.8
# A cell seldom has as many lines, of which each stands beside one of its neighbour.
_BODY_LINES, _MANY_CELLS = 5, 4
_LONG_CELL = 45
# A line with so few of the cells of a full row goes on with it.
_FEW_SHARE = 1 / 3
# In sizes of the font: words of a cell that are stretched to its width are no farther apart.
_STRETCHED = 2.5
# In heights of a line: a cell that is set in the middle of its row stands between two lines of another.
_BETWEEN = 0.8
# What begins an alternative of a grammar, or an option without a short form; "::=" may stand beside its name.
_ALTERNATIVE = re.compile(r"(?:\||::=|:=)(?:\s|\Z)|[-–—]{1,2}\w")
# So many lines of contents, whose titles are this far from their pages, in sizes of the font.
_CONTENTS, _TITLE_GAP = 4, 4.0
_PAGE = re.compile(r"\d{1,4}|[ivxlc]{1,7}")
_NUMBER = re.compile(r"[-+\u2212\u2013]?\d[\d.,]*%?")
_KIND = re.compile(r"\[[^\]]{3,30}\]")
# In points: a bar that is nearer to the edge of a line stands beside it.
_BAR_ROOM = 3.0
# In points: the frame of a table is no farther from its lines.
_FRAME_ROOM = 8.0


def has_leaders(text: str) -> bool:
    """Whether dots lead from one part of a line to the next, as in a table of contents."""
    return (". ." in text or ".." in text or "…" in text or "· ·" in text) and bool(LEADERS.search(text))


@dataclass(slots=True)
class _Column:
    """The edges of the cells of a column."""

    left: float
    right: float


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A table, and how many lines it has."""

    block: Block
    lines: int


def find_table(lines: Sequence[Line], start: int, rules: Rules) -> FoundTable | None:
    """The table that begins with this line; None if it begins none."""
    barred = columns = _between_bars(lines[start], rules)
    if not is_row(lines[start]) and not _is_within(lines[start], columns):
        return None
    if columns:
        columns = [*_part_columns(columns, lines[start:], rules)]
        lines = [*lines[:start], *_in_columns(lines[start:], columns, rules)]
    else:
        columns = [_Column(cell.left, cell.right) for cell in lines[start].cells]
    count = _count_lines(lines, start, columns, rules)
    taken = lines[start : start + count]
    box = _box(taken)
    is_framed = bool(barred) and _may_be_framed(taken) and _is_framed(box, rules)
    if not is_row(lines[start]) and not is_framed:
        return None
    if len(columns) < 2 or not (is_framed or _is_enough(taken, columns, rules)):
        return None
    rows = _without_empty(_rows(taken, columns, rules))
    if not is_framed and len(rows) < (_RULED_ROWS if len(columns) > 2 or _inner(rules, box) else _ROWS):
        return None
    return FoundTable(Block(BlockKind.TABLE, table_markdown(rows), box, is_aside=True), count)


def _between_bars(line: Line, rules: Rules) -> list[_Column]:
    """The columns between the bars beside and between the cells of a line; none if a bar is missing."""
    bars: list[float] = []
    for x, top, bottom in rules.vertical:
        if top <= line.box.middle <= bottom and (not bars or x - bars[-1] > _BAR_ROOM):
            bars.append(x)
    if len(bars) < 3 or line.box.left < bars[0] - 1 or line.cells[-1].left >= bars[-1] - 1:
        return []
    return [_Column(left, right) for left, right in pairwise(bars)]


def _part_columns(columns: Sequence[_Column], lines: Iterable[Line], rules: Rules) -> Iterator[_Column]:
    """The columns; one between bars is several where most of its lines have cells that stand below each other."""
    inside = [*takewhile(lambda line: _between_bars(line, rules), lines)]
    for column in columns:
        held = [[cell for cell in line.cells if _met(cell, [column])] for line in inside]
        several = [cells for cells in held if len(cells) > 1]
        edges = [*_join_spans(sorted((cell.left, cell.right) for cells in several for cell in cells))]
        if len(several) >= _ROWS and len(several) * 2 > sum(map(bool, held)) and len(edges) > 1:
            parts = [(right + left) / 2 for (_, right), (left, _) in pairwise(edges)]
            yield from (_Column(*ends) for ends in pairwise([column.left, *parts, column.right]))
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


def _is_within(line: Line, columns: Sequence[_Column]) -> bool:
    """Whether a line of one cell stands between two bars of a table."""
    return len(line.cells) == 1 and len(_met(line.cells[0], columns)) == 1


def _without_empty(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The rows without columns that have no text, such as those between double bars."""
    held = [any(column) for column in zip(*rows, strict=True)]
    return [[cell for cell, is_held in zip(cells, held, strict=True) if is_held] for cells in rows]


def _may_be_framed(lines: Sequence[Line]) -> bool:
    """Whether lines in a frame may be a table: a program in a box may have bars in it."""
    is_program = sum(line.is_mono for line in lines) * 2 > len(lines)
    return not is_program and any(len(line.cells) > 1 for line in lines)


def _is_framed(box: Box, rules: Rules) -> bool:
    """Whether rules over the whole width are drawn close above and close below the lines of a table."""
    tops = [y for y, left, right in rules.horizontal if left <= box.left and right >= box.right]
    return any(-_FRAME_ROOM < y - box.top < 1 for y in tops) and any(
        -1 < y - box.bottom < _FRAME_ROOM for y in tops
    )


def _in_columns(lines: Iterable[Line], columns: Sequence[_Column], rules: Rules) -> Iterator[Line]:
    """The lines up to the first below the bars that has a cell in several columns; cells in one column are one.

    A cell over several columns belongs to the first of them.
    """
    is_table = True
    for line in lines:
        places = [_met(cell, columns) for cell in line.cells]
        is_table = is_table and all(len(met) == 1 or (met and _between_bars(line, rules)) for met in places)
        if not is_table:
            yield line
            continue
        cells: dict[int, Cell] = {}
        for cell, (place, *others) in zip(line.cells, places, strict=True):
            held = cells.get(place, replace(cell, text=""))
            right = columns[place].right if others else cell.right
            cells[place] = Cell(f"{held.text} {cell.text}".strip(), held.left, right)
        yield replace(line, cells=tuple(cells.values()))


def count_contents(lines: Sequence[Line], start: int, rules: Rules) -> int:
    """The number of lines of contents without dots that begin here: titles, and pages at the edge of the text.

    A title may have a first line without a page.
    """
    if not _PAGE.fullmatch(lines[start].cells[-1].text):
        return 0
    edge = max(line.box.right for line in lines)
    entries: list[Line] = []
    count = 0
    for place in range(start, len(lines)):
        line = lines[place]
        if is_barred(line, rules):
            break
        if _is_entry(line, edge) and (not entries or _follows(entries[-1], line)):
            entries.append(line)
            count = place - start + 1
        elif place - start > count:
            break
    far = sum(line.cells[-1].left - line.cells[-2].right > _TITLE_GAP * line.size for line in entries)
    return count if len(entries) >= _CONTENTS and far * 2 > len(entries) and _are_pages(entries) else 0


def _follows(above: Line, line: Line) -> bool:
    """Whether the page of a title is none before that of the title above it; numbers come after Roman ones."""
    first, then = above.cells[-1].text, line.cells[-1].text
    return int(then) >= int(first) if first.isdigit() and then.isdigit() else not first.isdigit()


def _are_pages(entries: Iterable[Line]) -> bool:
    return len({line.cells[-1].text for line in entries}) > 1


def _is_entry(line: Line, edge: float) -> bool:
    """Whether a line has a title, which may have a number, and the number of a page at the edge."""
    if not 2 <= len(line.cells) <= 3:
        return False
    *number, title, page = (cell.text for cell in line.cells)
    is_numbered = not number or bool(MARKER.fullmatch(number[0]) or (number[0].isalnum() and len(number[0]) < 4))
    has_title = any(map(str.isalpha, title)) and line.box.right > edge - line.size
    return is_numbered and has_title and bool(_PAGE.fullmatch(page))


def is_barred(line: Line, rules: Rules) -> bool:
    """Whether vertical lines are drawn between the words of a line."""
    middle, left, right = line.box.middle, line.box.left + _BAR_ROOM, line.box.right - _BAR_ROOM
    return any(top <= middle <= bottom and left < x < right for x, top, bottom in rules.vertical)


def is_row(line: Line) -> bool:
    """Whether a line has several cells, and is no item or heading with its number, nor a line of contents."""
    if len(line.cells) < 2 or has_leaders(line.text):
        return False
    return len(line.cells) > 2 or not MARKER.fullmatch(line.cells[0].text)


def _count_lines(lines: Sequence[Line], start: int, columns: list[_Column], rules: Rules) -> int:
    """The number of lines of the table; ``columns`` grow by the cells of each."""
    last = 0
    barred = _between_bars(lines[start], rules)
    for place in range(start + 1, len(lines)):
        line, above = lines[place], lines[place - 1]
        distance = line.box.middle - above.box.middle
        # A table between bars begins or ends here; its header may be above its frame, and its last rows below it.
        is_outside = bool(_between_bars(line, rules)) != bool(barred)
        if is_outside and (place > start + 1 if not barred else len(line.cells) == 1):
            break
        if distance > _FARTHEST * max(line.box.height, above.box.height) or distance < 0 or has_leaders(line.text):
            break
        if len(line.cells) == 1 and _is_within(line, barred):
            last = place - start
            continue
        if len(line.cells) == 1:
            if not _fits_alone(line, above, columns, distance):
                break
            continue
        if not _take(line.cells, columns, line.size):
            break
        last = place - start
    return last + 1 + _count_wrapped(lines, start + last + 1, columns)


def _count_wrapped(lines: Sequence[Line], start: int, columns: Sequence[_Column]) -> int:
    """The number of lines after the last full one that only go on with its cells beyond the first column."""
    count = 0
    for place in range(start, len(lines)):
        line, above = lines[place], lines[place - 1]
        near = line.box.middle - above.box.middle < 1.5 * line.box.height
        if (
            len(line.cells) > 1
            or not near
            or (line.box.left < columns[1].left - 2 and not _is_between(line, above))
            or line.box.left > columns[-1].right
        ):
            break
        count += 1
    return count


def _is_between(line: Line, above: Line) -> bool:
    """Whether a line begins above the end of the line above it, as a cell in the middle of a row does."""
    return line.box.middle - above.box.middle < _BETWEEN * line.box.height


def _fits_alone(line: Line, above: Line, columns: Sequence[_Column], distance: float) -> bool:
    """Whether a line of one cell may stand in a table: in one column, or a label over its rows."""
    met = _met(line.cells[0], columns)
    if len(met) == 1 and met[0] > 0:
        return distance < 1.6 * line.box.height
    return met == [0] and len(line.text) <= 2 * _LONG_CELL


def _met(cell: Cell, columns: Sequence[_Column]) -> list[int]:
    return [
        place
        for place, column in enumerate(columns)
        if cell.left < column.right - 1 and cell.right > column.left + 1
    ]


def _take(cells: Sequence[Cell], columns: list[_Column], size: float) -> bool:
    """Put the cells of a line into the columns; False if one stands in several, or two in one.

    Words that are stretched to the width of a column are one cell of it.
    """
    grown = [_Column(column.left, column.right) for column in columns]
    used: list[int] = []
    for at, cell in enumerate(cells):
        met = _met(cell, grown)
        if len(met) > 1:
            return False
        if met and met[0] in used:
            column, gap = grown[met[0]], cell.left - cells[at - 1].right
            if met[0] != used[-1] or cell.right > column.right + 1 or gap > _STRETCHED * size:
                return False
            continue
        if met:
            column = grown[met[0]]
            column.left, column.right = min(column.left, cell.left), max(column.right, cell.right)
            used.append(met[0])
            continue
        place = sum(column.left < cell.left for column in grown)
        grown.insert(place, _Column(cell.left, cell.right))
        used = [other + (other >= place) for other in used]
        used.append(place)
    columns[:] = grown
    return True


def _is_enough(lines: Sequence[Line], columns: Sequence[_Column], rules: Rules) -> bool:
    full = sum(len(line.cells) > 1 for line in lines)
    between = sum(_is_between(line, above) for above, line in pairwise(lines))
    if full < 2 or full < _FULL_SHARE * (len(lines) - 2 * between):
        return False
    if len(columns) > 2 or _inner(rules, _box(lines)):
        return True
    # The kinds of what is declared ("[Function]", or one word for all) stand at the right of a declaration.
    kinds = [line.cells[-1].text for line in lines if len(line.cells) == 2]
    if all(map(_KIND.fullmatch, kinds)) or (
        full >= _ROWS and len(set(kinds)) == 1 and kinds[0].strip("()").isalpha()
    ):
        return False
    # Two columns of long lines are prose that no gutter was found for.
    long = sum(min(len(cell.text) for cell in line.cells) > _LONG_CELL for line in lines if len(line.cells) == 2)
    return full >= _ROWS and long * 3 < full


def _rows(lines: Sequence[Line], columns: Sequence[_Column], rules: Rules) -> list[list[str]]:
    """The texts of the cells, row by row."""
    rows: list[list[str]] = []
    texts = [_cells(line, columns) for line in lines]
    groups, bars = _groups(lines, rules)
    whole = _barred_rows(lines, texts, groups, bars)
    if not groups and (starts := _centred_rows(lines, texts)):
        return [_whole(texts[first:end]) for first, end in pairwise([*starts, len(texts)])]
    distances = [then.box.middle - first.box.middle for first, then in pairwise(lines)]
    near = min(distances, default=0.0)
    begins_large = sum(line.cells[-1].text[:1].isupper() for line in lines) * 2 > len(lines)
    gaps = sum(distance > _FAR_ROW * near for distance in distances)
    # Gaps between groups of rows part no rows: nearly all of their lines have a first cell.
    has_groups = gaps * 3 < len(lines) and sum(cells[0] != "" for cells in texts) > _NAMED_SHARE * len(lines)
    is_spread = gaps >= 2 and not has_groups
    for place, (line, cells) in enumerate(zip(lines, texts, strict=True)):
        if place and (
            _is_rest(line, lines[place - 1], cells, columns)
            or _is_partial(cells, rows[-1], texts[place - 1])
            or _goes_on(
                cells,
                texts[place - 1],
                place,
                groups,
                distances,
                near if is_spread else 0.0,
                begins_large,
                whole[place],
            )
        ):
            rows[-1] = _whole((rows[-1], cells))
        else:
            rows.append(cells)
    return rows


def _cells(line: Line, columns: Sequence[_Column]) -> list[str]:
    """The texts of a line by column."""
    cells = [""] * len(columns)
    for cell in line.cells:
        met = _met(cell, columns) or [0]
        cells[met[0]] = f"{cells[met[0]]} {cell.text}".strip()
    return cells


def _whole(lines: Sequence[Sequence[str]]) -> list[str]:
    """The cells of a row of several lines."""
    return [reduce(_join, cells) for cells in zip(*lines, strict=True)]


def _centred_rows(lines: Sequence[Line], texts: Sequence[Sequence[str]]) -> list[int]:
    """The first line of each row, where first cells of one line stand in the middle of cells of several; or none.

    A row has as many lines above its first cell as below it, so each row says where the next one begins.
    """
    anchors = [place for place, cells in enumerate(texts) if cells[0]]
    starts: list[int] = []
    end = 0
    for anchor in anchors:
        starts.append(end)
        end = anchor + (anchor - end) + 1
        if end > len(lines) or any(texts[place][0] for place in range(anchor + 1, end)):
            return []
    if end != len(lines):
        return []
    return starts if _shows_centred(lines, texts, starts, anchors) else []


def _shows_centred(
    lines: Sequence[Line], texts: Sequence[Sequence[str]], starts: Sequence[int], anchors: Sequence[int]
) -> bool:
    """Whether rows that may be centred are: by their gaps, or since their cells begin above their first cells."""
    high = [(start, anchor) for start, anchor in zip(starts, anchors, strict=True) if start < anchor]
    if not high:
        return False
    distances = [then.box.middle - first.box.middle for first, then in pairwise(lines)]
    between = [distances[start - 1] for start in starts[1:]]
    within = [distance for place, distance in enumerate(distances, 1) if place not in set(starts)]
    if min(between, default=0.0) > _FAR_ROW * max(within):
        return True
    votes = 0
    for start, anchor in high:
        last = max(column for column, text in enumerate(texts[start]) if text)
        first, beside = texts[start][last], texts[anchor][last]
        is_start = not first[:1].islower() if beside else _is_between(lines[anchor], lines[anchor - 1])
        votes += is_start - (beside != "" and not beside[:1].islower())
    return votes * 2 > len(high)


def _is_rest(line: Line, above: Line, cells: Sequence[str], columns: Sequence[_Column]) -> bool:
    """Whether a line is the indented rest of the first cell above it, which ends with a comma or a bracket."""
    if not cells[0] or any(cells[1:]) or line.box.left < columns[0].left + 0.8 * line.size:
        return False
    return above.cells[0].text.endswith((",", "(", "=", "+", "\\"))


def _is_partial(cells: Sequence[str], row: Sequence[str], above: Sequence[str]) -> bool:
    """Whether a line has the rest of a few cells of a full row: of the first, and of those that it has, too."""
    held = [place for place, text in enumerate(cells) if text]
    return (
        len(cells) >= _MANY_CELLS
        and 1 < len(held) <= _FEW_SHARE * len(cells)
        and held[0] == 0
        and all(row)
        and all(above[place] for place in held)
    )


def _goes_on(
    cells: Sequence[str],
    above: Sequence[str],
    place: int,
    groups: Sequence[int],
    distances: Sequence[float],
    near: float,
    begins_large: bool,
    is_barred_row: bool,
) -> bool:
    """Whether a line belongs to the row above it; ``near`` is 0 where the rows are not farther apart than lines.

    ``begins_large``: most of the last cells begin with capitals. ``is_barred_row``: rules
    part all rows, and bars their cells.
    """
    if groups and groups[place] != groups[place - 1]:
        return False
    if _has_numbers_below(cells, above):
        return False
    if is_barred_row:
        return True
    if cells[0] == "":
        if _ALTERNATIVE.match(next(filter(None, cells), "")):
            return False
        return distances[place - 1] <= 1.6 * min(distances)
    return (
        near > 0
        and distances[place - 1] <= _NEAR_ROW * near
        and (sum(map(bool, cells)) < len(cells) or (begins_large and cells[-1][:1].islower()))
    )


def _has_numbers_below(cells: Sequence[str], above: Sequence[str]) -> bool:
    """Whether most cells of a line are numbers below numbers of the line above it: no number is wrapped."""
    both = [pair for pair in zip(cells, above, strict=True) if pair[0]]
    below = sum(bool(_NUMBER.fullmatch(first) and _NUMBER.fullmatch(then)) for first, then in both)
    return below >= _WIDE_ROWS and below * 2 > len(both)


def _groups(lines: Sequence[Line], rules: Rules) -> tuple[list[int], list[tuple[float, float]]]:
    """The number of the rules above each line, if there are any; and where its bars begin and end."""
    box = _box(lines)
    inner = _inner(rules, box)
    bars = [
        (top, bottom)
        for x, top, bottom in rules.vertical
        if box.left - 9 < x < box.right + 9 and top < box.bottom and bottom > box.top
    ]
    return ([sum(y < line.box.middle for y in inner) for line in lines] if inner else []), bars


def _barred_rows(
    lines: Sequence[Line],
    texts: Sequence[Sequence[str]],
    groups: Sequence[int],
    bars: Sequence[tuple[float, float]],
) -> list[bool]:
    """For each line whether it is a part of one row, as the rules above and below it and bars beside it say.

    A rule that only parts the header of a table from all of its rows does not say so.
    """
    if not groups:
        return [False] * len(lines)
    by_group: dict[int, list[Sequence[str]]] = defaultdict(list)
    for group, cells in zip(groups, texts, strict=True):
        by_group[group].append(cells)
    bodies = {group for group, held in by_group.items() if _are_rows(held)}
    return [group not in bodies and _is_beside(bars, line) for group, line in zip(groups, lines, strict=True)]


def _are_rows(texts: Sequence[Sequence[str]]) -> bool:
    """Whether lines between two rules are rows: many, and nearly all with a first cell and most of the others.

    Fewer are enough if they have all of many cells.
    """
    if len(texts) >= _ROWS and len(texts[0]) >= _MANY_CELLS and all(all(cells) for cells in texts):
        return True
    full = sum(cells[0] != "" and sum(map(bool, cells)) * 2 > len(cells) for cells in texts)
    return len(texts) >= _BODY_LINES and full > _NAMED_SHARE * len(texts)


def _is_beside(bars: Iterable[tuple[float, float]], line: Line) -> bool:
    return any(top <= line.box.middle <= bottom for top, bottom in bars)


def _inner(rules: Rules, box: Box) -> list[float]:
    """The heights of the rules between the lines of a table."""
    width = box.right - box.left
    # Each cell may have a line of its own.
    drawn: dict[int, float] = defaultdict(float)
    for y, left, right in rules.horizontal:
        if box.top + 1 < y < box.bottom - 1:
            drawn[round(y)] += max(0.0, min(right, box.right) - max(left, box.left))
    return sorted(y for y, length in drawn.items() if length > 0.15 * width)


def _box(lines: Sequence[Line]) -> Box:
    box = lines[0].box
    for line in lines[1:]:
        box = box.join(line.box)
    return box


def _join(above: str, cell: str) -> str:
    if not above or not cell:
        return above or cell
    if above.endswith("-") and len(above) > 1 and above[-2].isalpha() and cell[:1].islower():
        return f"{above[:-1]}\x02{cell}"
    return f"{above} {cell}"


def table_markdown(rows: Sequence[Sequence[str]]) -> str:
    """The rows as a Markdown table, the first as its header; "" without a cell that has text."""
    if not any(cell.strip() for row in rows for cell in row):
        return ""
    width = max(len(row) for row in rows)
    lines = [_line([*row, *[""] * (width - len(row))]) for row in rows]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
