"""The rows of a table: which of its lines are one row.

Where rules are drawn between the rows, they say it; elsewhere a line without a first cell goes on with the row
above it, as does one that is nearer to it than rows are apart, unless its words would have had room above.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import pairwise

from winnow.server.readers.pdf.layout import Rules
from winnow.server.readers.pdf.lines import CELL_GAP, Cell, Line
from winnow.server.readers.pdf_characters.torn_words import HYPHEN
from winnow.server.readers.pdf_tables.columns import Column, box_of, inner_rules, is_between, met_by

# In the least distance of two lines: lines that are nearer are one row, lines that are farther apart two.
_NEAR_ROW, _FAR_ROW = 1.15, 1.3
# So many of the lines of groups of rows have a first cell.
_NAMED_SHARE = 0.8
# A cell seldom has as many lines, of which each stands beside one of its neighbour; fewer of many cells.
_BODY_LINES, _FEW_LINES, _MANY_CELLS = 5, 3, 4
# A line with so few of the cells of a full row goes on with it.
_FEW_SHARE = 1 / 3
# So many numbers below numbers are a row.
_NUMBERS = 2
# So many lines above the first rule between rows may be a header, unless there are so many groups of rows.
_HEADER_LINES, _FEWEST_GROUPS, _LONGEST_HEADER = 3, 3, 5
# In sizes of the font: the space before a word. In heights of a line: lines of a cell are no farther apart.
_SPACE, _NEAR_LINE = 0.3, 1.6
# What begins an alternative of a grammar, or an option without a short form; "::=" may stand beside its name.
_ALTERNATIVE = re.compile(r"(?:\||::=|:=)(?:\s|\Z)|[-–—]{1,2}\w")
_NUMBER = re.compile(r"[-+\u2212\u2013]?\d[\d.,]*%?")


def read_rows(lines: Sequence[Line], columns: Sequence[Column], rules: Rules) -> list[list[str]]:
    """The texts of the cells, row by row."""
    rows: list[list[str]] = []
    texts = [_cells(line, columns) for line in lines]
    groups, bars = _groups(lines, rules)
    whole = _barred_rows(lines, texts, groups, bars)
    if not groups and (starts := _centred_rows(lines, texts)):
        return [_whole(texts[first:end]) for first, end in pairwise([*starts, len(texts)])]
    distances = [then.box.middle - first.box.middle for first, then in pairwise(lines)]
    near = _distance_in_rows(distances, texts)
    begins_large = sum(line.cells[-1].text[:1].isupper() for line in lines) * 2 > len(lines)
    placed = [_by_column(line, columns) for line in lines]
    parted = _groups_of_rows(lines, placed, columns, groups)
    single = _single_rows(texts, groups)
    header = _count_header(placed, groups)
    ends: dict[int, Cell] = {}
    for place, (line, cells) in enumerate(zip(lines, texts, strict=True)):
        is_rest = place > 0 and (
            _is_rest(line, lines[place - 1], cells, columns)
            or _is_partial(cells, rows[-1], texts[place - 1])
            or _goes_on(cells, texts[place - 1], place, groups, distances, near, begins_large, whole[place])
        )
        if groups:
            is_rest = is_rest or (groups[place] == groups[place - 1] and groups[place] in single)
            # A cell that stands alone in the last column is most often wrapped.
            is_inner = len(columns) - 1 not in placed[place]
            had_room = is_inner and _had_room(line, placed[place], ends, columns, fewest=1) > 0
            is_row = groups[place] in parted and (len(line.cells) > 1 or had_room)
        else:
            is_row = (
                cells[0] == ""
                and place > 0
                and _begins(place, lines, placed, ends, columns, has_header=len(rows) > 1)
            )
        if 0 < place < header or (is_rest and not is_row):
            rows[-1] = _whole((rows[-1], cells))
        else:
            rows.append(cells)
            ends = {}
        ends |= placed[place]
    return rows


def _distance_in_rows(distances: Sequence[float], texts: Sequence[Sequence[str]]) -> float:
    """The least distance of two lines; 0 where the rows are not farther apart than lines."""
    near = min(distances, default=0.0)
    gaps = sum(distance > _FAR_ROW * near for distance in distances)
    # Gaps between groups of rows part no rows: nearly all of their lines have a first cell.
    has_groups = gaps * 3 < len(texts) and sum(cells[0] != "" for cells in texts) > _NAMED_SHARE * len(texts)
    return near if gaps >= 2 and not has_groups else 0.0


def _groups_of_rows(
    lines: Sequence[Line],
    placed: Sequence[Mapping[int, Cell]],
    columns: Sequence[Column],
    groups: Sequence[int],
) -> set[int]:
    """The groups between rules whose lines are rows: more of them had room above than were wrapped.

    So are some lines that have all cells, where most of their first cells had room in the one above. The first
    group may be a header of several short lines, unless two more are groups of rows.
    """
    votes: dict[int, int] = defaultdict(int)
    named: dict[int, list[bool | None]] = defaultdict(list)
    ends: dict[int, Cell] = {}
    for place, group in enumerate(groups):
        if place and group == groups[place - 1]:
            votes[group] += _had_room(lines[place], placed[place], ends, columns)
            full = all(len(cells) == len(columns) for cells in (placed[place - 1], placed[place]))
            room = full and _had_first_room(placed[place - 1][0], placed[place][0], columns, lines[place].size)
            named[group].append(room if full else None)
        else:
            ends = {}
        ends |= placed[place]
    found = {group for group, vote in votes.items() if vote > 0}
    found |= {group for group, had in named.items() if _are_named(had)}
    is_header = len(found) < _FEWEST_GROUPS and groups.count(0) <= _HEADER_LINES
    return found - {0} if is_header else found


def _are_named(had_room: Sequence[bool | None]) -> bool:
    """Whether the lines after the first one of a group begin rows: most of their first cells had room above.

    None is a line that lacks a cell.
    """
    return (
        len(had_room) + 1 >= _FEW_LINES and None not in had_room and sum(map(bool, had_room)) * 2 > len(had_room)
    )


def _single_rows(texts: Sequence[Sequence[str]], groups: Sequence[int]) -> set[int]:
    """The groups between rules that are one row each, where rules part the rows.

    At most one line of such a group has a first cell, and only one of its columns has several lines.
    """
    if len(set(groups)) < _FEWEST_GROUPS:
        return set()
    held: dict[int, list[list[bool]]] = defaultdict(list)
    for group, cells in zip(groups, texts, strict=True):
        held[group].append([*map(bool, cells)])
    counts = {group: [*map(sum, zip(*lines, strict=True))] for group, lines in held.items()}
    return {group for group, (first, *others) in counts.items() if first < 2 and sum(n > 1 for n in others) < 2}


def _count_header(placed: Sequence[Mapping[int, Cell]], groups: Sequence[int]) -> int:
    """The number of lines above the first rule if they are one header, whose names end at its last line; or 0.

    Each of their cells stands above another one; a name over several columns does not.
    """
    count = groups.count(groups[0]) if groups else 0
    if not 1 < count <= _LONGEST_HEADER or count == len(groups) or 0 not in placed[count - 1]:
        return 0
    pairs = [(above[column], below.get(column)) for above, below in pairwise(placed[:count]) for column in above]
    is_header = all(0 not in above for above in placed[: count - 1]) and all(map(_is_above, pairs))
    return count if is_header else 0


def _is_above(pair: tuple[Cell, Cell | None]) -> bool:
    """Whether the middle of the narrower one of two cells stands over or below the other one."""
    above, below = pair
    if below is None:
        return False
    narrow, wide = sorted((above, below), key=lambda cell: cell.right - cell.left)
    return wide.left < (narrow.left + narrow.right) / 2 < wide.right


def _by_column(line: Line, columns: Sequence[Column]) -> dict[int, Cell]:
    return {place: cell for cell in line.cells for place in met_by(cell, columns)[:1]}


def _cells(line: Line, columns: Sequence[Column]) -> list[str]:
    """The texts of a line by column."""
    cells = [""] * len(columns)
    for cell in line.cells:
        met = met_by(cell, columns) or [0]
        cells[met[0]] = f"{cells[met[0]]} {cell.text}".strip()
    return cells


def _whole(lines: Sequence[Sequence[str]]) -> list[str]:
    """The cells of a row of several lines."""
    return [reduce(join_cells, cells) for cells in zip(*lines, strict=True)]


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
        is_start = not first[:1].islower() if beside else is_between(lines[anchor], lines[anchor - 1])
        votes += is_start - (beside != "" and not beside[:1].islower())
    return votes * 2 > len(high)


def _is_rest(line: Line, above: Line, cells: Sequence[str], columns: Sequence[Column]) -> bool:
    """Whether a line is the indented rest of the first cell above it, which ends with a comma or a bracket.

    So is a line in brackets, wherever it begins: the unit of the name above it, or its values.
    """
    if not cells[0] or any(cells[1:]):
        return False
    if is_bracketed(line, above):
        return True
    if line.box.left < columns[0].left + 0.8 * line.size:
        return False
    return above.cells[0].text.endswith((",", "(", "=", "+", "\\"))


def is_bracketed(line: Line, above: Line) -> bool:
    """Whether a line of one cell in brackets stands below a full line without: it goes on with its first cell."""
    if len(line.cells) != 1 or len(above.cells) < 2 or above.text.startswith("("):
        return False
    is_near = line.box.middle - above.box.middle < _NEAR_LINE * line.box.height
    return is_near and line.text.startswith("(") and line.text.endswith(")")


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


def _had_room(
    line: Line, placed: Mapping[int, Cell], ends: Mapping[int, Cell], columns: Sequence[Column], fewest: int = 2
) -> int:
    """Whether more cells had room for their first words behind the cells above than were wrapped there: 1, or -1.

    0 where neither is so, or fewer cells go on. A word above that is too long for another beside it says nothing.
    """
    begins = {place: cell for place, cell in placed.items() if place in ends}
    if len(begins) < fewest:
        return 0
    rooms = [*(then.left - CELL_GAP * line.size for then in columns[1:]), _end_of(columns, ends, line.size)]
    had = {
        place: ends[place].right + _SPACE * line.size + _first_width(cell) < rooms[place]
        for place, cell in begins.items()
    }
    balance = sum(had.values()) - sum(not room and " " in ends[place].text for place, room in had.items())
    return (balance > 0) - (balance < 0)


def _had_first_room(above: Cell, first: Cell, columns: Sequence[Column], size: float) -> bool:
    """Whether the first word of a first cell had room behind the one above.

    Where a bar ends the column, its text ends as far from the bar as it begins behind the one before.
    """
    column, then = columns[:2]
    is_barred = column.right >= then.left - 1
    end = then.left - (min(max(above.left - column.left, 0.0), size) if is_barred else CELL_GAP * size)
    return above.right + _SPACE * size + _first_width(first) < end


def _end_of(columns: Sequence[Column], ends: Mapping[int, Cell], size: float) -> float:
    """The place where the text of the last column ends: as far from its bar as it begins behind the one before."""
    last = ends.get(len(columns) - 1)
    space = last.left - columns[-1].left if last else 0.0
    return columns[-1].right - min(max(space, 0.0), size)


def _begins(
    place: int,
    lines: Sequence[Line],
    placed: Sequence[Mapping[int, Cell]],
    ends: Mapping[int, Cell],
    columns: Sequence[Column],
    *,
    has_header: bool,
) -> bool:
    """Whether a line without a first cell begins a row.

    Its words had room in the cells above, or it has a name over several columns, or a cell that the row has, too,
    but the line above has not: the lines of a cell have no gaps, unless lines of another cell stand between them.
    A header, which the first row may be, may have several lines, however short they are.
    """
    line, above = lines[place], lines[place - 1]
    comes_again = any(column in ends and column not in placed[place - 1] for column in placed[place])
    return (
        (comes_again and not is_between(line, above))
        or _is_wide(line, columns)
        or (has_header and _had_room(line, placed[place], ends, columns) > 0)
    )


def _is_wide(line: Line, columns: Sequence[Column]) -> bool:
    """Whether a line is a name over several columns, which begins the row below it."""
    return len(line.cells) == 1 and len(met_by(line.cells[0], columns)) > 1


def _first_width(cell: Cell) -> float:
    """The width of the first word of a cell; estimated where its words are not known."""
    if cell.words:
        return cell.words[0][2] - cell.words[0][1]
    return (cell.right - cell.left) * len(cell.text.partition(" ")[0]) / max(len(cell.text), 1)


def _has_numbers_below(cells: Sequence[str], above: Sequence[str]) -> bool:
    """Whether most cells of a line are numbers below numbers of the line above it: no number is wrapped."""
    both = [pair for pair in zip(cells, above, strict=True) if pair[0]]
    below = sum(bool(_NUMBER.fullmatch(first) and _NUMBER.fullmatch(then)) for first, then in both)
    return below >= _NUMBERS and below * 2 > len(both)


def _groups(lines: Sequence[Line], rules: Rules) -> tuple[list[int], list[tuple[float, float]]]:
    """The number of the rules above each line, if there are any; and where its bars begin and end."""
    box = box_of(lines)
    inner = inner_rules(rules, box)
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
    if len(texts) >= _FEW_LINES and len(texts[0]) >= _MANY_CELLS and all(all(cells) for cells in texts):
        return True
    full = sum(cells[0] != "" and sum(map(bool, cells)) * 2 > len(cells) for cells in texts)
    return len(texts) >= _BODY_LINES and full > _NAMED_SHARE * len(texts)


def _is_beside(bars: Iterable[tuple[float, float]], line: Line) -> bool:
    return any(top <= line.box.middle <= bottom for top, bottom in bars)


def join_cells(above: str, cell: str) -> str:
    """Both parts of a cell; a word that is divided between them is whole."""
    if not above or not cell:
        return above or cell
    if above.endswith(HYPHEN):
        return f"{above}{cell}"
    if above.endswith("-") and len(above) > 1 and above[-2].isalpha() and cell[:1].islower():
        return f"{above[:-1]}{HYPHEN}{cell}"
    return f"{above} {cell}"
