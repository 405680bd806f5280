"""Which bibliography the sources of a project were ingested with, as far as its catalogue and its watches tell."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping


def pair_references(
    cited: Iterable[str], bibliographies: Collection[str], watched: Collection[str] = ()
) -> Mapping[str, str]:
    """The bibliography of each source that had entries in one (``cited``), "" unless only one is known.

    ``bibliographies`` are those with documents of their own; each is its own one. ``watched`` are those that
    watched sources name. The catalogue does not say which a source had.
    """
    known = {*bibliographies, *watched}
    known = {one for one in known if not one.lower().endswith(".json")} or known  # that may be other data
    only = next(iter(known)) if len(known) == 1 else ""
    return {one: one for one in bibliographies} | dict.fromkeys(cited, only)
