"""Reads a bibliography by the ending of its file, within limits, and packs the result for another process.

The readers are pure Python and do not open files, but a text that is not what it claims to be can take them much
time: they run in the child that parses markup (``server/ingest/parsing``), and what it answers is checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from pydantic import TypeAdapter, ValidationError

from server.libraries import bibtex, csl_json, ris
from server.libraries.citekeys import keep_first
from server.libraries.records import Annotation, Attachment, Creator, EntryFlaw, LibraryItem
from server.text import stated_facts
from server.text.printable import one_line

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
# Limits of the texts and lists of an item.
_TEXT_CHARS, _ABSTRACT_CHARS, _PATH_CHARS = 2_000, 20_000, 4_000
_MOST_CREATORS, _MOST_PARTS = 1_000, 100
_LATEST_YEAR = 9_999


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


def clean_item(item: LibraryItem) -> LibraryItem:
    """The item with printable texts in one line, none of them and no list longer than its limit."""
    return replace(
        item,
        key=_label(item.key),
        citekey=_label(item.citekey),
        item_type=_label(item.item_type),
        title=one_line(item.title, stated_facts.TITLE_CHARS),
        creators=tuple(_clean_creator(creator) for creator in item.creators[:_MOST_CREATORS]),
        year=item.year if 0 <= item.year <= _LATEST_YEAR else 0,
        date=_label(item.date),
        doi=_label(item.doi),
        url=one_line(item.url, _TEXT_CHARS),
        container=_line(item.container),
        publisher=_line(item.publisher),
        volume=_label(item.volume),
        issue=_label(item.issue),
        pages=_label(item.pages),
        language=_label(item.language),
        abstract=one_line(item.abstract, _ABSTRACT_CHARS),
        tags=stated_facts.tags(item.tags),
        collections=tuple(map(_line, item.collections[:_MOST_PARTS])),
        attachments=tuple(_clean_attachment(each) for each in item.attachments[:_MOST_PARTS]),
        annotations=tuple(map(_clean_annotation, item.annotations)),
    )


def _clean_creator(creator: Creator) -> Creator:
    return Creator(_label(creator.family), _label(creator.given), _label(creator.role))


def _clean_attachment(attachment: Attachment) -> Attachment:
    return Attachment(attachment.path[:_PATH_CHARS], _line(attachment.title))


def _clean_annotation(annotation: Annotation) -> Annotation:
    text, comment = (part[:_ABSTRACT_CHARS] for part in (annotation.text, annotation.comment))
    return replace(annotation, text=text, comment=comment)


def _clean_flaws(flaws: Iterable[EntryFlaw]) -> list[EntryFlaw]:
    listed = [EntryFlaw(max(each.line, 0), _line(each.name), _line(each.reason)) for each in flaws]
    more = len(listed) - _MOST_FLAWS
    return listed if more <= 0 else [*listed[:_MOST_FLAWS], EntryFlaw(0, "", _MORE_FLAWS.format(count=more))]


def _line(text: str) -> str:
    return one_line(text, _TEXT_CHARS)


def _label(text: str) -> str:
    return one_line(text, stated_facts.LABEL_CHARS)
