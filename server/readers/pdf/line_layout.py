"""Puts the lines of a column together: headings, paragraphs, items of lists, programs, tables, lines kept apart.

A paragraph ends where the next line is farther away than lines are in this document, begins with an indent, or
would have had room for its first word on the line above.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from statistics import median

from winnow.server.readers.pdf.layout import NO_RULES, Block, BlockKind, Page, Rules
from winnow.server.readers.pdf.lines import Line
from winnow.server.readers.pdf.reading_order import PartedPage, columns_of, part_page, usual_gutters
from winnow.server.readers.pdf.running_heads import drop_running_heads, is_at_edge
from winnow.server.readers.pdf_characters.torn_words import HYPHEN
from winnow.server.readers.pdf_tables.aligned_cells import join_typed
from winnow.server.readers.pdf_tables.columns import between_bars, is_barred
from winnow.server.readers.pdf_tables.descriptions import are_stretched, find_descriptions
from winnow.server.readers.pdf_tables.margin_names import join_margin_names, text_edge
from winnow.server.readers.pdf_tables.tables import (
    ENDS_SENTENCE,
    MARKER,
    FoundTable,
    count_contents,
    find_table,
    has_leaders,
    keep_apart,
)
from winnow.server.text.forms.ideographs import IDEOGRAPHIC
from winnow.server.text.markup.captions import begins_caption

_LONGEST_HEADING, _LONGEST_MARKED, _MOST_LEVELS = 200, 110, 4
# Larger than the text of the document by this factor.
_HEADING_SIZE = 1.12
# In distances of lines: what is farther begins a block, and what is farther ends a program.
_PARAGRAPH_GAP, _PROGRAM_GAP = 1.27, 3.2
# In sizes of the font.
_INDENT, _DEEPEST_INDENT, _USUAL_PITCH = 0.8, 5.0, 1.2
_SMALLER, _WIDE_GAP = 0.93, 3.0
# A line over less than this share of the width ends its paragraph, whatever follows.
_SHORT_LINE = 0.6
# Of ten letters; with more in a font of one width, such a font does not mark programs.
_MONO_TENTHS = 8
# So many lines, this near to each other in sizes of the font, are no heading.
_PROSE_LINES, _NEAR_LINES = 4, 1.7
# In digits: a line of a program has no longer number.
_LONGEST_NUMBER = 7
# So many lines between bars are tried that begin no table, each with all below it.
_MOST_TRIES = 100
# A label in a picture is no longer.
_LONGEST_LABEL = 40
# In letters, of which an ideograph is as wide as two: a line to the right edge that is not shorter goes on.
_FULL_WIDTH = 60
# A gap above a paragraph is wider than the one between its lines by this factor.
_WIDER_GAP = 1.15
_ITEM = re.compile(
    r"(?:([•◦▪‣–—−·∙*○●■□➢✓▶►▸\uf0b7\uf0a7\uf06e\uf0d8\u0088-])|(\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)]))\s+(?=\S)"
)
_BULLET = re.compile(r"[•◦▪‣·∙*○●■□➢✓▶►▸\uf0b7\uf0a7\uf06e\uf0d8\u0088-]\s")
# So many lines of an index have one that is short; or so many, whatever their lengths.
_ENTRY, _FEWEST_ENTRIES, _SURE_ENTRIES = re.compile(r"\w.*,\s*[\divxlc]+(?:[-–]\d+)?\Z"), 3, 6
_ADDRESS_END = re.compile(r"\bhttps?:(?://\S*)?\Z")
# An address is divided after these; after a slash if what follows is no word of the text.
_BREAKS, _PATH = "-_#?=&:", re.compile(r"\S*\w[/._-]\w")
# A title in italics has words alone; in sizes of the font, so much room on both sides.
_TITLE, _TITLE_ROOM = re.compile(r"[^\W\d_a-z][^\W\d_]{2,}(?:[ ,-]{1,2}[^\W\d_]{2,}){0,7}"), 2.0
_NO_HEADING = (*".:;,-。．：；，、",)
_SECTION = re.compile(r"\d{1,3}(?:\.\d{1,3})*\.?|[A-Z](?:\.\d+)*\.?|[IVXLC]+\.?")
# "-v", "--all", "[-m]": what a command takes is described below it, and is no heading.
_OPTION = re.compile(r"\[?[-+–—]{1,2}\w")
_IDEOGRAPHIC = re.compile(f"[{IDEOGRAPHIC}]")
_SOFT_END = re.compile(r"[^\W\d_]-\Z")
_NOTE = re.compile(r"(?:\d{1,3}|[*∗†‡§¶]{1,3}|[a-z])\s?(?=[A-Z\"'“(\[]|\S+)")


class TextSizes:
    """The size of a document's text, its left edge, how far its lines are apart, and the level of larger ones."""

    def __init__(self, pages: Iterable[Sequence[Line]]) -> None:
        pages = list(pages)
        letters: Counter[float] = Counter()
        bold: Counter[float] = Counter()
        programs: Counter[float] = Counter()
        for page in pages:
            for line in page:
                size, count = line.size, _count_letters(line)
                letters[size] += count
                if line.is_bold:
                    bold[size] += count
                if line.is_mono:
                    programs[size] += count
        self.is_mono = programs.total() * 10 > _MONO_TENTHS * letters.total()
        prose = letters if self.is_mono else letters - programs
        self.body = prose.most_common(1)[0][0] if prose else 0.0
        self.is_bold = bold[self.body] * 2 > letters[self.body]
        self.pitch = _usual_pitch(pages, self.body)
        self.edge = text_edge(pages)
        prose = _prose_letters(pages)
        larger = sorted(
            (
                size
                for size, count in letters.items()
                if size > self.body * _HEADING_SIZE and prose[size] * 2 <= count
            ),
            reverse=True,
        )
        self._levels = {size: min(level, _MOST_LEVELS) for level, size in enumerate(larger, 1)}
        self.lowest = min(len(larger), _MOST_LEVELS) + 1

    def level(self, line: Line) -> int:
        """The level of a line as a heading; 0 for text."""
        text = line.text
        if len(text) > _LONGEST_HEADING or not any(map(str.isalpha, text)) or has_leaders(text):
            return 0
        if line.size in self._levels:
            return self._levels[line.size]
        if not line.is_bold or self.is_bold or line.size < self.body or len(text) > _LONGEST_MARKED:
            return 0
        if _OPTION.match(text):
            return 0
        is_one = len(line.cells) == 1 or (len(line.cells) == 2 and bool(MARKER.fullmatch(line.cells[0].text)))
        return self.lowest if is_one and not text.endswith(_NO_HEADING) else 0


