"""Makes the works of a library from its objects: one conversion for both transports.

A work is an entry with its files and notes; a file or note without an entry is a work of its own. What cannot be
used is a flaw with its key as its name, and nothing else is lost.
"""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from winnow.server.bibliographies.citekeys import UNCITABLE, keep_first
from winnow.server.bibliographies.cleaning import clean_item
from winnow.server.bibliographies.formats.csl_json import MARKUP
from winnow.server.bibliographies.item_types import OF_ZOTERO, UNKNOWN_TYPE
from winnow.server.bibliographies.records import Annotation, Creator, EntryFlaw, LibraryItem, plain_doi, year_of
from winnow.server.bibliographies.zotero.files import (
    EMBEDDED_MODE,
    LINKED_MODE,
    STORED_MODES,
    FilePlaces,
    find_file,
)
from winnow.server.bibliographies.zotero.further_facts import further_facts, read_extra
from winnow.server.bibliographies.zotero.objects import (
    USER_LIBRARY,
    LibraryObjects,
    ZoteroCollection,
    ZoteroObject,
    iso_date,
)
from winnow.server.bibliographies.zotero.records import ZoteroFile, ZoteroLibrary, ZoteroNote, ZoteroWork
from winnow.server.text import stated_facts
from winnow.server.text.printable import one_line

_ATTACHMENT, _NOTE, _ANNOTATION = "attachment", "note", "annotation"
_MOST_ANNOTATIONS, _MOST_FLAWS = 10_000, 1_000
_DEEPEST = 50  # nested collections: the list ends there, also in a cycle
_TITLE_CHARS, _TITLE_SOURCE_CHARS = 120, 20_000
_BLOCK_END = re.compile(r"</(?:p|div|h[1-6]|li|blockquote|pre|tr)>|<br\b[^<>]{0,200}>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]{0,2000}>")
_NO_PARENT = "its parent {parent} is not an entry of the library"
_SAME_KEY = "another work has the citation key {key}; this one is cited as {free}"
_MORE = "and {count:,} more"

# What Zotero calls a creator -> the role in CSL. The first creator of each type of work counts as its author.
_AUTHORS = (
    *("author", "artist", "performer", "sponsor", "programmer", "cartographer", "inventor", "presenter"),
    *("interviewee", "podcaster", "director", "creator"),
)
_ROLES: Mapping[str, str] = {
    **dict.fromkeys(_AUTHORS, "author"),
    "editor": "editor",
    "translator": "translator",
    "seriesEditor": "collection-editor",
    "bookAuthor": "container-author",
    "reviewedAuthor": "reviewed-author",
    "castMember": "performer",
    "composer": "composer",
    "recipient": "recipient",
    "interviewer": "interviewer",
}
_OTHER_ROLE = "contributor"


@dataclass(slots=True)
class _Children:
    """The objects of a library by the key of their parents."""

    files: dict[str, list[ZoteroObject]] = field(default_factory=lambda: defaultdict(list))
    notes: dict[str, list[ZoteroObject]] = field(default_factory=lambda: defaultdict(list))
    annotations: dict[str, list[ZoteroObject]] = field(default_factory=lambda: defaultdict(list))
    flaws: list[EntryFlaw] = field(default_factory=list)


def make_library(objects: LibraryObjects, places: FilePlaces) -> ZoteroLibrary:
    """The works of a library. Looks at files, and does not open them."""
    items = {item.key: item for item in sorted(objects.items, key=lambda item: item.key)}
    children = _sort_children(items)
    collections = _name_collections(objects.collections)
    is_group = objects.name.id != USER_LIBRARY
    made = (
        _make_work(item, children, collections, places, is_group=is_group)
        for item in items.values()
        if not item.flaw and not item.parent and item.item_type != _ANNOTATION
    )
    works, flaws = _give_citekeys([work for work in made if work is not None])
    return ZoteroLibrary(
        id=objects.name.id,
        name=objects.name.name,
        version=objects.version,
        works=tuple(works),
        flaws=_bounded([*children.flaws, *flaws]),
    )


def _sort_children(items: Mapping[str, ZoteroObject]) -> _Children:
    children = _Children()
    kinds = {_ATTACHMENT: children.files, _NOTE: children.notes, _ANNOTATION: children.annotations}
    for item in items.values():
        parent = items.get(item.parent)
        if item.flaw:
            children.flaws.append(EntryFlaw(0, item.key, item.flaw))
        elif not item.parent or item.link_mode == EMBEDDED_MODE:
            continue
        elif parent is None or parent.flaw or not _may_hold(parent, item):
            children.flaws.append(EntryFlaw(0, item.key, _NO_PARENT.format(parent=item.parent)))
        else:
            kinds[item.item_type][item.parent].append(item)
    return children


def _may_hold(parent: ZoteroObject, child: ZoteroObject) -> bool:
    """Whether an object may be the parent: files hold annotations, works hold files and notes."""
    if child.item_type == _ANNOTATION:
        return parent.item_type == _ATTACHMENT
    return child.item_type in (_ATTACHMENT, _NOTE) and parent.item_type not in (_ATTACHMENT, _NOTE, _ANNOTATION)


# --- works


