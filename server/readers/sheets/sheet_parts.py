"""Sheets as tables: cut into parts that fit into a chunk, each with the header and the rows that it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

from winnow.server.readers.chunking import LARGEST, measure
from winnow.server.readers.common.markdown_draft import MarkdownDraft, one_line, rule_row, table_row

# Limits of a document. Each part becomes at least one passage, and a document has at most 100,000 passages.
MOST_ROWS, MOST_CELLS, MOST_PARTS = 200_000, 4_000_000, 60_000
_CELL_CHARS = 32_767  # the longest text that spreadsheet programs keep in a cell
# The number of rows that are searched for captions above the header.
_MOST_CAPTIONS = 20
# The sizes of lines add up to a little less than the size of the table.
_LARGEST_PART = LARGEST - 8


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row of a sheet with its number, counted from 1 as the sheet's program shows it."""

    number: int
    cells: Sequence[str]


@dataclass(slots=True)
class SheetBudget:
    """The budget that is left for a document."""

    rows: int = MOST_ROWS
    cells: int = MOST_CELLS
    parts: int = MOST_PARTS

    def take(self, row: SheetRow) -> bool:
        """Whether this row may be read; it is counted."""
        self.rows -= 1
        self.cells -= len(row.cells)
        return self.rows >= 0 and self.cells >= 0 and self.parts > 0


@dataclass(slots=True)
class SheetWriter:
    """Writes one sheet after the other into a draft; ``label`` is the name of the sheet that is written."""

    draft: MarkdownDraft
    budget: SheetBudget = field(default_factory=SheetBudget)
    number: int = 0
    label: str = ""

    def write(self, number: int, label: str, rows: Iterable[SheetRow], more: int = 0) -> str:
        """Write a sheet; if the budget ends before the sheet, return a sentence about the rows read, otherwise "".

        ``more`` rows of the sheet are not among ``rows``.
        """
        self.number, self.label = number, label
        taken = _Taken(filter(None, map(_trim, rows)), self.budget)
        captions, header, others = _split_head(iter(taken))
        if header is not None:
            part = _Part(self, header, captions)
            for row in others:
                part.add(row)
            part.flush()
        left = taken.count_rest() + more
        return f"{taken.read + left:,} rows, the first {taken.read:,} were read" if left else ""


def _trim(row: SheetRow) -> SheetRow | None:
    """A row without empty cells at its end; None for a row without words."""
    cells = [cell[:_CELL_CHARS] for cell in row.cells]
    while cells and not cells[-1].strip():
        cells.pop()
    return SheetRow(row.number, cells) if cells else None


class _Taken:
    """The rows that the budget allows; ``read`` counts them."""

    def __init__(self, rows: Iterator[SheetRow], budget: SheetBudget) -> None:
        self._rows = rows
        self._budget = budget
        self._refused = 0
        self.read = 0

    def __iter__(self) -> Iterator[SheetRow]:
        for row in self._rows:
            if not self._budget.take(row):
                self._refused = 1
                return
            self.read += 1
            yield row

    def count_rest(self) -> int:
        """The number of rows that were not read."""
        return self._refused + sum(1 for _ in self._rows)


def _split_head(rows: Iterator[SheetRow]) -> tuple[list[SheetRow], SheetRow | None, Iterator[SheetRow]]:
    """The captions above the header, the header, and the rows below it.

    The header is the first row with two words; a sheet of one column begins with its header.
    """
    first = list(islice(rows, _MOST_CAPTIONS + 1))
    at = next((index for index, row in enumerate(first) if sum(map(bool, row.cells)) > 1), 0)
    header = first[at] if first else None
    return first[:at], header, chain(first[at + 1 :], rows)


class _Part:
    """The rows that are collected for the next part of a sheet."""

    def __init__(self, writer: SheetWriter, header: SheetRow, captions: Sequence[SheetRow]) -> None:
        self._writer = writer
        self._names = [one_line(cell) for cell in header.cells]
        self._header = f"{table_row(header.cells)}\n{rule_row(len(header.cells))}"
        size = measure(self._header)
        # A header that would fill half of each part is written as the name of each value instead.
        self._is_wide = size > LARGEST // 2
        self._head_size = 0 if self._is_wide else size
        self._first = (captions[0] if captions else header).number
        self._last = header.number
        self._lead = [one_line(" ".join(row.cells)) for row in captions]
        self._is_first = True
        self._lines: list[str] = []
        self._size = self._head_size + sum(map(measure, self._lead))

    def add(self, row: SheetRow) -> None:
        """Add a row. If it does not fit, the rows collected so far are written first."""
        line = self._record(row) if self._is_wide else table_row(row.cells)
        size = measure(f"{line}\n")
        # The names of a wide header are a separate part, so that a column without values is found by its name,
        # too.
        names_only = self._is_wide and self._is_first
        if names_only or (self._lines and self._size + size > _LARGEST_PART):
            self.flush()
        if not self._lines and not self._is_first:
            self._first = row.number
        self._lines.append(line)
        self._last = row.number
        self._size += size

    def flush(self) -> None:
        """Write the collected rows."""
        if not self._lines and not self._is_first:
            return
        writer = self._writer
        writer.draft.begin("sheet", writer.number, writer.label, (self._first, self._last))
        if self._is_first and writer.label:
            writer.draft.add(f"# {one_line(writer.label)}")
        for caption in self._lead:
            writer.draft.add(caption)
        writer.draft.add(self._body())
        writer.budget.parts -= 1
        self._lead, self._lines, self._size, self._is_first = [], [], self._head_size, False

    def _body(self) -> str:
        if not self._is_wide:
            return "\n".join((self._header, *self._lines))
        return "\n\n".join(self._lines or [" | ".join(self._names)])

    def _record(self, row: SheetRow) -> str:
        """A row as a list of named values."""
        names = chain(self._names, iter(lambda: "", None))
        values = ((name, one_line(cell)) for name, cell in zip(names, row.cells, strict=False))
        return "\n".join(f"- {name}: {value}" if name else f"- {value}" for name, value in values if value)
