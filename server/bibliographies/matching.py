"""Finds the item of a file: by the path of an attachment, else by its DOI, else by its title and year.

A DOI on the first pages may be that of a work which is cited there: where title and year are those of another item
alone, that is the item. Nothing is guessed. Where several items fit, or only a part of the evidence does, the file
has no item, and the reason says which items were near.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from winnow.server.bibliographies.records import LibraryItem, plain_doi
from winnow.server.text.forms.normal_forms import normalize

_WORDS = re.compile(r"[^\W_]+")
_YEARS = re.compile(r"(?<!\d)(?:1[4-9]|20|21)\d\d(?!\d)")
_DRIVE = re.compile(r"[A-Za-z]:/")
_MOST_YEARS = 40
_TITLE_CHARS = 500
_MOST_NAMED = 5
_SEVERAL = "{evidence} fits several entries: {keys}"
_NO_YEAR = "the title is that of {key}, but the year {year} is not in its first pages"
_UNDATED = "the title is that of {key}, which has no year that could confirm it"
_TITLE_AND_YEAR = "its title and year"
_NO_MATCH = "no entry has its path, its DOI, or its title and year"


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Facts of a file about the work it is: its DOI, its title as ``plain_title``, years on its first pages."""

    doi: str = ""
    title: str = ""
    years: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundItem:
    """The item of a file and the evidence for it; without one, the reason."""

    item: LibraryItem | None
    reason: str = ""


def plain_title(title: str) -> str:
    """The words of a title, without case, accents and punctuation.

    >>> plain_title("The Étude: of  {Things}")
    'the etude of things'
    """
    letters = normalize("NFKD", title[:_TITLE_CHARS].casefold())
    return " ".join(_WORDS.findall("".join(sign for sign in letters if not unicodedata.combining(sign))))


def years_in(text: str) -> tuple[int, ...]:
    """The years in a text, each once.

    >>> years_in("Received 2018, in print 2019; 12345")
    (2018, 2019)
    """
    return tuple(sorted({int(match[0]) for match in _YEARS.finditer(text)})[:_MOST_YEARS])


class Matcher:
    """The items of a bibliography, to find by path, DOI and title.

    ``folder`` is that of the bibliography: paths of attachments may be relative to it. A path that is not there
    is compared by its last folder and its name, because libraries move between machines as a whole. No path of an
    attachment is opened.
    """

    def __init__(self, items: Sequence[LibraryItem], folder: PurePath) -> None:
        self._folder = folder.as_posix()
        self._paths = _index((path, item) for item in items for path in self._paths_of(item))
        self._tails = _index(
            (tail, item) for item in items for path in _stated_paths(item) for tail in _tails(path)
        )
        self._dois = _index((item.doi.casefold(), item) for item in items if item.doi)
        self._titles = _index((title, item) for item in items if (title := plain_title(item.title)))

    def find(self, path: PurePath, source: PurePath, facts: FileFacts) -> FoundItem:
        """The item of the file at this absolute path below the folder ``source``."""
        candidates = (
            ("its path", self._find_by_path(path, source)),
            (f"its DOI {facts.doi}", self._find_by_doi(facts)),
        )
        for evidence, items in candidates:
            if len(items) == 1:
                return FoundItem(items[0], evidence)
            if items:
                return FoundItem(None, _SEVERAL.format(evidence=evidence, keys=_list_keys(items)))
        return self._find_by_title(facts)

    def _find_by_doi(self, facts: FileFacts) -> Sequence[LibraryItem]:
        items = self._dois.get(plain_doi(facts.doi).casefold(), ())
        is_cited = all(plain_title(item.title) not in ("", facts.title) for item in items)
        return () if is_cited and self._find_by_title(facts).item else items

    def _find_by_path(self, path: PurePath, source: PurePath) -> Sequence[LibraryItem]:
        whole = path.as_posix()
        relative = path.relative_to(source).as_posix() if path.is_relative_to(source) else whole
        moved = [item for tail in _tails(whole) for item in self._tails.get(tail, ())]
        here = (item for path in (whole, relative) for item in self._paths.get(path, ()))
        return list({item.citekey: item for item in here}.values()) or (moved if len(moved) == 1 else ())

    def _find_by_title(self, facts: FileFacts) -> FoundItem:
        same = self._titles.get(facts.title, ()) if facts.title else ()
        dated = [item for item in same if item.year and item.year in facts.years]
        if len(dated) == 1:
            return FoundItem(dated[0], _TITLE_AND_YEAR)
        if dated or len(same) > 1:
            return FoundItem(None, _SEVERAL.format(evidence="its title", keys=_list_keys(dated or same)))
        if same:
            missing = _NO_YEAR if same[0].year else _UNDATED
            return FoundItem(None, missing.format(key=same[0].citekey, year=same[0].year))
        return FoundItem(None, _NO_MATCH)

    def _paths_of(self, item: LibraryItem) -> Iterator[str]:
        """The paths of attachments, relative ones as they are and below the folder of the bibliography."""
        for path in _stated_paths(item):
            yield path
            if not path.startswith("/") and not _DRIVE.match(path):
                yield posixpath.normpath(f"{self._folder}/{path}")


def _stated_paths(item: LibraryItem) -> Iterator[str]:
    for attachment in item.attachments:
        yield posixpath.normpath(attachment.path.replace("\\", "/"))


def _index(pairs: Iterable[tuple[str, LibraryItem]]) -> dict[str, list[LibraryItem]]:
    """The items of each key, each once."""
    found: dict[str, list[LibraryItem]] = {}
    for key, item in pairs:
        items = found.setdefault(key, [])
        if not items or items[-1] is not item:
            items.append(item)
    return found


def _tails(path: str) -> tuple[str, ...]:
    """The last folder of a path and its name, where it has a folder."""
    *_, folder, name = ("", "", *path.split("/"))
    return (f"{folder}/{name}",) if folder not in ("", "..") and name else ()


def _list_keys(items: Sequence[LibraryItem]) -> str:
    more = f" and {len(items) - _MOST_NAMED} more" if len(items) > _MOST_NAMED else ""
    return ", ".join(item.citekey for item in items[:_MOST_NAMED]) + more
