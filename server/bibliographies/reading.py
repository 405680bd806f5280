"""Reads a bibliography by the ending of its file, within limits.

The readers are pure Python and do not open files, but a text that is not what it claims to be can take them much
time: they run in the child that parses markup (``server/readers``), and ``packing.py`` checks what it answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from winnow.server.bibliographies.citekeys import UNCITABLE, is_citable, keep_first
from winnow.server.bibliographies.cleaning import clean_item
from winnow.server.bibliographies.formats import bibtex, csl_json, ris
from winnow.server.bibliographies.packing import MOST_ITEMS, Bibliography, clean_flaws
from winnow.server.bibliographies.records import EntryFlaw, LibraryItem

_READERS: Mapping[str, Callable[[str], tuple[list[LibraryItem], list[EntryFlaw]]]] = {
    ".bib": bibtex.read,
    ".bibtex": bibtex.read,
    ".biblatex": bibtex.read,
    ".ris": ris.read,
    ".json": csl_json.read,
}
_TOO_MANY = f"entries after the first {MOST_ITEMS:,} are not read; split the file"


def read_bibliography(text: str, suffix: str) -> Bibliography:
    """The works in the text of a file with this ending, one of ``SUFFIXES``."""
    items, flaws = _READERS[suffix](text)
    if len(items) > MOST_ITEMS:
        flaws.append(EntryFlaw(0, items[MOST_ITEMS].citekey, _TOO_MANY))
    for item in items[:MOST_ITEMS]:
        if item.citekey and not is_citable(item.citekey):
            flaws.append(EntryFlaw(0, item.citekey, UNCITABLE))
    kept, repeated = keep_first(map(clean_item, items[:MOST_ITEMS]))
    return Bibliography(tuple(kept), tuple(clean_flaws([*flaws, *repeated])))