def _prose_letters(pages: Iterable[Sequence[Line]]) -> Counter[float]:
    """The number of letters of each size in paragraphs: in more lines below each other than a heading has."""
    found: Counter[float] = Counter()
    for page in pages:
        by_size: dict[float, list[Line]] = defaultdict(list)
        for line in page:
            by_size[line.size].append(line)
        for size, lines in by_size.items():
            found[size] += sum(map(_count_letters, _in_paragraphs(sorted(lines, key=lambda line: line.box.top))))
    return found


def _in_paragraphs(lines: Sequence[Line]) -> list[Line]:
    """Of lines of one size those that stand near each other, in at least ``_PROSE_LINES`` heights."""
    found: list[Line] = []
    near: list[Line] = []
    for line in lines:
        if near and line.box.top - near[-1].box.top > _NEAR_LINES * line.size:
            found += near if _is_prose(near) else []
            near = []
        near.append(line)
    return found + (near if near and _is_prose(near) else [])


def _is_prose(lines: Sequence[Line]) -> bool:
    return len({round(line.box.top / max(line.size, 1)) for line in lines}) >= _PROSE_LINES


def _width(text: str) -> int:
    """The width of a text, in letters."""
    return len(text) + len(_IDEOGRAPHIC.findall(text))


def _count_letters(line: Line) -> int:
    return sum(len(cell.text) for cell in line.cells)


