"""Names in the left margin: they stand beside the text that they name, and are no first column of a table.

Manuals of programs in TeX have the names of commands there. The text of such a document begins at one edge, hardly
any of it farther left, and few of its lines have a name beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from winnow.server.readers.pdf.layout import Rules
from winnow.server.readers.pdf.lines import Cell, Line
from winnow.server.readers.pdf_tables.columns import is_barred
from winnow.server.readers.pdf_tables.tables import MARKER

# In characters: a shorter cell may be a name, a heading or a cell of a table.
_PROSE_LETTERS = 40
# In points: edges that are as near are one. Of the lines of a text, fewer begin left of its edge, and fewer have
# names beside them.
_EDGE, _LEFT_SHARE, _NAMED_SHARE = 2.0, 0.02, 0.2
_FEWEST_LINES = 20
# In heights of a line: names that are as near stand beside one text, which has no more of them.
_NEAR, _MOST_NAMES = 1.6, 60


def text_edge(pages: Iterable[Sequence[Line]]) -> float:
    """The left edge of the text of a document that may have names in its margin; 0 of others."""
    prose = [found for lines in pages for found in _prose(lines)]
    if len(prose) < _FEWEST_LINES:
        return 0.0
    lefts = Counter(left for left, _ in prose)
    edge = max(lefts, key=lambda left: (lefts[left], -left))
    before = sum(count for left, count in lefts.items() if left < edge - _EDGE)
    named = sum(left == edge and line.cells[0].right < edge for left, line in prose)
    is_sure = before <= _LEFT_SHARE * len(prose) and named <= _NAMED_SHARE * lefts[edge]
    return float(edge) if is_sure else 0.0


def _prose(lines: Iterable[Line]) -> Iterator[tuple[int, Line]]:
    """The left edges of long cells that begin with a letter, and their lines; none of programs."""
    for line in lines:
        for cell in () if line.is_mono else line.cells:
            if len(cell.text) >= _PROSE_LETTERS and cell.text[:1].isalpha():
                yield round(cell.left), line


@dataclass(slots=True)
class _Run:
    """Names below each other in the margin, and the lines beside them without the names."""

    names: list[Cell] = field(default_factory=list)
    beside: list[Line] = field(default_factory=list)
    first: Line | None = None
    last: Line | None = None

    def is_near(self, line: Line) -> bool:
        """Whether a line is the next one below the last name, and its name may be added."""
        if self.last is None or len(self.names) >= _MOST_NAMES:
            return False
        return line.box.middle - self.last.box.middle < _NEAR * line.box.height

    def take(self, line: Line, names: Sequence[Cell], rest: Sequence[Cell]) -> None:
        """Add the names of a line and what stands beside them."""
        self.names += names
        if rest:
            box = replace(line.box, left=rest[0].left)
            self.beside.append(replace(line, box=box, cells=tuple(rest)))
        self.first, self.last = self.first or line, line

    def lines(self) -> Iterator[Line]:
        """The names before the first line beside them; above a line of a program, or a heading, a line apart."""
        if self.first is None:
            return
        name = self.names[0]
        for other in self.names[1:]:
            name = name.join(other)
        first, *others = self.beside
        size = min(line.size for line in self.beside)
        if first.is_mono and len(self.names) == 1:
            yield self.first
        elif first.is_mono or size < first.size:
            box = replace(first.box, left=name.left, right=name.right)
            yield Line(box, size, False, (name,), first.is_mono)
            yield first
        else:
            box = replace(first.box, left=name.left)
            yield replace(first, box=box, cells=(name.join(first.cells[0]), *first.cells[1:]))
        yield from others


def join_margin_names(lines: Iterable[Line], edge: float, rules: Rules) -> Iterator[Line]:
    """The lines; names in the margin stand before the text beside them, which begins at its edge."""
    run = _Run()
    for line in lines:
        names, rest = _part(line, edge)
        is_first = rest and abs(rest[0].left - edge) <= _EDGE and not is_barred(line, rules)
        if names and (run.is_near(line) or is_first):
            if not run.is_near(line):
                yield from run.lines()
                run = _Run()
            run.take(line, names, rest)
            continue
        yield from run.lines()
        run = _Run()
        yield line
    yield from run.lines()


def _part(line: Line, edge: float) -> tuple[Sequence[Cell], Sequence[Cell]]:
    """The names of a line in the margin, and its other cells; a number or the mark of an item is no name."""
    place = 0
    while place < len(line.cells) and line.cells[place].right < edge and _is_name(line.cells[place].text):
        place += 1
    return line.cells[:place], line.cells[place:]


def _is_name(text: str) -> bool:
    return not text.isdigit() and not text.startswith("[") and not MARKER.fullmatch(text)
