"""Divides a page into columns, in the order in which a person reads them, and puts the pieces of a line together.

A gutter is a place with text on both sides that few pieces cross. What crosses it, such as a title over two
columns, parts the page into bands: a band is read before what is below it. Within a band the texts
on both sides of a gutter are two columns if both are prose, or two long lists of one kind; otherwise they are the
cells of a table. Each column may have gutters of its own.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from statistics import median

from winnow.server.readers.pdf.layout import NO_RULES, Box, Rules
from winnow.server.readers.pdf.lines import BESIDE_BAR, BULLETS, CELL_GAP, Cell, Line
from winnow.server.readers.pdf_tables.aligned_cells import part_aligned

# More lines are no text.
_MOST_LINES = 3_000
_FEWEST_LINES, _MOST_GUTTERS, _DEEPEST = 3, 8, 4
# A column takes this share of the width at least.
_SIDE_SHARE = 0.15
# A line of prose: so many letters, over this share of its column; and the share of such lines in a column.
_PROSE_LETTERS, _PROSE_WIDTH, _PROSE_SHARE = 20, 0.83, 0.5
# Of so few lines, more must be prose.
_FEW_LINES, _SURE_SHARE = 6, 0.66
# A gutter is usual on this share of the pages and on so many; beside it a smaller share of the lines is prose: the
# others are formulas, programs, and labels in pictures.
_PAGE_SHARE, _FEWEST_PAGES, _USUAL_SHARE = 0.25, 3, 0.25
# A list in columns, or an index, whose lines end with numbers: so many lines on each side, and how much longer
# those of one side may be.
_LIST_LINES, _INDEX_LINES, _LIST_RATIO = 12, 8, 2.0
# So many rules of one length make a table, with bars over this share of its height.
_GRID_ROWS, _GRID_SHARE, _MOST_GRIDS = 4, 0.8, 20
# A side with fewer letters among its signs has the numbers of formulas.
_LETTERS = 0.3
# So many lines of two sides of a table stand beside each other; gaps between its rows that are wider than others.
_LEVEL_SHARE, _WIDE_ROW, _FEWEST_GAPS = 0.9, 1.3, 3
# In letters of one width: how exactly an edge stands at one of them, and how far apart columns of blanks are.
_WHOLE_LETTER, _TYPED_GAP = 0.04, 12
# The columns of a list differ by no more than this in width, of two columns.
_EVEN = 0.06
# In sizes of the font: what no piece covers over such a width may be a gutter. Labels are nearer to their text.
_FREE = 2.0
# Two tables beside each other have gaps of one width, to so many points, and are farther apart by this factor.
_SAME_GAP, _TWINS_APART = 3.0, 3.0
# Labels that end at one edge, to so many points, begin at so many places.
_FLUSH, _FEWEST_STARTS = 1.0, 4
# Lines of so many cells, beside most lines of the other side, are rows of a table.
_TABLE_CELLS, _TABLE_SHARE = 3, 0.5
# The line of a heading is larger than others by this factor.
_LARGER = 1.1
# In points: what is narrower has no two lists beside each other.
_LIST_WIDTH = 270.0
# In sizes of the font: pieces on one line are this near in height.
_LEVEL = 0.45
# Notes in the margin are smaller than the text by this factor.
_NOTE_SIZE = 0.9
# What stands beside so many pieces as small is a cell of their table, and no note.
_FEWEST_CELLS = 2
_MONO_SHARE = 0.8
# A bold line has no more letters that are not bold, such as the signs of a formula.
_PLAIN_SHARE = 0.3
# A bullet and its text are one cell, as far apart as this, in sizes of the font.
_BULLET_GAP = 3.0
# Gaps in a line that is stretched to the width of its column are nearly equal.
_STRETCHED, _WIDEST_STRETCH, _FEWEST_STRETCHED = 0.6, 2.5, 3


@dataclass(frozen=True, slots=True)
class PartedPage:
    """The pieces of the lines of a page, the notes beside them, and the gutter that this page shows by itself."""

    text: Sequence[Line]
    notes: Sequence[Line]
    gutter: tuple[int, float] | None
    rules: Rules


def part_page(lines: Iterable[Line], rules: Rules = NO_RULES) -> PartedPage:
    """The page of these lines."""
    pieces = [piece for line in lines for piece in _pieces(line)]
    if len(pieces) > _MOST_LINES:
        return PartedPage(pieces, (), None, NO_RULES)
    text, notes = _part_notes(pieces)
    return PartedPage(text, notes, _find_gutter(text, rules), rules)


def columns_of(page: PartedPage, gutters: Sequence[float] = ()) -> list[list[Line]]:
    """The columns of a page in reading order, each with its lines from top to bottom.

    ``gutters`` are those of the other pages (``usual_gutters``): there, fewer lines need be prose.
    """
    if len(page.text) > _MOST_LINES:
        return [_join_level(page.text, page.rules)]
    columns = _divide(page.text, page.rules, 0, page.gutter, gutters)
    return [_join_level(column, page.rules) for column in (*columns, page.notes) if column]


def usual_gutters(pages: Sequence[PartedPage]) -> list[float]:
    """The gutters of many pages of a document: pages that lie opposite may have it in two places."""
    found = Counter(round(page.gutter[1]) for page in pages if page.gutter is not None)
    fewest = max(_FEWEST_PAGES, _PAGE_SHARE * len(pages))
    return [float(gutter) for gutter, count in found.items() if count >= fewest]


def _part_notes(pieces: list[Line]) -> tuple[list[Line], list[Line]]:
    """The text, and the notes in smaller letters at its right, in the margin."""
    letters: Counter[float] = Counter()
    prose = [piece for piece in pieces if not piece.is_mono]
    for piece in prose:
        letters[piece.size] += len(piece.text)
    usual = letters.most_common(1)[0][0] if letters else 0.0
    # Programs in small letters are wider than the text on some pages, and are no notes.
    edge = max((piece.box.right for piece in prose if piece.size >= _NOTE_SIZE * usual), default=0.0)
    programs = [piece.box.middle for piece in pieces if piece.is_mono and piece.box.left <= edge]
    notes = [
        piece
        for piece in pieces
        if piece.box.left > edge
        and piece.size < _NOTE_SIZE * usual
        and not (piece.is_mono and any(abs(piece.box.middle - middle) < piece.size / 2 for middle in programs))
    ]
    if not notes or sum(len(piece.text) for piece in notes) * 2 > sum(len(piece.text) for piece in pieces):
        return pieces, []
    ids = set(map(id, notes))
    if _are_last_cells(notes, [piece for piece in pieces if id(piece) not in ids], _NOTE_SIZE * usual):
        return pieces, []
    return [piece for piece in pieces if id(piece) not in ids], notes


def _are_last_cells(notes: Sequence[Line], text: Iterable[Line], largest: float) -> bool:
    """Whether most notes stand in lines of a table: beside several pieces each, in letters as small."""
    heights = sorted(piece.box.middle for piece in text if piece.size < largest)
    level = 0
    for note in notes:
        middle, room = note.box.middle, _LEVEL * note.size
        level += bisect_right(heights, middle + room) - bisect_left(heights, middle - room) >= _FEWEST_CELLS
    return level * 2 > len(notes)


def _pieces(line: Line) -> Iterator[Line]:
    """Each cell as a line of its own."""
    if len(line.cells) == 1:
        yield line
        return
    for cell in line.cells:
        yield replace(line, box=replace(line.box, left=cell.left, right=cell.right), cells=(cell,))


def _divide(
    pieces: Sequence[Line],
    rules: Rules,
    depth: int,
    found: tuple[int, float] | None,
    gutters: Sequence[float] = (),
) -> Iterator[Sequence[Line]]:
    """The columns on both sides of the gutter that was found, and of those of the other pages."""
    if depth < _DEEPEST and (between := _between_ruled(pieces, rules)) is not None:
        for part in _parts_around(pieces, between):
            yield from _divide(part, rules, depth + 1, _find_gutter(part, rules), gutters)
        return
    if found is None and (beside := _beside_grid(pieces, rules)):
        ids = set(map(id, beside))
        yield [piece for piece in pieces if id(piece) not in ids]
        yield from _divide(beside, NO_RULES, _DEEPEST, None)
        return
    least = 0.0
    if found is None and gutters:
        least = _USUAL_SHARE
        found = _find_gutter(pieces, rules, gutters)
    if found is None:
        yield pieces
        return
    held, gutter = found
    whole: list[Line] = []
    width = _width(pieces)
    for band in _bands(pieces, gutter, _grids(rules)):
        left, right = _sides(band, gutter)
        if (left and right) and (
            _are_columns(left, right, gutter, width, rules, least)
            or (len(band) < held and not _is_table(left, right, gutter, rules))
        ):
            yield whole
            for side in (left, right):
                inner = _find_gutter(side, rules) if depth + 1 < _DEEPEST else None
                yield from _divide(side, rules, depth + 1, inner)
            whole = []
        else:
            whole += band
    yield whole


def _parts_around(pieces: Sequence[Line], between: float) -> Iterator[list[Line]]:
    """The parts of a page at the left and at the right of a place, and between such bands those that cross it."""
    whole: list[Line] = []
    for band in _bands(pieces, between, ()):
        left, right = _sides(band, between)
        if left and right:
            yield from (part for part in (whole, left, right) if part)
            whole = []
        else:
            whole += band
    if whole:
        yield whole


def _between_ruled(pieces: Sequence[Line], rules: Rules) -> float | None:
    """A place between two tables beside each other, each with many rules over its whole width; None without any.

    Rules of one table whose columns have lines of their own are at the same heights.
    """
    heights: dict[tuple[int, int], set[float]] = defaultdict(set)
    for y, left, right in rules.horizontal:
        heights[round(left / 2), round(right / 2)].add(y)
    tables = sorted((ends, ys) for ends, ys in heights.items() if len(ys) >= _GRID_ROWS)
    for ((_, end), ys), ((start, _), others) in pairwise(tables):
        place = float(start + end)  # the middle: both are halves
        shared = sum(any(abs(y - other) <= 1 for other in others) for y in ys)
        if end >= start or shared * 2 > min(len(ys), len(others)):
            continue
        top, bottom = max(min(ys), min(others)), min(max(ys), max(others))
        sides = _sides([piece for piece in pieces if top < piece.box.middle < bottom], place)
        crossing = any(p.box.left < place < p.box.right for p in pieces if top < p.box.middle < bottom)
        if not crossing and min(map(len, sides)) >= _FEWEST_LINES:
            return place
    return None


def _beside_grid(pieces: Sequence[Line], rules: Rules) -> list[Line]:
    """The lines at the right of a table with a frame, such as a chart or notes, down to what crosses its edge."""
    for grid in _grids(rules):
        below = sorted(
            (piece for piece in pieces if piece.box.middle > grid.top), key=lambda piece: piece.box.middle
        )
        crossing = (piece.box.middle for piece in below if piece.box.left < grid.right < piece.box.right - 1)
        end = next(crossing, float("inf"))
        beside = [piece for piece in below if piece.box.left > grid.right and piece.box.middle < end]
        within = [piece for piece in below if grid.holds(piece.box)]
        bottom = max((piece.box.middle for piece in beside), default=0.0)
        is_joined = any(
            grid.top + 3 < y < bottom and left < grid.right and right > grid.right + 3
            for y, left, right in rules.horizontal
        )
        if beside and not is_joined and sum(len(row) > 1 for row in _rows(within)) >= _GRID_ROWS - 1:
            return beside
    return []


def _grids(rules: Rules) -> list[Box]:
    """The tables whose rows have rules of one length, with a bar at their end; no more than a page can hold."""
    return [*islice(_all_grids(rules), _MOST_GRIDS)]


def _all_grids(rules: Rules) -> Iterator[Box]:
    rows: dict[tuple[int, int], set[int]] = defaultdict(set)
    for y, left, right in rules.horizontal:
        rows[round(left / 2), round(right / 2)].add(round(y))
    for (left, right), tops in sorted(rows.items()):
        box = Box(2.0 * left - 1, min(tops), 2.0 * right + 1, max(tops))
        held = [end - start for x, start, end in rules.vertical if abs(x - 2 * right) < 2 and start < box.bottom]
        if len(tops) >= _GRID_ROWS and sum(held) > _GRID_SHARE * box.height:
            yield box


def _bands(pieces: Iterable[Line], gutter: float, grids: Iterable[Box]) -> Iterator[list[Line]]:
    """Each piece that crosses the gutter or stands in a table over it, and the pieces between two of them."""
    across = [grid for grid in grids if grid.left < gutter < grid.right]
    band: list[Line] = []
    for piece in sorted(pieces, key=lambda piece: piece.box.middle):
        if piece.box.left < gutter < piece.box.right or any(grid.holds(piece.box) for grid in across):
            yield band
            yield [piece]
            band = []
        else:
            band.append(piece)
    yield band


def _find_gutter(pieces: Sequence[Line], rules: Rules, gutters: Sequence[float] = ()) -> tuple[int, float] | None:
    """The gutter with the most pieces in columns on both sides, after their number; None in a single column.

    It is one of ``gutters``, if there are any.
    """
    if len(pieces) < 2 * _FEWEST_LINES:
        return None
    start, end = _width(pieces)
    margin = _SIDE_SHARE * (end - start)
    starts = Counter(round(piece.box.left) for piece in pieces)
    likely = [left - 1.5 for left, count in starts.most_common(_MOST_GUTTERS) if count >= _FEWEST_LINES]
    likely += [place for place in _free_places(pieces) if place not in likely]
    least = _USUAL_SHARE if gutters else 0.0
    best: tuple[int, float] | None = None
    grids = _grids(rules)
    for gutter in (place for place in gutters or likely if start + margin < place < end - margin):
        held = sum(
            len(left) + len(right)
            for band in _bands(pieces, gutter, grids)
            for left, right in [_sides(band, gutter)]
            if _are_columns(left, right, gutter, (start, end), rules, least)
        )
        if held:
            best = max(best or (held, gutter), (held, gutter))
    return best


def _free_places(pieces: Iterable[Line]) -> Iterator[float]:
    """The right ends of what no piece covers: first cells that are set flush right begin at many places."""
    covered = float("inf")
    for piece in sorted(pieces, key=lambda piece: piece.box.left):
        if piece.box.left - covered > _FREE * piece.size:
            yield piece.box.left - 1.5
        covered = max(covered, piece.box.right) if covered < float("inf") else piece.box.right


def _width(pieces: Iterable[Line]) -> tuple[float, float]:
    pieces = list(pieces)
    return min(piece.box.left for piece in pieces), max(piece.box.right for piece in pieces)


def _sides(band: Sequence[Line], gutter: float) -> tuple[list[Line], list[Line]]:
    return (
        [piece for piece in band if piece.box.right <= gutter],
        [piece for piece in band if piece.box.left >= gutter and piece.box.right > gutter],
    )


def _are_columns(
    left: Sequence[Line],
    right: Sequence[Line],
    gutter: float,
    width: tuple[float, float],
    rules: Rules,
    least: float,
) -> bool:
    """Whether both sides are columns. ``least``: the share of prose that is enough; 0 is the usual one."""
    if _are_prose(left, right, gutter, rules, least):
        return True
    if min(len(left), len(right)) < _INDEX_LINES or _is_ruled(left, right, gutter, rules):
        return False
    sides = _rows(left), _rows(right)
    return _are_twins(*sides) or (_are_lists(*sides, gutter, width) and not _are_level(*sides))


def _are_prose(left: Sequence[Line], right: Sequence[Line], gutter: float, rules: Rules, least: float) -> bool:
    if min(len(left), len(right)) < _FEWEST_LINES or _is_ruled(left, right, gutter, rules):
        return False
    sides = (_rows(left), _rows(right))
    shortest = min(map(len, sides))
    if shortest < _FEWEST_LINES:
        return False
    if least:
        shares = sorted(map(_prose_share, sides))
        # Beside prose, programs and lists are a column, too, unless their lines are level with its lines.
        is_list = shortest >= _INDEX_LINES and min(map(_letter_share, sides)) > _LETTERS
        return shares[0] >= least or (
            is_list and shares[1] >= _PROSE_SHARE and _level_share(*sides) < _LEVEL_SHARE
        )
    if _is_mono_side(left) != _is_mono_side(right):
        return False
    share = _PROSE_SHARE if shortest > _FEW_LINES else _SURE_SHARE
    return all(_prose_share(side) >= share for side in sides)


def _is_mono_side(pieces: Sequence[Line]) -> bool:
    return sum(piece.is_mono for piece in pieces) * 2 > len(pieces)


def _is_table(left: Sequence[Line], right: Sequence[Line], gutter: float, rules: Rules) -> bool:
    """Whether a band beside columns is a table over both: lines of several pieces, or rules across the gutter."""
    if _is_ruled(left, right, gutter, rules):
        return True
    rows = _rows([*left, *right])
    return len(rows) > 1 and sum(len(row) > 2 for row in rows) * 2 > len(rows)


def _is_ruled(left: Sequence[Line], right: Sequence[Line], gutter: float, rules: Rules) -> bool:
    """Whether at least two lines are drawn across the gutter between the first and the last piece.

    One is enough if lines as long are drawn close above the first piece and close below the last one.
    """
    if len(rules.horizontal) < 2:
        return False
    pieces = [*left, *right]
    top, last = min(piece.box.top for piece in pieces), max(piece.box.top for piece in pieces)
    across = [rule for rule in rules.horizontal if rule[1] < gutter < rule[2]]
    within = {round(y): (start, end) for y, start, end in across if top < y < last}
    if len(within) != 1:
        return len(within) > 1
    bottom, room = max(piece.box.bottom for piece in pieces), pieces[0].size
    ((start, end),) = within.values()
    alike = [y for y, first, then in across if abs(first - start) < 1 and abs(then - end) < 1]
    return any(top - room < y <= top for y in alike) and any(last < y < bottom + room for y in alike)


def _prose_share(rows: Sequence[Sequence[Line]]) -> float:
    """The share of lines with enough letters over enough of the width."""
    start = min(row[0].box.left for row in rows)
    width = max(row[-1].box.right for row in rows) - start
    prose = 0
    for row in rows:
        long = [piece for piece in row if len(piece.text) >= _PROSE_LETTERS]
        prose += sum(piece.box.right - piece.box.left for piece in long) >= _PROSE_WIDTH * width
    return prose / len(rows)


def _are_lists(
    left: Sequence[Sequence[Line]], right: Sequence[Sequence[Line]], gutter: float, width: tuple[float, float]
) -> bool:
    """Two lists of one kind, such as an index: many lines of similar length, on both sides of the middle."""
    is_index = all(sum(row[-1].text[-1:].isdigit() for row in side) * 2 > len(side) for side in (left, right))
    if min(len(left), len(right)) < (_INDEX_LINES if is_index else _LIST_LINES) or len(right) * 4 < len(left):
        return False
    if width[1] - width[0] < _LIST_WIDTH:
        return False
    place = (gutter - width[0]) / (width[1] - width[0])
    if not any(abs(place - share) < 0.08 for share in (1 / 3, 1 / 2, 2 / 3)):
        return False
    lengths = [median(sum(len(piece.text) for piece in row) for row in side) for side in (left, right)]
    letters = [_letter_share(side) for side in (left, right)]
    return max(lengths) <= _LIST_RATIO * min(lengths) and min(letters) > (0.3 if is_index else 0.6)


def _are_twins(left: Sequence[Sequence[Line]], right: Sequence[Sequence[Line]]) -> bool:
    """Whether two sides are tables of the same two columns, such as signs and their names, set beside each other.

    Each has gaps of one width between its cells, far narrower than the one between the sides.
    """
    gaps = [[row[1].box.left - row[0].box.right for row in side if len(row) == 2] for side in (left, right)]
    if min(map(len, gaps)) < _INDEX_LINES or sum(map(len, gaps)) * 2 < len(left) + len(right):
        return False
    usual = median(gaps[0])
    near = [abs(gap - usual) < _SAME_GAP for side in gaps for gap in side]
    between = min(row[0].box.left for row in right) - max(row[-1].box.right for row in left)
    return sum(near) > _LEVEL_SHARE * len(near) and between > _TWINS_APART * usual


def _are_level(left: Sequence[Sequence[Line]], right: Sequence[Sequence[Line]]) -> bool:
    """Whether two sides are cells of one table: the lines of one stand beside lines of the other.

    Most stand beside a line of several cells, or have a second cell below that of the others, or most gaps of the
    sides are at the same heights: two lists would have them in different places. Two lists also have headings of
    their own.
    """
    few, many = sorted((left, right), key=len)
    for side, other in ((few, many), (many, few)):
        wide = [row for row in side if sum(len(piece.cells) for piece in row) >= _TABLE_CELLS]
        if wide and _level_share(other, wide) > _TABLE_SHARE:
            return True
    if _level_share(few, many) < _LEVEL_SHARE:
        return False
    if _are_typed(left, right) or _are_labels(left, right):
        return True
    if _has_own_headings(left, right):
        return False
    if any(_has_second_cells(left, right, side) for side in (left, right)):
        return True
    distances = [then[0].box.middle - first[0].box.middle for first, then in pairwise(few)]
    gaps = [
        pair
        for pair, distance in zip(pairwise(few), distances, strict=True)
        if distance > _WIDE_ROW * min(distances)
    ]
    shared = sum(
        not any(first[0].box.bottom < row[0].box.middle < then[0].box.top for row in many) for first, then in gaps
    )
    return shared >= _FEWEST_GAPS and shared * 2 > len(gaps)


def _are_typed(left: Sequence[Sequence[Line]], right: Sequence[Sequence[Line]]) -> bool:
    """Whether two sides are columns of a program's output, made by blanks.

    All letters have one width, and whole letters of it lie between the edges of both sides. Two programs beside
    each other have any distance.
    """
    pieces = [piece for row in (*left, *right) for piece in row]
    if not all(piece.is_mono for piece in pieces):
        return False
    longest = max(pieces, key=lambda piece: len(piece.text))
    letter = (longest.box.right - longest.box.left) / len(longest.text)
    first, second = (min(row[0].box.left for row in side) for side in (left, right))
    letters = (second - first) / letter
    gap = second - max(row[-1].box.right for row in left)
    return abs(letters - round(letters)) < _WHOLE_LETTER and gap < _TYPED_GAP * letter


def _are_labels(left: Sequence[Sequence[Line]], right: Sequence[Sequence[Line]]) -> bool:
    """Whether the last cells of the left side are set flush right, close to the text of the right side."""
    cells = [row[-1] for row in left if not row[-1].text[-1:].isdigit()]
    edge = max((cell.box.right for cell in cells), default=0.0)
    flush = [cell for cell in cells if cell.box.right > edge - _FLUSH]
    is_near = min(row[0].box.left for row in right) - edge < _FREE * right[0][0].size
    starts = {round(cell.box.left) for cell in flush}
    return is_near and len(flush) > _LEVEL_SHARE * len(left) and len(starts) >= _FEWEST_STARTS


def _has_second_cells(
    left: Sequence[Sequence[Line]], right: Sequence[Sequence[Line]], side: Sequence[Sequence[Line]]
) -> bool:
    """Whether most lines of a side have a second cell, each below the others, and are none of a list.

    Lists have columns of one width, and a line of an index ends with a number.
    """
    seconds = [row[1].box for row in side if len(row) > 1 and not row[-1].text[-1:].isdigit()]
    lefts = Counter(round(box.left) for box in seconds)
    middles = Counter(round((box.left + box.right) / 2) for box in seconds)
    if max((*lefts.values(), *middles.values()), default=0) * 2 <= len(side):
        return False
    first, second, third = sorted(
        (*(min(row[0].box.left for row in rows) for rows in (left, right)), lefts.most_common(1)[0][0])
    )
    return abs((third - second) - (second - first)) > _EVEN * (third - first)


def _level_share(rows: Sequence[Sequence[Line]], others: Sequence[Sequence[Line]]) -> float:
    """The share of lines beside which another one stands."""
    heights = sorted(row[0].box.middle for row in others)
    level = 0
    for row in rows:
        middle, room = row[0].box.middle, _LEVEL * row[0].size
        level += bisect_left(heights, middle - room) < bisect_right(heights, middle + room)
    return level / len(rows)


def _has_own_headings(left: Sequence[Sequence[Line]], right: Sequence[Sequence[Line]]) -> bool:
    """Whether the right side has a bold or large line below its first, and the left side has none beside it."""
    size = median(row[0].size for row in (*left, *right))
    marked = [
        [row for row in side if len(row) == 1 and (row[0].is_bold or row[0].size > _LARGER * size)]
        for side in (left, right[1:])
    ]
    return bool(marked[1]) and _level_share(marked[1], marked[0]) < 1


def _letter_share(rows: Sequence[Sequence[Line]]) -> float:
    text = "".join(piece.text for row in rows for piece in row)
    return sum(map(str.isalpha, text)) / max(1, sum(map(str.isalnum, text)))


def _rows(pieces: Iterable[Line]) -> list[list[Line]]:
    """The pieces that stand on one line, from left to right, for all lines from top to bottom."""
    rows: list[list[Line]] = []
    for piece in sorted(pieces, key=lambda piece: (piece.box.middle, piece.box.left)):
        if rows and abs(piece.box.middle - rows[-1][0].box.middle) <= _LEVEL * max(piece.size, rows[-1][0].size):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    for row in rows:
        if len(row) > 1:
            row.sort(key=lambda piece: piece.box.left)
    return rows


def _join_level(pieces: Sequence[Line], rules: Rules) -> list[Line]:
    rows = _rows(pieces)
    lines = [
        row[0]
        if len(row) == 1
        else _join_row(row, [*rows[max(place - 2, 0) : place], *rows[place + 1 : place + 3]], rules)
        for place, row in enumerate(rows)
    ]
    return [*part_aligned(lines)]


def _join_row(row: Sequence[Line], others: Sequence[Sequence[Line]], rules: Rules) -> Line:
    """One line of pieces; those without a wide gap or a bar between them are one cell.

    ``others``: the lines around it.
    """
    main = max(row, key=lambda piece: len(piece.text))
    # A raised number does not make its line begin higher.
    box = replace(main.box, left=row[0].box.left, right=max(piece.box.right for piece in row))
    widest = _WIDEST_STRETCH if _is_stretched(row) and not _stands_below(row, others) else CELL_GAP
    bars = rules.bars_at(box.middle)
    cells: list[Cell] = []
    for piece in row:
        cell = piece.cells[0]
        gap = cell.left - cells[-1].right if cells else 0.0
        room = _BULLET_GAP if cells and cells[-1].text in BULLETS and cell.text not in BULLETS else widest
        # A word that runs over its cell ends behind the bar, and the next one begins close to it.
        if cells and gap <= room * main.size and not any(_parts(bar, cells[-1], cell) for bar in bars):
            space = "" if gap < 0.08 * main.size and gap > -main.size else " "
            cells[-1] = cells[-1].join(cell, space)
        else:
            cells.append(cell)
    is_slanted = all(piece.is_slanted for piece in row)
    return Line(box, main.size, _is_bold(row), tuple(cells), _is_mono(row), is_slanted)


def _parts(bar: float, cell: Cell, then: Cell) -> bool:
    """Whether a bar stands between two cells, close to where the second one begins."""
    return cell.left < bar <= then.left <= bar + BESIDE_BAR


def _is_bold(row: Sequence[Line]) -> bool:
    """Whether a row of pieces is bold: it begins so, and few letters after that are those of the text."""
    plain = sum(len(piece.text) for piece in row if not piece.is_bold and not piece.is_mono)
    return row[0].is_bold and plain <= _PLAIN_SHARE * sum(len(piece.text) for piece in row)


def _is_mono(row: Sequence[Line]) -> bool:
    """Whether a row of pieces is a line of a program; its number and a few signs may be in another font."""
    words = row[1:] if row[0].text.isdigit() else row
    letters = sum(len(piece.text) for piece in words)
    return words[0].is_mono and sum(len(piece.text) for piece in words if piece.is_mono) >= _MONO_SHARE * letters


def _stands_below(row: Sequence[Line], others: Sequence[Sequence[Line]]) -> bool:
    """Whether most pieces after the first begin or end where pieces of the lines around do, as cells do."""
    boxes = [piece.box for other in others for piece in other[1:]]
    lefts, rights = {round(box.left) for box in boxes}, {round(box.right) for box in boxes}
    below = sum(round(piece.box.left) in lefts or round(piece.box.right) in rights for piece in row[1:])
    return below * 2 > len(row) - 1


def _is_stretched(row: Sequence[Line]) -> bool:
    """Whether a few words are stretched to a whole line of justified text."""
    gaps = [then.box.left - first.box.right for first, then in pairwise(row)]
    size = row[0].size
    if len(gaps) < _FEWEST_STRETCHED or max(gaps) > _WIDEST_STRETCH * size:
        return False
    if sum(piece.text.isdigit() for piece in row) * 2 > len(row):
        return False
    return min(gaps) >= _STRETCHED * max(gaps) and all(piece.text.count(" ") < 2 for piece in row)