def _usual_pitch(pages: Iterable[Sequence[Line]], body: float) -> float:
    """The most usual distance of two lines of the text that begin at one edge, in sizes of its font."""
    found: Counter[float] = Counter()
    for page in pages:
        tops: dict[int, float] = {}
        for line in page:
            if line.size == body:
                left, top = round(line.box.left), line.box.top
                if 0.8 * body < (distance := top - tops.get(left, top)) < 2.2 * body:
                    found[round(distance / body, 1)] += 1
                tops[left] = top
    return found.most_common(1)[0][0] if found else _USUAL_PITCH


def lay_out_page(
    number: int,
    height: float,
    parted: PartedPage,
    sizes: TextSizes,
    rules: Rules = NO_RULES,
    gutters: Sequence[float] = (),
) -> Page:
    """A page of these lines, which may be in any order."""
    blocks: list[Block] = []
    columns = columns_of(parted, gutters)
    for column, beside in zip(columns, _rules_of(columns, rules), strict=True):
        found = lay_out(column, sizes, beside)
        if blocks and found:
            blocks, found = join_over_break(blocks, found)
        blocks += found
    return Page(number, height, tuple(_join_divided(blocks)))


def _rules_of(columns: Sequence[Sequence[Line]], rules: Rules) -> Iterator[Rules]:
    """The rules of a page for each of its columns: a bar beyond the next column is none of its tables."""
    edges = [(min(line.box.left for line in lines), max(line.box.right for line in lines)) for lines in columns]
    for left, right in edges:
        first = max((end for _, end in edges if end <= left), default=-inf)
        last = min((start for start, _ in edges if start >= right), default=inf)
        bars = tuple(bar for bar in rules.vertical if first < bar[0] < last)
        yield rules if len(bars) == len(rules.vertical) else Rules(rules.horizontal, bars)


def join_over_break(before: list[Block], after: list[Block]) -> tuple[list[Block], list[Block]]:
    """The blocks on both sides of the end of a column; what stands aside does not part a paragraph any more.

    The open paragraph becomes the last block before the break, and what it goes on with the first one after it.
    """
    last = next((at for at in range(len(before) - 1, -1, -1) if not before[at].is_aside), None)
    first = next((at for at, block in enumerate(after) if not block.is_aside), None)
    if last is None or first is None or not goes_on(before[last], after[first]):
        return before, after
    before = [*before[:last], *before[last + 1 :], before[last]]
    after = [after[first], *after[:first], *after[first + 1 :]]
    return before, after


def goes_on(block: Block, then: Block) -> bool:
    """Whether a paragraph goes on after a break in this block."""
    if then.kind is not BlockKind.PARAGRAPH or block.is_aside:
        return False
    return block.is_open or (is_unfinished(block) and then.text[:1].islower())


def lay_out(lines: Sequence[Line], sizes: TextSizes, rules: Rules = NO_RULES) -> list[Block]:
    """The lines of a column as blocks."""
    return _Layout(lines, sizes, rules).blocks()


