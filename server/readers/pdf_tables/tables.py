"""Finds tables in the lines of a column: lines whose cells stand below each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from winnow.server.readers.pdf.layout import Block, BlockKind, Box, Rules
from winnow.server.readers.pdf.lines import Line
from winnow.server.readers.pdf_tables.columns import (
    Column,
    between_bars,
    box_of,
    heights_over,
    in_columns,
    inner_rules,
    is_barred,
    is_between,
    is_title,
    is_within,
    met_by,
    part_at_columns,
    part_columns,
    take_below_header,
    take_cells,
)
from winnow.server.readers.pdf_tables.rows import is_bracketed, read_rows

ENDS_SENTENCE = re.compile(r"[.!?:;…。．！？：][\"'”’»)\]*_]*\Z")
# "•", "1.", "(a)", "2.4": what stands before the text of an item or a heading is no cell.
MARKER = re.compile(
    r"(?:[•◦▪‣–—−·∙*○●■□➢✓▶►▸\uf0b7\uf0a7\uf06e\uf0d8\u0088-]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[.)]|\d{1,3}(?:\.\d{1,3})+\.?|[A-Z](?:\.\d+)+)"
)
# Not the dots of a path ("..../library"): a page follows, with a space or without one.
LEADERS = re.compile(r"(?<![.…·])(?<![.…·]\s)(?:\s?[.…·]){4,}+(?=\s|\Z|(?:\d{1,4}|[ivxlc]{1,7})\b)")
# Fewest rows of a table without rules, with rules, and with three columns or more.
_ROWS, _RULED_ROWS, _WIDE_ROWS = 3, 2, 2
# A row has no more lines before one with two cells; a table between bars has no more on a page, so that a page on
# which each line could begin one is read in time in proportion.
_MOST_SINGLE, _MOST_BARRED = 40, 200
# So many lines may be a header with names over several columns, above a rule over this share of the width.
_HEADER_LINES, _RULE_SHARE = 5, 0.5
# In heights of a line: rows that are farther apart are not one table.
_FARTHEST = 3.2
# Of the lines of a table, so many have two cells or more.
_FULL_SHARE = 0.34
_LONG_CELL = 45
# In distances of lines: the bold title of other rows is farther below those above it.
_TITLE_ROW = 1.15
# The number and the title of a heading are larger than the line above by this factor.
_LARGER = 1.15
# So many lines of contents, whose titles are this far from their pages, in sizes of the font.
_CONTENTS, _TITLE_GAP = 4, 4.0
_PAGE = re.compile(r"\d{1,4}|[ivxlc]{1,7}")
_FORMULA_NUMBER = re.compile(r"\(\d{1,3}(?:\.\d{1,3})*[a-z]?\)")
_KIND = re.compile(r"\[[^\]]{3,30}\]")
# In points: the frame of a table is no farther from its lines.
_FRAME_ROOM = 8.0
# So many rules over the whole width part the rows of a table that has no rule below.
_PARTED_ROWS = 2


def has_leaders(text: str) -> bool:
    """Whether dots lead from one part of a line to the next, as in a table of contents."""
    return (". ." in text or ".." in text or "…" in text or "· ·" in text) and bool(LEADERS.search(text))


def keep_apart(lines: Sequence[Line]) -> Block:
    """The lines as they stand; dots that lead to a number are one sign."""
    return Block(BlockKind.ROWS, "\n".join(LEADERS.sub(" …", line.text) for line in lines), box_of(lines))


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A table, or a formula with its number, and how many lines it has.

    A bold line over some of its rows is a heading, whose level is 0 here, and parts it into several tables.
    """

    blocks: tuple[Block, ...]
    lines: int


