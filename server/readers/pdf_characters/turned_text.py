"""Text that is turned by a quarter, such as a wide table, as if its page had been turned back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from winnow.server.readers.pdf.layout import Box, Rules
from winnow.server.readers.pdf_characters.pieces import Piece

# In degrees; text at the second one is read upward.
_DOWNWARD, _UPWARD = 90, 270
# A page whose letters are turned to more than this share has a turned table; others have labels beside a picture.
_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class QuarterTurn:
    """A turn that makes text upright, on a page of this size in points."""

    width: float
    height: float
    is_upward: bool

    def box(self, box: Box) -> Box:
        """The box after the turn."""
        if self.is_upward:
            return Box(self.height - box.bottom, box.left, self.height - box.top, box.right)
        return Box(box.top, self.width - box.right, box.bottom, self.width - box.left)

    def item(self, item: Any) -> Piece:
        """An item of the parser after the turn."""
        return self._piece(item, item.font_name or "", tuple(self._piece(word) for word in item.words))

    def _piece(self, part: Any, font: str = "", words: tuple[Piece, ...] = ()) -> Piece:
        box = self.box(Box(part.x, part.y, part.x + part.width, part.y + part.height))
        return Piece(part.text, box.left, box.top, box.right - box.left, box.height, font, words=words)

    def rules(self, rules: Rules) -> Rules:
        """The rules after the turn: what was drawn across is drawn down."""
        across = [self.box(Box(x, top, x, bottom)) for x, top, bottom in rules.vertical]
        down = [self.box(Box(left, y, right, y)) for y, left, right in rules.horizontal]
        return Rules(
            tuple(sorted((box.top, box.left, box.right) for box in across)),
            tuple(sorted((box.left, box.top, box.bottom) for box in down)),
        )


def find_turn(items: Iterable[Any], width: float, height: float) -> QuarterTurn | None:
    """The turn that makes most letters of a page upright; None where they are."""
    letters = {_DOWNWARD: 0, _UPWARD: 0}
    total = 0
    for item in items:
        total += len(item.text)
        if (angle := round(item.rotation)) in letters:
            letters[angle] += len(item.text)
    angle = max(letters, key=lambda each: letters[each])
    return QuarterTurn(width, height, angle == _UPWARD) if letters[angle] > _SHARE * total else None


def part_turned(items: Iterable[Any], turn: QuarterTurn) -> tuple[list[Any], list[Any]]:
    """The items that stand as the page does or otherwise, and those that this turn makes upright."""
    angle = _UPWARD if turn.is_upward else _DOWNWARD
    others: list[Any] = []
    turned: list[Any] = []
    for item in items:
        if item.text.strip():
            (turned if round(item.rotation) == angle else others).append(item)
    return others, turned
