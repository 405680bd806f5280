"""Reads a bibliography by the ending of its file, within limits, and packs the result for another process.

The readers are pure Python and do not open files, but a text that is not what it claims to be can take them much
time: they run in the child that parses markup (``server/readers``), and what it answers is checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from winnow.server.bibliographies.citekeys import UNCITABLE, is_citable, keep_first
from winnow.server.bibliographies.cleaning import clean_item, clean_line
from winnow.server.bibliographies.formats import bibtex, csl_json, ris
from winnow.server.bibliographies.records import EntryFlaw, LibraryItem

_READERS: Mapping[str, Callable[[str], tuple[list[LibraryItem], list[EntryFlaw]]]] = {
    ".bib": bibtex.read,
    ".bibtex": bibtex.read,
    ".biblatex": bibtex.read,
    ".ris": ris.read,
    ".json": csl_json.read,
}
SUFFIXES = tuple(_READERS)
MOST_ITEMS = 100_000
_MOST_FLAWS = 1_000
_TOO_MANY = f"entries after the first {MOST_ITEMS:,} are not read; split the file"
_MORE_FLAWS = "and {count:,} more"


@dataclass(frozen=True, slots=True)
class Bibliography:
    """The works of a bibliography, each citekey once, and what could not be read."""

    items: tuple[LibraryItem, ...] = ()
    flaws: tuple[EntryFlaw, ...] = ()


_PACKED: TypeAdapter[Bibliography] = TypeAdapter(Bibliography)


def read_bibliography(text: str, suffix: str) -> Bibliography:
    """The works in the text of a file with this ending, one of ``SUFFIXES``."""
    items, flaws = _READERS[suffix](text)
    if len(items) > MOST_ITEMS:
        flaws.append(EntryFlaw(0, items[MOST_ITEMS].citekey, _TOO_MANY))
    for item in items[:MOST_ITEMS]:
        if item.citekey and not is_citable(item.citekey):
            flaws.append(EntryFlaw(0, item.citekey, UNCITABLE))
    kept, repeated = keep_first(map(clean_item, items[:MOST_ITEMS]))
    return Bibliography(tuple(kept), tuple(_clean_flaws([*flaws, *repeated])))


def pack(bibliography: Bibliography) -> str:
    """The bibliography as JSON."""
    return _PACKED.dump_json(bibliography, exclude_defaults=True).decode("utf-8", "replace")


def unpack(packed: bytes) -> Bibliography:
    """The bibliography in JSON that another process wrote, cleaned. Raises ``ValueError``."""
    try:
        read = _PACKED.validate_json(packed, strict=True)
    except ValidationError:
        raise ValueError("not a bibliography") from None
    items, _ = keep_first(map(clean_item, read.items[:MOST_ITEMS]))
    return Bibliography(tuple(items), tuple(_clean_flaws(read.flaws)))


def _clean_flaws(flaws: Iterable[EntryFlaw]) -> list[EntryFlaw]:
    listed = [EntryFlaw(max(each.line, 0), clean_line(each.name), clean_line(each.reason)) for each in flaws]
    more = len(listed) - _MOST_FLAWS
    return listed if more <= 0 else [*listed[:_MOST_FLAWS], EntryFlaw(0, "", _MORE_FLAWS.format(count=more))]
