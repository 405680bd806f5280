"""The parts of a page as a reader of PDF finds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class BlockKind(StrEnum):
    """The kind of a block."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    LINES = "lines"
    TABLE = "table"
    ROWS = "rows"


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on a page in points (1/72 inch); ``top`` is measured from the upper edge and grows downward."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def height(self) -> float:
        """The height in points."""
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        """The distance of the middle below the upper edge of the page."""
        return (self.top + self.bottom) / 2

    def holds(self, other: Box) -> bool:
        """Whether the other box lies within this one, to half a point."""
        return (
            self.left - 0.5 <= other.left
            and self.top - 0.5 <= other.top
            and self.right + 0.5 >= other.right
            and self.bottom + 0.5 >= other.bottom
        )

    def join(self, other: Box) -> Box:
        """The smallest box that holds both."""
        return Box(
            min(self.left, other.left),
            min(self.top, other.top),
            max(self.right, other.right),
            max(self.bottom, other.bottom),
        )


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, paragraph, item of a list, table, program text, or lines of text that are kept apart.

    ``text`` is plain text with Markdown links; of a table it is Markdown, of a program and of rows it has several
    lines. ``level`` is a heading's depth, or how deep an item is nested. ``marker`` is an item's mark ("-", "1.").
    ``is_aside``: a table, caption, footnote or label in a picture, which may stand in the middle of a paragraph.
    ``is_open``: a paragraph whose last line is full and does not end a sentence.
    """

    kind: BlockKind
    text: str
    box: Box
    level: int = 0
    marker: str = ""
    is_aside: bool = False
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Rules:
    """The straight lines on a page, sorted: a horizontal one is (y, left, right), a vertical (x, top, bottom).

    ``borders``: those of the cells of a table by height, for readers of tables, which ask for the same ones
    again for each table that a line may be in.
    """

    horizontal: tuple[tuple[float, float, float], ...] = ()
    vertical: tuple[tuple[float, float, float], ...] = ()
    borders: dict[float, Sequence[float]] = field(default_factory=dict, compare=False, repr=False)

    def bars_at(self, height: float) -> list[float]:
        """The places of the vertical lines at this height of the page."""
        return [x for x, top, bottom in self.vertical if top <= height <= bottom]


NO_RULES = Rules()


@dataclass(frozen=True, slots=True)
class Page:
    """A page in reading order. ``number`` counts from 1; ``height`` is in points.

    ``edges`` are the texts at its upper and lower edge, where its number may be printed.
    """

    number: int
    height: float
    blocks: tuple[Block, ...]
    edges: tuple[str, ...] = ()

    @property
    def last_box(self) -> Box:
        """The box of the last block; an empty one on a page without any."""
        return self.blocks[-1].box if self.blocks else Box(0, 0, 0, 0)
