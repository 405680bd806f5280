"""The geometry of drawings: a ring of neighbours around a node, and bars over days. Templates draw them as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import cos, pi, sin

WIDTH, HEIGHT = 1200, 900
_ACROSS, _DOWN = 330, 360  # radii of the ring
BARS_WIDTH, BARS_HEIGHT = 900, 240
_BAR_ROOM = 200  # for the tallest bar; the rest is for labels
_WIDEST_BAR = 60.0
_GAP = 0.25  # between two bars, of the room of each


@dataclass(frozen=True, slots=True)
class RingPlace:
    """A place on the ring. ``is_left``: its label stands to the left of it."""

    x: float
    y: float
    is_left: bool


def ring(count: int) -> Iterator[RingPlace]:
    """Places on the ring, clockwise from the top."""
    for at in range(count):
        angle = 2 * pi * (at + 0.5) / count - pi / 2
        yield RingPlace(WIDTH / 2 + _ACROSS * cos(angle), HEIGHT / 2 + _DOWN * sin(angle), cos(angle) < 0)


@dataclass(frozen=True, slots=True)
class StackedBar:
    """A bar of two parts, the lower one from the base up: left edge, width, heights, in units of the drawing."""

    x: float
    width: float
    lower: float
    upper: float


def bars(values: Sequence[tuple[int, int]]) -> list[StackedBar]:
    """Bars for pairs of values, side by side, the tallest over the whole room."""
    most = max((lower + upper for lower, upper in values), default=0) or 1
    room = min(BARS_WIDTH / max(len(values), 1), _WIDEST_BAR)
    scale = _BAR_ROOM / most
    return [
        StackedBar(at * room, room * (1 - _GAP), lower * scale, upper * scale)
        for at, (lower, upper) in enumerate(values)
    ]