def find_table(lines: Sequence[Line], start: int, rules: Rules) -> FoundTable | None:
    """The table that begins with this line; None if it begins none."""
    if all(len(line.cells) < 2 for line in lines[start : start + _MOST_SINGLE]):
        return None
    barred = columns = _barred_columns(lines, start, rules)
    if not is_row(lines[start]) and (not barred or len(lines[start].cells) > 1):
        return None
    if columns:
        lines = lines[: start + _MOST_BARRED]
        columns = [*part_columns(columns, lines[start:], rules)]
        lines = [*lines[:start], *in_columns(lines[start:], columns, rules)]
    else:
        columns = [Column(cell.left, cell.right) for cell in lines[start].cells]
    lines = [*lines]
    count = _count_lines(lines, start, columns, barred, rules)
    taken = lines[start : start + count]
    box = box_of(taken)
    is_framed = bool(barred) and _may_be_framed(taken, columns) and _is_framed(box, rules)
    if not is_row(lines[start]) and not is_framed:
        return None
    if len(columns) < 2 or not (is_framed or _is_enough(taken, columns, rules)):
        return None
    if _are_items(taken):
        return None
    if not is_framed and _are_formulas(taken):
        return FoundTable((keep_apart(taken),), count)
    rows = _without_empty(read_rows(taken, columns, rules))
    if not is_framed and len(rows) < (_RULED_ROWS if len(columns) > 2 or inner_rules(rules, box) else _ROWS):
        return None
    if not barred:
        # The parts are one table each, and its columns are those of all: a part may have a single row.
        taken = taken[: _count_to_heading(taken)]
    parts = ([] if is_framed else _part_at_titles(taken)) or [taken]
    if len(parts[0]) == count:
        return FoundTable((table_block(rows, taken),), count)
    return FoundTable(tuple(_block(part, columns, rules) for part in parts), sum(map(len, parts)))


def _part_at_titles(lines: Sequence[Line]) -> list[Sequence[Line]]:
    """The lines of a table, parted at bold ones over some of its rows, each of which is a part of its own.

    Such a line is farther below the others than rows are apart, and no other line has bold letters. Lines after
    the last one that has rows below it are no part of the table. Without such a line there are no parts.
    """
    distances = [then.box.middle - first.box.middle for first, then in pairwise(lines)]
    farthest = _TITLE_ROW * median(distances) if distances else 0.0
    titles = [
        place
        for place, (line, distance) in enumerate(zip(lines[1:], distances, strict=True), 1)
        if line.is_bold and len(line.cells) == 1 and distance > farthest and line.box.left <= lines[0].box.left + 1
    ]
    if not titles or sum(line.is_bold for line in lines) != len(titles):
        return []
    edges = sorted({0, *titles, *(place + 1 for place in titles), len(lines)})
    parts = [lines[start:end] for start, end in pairwise(edges)]
    while parts and all(len(line.cells) < 2 or (line.is_mono and not lines[0].is_mono) for line in parts[-1]):
        parts.pop()
    return parts


def _block(lines: Sequence[Line], columns: Sequence[Column], rules: Rules) -> Block:
    """The heading that a bold line is, or the table of other lines."""
    if lines[0].is_bold and len(lines) == len(lines[0].cells) == 1:
        return Block(BlockKind.HEADING, lines[0].text, box_of(lines))
    return table_block(_without_empty(read_rows(lines, columns, rules)), lines)


def _barred_columns(lines: Sequence[Line], start: int, rules: Rules) -> list[Column]:
    """The columns between the bars beside a line; those of the line below it where it is a title over them."""
    columns = between_bars(lines[start], rules)
    if columns or start + 1 == len(lines) or len(lines[start].cells) > 1:
        return columns
    below = between_bars(lines[start + 1], rules)
    return below if is_title(lines[start], below, rules) else []


