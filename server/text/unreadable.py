"""How much of a text is characters that its reader does not know."""

from __future__ import annotations

import re

# What stands for characters that a reader does not know: replacements, private use, controls, numbers of glyphs.
_UNREADABLE = re.compile(r"[\ufffd\ue000-\uf8ff\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\(cid:\d+\)")
_WHITE = re.compile(r"\s+")
MOST_UNREADABLE = 0.2  # of the visible characters of a document that can be found


def count_visible(text: str) -> int:
    """The number of characters that are not blank."""
    return len(_WHITE.sub("", text))


def unreadable_share(text: str) -> float:
    """The part of the visible characters that nobody can read, 0 to 1."""
    unreadable = sum(len(match[0]) for match in _UNREADABLE.finditer(text))
    return unreadable / max(count_visible(text), 1)