class _Layout:
    """Goes through the lines of a column from top to bottom."""

    def __init__(self, lines: Sequence[Line], sizes: TextSizes, rules: Rules) -> None:
        self.lines = [*(join_typed(lines) if sizes.is_mono else join_margin_names(lines, sizes.edge, rules))]
        self.sizes = sizes
        self.rules = rules
        self.tries_left = _MOST_TRIES
        self.found: list[Block] = []
        self.items: list[float] = []
        self.rights = self._right_edges()
        self.edges = (min(line.box.left for line in self.lines), max(line.box.right for line in self.lines))
        # The lines of the last block, while it may go on, and how far lines reach there.
        self.open: list[Line] = []
        self.last_right = 0.0

    def blocks(self) -> list[Block]:
        place = 0
        while place < len(self.lines):
            place += self._take(place)
        self._close()
        return self.found

    def _take(self, place: int) -> int:
        """Take the block that begins with this line, or one line; how many lines that was."""
        line = self.lines[place]
        if (found := self._find_descriptions(place)) is not None:
            self._close()
            self.found += found.blocks
            return found.lines
        if (program := self._count_program(place)) > 1 or (program == 1 and len(line.cells) == 1):
            self._close()
            self.found.append(_program(self.lines[place : place + program]))
            return program
        if (count := count_contents(self.lines, place, self.rules)) > 0:
            self._close()
            self.found.append(keep_apart(self.lines[place : place + count]))
            return count
        if not self._is_numbered(place) and (table := self._find_table(place)) is not None:
            self._close()
            self.found += map(self._with_level, table.blocks)
            return table.lines
        if program == 1:
            self._close()
            self.found.append(_program(self.lines[place : place + 1]))
            return 1
        if (count := self._count_rows(place)) > 0:
            self._close()
            self.found.append(keep_apart(self.lines[place : place + count]))
            return count
        level = self._heading_level(place)
        if level:
            self._close()
            self.items.clear()
            self.found.append(Block(BlockKind.HEADING, line.text, line.box, level))
        elif self.open and not _ITEM.match(line.text) and self._goes_on(place):
            self.open.append(line)
            self.last_right = self.rights[place]
        else:
            self._close(is_ended=self._ends_above(place))
            self.open = [line]
            self.last_right = self.rights[place]
        return 1

    def _find_descriptions(self, place: int) -> FoundTable | None:
        """The list of descriptions that begins here, if it has more lines than a table would have.

        A table of its lines that only has more columns since some are stretched is none.
        """
        found = find_descriptions(self.lines, place)
        table = self._find_table(place) if found else None
        if found is None or table is None or table.lines < found.lines:
            return found
        is_same = table.lines == found.lines and are_stretched(self.lines[place : place + found.lines])
        return found if is_same else None

    def _find_table(self, place: int) -> FoundTable | None:
        """The table that begins here; none where too many lines between bars have begun none."""
        if self.tries_left == 0:
            return None
        table = find_table(self.lines, place, self.rules)
        if table is None and between_bars(self.lines[place], self.rules):
            self.tries_left -= 1
        return table

    def _with_level(self, block: Block) -> Block:
        """A heading that parts a table, with the level of bold lines."""
        return replace(block, level=self.sizes.lowest) if block.kind is BlockKind.HEADING else block

    # --- edges and distances

    def _right_edges(self) -> list[float]:
        """For each line how far the lines reach that stand close above and below it."""
        out: list[float] = []
        start = 0
        for place in range(1, len(self.lines) + 1):
            if place == len(self.lines) or not self._is_near(place):
                right = max(line.box.right for line in self.lines[start:place]) if start < place else 0.0
                out += [right] * (place - start)
                start = place
        return out

    def _is_near(self, place: int) -> bool:
        """Whether a line is as far below the line above it as lines of one paragraph are, and as large."""
        above, line = self.lines[place - 1], self.lines[place]
        if abs(above.size - line.size) > 0.12 * max(above.size, line.size):
            return False
        distance = line.box.top - above.box.top
        return -0.3 * line.size < distance <= _PARAGRAPH_GAP * self.sizes.pitch * max(line.size, above.size)

    def _has_room(self, place: int) -> bool:
        """Whether the first word of a line would have had room on the line above."""
        above, line = self.lines[place - 1], self.lines[place]
        if _SOFT_END.search(above.text) or above.text.endswith(HYPHEN):
            return False
        text = line.cells[0].text
        word = len(text.split(" ", 1)[0]) / max(1, len(text)) * (line.cells[0].right - line.cells[0].left)
        return above.box.right + word + 0.8 * line.size < self.rights[place - 1]

    # --- programs, rows

    def _count_program(self, place: int) -> int:
        """The number of lines of a program that begin here."""
        if self.sizes.is_mono or self._is_barred(place) or (self.open and self._is_name(place)):
            return 0
        count = 0
        while place + count < len(self.lines) and self._is_program(place + count, place):
            count += 1
        return count

    def _is_program(self, place: int, start: int) -> bool:
        """Whether a line belongs to a program that begins at another, as does the number of an empty line."""
        line, above, is_first = self.lines[place], self.lines[place - 1], place == start
        if not is_first and line.box.bottom - above.box.bottom > _PROGRAM_GAP * max(line.size, above.size):
            return False
        is_number = not is_first and line.text.isdigit() and above.text[:1].isdigit()
        if (line.is_mono and not self._is_large_name(place)) or is_number:
            return True
        # A line in another font has the next number; a page of prose may have numbers of its lines, too.
        if not is_first:
            return _is_next(above, line) and any(map(_has_mono_text, self.lines[start:place]))
        below = self.lines[place + 1] if place + 1 < len(self.lines) else line
        return _has_mono_text(below) and _is_next(line, below)

    def _is_barred(self, place: int) -> bool:
        """Whether bars stand between the words of a line; its number may be outside of the frame of a program."""
        line = self.lines[place]
        number, *rest = line.cells
        if rest and number.text.isdigit() and number.right < min(self.rules.bars_at(line.box.middle), default=0.0):
            line = replace(line, box=replace(line.box, left=rest[0].left), cells=tuple(rest))
        return is_barred(line, self.rules)

    def _is_large_name(self, place: int) -> bool:
        """Whether the letters of one width in a line are those of a title, which may begin with a name."""
        line = self.lines[place]
        if line.size <= self.sizes.body * _HEADING_SIZE or not self.sizes.level(line):
            return False
        around = self.lines[max(0, place - 1) : place + 2]
        return not any(other.is_mono and other.size == line.size for other in around if other is not line)

    def _is_name(self, place: int) -> bool:
        """Whether a short line ends a paragraph: a name or a path in letters of one width."""
        line, above = self.lines[place], self.open[-1]
        if self._is_rest_of_address(place):
            return True
        if ENDS_SENTENCE.search(above.text) or not self._is_near(place) or above.is_mono:
            return False
        is_alone = place + 1 == len(self.lines) or not self.lines[place + 1].is_mono
        shift = (line.box.left - above.box.left) / line.size
        # The first line of a paragraph may have an indent.
        farthest = _DEEPEST_INDENT if len(self.open) == 1 else _INDENT
        return is_alone and not self._has_room(place) and -farthest < shift < _DEEPEST_INDENT

    def _is_rest_of_address(self, place: int) -> bool:
        """Whether a line is the rest of an address that begins on the line above."""
        line, above = self.lines[place], self.open[-1]
        if " " in line.text or "://" in line.text or not self._is_near(place) or self._has_room(place):
            return False
        return bool(_ADDRESS_END.search(above.text))

    def _count_rows(self, place: int) -> int:
        """The number of lines of contents, declarations or the like that begin here, which are kept apart."""
        count = 0
        while place + count < len(self.lines) and self._is_apart(place + count):
            if count and self.lines[place + count].box.top - self.lines[
                place + count - 1
            ].box.top > self._farthest(place):
                break
            count += 1
        return count or self._count_entries(place)

    def _count_entries(self, place: int) -> int:
        """The number of short lines of an index that begin here: a term, and the numbers of its pages."""
        count = 0
        while place + count < len(self.lines) and _ENTRY.search(self.lines[place + count].text):
            count += 1
        if count < _FEWEST_ENTRIES:
            return 0
        return count if count >= _SURE_ENTRIES or any(self._has_room(place + at) for at in range(1, count)) else 0

    def _farthest(self, place: int) -> float:
        return 2 * self.sizes.pitch * self.lines[place].size

    def _is_apart(self, place: int) -> bool:
        """Whether a line has dots that lead to a number, or parts with wide gaps between them."""
        line = self.lines[place]
        if has_leaders(line.text):
            return True
        if len(line.cells) < 2 or (len(line.cells) == 2 and MARKER.fullmatch(line.cells[0].text)):
            return False
        gaps = [then.left - first.right for first, then in pairwise(line.cells)]
        is_full = line.box.right > self.rights[place] - line.size
        return max(gaps) > (_WIDE_GAP if is_full else _WIDE_GAP / 2) * line.size

    # --- paragraphs

    def _is_centred_title(self, place: int) -> bool:
        """Whether a line is a title in the middle of the column: in italics, unlike those above and below it."""
        line = self.lines[place]
        beside = [self.lines[at] for at in (place - 1, place + 1) if 0 <= at < len(self.lines)]
        if not _TITLE.fullmatch(line.text) or any(other.is_slanted for other in beside):
            return False
        left = line.box.left - self.edges[0]
        right = self.edges[1] - line.box.right
        return min(left, right) > _TITLE_ROOM * line.size and abs(left - right) < line.size

    def _heading_level(self, place: int) -> int:
        line = self.lines[place]
        if line.is_slanted and not self.sizes.level(line) and self._is_centred_title(place):
            return self.sizes.lowest
        level = self.sizes.level(line)
        if not level or begins_caption(line.text) or _BULLET.match(line.text):
            return 0
        if self._is_divided(place):
            return 0
        if line.size > self.sizes.body * _HEADING_SIZE:
            return level
        is_first = not self.open or not self._is_near(place) or self._has_room(place)
        is_short = line.box.right < self.rights[place] - line.size or _width(line.text) < _FULL_WIDTH
        return level if is_first and is_short and not line.text[:1].islower() else 0

    def _is_divided(self, place: int) -> bool:
        """Whether a line ends within a word that goes on in a line of the text: its first word alone is large."""
        if not (_SOFT_END.search(self.lines[place].text) or self.lines[place].text.endswith(HYPHEN)):
            return False
        return place + 1 < len(self.lines) and not self.sizes.level(self.lines[place + 1])

    def _is_numbered(self, place: int) -> bool:
        """Whether a line in large letters is a heading with its number at the left."""
        line = self.lines[place]
        if len(line.cells) != 2 or line.size <= self.sizes.body * _HEADING_SIZE:
            return False
        return bool(_SECTION.fullmatch(line.cells[0].text)) and self._heading_level(place) > 0

    def _goes_on(self, place: int) -> bool:
        """Whether a line goes on with the open block."""
        first, above, line = self.open[0], self.open[-1], self.lines[place]
        if above.text.endswith(HYPHEN):
            return True
        if not self._is_near(place):
            return False
        if len(self.open) > 1:
            usual = self.open[1].box.top - first.box.top
            if line.box.top - above.box.top > _PARAGRAPH_GAP * max(usual, line.size):
                return False
        ends = bool(ENDS_SENTENCE.search(above.text))
        begins_small = line.text[:1].islower()
        if ends and not begins_small and self._is_gap_above(place):
            return False
        shift = line.box.left - above.box.left
        indent = _INDENT * line.size
        if begins_small and not ends:
            return above.box.right - first.box.left > _SHORT_LINE * (self.rights[place - 1] - first.box.left)
        if self._has_room(place) and (ends or not begins_small):
            return False
        if shift > indent:
            return len(self.open) == 1 and not self._is_outdented(place + 1, line)
        if shift < -indent:
            return len(self.open) == 1 and not _ITEM.match(first.text)
        return True

    def _is_gap_above(self, place: int) -> bool:
        """Whether a line is farther from the one above it than from the one below."""
        if len(self.open) > 1 or place + 1 >= len(self.lines) or not self._is_near(place + 1):
            return False
        above, line, below = (self.lines[at].box.top for at in (place - 1, place, place + 1))
        return line - above > _WIDER_GAP * (below - line) > 0

    def _is_outdented(self, place: int, line: Line) -> bool:
        """Whether the line after an indented one stands farther left: then the indent begins a paragraph."""
        if place >= len(self.lines) or not self._is_near(place):
            return False
        return self.lines[place].box.left < line.box.left - _INDENT * line.size

    def _ends_above(self, place: int) -> bool:
        """Whether a line begins another paragraph, so that the one above it goes on nowhere else."""
        line = self.lines[place]
        if not self.open or abs(self.open[-1].size - line.size) > 0.12 * line.size:
            return False
        return line.text[:1].isupper() and not begins_caption(line.text)

    def _close(self, *, is_ended: bool = False) -> None:
        """Make a block of the open lines; ``is_ended``: what follows does not go on with them."""
        if not self.open:
            return
        lines, self.open = self.open, []
        text = lines[0].text
        box = lines[0].box
        for line in lines[1:]:
            text, box = _join(text, line.text), box.join(line.box)
        item = _ITEM.match(text)
        if item is not None:
            # As it is printed: "(13)" may be the number of a formula that a sentence goes on with.
            marker = item[2] or "-"
            self.found.append(
                Block(BlockKind.ITEM, text[item.end() :], box, self._depth(box.left, lines[0].size), marker)
            )
            return
        is_small = lines[0].size < _SMALLER * self.sizes.body
        is_label = len(lines) == 1 and len(text) <= _LONGEST_LABEL and not ENDS_SENTENCE.search(text)
        is_note = is_small and (is_label or bool(_NOTE.match(text)))
        is_aside = is_note or (begins_caption(text) and len(text) < 600)
        is_full = lines[-1].box.right > self.last_right - 2 * lines[-1].size and len(lines) > 1
        is_open = is_full and not is_ended and not is_aside and not ENDS_SENTENCE.search(text)
        self.found.append(Block(BlockKind.PARAGRAPH, text, box, is_aside=is_aside, is_open=is_open))

    def _depth(self, left: float, size: float) -> int:
        """The depth of an item: below those that begin farther left."""
        self.items = [other for other in self.items if other < left - _INDENT * size]
        self.items.append(left)
        return len(self.items)


