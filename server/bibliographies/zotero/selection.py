"""Selects libraries, and works of one by collections and tags."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from winnow.server.bibliographies.zotero.objects import LibraryName
from winnow.server.bibliographies.zotero.records import ZoteroLibrary, ZoteroWork
from winnow.server.errors import WinnowError
from winnow.server.text.matching import fold_label

_MOST_NAMED = 10
_NO_LIBRARY = "Zotero has no library {name!r}; it has: {names}"
_SEVERAL_LIBRARIES = "several libraries have the name {name!r}; use an id: {names}"
_NO_COLLECTION = "the library {library!r} has no collection {name!r} with works; the nearest are: {names}"


def choose_libraries(libraries: Sequence[LibraryName], wanted: Sequence[str]) -> tuple[LibraryName, ...]:
    """The libraries with these names or ids, in their order; all without any. Raises ``WinnowError``."""
    chosen = {_find_library(libraries, name).id for name in wanted}
    return tuple(each for each in libraries if not wanted or each.id in chosen)


def _find_library(libraries: Sequence[LibraryName], name: str) -> LibraryName:
    found = [each for each in libraries if each.id == name] or [
        each for each in libraries if fold_label(each.name) == fold_label(name)
    ]
    if len(found) == 1:
        return found[0]
    message = _SEVERAL_LIBRARIES if found else _NO_LIBRARY
    names = "; ".join(f"{each.name} ({each.id})" for each in (found or libraries)[:_MOST_NAMED])
    raise WinnowError("NOT_FOUND", message.format(name=name, names=names or "none"))


def choose_works(library: ZoteroLibrary, collections: Sequence[str], tags: Sequence[str]) -> ZoteroLibrary:
    """The library with those works that are in any of the collections, or below one, and have all of the tags.

    Names of collections are whole ("Thesis/Chapter 2") and, like tags, in any case. Raises ``WinnowError`` for a
    collection that no work is in.
    """
    for name in collections:
        if not any(_is_in(work, [name]) for work in library.works):
            raise WinnowError("NOT_FOUND", _explain_collection(library, name))
    wanted = {fold_label(tag) for tag in tags}
    works = (
        work
        for work in library.works
        if (not collections or _is_in(work, collections)) and wanted <= _folded(work.item.tags)
    )
    return replace(library, works=tuple(works))


def _is_in(work: ZoteroWork, collections: Iterable[str]) -> bool:
    own = _folded(work.item.collections)
    return any(
        each == name or each.startswith(f"{name}/") for name in map(fold_label, collections) for each in own
    )


def _folded(names: Iterable[str]) -> set[str]:
    return set(map(fold_label, names))


def _explain_collection(library: ZoteroLibrary, name: str) -> str:
    names = sorted({each for work in library.works for each in work.item.collections})
    near = difflib.get_close_matches(name, names, _MOST_NAMED, 0.3) or names[:_MOST_NAMED]
    return _NO_COLLECTION.format(library=library.name, name=name, names="; ".join(near) or "none")
