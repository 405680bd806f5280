"""The text of documents in an answer, in bytes, which a run is charged for once.

A key is the id of a passage, or a piece: the id of the passage or document that the text is part of, and a digest
of the text. The meter of a run (``server/tools/scripts/text_meter.py``) reads the keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from typing import Any

_PIECE = ":"  # in no id
_DIGEST_BYTES = 8

# Key -> bytes of UTF-8.
ChargedText = Mapping[str, int]


def whole(passage_id: str, text: str) -> ChargedText:
    """The whole text of a passage."""
    return {passage_id: _size(text)}


def piece(owner: str, text: str) -> ChargedText:
    """Part of the text of the passage or document ``owner``."""
    encoded = text.encode("utf-8", "replace")
    return {f"{owner}{_PIECE}{blake2b(encoded, digest_size=_DIGEST_BYTES).hexdigest()}": len(encoded)}


def of_rows(
    rows: Iterable[Any], owner: str, text: str, measure: Callable[[str, str], ChargedText] = piece
) -> ChargedText:
    """The texts in the field ``text`` of those rows that have it; the field ``owner`` has the id.

    ``measure``: ``whole`` or ``piece``.
    """
    return total(measure(row[owner], row[text]) for row in rows if isinstance(row, dict) and text in row)


def total(parts: Iterable[ChargedText]) -> ChargedText:
    """These together."""
    return {key: size for part in parts for key, size in part.items()}


def owner_of(key: str) -> tuple[str, bool]:
    """The passage or document of a key, and whether the key is a piece of it."""
    owner, mark, _ = key.partition(_PIECE)
    return owner, bool(mark)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