def _has_mono_text(line: Line) -> bool:
    """Whether a line is in letters of one width, and more than its number."""
    return line.is_mono and not line.text.isdigit()


def _is_next(above: Line, line: Line) -> bool:
    """Whether two lines begin with numbers that follow each other, as those of a program do."""
    first, then = (cells[0].text.split(" ", 1)[0] for cells in (above.cells, line.cells))
    return (
        first.isdecimal()
        and then.isdecimal()
        and max(len(first), len(then)) < _LONGEST_NUMBER
        and int(then) == int(first) + 1
    )


def _program(lines: Sequence[Line]) -> Block:
    """Lines of a program with their indents, and an empty line where there is a wide gap."""
    box = lines[0].box
    for line in lines[1:]:
        box = box.join(line.box)
    widths = [
        (cell.right - cell.left) / len(cell.text) for line in lines for cell in line.cells if len(cell.text) > 2
    ]
    letter = max(median(widths) if widths else lines[0].size * 0.6, 0.5)
    # The number of an empty line may be smaller than a program, and begins lower.
    distances = [then.box.bottom - first.box.bottom for first, then in pairwise(lines)]
    near = (distance for distance in distances if distance > 0.8 * lines[0].size)
    usual = min(near, default=_USUAL_PITCH * lines[0].size)
    texts: list[str] = []
    for place, line in enumerate(lines):
        if place and distances[place - 1] > 1.6 * usual:
            texts.append("")
        text = ""
        for cell in line.cells:
            column = min(round((cell.left - box.left) / letter), 300)
            text += " " * max(column - len(text), 1 if text else 0) + cell.text
        texts.append(text)
    return Block(BlockKind.LINES, "\n".join(texts), box)


