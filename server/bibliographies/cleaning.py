"""Cleans what a library states of a work: printable texts in one line, within limits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from winnow.server.bibliographies.citekeys import is_citable
from winnow.server.bibliographies.records import Annotation, Attachment, Creator, LibraryItem
from winnow.server.text import stated_facts
from winnow.server.text.forms.title_case import Kept
from winnow.server.text.printable import one_line

# Limits of the texts and lists of an item.
_TEXT_CHARS, _ABSTRACT_CHARS, _PATH_CHARS = 2_000, 20_000, 4_000
_MOST_CREATORS, _MOST_PARTS = 1_000, 100
_LATEST_YEAR = 9_999
_FACT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")


def clean_item(item: LibraryItem) -> LibraryItem:
    """The item with printable texts in one line, none of them and no list longer than its limit.

    A citekey that would end a citation is left out.
    """
    citekey = _label(item.citekey)
    cleaned = replace(
        item,
        key=_label(item.key),
        citekey=citekey if is_citable(citekey) else "",
        item_type=_label(item.item_type),
        title=one_line(item.title, stated_facts.TITLE_CHARS),
        creators=tuple(_clean_creator(creator) for creator in item.creators[:_MOST_CREATORS]),
        year=item.year if 0 <= item.year <= _LATEST_YEAR else 0,
        date=_label(item.date),
        doi=_label(item.doi),
        url=one_line(item.url, _TEXT_CHARS),
        container=clean_line(item.container),
        publisher=clean_line(item.publisher),
        volume=_label(item.volume),
        issue=_label(item.issue),
        pages=_label(item.pages),
        language=_label(item.language),
        abstract=one_line(item.abstract, _ABSTRACT_CHARS),
        tags=stated_facts.tags(item.tags),
        collections=tuple(map(clean_line, item.collections[:_MOST_PARTS])),
        attachments=tuple(_clean_attachment(each) for each in item.attachments[:_MOST_PARTS]),
        annotations=tuple(map(_clean_annotation, item.annotations)),
        more=_clean_more(item.more),
    )
    return replace(cleaned, cased=tuple(_clean_cased(item, cleaned)))


def _clean_cased(item: LibraryItem, cleaned: LibraryItem) -> Iterator[tuple[str, Kept]]:
    """The titles in title case that cleaning left as they were; in others the places are no longer right."""
    before, after = item.titles, cleaned.titles
    for name, kept in dict(item.cased[:_MOST_PARTS]).items():
        if (text := after.get(name, "")) and text == before[name]:
            yield name, tuple(place for place in kept[:_MOST_PARTS] if place[1] <= len(text))


def _clean_creator(creator: Creator) -> Creator:
    return Creator(*map(_label, (creator.family, creator.given, creator.role, creator.suffix)))


def _clean_more(more: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Facts whose names are plain words, each once."""
    named = {name: clean_line(text) for name, text in reversed(more[:_MOST_PARTS]) if _FACT_NAME.fullmatch(name)}
    return tuple((name, text) for name, text in sorted(named.items()) if text)


def _clean_attachment(attachment: Attachment) -> Attachment:
    return Attachment(attachment.path[:_PATH_CHARS], clean_line(attachment.title))


def _clean_annotation(annotation: Annotation) -> Annotation:
    text, comment = (part[:_ABSTRACT_CHARS] for part in (annotation.text, annotation.comment))
    return replace(annotation, text=text, comment=comment)


def clean_line(text: str) -> str:
    """The text as one printable line within the limit of texts."""
    return one_line(text, _TEXT_CHARS)


def _label(text: str) -> str:
    return one_line(text, stated_facts.LABEL_CHARS)
