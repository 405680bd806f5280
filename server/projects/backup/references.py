"""Which bibliography the sources of a project were ingested with, as far as its catalogue and its watches tell."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

# Collections of other data end in .json too.
_SUFFIXES = frozenset({".bib", ".bibtex", ".biblatex", ".ris", ".json"})


def has_suffix_of_bibliography(source: str) -> bool:
    """Whether the name of a source may be that of a bibliography."""
    return Path(source).is_absolute() and Path(source).suffix.lower() in _SUFFIXES


def pair_references(
    cited: Iterable[str], bibliographies: Collection[str], watched: Collection[str] = ()
) -> Mapping[str, str]:
    """The bibliography of each source that had entries in one (``cited``), "" where none is known.

    ``bibliographies`` are those with documents of their own; each is its own one. ``watched`` are those that
    watched sources name. A source has the nearest by path: the catalogue does not say which.
    """
    known = sorted({*bibliographies, *watched})
    return {one: one for one in bibliographies} | {source: _find_nearest(source, known) for source in cited}


def _find_nearest(source: str, known: Iterable[str]) -> str:
    def nearness(one: str) -> tuple[int, bool]:
        return len(os.path.commonpath((source, one))), not one.lower().endswith(".json")

    return max(known, key=nearness, default="")