def _join(first: str, then: str) -> str:
    if first.endswith(HYPHEN):
        return first + then
    if _ADDRESS_END.search(first) and (first[-1] in _BREAKS or (first[-1] == "/" and _PATH.match(then))):
        return first + then
    if _SOFT_END.search(first) and then[:1].islower():
        return f"{first[:-1]}{HYPHEN}{then}"
    if _IDEOGRAPHIC.match(first[-1:]) and _IDEOGRAPHIC.match(then):
        return first + then
    return first + then if first.endswith("-") and first[-2:-1].isalnum() else f"{first} {then}"


def _join_divided(blocks: Sequence[Block]) -> list[Block]:
    """The blocks of a page; a paragraph that a table or a note divided, or the end of a column, is one again."""
    out: list[Block] = []
    for block in blocks:
        place = next((at for at in range(len(out) - 1, -1, -1) if not out[at].is_aside), None)
        is_next = block.kind is BlockKind.PARAGRAPH and not block.is_aside and place is not None
        # A label above a table, such as "Parameters", does not go on below it.
        is_label = place is not None and place + 1 < len(out) and len(out[place].text) <= _LONGEST_LABEL
        if is_next and not is_label and place is not None and goes_on(out[place], block):
            whole = out[place]
            text = _join(whole.text, block.text)
            out[place] = replace(whole, text=text, box=whole.box.join(block.box), is_open=block.is_open)
        else:
            out.append(block)
    return out