def _without_empty(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The rows without columns that have no text, such as those between double bars."""
    held = [any(column) for column in zip(*rows, strict=True)]
    return [[cell for cell, is_held in zip(cells, held, strict=True) if is_held] for cells in rows]


def _may_be_framed(lines: Sequence[Line], columns: Sequence[Column]) -> bool:
    """Whether lines in a frame may be a table, with text in several columns: a program in a box may have bars."""
    is_program = sum(line.is_mono for line in lines) * 2 > len(lines)
    met = {place for line in lines for cell in line.cells for place in met_by(cell, columns)[:1]}
    return not is_program and len(met) > 1


def _is_framed(box: Box, rules: Rules) -> bool:
    """Whether rules over the whole width are drawn close above and close below the lines of a table.

    Where enough of them part its rows, the one below may be missing.
    """
    heights = heights_over(box, rules)
    is_closed = any(-1 < y - box.bottom < _FRAME_ROOM for y in heights)
    is_parted = sum(box.top + 1 < y < box.bottom - 1 for y in heights) >= _PARTED_ROWS
    return any(-_FRAME_ROOM < y - box.top < 1 for y in heights) and (is_closed or is_parted)


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


def is_row(line: Line) -> bool:
    """Whether a line has several cells, and is no item or heading with its number, nor a line of contents."""
    if len(line.cells) < 2 or has_leaders(line.text):
        return False
    return len(line.cells) > 2 or not MARKER.fullmatch(line.cells[0].text)


def _count_lines(
    lines: list[Line], start: int, columns: list[Column], barred: Sequence[Column], rules: Rules
) -> int:
    """The number of lines of the table; ``columns`` grow by the cells of each line, which are parted there."""
    last = 0
    end = len(lines)
    for place in range(start + 1, len(lines)):
        line, above = lines[place], lines[place - 1]
        if _begins_part(lines, place):
            end = min(end, place + _MOST_SINGLE)  # the lines below a heading only show the columns
        if place > end:
            break
        distance = line.box.middle - above.box.middle
        if barred and is_title(line, barred, rules) and distance < _FARTHEST * line.box.height:
            last = place - start
            continue
        # A table between bars begins or ends here; its header may be above its frame, and its last rows below it.
        is_outside = bool(between_bars(line, rules)) != bool(barred)
        if is_outside and (place > start + 1 if not barred else len(line.cells) == 1):
            break
        if distance > _FARTHEST * max(line.box.height, above.box.height) or distance < 0 or has_leaders(line.text):
            break
        if (is_outside or not barred) and line.size > _LARGER * above.size and _has_number(line):
            break  # a heading
        if not barred and (len(line.cells) > 1 or len(columns) > 2) and not _is_outdented(line, columns):
            lines[place] = line = part_at_columns(line, columns, lines[start:place])
        if len(line.cells) == 1 and is_within(line, barred):
            last = place - start
            continue
        if len(line.cells) == 1:
            if not _fits_alone(line, above, columns, distance) and not _is_long_name(lines[place:], columns):
                break
            continue
        if not take_cells(line.cells, columns, line.size) and not (
            _is_below_header(lines[start : place + 1], rules) and take_below_header(line, columns)
        ):
            break
        last = place - start
    return last + 1 + _count_wrapped(lines, start + last + 1, columns)


def _count_to_heading(lines: Sequence[Line]) -> int:
    """The number of lines of a table before the first heading of a part of it."""
    places = range(1, len(lines))
    return next((place for place in places if _begins_part(lines, place)), len(lines))


def _begins_part(lines: Sequence[Line], place: int) -> bool:
    """Whether a line is the heading of a part of a table: one cell, bold and larger than the line above.

    Words of a program may be bold. Of two that stand beside each other, each is that of its column.
    """
    line, above = lines[place], lines[place - 1]
    if len(line.cells) > 1 or not line.is_bold or line.is_mono or line.size <= _LARGER * above.size:
        return False
    return place + 1 == len(lines) or lines[place + 1].box.top > line.box.middle


def _has_number(line: Line) -> bool:
    """Whether a line has two cells, of which the first is the number of a section, or the mark of an item."""
    first = line.cells[0].text
    return len(line.cells) == 2 and (first.isdecimal() or bool(MARKER.fullmatch(first)))


def _is_below_header(lines: Sequence[Line], rules: Rules) -> bool:
    """Whether a rule parts the last of the lines from the first few."""
    above, line = lines[0], lines[-1]
    least = _RULE_SHARE * (line.box.right - line.box.left)
    heights = [
        y
        for y, left, right in rules.horizontal
        if above.box.middle < y < line.box.middle and min(right, line.box.right) - max(left, line.box.left) > least
    ]
    return (
        bool(heights) and sum(line.box.middle < heights[0] for line in lines[: _HEADER_LINES + 1]) <= _HEADER_LINES
    )


def _is_outdented(line: Line, columns: Sequence[Column]) -> bool:
    """Whether a line of one cell begins farther left than the table, as the text below it does."""
    return len(line.cells) == 1 and line.box.left < columns[0].left - line.size / 2


def _count_wrapped(lines: Sequence[Line], start: int, columns: Sequence[Column]) -> int:
    """The number of lines after the last full one that only go on with its cells beyond the first column."""
    count = 0
    for place in range(start, len(lines)):
        line, above = lines[place], lines[place - 1]
        near = line.box.middle - above.box.middle < 1.5 * line.box.height
        if (
            len(line.cells) > 1
            or not near
            or (
                line.box.left < columns[1].left - 2
                and not is_between(line, above)
                and not is_bracketed(line, above)
            )
            or line.box.left > columns[-1].right
        ):
            break
        count += 1
    return count


def _fits_alone(line: Line, above: Line, columns: Sequence[Column], distance: float) -> bool:
    """Whether a line of one cell may stand in a table: in one column, or a label over its rows."""
    met = met_by(line.cells[0], columns)
    if len(met) == 1 and met[0] > 0:
        return distance < 1.6 * line.box.height
    return met == [0] and len(line.text) <= 2 * _LONG_CELL


def _is_long_name(lines: Sequence[Line], columns: Sequence[Column]) -> bool:
    """Whether the first line is a name wider than its column, and the next one has the other cells of its row."""
    first, then = met_by(lines[0].cells[0], columns), lines[1] if len(lines) > 1 else None
    if len(first) < 2 or then is None or len(then.cells) < 2 or lines[0].box.left < columns[first[0]].left - 2:
        return False
    begins = met_by(then.cells[0], columns)
    distance = then.box.middle - lines[0].box.middle
    return (
        begins[:1] > first[:1]
        and 0 < distance < 1.6 * lines[0].box.height
        and len(lines[0].text) <= 2 * _LONG_CELL
    )


def _is_enough(lines: Sequence[Line], columns: Sequence[Column], rules: Rules) -> bool:
    full = sum(len(line.cells) > 1 for line in lines)
    between = sum(is_between(line, above) for above, line in pairwise(lines))
    wrapped = sum(_is_wrapped(line, columns) for line in lines) if len(columns) > 2 and full >= _ROWS else 0
    if full < 2 or full < _FULL_SHARE * (len(lines) - max(2 * between, wrapped)):
        return False
    if len(columns) > 2 or inner_rules(rules, box_of(lines)):
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


def _are_formulas(lines: Sequence[Line]) -> bool:
    """Whether lines are a formula with its number at the right: full lines end with one, or are a part of it."""
    last = [line.cells[-1] for line in lines if len(line.cells) > 1]
    numbers = [cell for cell in last if _FORMULA_NUMBER.fullmatch(cell.text)]
    if not numbers:
        return False
    left = min(cell.left for cell in numbers)
    return all(cell in numbers or cell.right < left for cell in last)


def _are_items(lines: Sequence[Line]) -> bool:
    """Whether lines are items of a list: one sign that its font does not name stands before all of their texts."""
    signs = {line.cells[0].text for line in lines if len(line.cells) > 1}
    sign = next(iter(signs), "")
    return (
        len(signs) == 1
        and len(sign) == 1
        and not sign.isprintable()
        and all(len(line.cells) < 3 for line in lines)
    )


def _is_wrapped(line: Line, columns: Sequence[Column]) -> bool:
    """Whether a line only goes on with a cell beyond the first column."""
    met = met_by(line.cells[0], columns)
    return len(line.cells) == 1 and len(met) == 1 and met[0] > 0


def table_block(rows: Sequence[Sequence[str]], lines: Sequence[Line]) -> Block:
    """The table that has these rows, which were read from these lines."""
    return Block(BlockKind.TABLE, table_markdown(rows), box_of(lines), is_aside=True)


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
