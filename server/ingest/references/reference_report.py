"""The report of an ingest on its bibliography."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

MOST_LISTED = 1_000
_LISTS = ("matched_files", "newer", "unmatched_files", "missing_files", "flaws")


@dataclass(frozen=True, slots=True)
class NamedReason:
    """A file or an entry, and why it has no counterpart; of a match, a file, and its entry with the evidence."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ReferenceReport:
    """The fit of a bibliography and the documents.

    ``entries`` are those that were read, ``matched`` counts the files of this run that have one, and
    ``matched_files`` names them with their entries and the evidence. ``without_file`` counts entries that are
    indexed by title and abstract. ``replaced`` counts entries of older bibliographies whose keys this one has;
    ``newer`` are entries that stay as a newer bibliography has them. ``unmatched_files`` have no entry;
    ``missing_files`` are entries that name a file which is not among the documents; ``flaws`` are parts of the
    bibliography that could not be read, with their lines. Each list has at most 1,000 names, the counts beside
    them are whole.
    """

    path: str
    entries: int = 0
    matched: int = 0
    without_file: int = 0
    replaced: int = 0
    matched_files: tuple[NamedReason, ...] = ()
    newer: tuple[NamedReason, ...] = ()
    newer_count: int = 0
    unmatched_files: tuple[NamedReason, ...] = ()
    unmatched_files_count: int = 0
    missing_files: tuple[NamedReason, ...] = ()
    missing_files_count: int = 0
    flaws: tuple[NamedReason, ...] = ()

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> ReferenceReport:
        """The report in JSON data that an engine sent."""
        return cls(**{**facts, **{name: _named(facts[name]) for name in _LISTS}})


def _named(rows: Iterable[Mapping[str, str]]) -> tuple[NamedReason, ...]:
    return tuple(NamedReason(**row) for row in rows)
