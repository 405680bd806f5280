"""Facts of a document about the work it is: the facts of an item as metadata, and an item from such metadata."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from winnow.server.bibliographies.citekeys import is_citable
from winnow.server.bibliographies.item_types import NAME_ROLES, UNKNOWN_TYPE
from winnow.server.bibliographies.records import Creator, LibraryItem
from winnow.server.text.forms.title_case import Kept, read_places, write_places

CITEKEY = "citekey"
_LATEST_YEAR = 9_999
_MOST_CREATORS = _MOST_COLLECTIONS = 100  # as many as a list of metadata may have
# The name of a list of creators in metadata -> their role.
_ROLES: Mapping[str, str] = {"authors": "author", "editors": "editor", "translators": "translator"}
# The name of a text in metadata -> the field of an item.
_TEXTS: Mapping[str, str] = {
    "item_type": "item_type",
    "issued": "date",
    "doi": "doi",
    "url": "url",
    "container": "container",
    "publisher": "publisher",
    "volume": "volume",
    "issue": "issue",
    "page": "pages",
}
# Before the names of all other facts of the work in metadata: its title, its tags, and ``LibraryItem.more``.
_WORK = "work."
_TITLE, _KEYWORDS, _LANGUAGE = f"{_WORK}title", f"{_WORK}keywords", f"{_WORK}language"
# Organizations whose names have a comma, which would part the names of people.
_ORGANIZATIONS = f"{_WORK}organizations"
# Titles in title case, each with the places that keep their case: "title 28-32 37-38".
TITLE_CASE = f"{_WORK}title-case"
_OTHER_ROLES = tuple(sorted(NAME_ROLES - {*_ROLES.values()}))
_SUFFIX = re.compile(r"(?:jr|sr|[ivx]{1,5})\.?", re.IGNORECASE)
# What an item sets in metadata; a document keeps none of these of its own.
_NAMES = frozenset((CITEKEY, "author", "year", "collections", *_ROLES, *_TEXTS))


def facts_of(item: LibraryItem) -> dict[str, Any]:
    """The facts of an item by name; those that it does not have are left out.

    ``authors`` are "Family, Given"; ``author`` are the family names of authors, of editors where there are
    none, for filters. ``collections`` have the names above each as well: a filter by "Thesis" finds what is in
    "Thesis/Chapter 2".
    """
    lists: dict[str, Any] = {name: _names(item, role) for name, role in _ROLES.items()}
    named = [each for each in item.creators if not each.is_others]
    authors = [each for each in named if each.role == "author"] or named
    texts = {name: getattr(item, field) for name, field in _TEXTS.items()}
    facts = {
        CITEKEY: item.citekey,
        **lists,
        "author": list(dict.fromkeys(each.family for each in authors))[:_MOST_CREATORS],
        "year": item.year,
        **texts,
        "collections": _with_those_above(item.collections),
        _TITLE: item.title,
        _KEYWORDS: list(item.tags),
        _LANGUAGE: item.language,
        **{_WORK + role: _names(item, role) for role in _OTHER_ROLES},
        **{_WORK + name: text for name, text in item.more},
        _ORGANIZATIONS: _organizations(item),
        TITLE_CASE: [f"{name} {write_places(kept)}".strip() for name, kept in item.cased],
    }
    return {name: fact for name, fact in facts.items() if fact}


def merge_facts(own: Mapping[str, Any], item: LibraryItem) -> dict[str, Any]:
    """The metadata of a document with the facts of its item in place of its own."""
    return {**facts_of(item), **{name: value for name, value in own.items() if not _is_of_work(name)}}


def _is_of_work(name: str) -> bool:
    return name in _NAMES or name.startswith(_WORK)


def item_of(title: str, tags: Sequence[str], metadata: Mapping[str, Any]) -> LibraryItem | None:
    """The item of a document; None without a citekey that can be cited. What is not as expected is left out."""
    citekey = _text(metadata, CITEKEY)
    if not is_citable(citekey):
        return None
    texts = {field: _text(metadata, name) for name, field in _TEXTS.items()}
    year = metadata.get("year")
    # A note or an annotation has a title and tags of its own.
    title = _text(metadata, _TITLE) or title
    own = (_TITLE, _KEYWORDS, _LANGUAGE, _ORGANIZATIONS, TITLE_CASE)
    organizations = frozenset(_list(metadata, _ORGANIZATIONS))
    own_names = sorted(name for name in metadata if name.startswith(_WORK) and name not in own)
    lists = {**_ROLES, **{_WORK + role: role for role in _OTHER_ROLES}}
    return LibraryItem(
        key=citekey,
        citekey=citekey,
        item_type=texts["item_type"] or UNKNOWN_TYPE,
        title=title,
        creators=tuple(
            Creator(name, role=role) if name in organizations else _creator(name, role)
            for field, role in lists.items()
            for name in _list(metadata, field)
        ),
        year=year if isinstance(year, int) and 1 < year <= _LATEST_YEAR else 0,
        date=texts["date"],
        doi=texts["doi"],
        url=texts["url"],
        container=texts["container"],
        publisher=texts["publisher"],
        volume=texts["volume"],
        issue=texts["issue"],
        pages=texts["pages"],
        language=_text(metadata, _LANGUAGE),
        tags=tuple(_list(metadata, _KEYWORDS)) if _TITLE in metadata else tuple(tags),
        collections=tuple(_list(metadata, "collections")),
        more=tuple((name.removeprefix(_WORK), text) for name in own_names if (text := _text(metadata, name))),
        cased=tuple(map(_cased, _list(metadata, TITLE_CASE))),
    )


def _with_those_above(names: Sequence[str]) -> list[str]:
    above = (name[:at] for name in names for at, sign in enumerate(name) if sign == "/" and at)
    # Of a name that is all slashes no more than what is kept.
    return list(dict.fromkeys((*names, *islice(above, _MOST_COLLECTIONS))))[:_MOST_COLLECTIONS]


def _names(item: LibraryItem, role: str) -> list[str]:
    return [each.name for each in item.creators if each.role == role][:_MOST_CREATORS]


def _organizations(item: LibraryItem) -> list[str]:
    return [each.name for each in item.creators if ", " in each.family and not each.given][:_MOST_CREATORS]


def _creator(name: str, role: str) -> Creator:
    """A person; the last of three parts may be a suffix, that of two is a given name ("V.")."""
    family, _, given = name.partition(", ")
    first, comma, last = given.rpartition(", ")
    return (
        Creator(family, first, role, last) if comma and _SUFFIX.fullmatch(last) else Creator(family, given, role)
    )


def _cased(stated: str) -> tuple[str, Kept]:
    name, _, places = stated.partition(" ")
    return name, read_places(places)


def _text(metadata: Mapping[str, Any], name: str) -> str:
    value = metadata.get(name)
    return value if isinstance(value, str) else ""


def _list(metadata: Mapping[str, Any], name: str) -> list[str]:
    value = metadata.get(name)
    return [text for text in value if isinstance(text, str)] if isinstance(value, list | tuple) else []