def is_unfinished(block: Block) -> bool:
    """Whether a paragraph or an item does not end its sentence."""
    return block.kind in (BlockKind.PARAGRAPH, BlockKind.ITEM) and not ENDS_SENTENCE.search(block.text)


@dataclass(frozen=True, slots=True)
class TurnedText:
    """Lines that are turned by a quarter, and the rules of their page, as they are once it is turned back."""

    lines: tuple[Line, ...]
    rules: Rules


@dataclass(frozen=True, slots=True)
class DrawnPage:
    """A page as a reader finds it: lines in any order, the rules drawn between them, and what is turned on it."""

    number: int
    height: float
    lines: tuple[Line, ...]
    rules: Rules = NO_RULES
    turned: TurnedText | None = None


def _turned_blocks(page: DrawnPage, turned: TurnedText, sizes: TextSizes) -> tuple[Block, ...]:
    parted = part_page(turned.lines, turned.rules)
    return lay_out_page(page.number, page.height, parted, sizes, turned.rules).blocks


def lay_out_pages(drawn: Sequence[DrawnPage], *, has_heads: bool = True) -> list[Page]:
    """The pages of a document without running heads; their edges keep them."""
    texts: list[Sequence[Line]] = [page.lines for page in drawn]
    if has_heads:
        texts = [*drop_running_heads(texts, [page.height for page in drawn], [page.rules for page in drawn])]
    sizes = TextSizes(texts)
    parts = [part_page(lines, page.rules) for page, lines in zip(drawn, texts, strict=True)]
    gutters = usual_gutters(parts)
    pages: list[Page] = []
    for page, parted in zip(drawn, parts, strict=True):
        edges = tuple(line.text for line in page.lines if is_at_edge(line, page.height))
        laid = replace(lay_out_page(page.number, page.height, parted, sizes, page.rules, gutters), edges=edges)
        if page.turned is not None:
            laid = replace(laid, blocks=(*laid.blocks, *_turned_blocks(page, page.turned, sizes)))
        if pages and pages[-1].blocks and laid.blocks:
            before, after = join_over_break(list(pages[-1].blocks), list(laid.blocks))
            pages[-1] = replace(pages[-1], blocks=tuple(before))
            laid = replace(laid, blocks=tuple(after))
        pages.append(laid)
    return pages
