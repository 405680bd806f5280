"""Suggestions for misspelt names in messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_SIMILARITY = 0.6  # from 0 to 1, as difflib computes it


def suggest(name: str, known: Iterable[str], otherwise: str) -> str:
    """``did you mean ...?`` with the most similar of the known names, or ``otherwise`` if none is similar."""
    similar = find_similar(name, known)
    return otherwise if similar is None else ask_for(similar)


def find_similar(name: str, known: Iterable[str], similarity: float = _SIMILARITY) -> str | None:
    """The most similar of the known names; None if none has this similarity."""
    return next(iter(difflib.get_close_matches(name, known, 1, similarity)), None)


def ask_for(name: str) -> str:
    """Ask whether this name was meant."""
    return f"did you mean {name!r}?"
