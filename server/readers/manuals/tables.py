"""Tables of tbl(1), between .TS and .TE, as rows of cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

_TAB = re.compile(r"\btab\s*\(?(\S)\)?", re.IGNORECASE)
_RULES = frozenset({"_", "=", "\\_", "\\="})


def read_table(lines: Sequence[str], render: Callable[[Sequence[str]], str]) -> list[list[str]]:
    """The rows of a table; ``render`` returns the printed text of the lines of a cell."""
    start, tab = 0, "\t"
    if lines and lines[0].rstrip().endswith(";"):
        found = _TAB.search(lines[0])
        start, tab = 1, found[1] if found else tab
    rows = iter(lines[_after_format(lines, start) :])
    return [[render(cell) for cell in cells] for cells in _rows(rows, tab)]


def _after_format(lines: Sequence[str], start: int) -> int:
    """The number of the first line after the format, whose last line ends with a full stop."""
    return next((at + 1 for at in range(start, len(lines)) if lines[at].rstrip().endswith(".")), len(lines))


def _rows(lines: Iterator[str], tab: str) -> Iterator[list[list[str]]]:
    """The cells of each row, each as lines of roff."""
    for line in lines:
        if line.startswith(".T&"):
            next((each for each in lines if each.rstrip().endswith(".")), None)
        elif not line.startswith(".") and line.strip() and line.strip() not in _RULES:
            while line.endswith("\\") and not line.endswith("\\\\"):
                line = line[:-1] + next(lines, "")
            yield _cells(line, lines, tab)


def _cells(line: str, lines: Iterator[str], tab: str) -> list[list[str]]:
    """The cells of a row that begins with this line; a cell between T{ and T} has lines of its own."""
    cells: list[list[str]] = []
    fields = line.split(tab)
    while fields:
        field = fields.pop(0)
        if field.strip() != "T{" or fields:
            text = field.strip()
            # A cell that begins like a request is text.
            line = f"\\&{text}" if text[:1] in (".", "'") else text
            cells.append([] if text in (*_RULES, "\\^") else [line])
            continue
        inner = []
        for each in lines:
            if each.startswith("T}"):
                fields = each[2:].lstrip(" ").removeprefix(tab).split(tab) if each[2:].strip(" ") else []
                break
            inner.append(each)
        cells.append(inner)
    return cells
