"""Items of the first reader of PDF after a change: what is read of them, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any


@dataclass(frozen=True, slots=True)
class Piece:
    """A word, or an item with its words: its text and box in points, and the font of an item."""

    text: str
    x: float
    y: float
    width: float
    height: float
    font_name: str = ""
    font_size: float = 0.0
    rotation: float = 0.0
    words: tuple[Any, ...] = ()


def part_lines(item: Any) -> Iterator[Any]:
    """The item; where its words begin anew farther left and lower, each line as an item of its own.

    The parser takes lines for one whose font states no size.
    """
    words = item.words
    starts = [
        place
        for place, (first, then) in enumerate(pairwise(words), 1)
        if then.x < first.x and then.y > first.y + first.height / 2
    ]
    if not starts or item.rotation:
        yield item
        return
    for start, end in pairwise([0, *starts, len(words)]):
        yield _line_of(words[start:end], item)


def _line_of(words: Sequence[Any], item: Any) -> Piece:
    left, top = min(word.x for word in words), min(word.y for word in words)
    right, bottom = max(word.x + word.width for word in words), max(word.y + word.height for word in words)
    text = " ".join(word.text for word in words)
    return Piece(
        text, left, top, right - left, bottom - top, item.font_name, item.font_size, item.rotation, tuple(words)
    )
