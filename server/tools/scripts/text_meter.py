"""The text that one run may take in, counted in bytes of UTF-8; text that it has is not counted again."""

from __future__ import annotations

from collections import Counter

from winnow.server.operations.answers.text_charges import ChargedText, owner_of

# A meter remembers so many passages and pieces, about 20 MB; further ones are charged at each reading.
_MAX_REMEMBERED = 100_000


class TextMeter:
    """The budget of passage text of one run: ``limit`` bytes, of which ``left`` remain.

    A passage that was taken in whole is free from then on, with all its pieces. A piece is free when the same
    piece comes again. Pieces that were charged count towards the whole passage.
    """

    __slots__ = ("_of_pieces", "_pieces", "_whole", "left", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.left = limit
        self._whole: dict[str, int] = {}  # passage -> its size as it was taken in
        self._pieces: set[str] = set()
        self._of_pieces: Counter[str] = Counter()  # passage -> bytes of its pieces so far

    def cost(self, charged_text: ChargedText) -> int:
        """The bytes that this text would be charged."""
        return sum(self._charge(key, size) for key, size in charged_text.items())

    def take(self, charged_text: ChargedText) -> None:
        """Charge for a text and remember it. The caller has compared its cost with ``left``."""
        for key, size in charged_text.items():
            self.left -= self._charge(key, size)
            if len(self._whole) + len(self._pieces) < _MAX_REMEMBERED:
                self._remember(key, size)

    def _charge(self, key: str, size: int) -> int:
        owner, is_piece = owner_of(key)
        if not is_piece:
            return max(0, size - max(self._whole.get(owner, 0), self._of_pieces[owner]))
        return 0 if owner in self._whole or key in self._pieces else size

    def _remember(self, key: str, size: int) -> None:
        owner, is_piece = owner_of(key)
        if not is_piece:
            self._whole[owner] = max(size, self._whole.get(owner, 0))
        elif owner not in self._whole and key not in self._pieces:
            self._pieces.add(key)
            self._of_pieces[owner] += size
