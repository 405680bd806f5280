"""Suggestions for misspelt names, as every message of the SDK and of the sandbox words them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_SIMILARITY = 0.6  # from 0 to 1, as difflib computes it


def suggest(name: str, known: Iterable[str], similarity: float = _SIMILARITY) -> str | None:
    """``did you mean ...?`` with the most similar of the known names; None if none has this similarity."""
    matches = difflib.get_close_matches(name, known, 1, similarity)
    return ask_for(matches[0]) if matches else None


def ask_for(name: str) -> str:
    """Ask whether this name was meant."""
    return f"did you mean {name!r}?"