def _make_work(
    item: ZoteroObject,
    children: _Children,
    collections: Mapping[str, str],
    places: FilePlaces,
    *,
    is_group: bool,
) -> ZoteroWork | None:
    """The work of an object at the top; None for a link to a site, which is neither a file nor an entry."""
    names = tuple(sorted(collections[key] for key in item.collections if key in collections))
    is_file = item.item_type == _ATTACHMENT
    attachments = [item] if is_file else children.files[item.key]
    files = tuple(
        _make_file(each, children, places, is_group=is_group)
        for each in attachments
        if each.link_mode in STORED_MODES or each.link_mode == LINKED_MODE
    )
    if is_file and not files:
        return None
    notes = tuple(map(_make_note, [item] if item.item_type == _NOTE else children.notes[item.key]))
    alone = files[0].title if is_file else notes[0].title if item.item_type == _NOTE else None
    made = _make_item(item) if alone is None else _bare_item(item, alone)
    clean = clean_item(replace(made, collections=names))
    if made.citekey and not clean.citekey:
        children.flaws.append(EntryFlaw(0, item.key, UNCITABLE))
    return ZoteroWork(clean, files, notes)


def _bare_item(item: ZoteroObject, title: str) -> LibraryItem:
    return LibraryItem(key=item.key, citekey="", item_type=UNKNOWN_TYPE, title=title, tags=item.tags)


def _make_item(item: ZoteroObject) -> LibraryItem:
    extra = read_extra(item.fields.get("extra", ""))
    fields = defaultdict(str, {**extra.fields, **item.fields})
    date = item.date or iso_date(fields["date"])
    return LibraryItem(
        key=item.key,
        citekey=_first_word(fields["citation_key"]),
        item_type=extra.item_type or OF_ZOTERO.get(item.item_type, UNKNOWN_TYPE),
        title=MARKUP.sub("", fields["title"]),
        creators=(
            *(Creator(each.family, each.given, _ROLES.get(each.role, _OTHER_ROLE)) for each in item.creators),
            *extra.creators,
        ),
        year=year_of(date or fields["date"]),
        date=date,
        doi=plain_doi(fields["doi"]),
        url=fields["url"],
        container=MARKUP.sub("", fields["container"]),
        publisher=fields["publisher"],
        volume=fields["volume"],
        issue=fields["issue"],
        pages=fields["pages"],
        language=fields["language"],
        abstract=fields["abstract"],
        tags=item.tags,
        more=_first_of_each(further_facts(item, extra)),
    )


def _first_of_each(facts: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    for name, text in facts:
        found.setdefault(name, text)
    return tuple(found.items())


def _first_word(text: str) -> str:
    return next(iter(text.split()), "")


def _make_file(attachment: ZoteroObject, children: _Children, places: FilePlaces, *, is_group: bool) -> ZoteroFile:
    path, missing = find_file(attachment, places, is_group=is_group)
    annotations = sorted(children.annotations[attachment.key], key=lambda each: (each.mark.sort_index, each.key))
    name = attachment.path.replace("\\", "/").rpartition("/")[2]
    return ZoteroFile(
        key=attachment.key,
        title=one_line(attachment.fields.get("title", "") or name, stated_facts.TITLE_CHARS),
        path=path,
        missing=missing,
        is_linked=attachment.link_mode == LINKED_MODE,
        annotations=tuple(
            Annotation(each.key, each.mark.text, each.mark.comment, each.mark.page, each.mark.color)
            for each in annotations[:_MOST_ANNOTATIONS]
            # Drawings and marked areas have no words.
            if each.mark.text.strip() or each.mark.comment.strip()
        ),
    )


def _make_note(note: ZoteroObject) -> ZoteroNote:
    return ZoteroNote(note.key, note_title(note.note), note.note, stated_facts.tags(note.tags))


def note_title(note: str) -> str:
    """The first line of a note in HTML that has text.

    >>> note_title("<h1> </h1><p>On <b>piles</b> &amp; jars</p><p>More</p>")
    'On piles & jars'
    """
    text = _TAG.sub("", _BLOCK_END.sub("\n", note[:_TITLE_SOURCE_CHARS]))
    lines = (one_line(html.unescape(line), _TITLE_CHARS) for line in text.split("\n"))
    return next((line for line in lines if line), "")


# --- names


def _name_collections(collections: Iterable[ZoteroCollection]) -> dict[str, str]:
    """The names of collections by key, those above included: "Thesis/Chapter 2"."""
    known = {each.key: each for each in collections}
    return {key: "/".join(reversed(list(_names_upward(key, known)))) for key in known}


def _names_upward(key: str, known: Mapping[str, ZoteroCollection]) -> Iterator[str]:
    seen: set[str] = set()
    while key in known and key not in seen and len(seen) < _DEEPEST:
        seen.add(key)
        yield known[key].name
        key = known[key].parent


def _give_citekeys(works: list[ZoteroWork]) -> tuple[list[ZoteroWork], list[EntryFlaw]]:
    """The works with one citekey each, in their order, and those whose own key another work has, as flaws.

    No work is left out for its key: it has files. Files and notes without an entry have no key.
    """
    taken: set[str] = set()
    repeated: dict[str, str] = {}
    items: list[LibraryItem] = []
    for item in (work.item for work in works if _is_entry(work)):
        if item.citekey in taken:
            repeated[item.key] = item.citekey
            item = replace(item, citekey="")
        elif item.citekey:
            taken.add(item.citekey)
        items.append(item)
    named, _ = keep_first(items)
    by_key = {item.key: item for item in named}
    flaws = [
        EntryFlaw(0, key, _SAME_KEY.format(key=stated, free=by_key[key].citekey))
        for key, stated in repeated.items()
    ]
    return [replace(work, item=by_key.get(work.item.key, work.item)) for work in works], flaws


def _is_entry(work: ZoteroWork) -> bool:
    alone = {file.key for file in work.files} | {note.key for note in work.notes}
    return work.item.key not in alone


def _bounded(flaws: list[EntryFlaw]) -> tuple[EntryFlaw, ...]:
    more = len(flaws) - _MOST_FLAWS
    return tuple(flaws) if more <= 0 else (*flaws[:_MOST_FLAWS], EntryFlaw(0, "", _MORE.format(count=more)))
