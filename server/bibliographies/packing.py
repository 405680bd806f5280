"""A bibliography that was read, packed for another process, which checks it as it unpacks.

Apart from ``reading.py``, because what starts the reading process needs no reader.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from winnow.server.bibliographies.citekeys import keep_first
from winnow.server.bibliographies.cleaning import clean_item, clean_line
from winnow.server.bibliographies.records import EntryFlaw, LibraryItem

# The endings of files that are read.
SUFFIXES = (".bib", ".bibtex", ".biblatex", ".ris", ".json")
MOST_ITEMS = 100_000
_MOST_FLAWS = 1_000
_MORE_FLAWS = "and {count:,} more"


@dataclass(frozen=True, slots=True)
class Bibliography:
    """The works of a bibliography, each citekey once, and what could not be read."""

    items: tuple[LibraryItem, ...] = ()
    flaws: tuple[EntryFlaw, ...] = ()


_PACKED: TypeAdapter[Bibliography] = TypeAdapter(Bibliography)


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
    return Bibliography(tuple(items), tuple(clean_flaws(read.flaws)))


def clean_flaws(flaws: Iterable[EntryFlaw]) -> list[EntryFlaw]:
    """Flaws with lines that can be shown, and no more than a report needs."""
    listed = [EntryFlaw(max(each.line, 0), clean_line(each.name), clean_line(each.reason)) for each in flaws]
    more = len(listed) - _MOST_FLAWS
    return listed if more <= 0 else [*listed[:_MOST_FLAWS], EntryFlaw(0, "", _MORE_FLAWS.format(count=more))]
