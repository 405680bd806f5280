"""Puts the lines of a page in reading order: columns from left to right, each from top to bottom.

A gutter is a place that few lines cross. Lines across it, such as a title over two columns, part the page: what is
above such a line is read before it, and what is below it afterwards. Each column may have gutters of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from server.ingest.formats.pdf.lines import Line

_FEWEST_LINES, _SIDE_SHARE = 3, 0.15
_CROSSING_SHARE = 0.2
# More lines are no text.
_MOST_LINES = 3_000


def put_in_order(lines: Sequence[Line]) -> list[Line]:
    """The lines in the order in which a person reads them."""
    gutter = _find_gutter(lines) if len(lines) <= _MOST_LINES else None
    if gutter is None:
        return sorted(lines, key=lambda line: (round(line.box.middle), line.box.left))
    out: list[Line] = []
    for band in _bands(lines, gutter):
        out += put_in_order([line for line in band if line.box.right <= gutter])
        out += put_in_order([line for line in band if line.box.left >= gutter])
        out += [line for line in band if _crosses(line, gutter)]
    return out


def _bands(lines: Sequence[Line], gutter: float) -> Iterable[list[Line]]:
    """The lines above each line that crosses the gutter, with it, and those below the last."""
    band: list[Line] = []
    for line in sorted(lines, key=lambda line: line.box.middle):
        band.append(line)
        if _crosses(line, gutter):
            yield band
            band = []
    yield band


def _crosses(line: Line, gutter: float) -> bool:
    return line.box.left < gutter < line.box.right


def _find_gutter(lines: Sequence[Line]) -> float | None:
    """The place with enough lines on both sides that the fewest lines cross; None in a single column."""
    enough = max(_FEWEST_LINES, _SIDE_SHARE * len(lines))
    best: tuple[int, float] | None = None
    for gutter in {line.box.left - 0.5 for line in lines}:
        left = sum(line.box.right <= gutter for line in lines)
        right = sum(line.box.left >= gutter for line in lines)
        crossing = len(lines) - left - right
        if min(left, right) >= enough and crossing <= _CROSSING_SHARE * len(lines):
            best = min(best or (crossing, gutter), (crossing, gutter))
    return best[1] if best else None
