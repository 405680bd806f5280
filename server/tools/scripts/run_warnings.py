"""The warnings of a script's calls, which stand in its outcome: each once, and no more than a reader takes in."""

from __future__ import annotations

from collections.abc import Iterable

from winnow.server.text.printable import one_line

MAX_WARNINGS = 10
_WARNING_CHARS = 300
_MAX_KNOWN = 2_000  # distinct warnings that are remembered; a run makes a thousand calls


class RunWarnings:
    """The different warnings of one run, in the order of the calls."""

    def __init__(self) -> None:
        self._known: dict[str, None] = {}

    def add(self, warnings: Iterable[str]) -> None:
        """Add the warnings of one answer."""
        for warning in warnings:
            if len(self._known) < _MAX_KNOWN:
                self._known.setdefault(one_line(warning, _WARNING_CHARS))

    def lines(self) -> tuple[str, ...]:
        """The first of them, and how many there are beyond."""
        lines = [*self._known]
        if len(lines) <= MAX_WARNINGS:
            return tuple(lines)
        return (
            *lines[:MAX_WARNINGS],
            f"{len(lines) - MAX_WARNINGS} more warnings of calls; page.warnings has them",
        )
